"""Values along a number, such as dimensions or layers: means over seeds as lines, with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns
from mbert_atlas.labels import label, places

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MANY_DASHES = (
    *("-", "--", "-.", ":"),
    *((0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 3)), (0, (3, 1))),
)
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
    _require_one_value(frame, _KEYS, "curves")
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
        for axes, panel in zip(grid, panels, strict=False):
            axes.set_title(panel)
            _draw_panel(axes, table[table["panel"] == panel], lines[panel], looks, names)
            if is_separate:
                where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
                axes.legend(frameon=False, ncols=3, **where)
        _label_outer_axes(list(grid), len(panels), columns, along_label, value_label)
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
    panels, every = list(dict.fromkeys(frame["panel"])), list(dict.fromkeys(frame["line"]))
    lines = {str(name): list(dict.fromkeys(rows["line"])) for name, rows in frame.groupby("panel")}
    is_separate = len(panels) > 1 and sum(map(len, lines.values())) == len(every)
    lines = lines if is_separate else dict.fromkeys(panels, every)
    if (most := max(map(len, lines.values()))) > len(_DASHES):
        raise AtlasError(f"curves: {most} lines are too many; draw at most {len(_DASHES)}.")
    return panels, lines, is_separate


def _draw_panel(
    axes: Axes,
    table: pd.DataFrame,
    lines: Sequence[str],
    looks: Mapping[str, int],
    names: Mapping[str, str] | None,
) -> None:
    if table["min"].min() < 0 < table["max"].max():
        _draw_zero(axes)
    for line in lines:
        rows = table[table["line"] == line]
        if rows.empty:
            continue
        along, text = rows["along"], label(line, names)
        colour = _draw_line(axes, along, rows["mean"], looks[line], label=text)
        axes.fill_between(along, rows["min"], rows["max"], color=colour, alpha=0.18, linewidth=0)
    if (table["along"] % 1 == 0).all():
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def layer_plot(
    frame: pd.DataFrame,
    *,
    title: str,
    value_label: str,
    lines: str = "condition",
    panels: str | None = None,
    names: Mapping[str, str] | None = None,
    bars: bool = False,
    order: Sequence[str] = (),
) -> Figure:
    """Draw the mean over seeds by layer, with a band.

    The band spans the values of all seeds; if the table has ``low`` and ``high``, their intervals.

    Args:
        frame: columns of measurements: ``layers`` (number), ``value``, ``seed``, ``lines`` and
            ``panels``; one row per layer, seed, line and panel. Optional ``low`` and ``high``, the
            ends of an interval.
        title: title of the figure.
        value_label: label of the vertical axis.
        lines: column with one line for each of its values, at most 8.
        panels: column with one panel for each of its values, with shared axes, such as ``target``;
            none for one panel.
        names: labels of lines and panels that differ from the usual ones.
        bars: draw bars side by side instead of bands, for wide intervals, which would overlap.
        order: all lines of a series of figures, so that each looks the same in all of them.

    Raises:
        AtlasError: if a column is missing, a value is not finite, a layer has several values of a
            seed, or there are too many lines.
    """
    keys = [*([panels] if panels else []), lines, "layers"]
    _require_one_value(frame, keys, "plot by layer")
    _check_lines(frame, lines)
    table = _spread_over_seeds(frame, keys)
    kinds = list(dict.fromkeys(frame[lines]))
    ranks = places(kinds, order or kinds)
    styles = {kind: ranks[kind] for kind in kinds}
    groups = list(dict.fromkeys(frame[panels])) if panels else [None]
    columns = next(n for n in range(1, 5) if n == 4 or n * n >= len(groups))
    rows = math.ceil(len(groups) / columns)
    height = {1: 3.2, 2: 2.3}.get(columns, 1.55)
    with house_style():
        figure = Figure(figsize=(FULL_WIDTH, 0.9 + rows * height), layout="constrained")
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
        for axes, group in zip(grid, groups, strict=False):
            panel = table if group is None else table[table[panels] == group]
            _draw_layers(axes, panel, lines, styles, names or {}, bars=bars, large=columns == 1)
            axes.set_title("" if group is None else label(str(group), names))
        _label_outer_axes(list(grid), len(groups), columns, "layer (0: embeddings)", value_label)
        if table["least"].min() < 0 < table["largest"].max():
            for axes in grid:
                _draw_zero(axes)
        figure.suptitle(title, x=0.01, ha="left")
        if len(kinds) > 1:
            handles, labels = grid[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _spread_over_seeds(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return mean, least and largest value over seeds, sorted by layer."""
    ends = frame.assign(
        least=frame[["value", *({"low"} & {*frame.columns})]].min(axis=1),
        largest=frame[["value", *({"high"} & {*frame.columns})]].max(axis=1),
    )
    spread = {"value": "mean", "least": "min", "largest": "max"}
    return ends.groupby(keys, sort=False, as_index=False).agg(spread).sort_values("layers")


