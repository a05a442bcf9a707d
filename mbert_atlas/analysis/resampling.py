"""How scores vary over test items: the same score on resamples of the test set (bootstrap).

A resample draws as many items as the test set has, with replacement. Items are what can be regarded
as independent: sentences, texts, questions, query words; the words of a sentence are not. The
resamples depend on the test set alone, so that all conditions, seeds and protocols that share it
are compared on the same ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mbert_atlas.randomness import derive_seed

Floats = npt.NDArray[np.float32]
RESAMPLES = 400
RESAMPLED = "resampled"
"""Key of a measured row: its value on each resample, float32, shape ``(RESAMPLES,)``."""
_AT_A_TIME = 1 << 22
"""Numbers drawn, or multiplied, at once: 32 MB of drawn items, 16 MB of counts as float32."""


def resamples(ids: Sequence[str], *test_set: str) -> npt.NDArray[np.uint8]:
    """Return how often each item occurs in each resample, uint8, shape ``(RESAMPLES, n)``.

    ``test_set`` names the test set, such as dataset and language; ``ids`` are those of its items.
    The same set gives the same resamples, in whatever order its ids are.
    """
    # Multinomial rather than Poisson counts: drawing items is faster, and n of them are exactly n.
    place = np.argsort(_order(ids))
    return _resamples(_seed(ids, test_set), len(ids))[:, place]


def resampled_sums(values: npt.ArrayLike, ids: Sequence[str], *test_set: str) -> Floats:
    """Return the sums over resamples of the items' values, float32, shape ``(RESAMPLES, ...)``.

    Values have shape ``(n, ...)``, an item per row; whole numbers are exact up to 2^24. See
    :func:`resamples` for the other arguments.
    """
    array = np.asarray(values)
    rows = array.reshape(len(ids), -1)[_order(ids)].astype(np.float32)
    times = _resamples(_seed(ids, test_set), len(ids))
    sums = [times[some].astype(np.float32) @ rows for some in _parts(len(ids))]
    return np.concatenate(sums).reshape(RESAMPLES, *array.shape[1:])


def resampled_mean(values: npt.ArrayLike, ids: Sequence[str], *test_set: str) -> Floats:
    """Return the mean value of the items on each resample, see :func:`resampled_sums`."""
    return resampled_sums(values, ids, *test_set) / np.float32(len(ids))


def combined(rows: Iterable[tuple[float, Mapping[str, Any]]]) -> dict[str, Floats]:
    """Return ``resampled`` of a sum of rows times weights: of a mean or difference of their values.

    The entry is missing if a row has none.
    """
    parts = [(weight, row.get(RESAMPLED)) for weight, row in rows]
    if not all(isinstance(values, np.ndarray) for _, values in parts):
        return {}
    return {RESAMPLED: np.sum([weight * values for weight, values in parts], axis=0)}


def _order(ids: Sequence[str]) -> npt.NDArray[np.intp]:
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)


def _seed(ids: Sequence[str], test_set: Sequence[str]) -> int:
    return derive_seed(0, "resamples", *test_set, *sorted(ids))


@lru_cache(maxsize=32)  # those of the languages of a test set, which several runs are scored on
def _resamples(seed: int, n: int) -> npt.NDArray[np.uint8]:
    """Return the resamples of n items in the order of their ids."""
    random = np.random.default_rng(seed)
    times = np.empty((RESAMPLES, n), dtype=np.uint8)
    for some in _parts(n):
        size = len(times[some])
        drawn = random.integers(n, size=(size, n), dtype=np.uint32)
        flat = (drawn + np.arange(size)[:, None] * n).ravel()
        times[some] = np.bincount(flat, minlength=size * n).reshape(size, n)
    return times


def _parts(n: int) -> Iterator[slice]:
    """Yield parts of the resamples that are small enough to be drawn or multiplied at once."""
    size = max(1, _AT_A_TIME // n)
    return (slice(start, start + size) for start in range(0, RESAMPLES, size))
