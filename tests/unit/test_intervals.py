"""Intervals in figures are those of verdicts, and captions say what they cover."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from toy_claims import LANGUAGES, REPORTED, claim

from mbert_atlas.analysis.measurements import read_measurements, resamples_path, write_measurements
from mbert_atlas.figures.uncertainty import describe, with_intervals
from mbert_atlas.scorecard.claims import Claims
from mbert_atlas.scorecard.intervals import measured_intervals
from mbert_atlas.scorecard.verdicts import verdicts

PLACE = {"task": "nli", "model": "mbert", "source": "en", "protocol": "published"}
RANDOM = np.random.default_rng(0)


def measurement(folder: Path, values: dict[tuple[str, str], list[float]], *, items: bool) -> Path:
    """Write accuracies by condition and target, with resamples if ``items``."""
    rows = [
        {**PLACE, "condition": condition, "target": target, "metric": "accuracy", "n": 300}
        | {"value": value, "seed": seed}
        | ({"resampled": RANDOM.normal(value, 2, 400).astype(np.float32)} if items else {})
        for (condition, target), by_seed in values.items()
        for seed, value in enumerate(by_seed, 1)
    ]
    path = folder / "measured.csv"
    write_measurements(rows, path, paper="toy2020", artifact="table1")
    return path


VALUES = {
    ("original", "ru"): [60.0, 62.0],
    ("original", "hi"): [50.0, 54.0],
    ("adjusted", "ru"): [66.0, 66.0],
    ("adjusted", "hi"): [55.0],
}


@pytest.mark.parametrize("items", [True, False])
def test_a_number_has_the_interval_that_a_claim_about_it_has(tmp_path: Path, items: bool) -> None:
    path, reported = measurement(tmp_path, VALUES, items=items), tmp_path / "reported.csv"
    reported.write_text(REPORTED)
    stated = {
        f"{condition}-{target}": claim(
            of={"metric": "accuracy", "target": target}, effect={"plus": {"condition": condition}}
        )
        for condition, target in VALUES
    }
    claims = {"toy2020": Claims(claims=stated)}
    judged = verdicts(claims, [path], [reported], [resamples_path(path)], languages=LANGUAGES)
    judged = judged[judged["protocol"] == "published"].set_index("id")
    found = measured_intervals(path, resamples_path(path), claims, LANGUAGES)
    assert len(found) == len(VALUES)
    for row in found.itertuples():
        of_claim = judged.loc[f"{row.condition}-{row.target}"]
        assert (row.low, row.high) == pytest.approx((of_claim["low"], of_claim["high"]))
        assert row.over == "seeds and items"


def test_with_one_seed_of_everything_intervals_are_over_items(tmp_path: Path) -> None:
    path = measurement(tmp_path, {key: values[:1] for key, values in VALUES.items()}, items=True)
    found = measured_intervals(path, resamples_path(path), {}, LANGUAGES)
    assert set(found["over"]) == {"items"}
    # ±1.97 · 2 points on the scale of logits
    width = found["high"] - found["low"]
    assert width.between(7, 9).all()


def test_a_number_of_which_nothing_is_known_has_no_interval(tmp_path: Path) -> None:
    rows = [{**PLACE, "metric": "mean_ratio", "condition": "a", "value": 1.5, "seed": 1}]
    path = tmp_path / "measured.csv"
    write_measurements(rows, path, paper="toy2020", artifact="table1")
    found = measured_intervals(path, resamples_path(path), {}, LANGUAGES)
    assert found.empty
    joined = with_intervals(read_measurements(path), found)
    assert joined["over"].tolist() == [""]
    said = describe(joined, "Bars", by="task", of="condition")
    assert said.endswith("there is one seed, and no resamples of the test items.")


def rows(*of: tuple[str, int | None, str]) -> pd.DataFrame:
    frame = pd.DataFrame(of, columns=["condition", "seed", "over"])
    return frame.assign(task=["xnli", *["ner"] * (len(of) - 1)], n=[300, *[1200] * (len(of) - 1)])


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (
            [("a", 1, "seeds and items"), ("b", 1, "seeds and items"), ("b", 2, "seeds and items")],
            "n (test items behind a number): XNLI 300; NER 1,200. 1 or 2 seeds. Marks: 95% "
            "interval over seeds and test items, by the rule",
        ),
        (
            [("a", 1, "items")],
            "1 seed. Marks: 95% interval over test items (docs/verdicts.md); with",
        ),
        ([("a", None, "items")], "once, without seeds. Marks: 95% interval over test items"),
        (
            [("a", 1, "seeds and items"), ("b", 1, "items"), ("c_d", 1, "")],
            "of some numbers only over test items, by the rule",
        ),
        ([("a", 1, "items"), ("c_d", 1, "")], "No interval can be given for c d."),
    ],
)
def test_captions_say_n_seeds_and_what_intervals_cover(
    of: list[tuple[str, int | None, str]], expected: str
) -> None:
    assert expected in describe(rows(*of), "Marks", by="task", of="condition")
