"""Rows of the figures and tables, from probes and predictions."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from seqeval.metrics import f1_score

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.cells import Cell
from mbert_atlas.files import write_parquet
from mbert_atlas.papers.liang2021 import measures
from mbert_atlas.papers.liang2021.figures import curves, draw_curves
from mbert_atlas.schemas import LANGUAGE_PROBES, SUBSPACE_SCORES, TAG_PREDICTIONS

IDENTIFICATION = [
    ("published", "densray", 4, "first", 0, 10, "accuracy", 90.0),
    ("published", "densray", 4, "next", 10, 20, "accuracy", 80.0),
    ("published", "densray", 4, "random", 0, 10, "accuracy", 60.0),
    ("published", "densray", 4, "random_last", 0, 10, "accuracy", 70.0),
    ("published", "densray", 4, "window", 0, 10, "accuracy", 90.0),
    ("published", "densray", 4, "window", 10, 20, "accuracy", 80.0),
    ("corrected", "densray", 4, "random", 0, 10, "accuracy", 65.0),
    ("corrected", "densray", 4, "window", 10, 20, "accuracy", 80.0),
    ("published", "densray", 1, "first", 0, 10, "accuracy", 99.0),
    ("published", "densray", 2, "first", 0, 10, "accuracy", 97.0),
    ("published", "densray", 3, "first", 0, 10, "accuracy", 94.0),
    ("published", "densray", 0, "first", 0, 10, "accuracy", 50.0),
    ("published", "densray", 4, "majority", 0, 0, "accuracy", 55.0),
    ("published", "lda", 4, "majority", 0, 0, "accuracy", 55.0),
]


@pytest.fixture
def cells(tmp_path):
    rows = [(*row, 100, 1) for row in IDENTIFICATION]
    rows = [dict(zip(LANGUAGE_PROBES.names, row, strict=True)) for row in rows]
    write_parquet(pa.Table.from_pylist(rows, LANGUAGE_PROBES), tmp_path / "probes.parquet")
    path = str(tmp_path / "probes.parquet")
    return [Cell(task="identification", model="mbert", language="italic", path=path)]


def test_windows_are_named_by_their_columns(cells):
    rows = list(measures.measure_windows(cells, 4))
    assert {row["condition"]: row["value"] for row in rows if row["protocol"] == "published"} == {
        "densray_0-10": 90.0,
        "densray_10-20": 80.0,
        "densray_random-10": 60.0,
        "densray_random-last-10": 70.0,
        "densray_majority": 55.0,
        "lda_majority": 55.0,
    }
    assert {row["metric"] for row in rows} == {"score"}
    assert {row["layers"] for row in rows} == {"4"}


def test_published_subtracts_the_random_dimensions_of_the_last_pair(cells):
    rows = list(measures.measure_gains(cells, 4, 10))
    assert {row["target"] for row in rows} == {"italic"}
    gains = {(row["protocol"], row["condition"]): row["value"] for row in rows}
    assert gains == {
        ("published", "densray_0-10"): 20.0,
        ("published", "densray_10-20"): 10.0,
        ("corrected", "densray_10-20"): 15.0,
    }


def test_halves_of_the_layers_exclude_the_embeddings(cells):
    rows = list(measures.measure_layers(cells, {"identification": 10}))
    values = {row["layers"]: row["value"] for row in rows}
    assert values == {"0": 50, "1": 99, "2": 97, "3": 94, "4": 90, "lower": 98, "upper": 92}


def test_f1_drops_from_the_whole_space_of_the_same_seed():
    scores = pd.DataFrame(
        [
            ("densray", 0, "en", 90.0, 1),
            ("densray", 0, "de", 70.0, 1),
            ("densray", 20, "en", 89.0, 1),
            ("densray", 20, "de", 67.0, 1),
            ("lda", 80, "en", 60.0, 1),
            ("lda", 80, "de", 40.0, 1),
            ("densray", 0, "en", 50.0, 2),
            ("densray", 20, "en", 40.0, 2),
        ],
        columns=["method", "first", "language", "value", "seed"],
    )
    rows = list(measures.f1_drops(scores, "frozen", ["published"], rank=23))
    found = {(row["condition"], row["seed"]): (row["value"], row["n"]) for row in rows}
    assert found == {
        ("frozen_densray_20", 1): (2.0, 2),
        ("frozen_densray_rank", 1): (2.0, 2),
        ("frozen_lda_80", 1): (30.0, 2),
        ("frozen_densray_20", 2): (10.0, 1),
        ("frozen_densray_rank", 2): (10.0, 1),
    }
    assert list(measures.f1_drops(scores[:2], "tuned", ["published"], rank=23)) == []


def cell(language, protocol="published", **changes):
    values = {
        "task": "pos",
        "kind": "tagging",
        "dataset": "test",
        "source": "en+de+zh",
        "language": language,
        "condition": "l_dar",
        "protocol": protocol,
        "seed": 1,
        "path": "",
    }
    return Cell(**(values | changes))


def test_means_over_languages_of_training_and_others(monkeypatch):
    scores = {"en": 90.0, "de": 80.0, "fr": 60.0, "hi": 40.0}
    monkeypatch.setattr(measures, "f1_of", lambda cell: {"value": scores[cell.language], "n": 7})
    cells = [cell(language, layers=layers) for layers in ("", "1-2", "3-4") for language in scores]
    rows = list(measures.measure_preservation(cells, means=True))
    whole = {row["target"]: row["value"] for row in rows if row["layers"] == ""}
    assert whole == {"train": 85.0, "zero_shot": 50.0, "all": 67.5}
    assert {row["layers"] for row in rows} == {"", "1-2", "3-4", "bottom", "top"}
    by_language = list(measures.measure_preservation(cells[:4], means=False))
    assert {row["target"]: row["value"] for row in by_language} == scores | {"avg": 67.5}


def test_tags_count_as_seqeval_does_or_as_words(tmp_path):
    gold = ["NOUN", "NOUN", "VERB", "DET", "PRON", "VERB"]
    prediction = ["NOUN", "NOUN", "VERB", "DET", "DET", "VERB"]
    row = {
        "dataset": "test",
        "language": "en",
        "example_id": "1",
        "gold": gold,
        "prediction": prediction,
        "words": list(range(6)),
    }
    write_parquet(pa.Table.from_pylist([row], TAG_PREDICTIONS), tmp_path / "predictions.parquet")
    published, corrected = (
        measures.f1_of(cell("en", protocol, path=str(tmp_path / "predictions.parquet")))
        for protocol in ("published", "corrected")
    )
    with pytest.warns(UserWarning, match="NE tag"):
        expected = f1_score([gold], [prediction])
    assert (published["value"], published["n"]) == (pytest.approx(100 * expected), 6)
    assert (corrected["value"], corrected["n"]) == (pytest.approx(500 / 6), 6)
    assert published["value"] != corrected["value"]
    # With one sentence every resample is the test set.
    for score in (published, corrected):
        assert score["resampled"] == pytest.approx(np.full(400, score["value"]), abs=1e-4)


@pytest.mark.parametrize(
    ("artifact", "measure", "options"),
    [
        ("figure1", measures.measure_windows, (4,)),
        ("figure2", measures.measure_gains, (4, 10)),
        ("figure3", measures.measure_layers, ({"identification": 10},)),
        ("figure5", measures.measure_gains, (4, 10)),
    ],
)
def test_figures_show_one_value_per_line_place_and_seed(
    cells, tmp_path, artifact, measure, options
):
    frame = write_measurements(measure(cells, *options), tmp_path / "measured.csv")
    drawn = curves(frame, artifact, "published")
    assert len(drawn)
    assert not drawn.duplicated(["panel", "line", "along", "seed"]).any()
    measured = [Cell(path=str(tmp_path / "measured.csv"))]
    draw_curves(measured, artifact=artifact, protocol="published", title="", sets=["italic"])


def test_figure_4_has_frozen_and_fine_tuned_panels(tmp_path, monkeypatch):
    names = ("method", "first", "language", "metric", "value", "n", "seed")
    rows = [
        dict(zip(names, ("lda", first, "en", "span_micro_f1", 90.0 - first, 9, 1), strict=True))
        for first in (0, 20)
    ]
    path = str(tmp_path / "frozen.parquet")
    write_parquet(pa.Table.from_pylist(rows, SUBSPACE_SCORES), path)
    monkeypatch.setattr(measures, "f1_of", lambda cell: (80.0 - cell.facts["first"] / 10, 9))
    cells = [Cell(task="pos", model="mbert", source="en", condition="frozen", path=path)]
    cells += [
        cell("en", condition="tuned", protocol=protocol, facts={"method": "lda", "first": first})
        for protocol in ("published", "corrected")
        for first in (0, 20)
    ]
    frame = write_measurements(measures.measure_removal(cells, 23), tmp_path / "measured.csv")
    assert {(row.condition, row.protocol): row.value for row in frame.itertuples()} == {
        (f"{training}_lda_{first}", protocol): value
        for training, value in (("frozen", 20.0), ("tuned", 2.0))
        for first in ("20", "rank")
        for protocol in ("published", "corrected")
    }
    drawn = curves(frame, "figure4", "corrected")
    assert drawn[["panel", "along"]].values.tolist() == [
        ["POS, frozen", 20],
        ["POS, fine-tuned", 20],
    ]
