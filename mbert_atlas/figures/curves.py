"""Scores along a number: dimensions, layers, removed directions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns
from mbert_atlas.labels import label, places

_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P")
_KEYS = ["panel", "line", "along"]


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
    """Draw the means over seeds as lines, and bands from the lowest to the highest seed.

    Panels without common lines have separate legends, others a common one.

    Args:
        frame: columns ``panel`` and ``line`` (text), ``along`` and ``value`` (numbers), ``seed``.
        title: goes above the figure.
        along_label: of the horizontal axes; panels of a column share one.
        value_label: of the vertical axes; panels of a column share one.
        columns: number of panels in a row.
        names: labels of lines that differ from the usual ones.
        order: lines of all figures that belong together; each looks the same in all of them.

    Raises:
        AtlasError: if a column is missing, a point has several values for a seed, or there are too
            many lines.
    """
    panels, lines, is_separate = _lines_by_panel(frame)
    every = list(dict.fromkeys(frame["line"]))
    looks = places(every, order or every)
    table = frame.groupby(_KEYS, as_index=False)["value"].agg(["mean", "min", "max"])
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    with house_style():
        height = 1.0 + rows * (3.2 if columns == 1 else 2.2)
        figure = Figure(figsize=(FULL_WIDTH, height), layout="constrained")
        grid = figure.subplots(rows, columns, sharex="col", sharey="col", squeeze=False).ravel()
        for place, axes in enumerate(grid):
            axes.set_visible(place < len(panels))
            if place < len(panels):
                axes.set_title(panels[place])
                of_panel = table[table["panel"] == panels[place]]
                _draw_panel(axes, of_panel, lines[panels[place]], looks, names)
                if is_separate:
                    where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
                    axes.legend(frameon=False, ncols=3, **where)
            if place + columns >= len(panels):
                axes.tick_params(labelbottom=True)
                axes.set_xlabel(along_label)
            if place % columns == 0:
                axes.set_ylabel(value_label)
        figure.suptitle(title, x=0.01, ha="left")
        if not is_separate:
            pairs = [axes.get_legend_handles_labels() for axes in grid]
            handles = {text: handle for pair in pairs for handle, text in zip(*pair, strict=True)}
            labels = [label(line, names) for line in every]
            options: dict[str, Any] = {"loc": "outside lower center", "ncols": 3, "frameon": False}
            figure.legend([handles[text] for text in labels], labels, **options)
    return figure


def _lines_by_panel(frame: pd.DataFrame) -> tuple[list[str], dict[str, list[str]], bool]:
    """Return the panels, the lines of each one's legend, and whether no panels share a line."""
    require_columns(frame, (*_KEYS, "value", "seed"), "curves")
    if frame.duplicated([*_KEYS, "seed"]).any():
        row = frame[frame.duplicated([*_KEYS, "seed"])].iloc[0]
        point = ", ".join(f"{key} {row[key]}" for key in _KEYS)
        raise AtlasError(f"curves: {point} has several values for seed {row['seed']}.")
    panels, every = list(dict.fromkeys(frame["panel"])), list(dict.fromkeys(frame["line"]))
    lines = {str(name): list(dict.fromkeys(rows["line"])) for name, rows in frame.groupby("panel")}
    is_separate = len(panels) > 1 and sum(map(len, lines.values())) == len(every)
    lines = lines if is_separate else dict.fromkeys(panels, every)
    if (most := max(map(len, lines.values()))) > len(_MARKERS):
        raise AtlasError(f"curves: {most} lines are too many; draw at most {len(_MARKERS)}.")
    return panels, lines, is_separate


def _draw_panel(
    axes: Axes,
    table: pd.DataFrame,
    lines: Sequence[str],
    looks: Mapping[str, int],
    names: Mapping[str, str] | None,
) -> None:
    if table["min"].min() < 0 < table["max"].max():
        axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)
    for line in lines:
        _draw(axes, table[table["line"] == line], looks[line], label(line, names))
    if (table["along"] % 1 == 0).all():
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


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
