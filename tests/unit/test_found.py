"""docs/found.md: its numbers are those of the published runs."""

import re

import pandas as pd
from configs import ROOT

PAGE = (ROOT / "docs/found.md").read_text(encoding="utf-8")
RUNS = [ROOT / "docs/results/small", ROOT / "docs/results/night"]  # the later has more seeds
# "+26.1 [+22.6, +29.7]", also over a line break.
EFFECT = re.compile(r"[−+]?\d+(?:\.\d+)? \[[−+]?\d+(?:\.\d+)?, [−+]?\d+(?:\.\d+)?\]")
COLUMNS = [
    ["holds", "holds so far"],
    ["does not hold", "does not hold so far"],
    ["undecided", "also in a control"],
    ["not applicable", "too few seeds"],
    ["not run"],
]


def test_effects_are_those_of_the_paper_that_the_section_is_about() -> None:
    sections = _sections(PAGE)
    of_paper: dict[str, str] = {}
    for run in RUNS:
        of_paper |= _sections((run / "README.md").read_text(encoding="utf-8"))
    assert sections.keys() == of_paper.keys()
    for paper, section in sections.items():
        effects = EFFECT.findall(" ".join(section.split()))
        assert len(effects) >= 3
        rows = (line.split("|") for line in of_paper[paper].splitlines() if "|" in line)
        corrected = " ".join(row[4] for row in rows)
        assert [effect for effect in effects if effect not in corrected] == []


def _sections(text: str) -> dict[str, str]:
    return dict(re.findall(r"^## (\w+)(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))


def test_the_comparison_has_the_claims_of_all_published_runs() -> None:
    compared = pd.read_csv(ROOT / "docs/results/compared/claims.csv")
    published = {path.parent.name: path for path in (ROOT / "docs/results").glob("*/claims.csv")}
    del published["compared"]
    assert compared["run"].unique().tolist() == sorted(published)
    for run, file in published.items():
        columns = ["paper", "id", "protocol", "verdict", "effect"]
        known, of_run = pd.read_csv(file)[columns], compared[compared["run"] == run][columns]
        is_known = of_run["paper"].isin(known["paper"])
        assert (of_run.loc[~is_known, "verdict"] == "not run").all()
        of_run = of_run[is_known].reset_index(drop=True)
        pd.testing.assert_frame_equal(of_run, known, check_dtype=False)


def test_counts_are_those_of_the_published_claims() -> None:
    rows = {}
    for run in RUNS:
        claims = pd.read_csv(run / "claims.csv")
        claims = claims[(claims["protocol"] == "corrected") & claims["control_for"].isna()]
        for paper, of_paper in claims.groupby("paper"):
            counts = of_paper["verdict"].value_counts()
            row = [str(sum(counts.get(name, 0) for name in names)) for names in COLUMNS]
            rows[paper] = f"| {paper}{' (night)' * (run.name == 'night')} | {' | '.join(row)} |"
    assert [row for row in rows.values() if row not in PAGE] == []


def test_no_id_of_a_published_page_occurs_twice() -> None:
    for page in sorted((ROOT / "docs/results").glob("**/*.html")):
        ids = re.findall(r'\sid="([^"]+)"', page.read_text(encoding="utf-8"))
        assert len(ids) == len(set(ids)), page