def _check_lines(frame: pd.DataFrame, lines: str) -> None:
    if not np.isfinite(frame["value"].to_numpy(dtype=np.float64)).all():
        raise AtlasError(
            "plot by layer: a value is not a finite number; check the vectors behind it."
        )
    if (count := frame[lines].nunique()) > len(_MANY_DASHES):
        raise AtlasError(
            f"plot by layer: {count} lines are too many; draw at most {len(_MANY_DASHES)}, or make "
            f"{lines} the panels."
        )


def _draw_layers(
    axes: Axes,
    table: pd.DataFrame,
    lines: str,
    styles: Mapping[str, int],
    names: Mapping[str, str],
    *,
    bars: bool,
    large: bool,
) -> None:
    style = {"markersize": 4.5, "linewidth": 1.4} if large else {"linewidth": 1.1}
    for number, (kind, place) in enumerate(styles.items()):
        rows, text = table[table[lines] == kind], label(str(kind), names)
        layers = rows["layers"] + (0.6 * ((number + 0.5) / len(styles) - 0.5) if bars else 0)
        colour = _draw_line(axes, layers, rows["value"], place, _MANY_DASHES, label=text, **style)
        ends = rows["least"], rows["largest"]
        if bars:
            axes.vlines(layers, *ends, color=colour, alpha=0.6, linewidth=1.1)
        elif (ends[0] < ends[1]).any():
            axes.fill_between(layers, *ends, color=colour, alpha=0.2, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(7 if large else 5, integer=True))
    axes.margins(x=0.02)


def _draw_line(
    axes: Axes, along: Any, values: Any, place: int, dashes: Sequence[Any] = _DASHES, **style: Any
) -> str:
    """Draw a line with the look of its place in a series, and return its colour."""
    colour = GROUP_COLOURS[place % len(GROUP_COLOURS)]
    place %= len(dashes)
    look = {"color": colour, "linestyle": dashes[place], "marker": _MARKERS[place]}
    usual = {"markersize": 2.5, "markeredgewidth": 0, "linewidth": 1.2}
    axes.plot(along, values, **{**look, **usual, **style})
    return colour


def _draw_zero(axes: Axes) -> None:
    axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)


def _label_outer_axes(
    grid: Sequence[Axes], panels: int, columns: int, along_label: str, value_label: str
) -> None:
    """Label the outer axes of a grid, and hide what has no panel."""
    for place, axes in enumerate(grid):
        if place + columns >= panels:  # the last one of its column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(along_label)
        if place % columns == 0:
            axes.set_ylabel(value_label)
        axes.set_visible(place < panels)


def _require_one_value(frame: pd.DataFrame, keys: Sequence[str], figure: str) -> None:
    """Check that every point has one value for a seed."""
    require_columns(frame, (*keys, "seed", "value"), figure)
    if (repeated := frame.duplicated([*keys, "seed"])).any():
        row = frame[repeated].iloc[0]
        raise AtlasError(
            f"{figure}: {', '.join(f'{key} {row[key]}' for key in [*keys, 'seed'])} has several "
            "values; choose one metric, one protocol and one source."
        )
