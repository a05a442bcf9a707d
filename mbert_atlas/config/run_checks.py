"""Checks of the families of runs against the rest of a config."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.merging import with_values
from mbert_atlas.config.method import MethodOptions
from mbert_atlas.config.mistakes import Mistake, check_name, going_on, report
from mbert_atlas.config.model import Config
from mbert_atlas.config.references import (
    check_circle,
    check_encoding,
    check_language,
    check_language_data,
    check_no_test,
    datasets_of,
    training_languages,
)
from mbert_atlas.config.runs import AdjustmentRuns, FinetuningRuns
from mbert_atlas.config.search import Search
from mbert_atlas.config.tasks import TASKS


def check_runs(config: Config) -> None:
    """Report families whose starts, data, methods or searches do not fit the config."""
    for name, family in config.runs.items():
        with going_on():
            _check_start(config, name)
        with going_on():
            if family.kind == "adjustment":
                _check_adjustment(config, name, family)
            else:
                _check_finetuning(config, name, family)


def _check_start(config: Config, name: str) -> None:
    family, at = config.runs[name], f"runs.{name}"
    starts = [*config.encoders, *(other for other in config.runs if other != name)]
    check_name(f"{at}.encoder", family.encoder, starts)
    check_circle(
        f"{at}.encoder",
        name,
        lambda other: config.runs[other].encoder if other in config.runs else None,
    )
    start = config.runs.get(family.encoder or "")
    if start is not None and start.languages:
        for code in family.languages or ():
            role = f" in runs.{family.encoder}.languages, where {name!r} starts"
            check_name(f"{at}.languages", code, start.languages, role)


def _check_adjustment(config: Config, name: str, family: AdjustmentRuns) -> None:
    bitexts = datasets_of(config, "bitext")
    check_name(f"runs.{name}.bitext", family.bitext, bitexts, " as a bitext")
    for code in family.languages:
        check_language(config, f"runs.{name}.languages", code, family.bitext)


def _check_finetuning(config: Config, name: str, family: FinetuningRuns) -> None:
    at = f"runs.{name}"
    check_encoding(
        config, at, family.encoding, {"train": [family.train], "evaluate": family.evaluate}
    )
    if family.train in config.datasets:
        _check_overlap(config, family, at)
    _check_length(config, family)
    if family.train_languages:
        for code in training_languages(config, family):
            check_language(config, f"{at}.train_languages", code, family.train)
    methods = dict[str, MethodOptions]()
    for protocol in reversed(PROTOCOLS):
        if options := getattr(family, protocol):
            methods |= options.methods
            for key, method in options.methods.items():
                place = f"{at}.{protocol}.{key}"
                if method.trains_encoder and options.trained_layers == "none":
                    problem = "this trains the encoder, but `trained_layers: none` freezes it"
                    report(Mistake(place, problem, "train some layers or drop the method"))
                with going_on():
                    method.check(config, place, name)
    _check_language_data(config, at, family, methods)
    _check_evaluated(config, f"{at}.evaluate", family, family.evaluate)
    if family.search:
        _check_search(config, f"{at}.search", family, family.search)


def _check_language_data(
    config: Config, at: str, family: FinetuningRuns, methods: Mapping[str, MethodOptions]
) -> None:
    """Report `language_data` that are missing, not read, or read by two methods in two ways."""
    tasks = {key: method.language_data for key, method in methods.items() if method.language_data}
    place, data = f"{at}.language_data", family.language_data
    if not tasks:
        if data is not None and "language_data" in family.model_fields_set:
            report(Mistake(place, "no method reads it", "leave it out, or write null"))
    elif data is None:
        key = next(iter(tasks))
        raise Mistake(at, f"`{key}` needs texts by language", "name them in `language_data`")
    elif len(set(tasks.values())) > 1:
        ways = [f"`{key}` reads it under an encoding for {task}" for key, task in tasks.items()]
        raise Mistake(place, f"{' and '.join(ways)}; they cannot be combined", "drop one of them")
    else:
        check_language_data(config, place, data, next(iter(tasks.values())))


def _check_length(config: Config, family: FinetuningRuns) -> None:
    """Report an encoding that is longer than the encoder of a family, where its size is known."""
    base, seen = family.encoder or "", set[str]()
    while base not in seen and base not in config.encoders and base in config.runs:
        seen.add(base)
        base = config.runs[base].encoder or ""
    encoder = config.encoders.get(base)
    while encoder and encoder.changed and encoder.changed.encoder not in seen:
        seen.add(encoder.changed.encoder)
        encoder = config.encoders.get(encoder.changed.encoder)
    if encoder is None or encoder.scratch is None:
        return
    positions = encoder.scratch.pretraining.positions
    encoding = config.encodings.get(family.encoding)
    if encoding and encoding.max_length > positions:
        problem = f"{encoding.max_length} subwords, and the encoder {base!r} takes {positions}"
        report(Mistake(f"encodings.{family.encoding}.max_length", problem, "take fewer"))


def _check_overlap(config: Config, family: FinetuningRuns, at: str) -> None:
    """Report training on a test set, or on what is predicted."""
    check_no_test(config, f"{at}.train", family.train, "trained on")
    train = config.datasets[family.train]
    for name, codes in family.evaluate.items():
        test = config.datasets.get(name)
        if test is None or not set(codes) & set(family.train_languages or train.languages):
            continue
        if name == family.train or (train.files is not None and _files(train) == _files(test)):
            problem = f"{name} is predicted, and has the same data"
            report(Mistake(f"{at}.train", problem, "train on others, or predict others"))


def _files(dataset: Any) -> tuple[Any, ...]:
    return dataset.files, dataset.files_by_language, getattr(dataset, "split", None)


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
        check_no_test(config, f"{place}.evaluate.{dataset}", dataset, "used for selection")
    values = family.published.model_dump()
    paths = _paths(values)
    for path, choices in search.space.items():
        if check_name(f"{place}.space", path, paths, " as a hyperparameter of this family"):
            for choice in choices:
                _check_value(f"{place}.space.{path}", values, path, choice)
    task = config.encodings[family.encoding].task
    languages = {code for codes in search.evaluate.values() for code in codes}
    for protocol in PROTOCOLS:
        choose_by, at = getattr(search.choose_by, protocol), f"{place}.choose_by.{protocol}"
        metrics = TASKS[task].metrics
        check_name(f"{at}.metric", choose_by.metric, metrics, f" as a score of {task}")
        for code in choose_by.languages or ():
            check_name(f"{at}.languages", code, languages, f" in {place}.evaluate")


def _check_value(place: str, values: Mapping[str, Any], path: str, choice: Any) -> None:
    """Report a value of a search that its hyperparameter cannot have."""
    try:
        Finetuning.model_validate(with_values(values, {path: choice}))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
        report(Mistake(place, f"{problem}, found {choice!r}", "correct it"))


def _paths(values: Mapping[str, Any]) -> list[str]:
    """Return the paths of all values that are no mapping, with dots."""
    return [
        path
        for key, value in values.items()
        for path in (
            [f"{key}.{rest}" for rest in _paths(value)] if isinstance(value, Mapping) else [key]
        )
    ]
