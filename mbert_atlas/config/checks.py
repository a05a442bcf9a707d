"""Do the parts of a config fit together? What one key says of others, checked before any job.

Every check raises a :class:`mbert_atlas.config.mistakes.Mistake` at the first mistake.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.encoders import Encoder
from mbert_atlas.config.encodings import EncodedDataset
from mbert_atlas.config.merging import with_values
from mbert_atlas.config.mistakes import Mistake, check_name
from mbert_atlas.config.model import Config
from mbert_atlas.config.runs import AdjustmentRuns, FinetuningRuns
from mbert_atlas.config.search import TAG_METRICS, TEXT_METRICS, TREE_METRICS, Search
from mbert_atlas.config.training import Finetuning
from mbert_atlas.config.transfer import TransferTable, TransferTest

_CORPUS_OF = {
    "inference": "nli",
    **dict.fromkeys(["tagging", "dependency_parsing"], "universal_dependencies"),
}
_METRICS = {
    **dict.fromkeys(["inference", "language_identification"], TEXT_METRICS),
    **dict.fromkeys(["tagging", "named_entities"], TAG_METRICS),
    "dependency_parsing": TREE_METRICS,
}
_SCORED = ("nli", "universal_dependencies", "named_entities", "question_answering")
_TEXTS = ("wikipedia", "plain_text")


def check_config(config: Config, codes: Collection[str] = (), rules: Collection[str] = ()) -> None:
    """Refuse names that nothing has, and languages that what uses them lacks.

    Args:
        config: valid key by key.
        codes: the language codes that a dataset may name; none: any.
        rules: the rules that take resources; none: any.

    Raises:
        Mistake: at the first.
    """
    _check_datasets(config, codes)
    for name in config.encoders:
        _check_encoder(config, name)
    for name, vectors in config.static_vectors.items():
        scratch = [encoder for encoder, item in config.encoders.items() if item.scratch]
        check_name(f"static_vectors.{name}.encoder", vectors.encoder, scratch, " from scratch")
        if name in config.encoders:
            raise Mistake(f"static_vectors.{name}", "an encoder has this name", "rename one")
    for name, family in config.runs.items():
        _check_start(config, name)
        if family.kind == "adjustment":
            _check_adjustment(config, name, family)
        else:
            _check_finetuning(config, name, family)
    for bitext, gold in config.alignment.gold.items():
        check_name("alignment.gold", bitext, datasets_of(config, "bitext"), " as a bitext")
        golds = datasets_of(config, "gold_alignment")
        check_name(f"alignment.gold.{bitext}", gold, golds, " as gold_alignment")
    for rule in config.resources:
        check_name(f"resources.{rule}", rule, rules or [rule], " as a rule that takes resources")


def datasets_of(config: Config, *corpora: str) -> list[str]:
    """Return the names of the datasets of these kinds."""
    return [name for name, item in config.datasets.items() if item.corpus in corpora]


def finetuning_families(config: Config) -> list[str]:
    """Return the names of the families of fine-tuning runs."""
    return [name for name, item in config.runs.items() if item.kind == "finetuning"]


def check_language(config: Config, place: str, code: str, dataset: str) -> None:
    """Refuse a language that a dataset lacks."""
    known = config.datasets[dataset].languages
    check_name(place, code, known, f" in datasets.{dataset}.languages")


def check_family_language(config: Config, place: str, family: str, code: str) -> None:
    """Refuse a language that a family of runs lacks; ``family`` may be an encoder, too."""
    known = config.runs[family].languages if family in config.runs else None
    if known:
        check_name(place, code, known, f" in runs.{family}.languages")


def check_language_data(
    config: Config, place: str, data: EncodedDataset, task: str = "language_identification"
) -> None:
    """Refuse anything but a language identification dataset under an encoding for a task."""
    kind = "language_identification"
    known = [name for name, item in config.encodings.items() if item.task == task]
    check_name(f"{place}.encoding", data.encoding, known, f" for {task}")
    check_name(f"{place}.dataset", data.dataset, datasets_of(config, kind), f" as {kind}")


def check_encoding(
    config: Config, place: str, encoding: str, datasets: Mapping[str, Collection[str]]
) -> None:
    """Refuse an unknown encoding, and datasets (by key) that are not its task's."""
    check_name(f"{place}.encoding", encoding, config.encodings)
    task = config.encodings[encoding].task
    known = datasets_of(config, _CORPUS_OF.get(task, task))
    for key, names in datasets.items():
        for name in names:
            check_name(f"{place}.{key}", name, known, f" as data for {task}")


