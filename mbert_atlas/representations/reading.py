"""Read extracted vectors, without torch."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import Ragged, load_arrays, offsets_of
from mbert_atlas.errors import DataError

Vectors = npt.NDArray[np.floating[Any]]
Unit = Literal["text", "word", "token"]
Column = Literal["language", "label"]


@dataclass(frozen=True)
class FeatureArrays:
    """Vectors of examples, of one layer, memory-mapped, shape ``(m, dims)``.

    ``example`` (int32, ``(m,)``, ascending) is the example that each vector belongs to, ``labels``
    (int32, ``(m,)``) its label, a place in ``label_names``, -100 for none. ``example_id``,
    ``language`` and, if the examples have any, ``split`` are strings of shape ``(n,)``.
    """

    path: Path
    vectors: Vectors
    example: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int32]
    label_names: list[str]
    example_id: npt.NDArray[np.str_]
    language: npt.NDArray[np.str_]
    split: npt.NDArray[np.str_] | None
    unit: Unit

    @cached_property
    def by_example(self) -> Ragged:
        """The vectors as one row per example."""
        lengths = np.bincount(self.example, minlength=len(self.language))
        return Ragged(self.vectors, offsets_of(lengths))

    def languages(self) -> npt.NDArray[np.str_]:
        """Return the language of each vector, shape ``(m,)``."""
        return self.language[self.example]

    def classes(self, column: Column) -> tuple[Ragged, npt.NDArray[np.str_]]:
        """Return the class of each vector by example, a place in the names, int64; and the names.

        Classes are languages, sorted by name, or the task's labels in its order; a DataError if a
        vector has none.
        """
        if column == "language":
            names, codes = np.unique(self.language, return_inverse=True)
            return replace(self.by_example, values=codes[self.example]), names
        if (self.labels < 0).any():
            problem = "some vectors have no label"
            raise DataError(self.path, "array labels", problem, "classify languages")
        codes = self.labels.astype(np.int64)
        return replace(self.by_example, values=codes), np.array(self.label_names)

    def examples(self, split: str) -> npt.NDArray[np.int64]:
        """Return the examples of a split, ascending; raise :class:`DataError` if none."""
        rows = np.flatnonzero(self.split == split) if self.split is not None else np.empty(0, int)
        if len(rows) == 0:
            raise DataError(self.path, f"split {split}", "it has no examples", "use data with some")
        return rows

    def rows(self, split: str) -> npt.NDArray[np.int64]:
        """Return the vectors of a split, ascending; raise :class:`DataError` if none."""
        return np.flatnonzero(np.isin(self.example, self.examples(split)))


def read_features(path: Path, layer: int = -1) -> FeatureArrays:
    """Open the output of :func:`mbert_atlas.representations.extraction.extract_features`.

    ``layer`` is the hidden state, 0 for the embeddings, -1 for the last stored one. Raises a
    DataError if that layer is not stored.
    """
    stored = load_arrays(path)
    layers = list(stored.meta["layers"])
    if layer != -1 and layer not in layers:
        problem = f"only layers {layers} are stored"
        raise DataError(path, f"layer {layer}", problem, "extract it as well")
    return FeatureArrays(
        path=path,
        vectors=stored.dense("vectors")[-1 if layer == -1 else layers.index(layer)],
        example=stored.dense("example"),
        labels=stored.dense("labels"),
        label_names=list(stored.meta["labels"]),
        example_id=stored.dense("example_id"),
        language=stored.dense("language"),
        split=stored.dense("split") if "split" in stored.arrays else None,
        unit=stored.meta["unit"],
    )
