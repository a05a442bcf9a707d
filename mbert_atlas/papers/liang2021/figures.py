"""The curves of Figures 1 to 5: which measurements, in which panel, along which axis."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mbert_atlas.analysis.measurements import read_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.figures.curves import MANY_DASHES, curve_plot
from mbert_atlas.figures.reported import Reported, with_reported
from mbert_atlas.figures.uncertainty import with_intervals
from mbert_atlas.labels import label

NAMES = {
    "densray_first": "DensRay [0:x]",
    "densray_next": "DensRay [x:2x]",
    "densray_random": "random baseline (DensRay)",
    "lda_first": "LDA [0:x]",
    "lda_next": "LDA [x:2x]",
    "lda_random": "random baseline (LDA)",
    "densray": "DensRay",
    "lda": "LDA",
    "mbert_densray": "in place of mBERT: DensRay",
    "mbert_lda": "in place of mBERT: LDA",
    "xlmr_densray": "in place of XLM-R: DensRay",
    "xlmr_lda": "in place of XLM-R: LDA",
    "mbert_densray_tuned": "in place of mBERT: DensRay, fine-tuned",
    "mbert_lda_tuned": "in place of mBERT: LDA, fine-tuned",
}
"""Labels of the lines; their order decides what a line looks like in all figures."""
LAYOUTS: dict[str, dict[str, Any]] = {
    "figure1": {"along_label": "x (dimensions)", "columns": 3},
    "figure2": {"along_label": "last dimension", "columns": 3},
    "figure3": {"along_label": "layer (0: embeddings)", "columns": 3},
    "figure4": {"along_label": "removed directions", "dashes": MANY_DASHES, "bars": True},
    "figure5": {"along_label": "last dimension", "columns": 1},
}
"""See :func:`mbert_atlas.figures.curves.curve_plot`."""
_METRICS = {"figure2": "score_gain", "figure4": "f1_lost", "figure5": "score_gain"}
_SCORES = {
    "identification": {"published": "accuracy", "corrected": "accuracy"},
    "typology": {"published": "micro F1", "corrected": "micro F1"},
    "similarity": {"published": "V-measure", "corrected": "AMI"},
}
"""What a probe's ``score`` is, by protocol: see ``measures.HEADLINES``."""
_WINDOW = re.compile(r"(densray|lda)_(\d+|random)-(\d+)")


def draw_curves(
    cells: Sequence[Cell],
    *,
    artifact: str,
    protocol: str,
    title: str,
    sets: Sequence[str],
    models: Mapping[str, str],
    items: str,
    intervals: pd.DataFrame | None = None,
    reported: Reported | None = None,
) -> Figure:
    """Draw a figure's measurements, the file of one cell, under one protocol.

    ``sets`` are the names of Figure 5's sets of languages, ``models`` the labels of encoders; n
    counts ``items``.
    """
    lines = {
        f"{model}_{method}{kind}": f"{name}, {label(method)}{', fine-tuned' if kind else ''}"
        for model, name in models.items()
        for method in ("densray", "lda")
        for kind in ("", "_tuned")
    }
    frame = with_intervals(read_measurements(cells[0].path), intervals)
    frame = with_reported(frame, reported)
    points = curves(frame, artifact, protocol, models)
    names_encoder = artifact in ("figure3", "figure4") or points["model"].nunique() > 1
    encoder = "" if names_encoder else f"\n{label(points['model'].iloc[0], models)}"
    return curve_plot(
        points,
        headings=_headings(points["panel"].unique()),
        value_label=dict(zip(points["panel"], points["unit"], strict=True)),
        items=items,
        title=f"{title}, {protocol}{encoder}",
        names=NAMES | lines,
        order=[*NAMES, *sets],
        **LAYOUTS[artifact],
    )


def curves(
    frame: pd.DataFrame, artifact: str, protocol: str, models: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return a figure's points: ``panel``, ``line``, ``along`` (number), and measured columns.

    ``unit`` is the label of the vertical axis; ``models`` are labels of encoders in the headings of
    panels, where there are several.
    """
    frame = frame[frame["protocol"] == protocol]
    frame = frame[frame["metric"] == _METRICS.get(artifact, "score")]
    models = {name: label(name, models) for name in frame["model"].unique()}
    rows: list[Any] = frame.to_dict("records")
    points = [
        row | dict(zip(("panel", "line", "along"), place, strict=True)) | {"unit": _unit(row)}
        for row in rows
        if (place := _place(row, artifact, models))
    ]
    columns = ["panel", "line", "along", "unit", *frame.columns]
    # a row of panels for each encoder
    return pd.DataFrame(points, columns=columns).sort_values(["model", "along"], kind="stable")


def _headings(panels: Iterable[str]) -> dict[str, str]:
    """Return the headings of panels, an encoder's name above its first panel only."""
    headings, above = {}, ""
    for panel in panels:
        encoder, line, rest = panel.rpartition("\n")
        headings[panel] = panel if encoder != above else line + rest
        above = encoder
    return headings


def _unit(row: Mapping[str, Any]) -> str:
    if row["metric"] == "f1_lost":
        return "drop in mean F1 (points)"
    score = _SCORES[row["task"]][row["protocol"]]
    return f"{score} (%)" if row["metric"] == "score" else f"gain in {score} (points)"


def by_layer(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the points of Figure 3, from the measurements under one protocol."""
    return _compared(rows, "figure3")


def by_window(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the points of Figure 5, from the measurements under one protocol."""
    return _compared(rows, "figure5")


def _compared(rows: pd.DataFrame, artifact: str) -> pd.DataFrame:
    points = curves(rows, artifact, rows["protocol"].iloc[0])
    return points.assign(line=points["line"].map(lambda line: NAMES.get(line, line)))


def _place(
    row: dict[str, Any], artifact: str, models: Mapping[str, str]
) -> tuple[str, str, int] | None:
    """Return panel, line and number of a row; none if the figure does not show it."""
    if artifact == "figure3":
        line = f"{row['model']}_{row['condition']}"
        return (row["task"], line, int(row["layers"])) if row["layers"].isdigit() else None
    if artifact == "figure4":
        training, method, first = row["condition"].split("_")
        line = f"{row['model']}_{method}" + ("_tuned" if training == "tuned" else "")
        return (label(row["task"]), line, int(first)) if first.isdigit() else None
    window = _WINDOW.fullmatch(row["condition"])
    if window is None:
        return None
    method, start, stop = window.groups()
    panel = f"{models[row['model']]}\n{row['task']}" if len(models) > 1 else row["task"]
    if artifact == "figure1":
        kind = {"0": "first", "random": "random"}.get(start, "next")
        return panel, f"{method}_{kind}", int(start if kind == "next" else stop)
    return (panel, method, int(stop)) if artifact == "figure2" else ("", row["target"], int(stop))
