"""Skip-gram with negative sampling (Mikolov et al. 2013), by gensim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from gensim.models import Word2Vec

from mbert_atlas.arrays import Ragged
from mbert_atlas.config.static_vectors import StaticVectors
from mbert_atlas.progress import track


def skip_gram(
    rows: Ragged, size: int, spec: StaticVectors, threads: int = 1
) -> npt.NDArray[np.float32]:
    """Learn subword vectors from rows of ids.

    Args:
        rows: ids with a special token at both ends, which is left out.
        size: of the vocabulary.
        spec: hyperparameters.
        threads: with one, a seed determines every byte; with more, threads overwrite each other's
            steps, and vectors differ slightly between runs.

    Returns:
        Float32, shape ``(size, dims)``; zeros where a subword is too rare.
    """
    model: Any = Word2Vec(
        _Sentences(rows),
        vector_size=spec.dims,
        window=spec.window,
        sg=1,
        negative=spec.negative,
        sample=spec.subsampling,
        min_count=spec.minimum_count,
        alpha=spec.learning_rate,
        epochs=spec.epochs,
        seed=spec.seed,
        workers=threads,
        shrink_windows=True,
    )
    vectors = np.zeros((size, spec.dims), dtype=np.float32)
    vectors[list(map(int, model.wv.index_to_key))] = model.wv.vectors
    return vectors


class _Sentences:
    """Rows as lists of words, iterated by gensim once per epoch."""

    def __init__(self, rows: Ragged) -> None:
        self._rows, self._passes = rows, 0

    def __iter__(self) -> Iterator[list[str]]:
        self._passes += 1
        title = f"word2vec, pass {self._passes} (the first one counts)"
        for number in track(range(len(self._rows)), title):
            yield list(map(str, self._rows[number][1:-1].tolist()))
