"""Languages identified pairwise from vectors, by logistic regression (Liang et al. 2021)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mbert_atlas.analysis.logistic import fit_regressions

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


def pairwise_accuracies(
    vectors: Mapping[str, npt.NDArray[np.float32]],
    splits: Mapping[str, Split],
    pairs: Sequence[tuple[str, str]],
) -> npt.NDArray[np.float64]:
    """Return the accuracy, 0 to 1, of a classifier between each pair of languages.

    Vectors of each language have the shape ``(m, dims)``.
    """
    # Pairs (a, b) and (b, c): signs of a, b, c in two regressions [[-1, 0], [1, -1], [0, 1]]
    codes = list(dict.fromkeys(chain.from_iterable(pairs)))
    signs = np.zeros((len(codes), len(pairs)), dtype=np.int8)
    for number, (first, second) in enumerate(pairs):
        signs[codes.index(first), number], signs[codes.index(second), number] = -1, 1

    def rows(code: str, part: int) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(vectors[code][splits[code][part]]))

    weights = fit_regressions([rows(code, 0) for code in codes], signs)
    correct, total = np.zeros(len(pairs)), np.zeros(len(pairs))
    for code, sign in zip(codes, signs, strict=True):
        test, used = rows(code, 1), sign.nonzero()[0]
        is_second = test @ weights[used, :-1].T + weights[used, -1] > 0
        correct[used] += (is_second.numpy() == (sign[used] > 0)).sum(axis=0)
        total[used] += len(test)
    return correct / total
