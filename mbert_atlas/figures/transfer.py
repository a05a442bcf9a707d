"""Scores of zero-shot transfer by language and condition."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.analysis.transfer import GAIN
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.reported import (
    REPORTED,
    Reported,
    draw_reported,
    has_reported,
    reported_entry,
    with_reported,
)
from mbert_atlas.figures.style import (
    FULL_WIDTH,
    MARKERS,
    figure_style,
    group_colours,
    legend_columns,
    require_rows,
)
from mbert_atlas.figures.uncertainty import describe, interval_name, with_intervals
from mbert_atlas.labels import label, language, places

_AXES = {
    "mrr": "mean reciprocal rank (%)",
    "accuracy_drop_percent": "relative accuracy drop (%)",
    GAIN: "gain in accuracy or F1 (points)",
}
_SEED, _MEAN = "single seed", "mean"
_MARKER_STYLES: dict[str, dict[str, Any]] = {
    _SEED: {"markersize": 3.5, "alpha": 0.45, "markeredgewidth": 0},
    _MEAN: {"markersize": 7.5, "markeredgecolor": "white"},
}
_INTERVAL = "interval"
_ROW_HEIGHT = 0.8  # of the unit that each language gets on the vertical axis


def draw_transfer(
    cells: Sequence[Cell],
    title: str,
    names: Mapping[str, str],
    order: Sequence[str],
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
) -> Figure:
    """Draw one measurement of transfer, see :func:`read_scores` and :func:`transfer_plot`."""
    (cell,) = cells
    measured, value_label = read_scores(cell.path, names, intervals, reported)
    return transfer_plot(measured, title=title, value_label=value_label, names=names, order=order)


def read_scores(
    measurements: Path | str,
    names: Mapping[str, str],
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
) -> tuple[pd.DataFrame, str]:
    """Read what a plot of transfer shows: gains if there are any, else each task's first metric.

    Returns the table for :func:`transfer_plot` and the label of its axis. Protocols that agree in
    all values are shown as one, ``both``. Several tasks become tests, or the rows where gains are
    shown; several training languages become tests, too. Rows of single layers are left out where
    others have none. What the paper reports over all languages is a test, with metrics as rows.
    """
    every = with_intervals(read_measurements(measurements), intervals)
    every = with_reported(every, reported)
    measured = every[every["target"] != ""]
    is_gain = measured["metric"] == GAIN
    headline = measured.groupby("task")["metric"].transform("first")
    measured = measured[is_gain if is_gain.any() else measured["metric"] == headline]
    if (all_layers := measured["layers"] == "").any():
        measured = measured[all_layers]
    overall = every[every["target"] == ""]
    overall = overall[overall["reported"].notna()] if has_reported(overall) else overall[:0]
    values = pd.concat([measured, overall]).groupby("protocol")["value"].apply(tuple)
    if values.nunique() == 1:
        measured, overall = (
            some[some["protocol"] == values.index[0]].assign(protocol="both")
            for some in (measured, overall)
        )

    metrics, by_source = measured["metric"].unique(), measured["source"].nunique() > 1
    columns = {"task": "language"} if is_gain.any() else {"target": "language"}
    if by_source or measured["task"].nunique() > 1:
        columns = {"task": "test", **columns}

    def labelled(table: pd.DataFrame) -> pd.DataFrame:
        tasks = table["task"].map(label)
        if len(metrics) > 1 and not is_gain.any():
            tasks += " (" + table["metric"].map(label) + ")"
        if by_source:
            tasks += ", trained on " + table["source"].map(lambda codes: language(codes, names))
        table = table.assign(task=tasks).rename(columns=columns)
        return table if "test" in table else table.assign(test="")

    points, value_label = labelled(measured), "accuracy or F1 (%), see the headings"
    if len(metrics) == 1:
        value_label = _AXES.get(metrics[0], f"{label(metrics[0])} (%)")
    if len(overall):
        overall = overall.assign(test="all languages", language=overall["metric"])
        by_language = points["test"].where(points["test"] != "", f"{value_label} by language")
        points = pd.concat([overall, points.assign(test=by_language)])
        value_label = "%, see the headings"
    return points, value_label


def scores_by_language(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the points that :func:`.curves.curve_grid` draws of transfer under one protocol.

    Each task is a panel with its first metric, each condition a line, each target a category.
    """
    rows = rows[(rows["target"] != "") & (rows["layers"] == "")]
    rows = rows[rows["metric"] == rows.groupby("task")["metric"].transform("first")]
    return rows.assign(panel=rows["task"], line=rows["condition"], along=rows["target"])


