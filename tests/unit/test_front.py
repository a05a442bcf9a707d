"""The page to start from states what was run and found; tables of claims sort and filter."""

import html
import re
from pathlib import Path

import pandas as pd
import pytest
from axe import check, dom, needs_axe, needs_chromium
from test_scorecard_pages import read
from toy_results import PAPER, finished_run
from toy_scorecard import ADJUSTED, CONTINUAL, CONTRASTS, NAMES, ORIGINAL, TITLES, score, seeds

from mbert_atlas.files import write_json
from mbert_atlas.scorecard.counts import count_discoveries, count_verdicts, finding
from mbert_atlas.scorecard.front import write_claims, write_index
from mbert_atlas.scorecard.interactive import write_library
from mbert_atlas.scorecard.pages import write_page
from mbert_atlas.scorecard.tables import write_alignment_page, write_tables
from mbert_atlas.scorecard.templates import Labels, Setting
from mbert_atlas.scorecard.verdicts import (
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    IN_CONTROL,
    NOT_APPLICABLE,
    NOT_RUN,
    UNDECIDED,
    read_verdicts,
)
from mbert_atlas.scorecard.views import unit

TOY = Setting("demo", False, "on <truncated> data", {"ru": "Russian"})


def judged(corrected: list[str], published: list[str], headline: str = "yes") -> pd.DataFrame:
    """Headline claims with these verdicts, one that is none and was not run, and a control.

    Protocols with the same verdict have the same numbers.
    """
    protocols = {"corrected": [*corrected, NOT_RUN], "published": [*published, NOT_RUN]}
    rows = [
        (f"claim{n}", protocol, verdict, headline if n < len(corrected) else "")
        for protocol, verdicts in protocols.items()
        for n, verdict in enumerate(verdicts)
    ]
    rows += [("control", protocol, HOLDS, "") for protocol in protocols]
    frame = pd.DataFrame(rows, columns=["id", "protocol", "verdict", "headline"])
    same = frame.groupby("id")["verdict"].transform("nunique") == 1
    frame = frame.assign(
        control_for="", in_control="", same_numbers=same.map({True: "yes"}), q=0.01, reported=1.0
    )
    frame.loc[frame["id"] == "control", "control_for"] = "claim0"
    frame[["reported_here", "effect", "low", "high"]] = float("nan")
    return frame.fillna({"same_numbers": ""})


@pytest.mark.parametrize(
    ("corrected", "published", "sentence"),
    [
        (
            [HOLDS, HOLDS, HOLDS, DOES_NOT_HOLD, UNDECIDED],
            [HOLDS, HOLDS, HOLDS, DOES_NOT_HOLD, UNDECIDED],
            "Under both protocols: of 5 headline claims 3 hold, 1 does not hold and 1 is"
            " undecided.",
        ),
        (
            [HOLDS, UNDECIDED],
            [UNDECIDED, HOLDS],  # as many, but others
            "Published: of 2 headline claims 1 holds and 1 is undecided; none"
            " fails.\n"
            "Corrected: of 2 headline claims 1 holds and 1 is undecided; none"
            " fails.",
        ),
        (
            [HOLDS, HOLDS_SO_FAR, HOLDS_SO_FAR, FAILS_SO_FAR],
            [HOLDS, HOLDS_SO_FAR, UNDECIDED, UNDECIDED],
            "Published: of 4 headline claims 1 holds, 1 holds so far and 2 are undecided; none"
            " fails.\n"
            "Corrected: of 4 headline claims 1 holds, 2 hold so far and 1 does not hold so far.",
        ),
        (
            [UNDECIDED] * 3,
            [NOT_APPLICABLE, NOT_RUN, NOT_RUN],
            "Published: of 3 headline claims 1 is not applicable and 2 were not run; nothing"
            " holds or fails here.\n"
            "Corrected: of 3 headline claims all are undecided; nothing holds or fails here.",
        ),
        (
            [DOES_NOT_HOLD] * 2,
            [NOT_RUN] * 2,
            "Published: of 2 headline claims none was run.\n"
            "Corrected: of 2 headline claims none holds.",
        ),
        (
            [HOLDS],
            [HOLDS],
            "Under both protocols: of 1 headline claim 1 holds; none fails.",
        ),
        ([NOT_RUN] * 2, [NOT_RUN] * 2, "None of 2 headline claims was run."),
    ],
)
def test_a_line_a_protocol_counts_headline_claims(
    corrected: list[str], published: list[str], sentence: str
) -> None:
    assert finding(judged(corrected, published)) == sentence


