"""How many examples and subwords datasets and token stores hold, and what files weigh.

Files that exist count as they are; upstream files that exist by their bytes. For the rest there are
limits and sizes in the config, and assumptions in ``resources/prediction/volumes.csv``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mbert_atlas.errors import DataError
from mbert_atlas.files import open_text, read_json
from mbert_atlas.plan import datasets
from mbert_atlas.plan.paths import parse
from mbert_atlas.plan.plan import Plan

_OTHER_BYTES = 50_000.0  # a table of measurements, a figure, a page
_SUBWORDS_OF_SENTENCE = 25.0
_BYTES_OF_SUBWORD = 4.0  # of running text in a compressed table; an int32 in a token store
_UNPACKED = {".bz2": 4, ".gz": 3, ".xz": 4, ".zip": 3}  # bytes of text per byte of a packed file
_COLUMNS = ("corpus", "split", "examples", "subwords", "bytes")
MINIATURE_WORDS = 120
"""Concepts of the miniature, all of which its dictionaries have."""
_MINIATURE_SIZES = {
    "bitext": "bitext_sentences",
    "plain_text": "stories",
    "wikipedia": "wikipedia_pages",
    "universal_dependencies": "ud",
}


@dataclass(frozen=True)
class Volume:
    """A number of examples, and of subwords in all of them."""

    examples: float
    subwords: float

    def __mul__(self, factor: float) -> Volume:
        """Return a multiple of the volume."""
        return Volume(self.examples * factor, self.subwords * factor)

    def __add__(self, other: Volume) -> Volume:
        """Return the sum of two volumes."""
        return Volume(self.examples + other.examples, self.subwords + other.subwords)


@dataclass(frozen=True)
class Assumed:
    """Assumptions about a corpus: examples per language; subwords and bytes per example."""

    examples: float
    subwords: float
    bytes: float | None  # of its upstream files, unpacked; none: a file holds several languages


@dataclass(frozen=True)
class Shape:
    """The size of an encoder; the defaults are multilingual BERT's."""

    layers: int = 12
    width: int = 768
    inner: int = 3072
    vocabulary: int = 119_547
    positions: int = 512

    @property
    def layer_weights(self) -> float:
        """Weights of the matrices of all layers."""
        return self.layers * (4.0 * self.width**2 + 2.0 * self.width * self.inner)

    @property
    def bytes(self) -> float:
        """Size of the weights in single precision."""
        return 4 * (self.layer_weights + (self.vocabulary + self.positions) * self.width)

    def forward(self, volume: Volume) -> float:
        """Return the operations of one forward pass: two per weight and subword, and attention."""
        length = volume.subwords / max(volume.examples, 1)
        return volume.subwords * (2 * self.layer_weights + 4 * self.layers * self.width * length)

    def heads(self, volume: Volume) -> float:
        """Return the operations of the language-model head at every subword."""
        return 2 * self.width * self.vocabulary * volume.subwords


