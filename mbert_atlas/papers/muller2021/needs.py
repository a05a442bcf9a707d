"""What the paper's artifacts need of the encoder."""

from typing import Any

from mbert_atlas.papers.muller2021.config import Section
from mbert_atlas.plan.needs import Need, deepest_layer

_WITH_CHANGES = ("figure2", "figure6", "figure7", "figure8")
"""Figures of encoders with re-initialised layers."""
_BY_TARGET = ("table6", "table7", "table8")
"""Tables behind the means of Table 1."""


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact: the layers that are re-initialised."""
    paper: Section = config.muller2021

    def layers(key: str, runs: list[str], sets: list[str]) -> list[Need]:
        last = deepest_layer(config, [f"{family}-{some}" for family in runs for some in sets])
        return [Need(paper.model, "layer", f"muller2021.{key}.layers", last)]

    needs: dict[str, list[Need]] = {
        name: layers(f"tables.{name}", [test.runs for test in table.tests.values()], table.layers)
        for name, table in paper.tables.items()
    }
    similarity = paper.similarity
    changed = layers("similarity", [*similarity.runs.values()], similarity.layers)
    means = [need for name in _BY_TARGET for need in needs.get(name, [])]
    return needs | {"table1": means} | dict.fromkeys(_WITH_CHANGES, changed)
