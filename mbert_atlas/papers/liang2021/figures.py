"""What the figures show: which rows, in which panel, along what."""

from __future__ import annotations

from typing import Any

import pandas as pd

NAMES = {
    "densray_first": "DensRay [0:x]",
    "densray_next": "DensRay [x:2x]",
    "densray_random": "x at random (beside DensRay)",
    "lda_first": "LDA [0:x]",
    "lda_next": "LDA [x:2x]",
    "lda_random": "x at random (beside LDA)",
    "densray": "DensRay",
    "lda": "LDA",
    "mbert_densray": "mBERT, DensRay",
    "mbert_lda": "mBERT, LDA",
    "xlmr_densray": "XLM-R, DensRay",
    "xlmr_lda": "XLM-R, LDA",
}
"""What lines are called."""
_PROBES = {
    "identification": "identification",
    "typology": "typology",
    "similarity": "similarity",
}
_MODELS = {"mbert": "mBERT", "xlmr": "XLM-R"}
_TASKS = {"pos": "parts of speech", "ner": "named entities"}
LAYOUTS: dict[str, dict[str, Any]] = {
    "figure1": {"along_label": "x, dimensions", "value_label": "%", "columns": 3},
    "figure2": {"along_label": "last dimension", "value_label": "points", "columns": 3},
    "figure3": {"along_label": "layer (0: embeddings)", "value_label": "%", "columns": 3},
    "figure4": {"along_label": "x, directions taken away", "value_label": "F1 lost, points"},
    "figure5": {"along_label": "last dimension", "value_label": "points", "columns": 1},
}
"""See :func:`mbert_atlas.figures.curves.curve_plot`."""


def shown(frame: pd.DataFrame, artifact: str, protocol: str) -> pd.DataFrame:
    """Return what a figure draws of its measurements.

    Args:
        frame: the measurements of the figure.
        artifact: its name.
        protocol: ``published`` or ``corrected``.

    Returns:
        Columns ``panel``, ``line``, ``along`` (number), ``value``, ``seed``.
    """
    frame = frame[frame["protocol"] == protocol]
    frame = frame[~frame["condition"].str.endswith(("_rank", "_majority"))]
    metric = {"figure4": "f1_lost", "figure2": "score_gain", "figure5": "score_gain"}
    frame = frame[frame["metric"] == metric.get(artifact, "score")]
    frame = frame[~frame["layers"].isin(["lower", "upper"])]
    rows: list[Any] = frame.to_dict("records")
    drawn = pd.DataFrame(
        [_place(row, artifact) for row in rows],
        columns=["panel", "line", "along", "value", "seed"],
    )
    return drawn.dropna(subset=["along"]).sort_values("along", kind="stable")


def _place(row: dict[str, Any], artifact: str) -> tuple[Any, ...]:
    kind, _, window = row["condition"].partition("_")
    numbers = row["value"], row["seed"]
    panel = f"{_MODELS[row['model']]}, {_PROBES.get(row['task'], '')}"
    if artifact == "figure1":
        name, _, stop = window.rpartition("-")
        if name.startswith("random"):
            return panel, f"{kind}_random", int(stop) if name == "random" else None, *numbers
        way, size = ("first", int(stop)) if name == "0" else ("next", int(name))
        return panel, f"{kind}_{way}", size, *numbers
    if artifact == "figure2":
        return panel, kind, int(window.rpartition("-")[2]), *numbers
    if artifact == "figure3":
        return _PROBES[row["task"]], f"{row['model']}_{kind}", int(row["layers"]), *numbers
    if artifact == "figure4":
        method, _, first = window.partition("_")
        panel = f"{_TASKS[row['task']]}, {kind}"
        return panel, f"{row['model']}_{method}", int(first), *numbers
    return "", row["target"], int(window.rpartition("-")[2]), *numbers
