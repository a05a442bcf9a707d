"""Separation of related from unrelated word pairs; without torch."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

Floats = npt.NDArray[np.float64]


class Separation(NamedTuple):
    """Probability that a random unrelated pair is farther apart than a random related pair.

    Ties count half; 0.5 is no separation. And the mean distance of related over unrelated pairs.
    """

    auc: float
    ratio: float


def separation(related: Floats, unrelated: Floats) -> Separation:
    """Compare two samples of distances, each one-dimensional and not empty."""
    distances = np.concatenate([related, unrelated])
    is_unrelated = np.repeat([0, 1], [len(related), len(unrelated)])
    auc = float(roc_auc_score(is_unrelated, distances))
    return Separation(auc, float(np.mean(related) / np.mean(unrelated)))
