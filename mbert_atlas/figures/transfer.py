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

from mbert_atlas.analysis.transfer import GAIN, KINDS
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.style import FULL_WIDTH, GROUP_COLOURS, house_style, require_columns

_NAME = "plot of transfer"
_AXES = {
    "accuracy": "accuracy (%)",
    "mrr": "mean reciprocal rank (%)",
    "accuracy_drop_percent": "accuracy lost (% of it)",
    GAIN: "gain (points)",
}
_TASKS = {
    "mlqa": "MLQA",
    "xquad": "XQuAD",
    "tydiqa": "TyDi QA",
    "xnli": "XNLI",
    "ner": "NER",
    "squad": "SQuAD",
    "question_target_paragraph_english": "questions in the target language, paragraphs in English",
    "question_english_paragraph_target": "questions in English, paragraphs in the target language",
    "mixed": "one side in English",
    "translated_squad": "tuned on translated SQuAD",
    "en": "English",
}
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_ROW_HEIGHT = 0.8  # of the unit that each language gets on the vertical axis


def read_scores(
    measurements: Path | str, reported: Path | str | None
) -> tuple[pd.DataFrame, pd.DataFrame | None, str]:
    """Read what a plot of transfer shows: gains where there are some, else the headline metrics.

    Args:
        measurements: CSV file of one artifact.
        reported: CSV file of the paper's numbers; none where they are not comparable.

    Returns:
        Two tables for :func:`transfer_plot` and the label of its axis. Protocols that agree in all
        values are shown as one, ``both``. Several tasks become tests, or the rows where gains are
        shown; several languages of training become tests too. Rows of single layers are left out
        where others have none.
    """
    measured = pd.read_csv(measurements, keep_default_na=False, na_values={"value": [""]})
    gains = measured["metric"] == GAIN
    headlines = {kind.headline for kind in KINDS.values()} | _AXES.keys()
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
        None if table is None else _labelled(table, columns, measured["source"].nunique() > 1)
        for table in (measured, beside)
    ]
    assert tables[0] is not None
    return tables[0], tables[1], label


def _labelled(table: pd.DataFrame, columns: Mapping[str, str], by_source: bool) -> pd.DataFrame:
    """Name tasks and, where there are several, languages of training in words."""
    named = table.assign(task=table["task"].map(_task_name))
    if by_source:
        named["task"] += ", trained on " + named["source"]
    return named.rename(columns={"task": "test"} | dict(columns) if by_source else dict(columns))


def _task_name(task: str) -> str:
    """Return ``mlqa:qa_question_target_paragraph_english`` in words."""
    parts = task.replace(":qa", "").split("_", 1)
    return ": ".join(_TASKS.get(part, part.replace("_", " ")) for part in parts)


def transfer_plot(
    measured: pd.DataFrame,
    reported: pd.DataFrame | None = None,
    *,
    title: str,
    value_label: str,
    names: Mapping[str, str] | None = None,
    conditions: Sequence[str] | None = None,
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
        names: language code to English name; a code without a name stays as it is.
        conditions: which conditions, in which order; by default those measured.

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
    with house_style():
        panel = 0.4 + len(languages) * max(0.36, 0.17 * len(conditions))
        figure = Figure(figsize=(FULL_WIDTH, 0.95 + len(tests) * panel), layout="constrained")
        grid = figure.subplots(
            len(tests), len(protocols), sharex=True, sharey=True, squeeze=False
        ).ravel()
        panels = [(test, protocol) for test in tests for protocol in protocols]
        for axes, (test, protocol) in zip(grid, panels, strict=True):
            shown = measured[(measured["protocol"] == protocol) & (measured["test"] == test)]
            beside = None if reported is None else reported[reported["test"] == test]
            _draw_panel(axes, shown, beside, conditions, languages)
            titles = [f"protocol: {protocol}"] if test == tests[0] else []
            if len(tests) > 1 and test:
                titles.append(test if protocol == protocols[0] else "")
            axes.set_title("\n".join(titles))
            _finish_panel(axes, [(names or {}).get(code, code) for code in languages])
        for axes in grid[-len(protocols) :]:
            axes.set_xlabel(value_label)
        grid[0].set_ylim(len(languages) - 0.5, -0.5)
        figure.suptitle(title, x=0.01, ha="left")
        seeds = measured.groupby(["condition", "language", "protocol"])["seed"].nunique()
        _write_legend(
            figure, grid[0], with_seeds=seeds.max() > 1, with_reported=reported is not None
        )
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
    conditions: Sequence[str],
    languages: list[str],
) -> None:
    for place, condition in enumerate(conditions):
        # the first condition on top, as in the tables
        shift = _ROW_HEIGHT * ((place + 0.5) / len(conditions) - 0.5)
        style: dict[str, Any] = {
            "color": GROUP_COLOURS[place],
            "marker": _MARKERS[place],
            "linestyle": "none",
        }
        cells = shown[shown["condition"] == condition]
        heights = _heights(cells["language"], languages, shift)
        axes.plot(cells["value"], heights, markersize=3.5, alpha=0.45, markeredgewidth=0, **style)
        means = cells.groupby("language", sort=False)["value"].mean()
        axes.plot(
            means,
            _heights(means.index, languages, shift),
            markersize=7.5,
            markeredgecolor="white",
            label=condition.replace("_", " "),
            **style,
        )
        if reported is not None:
            cells = reported[
                (reported["condition"] == condition) & reported["language"].isin(languages)
            ]
            axes.plot(
                cells["value"],
                _heights(cells["language"], languages, shift),
                markersize=8.5,
                markerfacecolor="none",
                markeredgewidth=1.2,
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


def _write_legend(figure: Figure, axes: Axes, *, with_seeds: bool, with_reported: bool) -> None:
    handles, labels = axes.get_legend_handles_labels()
    extra = {"one seed": ("o", 3.5, GROUP_COLOURS[0], 0.45)} if with_seeds else {}
    if with_reported:
        extra["reported by the paper"] = ("o", 8.5, "none", 1.0)
    for label, (marker, size, face, alpha) in extra.items():
        handles.append(
            Line2D(
                [],
                [],
                marker=marker,
                markersize=size,
                markerfacecolor=face,
                markeredgecolor="#444444" if face == "none" else "none",
                alpha=alpha,
                linestyle="none",
            )
        )
        labels.append(label)
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)


def _longest(measured: pd.DataFrame) -> list[str]:
    found = [list(dict.fromkeys(rows["language"])) for _, rows in measured.groupby("test")]
    return max(found, key=len)


def _heights(codes: Iterable[str], languages: list[str], shift: float) -> list[float]:
    return [languages.index(code) + shift for code in codes]
