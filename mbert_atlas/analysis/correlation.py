"""Spearman's rank correlation, signed, with an interval and a permutation test."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from mbert_atlas.errors import AtlasError
from mbert_atlas.randomness import generator

_PERMUTATIONS = 20_000
_Z_95 = 1.959963984540054


class RankCorrelation(NamedTuple):
    """Spearman's rho, -1 to 1, of n pairs; ties share the mean of their ranks.

    ``low`` and ``high`` are the ends of the 95% interval: Fisher's z with the variance
    (1 + rho² / 2) / (n - 3) of Bonett and Wright (2000). There a rho of 1 counts as half a step
    below it: two neighbours that change places lower it by 12 / (n³ - n). ``p_value`` is two-sided,
    from 20,000 permutations, of which the observed order is one.
    """

    rho: float
    low: float
    high: float
    p_value: float
    n: int


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> RankCorrelation:
    """Correlate the ranks of two measures over languages, such as gap and similarity.

    Each has one float per language, shape ``(n,)``. Raises :class:`AtlasError` if there are fewer
    than four, or a measure is constant.
    """
    # x = 3, 1, 2, 9 and y = 5, 6, 7, 1 have ranks 3, 1, 2, 4 and 2, 3, 4, 1; less their mean 2.5
    # 0.5, -1.5, -0.5, 1.5 and -0.5, 0.5, 1.5, -1.5: rho = -4 / 5.
    a, b = (rankdata(side) - (np.size(side) + 1) / 2 for side in (x, y))
    norm, n = math.sqrt((a @ a) * (b @ b)), len(a)
    if n < 4 or norm == 0:
        problem = "there are fewer than four pairs, or one of the measures is constant"
        raise AtlasError(f"a rank correlation: {problem}; compare more languages.")
    rho = float(a @ b / norm)
    random = generator(0, "rank correlation")
    shuffled = random.permuted(np.tile(a, (_PERMUTATIONS - 1, 1)), axis=1) @ b / norm
    p_value = (1 + int((np.abs(shuffled) >= abs(rho) - 1e-12).sum())) / _PERMUTATIONS
    most = 1 - 6 / (n**3 - n)
    z = math.atanh(min(max(rho, -most), most))
    error = _Z_95 * math.sqrt((1 + rho**2 / 2) / (n - 3))
    low, high = min(rho, math.tanh(z - error)), max(rho, math.tanh(z + error))
    return RankCorrelation(rho, low, high, p_value, n)