def transfer_plot(
    measured: pd.DataFrame,
    *,
    title: str,
    value_label: str,
    names: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Draw seeds as small dots, their mean as a large marker with a bar; the paper's value hollow.

    ``measured`` has the columns ``test``, ``language`` (code), ``condition``, ``protocol``,
    ``seed``, ``n`` and ``value`` (percent), one row per seed; each test has a row of panels, each
    protocol a column. Bars have the ends ``low`` and ``high``, if there are any, see
    :func:`.uncertainty.with_intervals`, and hollow markers the values ``reported``, see
    :func:`.reported.with_reported`. ``names`` are those of languages and conditions that differ
    from their usual label. ``order`` has the conditions of all figures that belong together, so
    that each looks the same in all of them. The label of the figure is what a caption says of n,
    seeds and intervals. Raises AtlasError if there are no rows, or too many conditions.
    """
    require_rows(measured, "plot of transfer")
    styles = _styles(list(measured["condition"].unique()), order, names)
    points, rows = _points(measured), _languages_by_test(measured)
    tests, protocols = list(rows), list(measured["protocol"].unique())
    # a single row of few markers is high enough to see them apart, and to outweigh the legend
    least, per_row = 1.0 / len(tests), max(0.36, 0.17 * len(styles))
    heights = [0.4 + max(least, len(rows[test]) * per_row) for test in tests]
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 0.95 + sum(heights)), layout="constrained")
        share: dict[str, Any] = {"sharex": True, "sharey": "row", "squeeze": False}
        grid = figure.subplots(len(tests), len(protocols), height_ratios=heights, **share)
        for test, panels in zip(tests, grid, strict=True):
            for protocol, axes in zip(protocols, panels, strict=True):
                of_panel = {
                    kind: some[(some["protocol"] == protocol) & (some["test"] == test)]
                    for kind, some in points.items()
                }
                _draw_panel(axes, of_panel, styles, rows[test])
                titles = [f"protocol: {protocol}"] if test == tests[0] else []
                if len(tests) > 1 and test:
                    titles.append(test if protocol == protocols[0] else "")
                axes.set_title("\n".join(titles))
                _label_rows(axes, [label(code, names) for code in rows[test]])
        for axes in grid[-1]:
            axes.set_xlabel(value_label)
        axes.set_xlim(*_limits(measured, points))
        figure.suptitle(title, x=0.01, ha="left")
        figure.supylabel("tested on", fontsize=9)
        interval = interval_name(measured) if "over" in measured else ""
        _write_legend(figure, [style["label"] for style in styles.values()], interval, measured)
    described = describe(measured, "Bars", by="test", of="condition", names=names)
    figure.set_label(described + _on_long_bars(points, axes.get_xlim()))
    return figure


def _styles(
    conditions: Sequence[str], order: Sequence[str], names: Mapping[str, str] | None
) -> dict[str, dict[str, Any]]:
    """Return label, colour and marker of each condition."""
    if (count := len(conditions)) > len(MARKERS):
        most = len(MARKERS)
        raise AtlasError(f"plot of transfer: {count} conditions are too many; show at most {most}.")
    ranks, colours = places(conditions, order or conditions), group_colours()
    return {
        name: {
            "label": label(name, names),
            "color": colours[ranks[name] % len(colours)],
            "marker": MARKERS[ranks[name] % len(MARKERS)],
        }
        for name in conditions
    }


def _on_long_bars(points: Mapping[str, pd.DataFrame], limits: tuple[float, float]) -> str:
    bars = points.get(_INTERVAL)
    if bars is None or (bars["low"].min() >= limits[0] and bars["high"].max() <= limits[1]):
        return ""
    return " Bars that reach the frame go on behind it."


def _points(measured: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return what is drawn, by kind of marker."""
    keys = ["test", "protocol", "condition", "language"]
    by_cell = measured.groupby(keys, sort=False)["value"]
    means = by_cell.mean().reset_index()
    points = {_SEED: measured[by_cell.transform("size") > 1], _MEAN: means}
    if "low" in measured:
        points = {_INTERVAL: measured.dropna(subset="low").drop_duplicates(keys), **points}
    if has_reported(measured):
        points[REPORTED] = measured.dropna(subset="reported").drop_duplicates(keys)
    return points


def _limits(measured: pd.DataFrame, points: Mapping[str, pd.DataFrame]) -> tuple[float, float]:
    """Return the ends of the axis: bars that are far longer than the points apart are cut off."""
    values = [*measured["value"], *(points[REPORTED]["reported"] if REPORTED in points else ())]
    low, high = min(values), max(values)
    room = 0.6 * max(high - low, 1.0)
    if _INTERVAL in points:
        low = min(low, max(points[_INTERVAL]["low"].min(), low - room))
        high = max(high, min(points[_INTERVAL]["high"].max(), high + room))
    margin = 0.04 * (high - low or 1.0)
    return low - margin, high + margin


def _languages_by_test(measured: pd.DataFrame) -> dict[str, list[str]]:
    """Return the languages of each test set, in the order of the one that has most of them."""
    tests = {test: list(rows.unique()) for test, rows in measured.groupby("test")["language"]}
    order = dict.fromkeys([*max(tests.values(), key=len), *measured["language"]])
    return {
        test: [code for code in order if code in tests[test]] for test in measured["test"].unique()
    }


def _draw_panel(
    axes: Axes,
    points: Mapping[str, pd.DataFrame],
    styles: Mapping[str, dict[str, Any]],
    languages: list[str],
) -> None:
    for place, (condition, style) in enumerate(styles.items()):
        # the first condition on top, as in the tables
        shift = _ROW_HEIGHT * ((place + 0.5) / len(styles) - 0.5)
        for kind, some in points.items():
            rows = some[some["condition"] == condition]
            if len(rows):
                heights = [languages.index(code) + shift for code in rows["language"]]
                if kind == _INTERVAL:
                    look = {"color": style["color"], "linewidth": 1.4, "alpha": 0.75}
                    axes.hlines(heights, rows["low"], rows["high"], **look)
                    continue
                if kind == REPORTED:
                    draw_reported(
                        axes, rows["reported"], heights, rows, style | {"markersize": 8.5}
                    )
                    continue
                options = style | _MARKER_STYLES[kind] | ({} if kind == _MEAN else {"label": kind})
                axes.plot(rows["value"], heights, linestyle="none", **options)


def _label_rows(axes: Axes, languages: Sequence[str]) -> None:
    axes.set_yticks(range(len(languages)), languages)
    borders = np.arange(len(languages) - 1) + 0.5
    across = axes.get_yaxis_transform()
    axes.hlines(borders, 0, 1, transform=across, color="#BBBBBB", linewidth=0.6)
    axes.grid(visible=False, axis="y")
    axes.set_ylim(len(languages) - 0.5, -0.5)


def _write_legend(
    figure: Figure, conditions: Sequence[str], interval: str, measured: pd.DataFrame
) -> None:
    """Write a line for each condition, and one for other markers, and bars, if any are drawn."""
    handles: dict[str, Any] = {}
    for axes in figure.axes:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    if _SEED in handles:
        style = {**_MARKER_STYLES[_SEED], "color": group_colours()[0]}
        handles[_SEED] = Line2D([], [], marker="o", linestyle="none", **style)
    entries = {name: handles[name] for name in (*conditions, _SEED) if name in handles}
    entries |= reported_entry(measured)
    if interval:
        entries[interval] = Line2D([], [], color="#777777", linewidth=1.4)
    columns = legend_columns(list(entries), 6)
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    place |= {"columnspacing": 1.0, "handletextpad": 0.5}
    figure.legend(list(entries.values()), list(entries), **place)
