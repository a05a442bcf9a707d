"""What the paper's artifacts need of encoders."""

from typing import Any

from mbert_atlas.config import references as ref
from mbert_atlas.papers.efimov2022.config import Section
from mbert_atlas.plan.needs import Need


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact: a vocabulary that can be extended, in Table 9."""
    paper: Section = config.efimov2022
    needs: dict[str, list[Need]] = {}
    for name, table in paper.tables.items():
        for test in table.tests.values():
            for _, _, family in table.families(test):
                encoder = config.encoders[ref.base_of(config, family.partition("/")[0])]
                if encoder.changed:
                    need = Need(encoder.changed.encoder, "tokenizer")
                    needs.setdefault(name, [])
                    if need not in needs[name]:
                        needs[name].append(need)
    return needs
