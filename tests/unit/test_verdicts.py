"""Verdicts on claims, compared with calculations by hand."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats
from toy_claims import REPORTED, claim, key, measured, rows

from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard.cells import Key, Measured, write_csv
from mbert_atlas.scorecard.claims import Claims, Expected
from mbert_atlas.scorecard.verdicts import (
    BEYOND,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    IN_CONTROL,
    NOT_APPLICABLE,
    NOT_RUN,
    TOO_FEW_SEEDS,
    UNDECIDED,
    corrected,
    in_scope,
    judge,
    read_verdicts,
    verdicts,
)


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


# Claims over several cells


def cells_with(ru: float, hi: float, vi: float = 50) -> dict[Key, Measured]:
    """No seeds, 10,000 items, original at 50: a difference of 2 is decided, one of 1 is not."""
    result = {}
    for target, value in (("ru", ru), ("hi", hi), ("vi", vi)):
        result[key("original", target)] = Measured({None: 50}, 10_000)
        result[key("adjusted", target)] = Measured({None: value}, 10_000)
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


@pytest.mark.parametrize(
    ("cells", "cases", "verdict"),
    [
        ((54, 45), 2, DOES_NOT_HOLD),
        ((54, 45), 9, UNDECIDED),
        ((50.5, 45), 9, UNDECIDED),
        ((45, 46), 9, FAILS_SO_FAR),
        ((54, 53), 9, HOLDS_SO_FAR),
    ],
)
def test_half_of_a_part_of_the_cases_refutes_nothing(
    tmp_path: Path, cells: tuple[float, float], cases: int, verdict: str
) -> None:
    """Of all two cases, one refutes "most"; of two of nine, the other seven may be as claimed."""
    measured = {name: cell for name, cell in cells_with(*cells).items() if "vi" not in name}
    row = rows(tmp_path, measured, over="most", cases=cases)
    assert row["verdict"] == verdict
    if verdict == UNDECIDED and cells[0] == 54:  # more seeds would not decide it
        assert row["p"] == 1
        assert math.isnan(row["detectable"])


def test_a_case_that_was_run_alone_is_named(tmp_path: Path) -> None:
    cells = {name: cell for name, cell in cells_with(54, 53).items() if "ru" in name}
    row = rows(tmp_path, cells, over="every")
    assert (row["cells"], row["cell"]) == (1, "ru")  # the paper has Hindi, too


@pytest.mark.parametrize(
    ("over", "verdict", "agreeing", "run", "cases", "result"),
    [
        ("every", HOLDS, 2, 2, 2, HOLDS),
        ("every", HOLDS, 2, 2, 9, HOLDS_SO_FAR),
        ("every", DOES_NOT_HOLD, 1, 2, 9, DOES_NOT_HOLD),
        ("every", UNDECIDED, 1, 2, 9, UNDECIDED),
        ("some", HOLDS, 1, 2, 9, HOLDS),
        ("some", DOES_NOT_HOLD, 2, 2, 9, FAILS_SO_FAR),
        ("most", HOLDS, 5, 6, 9, HOLDS),
        ("most", HOLDS, 4, 6, 8, HOLDS_SO_FAR),
        ("most", DOES_NOT_HOLD, 4, 6, 8, DOES_NOT_HOLD),
        ("most", DOES_NOT_HOLD, 4, 6, 9, FAILS_SO_FAR),
        ("mean", HOLDS, 1, 1, 1, HOLDS),
        ("mean", HOLDS, 1, 4, 9, HOLDS_SO_FAR),
        ("mean", DOES_NOT_HOLD, 1, 4, 9, FAILS_SO_FAR),
    ],
)
def test_a_part_of_the_papers_cases_decides_so_far(
    over: str, verdict: str, agreeing: int, run: int, cases: int, result: str
) -> None:
    assert in_scope(over, verdict, agreeing, run, cases) == result


def test_the_papers_cases_are_counted_or_stated(tmp_path: Path) -> None:
    russian = {name: cell for name, cell in cells_with(54, 53).items() if "ru" in name}
    row = rows(tmp_path, russian, over="every")
    assert (row["verdict"], row["cells"], row["cases"]) == (HOLDS_SO_FAR, 1, 2)
    row = rows(tmp_path, cells_with(54, 53, 52.5), over="every", cases=17)
    assert (row["verdict"], row["cells"], row["cases"]) == (HOLDS_SO_FAR, 3, 17)
    assert (row["n"], row["seeds"]) == ("10000", "")


def test_a_claim_of_several_differences_names_the_one_that_limits_it(tmp_path: Path) -> None:
    cells = cells_with(54, 53, 46) | {
        key("replayed", target): Measured({None: 51}, 10_000) for target in ("ru", "hi", "vi")
    }
    effect = [
        {"plus": {"condition": name}, "minus": {"condition": "original"}}
        for name in ("adjusted", "replayed")
    ]
    row = rows(tmp_path, cells, over="every", effect=effect)
    assert (row["verdict"], row["part"]) == (DOES_NOT_HOLD, "adjusted − original")
    del cells[key("adjusted", "vi")]
    row = rows(tmp_path, cells, over="every", effect=effect)
    assert (row["verdict"], row["part"]) == (UNDECIDED, "replayed − original")


GATE = {
    "otherwise": "the original encoder is at chance",
    "of": {"artifact": "table1", "metric": "accuracy"},
    "effect": {"plus": {"condition": "original"}},
    "by": ["task", "target"],
    "expect": {"above": 49},
}


@pytest.mark.parametrize(
    ("above", "verdict", "cells"),
    [(48, HOLDS, 3), (49.5, NOT_APPLICABLE, 0), (51, NOT_APPLICABLE, 0)],
)
def test_cases_that_do_not_pass_a_gate_do_not_count(
    tmp_path: Path, above: float, verdict: str, cells: int
) -> None:
    """50% of 10,000 items have an interval from 49.02 to 50.98."""
    gates = {"above-chance": GATE | {"expect": {"above": above}}}
    given = cells_with(54, 53, 52.5)
    row = rows(tmp_path, given, over="every", needs=["above-chance"], gates=gates)
    assert (row["verdict"], row["cells"]) == (verdict, cells)
    if verdict == NOT_APPLICABLE:  # of three languages: once
        clearly = "clearly " if above < 50 else ""
        numbers = f"nli ru 50.0 [49.0, 51.0], not {clearly}above {above:g}"
        assert row["gate"] == f"the original encoder is at chance: {numbers}"


def test_a_case_at_the_floor_leaves_the_others(tmp_path: Path) -> None:
    given = cells_with(54, 53, 52.5) | {key("original", "vi"): Measured({None: 40}, 10_000)}
    changes = {
        "needs": ["above-chance"],
        "gates": {"above-chance": GATE | {"expect": {"above": 45}}},
    }
    row = rows(tmp_path, given, over="every", cases=3, **changes)
    assert (row["verdict"], row["cells"], row["cases"]) == (HOLDS_SO_FAR, 2, 3)
    assert row["gate"].startswith("the original encoder is at chance: nli vi 40.0 [")


@pytest.mark.parametrize("numbers", [(87.4, 61.7, 0.3), (33.3, 44.4, 0.1)])
def test_a_difference_of_numbers_and_themselves_passes_no_gate(
    tmp_path: Path, numbers: tuple[float, ...]
) -> None:
    """A sum of floats may be 1e-14 instead of 0; numbers without error have no interval."""
    given = cells_with(54, 53) | {
        key(name, target, "cka_percent"): Measured({None: value}, 200)
        for name in ("first", "last")
        for target, value in zip(("ru", "hi", "vi"), numbers, strict=True)
    }
    gate = GATE | {
        "of": {"artifact": "table1", "metric": "cka_percent"},
        "effect": {"plus": {"condition": "last"}, "minus": {"condition": "first"}},
        "by": ["task"],
        "expect": {"above": 0},
    }
    row = rows(tmp_path, given, needs=["falls"], gates={"falls": gate})
    assert (row["verdict"], row["gate"]) == (
        NOT_APPLICABLE,
        f"{GATE['otherwise']}: nli 0, not positive",
    )


def test_a_gate_without_numbers_is_not_passed(tmp_path: Path) -> None:
    gate = GATE | {
        "effect": {"plus": {"condition": "adjusted"}},
        "of": {"artifact": "table2", "metric": "f1"},
    }
    row = rows(tmp_path, cells_with(54, 53), needs=["learned"], gates={"learned": gate})
    assert row["verdict"] == NOT_APPLICABLE
    assert row["gate"] == "unknown whether the original encoder is at chance"


def test_a_number_beyond_the_measured_range_is_no_case(tmp_path: Path) -> None:
    cells = {key("adjusted"): measured(4, 5), key("original"): measured(2, 3)}
    cells = {(*name[:-1], "dimensionality"): cell for name, cell in cells.items()}
    changes = {"of": {"metric": "dimensionality"}}
    assert rows(tmp_path, cells, **changes)["gate"] == ""
    cells = {(*name[:-1], f"{name[-1]}_censored"): cell for name, cell in cells.items()}
    row = rows(tmp_path, cells, **changes)
    assert (row["verdict"], row["gate"]) == (NOT_APPLICABLE, BEYOND)


@pytest.mark.parametrize(
    ("ours", "control", "verdict", "flagged"),
    [(54, 54, IN_CONTROL, "wrong-pairs"), (54, 50, HOLDS, ""), (50, 54, UNDECIDED, "")],
)
def test_a_finding_that_its_control_shows_is_none(
    tmp_path: Path, ours: float, control: float, verdict: str, flagged: str
) -> None:
    effect = {"plus": {"condition": "wrong"}, "minus": {"condition": "original"}}
    cells = cells_with(ours, ours, ours) | {key("wrong", "ru"): Measured({None: control}, 10_000)}
    more = {"wrong-pairs": claim(effect=effect, control_for=["better"])}
    row = rows(tmp_path, cells, cases=3, more=more)
    assert (row["verdict"], row["in_control"]) == (verdict, flagged)
    assert row["q"] == pytest.approx(row["p"])  # the only claim of the paper


def test_a_claim_states_what_its_effect_is_the_difference_of(tmp_path: Path) -> None:
    row = rows(tmp_path, cells_with(54, 53))
    assert row["contrast"] == "adjusted − original"
    level = {"plus": {"condition": ["adjusted", "original"]}}
    assert rows(tmp_path, cells_with(54, 53), effect=level)["contrast"] == "adjusted,original"


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


def test_p_counts_the_cells_that_could_have_brought_a_verdict_about(tmp_path: Path) -> None:
    """By Bonferroni: 53% and 50% of 10,000, z = 3 / .7065."""
    both = 2 * stats.norm.sf(3 / math.sqrt(0.53 * 0.47 + 0.25))
    for over, expect, times in (
        *(("every", {"above": 0}, 1), ("every", {"below": 0}, 3), ("mean", {"above": 0}, None)),
        *(("some", {"above": 0}, 3), ("some", {"below": 0}, 1)),
        *(("most", {"above": 0}, 3), ("most", {"below": 0}, 3)),
    ):
        row = rows(tmp_path, cells_with(53, 53, 53), over=over, expect=expect)
        if times is None:
            assert row["p"] < both / 1e6  # of the mean: z = 7.36
        else:
            assert row["p"] == pytest.approx(times * both, rel=0.01), (over, expect)
    undecided = rows(tmp_path, cells_with(50, 50, 50), over="most")
    assert undecided["p"] == 1


def test_a_mean_has_a_narrower_interval_than_its_cells(tmp_path: Path) -> None:
    mean = rows(tmp_path, cells_with(53, 53, 53), over="mean")
    assert mean["high"] - 3 == pytest.approx(1.96 * 0.7064 / math.sqrt(3), abs=0.001)
    assert mean["cell"] == ""


def test_the_effect_in_the_papers_numbers(tmp_path: Path) -> None:
    every = rows(tmp_path, cells_with(54, 53), over="every")
    assert (every["reported"], every["reported_bears_out"]) == (pytest.approx(-1), "no")
    mean = rows(tmp_path, cells_with(54, 53), over="mean")
    assert (mean["reported"], mean["reported_bears_out"]) == (pytest.approx(0.5), "yes")


@pytest.mark.parametrize(
    ("cells", "over", "reported_here"),
    [
        ((54, 52, 60), "every", -1),  # limited by Hindi
        ((52, 54, 60), "every", 2),  # by Russian
        ((54, 54, 52), "every", math.nan),  # by a language that the paper lacks
        ((54, 52, 60), "some", math.nan),
    ],
)
def test_the_papers_number_next_to_an_effect_is_of_the_same_cells(
    tmp_path: Path, cells: tuple[float, ...], over: str, reported_here: float
) -> None:
    row = rows(tmp_path, cells_with(*cells), over=over)
    assert row["reported"] == pytest.approx({"every": -1, "some": 2}[over])
    assert row["reported_here"] == pytest.approx(reported_here, nan_ok=True)


@pytest.mark.parametrize(
    ("plus", "minus", "kind", "expected"),
    [
        ("adjusted", "", "level", "above 1"),
        ("adjusted", "original", "difference", "above +1"),
        ("adjusted_delta", "", "difference", "above +1"),  # measured as gains
        (["adjusted_delta", "adjusted"], "", "level", "above 1"),
    ],
)
def test_effects_are_differences_or_levels(
    tmp_path: Path, plus: object, minus: str, kind: str, expected: str
) -> None:
    effect = {"plus": {"condition": plus}} | ({"minus": {"condition": minus}} if minus else {})
    row = rows(tmp_path, cells_with(60, 60), effect=effect, expect={"above": 1}, over="mean")
    assert (row["effect_of"], row["expected"]) == (kind, expected)


def test_a_missing_side_is_not_run(tmp_path: Path) -> None:
    row = rows(tmp_path, {key("adjusted"): measured(60)})
    assert row["verdict"] == NOT_RUN
    assert row["cells"] == 0
    assert math.isnan(row["effect"])


def test_numbers_of_one_seed_without_any_second_are_not_replicated(tmp_path: Path) -> None:
    cells = {key("adjusted"): measured(90), key("original"): measured(50)}
    row = rows(tmp_path, cells)
    assert row["verdict"] == TOO_FEW_SEEDS
    assert row["effect"] == 40
    assert math.isnan(row["low"])
    again = cells | {key("replayed"): measured(50, 51), key("replayed", "hi"): measured(50, 52)}
    assert rows(tmp_path, again)["verdict"] == HOLDS_SO_FAR  # Russian alone of two languages


@pytest.mark.parametrize(
    ("classes", "verdict"),
    [({}, HOLDS), ({"condition": {"static": ["other0", "other1"]}}, TOO_FEW_SEEDS)],
)
def test_the_spread_of_another_kind_of_model_says_nothing(
    tmp_path: Path, classes: dict[str, Any], verdict: str
) -> None:
    cells = {key("adjusted"): measured(90), key("original"): measured(50)}
    cells |= {
        key(f"other{n}", target): measured(n, n + 1) for n in (0, 1) for target in ("ru", "hi")
    }
    row = rows(tmp_path, cells, cases=1, classes=classes)
    assert row["verdict"] == verdict


@pytest.mark.parametrize(("corrected", "same"), [("50.4", "yes"), ("50.5", "")])
def test_protocols_with_the_same_numbers_are_marked_and_share_q(
    tmp_path: Path, corrected: str, same: str
) -> None:
    lines = [
        f"toy2020,table1,nli,mbert,{condition},en,ru,,accuracy,{value},{protocol},,10000"
        for protocol, adjusted in (("published", "50.4"), ("corrected", corrected))
        for condition, value in (("original", "50"), ("adjusted", adjusted))
    ]
    # of another claim, under corrected alone
    lines += ["toy2020,table1,nli,mbert,replayed,en,ru,,accuracy,50.3,corrected,,10000"]
    reported, path = tmp_path / "reported.csv", tmp_path / "m.csv"
    reported.write_text(REPORTED)
    path.write_text("\n".join([",".join(MEASUREMENT_COLUMNS), *lines, ""]))
    other = claim(effect={"plus": {"condition": "replayed"}, "minus": {"condition": "original"}})
    stated = {"toy2020": Claims(claims={"better": claim(), "other": other})}
    frame = verdicts(stated, [path], [reported], languages=[])
    better = frame[frame["id"] == "better"]
    assert better["same_numbers"].tolist() == [same, same]
    assert set(frame["same_numbers"][frame["id"] == "other"]) == {""}
    published, corrected_q = better["q"]
    assert (published == corrected_q) == (same == "yes")
    assert corrected_q > better["p"].iloc[-1]


@pytest.mark.parametrize(("comparable", "verdict"), [(True, HOLDS), (False, NOT_APPLICABLE)])
def test_a_level_of_the_papers_encoder_needs_it(
    tmp_path: Path, comparable: bool, verdict: str
) -> None:
    changes = {"effect": {"plus": {"condition": "adjusted"}}, "expect": {"above": 50}}
    cells = cells_with(60, 60, 60)
    row = rows(tmp_path, cells, comparable=comparable, needs_paper_scale=True, **changes)
    assert row["verdict"] == verdict


def test_an_undecided_claim_has_what_would_decide(tmp_path: Path) -> None:
    n = 10**6
    cells = {key(f"other{number}"): measured(50, 50 + number, n=n) for number in range(4)}
    cells |= {key("adjusted"): measured(51, 52, n=n), key("original"): measured(50, 50, n=n)}
    row = rows(tmp_path, cells)
    assert row["verdict"] == UNDECIDED
    assert row["detectable"] > row["effect"]
    assert row["seeds_to_decide"] > 2
    assert row["p"] > 0.05


def test_q_corrects_for_the_number_of_claims() -> None:
    """Of p = .01, .02 and .3: 3 · .01 is more than 3/2 · .02, and so .03 for both."""
    p_values = pd.Series([0.3, 0.01, math.nan, 0.02])
    expected = [0.3, 0.03, math.nan, 0.03]
    assert corrected(p_values).tolist() == pytest.approx(expected, nan_ok=True)


def test_verdicts_survive_their_file(tmp_path: Path) -> None:
    reported = tmp_path / "reported.csv"
    reported.write_text(REPORTED)
    stated = {"toy2020": Claims(claims={"better": claim()})}
    frame = verdicts(stated, [], [reported], languages=[])
    write_csv(frame, tmp_path / "claims.csv")
    again = read_verdicts(tmp_path / "claims.csv")
    assert list(again.columns) == list(frame.columns)
    assert again["cell"].tolist() == ["", ""]
