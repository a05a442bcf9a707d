"""Verdicts of cells, and errors in the files behind the scorecard."""

import csv
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from configs import ROOT
from hypothesis import given
from hypothesis import strategies as st
from toy_scorecard import ADJUSTED, CONTRASTS, ORIGINAL, papers, row_of, score, seeds, write

from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages
from mbert_atlas.papers import load
from mbert_atlas.plan.plan import Plan
from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY
from mbert_atlas.scorecard.compare import COLUMNS, compare
from mbert_atlas.scorecard.views import signed

REPORTED = sorted((ROOT / "resources" / "reported").glob("*.csv"))


# The rule


def test_every_reported_metric_has_a_tolerance_and_every_contrast_a_cell() -> None:
    languages = Languages.read(ROOT / "resources/languages.csv")
    contrasts = {
        paper: [rules.Contrast(*contrast) for contrast in planned.contrasts]
        for paper, planned in Plan(load([], ROOT), languages, home=ROOT).papers.items()
    }
    frame = compare([], REPORTED, contrasts=contrasts)
    assert set(frame["published_verdict"]) == {rules.NOT_RUN}
    values = frame[frame["kind"] == "value"]
    claims = frame[frame["kind"] == "claim"]
    assert values["tolerance"].notna().all()
    assert not frame.duplicated(list(KEY)).any()
    for paper, declared in contrasts.items():
        for contrast in declared:
            match = claims[claims["paper"] == paper]
            for column in ("artifact", "condition"):
                match = match[match[column] == getattr(contrast, column)]
            assert match["metric"].str.endswith(f"_minus_{contrast.baseline}").any(), contrast
    total = 0
    for path in REPORTED:
        with open(path) as stream:
            total += sum("_significant_vs_" not in row["metric"] for row in csv.DictReader(stream))
    assert len(values) == total


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((74.2,), rules.REPRODUCED),
        ((75.2,), rules.REPRODUCED),  # just within one point
        ((75.21,), rules.NOT_REPRODUCED),
        ((73.19,), rules.NOT_REPRODUCED),
        ((75.6, 75.8), rules.NOT_REPRODUCED),  # 1.5 off, two standard errors are 0.2
        ((73.2, 78.2), rules.REPRODUCED),  # 1.5 off, two standard errors are 5
        ((63.0, 93.0), rules.NOT_REPRODUCED),  # 3.8 off: noise excuses 3 points at most
    ],
)
def test_verdict_of_a_value(tmp_path: Path, values: tuple[float, ...], verdict: str) -> None:
    cell = ORIGINAL.format("es")
    row = row_of(score(tmp_path, *seeds(cell, *values)), cell)
    assert row["published_verdict"] == verdict
    assert row["corrected_verdict"] == rules.NOT_RUN
    assert row["published_mean"] == pytest.approx(np.mean(values))
    assert row["published_difference"] == pytest.approx(np.mean(values) - 74.2)
    assert row["published_n_seeds"] == len(values)
    assert row["published_n_items"] == 5010
    assert row["published_std"] == pytest.approx(pd.Series(values).std(), nan_ok=True)


@pytest.mark.parametrize(
    ("metric", "reported", "measured", "verdict"),
    [
        ("gain_over_original", 1.5, 1.9, rules.REPRODUCED),
        ("gain_over_original", 1.5, 2.1, rules.DIRECTION_ONLY),
        ("gain_over_original", 1.5, -0.1, rules.NOT_REPRODUCED),
        ("n_items", 351340, 353000, rules.REPRODUCED),
        ("n_items", 351340, 356000, rules.NOT_REPRODUCED),
        ("minibatch", 16, 16, rules.REPRODUCED),
        ("minibatch", 16, 17, rules.NOT_REPRODUCED),
        ("encoder_lr", 1e-6, 1e-6, rules.REPRODUCED),
        ("encoder_lr", 1e-6, 1e-5, rules.NOT_REPRODUCED),
        ("v_measure_label", 22.8, 24.7, rules.REPRODUCED),
        ("convert_rate", 0.966, 0.93, rules.NOT_REPRODUCED),
        ("n_tokens_in_language", 9140, 9300, rules.NOT_REPRODUCED),
    ],
)
def test_tolerances_are_those_of_the_metric(
    metric: str, reported: float, measured: float, verdict: str
) -> None:
    rule, signed = rules.METRICS[metric], rules.is_difference(metric, "")
    assert rules.value_verdict(reported, measured, math.nan, rule, signed=signed) == verdict


