"""Verdicts of cells, errors in files, tables, the scorecard's page, and costs."""

from __future__ import annotations

import csv
import math
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.labels import language
from mbert_atlas.papers import names
from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, write_csv
from mbert_atlas.scorecard.compare import COLUMNS, compare
from mbert_atlas.scorecard.cost import GPU_NOTE, collect_cost
from mbert_atlas.scorecard.page import write_page
from mbert_atlas.scorecard.reasons import read_reasons, write_reasons
from mbert_atlas.scorecard.tables import Table, lay_out, write_tables
from mbert_atlas.scorecard.templates import (
    FigureLink,
    Labels,
    Setting,
    artifact_name,
    figure_links,
)
from mbert_atlas.scorecard.views import signed

REPORTED = sorted((Path(__file__).parents[2] / "resources" / "reported").glob("*.csv"))
NAMES = {"en": "English", "es": "Spanish", "ru": "Russian", "vi": "Vietnamese", "hi": "Hindi"}
ORIGINAL = "adjusting2020,table2,xnli,mbert,original,en,{},,accuracy"
ADJUSTED = "adjusting2020,table2,xnli,mbert,adjusted,en,{},,accuracy"
CONTINUAL = "adjusting2020,table2,xnli,mbert,continual,en,{},,accuracy"
GAIN = "adjusting2020,table5,xnli,mbert,adjusted,en,ru,,gain_over_original"
# Two papers made up of numbers that two real ones report.
TABLE2 = {
    ORIGINAL: {"es": 74.2, "ru": 67.95, "vi": 69.58, "hi": 59.03},
    ADJUSTED: {"es": 74.82, "ru": 69.45, "vi": 70.88, "hi": 61.54},
    CONTINUAL: {"es": 75.89, "ru": 71.26, "vi": 72.79, "hi": 63.9},
}
ADJUSTING = [
    *(f"{cell.format(code)},{n}" for cell, row in TABLE2.items() for code, n in row.items()),
    *(f"{ADJUSTED.format(code)}_significant_vs_original,1" for code in TABLE2[ADJUSTED]),
    *(f"{CONTINUAL.format(code)}_significant_vs_adjusted,1" for code in TABLE2[CONTINUAL]),
    "adjusting2020,table3,ner,mbert,original,en,es,,token_f1,73.4",
    "adjusting2020,table3,ner,mbert,adjusted,en,es,,token_f1,73.28",
    "adjusting2020,table3,ner,mbert,continual,en,es,,token_f1,72.71",
    "adjusting2020,table3,ner,mbert,continual,en,es,,token_f1_significant_vs_adjusted,1",
    "adjusting2020,table3,ner,mbert,adjusted,en,hi,,token_f1,67.0",
    "adjusting2020,table3,ner,mbert,adjusted,en,hi,,token_f1_significant_vs_original,1",
    f"{GAIN},1.5",
    "adjusting2020,table9,ner,embert,original,en,hi,,token_f1,65.12",
    "adjusting2020,table9,ner,embert,adjusted,en,hi,,token_f1,66.79",
    "adjusting2020,table1,wikipedia,mbert,,en,hi,,n_pages,150000",
]
UNLEARNING = [
    "unlearning2020,table1,udpos,mbert,initial,,,,macro_f1_label,51.2",
    "unlearning2020,table1,udpos,mbert,tuned,,,,macro_f1_label,59.6",
    "unlearning2020,table2,udpos,mbert,reversal,,,,macro_f1_label,53.5",
    "unlearning2020,table3,udpos,mbert,reversal,,,,v_measure_label,22.8",
    "unlearning2020,figure3,udpos,mbert,tuned,,,,v_measure_label,47.5",
    "unlearning2020,table3,xnli,mbert,reversal,,,,v_measure_label,1.1",
    "unlearning2020,figure4,xnli,mbert,tuned,,,,v_measure_label,20.3",
]
CONTRASTS = {
    "adjusting2020": [
        *(
            rules.Contrast(table, "adjusted", "original")
            for table in ("table2", "table3", "table9")
        ),
        *(rules.Contrast(table, "continual", "adjusted") for table in ("table2", "table3")),
    ],
    "unlearning2020": [
        rules.Contrast("table1", "tuned", "initial"),
        rules.Contrast("table2", "reversal", "tuned", "table1"),
        rules.Contrast("table3", "reversal", "tuned", "figure3"),
        rules.Contrast("table3", "reversal", "tuned", "figure4"),
    ],
}
TITLES = {"adjusting2020": "Adjusting et al. (2020): A", "unlearning2020": "Unlearning et al.: B"}