def test_other_claims_that_hold_or_do_not_are_counted_after_them() -> None:
    claims = judged([HOLDS, HOLDS, DOES_NOT_HOLD, UNDECIDED], [HOLDS] * 4)
    claims.loc[claims["id"] != "claim0", "headline"] = ""
    assert finding(claims) == (
        "Published: of 1 headline claim 1 holds; of 4 others 3 hold and 1 was not run; none"
        " fails.\n"
        "Corrected: of 1 headline claim 1 holds; of 4 others 1 holds, 1 does not hold, 1 is"
        " undecided and 1 was not run."
    )
    claims["verdict"] = HOLDS
    line = "Under both protocols: of 1 headline claim 1 holds; of 4 others {}; none fails."
    assert finding(claims) == line.format("4 hold")
    claims.loc[claims["headline"] == "", "verdict"] = UNDECIDED
    claims.loc[claims["headline"] == "yes", "reported"] = float("nan")
    line = line.format("none is decided")
    assert finding(claims) == f"{line}\nThe paper has no number for the headline claim."


def test_sizes_are_those_of_effects_with_an_interval_next_to_the_papers() -> None:
    claims = judged([HOLDS] * 7, [HOLDS] * 7)
    names = ["effect", "low", "high", "reported_here"]
    rows = [  # as in the paper; neither it nor zero excluded; larger; smaller; with the other sign
        (2.0, 1.0, 3.0, 1.5),
        (0.5, -1.0, 2.0, 1.5),
        (-4.0, -5.0, -3.0, -2.0),
        (1.0, -0.5, 2.5, 9.0),
        (-2.0, -3.0, -1.0, 1.0),
        (2.0, 2.0, 2.0, 5.0),  # no interval
        (2.0, 1.0, 3.0, float("nan")),  # no number in the paper
    ]
    for place, numbers in enumerate(rows):
        claims.loc[claims["id"] == f"claim{place}", names] = numbers
    claims.loc[claims["protocol"] == "published", names] = 1.0, 0.5, 2.0, 1.0
    claims.loc[claims["id"] == "control", names] = 1.0, 0.5, 2.0, 1.0
    assert finding(claims).splitlines()[-1] == (
        "Size (corrected): 5 of 6 judged effects have a number in the paper for the same case; 1"
        " agrees within our interval, 1 is uncertain (zero lies in the interval, too), 1 is larger,"
        " 1 is smaller and 1 is of the other sign."
    )


def test_weak_verdicts_and_those_of_a_control_are_counted_apart() -> None:
    claims = judged([HOLDS, HOLDS, HOLDS], [HOLDS, UNDECIDED, HOLDS])
    claims.loc[(claims["id"] == "claim1") & (claims["verdict"] == HOLDS), "verdict"] = IN_CONTROL
    claims.loc[claims["id"] == "claim2", "q"] = 0.06
    assert finding(claims) == (
        "Published: of 3 headline claims 2 hold (1 weak) and 1 is undecided; none fails.\n"
        "Corrected: of 3 headline claims 2 hold (1 weak) and 1 is also seen in a control; none"
        " fails."
    )
    claims["q"] = 0.06
    claims["verdict"] = HOLDS
    assert "Under both protocols: of 3 headline claims 3 hold (3 weak)" in finding(claims)
    claims.loc[(claims["id"] == "claim0") & (claims["protocol"] == "published"), "q"] = 0.01
    assert "Published: of 3 headline claims 3 hold (2 weak)" in finding(claims)


