"""Figures 7 and 8: scores of shifted sentences by weight and by layer."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.figures.curves import curve_plot
from mbert_atlas.figures.reported import Reported, with_reported
from mbert_atlas.figures.uncertainty import with_intervals

_LINES = 6
"""Most lines in a panel."""
_ALONG = {"by alpha": "alpha (weight of the shift)", "by layer": "layer that is shifted"}


def draw_by_weight(
    cells: Sequence[Cell],
    *,
    title: str,
    protocol: str,
    metric: str,
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
) -> Figure:
    """Draw convert rates or BLEU-1 by alpha, a line per layer; BLEU-1 also by layer."""
    (cell,) = cells
    scores, is_rate = read_measurements(cell.path), metric == "convert_rate"
    scores = with_intervals(scores[scores["protocol"] == protocol], intervals)
    scores = with_reported(scores, reported)
    scores = _in_percent(scores) if is_rate else scores
    return curve_plot(
        curves(scores, by_layer=not is_rate),
        title=f"{title}, {protocol}",
        headings={"by alpha": ""} if is_rate else None,  # the title has it
        along_label=_ALONG,
        value_label="convert rate (%)" if is_rate else "BLEU-1 (0 to 100)",
        columns=1 if is_rate else 2,
        bars=True,
        items="tokens" if is_rate else "test sentences",
    )


def curves(scores: pd.DataFrame, by_layer: bool = False) -> pd.DataFrame:
    """Return the lines of a figure: ``panel``, ``line``, ``along`` (number), and measured columns.

    There is a panel by alpha with lines for some layers, and, if ``by_layer``, one by layer with
    lines for some positive alphas. The scores are measurements of one protocol.
    """
    layer = scores["layers"].astype(int)
    weight = scores["condition"].str.removeprefix("alpha=").astype(float)
    panels = [
        scores.assign(panel="by alpha", line="layer " + scores["layers"], along=weight)[
            layer.isin(_some(layer.unique()))
        ]
    ]
    if by_layer:
        lines = scores["condition"].str.replace("=", " = ")
        is_drawn = weight.isin(_some(weight[weight > 0].unique()))
        panels.append(scores.assign(panel="by layer", line=lines, along=layer)[is_drawn])
    return pd.concat(panels).sort_values("along", kind="stable")


def convert_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Return convert rates (%) by alpha when the first, the middle or the last layer is shifted.

    The rows are Figure 7's measurements under one protocol; encoders of any depth have these lines.
    """
    layers = sorted(rows["layers"].astype(int).unique())
    lines = {layers[len(layers) // 2 - 1]: "middle layer"}
    lines |= {layers[0]: "first layer", layers[-1]: "last layer"}
    rows = _in_percent(rows).assign(
        panel="",
        line=rows["layers"].astype(int).map(lines),
        along=rows["condition"].str.removeprefix("alpha=").astype(float),
    )
    return rows.dropna(subset="line").sort_values("along", kind="stable")


def from_english(rows: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2's BLEU-1 and convert rates (%) from English, under one protocol."""
    is_control = rows["condition"].str.endswith("+random_shift")
    is_drawn = rows["metric"].isin(["bleu1", "convert_rate"]) & (rows["source"] == "en")
    rows = rows[is_drawn & ~is_control]
    is_rate = rows["metric"] == "convert_rate"
    rows = pd.concat([rows[~is_rate], _in_percent(rows[is_rate])]).sort_index()
    return rows.assign(panel=rows["metric"], line=rows["condition"], along=rows["target"])


def _in_percent(rates: pd.DataFrame) -> pd.DataFrame:
    """Return rates, the ends of their intervals, and the paper's, in percent."""
    return rates.assign(**100 * rates.filter(["value", "low", "high", "reported"]))


def _some(values: Any) -> list[Any]:
    """Return the largest value and every n-th below it, few enough to tell their lines apart."""
    # Of 1 to 12 every second one: 12, 10, 8, 6, 4, 2.
    step = -(-len(values) // _LINES)
    return sorted(values)[::-1][::step]
