"""Checks that the parts of a config fit together, before any job; each reports its mistakes."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from mbert_atlas.config import references as ref
from mbert_atlas.config.base import PROTOCOLS, ConfigModel
from mbert_atlas.config.encoders import FittedHead, Scratch
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.merging import leaves, with_values
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.preparation import NAMED
from mbert_atlas.config.runs import FinetuningRuns
from mbert_atlas.config.search import Search

_MOST = {"learning_rate": 1.0, "head_learning_rate": 1.0, "weight_decay": 1.0, "epsilon": 1.0}
"""Keys of optimisers whose values are far below 1: above it, steps are larger than weights."""


def check_config(
    config: Config,
    codes: Collection[str] = (),
    rules: Collection[str] = (),
    written: Collection[str] = (),
) -> None:
    """Report undefined names, and what does not fit the datasets, encoders or runs that it names.

    ``codes`` are the languages that a dataset may name, ``rules`` the rules that take resources,
    ``written`` the languages that synthetic data can have; if empty, any.
    """
    ref.check_references(config, config)
    _check_ranges(config)
    for code, other in config.languages_instead.items():
        check_name(f"languages_instead.{code}", other, codes or [other], " as a language")
    if miniature := config.miniature:
        if config.comparable:
            problem = "numbers from synthetic data are not comparable with the papers'"
            report(Mistake("comparable", problem, "write `comparable: false`"))
        for code in miniature.languages:
            check_name("miniature.languages", code, written or [code], " in the miniature")
        lenders = ["en", *miniature.languages]
        for code in miniature.lending or ():
            check_name("miniature.lending", code, lenders, " in miniature.languages")
    for section in NAMED:
        for name in getattr(config, section):
            ref.check_file_name(f"{section}.{name}", name)
    for check, entries in (
        (partial(_check_dataset, codes=codes), config.datasets),
        (_check_encoder, config.encoders),
        (_check_family, config.runs),
    ):
        for name in entries:
            with going_on():
                check(config, name)
    if head := config.fitted_head:
        _check_text_languages(config, "fitted_head", head)
    for section in ("static_vectors", "runs"):
        for name in set(getattr(config, section)) & set(config.encoders):
            report(Mistake(f"{section}.{name}", "an encoder has this name", "rename one"))
    for rule in config.resources:
        check_name(f"resources.{rule}", rule, rules or [rule], " as a rule that takes resources")


def _check_dataset(config: Config, name: str, codes: Collection[str]) -> None:
    dataset, at, items = config.datasets[name], f"datasets.{name}", config.datasets.items()
    if dataset.parent:
        role = f" as {dataset.corpus}" if dataset.derives_from(dataset) else " as running text"
        parents = [key for key, item in items if dataset.derives_from(item)]
        check_name(f"{at}.{dataset.parent_key}", dataset.parent, parents, role)
        above = {key: item.parent for key, item in items}
        ref.check_circle(f"{at}.{dataset.parent_key}", name, above.get)
    for code in dataset.files_by_language or ():
        check_name(f"{at}.files_by_language", code, codes or [code], " as a language")
    place = f"{at}.languages"
    for code in dataset.languages:
        if not check_name(place, code, codes or [code]):
            continue
        if dataset.parent:
            ref.check_languages(config, place, [code], dataset.parent)
            continue
        if config.miniature:
            check_name(place, code, ["en", *config.miniature.languages], " in the miniature")
        if dataset.files is None and code not in (dataset.files_by_language or {}):
            fix = "name one in `files_by_language`, or leave out the language or the dataset"
            report(Mistake(place, f"{code!r} has no file", fix, code))


def _check_encoder(config: Config, name: str) -> None:
    encoder, at = config.encoders[name], f"encoders.{name}"
    bases = {key: item.base for key, item in config.encoders.items()}
    if changed := encoder.changed:
        ref.check_circle(f"{at}.changed.encoder", name, bases.get)
        for text in changed.texts:
            ref.check_languages(config, f"{at}.changed.languages", changed.languages, text)
    elif scratch := encoder.scratch:
        ref.check_circle(f"{at}.scratch.tokenizer_of", name, bases.get)
        _check_text_languages(config, f"{at}.scratch", scratch)
        other = config.encoders.get(scratch.tokenizer_of or "")
        if other and other.scratch and other.scratch.tokenizer_of:
            problem = f"{scratch.tokenizer_of!r} trains no tokenizer"
            report(Mistake(f"{at}.scratch.tokenizer_of", problem, "name the encoder that does"))
    elif encoder.language_model_head and config.fitted_head is None:
        fix = "name `texts` in the top-level key `fitted_head`"
        report(Mistake(f"{at}.language_model_head", "no texts are named to fit it on", fix))


def _check_text_languages(config: Config, at: str, part: Scratch | FittedHead) -> None:
    """Report languages that none of the texts has."""
    texts = [config.datasets[text] for text in part.texts if text in config.datasets]
    codes = {code for text in texts for code in text.languages}
    for code in part.languages or ():
        check_name(f"{at}.languages", code, codes, " in any of the texts")


def _check_family(config: Config, name: str) -> None:
    family, at = config.runs[name], f"runs.{name}"
    starts = {key: item.encoder for key, item in config.runs.items()}
    ref.check_circle(f"{at}.encoder", name, starts.get)
    ref.check_family_languages(config, f"{at}.languages", family.encoder, family.languages)
    if family.kind == "adjustment":
        ref.check_languages(config, f"{at}.languages", family.languages, family.bitext)
        return
    ref.check_examples(config, f"{at}.train", family.encoding, [family.train])
    ref.check_examples(config, f"{at}.evaluate", family.encoding, family.evaluate)
    if family.train in config.datasets:
        _check_overlap(config, family, at)
    _check_length(config, family)
    codes = ref.training_languages(config, family) if family.train_languages else []
    ref.check_languages(config, f"{at}.train_languages", codes, family.train)
    _check_methods(config, name, family)
    _check_evaluated(config, f"{at}.evaluate", family, family.evaluate)
    if family.search:
        _check_search(config, f"{at}.search", family, family.search)


def _check_methods(config: Config, name: str, family: FinetuningRuns) -> None:
    """Report methods that do not fit a family, and `language_data` that do not fit its methods."""
    at, tasks = f"runs.{name}", dict[str, str]()
    for protocol in reversed(PROTOCOLS):
        options = getattr(family, protocol)
        for key, method in options.methods.items() if options else ():
            place = f"{at}.{protocol}.{key}"
            if method.trains_encoder and options.trained_layers == "none":
                problem = "this trains the encoder, but `trained_layers: none` freezes it"
                report(Mistake(place, problem, "train some layers or drop the method"))
            with going_on():
                method.check(config, place, name)
            if method.language_data:
                tasks[key] = method.language_data
    place, data = f"{at}.language_data", family.language_data
    if not tasks:
        if data is not None:
            report(Mistake(place, "no method reads it", "leave it out, or write null"))
    elif data is None:
        key = next(iter(tasks))
        raise Mistake(at, f"`{key}` needs texts by language", "name them in `language_data`")
    elif len(set(tasks.values())) > 1:
        ways = [f"`{key}` reads it under an encoding for {task}" for key, task in tasks.items()]
        raise Mistake(place, f"{' and '.join(ways)}; they cannot be combined", "drop one of them")
    else:
        ref.check_task(config, f"{place}.encoding", data.encoding, next(iter(tasks.values())))


def _check_length(config: Config, family: FinetuningRuns) -> None:
    """Report an encoding that is longer than the encoder of a family, where its size is known."""
    base = ref.base_of(config, family.encoder)
    for _ in config.encoders:
        if (encoder := config.encoders.get(base)) and encoder.changed:
            base = encoder.changed.encoder
    encoder, encoding = config.encoders.get(base), config.encodings.get(family.encoding)
    if encoder and encoder.scratch and encoding:
        positions = encoder.scratch.pretraining.positions
        if encoding.max_length > positions:
            problem = f"{encoding.max_length} subwords, and the encoder {base!r} takes {positions}"
            report(Mistake(f"encodings.{family.encoding}.max_length", problem, "take fewer"))


def _check_overlap(config: Config, family: FinetuningRuns, at: str) -> None:
    """Report training on a test set, or on what is predicted."""
    ref.check_no_test(config, f"{at}.train", family.train, "trained on")
    train = config.datasets[family.train]
    read = train.model_dump(include={"files", "files_by_language", "split"})
    for name, codes in family.evaluate.items():
        test = config.datasets.get(name)
        if test is None or not set(codes) & set(family.train_languages or train.languages):
            continue
        if name == family.train or (train.files and test.model_dump(include=set(read)) == read):
            problem = f"{name} is predicted, and has the same data"
            report(Mistake(f"{at}.train", problem, "train on others, or predict others"))


def _check_evaluated(
    config: Config, place: str, family: FinetuningRuns, evaluate: Mapping[str, Sequence[str]]
) -> None:
    for test, languages in evaluate.items():
        for code in languages:
            if code != "{language}":
                ref.check_languages(config, f"{place}.{test}", [code], test)
            elif not family.languages:
                problem = "{language} stands for nothing, as the family has no languages"
                raise Mistake(f"{place}.{test}", problem, "give it `languages` or name them here")


def _check_search(config: Config, place: str, family: FinetuningRuns, search: Search) -> None:
    ref.check_examples(config, f"{place}.evaluate", family.encoding, search.evaluate)
    _check_evaluated(config, f"{place}.evaluate", family, search.evaluate)
    for dataset in search.evaluate:
        ref.check_no_test(config, f"{place}.evaluate.{dataset}", dataset, "used for selection")
    values = family.published.model_dump()
    paths = [".".join(keys) for keys, _ in leaves(values)]
    for path, choices in search.space.items():
        if not check_name(f"{place}.space", path, paths, " as a hyperparameter of this family"):
            continue
        for choice in choices:
            try:
                changed = Finetuning.model_validate(with_values(values, {path: choice}))
                _check_ranges(changed, f"{place}.space")
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
                mistake = f"{problem}, found {choice!r}"
                report(Mistake(f"{place}.space.{path}", mistake, "correct it"))
    encoding = config.encodings[family.encoding]
    languages = {code for codes in search.evaluate.values() for code in codes}
    for protocol in PROTOCOLS:
        choose_by, at = getattr(search.choose_by, protocol), f"{place}.choose_by.{protocol}"
        role = f" as a score of {encoding.task}"
        check_name(f"{at}.metric", choose_by.metric, encoding.metrics, role)
        for code in choose_by.languages or ():
            check_name(f"{at}.languages", code, languages, f" in {place}.evaluate")


def _check_ranges(part: Any, place: str = "") -> None:
    """Report numbers that no optimiser can have, in a part of a config with a key."""
    if part is None or isinstance(part, str | int):
        return
    if isinstance(part, ConfigModel):
        for key in type(part).model_fields:
            _check_ranges(getattr(part, key), f"{place}.{key}".strip("."))
    elif isinstance(part, Mapping):
        for key, item in part.items():
            _check_ranges(item, f"{place}.{key}")
    elif isinstance(part, list):
        for number, item in enumerate(part):
            _check_ranges(item, f"{place}.{number}")
    key = place.rpartition(".")[2]
    if key == "betas" and isinstance(part, tuple) and not all(0 <= beta < 1 for beta in part):
        fix = "take two decay rates from 0 to below 1, such as [0.9, 0.999]"
        report(Mistake(place, f"{list(part)} are no decay rates", fix))
    elif isinstance(part, float) and part > _MOST.get(key, part):
        report(Mistake(place, f"{part} is above {_MOST[key]}", "write a smaller number"))
