"""Distances by panel and protocol, and the shares of section 5.4."""

import pandas as pd
import pyarrow as pa
import pytest

from mbert_atlas.cells import Cell
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.papers.efimov2022.measures import (
    average_shares,
    measure_constant,
    measure_links,
    measure_separation,
)
from mbert_atlas.schemas import TAG_PREDICTIONS


def test_word_links_have_an_error_rate_and_right_pairs(tmp_path):
    card = {"aer": 0.629, "sentences": 90, "pairs": 595, "pairs_right": 0.5613}
    write_json(card, tmp_path / "card.json")
    cell = Cell(condition="adjusted", language="hi", path=str(tmp_path / "card.json"))
    common = {"condition": "adjusted", "target": "hi"}
    assert list(measure_links([cell])) == [
        common | {"metric": "aer", "value": 62.9, "n": 90},
        common | {"metric": "pairs_right", "value": 56.13, "n": 595},
    ]


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


def test_the_floor_of_taggers_is_the_best_constant_tag(tmp_path):
    gold = [["B-PER", "O", "B-PER"], ["B-LOC", "I-LOC", "I-LOC", "B-LOC"], ["O", "O"]]
    rows = [
        {"dataset": "test", "language": "hi", "example_id": str(number), "gold": tags}
        | {"prediction": ["O"] * len(tags), "words": [*range(len(tags))]}
        for number, tags in enumerate(gold)
    ]
    path = tmp_path / "predictions.parquet"
    write_parquet(pa.Table.from_pylist(rows, TAG_PREDICTIONS), path)
    place = {"kind": "ner", "dataset": "test", "language": "hi", "path": str(path)}
    cells = [Cell(protocol=protocol, **place) for protocol in ("published", "corrected")]
    published, corrected = measure_constant(cells)
    # B-PER for all nine words are nine entities, two of four correct: 2 * 2 / (4 + 9). Of B-LOC one
    # is correct, I-LOC is one entity a sentence, none correct.
    assert published["value"] == pytest.approx(100 * 2 * 2 / (4 + 9))
    # Six words are in entities; each of the three tags is right at two of them.
    assert corrected["value"] == pytest.approx(100 * 2 * 2 / (6 + 9))
    assert {(row["condition"], row["n"]) for row in (published, corrected)} == {("constant", 9)}


def summary(top10):
    kinds = {kind: {"n": 7, "mean": mean} for kind, mean in (("related", 2.0), ("unrelated", 4.0))}
    shares = {"top10": top10, "top100": 2 * top10}
    return {**kinds, "mean_ratio": 0.5, "separation_auc": 0.9, "squared_distance_share": shares}


def test_panels_are_measured_under_each_protocol_they_stand_for(tmp_path):
    both, cells = ["published", "corrected"], []
    for language, shift in (("hi", 0.0), ("ru", 0.1)):
        panels = [
            ("original", both, 0.4),
            ("nli", both, 0.1 + shift),
            ("adjusted_nli", ["published"], 0.2 + shift),
            ("adjusted_nli", ["corrected"], 0.3 + shift),
            ("qa", both, 0.45),
        ]
        path = tmp_path / f"{language}.json"
        write_json(
            [
                {"panel": panel, "protocols": protocols, **summary(share)}
                for panel, protocols, share in panels
            ],
            path,
        )
        cells.append(Cell(language=language, seed=3, path=str(path)))
    frame = pd.DataFrame(measure_separation(cells, shares=False))
    assert set(frame["condition"]) == {"original", "nli", "adjusted_nli", "qa"}
    assert set(frame["seed"]) == {3}
    values = frame.set_index(["condition", "target", "protocol", "metric"])["value"]
    assert len(values) == 4 * 2 * 2 * 6
    assert values["adjusted_nli", "hi", "corrected", "top_10_dimensions_share"] == pytest.approx(30)
    assert values["original", "ru", "published", "mean_ratio"] == 0.5
