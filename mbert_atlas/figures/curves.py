"""Values along a number, such as dimensions or layers: means over seeds as lines, with bands."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import fill
from typing import Any, Literal

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.reported import draw_reported, has_reported, reported_entry
from mbert_atlas.figures.style import (
    FULL_WIDTH,
    MARKERS,
    figure_style,
    group_colours,
    legend_columns,
    panel_grid,
    require_rows,
)
from mbert_atlas.figures.uncertainty import describe, interval_name
from mbert_atlas.labels import label, places

_DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MANY_DASHES = ("-", "--", "-.", ":", *_DASHES[4:], (0, (6, 3)), (0, (3, 1)))
_NARROW = 28  # characters that fit a legend in the place of a small panel
_COLUMN = 2.4  # inches that a run takes in a grid
_KEYS = ["panel", "line", "along"]


def curve_plot(
    frame: pd.DataFrame,
    *,
    title: str,
    along_label: str | Mapping[str, str],
    value_label: str | Mapping[str, str],
    columns: int = 2,
    share: Literal["col", True] = "col",
    headings: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
    dashes: Sequence[Any] = _DASHES,
    bars: bool = False,
    band: str = "",
    items: str = "test items",
) -> Figure:
    """Draw the means over seeds as lines, and bands from the lowest to the highest seed.

    The table has the columns ``panel`` and ``line`` (text), ``along`` and ``value`` (numbers),
    ``seed`` and ``n``, which counts ``items``; optional ``low`` and ``high`` are the ends of an
    interval, which the bands then span: of ``over``, see :func:`.uncertainty.with_intervals`, or
    what ``band`` says; hollow markers are values ``reported``, see :func:`.reported.with_reported`.
    ``bars`` replace bands that would overlap. Axes have one label, or one by panel. There are
    ``columns`` panels in a row; those of a column, or all, ``share`` their axes. Panels without
    common lines have separate legends, others a common one. The label of the figure is what a
    caption says of n, seeds and intervals.

    ``order`` has the lines of all figures that belong together, so that each looks the same in all
    of them; a panel has at most as many lines as there are ``dashes``, of which 8 have markers.
    ``headings`` of panels and ``names``, labels of lines, are those that differ from the usual
    ones. Raises AtlasError if there are no rows or too many lines, or a point has several values
    for a seed.
    """
    table = _spread_over_seeds(frame)
    panels, every = list(frame["panel"].unique()), list(frame["line"].unique())
    lines, is_separate = _lines_by_panel(frame, len(dashes))
    ranks = places(every, order or every)
    columns, labels = min(columns, len(panels)), (along_label, value_label)
    # many panels with common axes are small, one alone has large markers
    row = 3.2 if columns == 1 else 1.55 if columns > 2 and share is True else 2.6
    size = {1: 4.5, 2: 3.5}.get(columns, 2.5)
    texts = {line: label(line, names) for line in every}
    marks = _marks(frame, interval_name(frame, band), bars=bars)
    fitting = legend_columns([*texts.values(), *marks], 4 if share is True else 3)
    legend: dict[str, Any] = {"ncols": fitting, "frameon": False}
    with figure_style():
        figure, grid = panel_grid(panels, columns, (1.0, row), share, labels, title)
        for axes, panel in zip(grid, panels, strict=True):
            rows = table[table["panel"] == panel]
            looks = {line: _look(ranks[line], dashes, size, texts[line]) for line in lines[panel]}
            _draw_panel(axes, rows, looks, 7 if columns > 2 else 9, bars=bars)
            axes.set_title((headings or {}).get(panel, panel) if panels[1:] else "")
            if is_separate:
                axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.26), **legend)
        if not is_separate:
            legend |= _free_place(figure.axes[len(panels) :])
        _write_legend(figure, [] if is_separate else grid[:1], marks, legend)
    by, mark = "task" if "task" in frame else "panel", "Bars" if bars else "Bands"
    figure.set_label(describe(frame, mark, by=by, of="line", items=items, band=band, names=names))
    return figure


def _lines_by_panel(frame: pd.DataFrame, most: int) -> tuple[dict[str, list[str]], bool]:
    """Return the lines of each panel, at most so many, and whether no two panels share one."""
    every = list(frame["line"].unique())
    lines = {str(panel): list(rows.unique()) for panel, rows in frame.groupby("panel")["line"]}
    is_separate = len(lines) > 1 and sum(map(len, lines.values())) == len(every)
    lines = lines if is_separate else dict.fromkeys(lines, every)
    if (many := max(map(len, lines.values()))) > most:
        raise AtlasError(f"curves: {many} lines are too many; draw at most {most}.")
    return lines, is_separate


def _free_place(hidden: Sequence[Axes]) -> dict[str, Any]:
    """Return how a legend gets the place of a hidden panel, if there is one."""
    if not hidden:
        return {}
    place = {"loc": "center left", "bbox_to_anchor": (0, 0.5), "ncols": 1}
    return place | {"bbox_transform": hidden[0].transAxes}


def _draw_panel(
    axes: Axes, rows: pd.DataFrame, looks: Mapping[str, dict[str, Any]], ticks: int, *, bars: bool
) -> None:
    """Draw lines with these looks; an axis of whole numbers has at most so many ticks."""
    if (rows["along"] % 1 == 0).all():
        axes.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    # bars of all lines fit between a place and the next, if there is one
    gaps = [high - low for low, high in pairwise(sorted(rows["along"].unique()))]
    _draw_lines(axes, rows, looks, room=0.4 * min(gaps, default=1.0) if bars else 0.0)


def _marks(frame: pd.DataFrame, interval: str, *, bars: bool) -> dict[str, Any]:
    """Return the entries of a legend for other marks than lines."""
    marks: dict[str, Any] = {**reported_entry(frame)}
    if interval:
        grey = "#777777"
        marks[interval] = Line2D([], [], color=grey) if bars else Patch(color=grey, alpha=0.3)
    return marks


def _write_legend(
    figure: Figure, panels: Sequence[Axes], marks: Mapping[str, Any], style: Mapping[str, Any]
) -> None:
    """Write a legend of the lines of the first of some panels, and of other marks, if any."""
    handles, texts = panels[0].get_legend_handles_labels() if panels else ([], [])
    if len(texts) > 1 or marks:
        texts = [*texts, *marks]
        if style["ncols"] == 1:
            texts = [fill(text, _NARROW) for text in texts]
        style = {"loc": "outside lower center", **style}
        figure.legend([*handles, *marks.values()], texts, **style)


def curve_grid(
    frames: Mapping[str, pd.DataFrame],
    *,
    along_label: str,
    value_label: str,
    names: Mapping[str, str],
) -> Figure:
    """Draw the same curves of several runs: a column for each, a row for each panel.

    The tables, by heading of their column, are those of :func:`curve_plot`; ``along`` may be a text
    for a category, which has no line to the next. The vertical axis is common to a row. Categories
    are common to all columns, numbers are not: encoders differ in their number of layers. A line
    looks the same everywhere; ``names`` are labels of panels, lines and categories. Raises
    AtlasError as :func:`curve_plot`, but not for many lines.
    """
    tables = {heading: _spread_over_seeds(frame) for heading, frame in frames.items()}
    panels, lines, along = (
        list(dict.fromkeys(item for frame in frames.values() for item in frame[column]))
        for column in _KEYS
    )
    categories = [item for item in along if isinstance(item, str)]
    across: Literal["col", True] = True if categories else "col"
    width = max(FULL_WIDTH, _COLUMN * len(frames))
    size = (width, 1.2 + 1.9 * len(panels) + (0.5 if categories else 0))
    looks = {
        line: _look(rank, MANY_DASHES, 3.5, label(line, names)) for rank, line in enumerate(lines)
    }
    if categories:
        looks = {line: look | {"linestyle": "none"} for line, look in looks.items()}
        for table in tables.values():
            table["along"] = table["along"].map(categories.index).astype(float)
    with figure_style():
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(len(panels), len(tables), sharex=across, sharey="row", squeeze=False)
        for panel, row in zip(panels, grid, strict=True):
            row[0].set_ylabel("\n".join(filter(None, [label(panel, names), value_label])))
            for axes, table in zip(row, tables.values(), strict=True):
                of_panel = table[table["panel"] == panel]
                _draw_lines(axes, of_panel, looks, room=0.5 if categories else 0.0)
        for heading, top, bottom in zip(tables, grid[0], grid[-1], strict=True):
            top.set_title(heading)
            bottom.set_xlabel(along_label)
            bottom.tick_params(axis="x", labelrotation=90 if len(categories) > 4 else 0)
        if categories:
            texts = [label(item, names) for item in categories]
            grid[0, 0].set_xticks(range(len(texts)), texts)
        handles, entries = grid[0, 0].get_legend_handles_labels()
        marks: dict[str, Any] = {}
        for frame in frames.values():  # of some runs numbers may be comparable
            marks |= reported_entry(frame)
        style: dict[str, Any] = {"loc": "outside lower center", "ncols": 4, "frameon": False}
        figure.legend([*handles, *marks.values()], [*entries, *marks], **style)
    return figure


def _draw_lines(
    axes: Axes, rows: pd.DataFrame, looks: Mapping[str, dict[str, Any]], room: float
) -> None:
    """Draw lines with these looks; one without points still has its entry in the legend.

    Around each number bars of all lines share ``room``; if that is 0, there are bands instead.
    """
    if rows["least"].min() < 0 < rows["largest"].max():
        axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)
    for place, (line, look) in enumerate(looks.items()):
        points = rows[rows["line"] == line]
        along = points["along"] + room * ((place + 0.5) / len(looks) - 0.5)
        low, high = points["least"], points["largest"]
        axes.plot(along, points["mean"], markeredgewidth=0, linewidth=1.2, **look)
        if room:
            axes.vlines(along, low, high, color=look["color"], alpha=0.6, linewidth=1.1)
        elif (low < high).any():
            axes.fill_between(along, low, high, color=look["color"], alpha=0.18, linewidth=0)
        if has_reported(points):
            size = look["markersize"] + 4
            draw_reported(axes, along, points["reported"], points, look | {"markersize": size})


def _spread_over_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Return mean, and the ends of intervals or else of values, of each point along each line."""
    require_rows(frame, "curves")
    if (repeated := frame.duplicated([*_KEYS, "seed"])).any():
        row = frame[repeated].iloc[0]
        raise AtlasError(
            f"curves: {', '.join(f'{key} {row[key]}' for key in [*_KEYS, 'seed'])} has several "
            "values; choose one metric, one protocol and one source."
        )
    least, largest = (
        frame[end].fillna(frame["value"]) if end in frame else frame["value"]
        for end in ("low", "high")
    )
    table = frame[_KEYS].assign(mean=frame["value"], least=least, largest=largest)
    spread = {"mean": "mean", "least": "min", "largest": "max"}
    if has_reported(frame):
        table = table.join(frame[["reported", "is_comparable"]])
        spread |= {"reported": "first", "is_comparable": "first"}
    return table.groupby(_KEYS, as_index=False).agg(spread)


def _look(rank: int, dashes: Sequence[Any], size: float, text: str) -> dict[str, Any]:
    """Return colour, dash, marker and label of a line, by its rank among all lines."""
    colours = group_colours()
    return {
        "color": colours[rank % len(colours)],
        "linestyle": dashes[rank % len(dashes)],
        "marker": MARKERS[rank % len(dashes)],
        "markersize": size,
        "label": text,
    }