@pytest.mark.parametrize(
    ("reported_star", "our_star", "ours", "verdict"),
    [
        (True, True, 0.9, rules.REPRODUCED),
        (True, False, 0.9, rules.DIRECTION_ONLY),
        (True, None, 0.9, rules.DIRECTION_ONLY),
        (True, True, -0.9, rules.NOT_REPRODUCED),
        (False, False, 0.9, rules.REPRODUCED),
        (False, False, -0.9, rules.REPRODUCED),
        (False, True, 0.9, rules.DIRECTION_ONLY),
        (False, True, -0.9, rules.NOT_REPRODUCED),
        (False, None, 0.9, rules.DIRECTION_ONLY),
        (False, None, 0.0, rules.NOT_REPRODUCED),
    ],
)
def test_verdict_of_a_tested_claim(
    reported_star: bool, our_star: bool | None, ours: float, verdict: str
) -> None:
    assert rules.claim_verdict(0.6, ours, reported_star, our_star) == verdict


@given(
    reported=st.floats(-100, 100),
    off=st.floats(-50, 50),
    error=st.floats(0, 100) | st.just(math.nan),
    signed=st.booleans(),
)
def test_the_rule_is_even_handed(reported: float, off: float, error: float, signed: bool) -> None:
    rule = rules.Metric(1.0, 0.05)

    def judge(gap: float) -> str:
        return rules.value_verdict(reported, reported + gap, error, rule, signed=signed)

    if judge(off) == rules.REPRODUCED:
        assert judge(-off) == rules.REPRODUCED
        assert judge(off / 2) == rules.REPRODUCED
        assert abs(off) <= 3 * rules.tolerance(rule, reported) + 1e-6
    elif not signed:
        assert judge(off) == rules.NOT_REPRODUCED


# The scorecard


def test_claims_pair_seeds_and_use_both_sides_stars(tmp_path: Path) -> None:
    star = ADJUSTED.format("es") + "_significant_vs_original"
    frame = score(
        tmp_path,
        *seeds(ORIGINAL.format("es"), 70.0, 80.0, 99.0),
        *seeds(ADJUSTED.format("es"), 70.5, 81.0),
        f"{star},1,published,,5010",
        f"{ADJUSTED.format('es')},10.0,published,9,5010",
        *seeds(ORIGINAL.format("es"), 70.0, protocol="corrected"),
        *seeds(ADJUSTED.format("es"), 70.6, protocol="corrected"),
        *seeds(ORIGINAL.format("hi"), 59.0, protocol="corrected"),
        *seeds(ADJUSTED.format("hi"), 58.0, protocol="corrected"),
    )
    claim = row_of(frame, ADJUSTED.format("es") + "_minus_original")
    assert claim["kind"] == "claim"
    assert claim["reported"] == pytest.approx(74.82 - 74.2)
    assert claim["published_mean"] == pytest.approx(0.75)  # seeds 3 and 9 have no partner
    assert claim["published_std"] == pytest.approx(np.std([0.5, 1.0], ddof=1))
    assert claim["published_n_seeds"] == 2
    assert bool(claim["reported_significant"])
    assert claim["published_verdict"] == rules.REPRODUCED
    # as large as in the paper, but the paper's star was not tested
    assert claim["corrected_verdict"] == rules.DIRECTION_ONLY
    cell = row_of(frame, ADJUSTED.format("es"))
    assert bool(cell["published_significant"])
    assert pd.isna(row_of(frame, ORIGINAL.format("es"))["reported_significant"])
    hindi = row_of(frame, ADJUSTED.format("hi") + "_minus_original")
    assert hindi["corrected_verdict"] == rules.NOT_REPRODUCED
    assert pd.isna(hindi["corrected_significant"])
    not_starred = "adjusting2020,table3,ner,mbert,adjusted,en,es,,token_f1"
    assert not pd.isna(row_of(frame, not_starred)["reported_significant"])
    assert not row_of(frame, not_starred)["reported_significant"]
    untested = "adjusting2020,table9,ner,embert,adjusted,en,hi,,token_f1_minus_original"
    assert pd.isna(row_of(frame, untested)["reported_significant"])
    assert row_of(frame, untested)["tolerance"] == 0.5


def test_a_baseline_may_be_in_another_artifact(tmp_path: Path) -> None:
    tuned = "unlearning2020,table1,udpos,mbert,tuned,,,,macro_f1_label"
    reversed_ = "unlearning2020,table2,udpos,mbert,reversal,,,,macro_f1_label"
    frame = score(tmp_path, *seeds(tuned, 60.0, 61.0), *seeds(reversed_, 54.0, 54.4))
    claim = row_of(frame, f"{reversed_}_minus_tuned")
    assert claim["kind"] == "claim"
    assert claim["reported"] == pytest.approx(53.5 - 59.6)
    assert claim["published_mean"] == pytest.approx((54.0 + 54.4 - 60.0 - 61.0) / 2)
    assert claim["published_verdict"] == rules.REPRODUCED
    clusters = "unlearning2020,table3,{},mbert,reversal,,,,v_measure_label_minus_tuned"
    reported = [row_of(frame, clusters.format(task))["reported"] for task in ("udpos", "xnli")]
    assert reported == pytest.approx([22.8 - 47.5, 1.1 - 20.3])  # Figures 3 and 4


