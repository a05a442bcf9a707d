"""Measurements of distances by panel and protocol."""

import pandas as pd
import pytest

from mbert_atlas.analysis.separation import measure_separation
from mbert_atlas.files import write_json


def summary(top10):
    kinds = {kind: {"n": 7, "mean": mean} for kind, mean in (("related", 2.0), ("unrelated", 4.0))}
    shares = {"top10": {"all": top10}, "top100": {"all": 2 * top10}}
    return {
        **kinds,
        "mean_ratio": 0.5,
        "separation_auc": 0.9,
        "squared_distance_share": shares,
    }


@pytest.fixture
def paths(tmp_path):
    found = []
    for language, shift in (("hi", 0.0), ("ru", 0.1)):
        (tmp_path / language).mkdir()
        found.append(tmp_path / language / "seed3.json")
        panels = {
            "original:published+corrected": summary(0.4),
            "nli:published+corrected": summary(0.1 + shift),
            "adjusted_nli:published": summary(0.2 + shift),
            "adjusted_nli:corrected": summary(0.3 + shift),
            "qa:published+corrected": summary(0.45),
        }
        write_json(panels, found[-1])
    return found


def test_panels_are_measured_under_each_protocol_they_stand_for(paths):
    shown = ["original", "nli", "adjusted_nli"]
    frame = pd.DataFrame(measure_separation(paths, shown))
    assert set(frame["condition"]) == set(shown)
    assert set(frame["seed"]) == {3}
    cells = frame.set_index(["condition", "target", "protocol", "metric"])["value"]
    assert len(cells) == 3 * 2 * 2 * 6
    assert cells["adjusted_nli", "hi", "corrected", "top_10_dimensions_share"] == pytest.approx(30)
    assert cells["original", "ru", "published", "mean_ratio"] == 0.5
