"""How far related words are apart from unrelated ones, in numbers; free of torch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from mbert_atlas.files import read_json

Floats = npt.NDArray[np.float64]


class Separation(NamedTuple):
    """How far two samples of distances are apart.

    Attributes:
        auc: probability that a random unrelated pair is farther apart than a random related
            pair, ties counted half; 0.5 is no separation.
        ratio: mean distance of related pairs over that of unrelated pairs.
    """

    auc: float
    ratio: float


def separation(related: Floats, unrelated: Floats) -> Separation:
    """Compare two samples of distances, each one-dimensional and not empty."""
    distances = np.concatenate([related, unrelated])
    is_unrelated = np.repeat([0, 1], [len(related), len(unrelated)])
    auc = float(roc_auc_score(is_unrelated, distances))
    return Separation(auc, float(np.mean(related) / np.mean(unrelated)))


def measure_separation(
    summaries: Iterable[Path | str], panels: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a figure of distances, for the scorecard.

    By panel, language, protocol and seed: the mean L2 distances, their ratio, the separation AUC
    and the percentage of the squared distance in the 10 and 100 most influential dimensions.

    Args:
        summaries: JSON files ``<language>/seed<number>.json`` of what
            :func:`mbert_atlas.analysis.distances.summarise` returns, by ``panel:protocols``.
        panels: those that the figure shows.
    """
    for path in map(Path, summaries):
        for name, summary in read_json(path).items():
            panel, protocols = name.split(":")
            if panel not in panels:
                continue
            shares = summary["squared_distance_share"]
            values = {
                "mean_ratio": summary["mean_ratio"],
                "separation_auc": summary["separation_auc"],
                "mean_distance_related": summary["related"]["mean"],
                "mean_distance_unrelated": summary["unrelated"]["mean"],
                "top_10_dimensions_share": 100 * shares["top10"]["all"],
                "top_100_dimensions_share": 100 * shares["top100"]["all"],
            }
            for protocol in protocols.split("+"):
                for metric, value in values.items():
                    yield {
                        "task": "word_distance",
                        "condition": panel,
                        "target": path.parent.name,
                        "metric": metric,
                        "value": value,
                        "protocol": protocol,
                        "seed": int(path.stem.removeprefix("seed")),
                        "n": summary["related"]["n"],
                    }
