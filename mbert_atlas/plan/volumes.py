"""How many examples and subwords datasets and token stores hold, and what files weigh.

Files that exist count as they are, upstream files by their bytes. For the rest there are limits and
sizes in the config, and assumptions in ``resources/prediction/volumes.csv``.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from mbert_atlas.files import SUMS, read_json, read_sums
from mbert_atlas.plan.estimate import read_numbers
from mbert_atlas.plan.plan import Plan

_OTHER_BYTES = 50_000.0  # a table of measurements, a figure, a page
_SUBWORDS_OF_SENTENCE = 25.0
_BYTES_OF_SUBWORD = 4.0  # of running text in a compressed table; an int32 in a token store
_UNPACKED = {".bz2": 4, ".gz": 3, ".xz": 4, ".zip": 3}  # bytes of text per byte of a packed file
_COLUMNS = ("corpus", "split", "examples", "subwords", "bytes")
_SHAPE_KEYS = {
    **{"num_hidden_layers": "layers", "hidden_size": "width", "intermediate_size": "inner"},
    **{"n_layers": "layers", "dim": "width", "hidden_dim": "inner", "vocab_size": "vocabulary"},
}
"""Keys of an encoder's configuration, those of DistilBERT last."""
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

    examples: float = 0.0
    subwords: float = 0.0

    def __mul__(self, factor: float) -> "Volume":
        return Volume(self.examples * factor, self.subwords * factor)

    def __add__(self, other: "Volume") -> "Volume":
        return Volume(self.examples + other.examples, self.subwords + other.subwords)

    def shortened(self, length: float) -> "Volume":
        """Return the volume with examples of at most ``length`` subwords, on average."""
        return Volume(self.examples, min(self.subwords, self.examples * length))


@dataclass(frozen=True)
class Shape:
    """The size of an encoder; the defaults are multilingual BERT's."""

    layers: int = 12
    width: int = 768
    inner: int = 3072
    vocabulary: int = 119_547

    @property
    def _layer_weights(self) -> float:
        return self.layers * (4.0 * self.width**2 + 2.0 * self.width * self.inner)

    @property
    def bytes(self) -> float:
        """Size of the weights in single precision."""
        return 4 * (self._layer_weights + self.vocabulary * self.width)

    def forward(self, volume: Volume) -> float:
        """Return the operations of one forward pass: two per weight and subword, and attention."""
        length = volume.subwords / max(volume.examples, 1)
        return volume.subwords * (2 * self._layer_weights + 4 * self.layers * self.width * length)

    def heads(self, volume: Volume) -> float:
        """Return the operations of the language-model head at every subword."""
        return 2 * self.width * self.vocabulary * volume.subwords


