"""Scores along a number: dimensions, layers, what is taken away."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns
from mbert_atlas.labels import label, places

_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P")


def curve_plot(
    frame: pd.DataFrame,
    *,
    title: str,
    along_label: str,
    value_label: str,
    columns: int = 2,
    names: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Draw lines through the means over seeds, and bands from the least to the largest seed.

    Panels that share no line have a legend each, others one together.

    Args:
        frame: columns ``panel`` and ``line`` (text), ``along`` and ``value`` (numbers), ``seed``.
        title: goes above the figure.
        along_label: the horizontal axis, which panels of a column share.
        value_label: the vertical axis, which panels of a column share, too.
        columns: panels side by side.
        names: what lines are called, if not by their usual label.
        order: lines of all figures that belong together; each looks the same in all of them.

    Raises:
        AtlasError: if a column is missing, a place has several values of a seed, or there are too
            many lines to tell apart.
    """
    keys = ["panel", "line", "along"]
    require_columns(frame, (*keys, "value", "seed"), "curves")
    if frame.duplicated([*keys, "seed"]).any():
        row = frame[frame.duplicated([*keys, "seed"])].iloc[0]
        raise AtlasError(f"curves: {', '.join(f'{key} {row[key]}' for key in keys)} comes twice.")
    panels, everywhere = list(dict.fromkeys(frame["panel"])), list(dict.fromkeys(frame["line"]))
    lines = {name: list(dict.fromkeys(rows["line"])) for name, rows in frame.groupby("panel")}
    apart = len(panels) > 1 and sum(map(len, lines.values())) == len(everywhere)
    shown = lines if apart else dict.fromkeys(panels, everywhere)
    if (most := max(map(len, shown.values()))) > len(_MARKERS):
        raise AtlasError(
            f"curves: {most} lines are too many; draw at most {len(_MARKERS)} of them."
        )
    looks = places(everywhere, order or everywhere)
    table = frame.groupby(keys, as_index=False)["value"].agg(["mean", "min", "max"])
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    with house_style():
        height = 1.0 + rows * (3.2 if columns == 1 else 2.2)
        figure = Figure(figsize=(FULL_WIDTH, height), layout="constrained")
        grid = figure.subplots(rows, columns, sharex="col", sharey="col", squeeze=False).ravel()
        for place, axes in enumerate(grid):
            axes.set_visible(place < len(panels))
            if place < len(panels):
                own = table[table["panel"] == panels[place]]
                axes.set_title(panels[place])
                if own["min"].min() < 0 < own["max"].max():
                    axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)
                for kind in shown[panels[place]]:
                    _draw(axes, own[own["line"] == kind], looks[kind], label(kind, names))
                if (own["along"] % 1 == 0).all():
                    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
                if apart:
                    where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
                    axes.legend(frameon=False, ncols=3, **where)
            if place + columns >= len(panels):
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(along_label)
            if place % columns == 0:
                axes.set_ylabel(value_label)
        figure.suptitle(title, x=0.01, ha="left")
        if not apart:
            found = [axes.get_legend_handles_labels() for axes in grid]
            handles = {text: handle for pair in found for handle, text in zip(*pair, strict=True)}
            labels = [label(kind, names) for kind in everywhere]
            figure.legend(
                [handles[text] for text in labels],
                labels,
                loc="outside lower center",
                ncols=3,
                frameon=False,
            )
    return figure


def _draw(axes: Axes, table: pd.DataFrame, place: int, text: str) -> None:
    if table.empty:
        return
    colour = GROUP_COLOURS[place % len(GROUP_COLOURS)]
    axes.plot(
        table["along"],
        table["mean"],
        color=colour,
        linestyle=_DASHES[place % len(_DASHES)],
        marker=_MARKERS[place % len(_MARKERS)],
        markersize=2.5,
        markeredgewidth=0,
        linewidth=1.2,
        label=text,
    )
    axes.fill_between(
        table["along"], table["min"], table["max"], color=colour, alpha=0.18, linewidth=0
    )
