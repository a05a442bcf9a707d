"""Checks of what one part of a config names of another.

Every check reports a :class:`mbert_atlas.config.mistakes.Mistake`.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mbert_atlas.config.encodings import EncodedDataset, Encoding
from mbert_atlas.config.mistakes import Mistake, check_name, report
from mbert_atlas.config.tasks import TASKS


def datasets_of(config: Any, *corpora: str) -> list[str]:
    """Return the names of the datasets of these corpora."""
    return [name for name, item in config.datasets.items() if item.content in corpora]


def running_texts(config: Any) -> list[str]:
    """Return the names of the datasets of running text."""
    return [name for name, item in config.datasets.items() if item.is_running_text]


def finetuning_families(config: Any) -> list[str]:
    """Return the names of the families of fine-tuning runs."""
    return [name for name, item in config.runs.items() if item.kind == "finetuning"]


def task_of(config: Any, family: str) -> type[Encoding]:
    """Return the description of the task of a family of fine-tuning runs."""
    return TASKS[config.encodings[config.runs[family].encoding].task]


def training_languages(config: Any, family: Any) -> list[str]:
    """Return the languages that the runs of a family are trained on."""
    if family.train_languages is None:
        return list(config.datasets[family.train].languages)
    return [
        code.replace("{language}", language)
        for code in family.train_languages
        for language in family.languages or [code]
    ]


def check_language(config: Any, place: str, code: str, dataset: str) -> None:
    """Report a language that a dataset lacks."""
    if dataset in config.datasets:  # else this is reported where it is named
        languages = config.datasets[dataset].languages
        check_name(place, code, languages, f" in datasets.{dataset}.languages")


def check_family_language(config: Any, place: str, family: str, code: str) -> None:
    """Report a language that a family of runs lacks; ``family`` may be an encoder, too."""
    languages = config.runs[family].languages if family in config.runs else None
    if languages:
        check_name(place, code, languages, f" in runs.{family}.languages")


def check_language_data(
    config: Any, place: str, data: EncodedDataset, task: str = "language_identification"
) -> None:
    """Report anything but a language identification dataset under an encoding for a task."""
    corpus = "language_identification"
    encodings = [name for name, item in config.encodings.items() if item.task == task]
    check_name(f"{place}.encoding", data.encoding, encodings, f" for {task}")
    check_name(f"{place}.dataset", data.dataset, datasets_of(config, corpus), f" as {corpus}")


def check_encoding(
    config: Any, place: str, encoding: str, datasets: Mapping[str, Collection[str]]
) -> None:
    """Report an unknown encoding, and datasets (by key) that are not its task's."""
    if not check_name(f"{place}.encoding", encoding, config.encodings):
        return
    task = config.encodings[encoding].task
    fitting = datasets_of(config, TASKS[task].corpus)
    for key, names in datasets.items():
        for name in names:
            check_name(f"{place}.{key}", name, fitting, f" as data for {task}")


def check_no_test(config: Any, place: str, dataset: str, use: str) -> None:
    """Report a test set, or what is made from one, that is not only predicted."""
    seen, item = [dataset], config.datasets.get(dataset)
    while item is not None and item.parent and item.parent not in seen:
        seen.append(item.parent)
        item = config.datasets.get(item.parent)
    if getattr(item, "split", None) == "test":
        problem = f"{dataset!r} is a test set, which must not be {use}"
        report(Mistake(place, problem, "name training or development data"))


def check_circle(place: str, name: str, below: Callable[[str], str | None]) -> None:
    """Report a name that needs itself by way of others; of a circle the first in the alphabet."""
    seen = [name]
    while (needed := below(seen[-1])) is not None:
        if needed == name == min(seen):
            circle = " -> ".join([*seen, name])
            report(Mistake(place, f"{circle} is a circle", "start from another"))
        if needed in seen:
            return
        seen.append(needed)
