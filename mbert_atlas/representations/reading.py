"""Open the vectors that were extracted, without torch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.errors import DataError

Vectors = npt.NDArray[np.floating[Any]]


def read_vectors(path: Path, layer: int = -1) -> Vectors:
    """Open the vectors of one layer, memory-mapped, shape ``(n, dims)``.

    Args:
        path: folder that :mod:`mbert_atlas.representations.extraction` wrote.
        layer: number of the hidden state, 0 for the embeddings; -1 for the last one kept.

    Raises:
        DataError: if that layer was not kept.
    """
    stored = load_arrays(path)
    layers = list(stored.meta["layers"])
    if layer != -1 and layer not in layers:
        raise DataError(
            path, f"layer {layer}", f"only layers {layers} were kept", "extract it as well"
        )
    vectors: Vectors = stored.dense("vectors")[-1 if layer == -1 else layers.index(layer)]
    return vectors


@dataclass(frozen=True)
class Features:
    """Labelled vectors of examples, memory-mapped.

    Attributes:
        path: the folder.
        vectors: shape ``(m, dims)``; those of one example follow each other.
        example: int32, shape ``(m,)``: the example that each vector belongs to, rising.
        labels: int32, shape ``(m,)``: the label of each, a place in ``label_names``.
        label_names: names of the labels.
        example_id: strings, shape ``(n,)``.
        language: strings, shape ``(n,)``.
        split: strings, shape ``(n,)``; none where the examples have no splits.
        unit: whether a vector is a whole text or a token.
    """

    path: Path
    vectors: Vectors
    example: npt.NDArray[np.int32]
    labels: npt.NDArray[np.int32]
    label_names: list[str]
    example_id: npt.NDArray[np.str_]
    language: npt.NDArray[np.str_]
    split: npt.NDArray[np.str_] | None
    unit: Literal["text", "token"]

    @cached_property
    def by_example(self) -> Ragged:
        """The vectors as one row per example."""
        offsets = np.zeros(len(self.language) + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.example, minlength=len(self.language)), out=offsets[1:])
        return Ragged(self.vectors, offsets)

    def languages(self) -> npt.NDArray[np.str_]:
        """Return the language of each vector, shape ``(m,)``."""
        return self.language[self.example]

    def examples(self, split: str) -> npt.NDArray[np.int64]:
        """Return the examples of a split, rising.

        Raises:
            DataError: if it has none.
        """
        found = np.flatnonzero(self.split == split) if self.split is not None else np.empty(0, int)
        if len(found) == 0:
            raise DataError(
                self.path, f"split {split}", "it has no examples", "take data that have them"
            )
        return found

    def rows(self, split: str) -> npt.NDArray[np.int64]:
        """Return which vectors belong to a split, rising.

        Raises:
            DataError: if it has no examples.
        """
        inside = np.zeros(len(self.language), dtype=bool)
        inside[self.examples(split)] = True
        return np.flatnonzero(inside[self.example])


def read_features(path: Path) -> Features:
    """Open what :func:`mbert_atlas.representations.extraction.extract_features` wrote.

    Raises:
        DataError: if an array is missing or damaged.
    """
    stored = load_arrays(path)
    return Features(
        path=path,
        vectors=stored.dense("vectors")[0],
        example=stored.dense("example"),
        labels=stored.dense("labels"),
        label_names=list(stored.meta["labels"]),
        example_id=stored.dense("example_id"),
        language=stored.dense("language"),
        split=stored.dense("split") if "split" in stored.arrays else None,
        unit=stored.meta["unit"],
    )
