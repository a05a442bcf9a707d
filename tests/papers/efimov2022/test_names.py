"""Names of conditions follow the config, not the paper."""

import pytest
from configs import ROOT

from mbert_atlas import papers
from mbert_atlas.papers.efimov2022.artifacts import conditions_by_size
from mbert_atlas.plan.runs import RunTable


@pytest.mark.parametrize(
    ("overlays", "names"),
    [
        ([], {"adjusted_30K": "adjusted, 30,000 sentences"}),
        (
            ["demo"],
            {
                "adjusted_5K": "adjusted, 250 sentences (5K in the paper)",
                "adjusted_30K": "adjusted, 1,500 sentences (30K in the paper)",
            },
        ),
    ],
)
def test_sizes_are_those_of_the_config(overlays: list[str], names: dict[str, str]) -> None:
    paths = [ROOT / f"config/{name}.yaml" for name in overlays]
    config = papers.load(paths, ROOT)
    table = config.efimov2022.tables["table5"]  # type: ignore[attr-defined]
    found = conditions_by_size(table, RunTable(config))
    assert names.items() <= found.items()
    assert "original" not in found