def test_verdicts_count_once_where_protocols_share_numbers() -> None:
    claims = judged([HOLDS, HOLDS_SO_FAR, DOES_NOT_HOLD], [HOLDS, HOLDS, DOES_NOT_HOLD])
    counts = count_verdicts(claims)
    used = {name: {key: n for key, n in some.items() if n} for name, some in counts.items()}
    assert used == {
        "published": {HOLDS: 1},
        "corrected": {HOLDS: 1, HOLDS_SO_FAR: 1, DOES_NOT_HOLD: 1, NOT_RUN: 1},
    }
    levels = claims.assign(q=[0.01, 0.2] * (len(claims) // 2))
    assert sum(count_verdicts(claims, once=False)["published"].values()) == 4
    assert count_discoveries(levels) == (3, 2)


def test_without_headline_claims_the_sentence_is_about_all() -> None:
    claims = judged([HOLDS, HOLDS], [HOLDS, HOLDS], headline="")
    text = "Under both protocols: of 3 claims 2 hold and 1 was not run; none fails."
    assert finding(claims) == text


@pytest.mark.parametrize(
    ("metrics", "effect_of", "text"),
    [
        ("accuracy", "difference", "points (accuracy)"),
        ("accuracy", "level", "% (accuracy)"),
        ("las accuracy f1", "difference", "points (LAS; accuracy; F1)"),
        ("gain_over_original", "difference", "points (gain over the original)"),
        ("cka_percent", "difference", "points (CKA)"),
        ("separation_auc", "difference", "(separation AUC)"),
        ("accuracy separation_auc", "difference", "(accuracy; separation AUC)"),
    ],
)
def test_effects_have_a_unit(metrics: str, effect_of: str, text: str) -> None:
    assert unit(metrics, effect_of) == text


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finished_run(tmp_path / "demo", {"ru": 10, "hi": -10})


def test_the_index_starts_with_what_was_run_and_found(run: Path) -> None:
    text = (run / "index.html").read_text("utf-8")
    page = read(run / "index.html")
    facts = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text, re.DOTALL))
    assert "test 2 of the 4 claims" in facts["what was run"]
    assert facts["data"].startswith('2 languages in all, from XNLI; <a href="#data">')
    assert facts["xnli"] == "XNLI (CC BY-NC 4.0); xnli.zip"
    assert facts["how long"].startswith("0.5 hours if all jobs ran one after the other, 1.5 C")
    encoders = facts["encoders"].split("\n")
    assert encoders[0] == "folder e5 (“mbert” in the config)"
    assert re.fullmatch(r"here, .*384.* \(“trimmed” in the config\)", encoders[1])
    assert re.fullmatch(r"\d\d \w+ 20\d\d", facts["when"])
    assert facts["version"].startswith("mbert-atlas ")
    assert facts["comparable with the papers"].startswith(
        "<strong>No</strong>: results are on &lt;"
    )
    found = "of 3 headline claims 1 holds, 1 does not hold and 1 was not run"
    assert found in page.text
    assert "2 claims that were not run, among them 1 headline claim" in text
    glance, _, rest = text.partition("</table>")
    cells = re.findall(r'<td class="number">(.*?)</td>', glance)
    assert cells == ["1", "1", "1"] * 2  # of the paper, of all; the protocols share numbers
    lists, _, rest = rest.partition('<ul class="soft">')
    named = re.findall(r'<span class="verdict v-([\w-]+)">|<a href="#toy2020">(.*?)</a>', lists)
    assert [verdict or html.unescape(claim) for verdict, claim in named] == [
        *("holds", "Adjustment helps <Russian>.", "does-not-hold", "Adjustment helps Hindi.")
    ]
    assert "effect: adjusted − original" in rest
    rows = [row.split("</tr>")[0] for row in rest.split("<tr>")[2:]]
    assert all("encoders of Table 1: mbert</span>" in row for row in rows)  # another table has more
    assert [re.findall(r"Adjustment helps [^.]*|Replay helps", row) for row in rows] == [
        *(["Adjustment helps &lt;Russian&gt;"], ["Adjustment helps Hindi"])
    ]
    assert rows[0].count("✓ holds") == rows[1].count("✗ does not hold") == 1  # of both protocols
    assert rows[0].count("<svg") == 1
    assert re.search(r"\+10\.0 \[\+[\d.]+, \+1[\d.]+\] points \(accuracy\)<", rows[0])
    assert ">1 of 1 case, 5000 items, 2 seeds</span>" in rows[0]
    assert all('<span class="soft">expected: positive</span>' in row for row in rows)
    assert f'href="papers/{PAPER}.html#table1"><img src="figures/{PAPER}/table1.png"' in rows[0]
    for claim in ("Replay helps.", "Nobody runs this."):
        assert page.folded.count(claim) == page.text.count(claim) == 1
    assert 'href="measurements/"' in text