def write(path: Path, *lines: str, columns: tuple[str, ...] = MEASUREMENT_COLUMNS) -> Path:
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


def seeds(cell: str, *values: float, protocol: str = "published") -> list[str]:
    return [f"{cell},{value},{protocol},{seed},5010" for seed, value in enumerate(values, 1)]


def score(tmp_path: Path, *lines: str, comparable: bool = True) -> pd.DataFrame:
    measured = write(tmp_path / "measurements.csv", *lines)
    return compare([measured], papers(tmp_path), contrasts=CONTRASTS, comparable=comparable)


def papers(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / f"{name}.csv", *lines, columns=(*KEY, "value"))
        for name, lines in (("adjusting", ADJUSTING), ("unlearning", UNLEARNING))
    ]


def row_of(frame: pd.DataFrame, cell: str) -> dict[str, Any]:
    rows = frame[(frame[list(KEY)] == cell.split(",")).all(axis=1)]
    assert len(rows) == 1
    return {str(column): value for column, value in rows.iloc[0].items()}


# The rule


def test_every_reported_metric_has_a_tolerance_and_every_contrast_a_cell() -> None:
    contrasts = {
        paper: import_module(f"mbert_atlas.papers.{paper}.claims").CONTRASTS for paper in names()
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
    row = row_of(
        score(tmp_path, *seeds(ORIGINAL.format("es"), *values)),
        ORIGINAL.format("es"),
    )
    assert row["published_verdict"] == verdict
    assert row["corrected_verdict"] == rules.NOT_RUN
    assert row["published_mean"] == pytest.approx(np.mean(values))
    assert row["published_difference"] == pytest.approx(np.mean(values) - 74.2)
    assert row["published_n_seeds"] == len(values)
    assert row["published_n_items"] == 5010
    if len(values) > 1:
        assert row["published_std"] == pytest.approx(np.std(values, ddof=1))
    else:
        assert math.isnan(row["published_std"])


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(1.9, rules.REPRODUCED), (2.1, rules.DIRECTION_ONLY), (-0.1, rules.NOT_REPRODUCED)],
)
def test_verdict_of_a_gain(tmp_path: Path, value: float, verdict: str) -> None:
    assert row_of(score(tmp_path, *seeds(GAIN, value)), GAIN)["published_verdict"] == verdict


@pytest.mark.parametrize(
    ("metric", "reported", "measured", "verdict"),
    [
        ("n_items", 351340, 353000, rules.REPRODUCED),
        ("n_items", 351340, 356000, rules.NOT_REPRODUCED),
        ("minibatch", 16, 16, rules.REPRODUCED),
        ("minibatch", 16, 17, rules.NOT_REPRODUCED),
        ("encoder_lr", 1e-6, 1e-6, rules.REPRODUCED),
        ("encoder_lr", 1e-6, 1e-5, rules.NOT_REPRODUCED),
        ("v_measure_label", 22.8, 24.7, rules.REPRODUCED),
        ("convert_rate", 0.966, 0.93, rules.NOT_REPRODUCED),
    ],
)
def test_tolerances_are_those_of_the_metric(
    metric: str, reported: float, measured: float, verdict: str
) -> None:
    rule = rules.METRICS[metric]
    assert rules.value_verdict(reported, measured, math.nan, rule, signed=False) == verdict


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
    assert (
        rules.claim_verdict(
            0.6, ours, reported_significant=reported_star, measured_significant=our_star
        )
        == verdict
    )


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


