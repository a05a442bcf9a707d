"""Verdicts on claims, compared with calculations by hand."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_claims import REPORTED, claim, key, measured, rows

from mbert_atlas.scorecard.cells import Key, Measured, write_csv
from mbert_atlas.scorecard.claims import Claims, Expected
from mbert_atlas.scorecard.verdicts import (
    DOES_NOT_HOLD,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    estimate,
    judge,
    read_verdicts,
    verdicts,
)


def test_the_example_of_the_rule() -> None:
    """Three seeds, 1,000 items: worked in the docstring of the module."""
    weights = {key("adjusted"): 1.0, key("original"): -1.0}
    cells = {key("adjusted"): measured(64, 62, 66), key("original"): measured(61, 62, 60)}
    result = estimate(weights, cells)
    assert result.effect == pytest.approx(3)
    assert result.high - 3 == pytest.approx(5.98, abs=0.005)
    assert result.low == pytest.approx(2 * 3 - result.high)
    assert result.basis == "seed- and item-level CI, 3 paired seeds"


def test_one_seed_gives_an_item_level_interval() -> None:
    """242 of 404 and 202 of 404: 1e4 (.599 · .401 + .25) / 400 = 12.25, 1.96 · 3.50 = 6.86."""
    weights = {key("adjusted"): 1.0, key("original"): -1.0}
    cells = {key("adjusted"): measured(60, n=400), key("original"): measured(50, n=400)}
    result = estimate(weights, cells)
    assert (result.low, result.high) == pytest.approx((3.139, 16.861), abs=0.001)
    assert result.basis == "item-level CI, one seed"


@pytest.mark.parametrize(("metric", "full"), [("accuracy", 100), ("mrr", 100), ("convert_rate", 1)])
def test_means_between_0_and_1_have_items_too(metric: str, full: int) -> None:
    name = key("original", metric=metric)
    result = estimate({name: 1.0}, {name: measured(0.6 * full, n=400)})
    assert result.high - result.effect == pytest.approx(full * 1.96 * 0.0245, rel=0.01)


def test_a_relative_drop_of_accuracy_is_no_proportion() -> None:
    name = key("original", metric="accuracy_drop_percent")
    assert estimate({name: 1.0}, {name: measured(-20, n=400)}).basis == "no CI available, one seed"


def test_no_correct_item_is_not_certain() -> None:
    result = estimate({key("original"): 1.0}, {key("original"): measured(0, n=96)})
    assert result.high == pytest.approx(1.96 * math.sqrt(1e4 * 0.02 * 0.98 / 96), abs=0.001)


def test_a_measured_paired_interval_counts() -> None:
    """Ends 1 and 5: a standard error of 4 / 3.92."""
    weights = {key("adjusted"): 0.5, key("original"): -0.5}
    ends = {key("adjusted", metric=f"accuracy_gain_{end}_vs_original") for end in ("low", "high")}
    cells = {key("adjusted"): measured(63), key("original"): measured(60)}
    cells |= {end: Measured({None: 1.0 if "low" in end[-1] else 5.0}, 1000) for end in ends}
    result = estimate(weights, cells)
    assert (result.low, result.high) == pytest.approx((0.5, 2.5))
    turned = estimate({name: -weight for name, weight in weights.items()}, cells)
    assert (turned.low, turned.high) == pytest.approx((-2.5, -0.5))


def test_a_paired_interval_without_width_is_no_certainty() -> None:
    weights = {key("adjusted"): 1.0, key("original"): -1.0}
    cells = {key("adjusted"): measured(0), key("original"): measured(0)}
    for end in ("low", "high"):
        name = key("adjusted", metric=f"accuracy_gain_{end}_vs_original")
        cells[name] = Measured({None: 0.0}, 1000)
    result = estimate(weights, cells)
    assert result.low < 0 < result.high


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (key("large", metric="gain_over_original"), key("small", metric="gain_over_original")),
        (key("new_delta"), (*key("new_delta")[:7], "3-4", "accuracy")),  # of other layers
    ],
)
def test_the_score_that_gains_and_losses_are_differences_to_drops_out(one: Key, other: Key) -> None:
    """Two scores at 50 with 2,500 items: a variance of 1 each."""
    cells = {one: measured(5, n=2500), other: measured(-3, n=2500)}
    for weights in ({one: 1.0, other: -1.0}, {one: 1.0}):
        result = estimate(weights, cells)
        assert result.high - result.effect == pytest.approx(1.96 * math.sqrt(2), abs=0.001)


def test_only_seeds_where_items_are_no_proportion() -> None:
    """-.1 and -.3: s² = .02, a standard error of .1, and t = 12.706 with one degree of freedom."""
    weights = {
        key("adjusted", metric="mean_ratio"): 1.0,
        key("original", metric="mean_ratio"): -1.0,
    }
    before, after = key("original", metric="mean_ratio"), key("adjusted", metric="mean_ratio")
    cells = {after: measured(0.8, 0.6), before: measured(0.9, 0.9)}
    result = estimate(weights, cells)
    assert (result.low, result.high) == pytest.approx((-1.4706, 1.0706), abs=0.0001)
    assert result.basis == "seed-level CI, 2 paired seeds"
    single = estimate(weights, {after: measured(0.8), before: measured(0.9)})
    assert single.basis == "no CI available, one seed"
    assert judge(single.low, single.high, Expected(below=0)) == UNDECIDED


def test_seeds_without_a_common_one_are_taken_by_side() -> None:
    """Variances 8 / 2 = 4 and 1 / 3, degrees of freedom 4.333² / (4² / 1 + .333² / 2) = 1.17."""
    after, before = key("adjusted", metric="mean_ratio"), key("original", metric="mean_ratio")
    cells = {after: measured(10, 14), before: measured(1, 2, 3, first_seed=3)}
    result = estimate({after: 1.0, before: -1.0}, cells)
    assert result.effect == pytest.approx(10)
    assert result.high == pytest.approx(10 + 9.09 * math.sqrt(13 / 3), rel=0.02)
    assert result.basis == "seed-level CI, 2/3 unpaired seeds"


def test_only_common_seeds_count() -> None:
    cells = {key("adjusted"): measured(60, 90), key("original"): measured(50)}
    result = estimate({key("adjusted"): 1.0, key("original"): -1.0}, cells)
    assert result.effect == pytest.approx(10)
    assert result.basis == "item-level CI, one seed"


@pytest.mark.parametrize(
    ("expect", "low", "high", "verdict"),
    [
        ({"above": 0}, 0.1, 2, HOLDS),
        ({"above": 0}, -0.1, 2, UNDECIDED),
        ({"above": 0}, -2, 0, DOES_NOT_HOLD),
        ({"above": 1}, 0.1, 0.9, DOES_NOT_HOLD),
        ({"below": 0}, -2, -0.1, HOLDS),
        ({"below": 0.5}, 0.1, 0.4, HOLDS),
        ({"below": 0}, 0.1, 2, DOES_NOT_HOLD),
        ({"above": -1, "below": 1}, -0.9, 0.9, HOLDS),
        ({"above": -1, "below": 1}, -0.9, 1.1, UNDECIDED),
        ({"above": -1, "below": 1}, 1.1, 3, DOES_NOT_HOLD),
        ({"above": -1, "below": 1}, -3, 3, UNDECIDED),
        ({"above": 0}, -math.inf, math.inf, UNDECIDED),
    ],
)
def test_verdict_of_an_interval(
    expect: dict[str, float], low: float, high: float, verdict: str
) -> None:
    assert judge(low, high, Expected(**expect)) == verdict


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.integers(10, 10_000))
def test_the_rule_is_even_handed(values: list[float], n: int) -> None:
    one, other = measured(*values[:2], n=n), measured(*values[2:], n=n)
    weights = {key("adjusted"): 1.0, key("original"): -1.0}
    result = estimate(weights, {key("adjusted"): one, key("original"): other})
    turned = estimate(weights, {key("adjusted"): other, key("original"): one})
    assert (result.low, result.high) == pytest.approx((-turned.high, -turned.low))
    assert result.low <= result.effect <= result.high


# Claims over several cells


def cells_with(ru: float, hi: float, vi: float = 50) -> dict[Key, Measured]:
    """One seed, 10,000 items, original at 50: a difference of 2 is decided, one of 1 is not."""
    result = {}
    for target, value in (("ru", ru), ("hi", hi), ("vi", vi)):
        result[key("original", target)] = measured(50, n=10_000)
        result[key("adjusted", target)] = measured(value, n=10_000)
    return result


@pytest.mark.parametrize(
    ("over", "cells", "verdict", "cell"),
    [
        ("every", (54, 53, 52.5), HOLDS, "vi"),
        ("every", (54, 53, 50.5), UNDECIDED, "vi"),
        ("every", (54, 46, 50.5), DOES_NOT_HOLD, "hi"),
        ("most", (54, 53, 46), HOLDS, "hi"),
        ("most", (54, 50.5, 46), UNDECIDED, "hi"),
        ("most", (54, 45, 46), DOES_NOT_HOLD, "vi"),
        ("some", (54, 45, 46), HOLDS, "ru"),
        ("some", (51, 45, 46), UNDECIDED, "ru"),
        ("some", (47, 45, 46), DOES_NOT_HOLD, "ru"),
    ],
)
def test_the_limiting_case_decides(
    tmp_path: Path, over: str, cells: tuple[float, ...], verdict: str, cell: str
) -> None:
    row = rows(tmp_path, cells_with(*cells), over=over)
    assert (row["verdict"], row["cell"], row["cells"]) == (verdict, cell, 3)
    scope = {"every": "all languages", "most": "most languages", "some": "at least one language"}
    assert row["expected"] == f"positive in {scope[over]}"


def test_a_verdict_that_one_cell_can_bring_about_takes_a_wider_interval(tmp_path: Path) -> None:
    """p = .53 and .5 of 10,000: a standard error of .7064; z(1 - .025 / 3) = 2.394."""
    for over, expect, z in (
        *(("every", {"above": 0}, 1.96), ("every", {"below": 0}, 2.394)),
        *(("some", {"above": 0}, 2.394), ("some", {"below": 0}, 1.96)),
        *(("most", {"above": 0}, 2.394), ("most", {"below": 0}, 2.394)),
        *(("every", {"above": 3}, 2.394), ("some", {"above": 3}, 2.394)),  # undecided
    ):
        single = rows(tmp_path, cells_with(53, 53, 53), over=over, expect=expect)
        assert single["high"] - 3 == pytest.approx(z * 0.7064, abs=0.001), (over, expect)


def test_a_mean_has_a_narrower_interval_than_its_cells(tmp_path: Path) -> None:
    mean = rows(tmp_path, cells_with(53, 53, 53), over="mean")
    assert mean["high"] - 3 == pytest.approx(1.96 * 0.7064 / math.sqrt(3), abs=0.001)
    assert mean["cell"] == ""


def test_the_effect_in_the_papers_numbers(tmp_path: Path) -> None:
    every = rows(tmp_path, cells_with(54, 53), over="every")
    assert (every["reported"], every["reported_bears_out"]) == (pytest.approx(-1), "no")
    mean = rows(tmp_path, cells_with(54, 53), over="mean")
    assert (mean["reported"], mean["reported_bears_out"]) == (pytest.approx(0.5), "yes")


def test_a_missing_side_is_not_run(tmp_path: Path) -> None:
    row = rows(tmp_path, {key("adjusted"): measured(60)})
    assert row["verdict"] == NOT_RUN
    assert row["cells"] == 0
    assert math.isnan(row["effect"])


def test_verdicts_survive_their_file(tmp_path: Path) -> None:
    reported = tmp_path / "reported.csv"
    reported.write_text(REPORTED)
    frame = verdicts({"toy2020": Claims(claims={"better": claim()})}, [], [reported])
    write_csv(frame, tmp_path / "claims.csv")
    again = read_verdicts(tmp_path / "claims.csv")
    assert list(again.columns) == list(frame.columns)
    assert again["cell"].tolist() == ["", ""]
