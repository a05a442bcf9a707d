"""Separation of related from unrelated word pairs; without torch."""

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

Floats = npt.NDArray[np.float64]


def separation(related: Floats, unrelated: Floats) -> tuple[float, float]:
    """Compare two samples of distances, each one-dimensional and not empty.

    Returns the AUC, the probability that a random unrelated pair is farther apart than a random
    related pair (ties count half; 0.5 is no separation), and the ratio of the mean distances.
    """
    distances = np.concatenate([related, unrelated])
    is_unrelated = np.repeat([0, 1], [len(related), len(unrelated)])
    auc = float(roc_auc_score(is_unrelated, distances))
    return auc, float(np.mean(related) / np.mean(unrelated))
