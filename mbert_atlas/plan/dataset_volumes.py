"""How many examples and pieces a dataset holds, before or after it has been made.

A table that is there counts as it is; else the upstream files in the downloads or the mirror, by
their bytes; else limits of the config, and what ``resources/prediction/volumes.csv`` assumes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mbert_atlas.config.model import Config
from mbert_atlas.errors import DataError
from mbert_atlas.files import open_text
from mbert_atlas.languages import Languages
from mbert_atlas.plan.datasets import sources

_COLUMNS = ("corpus", "split", "examples", "pieces", "bytes")
_MINIATURE_SIZES = {
    "bitext": "bitext_sentences",
    "plain_text": "stories",
    "wikipedia": "wikipedia_pages",
    "nli": "nli",
    "ner": "ner",
    "universal_dependencies": "ud",
    "qa": "qa",
}
MINIATURE_WORDS = 120
"""Concepts of the miniature, all of which its dictionaries have."""
_PACKED = {".bz2": 4, ".gz": 3, ".xz": 4, ".zip": 3}  # bytes of text in one of a packed file
_SPLITS = {"train": "train", "validation": "dev", "dev": "dev", "test": "test"}


@dataclass(frozen=True)
class Volume:
    """How many examples there are, and how many pieces in all."""

    examples: float
    pieces: float

    def __mul__(self, share: float) -> Volume:
        """Return a share of it."""
        return Volume(self.examples * share, self.pieces * share)


@dataclass(frozen=True)
class Assumed:
    """What is assumed of a corpus: one language's examples, the pieces and bytes of an example."""

    examples: float
    pieces: float
    bytes: float | None  # of its upstream files, unpacked; none: they say nothing of a language


class DatasetVolumes:
    """Volumes of the datasets of a config."""

    def __init__(
        self, config: Config, languages: Languages, results: Path, table: Path | str
    ) -> None:
        """Read what is assumed of the corpora.

        Args:
            config: the config.
            languages: the table of languages.
            results: folder of the run.
            table: ``resources/prediction/volumes.csv``.

        Raises:
            DataError: if a row of the table is no volume; names the line.
        """
        self._config, self._languages, self._results = config, languages, results
        self._corpora = _read_corpora(table)
        self._counts: dict[tuple[str, str], float] = {}

    def dataset(self, name: str, languages: Iterable[str] | None = None) -> Volume:
        """Return the volume of a dataset in some of its languages, or in all."""
        own = self._config.datasets[name].languages
        codes = set(own) & set(own if languages is None else languages)
        examples = sum(self.count(name, code) for code in sorted(codes))
        return Volume(examples, examples * self.assumed(name).pieces)

    def assumed(self, name: str) -> Assumed:
        """Return what is assumed of a dataset's corpus."""
        item: Any = self._config.datasets[name]
        split = getattr(item, "split", None) or ""
        if item.parent and not split:
            split = getattr(self._config.datasets[item.parent], "split", None) or ""
        key = (item.corpus, _SPLITS.get(split, split))
        return self._corpora.get(key, Assumed(1000, 30, None))

    def count(self, name: str, code: str) -> float:
        """Return how many examples a dataset has in a language."""
        if (name, code) not in self._counts:
            item: Any = self._config.datasets[name]
            made = self._results / "data" / f"{name}.parquet"
            own = self._results / "data" / name / f"{code}.parquet"
            if made.exists():
                count = pq.read_metadata(made).num_rows / len(item.languages)
            elif own.exists():
                count = pq.read_metadata(own).num_rows
            else:
                count = min(self._expected(name, code), getattr(item, "limit", None) or np.inf)
            self._counts[name, code] = float(count)
        return self._counts[name, code]

    def _expected(self, name: str, code: str) -> float:
        """Return how many there will be without a limit."""
        item: Any = self._config.datasets[name]
        assumed = self.assumed(name)
        if item.parent:
            return min(self.count(item.parent, code), assumed.examples)
        if self._config.miniature:
            if item.corpus == "dictionary":
                return MINIATURE_WORDS
            made = _MINIATURE_SIZES.get(item.corpus, "")
            part = "train" if getattr(item, "split", None) == "train" else "test"
            sizes = self._config.miniature.sizes.model_dump()
            return float(sizes.get(made, sizes.get(f"{made}_{part}", assumed.examples)))
        there = self._upstream_bytes(name, code) if assumed.bytes else 0.0
        return there / assumed.bytes if there and assumed.bytes else assumed.examples

    def _upstream_bytes(self, name: str, code: str) -> float:
        """Return the bytes of a language's files, unpacked, if they lie there; else 0."""
        files = [
            self.upstream(path)
            for source in sources(name, self._config.datasets[name], code, self._languages)
            for path in [source.path, *source.partners]
        ]
        there = [file for file in files if file]
        if len(there) < len(files):
            return 0.0
        return float(sum(file.stat().st_size * _PACKED.get(file.suffix, 1) for file in there))

    def upstream(self, path: str | Path) -> Path | None:
        """Return where an upstream file lies, in the downloads or in the mirror, if it does."""
        folders = [folder for folder in (self._config.downloads, self._config.mirror) if folder]
        places = [Path(folder) / f"{path}{end}" for folder in folders for end in ("", ".xz")]
        return next((place for place in places if place.is_file()), None)


def _read_corpora(path: Path | str) -> dict[tuple[str, str], Assumed]:
    with open_text(path) as stream:
        table = csv.DictReader(stream)
        try:
            return {
                (row["corpus"], row["split"]): Assumed(
                    float(row["examples"]),
                    float(row["pieces"]),
                    float(row["bytes"]) if row["bytes"] else None,
                )
                for row in table
            }
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                path,
                f"line {table.line_num}",
                f"not a volume ({error})",
                f"give it the columns {', '.join(_COLUMNS)}",
            ) from None