def test_totals_of_the_published_protocol_are_in_brackets(run: Path) -> None:
    claims = read_verdicts(run / "claims.csv")
    holds = (claims["protocol"] == "published") & (claims["verdict"] == HOLDS)
    claims.loc[holds, ["verdict", "same_numbers"]] = [UNDECIDED, ""]
    shown = {"titles": {PAPER: "Toy et al. (2020)"}, "figures": [], "links": {}, "root": run}
    write_index(claims, run / "index.html", setting=TOY, **shown)
    glance = (run / "index.html").read_text("utf-8").partition("</table>")[0]
    cells = re.findall(r'<td class="number">(.*?)</td>', glance)
    assert cells == ["1 (0)", "1", "0 (1)", "1"] * 2  # of the paper, of all


def pages(run: Path) -> list[Path]:
    """All kinds of pages, in a results folder with the library."""
    write_library(run / "assets/datatables.js", run / "assets/datatables.css")
    claims = read_verdicts(run / "claims.csv")
    write_claims(claims, run / "claims.html", setting=TOY, library=run / "assets")
    cells = [cell.format(code) for cell in (ORIGINAL, ADJUSTED, CONTINUAL) for code in ("es", "hi")]
    frame = score(run, *(line for cell in cells for line in seeds(cell, 74.0, 75.0)))
    common = {"setting": TOY, "library": run / "assets"}
    write_page(frame, run / "scorecard.html", **common, titles=TITLES, contrasts=CONTRASTS)
    write_tables(
        frame[(frame["paper"] == "adjusting2020") & (frame["artifact"] == "table2")],
        title="Table 2",
        labels=Labels(NAMES, CONTRASTS["adjusting2020"]),
        csv_path=run / "tables/toy/table2.csv",
        html_path=run / "tables/toy/table2.html",
        **common,
    )
    card = {"aligner": "builtin", "version": "1", "symmetrisation": "union", "dropped": {}}
    write_json(card, run / "ru.json")
    write_alignment_page({("bitext", "ru", ""): run / "ru.json"}, NAMES, run / "alignment.html")
    names = ["index.html", "claims.html", "scorecard.html", "alignment.html"]
    return [run / name for name in [*names, f"papers/{PAPER}.html", "tables/toy/table2.html"]]


def test_tables_of_claims_and_cells_share_one_copy_of_the_library(run: Path) -> None:
    shared = [page for page in pages(run) if "<script" in page.read_text("utf-8")]
    assert [page.name for page in shared] == ["claims.html", "scorecard.html", "table2.html"]
    for page in shared:
        text = page.read_text("utf-8")
        files = re.findall(r'(?:href|src)="([^"]*datatables[^"]*)"', text)
        assert len(files) == 2
        assert all((page.parent / file).is_file() for file in files)
        assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL) == [""]
    assert not re.search(r"\bexport\{", (run / "assets/datatables.js").read_text("utf-8"))
    claims = html.unescape((run / "claims.html").read_text("utf-8"))
    assert claims.count("Adjustment helps <Russian>.") == 1  # the protocols share numbers
    assert claims.count('<td data-name="protocol">both</td>') == 2
    assert "2 claims that were not run" in claims


@needs_chromium
def test_tables_sort_and_filter_in_a_browser_that_reads_files(run: Path) -> None:
    *_, table = pages(run)
    for page, columns in ((run / "claims.html", 13), (table, 3)):
        text = dom(page)
        assert 'type="search"' in text
        assert text.count('aria-label="Sort by this column"') == columns
        assert text.count('aria-label="Filter by this column"') == columns


@needs_axe
@pytest.mark.parametrize(("width", "dark"), [(1280, True), (500, False)])
def test_pages_pass_an_accessibility_check(run: Path, width: int, dark: bool) -> None:
    """Contrast, labels, order of focus and the rest; Chromium has no window below 500 pixels."""
    for page in pages(run):
        found = check(page, width=width, dark=dark)
        assert found["wrong"] == [], page.name
        assert found["passed"] > 20
        assert found["size"][1] <= width, page.name