def check_transfer_table(
    config: Config, place: str, table: TransferTable, contrasts: Collection[tuple[str, str]]
) -> None:
    """Refuse a table of transfer whose tests, conditions or languages have no runs behind them.

    Args:
        config: whose datasets and runs it needs.
        place: its key, with dots.
        table: what is shown.
        contrasts: condition and baseline of each contrast that the paper's claims declare for it.

    Raises:
        Mistake: at the first.
    """
    shown_anywhere, tested = set[str](), set[str]()
    for key, test in table.tests.items():
        at = f"{place}.tests.{key}"
        check_name(f"{at}.dataset", test.dataset, datasets_of(config, *_SCORED), " with scores")
        for code in test.languages or ():
            check_language(config, f"{at}.languages", code, test.dataset)
        for _, condition, family in table.families(test):
            where = f"{at if test.conditions else place}.conditions.{condition}"
            _check_condition(config, where, table, test, family)
        shown = {condition for _, condition, _ in table.families(test)}
        shown_anywhere |= shown
        tested.update(config.datasets[test.dataset].languages if shown else ())
        for condition, baseline in table.against.items():
            if condition in shown:
                check_name(f"{place}.against.{condition}", baseline, shown, f" for the test {key}")
        if shown:
            check_name(f"{place}.gains_over", table.gains_over, shown, f" for the test {key}")
    for code in table.languages:
        check_name(f"{place}.languages", code, tested, " in any of its tests")
    for condition, baseline in table.against.items():
        if condition in shown_anywhere and (condition, baseline) not in contrasts:
            paper, *_, name = place.split(".")
            raise Mistake(
                f"{place}.against.{condition}",
                f"no contrast of {condition!r} with {baseline!r} is declared for {name}",
                f"declare it in mbert_atlas/papers/{paper}/claims.py",
            )


def _check_condition(
    config: Config, place: str, table: TransferTable, test: TransferTest, shown: str
) -> None:
    name, _, language = shown.partition("/")
    check_name(place, name, finetuning_families(config), " as fine-tuning")
    family = config.runs[name]
    assert family.kind == "finetuning"
    if language and not family.languages:
        raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
    check_name(place, test.dataset, family.evaluate, f" in runs.{name}.evaluate")
    for code in test.languages or table.languages:
        if code in config.datasets[test.dataset].languages:
            own = language or code
            check_family_language(config, place, name, own)
            predicted = [item.replace("{language}", own) for item in family.evaluate[test.dataset]]
            check_name(place, code, predicted, f" in runs.{name}.evaluate.{test.dataset}")


def _check_datasets(config: Config, codes: Collection[str]) -> None:
    for name, dataset in config.datasets.items():
        at = f"datasets.{name}"
        if dataset.corpus == "language_identification":
            texts = datasets_of(config, *_TEXTS)
            check_name(f"{at}.paragraphs", dataset.paragraphs, texts, " as running text")
        elif dataset.parent:
            alike = [other for other in datasets_of(config, dataset.corpus) if other != name]
            check_name(f"{at}.made_from", dataset.parent, alike, f" as {dataset.corpus}")
        if dataset.corpus in ("language_identification", "bitext"):
            check_name(f"{at}.encoder", dataset.encoder, config.encoders)
        for code in dataset.languages:
            check_name(f"{at}.languages", code, codes or [code])
            if dataset.parent:
                check_language(config, f"{at}.languages", code, dataset.parent)
            elif config.miniature:
                written = ["en", *config.miniature.languages]
                check_name(f"{at}.languages", code, written, " in the miniature")


def _check_encoder(config: Config, name: str) -> None:
    scratch, changed = config.encoders[name].scratch, config.encoders[name].changed
    at = f"encoders.{name}.{'scratch' if scratch else 'changed'}"
    source = scratch or changed
    for text in source.texts if source else []:
        check_name(f"{at}.texts", text, datasets_of(config, *_TEXTS), " as running text")
        for code in changed.languages if changed else []:
            check_language(config, f"{at}.languages", code, text)
    if scratch:
        known = {code for text in scratch.texts for code in config.datasets[text].languages}
        for code in scratch.languages or ():
            check_name(f"{at}.languages", code, known, " in any of the texts")
    if scratch and scratch.tokenizer_of:
        check_name(f"{at}.tokenizer_of", scratch.tokenizer_of, config.encoders)
        other = config.encoders[scratch.tokenizer_of].scratch
        if scratch.tokenizer_of == name or (other and other.tokenizer_of):
            problem = f"{scratch.tokenizer_of!r} has no tokenizer of its own"
            raise Mistake(f"{at}.tokenizer_of", problem, "name the encoder that it comes from")
    if scratch and scratch.aligned_start:
        bitexts = datasets_of(config, "bitext")
        words = [bitext for bitext in bitexts if not config.datasets[bitext].parent]
        for bitext in scratch.aligned_start.bitexts:
            check_name(f"{at}.aligned_start.bitexts", bitext, words, " as a bitext of words")
    seen = [name]
    while needed := _needed(config.encoders[seen[-1]]):
        place, base = f"encoders.{seen[-1]}.{needed[0]}", needed[1]
        check_name(place, base, config.encoders)
        if base in seen:
            circle = " -> ".join([*seen, base])
            raise Mistake(place, f"{circle} is a circle", "start from another encoder")
        seen.append(base)