def test_scorecard_file_keeps_numbers_and_is_the_same_twice(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 74.0, 74.5))
    write_csv(frame, tmp_path / "one.csv")
    write_csv(frame, tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    back = pd.read_csv(tmp_path / "one.csv", keep_default_na=False, na_values=[""])
    assert list(back.columns) == list(COLUMNS)
    assert np.allclose(back["reported"], frame["reported"], equal_nan=True)
    assert back["published_n_seeds"].max() == 2


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (seeds(ORIGINAL.format("es"), 1.0) * 2, "measurements.csv, line 3: .* already in .*line 2"),
        ([ORIGINAL.format("es") + ",high,published,1,2"], "line 2: 'high' is not a finite number"),
        ([ORIGINAL.format("es") + ",nan,published,1,2"], "line 2: 'nan' is not a finite number"),
        ([ORIGINAL.format("es") + ",1,publishd,1,2"], "line 2: unknown protocol 'publishd'"),
        ([ORIGINAL.format("es") + ",1,published,one,2"], r"line 2: 'one' is not .* \(seed\)"),
        ([ORIGINAL.format("es") + ",1,published,1,many"], r"line 2: 'many' is not .* \(n\)"),
        ([ORIGINAL.format("es") + ",1,published,1"], "line 2: the row has not 13 fields"),
        (
            [*seeds(ORIGINAL.format("es"), 1.0), ORIGINAL.format("es") + ",1,published,,2"],
            "line 3: the same cell has values with a seed and one without",
        ),
        (
            [ADJUSTED.format("es") + "_significant_vs_original,0.03,published,,2"],
            "line 2: significance '0.03'; write 0 or 1",
        ),
        (
            [ADJUSTED.format("es") + "_significant_vs_original,1,published,4,2"],
            "line 2: significance of the single seed 4",
        ),
        (
            [ADJUSTED.format("es") + "_significant_vs_continual,1,published,,2"],
            "line 2: no contrast of 'adjusted' with 'continual' is declared",
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
    strange = write(
        tmp_path / "paper.csv",
        ORIGINAL.format("es").replace("accuracy", "acuracy") + ",74.2",
        columns=(*KEY, "value"),
    )
    with pytest.raises(DataError, match=r"paper.csv, line 2: metric 'acuracy' has no tolerance"):
        compare([], [strange], contrasts={})
    with pytest.raises(DataError, match="already in"):
        compare([], papers(tmp_path)[:1] * 2, contrasts=CONTRASTS)


# Tables


def test_names() -> None:
    assert artifact_name("table2") == "Table 2"
    assert artifact_name("appendixA") == "Appendix A"
    assert artifact_name("section5.4") == "Section 5.4"
    assert artifact_name("wals_check") == "wals check"
    assert language("en+hi", NAMES) == "English + Hindi"
    assert language("zero_shot", NAMES) == "zero shot"


def test_table2_is_laid_out_as_in_the_paper(tmp_path: Path) -> None:
    frame = score(
        tmp_path,
        *seeds(ORIGINAL.format("es"), 74.0, 75.0),
        *seeds(ADJUSTED.format("es"), 74.5, 75.5),
        ADJUSTED.format("es") + "_significant_vs_original,1,published,,5010",
    )
    table2 = frame[(frame["paper"] == "adjusting2020") & (frame["artifact"] == "table2")]
    values, claims = lay_out(table2, Labels(NAMES, CONTRASTS["adjusting2020"]))
    assert values.columns == claims.columns == ["Spanish", "Russian", "Vietnamese", "Hindi"]
    assert values.common == {
        "task": "XNLI",
        "model": "mBERT",
        "source": "English",
        "metric": "accuracy",
    }
    assert values.row_facets == ["condition"]
    texts, cells = values.rows[1]
    assert texts == ["adjusted"]
    assert [cell.reported for cell in cells if cell] == ["74.82*", "69.45*", "70.88*", "61.54*"]
    assert [list(map(str, cell.ours.values())) for cell in cells if cell] == [
        ["75.00* ± 0.71"],
        [],
        [],
        [],
    ]
    assert values.protocols == ["published"]
    assert cells[0] is not None
    ours = cells[0].ours["published"]
    assert (ours.difference, ours.verdict) == ("+0.18", rules.REPRODUCED)
    assert "2 seeds" in ours.details
    assert claims.rows[0][0] == ["adjusted − original"]
    assert claims.rows[0][1][0] is not None
    assert str(claims.rows[0][1][0].ours["published"]) == "+0.50* ± 0.00"


def laid_out(frame: pd.DataFrame, paper: str, artifact: str) -> list[Table]:
    of_artifact = (frame["paper"] == paper) & (frame["artifact"] == artifact)
    return lay_out(frame[of_artifact], Labels(NAMES))


def test_protocols_share_a_row_and_may_agree(tmp_path: Path) -> None:
    lines = [*seeds(ORIGINAL.format("es"), 74.0), *seeds(ADJUSTED.format("es"), 75.0)]
    lines += [line.replace("published", "corrected") for line in lines]
    values = laid_out(score(tmp_path, *lines), "adjusting2020", "table2")[0]
    assert [texts for texts, _ in values.rows] == [["original"], ["adjusted"], ["continual"]]
    assert values.agrees
    assert values.protocols == ["published"]
    lines[-1] = lines[-1].replace("75.0", "76.0")
    values = laid_out(score(tmp_path, *lines), "adjusting2020", "table2")[0]
    assert values.protocols == ["published", "corrected"]


def test_many_languages_go_down_and_many_metrics_across(tmp_path: Path) -> None:
    cell = "adjusting2020,{},words,mbert,{},en,{},{},{}"
    lines = [
        f"{cell.format('figure1', condition, target, '', metric)},1.5,published,1,9"
        for condition in ("original", "adjusted", "nli")
        for target in ("ru", "hi")
        for metric in ("auc", "mean_ratio", "share", "distance")
    ]
    lines += [
        f"{cell.format('table6', condition, f'l{number}', layers, 'las')},1.5,published,1,9"
        for number in range(20)
        for layers, condition in (("", "ref"), ("1-2", "random_init"), ("3-4", "random_init"))
    ]
    frame = score(tmp_path, *lines)
    (figure,) = laid_out(frame, "adjusting2020", "figure1")
    assert figure.columns == ["AUC", "mean ratio", "share", "distance"]
    assert figure.row_facets == ["target", "condition"]
    assert len(figure.rows) == 6
    (table,) = laid_out(frame, "adjusting2020", "table6")
    assert table.columns == ["reference", "1-2, re-initialised", "3-4, re-initialised"]
    assert table.row_facets == ["target"]
    assert len(table.rows) == 20


def test_pages_begin_with_the_languages_that_were_run(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("hi"), 59.0))
    write_out(frame, "adjusting2020", "table2", tmp_path)
    page = read(tmp_path / "t.html")
    assert page.text.index("Hindi") < page.text.index("Spanish")
    assert "Spanish" in page.folded


def test_a_star_against_a_tested_condition_is_double() -> None:
    own = CONTRASTS["adjusting2020"]
    assert rules.star(own, "table3", "adjusted") == "*"
    assert rules.star(own, "table3", "continual") == "**"
    assert rules.star(CONTRASTS["unlearning2020"], "table2", "reversal") == "*"


def write_out(frame: pd.DataFrame, paper: str, artifact: str, folder: Path, **more: Any) -> None:
    write_tables(
        frame[(frame["paper"] == paper) & (frame["artifact"] == artifact)],
        title=artifact,
        labels=Labels(NAMES, CONTRASTS[paper]),
        csv_path=folder / "t.csv",
        html_path=folder / "t.html",
        comparable=True,
        **more,
    )


def test_facts_go_before_the_numbers(tmp_path: Path) -> None:
    pages = "adjusting2020,table1,wikipedia,mbert,,en,hi,,n_pages"
    frame = score(tmp_path, f"{pages},149000,published,,149000")
    facts = [{"language": "Hindi", "word order": "SOV"}]
    write_out(frame, "adjusting2020", "table1", tmp_path, facts=facts)
    text = (tmp_path / "t.html").read_text()
    assert text.index("<td>SOV</td>") < text.index("149,000") < text.index("150,000")


@pytest.mark.parametrize(("table", "own"), [("table1", True), ("table2", False), ("table3", False)])
def test_differences_to_another_table_are_only_in_the_scorecard(
    tmp_path: Path, table: str, own: bool
) -> None:
    frame = compare([], papers(tmp_path), contrasts=CONTRASTS)
    in_scorecard = frame[(frame["paper"] == "unlearning2020") & (frame["artifact"] == table)]
    assert (in_scorecard["kind"] == "claim").any()
    write_out(frame, "unlearning2020", table, tmp_path)
    assert (pd.read_csv(tmp_path / "t.csv")["kind"] == "claim").any() == own


def test_tables_are_written_for_people_and_programs(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("hi"), 59.0))
    write_out(frame, "adjusting2020", "table2", tmp_path)
    table = pd.read_csv(tmp_path / "t.csv", keep_default_na=False)
    assert table.columns[-4:].tolist() == ["Spanish", "Russian", "Vietnamese", "Hindi"]
    ours = table[table["version"] == "published"]
    assert ours["Hindi"].tolist() == ["59.00"]
    assert table["kind"].value_counts().to_dict() == {"value": 4, "claim": 2}
    page = read(tmp_path / "t.html")
    assert page.text.count("74.82*") == 1
    assert "not comparable to the papers" not in page.text
    with pytest.raises(AtlasError, match="table99: the scorecard has no such artifact"):
        write_out(frame, "adjusting2020", "table99", tmp_path)


