"""What the paper's artifacts need of encoders."""

from typing import Any

from mbert_atlas.papers.liu2020.config import Section
from mbert_atlas.plan.needs import Need, deepest_layer

TRANSLATED = ("table1", "table2", "figure7", "figure8")
"""Artifacts of tokens that the language-model head predicts."""


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.liu2020
    encoder, at = paper.embeddings.reference, "liu2020"
    predicted = [Need(encoder, "head"), Need(encoder, "layers", f"{at}.layers", paper.layers)]
    for key in ("rate_layer", "score_layer"):
        layer = getattr(paper.translation, key)
        predicted.append(Need(encoder, "layer", f"{at}.translation.{key}", layer))
    shifted = [Need(encoder, "layer", f"{at}.transfer.layer", paper.transfer.layer)]
    for _, family in paper.transfer.runs.values():
        last = deepest_layer(config, [family])
        shifted.append(Need(encoder, "layer", f"runs.{family}.published.trained_layers", last))
    return dict.fromkeys(TRANSLATED, predicted) | {"table4": shifted}
