"""Measurements of zero-shot transfer from prediction files."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.transfer import measure_transfer
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS

GOLD = ["entailment", "neutral", "contradiction", "neutral"] * 25


def predictions(path, right):
    """Write predictions that are right where ``right`` says so."""
    guess = ["entailment" if gold != "entailment" else "neutral" for gold in GOLD]
    rows = len(GOLD)
    table = pa.table(
        {
            "dataset": ["xnli"] * rows,
            "language": ["es"] * rows,
            "example_id": [f"{number:03}" for number in range(rows)],
            "gold": GOLD,
            "prediction": [g if ok else w for g, w, ok in zip(GOLD, guess, right, strict=True)],
            "probabilities": [[1.0, 0.0, 0.0]] * rows,
        },
        schema=CLASS_PREDICTIONS,
    )
    write_parquet(table, path)
    return str(path)


@pytest.fixture
def cells(tmp_path):
    random = np.random.default_rng(0)
    found, right = [], {}
    for condition, share in (("original", 0.5), ("adjusted", 0.8)):
        for seed in (1, 2):
            right[condition, seed] = random.random(len(GOLD)) < share
            path = predictions(tmp_path / f"{condition}{seed}.parquet", right[condition, seed])
            found.append(
                {
                    "task": "xnli",
                    "condition": condition,
                    "protocol": "published",
                    "language": "es",
                    "seed": seed,
                    "dataset": "xnli",
                    "path": path,
                }
            )
    return found, right


def test_accuracy_by_seed_and_the_test_over_seeds(cells, tmp_path):
    found, right = cells
    out = tmp_path / "table2.csv"
    against = {"adjusted": "original"}
    measure_transfer(
        found, out, against=against, paper="efimov2022", artifact="table2", source="en"
    )
    frame = pd.read_csv(out)
    accuracy = frame[frame.metric == "accuracy"].set_index(["condition", "seed"])["value"]
    for key, correct in right.items():
        assert accuracy[key] == pytest.approx(100 * correct.mean())
    mean = {c: (right[c, 1] * 1.0 + right[c, 2]) / 2 for c in ("original", "adjusted")}
    expected = stats.ttest_rel(mean["adjusted"], mean["original"])
    extra = frame.set_index("metric")["value"]
    assert extra["accuracy_p_value_vs_original"] == pytest.approx(expected.pvalue)
    assert extra["accuracy_significant_vs_original"] == float(expected.pvalue < 0.05)
    gain = 100 * (mean["adjusted"].mean() - mean["original"].mean())
    assert extra["accuracy_gain_vs_original_low"] < gain < extra["accuracy_gain_vs_original_high"]
    assert frame["n"].eq(len(GOLD)).all()


def test_conditions_on_different_examples_are_refused(cells, tmp_path):
    found, _ = cells
    table = pa.table(
        {
            name: pa.array([value], CLASS_PREDICTIONS.field(name).type)
            for name, value in {
                "dataset": "xnli",
                "language": "es",
                "example_id": "other",
                "gold": "neutral",
                "prediction": "neutral",
                "probabilities": [1.0],
            }.items()
        },
        schema=CLASS_PREDICTIONS,
    )
    write_parquet(table, found[-1]["path"])
    with pytest.raises(AtlasError, match="different examples"):
        measure_transfer(
            found, tmp_path / "out.csv", against={"adjusted": "original"}, paper="efimov2022"
        )
    assert not (tmp_path / "out.csv").exists()


def test_measurements_know_their_columns(tmp_path):
    with pytest.raises(AtlasError, match=r"unknown columns \['colour'\]"):
        write_measurements([{"colour": "red"}], tmp_path / "m.csv")
    with pytest.raises(AtlasError, match="nothing was measured"):
        write_measurements([], tmp_path / "m.csv")
    write_measurements([{"value": 1.5, "seed": 3}, {"value": 2}], tmp_path / "m.csv", paper="x")
    lines = (tmp_path / "m.csv").read_text().splitlines()
    assert lines[0].startswith("paper,artifact,task")
    assert lines[1] == "x,,,,,,,,,1.5,,3,"
    assert lines[2] == "x,,,,,,,,,2,,,"