# The page


class Page(HTMLParser):
    """Text, links and balance of an HTML page."""

    VOID = frozenset({"meta", "input", "br", "link", "img"})

    def __init__(self) -> None:
        super().__init__()
        self.text, self.open = "", list[str]()
        self.links, self.sources = list[str](), list[str]()
        self.folded = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "href":
                self.links.append(str(value))
            elif name == "src":
                self.sources.append(str(value))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self.open):
            self.text += data
            if "details" in self.open and "summary" not in self.open:
                self.folded += data


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert not page.open
    return page


def render(frame: pd.DataFrame, tmp_path: Path, comparable: bool = True, **more: Any) -> Page:
    output = tmp_path / "run" / "scorecard.html"
    options: dict[str, Any] = {
        "setting": Setting("demo <1>", comparable, names=NAMES),
        "provenance": {"commit": "abc & def"},
        "titles": TITLES,
        "contrasts": CONTRASTS,
    }
    write_page(frame, output, **(options | more))
    return read(output)


def test_the_page_shows_why_an_artifact_was_not_run(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 74.0, 74.5))
    paper, artifact = frame[frame["published_mean"].isna()][["paper", "artifact"]].iloc[-1]
    path = tmp_path / "not_run.csv"
    write_reasons([(paper, artifact, "XNLI is <gone>."), ("x", "y", "Why.")], path)
    assert "XNLI is <gone>." in render(frame, tmp_path, reasons=read_reasons(path)).text
    assert "XNLI is" not in render(frame, tmp_path).text


