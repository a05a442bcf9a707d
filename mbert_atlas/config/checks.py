"""Checks that the parts of a config fit together, before any job.

Every check reports a :class:`mbert_atlas.config.mistakes.Mistake`; see
:func:`mbert_atlas.config.mistakes.gathering`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mbert_atlas.config.base import PROTOCOLS, ConfigModel
from mbert_atlas.config.encodings import EncodedDataset
from mbert_atlas.config.merging import with_values
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import NAMED
from mbert_atlas.config.runs import AdjustmentRuns, FinetuningRuns
from mbert_atlas.config.search import TAG_METRICS, TEXT_METRICS, TREE_METRICS, Search
from mbert_atlas.config.training import Finetuning
from mbert_atlas.config.transfer import TransferTable, TransferTest

_CORPUS_OF = {
    "nli": "nli",
    **dict.fromkeys(["tagging", "parsing"], "universal_dependencies"),
}
_METRICS = {
    **dict.fromkeys(["nli", "language_identification"], TEXT_METRICS),
    **dict.fromkeys(["tagging", "ner"], TAG_METRICS),
    "parsing": TREE_METRICS,
}
_SCORED = ("nli", "universal_dependencies", "ner", "qa")


def check_config(
    config: Config,
    codes: Collection[str] = (),
    rules: Collection[str] = (),
    written: Collection[str] = (),
) -> None:
    """Report undefined names, and languages that their dataset or family lacks.

    Args:
        config: valid key by key.
        codes: the language codes that a dataset may name; none: any.
        rules: the rules that take resources; none: any.
        written: the languages that synthetic data can have; none: any.
    """
    for code, other in config.languages_instead.items():
        check_name(f"languages_instead.{code}", other, codes or [other], " as a language")
    if config.miniature and config.comparable:
        problem = "numbers from generated data are not comparable with the papers'"
        report(Mistake("comparable", problem, "write `comparable: false`"))
    _check_keys_count("", config)
    _check_names(config)
    if config.miniature:
        own = config.miniature.languages
        for code in own:
            check_name("miniature.languages", code, written or [code], " in the miniature")
        for code in config.miniature.lending or ():
            check_name("miniature.lending", code, ["en", *own], " in miniature.languages")
    for name in config.datasets:
        with going_on():
            _check_dataset(config, name, codes)
    for name in config.encoders:
        with going_on():
            _check_encoder(config, name)
    for name, vectors in config.static_vectors.items():
        scratch = [encoder for encoder, item in config.encoders.items() if item.scratch]
        check_name(f"static_vectors.{name}.encoder", vectors.encoder, scratch, " from scratch")
        if name in config.encoders:
            report(Mistake(f"static_vectors.{name}", "an encoder has this name", "rename one"))
    for name, family in config.runs.items():
        with going_on():
            _check_start(config, name)
        with going_on():
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


def running_texts(config: Config) -> list[str]:
    """Return the names of the datasets of running text."""
    return [name for name, item in config.datasets.items() if item.is_running_text]


def finetuning_families(config: Config) -> list[str]:
    """Return the names of the families of fine-tuning runs."""
    return [name for name, item in config.runs.items() if item.kind == "finetuning"]


def check_language(config: Config, place: str, code: str, dataset: str) -> None:
    """Refuse a language that a dataset lacks."""
    if dataset not in config.datasets:
        return  # as is reported where it is named
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
    if not check_name(f"{place}.encoding", encoding, config.encodings):
        return
    task = config.encodings[encoding].task
    known = datasets_of(config, _CORPUS_OF.get(task, task))
    for key, names in datasets.items():
        for name in names:
            check_name(f"{place}.{key}", name, known, f" as data for {task}")


def check_transfer_table(
    config: Config, place: str, table: TransferTable, contrasts: Collection[tuple[str, str]]
) -> None:
    """Report tests, conditions and languages of a table that have no runs behind them.

    Args:
        config: whose datasets and runs it needs.
        place: its key, with dots.
        table: the table of zero-shot transfer.
        contrasts: condition and baseline of each contrast that the paper's claims declare for it.
    """
    shown_anywhere, tested = set[str](), set[str]()
    for key, test in table.tests.items():
        at = f"{place}.tests.{key}"
        scored = datasets_of(config, *_SCORED)
        if not check_name(f"{at}.dataset", test.dataset, scored, " with scores"):
            continue
        for code in test.languages or ():
            check_language(config, f"{at}.languages", code, test.dataset)
        for _, condition, family in table.families(test):
            where = f"{at if test.conditions else place}.conditions.{condition}"
            with going_on():
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
            report(
                Mistake(
                    f"{place}.against.{condition}",
                    f"no contrast of {condition!r} with {baseline!r} is declared for {name}",
                    f"declare it in mbert_atlas/papers/{paper}/claims.py",
                )
            )


def _check_condition(
    config: Config, place: str, table: TransferTable, test: TransferTest, shown: str
) -> None:
    name, _, language = shown.partition("/")
    if not check_name(place, name, finetuning_families(config), " as fine-tuning"):
        return
    family = config.runs[name]
    assert family.kind == "finetuning"
    if language and not family.languages:
        raise Mistake(place, f"{name!r} has one run for all languages", f"write {name!r}")
    if not check_name(place, test.dataset, family.evaluate, f" in runs.{name}.evaluate"):
        return
    for code in test.languages or table.languages:
        if code in config.datasets[test.dataset].languages:
            own = language or code
            check_family_language(config, place, name, own)
            predicted = [item.replace("{language}", own) for item in family.evaluate[test.dataset]]
            check_name(place, code, predicted, f" in runs.{name}.evaluate.{test.dataset}")


def _check_keys_count(place: str, part: Any) -> None:
    """Report keys that have no effect, see :attr:`ConfigModel.only_with`."""
    if isinstance(part, ConfigModel):
        given = part.model_fields_set
        for key, (other, wanted) in part.only_with.items():
            value, default = getattr(part, key), type(part).model_fields[key].default
            if key not in given or value in (None, default) or not hasattr(part, other):
                continue
            own = getattr(part, other)
            if own is None if wanted is ... else own != wanted:
                shown = "null" if own is None else own
                problem = f"this has no effect with `{other}: {shown}`"
                report(Mistake(f"{place}.{key}".strip("."), problem, "leave it out"))
        part = {key: getattr(part, key) for key in type(part).model_fields}
    if isinstance(part, list):
        part = dict(enumerate(part))
    for key, item in part.items() if isinstance(part, Mapping) else ():
        _check_keys_count(f"{place}.{key}".strip("."), item)


def _check_names(config: Config) -> None:
    """Report names that cannot be file names."""
    for section in NAMED:
        for name in getattr(config, section):
            if not re.fullmatch(r"\w[\w.+-]*", name, re.ASCII):
                problem = f"{name!r} becomes a file name"
                fix = "use letters, digits, and . _ + - between them"
                report(Mistake(f"{section}.{name}", problem, fix))


def _check_dataset(config: Config, name: str, codes: Collection[str]) -> None:
    dataset, at = config.datasets[name], f"datasets.{name}"
    dataset.check(config, at)
    if dataset.parent:
        role = f" as {dataset.corpus}" if dataset.derives_from(dataset) else " as running text"
        parents = [key for key, item in config.datasets.items() if dataset.derives_from(item)]
        check_name(f"{at}.{dataset.parent_key}", dataset.parent, parents, role)
        _check_circle(f"{at}.{dataset.parent_key}", name, lambda other: _parent(config, other))
    check_name(f"{at}.encoder", dataset.tokenizer_of, config.encoders)
    for code in dataset.files_by_language or ():
        check_name(f"{at}.files_by_language", code, codes or [code], " as a language")
    for code in dataset.languages:
        if not check_name(f"{at}.languages", code, codes or [code]):
            continue
        if dataset.parent:
            check_language(config, f"{at}.languages", code, dataset.parent)
            continue
        if config.miniature:
            languages = ["en", *config.miniature.languages]
            check_name(f"{at}.languages", code, languages, " in the miniature")
        if dataset.files is None and code not in (dataset.files_by_language or {}):
            mend = "name one in `files_by_language`, or leave out the language or the dataset"
            report(Mistake(f"{at}.languages", f"{code!r} has no file", mend, code))


def _parent(config: Config, name: str) -> str | None:
    return config.datasets[name].parent if name in config.datasets else None


def _check_circle(place: str, name: str, below: Callable[[str], str | None]) -> None:
    """Report a name that needs itself by way of others; of a circle the first in the alphabet."""
    seen = [name]
    while (needed := below(seen[-1])) is not None:
        if needed == name == min(seen):
            circle = " -> ".join([*seen, name])
            report(Mistake(place, f"{circle} is a circle", "start from another"))
        if needed in seen:
            return
        seen.append(needed)


def _check_encoder(config: Config, name: str) -> None:
    scratch, changed = config.encoders[name].scratch, config.encoders[name].changed
    at = f"encoders.{name}.{'scratch' if scratch else 'changed'}"
    source = scratch or changed
    for text in source.texts if source else []:
        check_name(f"{at}.texts", text, running_texts(config), " as running text")
        for code in changed.languages if changed else []:
            check_language(config, f"{at}.languages", code, text)
    if scratch:
        texts = [config.datasets[text] for text in scratch.texts if text in config.datasets]
        known = {code for text in texts for code in text.languages}
        for code in scratch.languages or ():
            check_name(f"{at}.languages", code, known, " in any of the texts")
    if scratch and scratch.tokenizer_of:
        base = config.encoders.get(scratch.tokenizer_of)
        other = base.scratch if base else None
        if scratch.tokenizer_of == name or (other and other.tokenizer_of):
            problem = f"{scratch.tokenizer_of!r} trains no tokenizer"
            report(Mistake(f"{at}.tokenizer_of", problem, "name the encoder that does"))
    if scratch and scratch.aligned_start:
        bitexts = datasets_of(config, "bitext")
        words = [bitext for bitext in bitexts if not config.datasets[bitext].parent]
        for bitext in scratch.aligned_start.bitexts:
            check_name(f"{at}.aligned_start.bitexts", bitext, words, " as a bitext of words")
    if needed := _needed(config, name):
        check_name(f"encoders.{name}.{needed[0]}", needed[1], config.encoders)
        _check_circle(
            f"encoders.{name}.{needed[0]}",
            name,
            lambda other: (_needed(config, other) or ("", None))[1],
        )


def _needed(config: Config, name: str) -> tuple[str, str] | None:
    """Return the key and the name of the encoder that another depends on."""
    encoder = config.encoders.get(name)
    if encoder is None:
        return None
    if encoder.changed:
        return "changed.encoder", encoder.changed.encoder
    if encoder.scratch and encoder.scratch.tokenizer_of:
        return "scratch.tokenizer_of", encoder.scratch.tokenizer_of
    return None


def _check_start(config: Config, name: str) -> None:
    family, at = config.runs[name], f"runs.{name}"
    starts = [*config.encoders, *(other for other in config.runs if other != name)]
    check_name(f"{at}.encoder", family.encoder, starts)
    _check_circle(
        f"{at}.encoder",
        name,
        lambda other: config.runs[other].encoder if other in config.runs else None,
    )
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
    if family.train in config.datasets:
        _check_untouched(config, family, at)
    is_unlearning = any(own.confusion for own in protocols)
    if is_unlearning and family.language_data is None:
        report(
            Mistake(
                at,
                "`confusion` has no texts whose language could be unlearned",
                "name them in `language_data`",
            )
        )
    if any(own.language_subspace or own.subspace for own in protocols):
        if family.language_data is None:
            raise Mistake(
                at, "there are no texts to find directions in", "name them in `language_data`"
            )
        check_language_data(config, f"{at}.language_data", family.language_data, "text")
    elif family.language_data is not None and not is_unlearning:
        if "language_data" in family.model_fields_set:
            problem = "no method reads it"
            report(Mistake(f"{at}.language_data", problem, "leave it out, or write null"))
    elif family.language_data is not None:
        check_language_data(config, f"{at}.language_data", family.language_data)
    _check_length(config, family)
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
            _check_no_test(config, f"{place}.development", dataset, "chosen by")
            check_encoding(config, place, family.encoding, {"development": [dataset]})
            for code in trained or config.datasets[family.train].languages:
                check_language(config, f"{place}.development", code, dataset)
    _check_evaluated(config, f"{at}.evaluate", family, family.evaluate)
    if family.search:
        _check_search(config, f"{at}.search", family, family.search)


def _check_length(config: Config, family: FinetuningRuns) -> None:
    """Report an encoding that is longer than the encoder of a family, where that is known."""
    base, seen = family.encoder or "", set[str]()
    while base not in seen and base not in config.encoders and base in config.runs:
        seen.add(base)
        base = config.runs[base].encoder or ""
    own = config.encoders.get(base)
    while own and own.changed and own.changed.encoder not in seen:
        seen.add(own.changed.encoder)
        own = config.encoders.get(own.changed.encoder)
    if own is None or own.scratch is None:
        return
    sizes = own.scratch.pretraining
    encoding = config.encodings.get(family.encoding)
    if encoding and encoding.max_length > sizes.positions:
        problem = f"{encoding.max_length} pieces, and the encoder {base!r} takes {sizes.positions}"
        report(Mistake(f"encodings.{family.encoding}.max_length", problem, "take fewer"))


def _check_untouched(config: Config, family: FinetuningRuns, at: str) -> None:
    """Report training on a test set, or on what is predicted."""
    _check_no_test(config, f"{at}.train", family.train, "trained on")
    own = config.datasets[family.train]
    for test, codes in family.evaluate.items():
        other = config.datasets.get(test)
        if other is None or not set(codes) & set(family.train_languages or own.languages):
            continue
        if test == family.train or (own.files is not None and _files(own) == _files(other)):
            problem = f"{test} is predicted, and these are its data"
            report(Mistake(f"{at}.train", problem, "train on others, or predict others"))


def _files(dataset: Any) -> tuple[Any, ...]:
    return dataset.files, dataset.files_by_language, getattr(dataset, "split", None)


def _check_no_test(config: Config, place: str, dataset: str, use: str) -> None:
    """Report a test set, or what is made from one, that is not only predicted."""
    seen, name = [dataset], config.datasets.get(dataset)
    while name is not None and name.parent and name.parent not in seen:
        seen.append(name.parent)
        name = config.datasets.get(name.parent)
    if getattr(name, "split", None) == "test":
        problem = f"{dataset!r} is a test set, which is not to be {use}"
        report(Mistake(place, problem, "name training or development data"))


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
    for dataset in search.evaluate:
        _check_no_test(config, f"{place}.evaluate.{dataset}", dataset, "chosen by")
    own = family.published.model_dump()
    for path, values in search.space.items():
        known = _paths(own)
        if not check_name(f"{place}.space", path, known, " as a hyperparameter of this family"):
            continue
        for value in values:
            try:
                Finetuning.model_validate(with_values(own, {path: value}))
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
                at = f"{place}.space.{path}"
                report(Mistake(at, f"{problem}, found {value!r}", "correct it"))
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