class Volumes:
    """Volumes of a plan's datasets, stores and files.

    ``table`` is ``resources/prediction/volumes.csv``: examples of a language, subwords of an
    example, and bytes of an example in its upstream files, unpacked (0: they hold more than that);
    a DataError names a bad line. ``made_by`` has Snakemake's job by the path of each file.
    """

    def __init__(self, plan: Plan, table: Path, made_by: Mapping[str, Any]) -> None:
        self.plan, self.config, self.made_by = plan, plan.config, made_by
        self._assumptions = read_numbers(table, _COLUMNS)
        self._encoders = {plan.resolved(plan.encoder(name)): name for name in self.config.encoders}
        self.count, self.size = cache(self._count), cache(self._size)

    def dataset(self, name: str, languages: Collection[str] | None = None) -> Volume:
        """Return the volume of a dataset in all or some of its languages."""
        codes = self.config.datasets[name].languages
        if languages is not None:
            codes = [code for code in codes if code in languages]
        examples = sum(self.count(name, code) for code in codes)
        return Volume(examples, examples * self._assumed(name)[1])

    def table(self, path: str) -> Volume:
        """Return the volume of a dataset's table."""
        wildcards = self.made_by[path].wildcards_dict
        languages = [wildcards["language"]] if "language" in wildcards else None
        return self.dataset(wildcards["dataset"], languages)

    def is_store(self, path: str) -> bool:
        """Return whether a path is a token store."""
        rule = self.made_by[path].rule.name if path in self.made_by else ""
        is_store = rule.startswith(("encode_", "find_word_contexts", "shuffle_word_pairs"))
        return is_store and not path.endswith(".json")

    def store(self, path: str, languages: Collection[str] | None = None) -> Volume:
        """Return the volume of a token store, all or the share of some languages of its dataset."""
        if languages is not None:
            codes = self.config.datasets[self.made_by[path].wildcards_dict["dataset"]].languages
            return self.store(path) * (len(set(languages) & set(codes)) / len(codes))
        for side in ("input_ids", "source_ids"):
            if (offsets := Path(path) / f"{side}.offsets.npy").exists():
                rows = np.load(offsets, "r")
                return Volume(len(rows) - 1, float(rows[-1]))
        job = self.made_by[path]
        texts = [self.table(file) for file in map(str, job.input) if file.endswith(".parquet")]
        volume = sum(texts, Volume())
        match job.rule.name:
            case "encode_examples":
                encoding = self.config.encodings[job.wildcards_dict["encoding"]]
                return volume.shortened(getattr(encoding, "max_length", None) or 512)
            case "encode_word_pairs":
                held_out = min(self.config.alignment.held_out, volume.examples)
                rows = held_out if path.endswith("heldout") else volume.examples - held_out
                return volume * (rows / max(volume.examples, 1))
            case "shuffle_word_pairs":
                return self.store(str(job.input[0]))
            case "encode_pretraining_texts":
                return self._pretraining(job)
            case "find_word_contexts":  # each text has several of the words
                return self.table(str(job.input.texts))
        return volume * 0.5  # one side of pairs

    def shape(self, name: str) -> Shape:
        """Return the size of an encoder, of static vectors, or of a run's encoder."""
        if name in self.config.static_vectors:
            return Shape(layers=0, width=self.config.static_vectors[name].dims)
        if name not in self.config.encoders:
            return self.shape(self.plan.runs[name].base)
        item = self.config.encoders[name]
        if item.scratch:
            it = item.scratch.pretraining
            return Shape(it.layers, it.hidden_size, it.intermediate_size, it.vocabulary_size)
        if item.changed:
            old, more = self.shape(item.changed.encoder), item.changed.extension
            return replace(old, vocabulary=old.vocabulary + (more.pieces or more.vocabulary_size))
        config = Path(self.plan.resolved(self.plan.encoder(name))) / "config.json"
        values = read_json(config) if config.exists() else {}  # not fetched yet
        fields = {_SHAPE_KEYS[key]: int(item) for key, item in values.items() if key in _SHAPE_KEYS}
        return Shape(**fields)

    def model(self, path: str) -> Shape | None:
        """Return the size of the model in a folder, if there is one."""
        if path in self._encoders:
            return self.shape(self._encoders[path])
        if path in self.made_by and Path(path).name in ("model", "extended"):
            wildcards = self.made_by[path].wildcards_dict
            return self.shape(wildcards.get("run") or wildcards["encoder"])
        return None

    def _size(self, path: str) -> float:
        """Return the bytes of a file or folder."""
        real, downloads = Path(path), Path(self.config.downloads)
        if downloads in real.parents and (files := self._upstream(real.relative_to(downloads))):
            return float(sum(file.stat().st_size for file in files))
        if real.is_dir():
            return float(sum(item.stat().st_size for item in real.rglob("*") if item.is_file()))
        return float(real.stat().st_size) if real.exists() else self._expected_size(path)

    def _expected_size(self, path: str) -> float:
        if model := self.model(path):
            return model.bytes
        if self.is_store(path):
            volume = self.store(path)  # with ids and languages of examples, words of pairs
            sides = 3 if path.endswith(("train", "heldout", "shuffled")) else 1
            return volume.subwords * _BYTES_OF_SUBWORD * sides + volume.examples * 60
        if path not in self.made_by:
            return _OTHER_BYTES
        job = self.made_by[path]
        rule, wildcards = job.rule.name, job.wildcards_dict
        if rule.startswith(("read_corpus", "derive_dataset")) and path.endswith(".parquet"):
            return self.table(path).subwords * _BYTES_OF_SUBWORD
        if rule.startswith("finetune"):
            tests = self.plan.runs[wildcards["run"]].specification["evaluate"].items()
            return sum(self.dataset(name, codes).subwords for name, codes in tests) * 2
        if rule.endswith("word_vectors"):
            shape = self.shape(wildcards.get("static") or wildcards["encoder"])
            words = self.dataset(wildcards["dictionary"]).examples / 2
            return words * 4.0 * shape.width * (shape.layers + 1)
        if rule == "extract_features" and (model := self.model(str(job.input.model))):
            layers, is_pooled = job.params.layers, job.params.pooling in ("mean", "cls")
            count = model.layers + 1 if layers == "all" else 1 if layers == "last" else len(layers)
            volumes = map(self.store, map(str, job.input.stores))
            rows = sum(item.examples if is_pooled else item.subwords for item in volumes)
            return 2.0 * rows * count * model.width
        return _OTHER_BYTES

    def _count(self, name: str, code: str) -> float:
        """Return the number of examples of a dataset in a language."""
        item: Any = self.config.datasets[name]
        table = Path(self.plan.resolved(self.plan.table(name, code)))
        if table.exists():
            languages = 1 if item.by_language else len(item.languages)
            return float(pq.read_metadata(table).num_rows) / languages
        return min(self._expected_count(name, code), float(getattr(item, "limit", None) or inf))

    def _expected_count(self, name: str, code: str) -> float:
        item, (examples, _, size) = self.config.datasets[name], self._assumed(name)
        if item.parent:
            return min(self.count(item.parent, code), examples)
        if self.config.miniature:
            if item.corpus == "dictionary":
                return MINIATURE_WORDS
            key = _MINIATURE_SIZES.get(item.corpus, item.corpus)
            part = "train" if getattr(item, "split", None) == "train" else "test"
            sizes = self.config.miniature.sizes.model_dump()
            return float(sizes.get(key, sizes.get(f"{key}_{part}", examples)))
        names = self.plan.upstream_names(name, [code]) if size else []
        files = [self._upstream(path) for path in names]
        counts = [
            file.stat().st_size * _UNPACKED.get(file.suffix, 1) for some in files for file in some
        ]
        return sum(counts) / size if counts and all(files) else examples

    def _assumed(self, name: str) -> list[float]:
        """Return examples, subwords and bytes, as the table of assumptions has them."""
        item: Any = self.config.datasets[name]
        parent = self.config.datasets[item.parent] if item.parent else None
        split = getattr(item, "split", None) or getattr(parent, "split", None) or ""
        split = "dev" if split == "validation" else split
        return self._assumptions.get((item.corpus, split), [1000, 30, 0])

    def _upstream(self, path: Path | str) -> list[Path]:
        """Return an upstream file in downloads or mirror, if it exists; of a folder, its parts."""
        folders = [folder for folder in (self.config.downloads, self.config.mirror) if folder]
        places = [Path(folder) / f"{path}{end}" for folder in folders for end in ("", ".xz")]
        files = [place for place in places if place.is_file()][:1]
        if files and files[0].name == SUMS:
            parts = (files[0].with_name(name) for name in read_sums(files[0]))
            return [part for part in parts if part.is_file()]
        return files

    def _pretraining(self, job: Any) -> Volume:
        options = self.plan.pretraining(**job.wildcards_dict)
        texts = options.get("texts_per_language") or inf
        subwords = (options.get("sentences_per_language") or inf) * _SUBWORDS_OF_SENTENCE
        by_language, total = defaultdict[str, Volume](Volume), Volume()
        for path in map(str, job.input.texts):
            by_language[self.made_by[path].wildcards_dict["language"]] += self.table(path)
        for volume in by_language.values():
            limits = (texts / max(volume.examples, 1), subwords / max(volume.subwords, 1))
            total += volume * min(1.0, *limits)
        return total.shortened(options["max_length"])
