"""Pairwise language identification in windows of a space (Liang et al. 2021, section 4.2).

Logistic regression (C = 1, converged) between two languages at a time; a fifth of each language's
vectors are test vectors.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.analysis.logistic import Sample, count_correct, fit_windows

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
_TEST_FRACTION = 0.2


class Split(NamedTuple):
    """Rows of the training and the test vectors of a language, int64, ascending."""

    train: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def split(random: np.random.Generator, count: int, most: int) -> Split:
    """Sample at most ``most`` of ``count`` rows and split them."""
    chosen = random.permutation(count)[:most]
    tests = round(len(chosen) * _TEST_FRACTION)
    return Split(np.sort(chosen[tests:]), np.sort(chosen[:tests]))


class PairwiseIdentifier:
    """Classifiers between two languages; what they need of a language is computed once.

    Args:
        vectors: of each language, shape ``(m, dims)``.
        splits: of each language.
        width: number of columns that any window covers.
    """

    def __init__(
        self, vectors: Mapping[str, Floats], splits: Mapping[str, Split], width: int
    ) -> None:
        self._vectors, self._splits, self._width = vectors, splits, width
        self._prepared: dict[str, tuple[Sample, torch.Tensor]] = {}

    def accuracies(
        self, pair: tuple[str, str], windows: Sequence[slice]
    ) -> tuple[npt.NDArray[np.float64], int]:
        """Return the accuracy of each window, 0 to 1, and the number of test vectors."""
        if not windows:
            return np.zeros(0), 0
        (negative, negative_test), (positive, positive_test) = map(self._prepare, pair)
        weights, converged = fit_windows(negative, positive, windows)
        if not converged.all():
            failed = (~converged).sum()
            _logger.warning("%s: %d regressions did not converge", "-".join(pair), failed)
        count = negative_test.shape[1] + positive_test.shape[1]
        return count_correct(negative_test, positive_test, weights, windows) / count, count

    def _prepare(self, code: str) -> tuple[Sample, torch.Tensor]:
        if code not in self._prepared:
            vectors, rows = self._vectors[code][:, : self._width], self._splits[code]
            test = torch.from_numpy(np.ascontiguousarray(vectors[rows.test].T))
            self._prepared[code] = Sample.of(vectors[rows.train]), test
        return self._prepared[code]
