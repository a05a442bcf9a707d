"""What the paper's artifacts need of the encoder."""

from typing import Any

from mbert_atlas.papers.tanti2021.config import Section
from mbert_atlas.plan.needs import Need

_OF_TEXTS = ("table1", "table2", "table3", "figure4", "figure6", "appendixB")
"""Artifacts with vectors of XNLI's texts."""


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.tanti2021
    task = paper.tasks.get("xnli")
    if task is None or task.pooling != "pooler":
        return {}
    need = Need(paper.model, "pooler", "tanti2021.tasks.xnli.pooling")
    return {name: [need] for name in _OF_TEXTS}
