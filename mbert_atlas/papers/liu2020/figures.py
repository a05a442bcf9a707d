"""What Figures 7 and 8 show: which rows, in which panel, along what."""

from __future__ import annotations

from typing import Any

import pandas as pd

LAYOUTS: dict[str, dict[str, Any]] = {
    "figure7": {"along_label": "alpha", "value_label": "convert rate (%)", "columns": 1},
    "figure8": {"along_label": "", "value_label": "BLEU-1", "columns": 2},
}
"""See :func:`mbert_atlas.figures.curves.curve_plot`."""
_LINES = 6
"""Most lines that can be told apart."""


def shown(frame: pd.DataFrame, artifact: str, protocol: str) -> pd.DataFrame:
    """Return what a figure draws of its measurements.

    Args:
        frame: the measurements of the figure.
        artifact: its name.
        protocol: ``published`` or ``corrected``.

    Returns:
        Columns ``panel``, ``line``, ``along`` (number), ``value``, ``seed``: by alpha with a line
        for some layers, the last ones first to be taken; of Figure 8 by layer, too, with a line
        for some alphas.
    """
    frame = frame[frame["protocol"] == protocol]
    layer = frame["layers"].astype(int)
    weight = frame["condition"].str.removeprefix("alpha=").astype(float)
    kept = _some(sorted(layer.unique()))
    by_weight = pd.DataFrame(
        {"panel": "by alpha", "line": "layer " + frame["layers"], "along": weight}
    )[layer.isin(kept)]
    drawn = [by_weight]
    if artifact == "figure8":
        positive = [value for value in sorted(weight.unique()) if value > 0]
        by_layer = pd.DataFrame(
            {
                "panel": "by layer",
                "line": frame["condition"].str.replace("=", " = "),
                "along": layer,
            }
        )[weight.isin(_some(positive))]
        drawn.append(by_layer)
    numbers = frame[["value", "seed"]]
    if artifact == "figure7":
        numbers = numbers.assign(value=100 * numbers["value"])
    both = pd.concat([part.join(numbers) for part in drawn])
    return both.sort_values("along", kind="stable")


def _some(values: list[Any]) -> list[Any]:
    """Return the last value and others at equal distances, few enough to tell them apart."""
    # Of 1 to 12 every second one from behind: 12, 10, 8, 6, 4, 2.
    step = -(-len(values) // _LINES)
    return values[::-1][::step]
