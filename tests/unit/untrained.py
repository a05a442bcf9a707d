"""Measurements of an encoder that learned nothing, for any cells: every number is at its floor."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, Key, Measured

ITEMS = 1_000_000
"""So many that a change is known to a tenth of a point: "no change" is certain, not undecided."""
NOISE = (-3e-4, 0.0, 3e-4)
"""What seeds differ by, as a part of the scale; their mean is that of an exact tie."""


def floor(key: Key, level: float) -> float:
    """Return a number of an encoder that learned nothing, the same under every condition.

    ``level`` is where on the scale numbers are of which chance does not say it: rates of tokens,
    similarities, clusters.
    """
    _, _, task, _, condition, *_, metric = key
    if rules.is_gain(metric, condition) or rules.is_correlation(metric) or "_drop_" in metric:
        return 0.0
    if metric == "separation_auc" or metric.startswith("mrr"):
        return 0.5 if metric == "separation_auc" else 0.01
    if metric.endswith("_rate"):
        return level
    if any(name in metric for name in ("cka", "v_measure", "clustering", "bleu")):
        return 100 * level
    if (task, metric) == ("identification", "score"):
        return 50.0  # of two languages
    return 10.0 if "qa" in task or "squad" in task else 100 / 3  # three classes, three labels


def write(cells: Iterable[tuple[str, Key, Measured]], level: float, path: Path) -> None:
    """Write floors for cells, by protocol, with three seeds where they have any."""
    random, rows = np.random.default_rng(1), []
    for protocol, key, cell in cells:
        value, metric = floor(key, level), key[-1]
        full = rules.full_scale(metric, key[4]) or max(value, 1.0)
        noise = NOISE if 0 < value < full or rules.is_gain(metric, key[4]) else (0.0,) * 3
        seeds = (None,) if None in cell.values else (1, 2, 3)
        for seed, change in zip(seeds, random.permutation(noise) * full, strict=False):
            change = 0.0 if seed is None or rules.is_whole(metric) else change
            row = dict(zip(KEY, key, strict=True)) | {"protocol": protocol, "seed": seed}
            n = 10 if metric == "dimensionality" else ITEMS  # a step of it
            rows.append(row | {"value": value + change, "n": n})
    write_measurements(rows, path)
