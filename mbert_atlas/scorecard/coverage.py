"""How the tokenizers of a run split the languages that a paper's page is about."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mbert_atlas.labels import language
from mbert_atlas.registry import resolve
from mbert_atlas.scorecard.templates import Setting


@dataclass(frozen=True)
class LanguageCoverage:
    """A language in the datasets of a paper, as an encoder's tokenizer splits them."""

    language: str
    unknown: float  # fraction of [UNK] in the dataset that has most
    dataset: str  # that one
    subwords_per_word: str  # a number, or the smallest and the largest
    of_texts: bool  # no dataset is tagged or parsed, so that words may be what blanks separate


@dataclass(frozen=True)
class EncoderCoverage:
    """An encoder and the languages of a paper."""

    encoder: str
    origin: str
    languages: list[LanguageCoverage]  # by name

    def above(self, share: float, evaluated: Collection[str]) -> list[LanguageCoverage]:
        """Return the evaluated languages of which more than a share is unknown, most first."""
        above = [item for item in self.languages if item.unknown > share]
        above = [item for item in above if item.language in evaluated]
        return sorted(above, key=lambda item: -item.unknown)


def coverage_of(
    cards: Mapping[str, Mapping[str, Any]], paper: str, setting: Setting
) -> list[EncoderCoverage]:
    """Return what the cards of encoders state of the datasets behind a paper's artifacts.

    ``setting`` has the record of the artifacts, see :meth:`.provenance.Tracer.describe`, with the
    datasets that are encoded for each.
    """
    encoded = defaultdict[str, set[str]](set)
    for key, item in setting.record.get("artifacts", {}).items():
        if key.startswith(f"{paper}/"):
            for encoder, datasets in item.get("encoded", {}).items():
                encoded[encoder] |= {*datasets} & cards[encoder]["coverage"].keys()
    return [
        EncoderCoverage(
            encoder,
            cards[encoder]["origin"],
            list(_by_language(cards[encoder]["coverage"], datasets, setting.names)),
        )
        for encoder, datasets in sorted(encoded.items())
        if datasets
    ]


def _by_language(
    coverage: Mapping[str, Any], datasets: Iterable[str], names: Mapping[str, str]
) -> Iterable[LanguageCoverage]:
    datasets_of: dict[str, dict[str, Any]] = defaultdict(dict)
    for dataset in sorted(datasets):
        for code, shares in coverage[dataset]["languages"].items():
            datasets_of[language(code, names)][dataset] = shares
    for name, by_dataset in sorted(datasets_of.items()):
        # Of Chinese or Thai texts, what blanks separate are no words: datasets with words go first.
        # By name, as a page does not depend on the code of tasks.
        tasks = resolve("config.tasks:TASKS")
        split = [it for it in by_dataset if tasks[coverage[it]["task"]].scored != "text"]
        sizes = sorted(by_dataset[it]["subwords_per_word"] for it in split or by_dataset)
        most = max(by_dataset, key=lambda it: by_dataset[it]["unknown"])
        ends = dict.fromkeys(f"{size:.2f}" for size in (sizes[0], sizes[-1]))
        yield LanguageCoverage(
            name, by_dataset[most]["unknown"], most, "–".join(ends), of_texts=not split
        )
