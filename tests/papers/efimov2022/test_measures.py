"""The shares of section 5.4."""

import pytest

from mbert_atlas.papers.efimov2022.measures import average_shares


def test_section_averages_the_models_tuned_on_nli():
    shares = {
        "published": {"original": [40, 40], "nli": [10, 20], "adjusted_nli": [20, 30], "qa": [45]},
        "corrected": {"original": [40, 40], "nli": [10, 20], "adjusted_nli": [30, 40], "qa": [45]},
    }
    rows = [
        {
            "condition": panel,
            "metric": f"top_{count}_dimensions_share",
            "protocol": protocol,
            "seed": 3,
            "value": value * factor,
        }
        for protocol, panels in shares.items()
        for panel, values in panels.items()
        for value in values
        for count, factor in ((10, 1), (100, 2))
    ]
    found = list(average_shares(rows))
    assert {row["n"] for row in found} == {4}
    assert {row["artifact"] for row in found} == {"section5.4"}
    values = {(row["protocol"], row["metric"]): row["value"] for row in found}
    for protocol, share in (("published", 20), ("corrected", 25)):
        assert values[protocol, "l2_share_top10_dims_percent"] == pytest.approx(share)
        assert values[protocol, "l2_share_top100_dims_percent"] == pytest.approx(2 * share)
