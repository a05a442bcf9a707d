"""Scores of zero-shot transfer by language and condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mbert_atlas.analysis import SCORINGS
from mbert_atlas.analysis.transfer import GAIN
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns
from mbert_atlas.labels import label, language, places

_NAME = "plot of transfer"
_AXES = {
    "accuracy": "accuracy (%)",
    "mrr": "mean reciprocal rank (%)",
    "accuracy_drop_percent": "relative accuracy drop (%)",
    GAIN: "gain (points)",
}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_SEED, _REPORTED = "one seed", "reported by the paper"
_ROW_HEIGHT = 0.8  # of the unit that each language gets on the vertical axis


def draw_transfer(
    cells: Sequence[Cell],
    title: str,
    names: Mapping[str, str],
    order: Sequence[str],
    reported: str | None,
    conditions: Mapping[str, str] | None = None,
) -> Figure:
    """Draw one measurement of transfer, see :func:`read_scores` and :func:`transfer_plot`."""
    names = {**names, **(conditions or {})}
    (cell,) = cells
    measured, printed, value_label = read_scores(cell.path, reported, names)
    return transfer_plot(
        measured, printed, title=title, value_label=value_label, names=names, order=order
    )


def read_scores(
    measurements: Path | str,
    reported: Path | str | None,
    names: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame | None, str]:
    """Read what a plot of transfer shows: gains where there are some, else the headline metrics.

    Args:
        measurements: CSV file of one artifact.
        reported: CSV file of the paper's numbers; none where they are not comparable.
        names: language code to English name.

    Returns:
        Two tables for :func:`transfer_plot` and the label of its axis. Protocols that agree in all
        values are shown as one, ``both``. Several tasks become tests, or the rows where gains are
        shown; several languages of training become tests too. Rows of single layers are left out
        where others have none.
    """
    measured = pd.read_csv(measurements, keep_default_na=False, na_values={"value": [""]})
    gains = measured["metric"] == GAIN
    headlines = {SCORINGS.load(task).metrics[0] for task in SCORINGS} | _AXES.keys()
    shown = gains if gains.any() else measured["metric"].isin(headlines)
    measured = measured[shown & (measured["target"] != "")]
    if (whole := measured["layers"] == "").any():
        measured = measured[whole]
    values = measured.groupby("protocol")["value"].apply(tuple)
    if values.nunique() == 1:  # one panel says it all
        measured = measured[measured["protocol"] == values.index[0]].assign(protocol="both")
    beside = None
    if reported is not None:
        keys = ["artifact", "task", "metric"]
        beside = pd.read_csv(reported, keep_default_na=False)
        beside = beside.merge(measured[keys].drop_duplicates(), on=keys)
    columns = {"target": "language"}
    if gains.any():
        columns = {"task": "language"}
    elif measured["task"].nunique() > 1:
        columns["task"] = "test"
    metrics = set(measured["metric"])
    label = _AXES.get(metrics.pop(), "F1 (%)") if len(metrics) == 1 else "accuracy, F1 (%)"
    measured = measured.astype({"seed": int, "value": float})
    tables = [
        None
        if table is None
        else _labelled(table, columns, measured["source"].nunique() > 1, names or {})
        for table in (measured, beside)
    ]
    assert tables[0] is not None
    return tables[0], tables[1], label


def _labelled(
    table: pd.DataFrame, columns: Mapping[str, str], by_source: bool, names: Mapping[str, str]
) -> pd.DataFrame:
    """Name tasks and, where there are several, languages of training in words."""
    named = table.assign(task=table["task"].map(label))
    if by_source:
        named["task"] += ", trained on " + named["source"].map(lambda codes: language(codes, names))
    return named.rename(columns={"task": "test"} | dict(columns) if by_source else dict(columns))


def transfer_plot(
    measured: pd.DataFrame,
    reported: pd.DataFrame | None = None,
    *,
    title: str,
    value_label: str,
    names: Mapping[str, str] | None = None,
    conditions: Sequence[str] | None = None,
    order: Sequence[str] = (),
) -> Figure:
    """Draw each seed as a small dot, their mean as a large marker, the paper's value hollow.

    Args:
        measured: columns ``language`` (code), ``condition``, ``protocol``, ``seed`` and ``value``
            (percent); one row per seed. One column of panels per protocol. Optional ``test``: name
            of the test set, which then has a row of panels of its own.
        reported: columns ``language``, ``condition``, ``value`` (and ``test``): what the paper
            gives; drawn under every protocol. Leave it out where numbers are not comparable.
        title: goes above the figure.
        value_label: the horizontal axis, such as ``accuracy on XNLI test (%)``.
        names: what languages and conditions are called, if not by their usual label.
        conditions: which conditions, in which order; by default those measured.
        order: conditions of all figures that belong together, so that each has one colour and one
            marker in all of them.

    Raises:
        AtlasError: if columns are missing, a value is not finite, or a condition is unknown.
    """
    conditions = _checked(measured, reported, conditions)
    if "test" not in measured.columns:
        measured = measured.assign(test="")
        reported = None if reported is None else reported.assign(test="")
    # In the order of the test set that has most of them.
    languages = list(dict.fromkeys([*_longest(measured), *measured["language"]]))
    protocols = list(dict.fromkeys(measured["protocol"]))
    tests = list(dict.fromkeys(measured["test"]))
    tested = {test: set(own["language"]) for test, own in measured.groupby("test")}
    rows = {test: [code for code in languages if code in tested[test]] for test in tests}
    labels = {name: label(name, names) for name in [*conditions, *languages]}
    found = places(conditions, order or conditions)
    looks = {
        name: {
            "color": GROUP_COLOURS[found[name] % len(GROUP_COLOURS)],
            "marker": _MARKERS[found[name] % len(_MARKERS)],
        }
        for name in conditions
    }
    with house_style():
        heights = [0.4 + len(rows[test]) * max(0.36, 0.17 * len(conditions)) for test in tests]
        figure = Figure(figsize=(FULL_WIDTH, 0.95 + sum(heights)), layout="constrained")
        grid = figure.subplots(
            len(tests),
            len(protocols),
            sharex=True,
            sharey="row",
            squeeze=False,
            height_ratios=heights,
        ).ravel()
        panels = [(test, protocol) for test in tests for protocol in protocols]
        for axes, (test, protocol) in zip(grid, panels, strict=True):
            shown = measured[(measured["protocol"] == protocol) & (measured["test"] == test)]
            beside = None if reported is None else reported[reported["test"] == test]
            _draw_panel(axes, shown, beside, looks, rows[test], labels)
            titles = [f"protocol: {protocol}"] if test == tests[0] else []
            if len(tests) > 1 and test:
                titles.append(test if protocol == protocols[0] else "")
            axes.set_title("\n".join(titles))
            _finish_panel(axes, [labels[code] for code in rows[test]])
            axes.set_ylim(len(rows[test]) - 0.5, -0.5)
        for axes in grid[-len(protocols) :]:
            axes.set_xlabel(value_label)
        figure.suptitle(title, x=0.01, ha="left")
        _write_legend(figure, grid, [labels[name] for name in conditions])
    return figure


def _checked(
    measured: pd.DataFrame, reported: pd.DataFrame | None, conditions: Sequence[str] | None
) -> list[str]:
    """Return the conditions to draw, or refuse the tables."""
    require_columns(measured, ("language", "condition", "protocol", "seed", "value"), _NAME)
    if reported is not None:
        require_columns(reported, ("language", "condition", "value"), _NAME)
    if not np.isfinite(measured["value"].to_numpy(dtype=np.float64)).all():
        raise AtlasError(f"{_NAME}: a value is not a finite number; check the scores behind it.")
    found = list(dict.fromkeys(measured["condition"]))
    chosen = list(conditions or found)
    absent = [condition for condition in chosen if condition not in found]
    if absent:
        raise AtlasError(
            f"{_NAME}: nothing measured for condition {', '.join(absent)} "
            f"(found {', '.join(found)}); run it or leave it out."
        )
    if len(chosen) > len(_MARKERS):
        raise AtlasError(
            f"{_NAME}: {len(chosen)} conditions are too many to tell apart; "
            f"choose at most {len(_MARKERS)}."
        )
    return chosen


def _draw_panel(
    axes: Axes,
    shown: pd.DataFrame,
    reported: pd.DataFrame | None,
    looks: Mapping[str, Mapping[str, Any]],
    languages: list[str],
    labels: Mapping[str, str],
) -> None:
    for place, (condition, look) in enumerate(looks.items()):
        # the first condition on top, as in the tables
        shift = _ROW_HEIGHT * ((place + 0.5) / len(looks) - 0.5)
        style: dict[str, Any] = {"linestyle": "none", **look}
        cells = shown[shown["condition"] == condition]
        if cells.empty:
            continue
        by_language = cells.groupby("language", sort=False)["value"]
        spread = cells[by_language.transform("size") > 1]
        axes.plot(
            spread["value"],
            _heights(spread["language"], languages, shift),
            markersize=3.5,
            alpha=0.45,
            markeredgewidth=0,
            label=_SEED if len(spread) else None,
            **style,
        )
        means = by_language.mean()
        axes.plot(
            means,
            _heights(means.index, languages, shift),
            markersize=7.5,
            markeredgecolor="white",
            label=labels[condition],
            **style,
        )
        if reported is None:
            continue
        cells = reported[
            (reported["condition"] == condition) & reported["language"].isin(means.index)
        ]
        if len(cells):
            axes.plot(
                cells["value"],
                _heights(cells["language"], languages, shift),
                markersize=8.5,
                markerfacecolor="none",
                markeredgewidth=1.2,
                label=_REPORTED,
                **style,
            )


def _finish_panel(axes: Axes, languages: Sequence[str]) -> None:
    axes.set_yticks(range(len(languages)))
    axes.set_yticklabels(languages)
    axes.hlines(
        np.arange(len(languages) - 1) + 0.5,
        0,
        1,
        transform=axes.get_yaxis_transform(),
        color="#BBBBBB",
        linewidth=0.6,
    )
    axes.grid(visible=False, axis="y")


def _write_legend(figure: Figure, grid: Iterable[Axes], conditions: Sequence[str]) -> None:
    """Write a line for each condition, and one for small and hollow markers if any are drawn."""
    handles: dict[str, Any] = {}
    for axes in grid:
        handles |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    looks = {_SEED: (3.5, GROUP_COLOURS[0], 0.45), _REPORTED: (8.5, "none", 1.0)}
    for kind, (size, face, alpha) in looks.items():
        if kind in handles:
            handles[kind] = Line2D(
                [],
                [],
                marker="o",
                markersize=size,
                markerfacecolor=face,
                markeredgecolor="#444444" if face == "none" else "none",
                alpha=alpha,
                linestyle="none",
            )
    labels = [name for name in (*conditions, *looks) if name in handles]
    figure.legend(
        [handles[name] for name in labels],
        labels,
        loc="outside lower center",
        ncols=4,
        frameon=False,
    )


def _longest(measured: pd.DataFrame) -> list[str]:
    found = [list(dict.fromkeys(rows["language"])) for _, rows in measured.groupby("test")]
    return max(found, key=len)


def _heights(codes: Iterable[str], languages: list[str], shift: float) -> list[float]:
    return [languages.index(code) + shift for code in codes]
