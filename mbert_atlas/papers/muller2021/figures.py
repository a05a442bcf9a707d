"""What the figures show by layer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from mbert_atlas.papers.muller2021.measures import CORRELATION, PRETRAINED

LAYOUTS: dict[str, dict[str, Any]] = {
    "figure1": {"lines": "line"},
    "figure2": {"lines": "condition"},
    "figure3": {"lines": "task", "panels": "condition", "bars": True},
    "figure4": {"lines": "condition", "panels": "target"},
    "figure5": {"lines": "line", "panels": "target"},
    **{f"figure{n}": {"lines": "condition", "panels": "target"} for n in (6, 7, 8)},
}
"""Which column has lines, which panels; see :func:`mbert_atlas.figures.similarity.layer_plot`."""


def shown_by_layer(frame: pd.DataFrame, artifact: str, protocol: str) -> pd.DataFrame:
    """Return what a figure draws of its measurements, one row per layer, seed, line and panel.

    ``line`` is the task, or ``pretrained``, which is the same for all tasks.

    Args:
        frame: the measurements of the figure.
        artifact: its name.
        protocol: ``published`` or ``corrected``.
    """
    frame = frame[(frame.protocol == protocol) & frame.layers.str.isdigit()]
    frame = frame.assign(layers=frame.layers.astype(int))
    if artifact == "figure3":
        keys = ["task", "condition", "layers", "seed"]
        table = frame.pivot_table("value", keys, "metric", sort=False).reset_index()
        ends = {f"{CORRELATION}_{end}": end for end in ("low", "high")}
        return table.rename(columns={CORRELATION: "value", **ends})
    frame = frame[frame.metric == "cka_percent"]
    line = frame.task.where(frame.condition != PRETRAINED, PRETRAINED)
    shown = frame.assign(line=line)
    if "line" in LAYOUTS[artifact].values():
        shown = shown.drop_duplicates(["line", "target", "layers", "seed"])
    return shown