def test_page_of_a_comparable_run(tmp_path: Path) -> None:
    frame = score(
        tmp_path,
        *seeds(ORIGINAL.format("es"), 74.0, 74.5),
        *seeds(ORIGINAL.format("hi"), 65.0, 65.5),
        ADJUSTED.format("es") + "_p_value_vs_original,0.0123,published,,5010",
    )
    page = render(
        frame,
        tmp_path,
        figures=[
            FigureLink(
                "adjusting2020", "figure1", "Hindi, published", tmp_path / "run" / "f" / "1.svg"
            )
        ],
    )
    assert "not comparable to the papers" not in page.text
    assert "demo <1>" in page.text
    assert "abc & def" in page.text
    for paragraph in rules.RULE:
        assert paragraph in page.text
    assert TITLES["adjusting2020"] in page.text
    assert "74.25" in page.text
    assert "0.0123" in page.folded
    assert "± 0.35" in page.text
    assert "✓ reproduced" in page.text
    assert "✗ not reproduced" in page.text
    assert "f/1.svg" in page.links
    assert "Spanish" in page.text
    assert "Table 3" in page.text
    assert "73.28" in page.folded  # Table 3 was not run
    assert page.text.count("73.28") == page.folded.count("73.28")
    assert page.text.count("67.95") == page.folded.count("67.95")  # Russian was not run


def test_page_needs_no_network_and_warns_if_not_comparable(tmp_path: Path) -> None:
    frame = score(tmp_path, *seeds(ORIGINAL.format("es"), 40.0), comparable=False)
    page = render(frame, tmp_path, comparable=False)
    assert "These numbers are not comparable to the papers'." in page.text
    assert "not comparable to the papers" not in page.folded
    assert not page.sources
    assert all(
        link.startswith(("#", "index.html", "papers/", "scorecard.csv")) for link in page.links
    )
    assert "≁ not comparable" in page.text
    again = render(frame, tmp_path, comparable=False)
    assert again.text == page.text


def test_page_of_a_run_that_measured_nothing(tmp_path: Path) -> None:
    page = render(compare([], papers(tmp_path), contrasts=CONTRASTS), tmp_path)
    assert "All reported cells that were run" not in page.text
    assert "Not run: Table 1" in page.text


# Cost

HEADER = [
    *("s", "h:m:s", "max_rss", "max_vms", "max_uss", "max_pss"),
    *("io_in", "io_out", "mean_load", "cpu_time"),
]
RULES = {
    "finetune": {"stage": "training"},
    "extract": {"stage": "corpora"},
    "scores": {"stage": "analysis", "paper": "adjusting2020"},
}


