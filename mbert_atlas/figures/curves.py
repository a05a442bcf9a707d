"""Values along a number, such as dimensions or layers: means over seeds as lines, with bands."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import GROUP_COLOURS, figure_style, panel_grid, require_columns
from mbert_atlas.labels import label, places

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MANY_DASHES = ("-", "--", "-.", ":", *_DASHES[4:], (0, (6, 3)), (0, (3, 1)))


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
    table = _spread_over_seeds(frame, "panel", "line", "along", "curves")
    panels, every = list(frame["panel"].unique()), list(frame["line"].unique())
    lines = {panel: list(rows.unique()) for panel, rows in frame.groupby("panel")["line"]}
    is_separate = len(panels) > 1 and sum(map(len, lines.values())) == len(every)
    lines = lines if is_separate else dict.fromkeys(panels, every)
    if (most := max(map(len, lines.values()))) > len(_DASHES):
        raise AtlasError(f"curves: {most} lines are too many; draw at most {len(_DASHES)}.")
    looks = places(every, order or every)
    columns = min(columns, len(panels))
    height, labels = (1.0, 3.2 if columns == 1 else 2.2), (along_label, value_label)
    with figure_style():
        figure, grid = panel_grid(panels, columns, height, "col", labels, title)
        for axes, panel in zip(grid, panels, strict=True):
            rows = table[table["panel"] == panel]
            if rows["least"].min() < 0 < rows["largest"].max():
                _draw_zero(axes)
            shown = {line: looks[line] for line in lines[panel]}
            _draw_lines(axes, rows, shown, names, _DASHES, alpha=0.18)
            if (rows["along"] % 1 == 0).all():
                axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            if is_separate:
                where = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.1)}
                axes.legend(frameon=False, ncols=3, **where)
        if not is_separate:
            _write_legend(figure, grid, ncols=3)
    return figure


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
    table = _spread_over_seeds(frame, panels, lines, "layers", "plot by layer")
    if not np.isfinite(frame["value"].to_numpy(dtype=np.float64)).all():
        raise AtlasError(
            "plot by layer: a value is not a finite number; check the vectors behind it."
        )
    kinds = list(frame[lines].unique())
    if len(kinds) > len(_MANY_DASHES):
        raise AtlasError(
            f"plot by layer: {len(kinds)} lines are too many; draw at most {len(_MANY_DASHES)}, or "
            f"make {lines} the panels."
        )
    ranks = places(kinds, order or kinds)
    groups = list(frame[panels].unique()) if panels else [""]
    titles = [label(group, names) if group else "" for group in groups]
    columns = next(n for n in range(1, 5) if n == 4 or n * n >= len(groups))
    height = {1: 3.2, 2: 2.3}.get(columns, 1.55)
    labels = ("layer (0: embeddings)", value_label)
    style = {"markersize": 4.5, "linewidth": 1.4} if columns == 1 else {"linewidth": 1.1}
    with figure_style():
        figure, grid = panel_grid(titles, columns, (0.9, height), True, labels, title)
        for axes, group in zip(grid, groups, strict=True):
            rows = table[table["panel"] == group]
            looks = {kind: ranks[kind] for kind in kinds}
            _draw_lines(axes, rows, looks, names, _MANY_DASHES, alpha=0.2, bars=bars, **style)
            axes.xaxis.set_major_locator(MaxNLocator(7 if columns == 1 else 5, integer=True))
            axes.margins(x=0.02)
            if table["least"].min() < 0 < table["largest"].max():
                _draw_zero(axes)
        if len(kinds) > 1:
            _write_legend(figure, grid, ncols=4)
    return figure


def _spread_over_seeds(
    frame: pd.DataFrame, panels: str | None, lines: str, along: str, figure: str
) -> pd.DataFrame:
    """Return mean, least and largest value of each ``panel`` and ``line``, sorted by ``along``."""
    keys = [*([panels] if panels else []), lines, along]
    require_columns(frame, (*keys, "seed", "value"), figure)
    if (repeated := frame.duplicated([*keys, "seed"])).any():
        row = frame[repeated].iloc[0]
        raise AtlasError(
            f"{figure}: {', '.join(f'{key} {row[key]}' for key in [*keys, 'seed'])} has several "
            "values; choose one metric, one protocol and one source."
        )
    table = pd.DataFrame(
        {
            "panel": frame[panels] if panels else "",
            "line": frame[lines],
            "along": frame[along],
            "mean": frame["value"],
            "least": frame[["value", *({"low"} & {*frame.columns})]].min(axis=1),
            "largest": frame[["value", *({"high"} & {*frame.columns})]].max(axis=1),
        }
    )
    spread = {"mean": "mean", "least": "min", "largest": "max"}
    return table.groupby(["panel", "line", "along"], as_index=False).agg(spread)


def _draw_lines(
    axes: Axes,
    table: pd.DataFrame,
    looks: Mapping[str, int],
    names: Mapping[str, str] | None,
    dashes: Sequence[Any],
    *,
    alpha: float,
    bars: bool = False,
    **style: Any,
) -> None:
    """Draw lines with the look of their place in a series, and their bands or bars."""
    for number, (line, place) in enumerate(looks.items()):
        rows = table[table["line"] == line]
        along = rows["along"] + (0.6 * ((number + 0.5) / len(looks) - 0.5) if bars else 0)
        colour = GROUP_COLOURS[place % len(GROUP_COLOURS)]
        place %= len(dashes)
        look = {"color": colour, "linestyle": dashes[place], "marker": _MARKERS[place]}
        look |= {"markersize": 2.5, "markeredgewidth": 0, "linewidth": 1.2, **style}
        axes.plot(along, rows["mean"], label=label(line, names), **look)
        ends = rows["least"], rows["largest"]
        if bars:
            axes.vlines(along, *ends, color=colour, alpha=0.6, linewidth=1.1)
        elif (ends[0] < ends[1]).any():
            axes.fill_between(along, *ends, color=colour, alpha=alpha, linewidth=0)


def _draw_zero(axes: Axes) -> None:
    axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)


def _write_legend(figure: Figure, grid: Sequence[Axes], ncols: int) -> None:
    """Write the legend of lines that all panels have in common."""
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=ncols, frameon=False)