def test_additional_cells_follow_their_artifact(tmp_path: Path) -> None:
    extra = "adjusting2020,table2,xnli,mbert,original,en,fr,,accuracy"
    other = "adjusting2020,figure1,words,mbert,original,en,hi,,auc"
    p_value = ADJUSTED.format("es") + "_p_value_vs_original,0.01,published,,5010"
    frame = score(tmp_path, *seeds(other, 0.9), p_value, *seeds(extra, 70.0))
    assert list(frame.columns) == list(COLUMNS)
    assert row_of(frame, extra)["published_verdict"] == rules.NO_REPORTED_VALUE
    assert pd.isna(row_of(frame, extra)["corrected_verdict"])  # nothing of the paper's is missing
    assert row_of(frame, other)["published_verdict"] == rules.NO_REPORTED_VALUE
    order = list(dict.fromkeys(frame["artifact"][frame["paper"] == "adjusting2020"]))
    assert order[0] == "table2"
    assert order[-1] == "figure1"
    of_table = frame[(frame["paper"] == "adjusting2020") & (frame["artifact"] == "table2")]
    assert of_table["kind"].tolist() == sorted(of_table["kind"], key="value claim extra".find)
    assert of_table["kind"].value_counts()["extra"] == 1
    assert of_table["metric"].iloc[-1] == "accuracy_p_value_vs_original"
    assert (of_table[of_table["kind"] == "value"].iloc[-1]["target"]) == "fr"


def test_unreported_differences_are_among_the_claims(tmp_path: Path) -> None:
    thai = [cell.format("th") for cell in (ORIGINAL, ADJUSTED)]
    frame = score(tmp_path, *seeds(thai[0], 60.0, 61.0), *seeds(thai[1], 62.0, 62.5))
    claim = row_of(frame, f"{thai[1]}_minus_original")
    assert (claim["kind"], claim["published_mean"]) == ("claim", pytest.approx(1.75))
    assert claim["published_verdict"] == rules.NO_REPORTED_VALUE
    assert pd.isna(claim["corrected_verdict"])
    frame = score(tmp_path, *seeds(thai[0], 60.0))
    assert (frame["target"] == "th").sum() == 1  # no difference without the other condition


def test_presets_off_the_papers_are_not_judged(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 74.2, 74.3), comparable=False)
    row = row_of(frame, ORIGINAL.format("es"))
    assert row["published_verdict"] == rules.NOT_COMPARABLE
    assert row["published_difference"] == pytest.approx(0.05)
    judged = {rules.REPRODUCED, rules.DIRECTION_ONLY, rules.NOT_REPRODUCED}
    assert not judged & {*frame["published_verdict"], *frame["corrected_verdict"]}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (seeds(ORIGINAL.format("es"), 1.0) * 2, "measurements.csv, line 3: .* already in .*line 2"),
        ([ORIGINAL.format("es") + ",high,published,1,2"], "line 2: 'high' is not a finite number"),
        ([ORIGINAL.format("es") + ",nan,published,1,2"], "line 2: 'nan' is not a finite number"),
        ([ORIGINAL.format("es") + ",1,published,1"], "line 2: the row has not 13 fields"),
        (
            [*seeds(ORIGINAL.format("es"), 1.0), ORIGINAL.format("es") + ",1,published,,2"],
            "line 3: the same cell has values with a seed and one without",
        ),
    ],
)
def test_bad_measurements_are_named(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        score(tmp_path, *lines)


def test_bad_files_are_named(tmp_path: Path) -> None:
    short = write(tmp_path / "short.csv", columns=MEASUREMENT_COLUMNS[:-2])
    with pytest.raises(DataError, match=r"short.csv, line 1: no column seed, n;"):
        compare([short], [], contrasts={})
    with pytest.raises(DataError, match="no such file"):
        compare([tmp_path / "absent.csv"], [], contrasts={})
    for line, problem in (
        (ORIGINAL.replace("accuracy", "acuracy"), "metric 'acuracy' has no tolerance"),
        (ADJUSTED + "_significant_vs_original", "significance '74.2'; write 0 or 1"),
        (ADJUSTED + "_significant_vs_continual", "no contrast of 'adjusted' with 'continual'"),
    ):
        strange = write(
            tmp_path / "paper.csv", line.format("es") + ",74.2", columns=(*KEY, "value")
        )
        with pytest.raises(DataError, match=rf"paper.csv, line 2: {problem}"):
            compare([], [strange], contrasts=CONTRASTS)
    with pytest.raises(DataError, match="already in"):
        compare([], papers(tmp_path)[:1] * 2, contrasts=CONTRASTS)


def test_zero_has_no_minus() -> None:
    assert signed(-0.3, 0, "difference") == "+0"
    assert signed(-0.3, 0, "level") == "0"
    assert rules.printed(-0.001, "accuracy_minus_original") == "+0.00"