def benchmark(path: Path, *rows: dict[str, object], extra: tuple[str, ...] = ()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = [*HEADER, *extra]
    lines = [[str(row.get(column, "1.00")) for column in header] for row in rows]
    path.write_text("".join("\t".join(line) + "\n" for line in [header, *lines]))
    return path


def test_cost_by_paper_and_stage(tmp_path: Path) -> None:
    files = [
        benchmark(
            tmp_path / "finetune" / "nli-hi.published" / "seed1.tsv",
            {"s": 3600, "max_rss": 900.5, "cpu_time": 7200},
        ),
        benchmark(
            tmp_path / "finetune" / "nli-hi.published" / "seed2.tsv",
            {"s": 1800, "max_rss": 1000, "cpu_time": 1800, "wildcards": "{'a': 'b\"'}"},
            extra=("jobid", "wildcards"),
        ),
        benchmark(
            tmp_path / "extract" / "hi.tsv",
            {"s": 36, "max_rss": "NA", "cpu_time": "NA"},
            {"s": 36, "max_rss": 50, "cpu_time": 18},
        ),
        benchmark(tmp_path / "scores" / "x.tsv", {"s": 360, "max_rss": "-", "cpu_time": 36}),
    ]
    log = tmp_path / "logs" / "finetune" / "nli-hi.published" / "seed1.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"INFO root: {GPU_NOTE.format(count=2)}\nINFO root: done in 3600.0 s\n")
    log.with_name("seed2.log").write_text("INFO root: done in 1800.0 s\n")
    frame = collect_cost(
        files,
        root=tmp_path,
        logs=tmp_path / "logs",
        rules=RULES,
        papers={"nli-hi.published": "adjusting2020"},
    )
    by = {(row.paper, row.stage): row for row in frame.itertuples()}
    training = by["adjusting2020", "training"]
    assert (training.jobs, training.wall_hours, training.cpu_hours) == (2, 1.5, 2.5)
    assert (training.gpu_hours, training.peak_memory_mb) == (2.0, 1000)
    corpora = by["shared", "corpora"]
    assert (corpora.jobs, corpora.jobs_without_reading, corpora.gpu_hours) == (2, 1, 0)
    assert corpora.wall_hours == pytest.approx(0.02)
    assert corpora.cpu_hours == pytest.approx(0.005)
    assert corpora.peak_memory_mb == 50
    assert math.isnan(by["adjusting2020", "analysis"].peak_memory_mb)
    write_csv(frame, tmp_path / "cost.csv")
    assert len(pd.read_csv(tmp_path / "cost.csv")) == 3


def test_a_run_id_with_dots_may_be_the_file_name(tmp_path: Path) -> None:
    path = benchmark(tmp_path / "finetune" / "nli-hi.published.tsv", {"s": 3600})
    frame = collect_cost(
        [path], root=tmp_path, logs=tmp_path / "logs", rules=RULES, papers={"nli-hi.published": "p"}
    )
    assert frame["paper"].tolist() == ["p"]


def test_cost_of_nothing_is_an_empty_table(tmp_path: Path) -> None:
    assert collect_cost([], root=tmp_path, logs=tmp_path / "logs", rules=RULES, papers={}).empty


def test_bad_benchmarks_are_named(tmp_path: Path) -> None:
    unknown = benchmark(tmp_path / "brew" / "tea.tsv", {})
    with pytest.raises(AtlasError, match="rule 'brew' has no stage"):
        collect_cost([unknown], root=tmp_path, logs=tmp_path / "logs", rules=RULES, papers={})
    for value in ("NA", "soon"):
        bad = benchmark(tmp_path / "extract" / "bad.tsv", {"s": 1}, {"s": value})
        with pytest.raises(DataError, match=r"bad.tsv, line 3: the running time is missing"):
            collect_cost([bad], root=tmp_path, logs=tmp_path / "logs", rules=RULES, papers={})
    (tmp_path / "extract" / "other.tsv").write_text("a\tb\n")
    with pytest.raises(DataError, match="line 1: no column s, max_rss, cpu_time"):
        collect_cost(
            [tmp_path / "extract" / "other.tsv"],
            root=tmp_path,
            logs=tmp_path / "logs",
            rules=RULES,
            papers={},
        )


@pytest.mark.parametrize(
    ("artifact", "name", "title"),
    [
        ("figure1", "figure1.de.published.svg", "Figure 1, German, published"),
        ("table1", "table1_udpos.svg", "Table 1, UDPOS"),
        ("figure6a", "figure6a.svg", "Figure 6a"),
    ],
)
def test_a_figure_is_named_after_its_file(artifact: str, name: str, title: str) -> None:
    figure = {"paper": "toy2020", "artifact": artifact, "path": name}
    assert figure_links([figure], {"de": "German"})[0].title == title


def test_zero_has_no_minus() -> None:
    assert signed(-0.3, 0, "difference") == "+0"
    assert signed(-0.3, 0, "level") == "0"
    assert rules.printed(-0.001, "accuracy_minus_original") == "+0.00"
