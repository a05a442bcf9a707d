"""Plots of values by layer, such as similarities of languages and correlations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns
from mbert_atlas.labels import label, places

_NAME = "plot by layer"
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (6, 3)), (0, (3, 1)))


def by_layer(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the rows of one metric, with layers as numbers, for :func:`layer_plot`.

    Args:
        frame: measurements of one artifact and protocol, ``layers`` as text; other layers than
            numbers are left out.
        metric: its name; ``<metric>_low`` and ``<metric>_high``, if measured, become the columns
            ``low`` and ``high``.

    Raises:
        AtlasError: if there is no such row.
    """
    frame = frame[frame["layers"].str.isdigit()].astype({"layers": int})
    keys = [name for name in frame.columns if name not in ("metric", "value")]
    values = frame[frame["metric"] == metric]
    for end in ("low", "high"):
        rows = frame[frame["metric"] == f"{metric}_{end}"].rename(columns={"value": end})
        if len(rows):
            values = values.merge(rows[[*keys, end]], how="left", on=keys)
    if values.empty:
        raise AtlasError(f"{_NAME}: there is no {metric} by layer; measure it first.")
    return values


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
    _check(frame, keys)
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
            _draw_panel(axes, panel, lines, styles, names or {}, bars=bars, large=columns == 1)
            axes.set_title("" if group is None else label(str(group), names))
        _finish_axes(grid, len(groups), columns, value_label)
        if table["least"].min() < 0 < table["largest"].max():
            for axes in grid:
                axes.axhline(0, color="#444444", linewidth=0.8, zorder=1)
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


def _finish_axes(grid: Iterable[Axes], panels: int, columns: int, value_label: str) -> None:
    """Label the outer axes of a grid, and hide what has no panel."""
    for place, axes in enumerate(grid):
        if place + columns >= panels:  # the last one of its column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("layer (0: embeddings)")
        if place % columns == 0:
            axes.set_ylabel(value_label)
        axes.set_visible(place < panels)


def _check(frame: pd.DataFrame, keys: Sequence[str]) -> None:
    require_columns(frame, (*keys, "seed", "value"), _NAME)
    if not np.isfinite(frame["value"].to_numpy(dtype=np.float64)).all():
        raise AtlasError(f"{_NAME}: a value is not a finite number; check the vectors behind it.")
    if frame.duplicated([*keys, "seed"]).any():
        row = frame[frame.duplicated([*keys, "seed"])].iloc[0]
        raise AtlasError(
            f"{_NAME}: {', '.join(f'{key} {row[key]}' for key in [*keys, 'seed'])} has several "
            "values; choose one metric, one protocol and one source."
        )
    if (count := frame[keys[-2]].nunique()) > len(_MARKERS):
        raise AtlasError(
            f"{_NAME}: {count} lines are too many; draw at most {len(_MARKERS)}, or make "
            f"{keys[-2]} the panels."
        )


def _draw_panel(
    axes: Axes,
    table: pd.DataFrame,
    lines: str,
    styles: Mapping[str, int],
    names: Mapping[str, str],
    *,
    bars: bool,
    large: bool,
) -> None:
    for number, (kind, place) in enumerate(styles.items()):
        rows, colour = table[table[lines] == kind], GROUP_COLOURS[place % len(GROUP_COLOURS)]
        layers = rows["layers"] + (0.6 * ((number + 0.5) / len(styles) - 0.5) if bars else 0)
        axes.plot(
            layers,
            rows["value"],
            color=colour,
            linestyle=_DASHES[place % len(_DASHES)],
            marker=_MARKERS[place % len(_MARKERS)],
            markersize=4.5 if large else 2.5,
            markeredgewidth=0,
            linewidth=1.4 if large else 1.1,
            label=label(str(kind), names),
        )
        ends = rows["least"], rows["largest"]
        if bars:
            axes.vlines(layers, *ends, color=colour, alpha=0.6, linewidth=1.1)
        elif (ends[0] < ends[1]).any():
            axes.fill_between(layers, *ends, color=colour, alpha=0.2, linewidth=0)
    axes.xaxis.set_major_locator(MaxNLocator(7 if large else 5, integer=True))
    axes.margins(x=0.02)