class Volumes:
    """Volumes of a plan's datasets, stores and files.

    Args:
        plan: the plan.
        table: ``resources/prediction/volumes.csv``.
        tables_of: paths of the tables that a store is encoded from, by its path.

    Raises:
        DataError: if a row of the table is no volume; names the line.
    """

    def __init__(self, plan: Plan, table: Path, tables_of: dict[str, list[str]]) -> None:
        self.plan, self.config = plan, plan.config
        self._corpora, self._tables_of = _read_corpora(table), tables_of
        self.count, self.size = cache(self._count), cache(self._size)

    def dataset(self, name: str, languages: Iterable[str] | None = None) -> Volume:
        """Return the volume of a dataset in all or some of its languages."""
        codes = self.config.datasets[name].languages
        chosen = codes if languages is None else set(codes) & set(languages)
        examples = sum(self.count(name, code) for code in chosen)
        return Volume(examples, examples * self._assumed(name).subwords)

    def store(self, path: str) -> Volume:
        """Return the volume of a token store."""
        for side in ("input_ids", "source_ids"):
            if (offsets := Path(path) / f"{side}.offsets.npy").exists():
                rows = np.load(offsets, "r")
                return Volume(len(rows) - 1, float(rows[-1]))
        match self.parse(path):
            case "examples", parts:
                volume = self.dataset(parts["dataset"])
                longest = getattr(self.config.encodings[parts["encoding"]], "max_length", None)
                return Volume(
                    volume.examples, min(volume.subwords, volume.examples * (longest or 512))
                )
            case "pairs", parts:
                volume = self.dataset(parts["dataset"], [parts["language"]])
                held_out = min(self.config.alignment.held_out, volume.examples)
                examples = held_out if parts["part"] == "heldout" else volume.examples - held_out
                return volume * (examples / max(volume.examples, 1))
            case "pretraining_tokens", parts:
                return self._pretraining(parts["encoder"])
            case "contexts", parts:
                options = self.plan.retrieval[parts["dictionary"]]
                texts = self.dataset(options["texts"], [parts["language"]])
                words = self.dataset(parts["dictionary"], [parts["language"]]).examples
                rows = min(texts.examples, words * options["contexts"])
                length = min(self._assumed(options["texts"]).subwords, options["max_length"])
                return Volume(rows, rows * length)
        inputs = [self.parse(name) for name in self._tables_of.get(path, ())]
        tables = [item[1] for item in inputs if item and item[0].endswith("table")]
        volumes = [self.dataset(parts["dataset"]) for parts in tables]
        return sum(volumes, Volume(0, 0)) * 0.5  # one side of pairs

    def shape(self, name: str) -> Shape:
        """Return the size of an encoder, of static vectors, or of a run's (``run/seed1``)."""
        if name in self.config.static_vectors:
            return Shape(layers=0, width=self.config.static_vectors[name].dims)
        if name not in self.config.encoders:
            return self.shape(self.plan.runs[name.partition("/")[0]].base)
        item = self.config.encoders[name]
        if item.scratch:
            options = item.scratch.pretraining
            inner, words = options.intermediate_size, options.vocabulary_size
            return Shape(options.layers, options.hidden_size, inner, words, options.positions)
        if item.changed:
            old, more = self.shape(item.changed.encoder), item.changed.extension
            words = old.vocabulary + (more.pieces or more.vocabulary_size)
            return Shape(old.layers, old.width, old.inner, words, old.positions)
        config = Path(self.plan.resolved(self.plan.encoder(name))) / "config.json"
        if not config.exists():  # not fetched yet
            return Shape()
        values = read_json(config)
        keys = ("num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size")
        return Shape(*(int(values[key]) for key in keys if key in values))

    def model(self, path: str) -> str:
        """Return the encoder or run whose model is in a folder, see :meth:`shape`; or nothing."""
        match self.parse(path):
            case "model", parts:
                return parts["run"]
            case "encoder" | "shipped" | "extended", parts:
                return parts["encoder"]
        folders = {
            self.plan.resolved(self.plan.encoder(name)): name for name in self.config.encoders
        }
        return folders.get(path, "")

    def features(self, model: str, stores: Iterable[str], pooling: str, layers: Any) -> float:
        """Return the bytes of vectors in half precision, see :class:`plan.records.Features`."""
        shape = self.shape(model)
        count = len(layers) if isinstance(layers, list) else 1
        count = shape.layers + 1 if layers == "all" else count
        volumes = map(self.store, stores)
        is_pooled = pooling in ("mean", "cls")
        rows = sum(item.examples if is_pooled else item.subwords for item in volumes)
        return 2.0 * rows * count * shape.width

    def parse(self, path: str) -> tuple[str, dict[str, str]] | None:
        """Return kind and wildcards of a path of the run."""
        return parse(path, self.plan.results, self.config.downloads)

    def _size(self, path: str) -> float:
        """Return the bytes of a file or folder."""
        real, downloads = Path(path), Path(self.config.downloads)
        if downloads in real.parents:
            real = self._upstream(str(real.relative_to(downloads))) or real
        if real.is_dir():
            return float(sum(item.stat().st_size for item in real.rglob("*") if item.is_file()))
        return float(real.stat().st_size) if real.exists() else self._estimated_size(path)

    def _estimated_size(self, path: str) -> float:
        if model := self.model(path):
            return self.shape(model).bytes
        match self.parse(path):
            case "table" | "language_table", parts:
                codes = [parts["language"]] if "language" in parts else None
                return self.dataset(parts["dataset"], codes).subwords * _BYTES_OF_SUBWORD
            case "words", parts:
                shape = self.shape(parts["encoder"])
                words = self.dataset(parts["dictionary"]).examples / 2
                return words * 4.0 * shape.width * (shape.layers + 1)
            case "predictions", parts:
                tests = self.plan.runs[parts["run"]].specification["evaluate"].items()
                return sum(self.dataset(name, codes).subwords for name, codes in tests) * 2
            case kind, _ if kind in ("examples", "pairs", "pretraining_tokens", "contexts"):
                volume = self.store(path)  # with ids and languages of examples, words of pairs
                sides = 3 if kind == "pairs" else 1
                return volume.subwords * _BYTES_OF_SUBWORD * sides + volume.examples * 60
        return _OTHER_BYTES

    def _count(self, name: str, code: str) -> float:
        """Return the number of examples of a dataset in a language."""
        item: Any = self.config.datasets[name]
        table = Path(self.plan.resolved(self.plan.table(name, code)))
        if table.exists():
            languages = 1 if item.by_language else len(item.languages)
            return float(pq.read_metadata(table).num_rows) / languages
        return min(self._expected(name, code), float(getattr(item, "limit", None) or np.inf))

    def _expected(self, name: str, code: str) -> float:
        item, assumed = self.config.datasets[name], self._assumed(name)
        if item.parent:
            return min(self.count(item.parent, code), assumed.examples)
        if self.config.miniature:
            if item.corpus == "dictionary":
                return MINIATURE_WORDS
            key = _MINIATURE_SIZES.get(item.corpus, item.corpus)
            part = "train" if getattr(item, "split", None) == "train" else "test"
            sizes = self.config.miniature.sizes.model_dump()
            return float(sizes.get(key, sizes.get(f"{key}_{part}", assumed.examples)))
        if assumed.bytes:
            sources = datasets.sources(name, item, code, self.plan.languages)
            files = [self._upstream(path) for one in sources for path in [one.path, *one.partners]]
            counts = [file.stat().st_size * _UNPACKED.get(file.suffix, 1) for file in files if file]
            if counts and len(counts) == len(files):
                return sum(counts) / assumed.bytes
        return assumed.examples

    def _assumed(self, name: str) -> Assumed:
        item: Any = self.config.datasets[name]
        split = getattr(item, "split", None) or ""
        if item.parent and not split:
            split = getattr(self.config.datasets[item.parent], "split", None) or ""
        split = {"validation": "dev"}.get(split, split)
        return self._corpora.get((item.corpus, split), Assumed(1000, 30, None))

    def _upstream(self, path: str) -> Path | None:
        """Return an upstream file in the downloads or in the mirror, if it exists."""
        folders = [folder for folder in (self.config.downloads, self.config.mirror) if folder]
        places = [Path(folder) / f"{path}{end}" for folder in folders for end in ("", ".xz")]
        return next((place for place in places if place.is_file()), None)

    def _pretraining(self, name: str) -> Volume:
        options, total = self.plan.pretraining(name), Volume(0, 0)
        by_language: dict[str, Volume] = {}
        for path in self.plan.pretraining_texts(name):
            parsed = self.parse(self.plan.resolved(path))
            if parsed:
                code = parsed[1]["language"]
                volume = self.dataset(parsed[1]["dataset"], [code])
                by_language[code] = by_language.get(code, Volume(0, 0)) + volume
        for volume in by_language.values():
            texts = options.get("texts_per_language") or volume.examples
            sentences = options.get("sentences_per_language") or np.inf
            subwords = sentences * _SUBWORDS_OF_SENTENCE
            total += volume * min(
                1.0, texts / max(volume.examples, 1), subwords / max(volume.subwords, 1)
            )
        return Volume(total.examples, min(total.subwords, total.examples * options["max_length"]))


def _read_corpora(path: Path) -> dict[tuple[str, str], Assumed]:
    with open_text(path) as stream:
        table = csv.DictReader(stream)
        try:
            return {
                (row["corpus"], row["split"]): Assumed(
                    float(row["examples"]),
                    float(row["subwords"]),
                    float(row["bytes"]) if row["bytes"] else None,
                )
                for row in table
            }
        except (KeyError, TypeError, ValueError) as error:
            place, columns = f"line {table.line_num}", ", ".join(_COLUMNS)
            fix = f"give it the columns {columns}"
            raise DataError(path, place, f"not a volume ({error})", fix) from None