def _needed(encoder: Encoder) -> tuple[str, str] | None:
    """Return the key and the name of another encoder that this one cannot be made without."""
    if encoder.changed:
        return "changed.encoder", encoder.changed.encoder
    if encoder.scratch and encoder.scratch.tokenizer_of:
        return "scratch.tokenizer_of", encoder.scratch.tokenizer_of
    return None


def _check_start(config: Config, name: str) -> None:
    family, at = config.runs[name], f"runs.{name}"
    starts = [*config.encoders, *(other for other in config.runs if other != name)]
    check_name(f"{at}.encoder", family.encoder, starts)
    start = config.runs.get(family.encoder or "")
    if start is not None and start.languages:
        for code in family.languages or ():
            known = f" in runs.{family.encoder}.languages, where {name!r} starts"
            check_name(f"{at}.languages", code, start.languages, known)


def _check_adjustment(config: Config, name: str, family: AdjustmentRuns) -> None:
    bitexts = datasets_of(config, "bitext")
    check_name(f"runs.{name}.bitext", family.bitext, bitexts, " as a bitext")
    for code in family.languages:
        check_language(config, f"runs.{name}.languages", code, family.bitext)


def _check_finetuning(config: Config, name: str, family: FinetuningRuns) -> None:
    at, protocols = f"runs.{name}", [own for own in (family.published, family.corrected) if own]
    if any(own.replay for own in protocols):
        adjusting = [key for key, item in config.runs.items() if item.kind == "adjustment"]
        check_name(f"{at}.encoder", family.encoder, adjusting, " as adjustment to replay")
    check_encoding(
        config, at, family.encoding, {"train": [family.train], "evaluate": family.evaluate}
    )
    if any(own.confusion for own in protocols) and family.language_data is None:
        raise Mistake(
            at,
            "`confusion` has no texts whose language could be unlearned",
            "name them in `language_data`",
        )
    if any(own.language_subspace or own.subspace for own in protocols):
        if family.language_data is None:
            raise Mistake(
                at, "there are no texts to find directions in", "name them in `language_data`"
            )
        check_language_data(config, f"{at}.language_data", family.language_data, "text")
    elif family.language_data is not None:
        check_language_data(config, f"{at}.language_data", family.language_data)
    trained = [
        code.replace("{language}", language)
        for code in family.train_languages or ()
        for language in family.languages or [code]
    ]
    for code in trained:
        check_language(config, f"{at}.train_languages", code, family.train)
    for protocol in PROTOCOLS:
        own = getattr(family, protocol)
        if own and own.selection and (dataset := own.selection.development):
            place = f"{at}.{protocol}.selection"
            check_encoding(config, place, family.encoding, {"development": [dataset]})
            for code in trained or config.datasets[family.train].languages:
                check_language(config, f"{place}.development", code, dataset)
    _check_evaluated(config, f"{at}.evaluate", family, family.evaluate)
    if family.search:
        _check_search(config, f"{at}.search", family, family.search)


def _check_evaluated(
    config: Config, place: str, family: FinetuningRuns, evaluate: Mapping[str, Sequence[str]]
) -> None:
    for test, languages in evaluate.items():
        for code in languages:
            if code != "{language}":
                check_language(config, f"{place}.{test}", code, test)
            elif not family.languages:
                raise Mistake(
                    f"{place}.{test}",
                    "{language} stands for nothing, as the family has no languages",
                    "give it `languages` or name them here",
                )


def _check_search(config: Config, place: str, family: FinetuningRuns, search: Search) -> None:
    check_encoding(config, place, family.encoding, {"evaluate": search.evaluate})
    _check_evaluated(config, f"{place}.evaluate", family, search.evaluate)
    own = family.published.model_dump()
    for path, values in search.space.items():
        check_name(f"{place}.space", path, _paths(own), " as a hyperparameter of this family")
        for value in values:
            try:
                Finetuning.model_validate(with_values(own, {path: value}))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
                raise Mistake(
                    f"{place}.space.{path}", f"{problem}, found {value!r}", "correct it"
                ) from error
    task = config.encodings[family.encoding].task
    languages = {code for those in search.evaluate.values() for code in those}
    for protocol in PROTOCOLS:
        choice, at = getattr(search.choose_by, protocol), f"{place}.choose_by.{protocol}"
        check_name(f"{at}.metric", choice.metric, _METRICS.get(task, ()), f" as a score of {task}")
        for code in choice.languages or ():
            check_name(f"{at}.languages", code, languages, f" in {place}.evaluate")


def _paths(values: Mapping[str, Any]) -> list[str]:
    """Return the paths of all values that are no mapping, with dots."""
    return [
        path
        for key, value in values.items()
        for path in (
            [f"{key}.{rest}" for rest in _paths(value)] if isinstance(value, Mapping) else [key]
        )
    ]
