"""What the paper's artifacts need of encoders."""

from typing import Any

from mbert_atlas.config import references as ref
from mbert_atlas.papers.liang2021.config import Section, families_of
from mbert_atlas.plan.needs import Need, deepest_layer


def needs_of(config: Any) -> dict[str, list[Need]]:
    """Return the needs by artifact."""
    paper: Section = config.liang2021
    probed = {
        model: Need(encoder, "layers", "liang2021.layers", paper.layers)
        for model, encoder in paper.encoders.items()
    }
    figures = {f"figure{number}": [*probed.values()] for number in range(1, 5)}
    return figures | {"figure5": [probed["mbert"]]} | _of_tables(config, paper)


def _of_tables(config: Any, paper: Section) -> dict[str, list[Need]]:
    """Return the layers that L-DAR preserves: all in Tables 1 to 6, some in Table 6."""
    whole, some = list[Need](), list[Need]()
    for task, families in paper.transfer.runs.items():
        for source, baseline in families.items():
            if baseline is None:
                continue
            baseline_only, all_layers, *thirds = families_of(
                baseline, paper.transfer.layers.get(task, {}).get(source, [])
            )
            encoder = ref.base_of(config, baseline_only)
            for names, needs in (([all_layers], whole), (thirds, some)):
                for name in names:
                    key = f"runs.{name}.published.language_subspace.last_layer"
                    needs.append(Need(encoder, "layer", key, deepest_layer(config, [name])))
    tables = dict.fromkeys((f"table{number}" for number in range(1, 6)), whole)
    return tables | {"table6": [*whole, *some]}
