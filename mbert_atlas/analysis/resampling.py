"""How scores vary over test items: the same score on resamples of the test set (bootstrap).

A resample draws as many items as the test set has, with replacement. Items are independent:
sentences, texts, questions, query words; the words of a sentence are not. The resamples depend on
the items' ids alone, so that all that is scored on the same items is compared on the same
resamples: conditions, seeds, protocols, and translations of one test set.
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


def resamples(ids: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return how often each item occurs in each resample, uint8, shape ``(RESAMPLES, items)``.

    Items are in the order of their sorted ids.
    """
    # Multinomial rather than Poisson counts: drawing items is faster, and n of them are exactly n.
    items = sorted(set(ids))
    return _resamples(derive_seed(0, "resamples", *items), len(items))


def resampled_sums(values: npt.ArrayLike, ids: Sequence[str]) -> Floats:
    """Return the sums of values over each resample, float32, shape ``(RESAMPLES, ...)``.

    Values have shape ``(n, ...)``, each row with the id of its item; an item may have several, such
    as its words. Whole numbers are exact up to 2^24.
    """
    array = np.asarray(values)
    items, of_row = np.unique(ids, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(len(items)))
    rows = np.add.reduceat(array.reshape(len(ids), -1)[order], starts).astype(np.float32)
    times = resamples(items.tolist())
    sums = [times[some].astype(np.float32) @ rows for some in _parts(len(items))]
    return np.concatenate(sums).reshape(RESAMPLES, *array.shape[1:])


def resampled_mean(values: npt.ArrayLike, ids: Sequence[str]) -> Floats:
    """Return the mean of values, shape ``(n,)``, on each resample, see :func:`resampled_sums`."""
    both = np.stack([np.asarray(values, np.float64), np.ones(len(ids))], axis=1)
    sums, counts = resampled_sums(both, ids).T
    return np.asarray(sums / np.maximum(counts, 1))


def mean_of(rows: Sequence[Mapping[Any, Any]]) -> dict[str, Any]:
    """Return the mean ``value`` of measured rows, and ``resampled`` if all of them have it."""
    value = sum(row["value"] for row in rows) / len(rows)
    return {"value": value, **combined((1 / len(rows), row) for row in rows)}


def difference(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the ``value`` of a row minus that of another, and ``resampled`` if both have it."""
    return {"value": one["value"] - other["value"], **combined([(1, one), (-1, other)])}


def combined(rows: Iterable[tuple[float, Mapping[Any, Any]]]) -> dict[str, Floats]:
    """Return ``resampled`` of a sum of rows times weights; nothing if a row has none."""
    parts: list[Floats] = []
    for weight, row in rows:
        values = row.get(RESAMPLED)
        if not isinstance(values, np.ndarray):
            return {}
        parts.append((weight * values).astype(np.float32))
    return {RESAMPLED: np.sum(parts, axis=0)}


@lru_cache(maxsize=32)  # those of the languages of a test set, which several runs are scored on
def _resamples(seed: int, n: int) -> npt.NDArray[np.uint8]:
    random = np.random.default_rng(seed)
    times = np.empty((RESAMPLES, n), dtype=np.uint8)
    for some in _parts(n):
        size = len(times[some])
        drawn = random.integers(n, size=(size, n), dtype=np.uint32)
        flat = (drawn + np.arange(size)[:, None] * n).ravel()
        times[some] = np.bincount(flat, minlength=size * n).reshape(size, n)
    times.flags.writeable = False
    return times


def _parts(n: int) -> Iterator[slice]:
    """Yield parts of the resamples that are small enough to be drawn or multiplied at once."""
    size = max(1, _AT_A_TIME // n)
    return (slice(start, start + size) for start in range(0, RESAMPLES, size))
