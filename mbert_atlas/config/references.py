"""What one part of a config names of another: types of such names, and checks that report."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.marks import Keys, marked, place_of
from mbert_atlas.config.mistakes import Mistake, check_name, report


@dataclass(frozen=True)
class Reference:
    """Marks a text as the name of an entry of a section, see :func:`check_references`."""

    sections: str  # that may have the entry, with blanks between them
    role: str = ""  # what the entry has to be, such as " as bitext"
    fits: Callable[[Any], bool] = lambda entry: True  # whether an entry is that

    def check(self, config: Any, place: str, name: str) -> bool:
        """Report a name that is not defined or does not fit; return whether it does."""
        sections = [getattr(config, key) for key in self.sections.split()]
        if any(name in entries and self.fits(entries[name]) for entries in sections):
            return True
        items = [item for entries in sections for item in entries.items()]
        fitting = [other for other, entry in items if self.fits(entry)]
        return check_name(place, name, fitting, self.role)


def corpus(corpus: str) -> Reference:
    """Return a reference to a dataset of a corpus."""
    return Reference("datasets", f" as {corpus}", lambda item: item.content == corpus)


_RUNNING = Reference("datasets", " as running text", lambda item: item.is_running_text)
DatasetName = Annotated[str, Reference("datasets")]
BitextName = Annotated[str, corpus("bitext")]
NliName = Annotated[str, corpus("nli")]
LanguageTexts = Annotated[str, corpus("language_identification")]
RunningText = Annotated[str, _RUNNING]
EncoderName = Annotated[str, Reference("encoders")]
StartName = Annotated[str, Reference("encoders runs")]
EncodingName = Annotated[str, Reference("encodings")]
TextEncoding = Annotated[str, Reference("encodings", " for text", lambda item: item.task == "text")]
FINETUNING = Reference("runs", " as fine-tuning", lambda item: item.kind == "finetuning")
FinetuningName = Annotated[str, FINETUNING]


def check_references(config: Any, part: Any, kind: Any = None, keys: Keys = ()) -> None:
    """Report names in a part of a config that are not defined, and keys that have no effect.

    For the part, its type and its keys see :func:`.marked`.
    """
    for place, value, mark in marked(part, kind, keys):
        if isinstance(value, ConfigModel) and mark is type(value):
            _check_effects(value, place_of(place))
        elif isinstance(mark, Reference) and isinstance(value, str):
            mark.check(config, place_of(place), value)


def _check_effects(part: ConfigModel, place: str) -> None:
    """Report keys that have no effect, see :attr:`ConfigModel.only_with`."""
    for key, (other, _) in part.only_with.items():
        value, default = getattr(part, key), type(part).model_fields[key].default
        if key in part.model_fields_set and value not in (None, default) and not part.counts(key):
            setting = getattr(part, other)
            stated = json.dumps(setting) if isinstance(setting, bool | None) else setting
            problem = f"this has no effect with `{other}: {stated}`"
            report(Mistake(f"{place}.{key}".strip("."), problem, "leave it out"))


def check_file_name(place: str, name: str) -> None:
    """Report a name that no rule of the workflow can have in a path."""
    if not re.fullmatch(r"\w([\w.-]*\w)?", name, re.ASCII):
        fix = "use letters, digits, and . _ - between them"
        report(Mistake(place, f"{name!r} becomes a file name", fix))


def encoding_of(config: Any, family: str) -> Any:
    """Return the encoding of a family of fine-tuning runs, which describes its task."""
    return config.encodings[config.runs[family].encoding]


def chain(config: Any, start: str) -> list[str]:
    """Return the families of runs that a family goes back to, itself first; of an encoder none."""
    names: list[str] = []
    # A chain is no longer, unless it is a circle.
    while start not in config.encoders and start in config.runs and len(names) < len(config.runs):
        names.append(start)
        start = config.runs[start].encoder
    return names


def base_of(config: Any, start: str) -> str:
    """Return the encoder that an encoder or a family of runs goes back to."""
    families = chain(config, start)
    return config.runs[families[-1]].encoder if families else start


def training_languages(config: Any, family: Any) -> list[str]:
    """Return the languages that the runs of a family are trained on."""
    if family.train_languages is None:
        return list(config.datasets[family.train].languages)
    return [
        code.replace("{language}", language)
        for code in family.train_languages
        for language in family.languages or [code]
    ]


Codes = Iterable[str] | None


def check_languages(config: Any, place: str, codes: Codes, dataset: str, listed: str = "") -> None:
    """Report languages that a dataset lacks; for ``listed`` see :class:`.Mistake`."""
    if dataset in config.datasets:  # else this is reported where it is named
        languages = config.datasets[dataset].languages
        for code in codes or ():
            check_name(place, code, languages, f" in datasets.{dataset}.languages", listed)


def check_family_languages(config: Any, place: str, family: str, codes: Codes) -> None:
    """Report languages that a family of runs lacks; ``family`` may be an encoder, too."""
    if family in config.runs and (languages := config.runs[family].languages):
        # The lowest family with them: the others may have inherited them.
        *_, lowest = (it for it in chain(config, family) if config.runs[it].languages == languages)
        for code in codes or ():
            check_name(place, code, languages, f" in runs.{lowest}.languages")


def check_predicted(config: Any, place: str, family: str, dataset: str) -> bool:
    """Report a dataset that a family does not predict; return whether it does."""
    sets = config.runs[family].evaluate
    return check_name(place, dataset, sets, f" in runs.{family}.evaluate")


def check_evaluated(
    config: Any, at: str, family: str, dataset: str, codes: Sequence[str]
) -> list[str]:
    """Report languages, of the key ``at``, in which a family does not predict a dataset.

    Returns the others, so that a language is reported of one of several families.
    """
    if not check_predicted(config, f"{at}.runs", family, dataset):
        return [*codes]
    predicted, role = config.runs[family].evaluate[dataset], f" in runs.{family}.evaluate.{dataset}"
    return [code for code in codes if check_name(f"{at}.languages", code, predicted, role)]


def check_task(config: Any, place: str, encoding: str, task: str) -> None:
    """Report an encoding that is not for a task."""
    names = [name for name, item in config.encodings.items() if item.task == task]
    check_name(place, encoding, names, f" for {task}")


def check_examples(config: Any, place: str, encoding: str, datasets: Collection[str]) -> None:
    """Report datasets that do not have the examples of an encoding's task."""
    if encoding in config.encodings:
        task = config.encodings[encoding]
        fitting = [name for name, it in config.datasets.items() if it.content == task.corpus]
        for name in datasets:
            check_name(place, name, fitting, f" as data for {task.task}")


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
