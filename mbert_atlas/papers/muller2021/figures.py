"""What the figures show by layer."""

from __future__ import annotations

from typing import Any

import pandas as pd

from mbert_atlas.figures.similarity import by_layer
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
    metric = CORRELATION if artifact == "figure3" else "cka_percent"
    found = by_layer(frame[frame.protocol == protocol], metric)
    is_pretrained = found.condition == PRETRAINED
    found["line"] = found.task.where(~is_pretrained, PRETRAINED)
    is_again = is_pretrained & found.duplicated(["line", "target", "layers", "seed"])
    return found[~is_again] if LAYOUTS[artifact]["lines"] == "line" else found
