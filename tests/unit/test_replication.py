"""The replication pages and the index are complete and need no other file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe import check, needs_axe
from configs import ROOT
from toy_claims import claim
from toy_scorecard import write

from mbert_atlas import papers
from mbert_atlas.files import read_json, write_json
from mbert_atlas.scorecard.cells import KEY
from mbert_atlas.scorecard.claims import Claims
from mbert_atlas.scorecard.compare import compare
from mbert_atlas.scorecard.cost import COLUMNS as COST_COLUMNS
from mbert_atlas.scorecard.coverage import coverage_of
from mbert_atlas.scorecard.front import write_index
from mbert_atlas.scorecard.pages import write_replication
from mbert_atlas.scorecard.prose import bullets, table_rows
from mbert_atlas.scorecard.templates import FigureLink, Setting, expected_extreme
from mbert_atlas.scorecard.verdicts import DECIDED, IN_CONTROL, UNDECIDED, verdicts
from mbert_atlas.scorecard.views import claim_views

PNG = bytes.fromhex("89504e470d0a1a0a")
CELL = "toy2020,table1,nli,mbert,{},en,ru,,accuracy"
WORLD = Setting("demo", False, "on synthetic data", {"ru": "Russian"})
PROSE = """\
# toy2020

## The two protocols

| | published | corrected |
| --- | --- | --- |
| loss | **mean** | sum, as `Eq. 1` |

## Deviations and choices

- Words of 1 < 2 pieces, see
  [the config](../config.md).
- Seeds are *ours*.

```
- no entry
```

## Cost
- another list
"""


@pytest.fixture
def measurements(tmp_path: Path) -> Path:
    lines = [
        f"{CELL.format(condition)},{value},{protocol},{seed},5000"
        for condition, value in (("original", 50), ("adjusted", 60))
        for protocol in ("published", "corrected")
        for seed in (1, 2)
    ]
    return write(tmp_path / "measurements.csv", *lines)


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    rows = [f"{CELL.format('original')},70", f"{CELL.format('adjusted')},69"]
    return write(tmp_path / "reported.csv", *rows, columns=(*KEY, "value"))


@pytest.fixture
def claims(measurements: Path, reported: Path) -> pd.DataFrame:
    never = {"plus": {"condition": "replayed"}, "minus": {"condition": "original"}}
    better = claim(note="Read <generously>.")
    stated = Claims(claims={"better": better, "never": claim(claim="So.", effect=never)})
    return verdicts({"toy2020": stated}, [measurements], [reported], languages=["en", "ru"])


@pytest.fixture
def figure(tmp_path: Path) -> FigureLink:
    path = tmp_path / "run/figures/toy2020/table1.svg"
    path.parent.mkdir(parents=True)
    path.write_text("<svg>" + 100 * " " + "</svg>")
    path.with_suffix(".png").write_bytes(PNG)
    path.with_suffix(".caption.txt").write_text("Accuracy < 1. n = 9. 2 seeds.\n")
    return FigureLink("toy2020", "table1", "table1", path)


@pytest.fixture
def page_of(
    tmp_path: Path, claims: pd.DataFrame, measurements: Path, reported: Path, figure: FigureLink
) -> Callable[[Setting], str]:
    output = tmp_path / "run/papers/toy2020.html"
    cost = [("toy2020", "training", 3, 0.5, 1.5, 0.0, 900.0, 0), ("other", "x", 9, 9, 9, 9, 9, 9)]

    def written(
        setting: Setting, cards: Path | None = None, figures: Sequence[FigureLink] = ()
    ) -> str:
        write_replication(
            claims,
            output,
            paper="toy2020",
            title="Toy et al. (2020)",
            setting=setting,
            scorecard=compare([measurements], [reported], contrasts={}, comparable=False),
            contrasts=[],
            artifacts=["table1"],
            figures=figures or [figure],
            prose=PROSE,
            cost=pd.DataFrame(cost, columns=list(COST_COLUMNS)),
            cards=cards,
        )
        return output.read_text(encoding="utf-8")

    return written


def shares(unknown: float, subwords: float) -> dict[str, float]:
    return {"unknown": unknown, "subwords_per_word": subwords}


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    coverage = {
        "trees": {"task": "tagging", "languages": {"ru": shares(0.0, 1.5), "hi": shares(0, 2)}},
        "more": {"task": "ner", "languages": {"ru": shares(0.002, 1.6123)}},
        "texts": {"task": "nli", "languages": {"ru": shares(0.01, 40), "th": shares(0.05, 30)}},
        "others": {"task": "tagging", "languages": {"ja": shares(0.9, 1)}},
    }
    path = tmp_path / "run/encoders.card.json"
    path.parent.mkdir(exist_ok=True)
    little = {"origin": "folder little", "coverage": {"texts": coverage["texts"]}}
    write_json({"mbert": {"origin": "ORG/E at 1", "coverage": coverage}, "little": little}, path)
    return path


@pytest.fixture
def encoded() -> Setting:
    """A record of artifacts of two papers, none of which the page shows."""
    artifacts = {
        "toy2020/table8": {"encoded": {"mbert": ["texts", "trees"]}},
        "toy2020/table9": {"encoded": {"mbert": ["more", "older"]}},
        "other2020/table1": {"encoded": {"mbert": ["others"], "little": ["texts"]}},
    }
    return replace(WORLD, record={"artifacts": artifacts})


def test_subwords_of_a_paper_are_those_of_its_datasets(cards: Path, encoded: Setting) -> None:
    (mbert,) = coverage_of(read_json(cards), "toy2020", encoded)
    assert (mbert.encoder, mbert.origin) == ("mbert", "ORG/E at 1")
    rows = [
        (it.language, it.unknown, it.dataset, it.subwords_per_word, it.of_texts)
        for it in mbert.languages
    ]
    assert rows == [
        ("Russian", 0.01, "texts", "1.50–1.61", False),
        ("hi", 0, "trees", "2.00", False),
        ("th", 0.05, "texts", "30.00", True),
    ]
    everything = {"th", "Russian", "hi"}
    assert mbert.above(0.05, everything) == []
    assert [item.language for item in mbert.above(0.005, everything)] == ["th", "Russian"]
    assert [item.language for item in mbert.above(0.005, {"Russian", "hi"})] == ["Russian"]
    both = coverage_of(read_json(cards), "other2020", encoded)
    assert [item.encoder for item in both] == ["little", "mbert"]
    assert coverage_of(read_json(cards), "third2020", encoded) == []


def test_a_page_says_above_5_percent_that_subwords_are_unknown(
    page_of: Callable[..., str], cards: Path, encoded: Setting
) -> None:
    assert "Subwords by language" not in page_of(WORLD)
    page = page_of(WORLD, cards)  # nothing is encoded for it
    assert "Subwords by language" not in page
    content = read_json(cards)
    for share, has_sentence in ((0.05, False), (0.051, True)):
        content["mbert"]["coverage"]["texts"]["languages"]["ru"] = shares(share, 30)
        content["mbert"]["coverage"]["texts"]["languages"]["th"] = shares(0.9, 30)  # no result
        write_json(content, cards)
        page = page_of(encoded, cards)
        assert ("of the subwords 5% are unknown in Russian (" in page) == has_sentence
        assert f"{100 * share:.1f}%" in page
        assert page.count("⚠ The tokenizer of mbert lacks a language") == has_sentence
    assert '<td class="number">1.50–1.61</td>' in page
    assert '<a href="../encoders.card.json">' in page


def test_a_level_has_no_plus_sign(measurements: Path, reported: Path) -> None:
    level = claim(effect={"plus": {"condition": "adjusted"}})
    stated = Claims(claims={"level": level, "gain": claim()})
    frame = verdicts({"toy2020": stated}, [measurements], [reported], languages=["en", "ru"])
    texts = {view.row["id"]: view.outcomes[0].effect for view in claim_views(frame, WORLD)}
    assert texts["level"].startswith("60.0 [5")
    assert texts["gain"].startswith("+10.0 [+")


def test_a_page_holds_claims_figure_numbers_deviations_and_cost(
    page_of: Callable[[Setting], str],
) -> None:
    page = page_of(WORLD)
    assert page.count("Adjustment helps.") >= 3  # table, section, mark
    assert page.count("✓ holds</span> under both protocols") == 1
    assert page.count("+10.0 [+") == 2  # also in short
    assert page.count('<span class="soft">the paper: −1.00</span>') == 1
    folded = page.partition("<summary>1 claim that was not run</summary>")[2]
    assert '<li id="never">So. ' in folded.partition("</details>")[0]
    assert '<a href="#table1">Table 1</a></li>' in page.partition("</nav>")[0]
    assert page.index('id="show-both"') < page.index('class="squares ours published"')
    assert "below a number: ± standard deviation over seeds · difference from" in page
    assert "contradicted by the paper&#39;s own table" in page  # reported: -1
    assert "Read &lt;generously&gt;." in page
    assert "data:image/png;base64,iVBORw0KGgo=" in page  # the smaller of the two
    assert "<strong>table1.</strong> Accuracy &lt; 1. n = 9. 2 seeds.</figcaption>" in page
    assert "Words of 1 &lt; 2 pieces, see the config." in page
    assert "<td>sum, as <code>Eq. 1</code></td>" in page
    assert "no entry" not in page
    assert '<td>training</td><td class="number">3</td>' in page
    assert "<td>other</td>" not in page


def test_a_figure_of_the_other_protocol_is_a_fold_that_the_switch_opens(
    page_of: Callable[..., str], figure: FigureLink
) -> None:
    names = ("table1.published.svg", "table1.corrected.svg")
    both = [replace(figure, title=name, path=figure.path.with_name(name)) for name in names]
    for one in both:
        one.path.write_text('<svg width="518.4pt"/>')
    page = page_of(WORLD, figures=both)
    first, _, fold = page.partition('<details class="ours published"><summary>table1.published')
    assert '<figure class="ours corrected"><div class="scroll" style="width: 518.4pt"' in first
    assert '<figure class="ours published">' in fold
    assert "#show-published:checked) details.published::details-content" in first
    assert '<details class="ours' not in page_of(WORLD, figures=both[:1])  # there is no other


def test_a_table_of_many_rows_shows_ten(measurements: Path, page_of: Callable[..., str]) -> None:
    for number, is_folded in ((13, False), (14, True)):
        cells = [
            CELL.format("original").replace(",ru,", f",l{row:02},") + ",50,published,1,100"
            for row in range(number)
        ]
        write(measurements, *cells)
        page = page_of(WORLD)
        assert ('class="scroll folded"' in page) == is_folded
        assert ("<summary>4 more rows</summary>" in page) == is_folded


def test_pages_need_nothing_from_elsewhere(
    tmp_path: Path, claims: pd.DataFrame, figure: FigureLink, page_of: Callable[[Setting], str]
) -> None:
    page = page_of(WORLD)
    output = tmp_path / "run/index.html"
    write_index(
        claims,
        output,
        titles={"toy2020": "Toy et al. (2020)"},
        setting=WORLD,
        figures=[figure],
        links={"claims.csv": "the verdicts"},
        root=tmp_path / "run",
    )
    index = output.read_text(encoding="utf-8")
    for text in (page, index):
        assert not re.search(r"<(link|script|iframe)\b|https?://|url\(|@import", text)
        assert all(
            not target.startswith("/") for target in re.findall(r'(?:href|src)="([^"]*)"', text)
        )
    assert 'href="papers/toy2020.html#better"' in index
    assert 'src="figures/toy2020/table1.png"' in index
    assert 'id="better"' in page
    for anchor in re.findall(r'href="#([^"]+)"', page):
        assert f'id="{anchor}"' in page


def test_only_runs_off_the_papers_have_a_warning(page_of: Callable[[Setting], str]) -> None:
    page = page_of(WORLD)
    assert "whether they hold on synthetic data" in page
    assert "No verdict is evidence about multilingual BERT itself." in page
    page = page_of(Setting("paper", True))
    assert "whether they hold here" in page
    assert "multilingual BERT" not in page
    unnamed = page_of(Setting("mine", False))
    assert "hold with the data and the encoder of this run" in unnamed


def test_the_paper_s_number_stands_next_to_ours_and_in_its_plot(
    claims: pd.DataFrame, page_of: Callable[[Setting], str]
) -> None:
    claims.loc[claims["id"] == "better", ["effect", "low", "high"]] = [9.96, 8.9, 11.02]
    better, _ = claim_views(claims, WORLD)
    shown = better.outcomes[0]
    # 10.96 without rounding, which nobody could check from what stands there
    assert (shown.effect, shown.reported) == ("+10.0 [+8.9, +11.0]", "−1.00")
    assert shown.apart == "+11.0 [+9.9, +12.0]"
    page = page_of(WORLD)
    assert page.count("the paper: −1.00; ours&nbsp;−&nbsp;paper:&nbsp;+11.0 [+9.9, +12.0]<") == 2
    assert page.count('<polygon class="reported"') == 1


def test_both_protocols_of_a_claim_have_one_scale(claims: pd.DataFrame) -> None:
    better, never = claim_views(claims, WORLD)
    first, second = (outcome.plot for outcome in better.outcomes)
    assert first == second  # the same numbers under both
    assert [outcome.plot for outcome in never.outcomes] == [None, None]
    assert (better.reported, better.row["reported_bears_out"]) == ("−1.00", "no")


def setting_with(condition: str) -> Setting:
    conditions = {"toy2020/table1": {"bert_20_200k": condition}}
    names = {"hi": "Hindi", "ru": "Russian"}
    return Setting("demo", False, names=names, conditions=conditions)


def test_limiting_cases_have_the_names_of_the_run(claims: pd.DataFrame) -> None:
    for cell, part, text in (
        ("bert_20_200k hi", "", "window 9, Hindi"),
        ("hi hi", "", "Hindi"),  # source and target
        ("ner ru hi 3", "", "NER, Russian → Hindi, layer 3"),
        ("hi 3", "alpha=3 − alpha=2", "Hindi, layer 3: alpha = 3 − alpha = 2"),
        ("hi", "nli hi + ner en − ner hi", "(NLI Hindi + NER en) − NER Hindi"),
        ("bert_20_200k hi", "hi hi − en", "window 9: Hindi − en"),  # which of several differences
        ("nli hi", "ner hi,en bert_20_200k − ner hi,en en", "NLI, NER, Hindi, en: window 9 − en"),
        ("", "hi mean_x − hi hi", "Hindi: mean of the others − Hindi"),
    ):
        named = claims.assign(cell=cell, part=part)
        better, _ = claim_views(named, setting_with("window 9"))
        assert better.outcomes[0].limiting == text


@pytest.mark.parametrize(
    ("cells", "cases", "verdict", "words", "scope"),
    [
        (
            2,
            9,
            "holds so far",
            "holds so far (2 of 9 cases tested)",
            "mean of 2 of 9 cases, 5 items, 1 seed",
        ),
        (1, 9, "undecided", "undecided", "1 of 9 cases, 5 items, 1 seed"),
        (1, 1, "holds", "holds", "1 of 1 case, 1 item, 1 seed"),
    ],
)
def test_verdicts_have_their_scope(
    claims: pd.DataFrame, cells: int, cases: int, verdict: str, words: str, scope: str
) -> None:
    (items,) = re.findall(r"(\d+) item", scope)
    row = {"cells": cells, "cases": cases, "verdict": verdict, "n": items, "seeds": "1"}
    better, _ = claim_views(claims.assign(**row, seeds_to_decide=1, detectable=2.0), WORLD)
    first = better.outcomes[0]
    assert (first.words, first.scope) == (words, scope)
    assert (
        first.basis == "to decide it: 1 seed, or an effect 2.0 from the region's border (now 10.0)"
    ) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("detectable", "seeds", "text"),
    [
        (2.0, 3, "to decide it: 3 seeds, or an effect 2.0 from the region's border"),
        (
            2.0,
            float("nan"),
            "to decide it: an effect 2.0 from the region's border (now 10.0), or more items and"
            " seeds",
        ),
        (float("inf"), 3, "no effect is large enough for this run; to decide it: 3 seeds"),
        (
            float("inf"),
            float("nan"),
            "no effect is large enough for this run; to decide it: more items",
        ),
    ],
)
def test_undecided_claims_say_what_would_decide_them(
    claims: pd.DataFrame, detectable: float, seeds: float, text: str
) -> None:
    row = {"verdict": "undecided", "detectable": detectable, "seeds_to_decide": seeds}
    better, _ = claim_views(claims.assign(**row), WORLD)
    assert better.outcomes[0].basis.startswith(text)


@pytest.mark.parametrize(
    ("verdict", "look", "words"),
    [
        ("does not hold", "holds", "passed"),
        ("holds so far", "does not hold so far", "not passed so far (1 of 4 cases tested)"),
        ("undecided", "undecided", "undecided"),
        ("not run", "not run", "not run"),
    ],
)
def test_a_control_that_does_not_hold_is_passed_and_has_no_q(
    claims: pd.DataFrame, verdict: str, look: str, words: str
) -> None:
    row = {"verdict": verdict, "control_for": "never", "q": float("nan"), "cases": 4}
    better, _ = claim_views(claims.assign(**row, p=0.01, detectable=1, seeds_to_decide=3), WORLD)
    first = better.outcomes[0]
    assert (first.look, first.words, first.q, first.is_weak) == (look, words, "", False)
    assert "q" not in first.basis
    row |= {"control_for": "", "q": 0.02}
    of_paper, _ = claim_views(claims.assign(**row, p=0.01, detectable=1, seeds_to_decide=3), WORLD)
    assert of_paper.outcomes[0].look == verdict
    assert bool(of_paper.outcomes[0].q) == (verdict in DECIDED)


@pytest.mark.parametrize(("q", "weak"), [(0.05, False), (0.12, True), (float("nan"), False)])
def test_a_verdict_that_the_number_of_claims_weakens_is_marked(
    claims: pd.DataFrame, page_of: Callable[[Setting], str], q: float, weak: bool
) -> None:
    rows = claims["id"] == "better"
    claims.loc[rows, "verdict"], claims.loc[rows, "q"] = "holds", q
    assert ("weak: q&nbsp;=&nbsp;0.12" in page_of(WORLD)) == weak


def test_half_of_the_cases_that_were_run_are_named(claims: pd.DataFrame) -> None:
    row = {"verdict": "undecided", "detectable": float("nan"), "seeds_to_decide": float("nan")}
    better, _ = claim_views(claims.assign(**row), WORLD)
    assert "half of the cases that were run refute the claim" in better.outcomes[0].basis


def test_what_does_not_apply_says_why_under_the_verdict(
    claims: pd.DataFrame, page_of: Callable[[Setting], str]
) -> None:
    gate = "NLI is at chance: ru 34.5 [33.1, 35.9]"
    unknown = dict.fromkeys(["effect", "low", "high"], float("nan"))
    none = {"verdict": "not applicable", "gate": gate, "cells": 0, "cell": "", **unknown}
    for column, value in none.items():
        claims.loc[claims["id"] == "better", column] = value
    page, gate = page_of(WORLD), gate.replace("ru", "Russian")
    row = page[page.index('<tr id="better"') : page.index('<li id="never"')]
    reason = f'– not applicable</span> under both protocols<span class="soft reason">{gate}</span>'
    assert row.count(reason) == 1
    assert "<summary>1 claim that this run cannot judge: not applicable</summary>" in page
    assert "nan" not in row
    assert "<svg" not in row
    held = {"verdict": "holds so far", "cells": 1, "effect": 2.0, "headline": "yes"}
    claims.loc[claims["id"] == "better", [*held]] = [*held.values()]
    assert page_of(WORLD).count(f"left out: {gate}") == 2  # also in short


def test_a_page_begins_with_headline_claims_and_what_does_not_hold(
    claims: pd.DataFrame, page_of: Callable[[Setting], str]
) -> None:
    is_better = claims["id"] == "better"
    reported = claims["reported_here"].copy()
    claims.loc[is_better, ["verdict", "reported_here"]] = ["undecided", float("nan")]
    assert "in-short" not in page_of(WORLD)
    claims["reported_here"] = reported
    claims.loc[is_better, "verdict"] = "holds"
    claims.loc[~is_better, "headline"] = "yes"  # and was not run
    short = page_of(WORLD).partition('<h2 id="in-short">')[2].partition('<h2 id="claims">')[0]
    assert short.index("Other claims that hold:") < short.index('<a href="#better">')
    assert "both protocols <span" in short
    line = "+10.0 [+8.1, +11.9] points (accuracy); the paper: −1.00; ours&nbsp;−&nbsp;paper"
    assert line in short
    assert "No evidence" not in short
    assert short.index("Headline claims that were not run:") < short.index('<a href="#never">')
    claims.loc[is_better, ["verdict", "effect", "low", "high"]] = ["does not hold", -2.0, -3, -1]
    page = page_of(WORLD)
    assert page.index('<a href="#in-short">') < page.index('<a href="#claims">')
    _, _, rest = page.partition('<h2 id="in-short">')
    short, _, rest = rest.partition('<h2 id="claims">')
    assert re.findall('<a href="#(.*?)">', short) == ["better", "never"]
    assert rest.count('<tr id="better">') == rest.count('<li id="never">') == 1
    assert "✗ does not hold<" in short
    assert ">−2.0 [−3.0, −1.0] points (accuracy)" in short
    paper = "the paper: −1.00; ours&nbsp;−&nbsp;paper:&nbsp;−1.0 [−2.0, +0.0]"
    assert short.count(paper) == rest.count(paper) > 0
    assert "<svg" not in short
    assert "generously" not in short


@pytest.mark.parametrize(
    ("effect", "above", "share"),
    [(2.0, 0.0, "20%"), (-2.0, 0.0, ""), (12.0, 0.0, "120%"), (2.0, -1.0, "")],
)
def test_an_effect_as_claimed_has_its_share_of_the_paper_s(
    claims: pd.DataFrame, effect: float, above: float, share: str
) -> None:
    row = ["effect", "above", "reported_here", "verdict"]
    claims.loc[claims["id"] == "better", row] = [effect, above, 10.0, "holds"]
    view, _ = claim_views(claims, WORLD)
    assert [outcome.share for outcome in view.outcomes] == [share] * 2
    assert view.has_border == (above != 0)
    claims["verdict"] = "undecided"
    assert {each.share for view in claim_views(claims, WORLD) for each in view.outcomes} == {""}


@needs_axe
def test_a_long_name_of_an_encoder_does_not_widen_a_page(
    tmp_path: Path, page_of: Callable[[Setting], str]
) -> None:
    name = f"organisation--encoder@{'0123456789' * 6}"
    models = {"toy2020": {"mbert": {"label": name, "config": ""}}}
    assert name in page_of(replace(WORLD, models=models))
    page = tmp_path / "run/papers/toy2020.html"
    assert check(page, width=500, dark=False)["size"][1] <= 500


def test_what_is_undecided_stands_in_short_if_the_paper_has_its_number(
    claims: pd.DataFrame, page_of: Callable[[Setting], str]
) -> None:
    title = "Undecided, with a number in the paper"
    claims["verdict"] = UNDECIDED
    claims["reported_here"] = float("nan")
    assert title not in page_of(WORLD)
    claims.loc[claims["id"] == "better", ["reported_here", "headline"]] = [7.5, ""]
    _, _, listed = page_of(WORLD).partition(title)
    assert re.search('href="#better".*?the paper.*?: [+]7[.]50;', listed.partition("</ul>")[0])


def test_controls_are_apart_and_mark_what_they_show(
    claims: pd.DataFrame, page_of: Callable[[Setting], str]
) -> None:
    shown = ["better", "holds", 2.0]
    claims.loc[claims["id"] == "never", ["control_for", "verdict", "effect"]] = shown
    claims.loc[claims["id"] == "better", ["in_control", "verdict"]] = ["never", IN_CONTROL]
    page = page_of(WORLD)
    summary, _, rest = page.partition("How verdicts are computed")
    assert re.findall('class="marks">.*?href="#(.*?)".*?>([^<>]*)</a></span>', summary) == [
        *[("better", "⚠")] * 2
    ]
    assert summary.count(">1 also in a control<") == 2
    assert "No evidence, as a control of ours shows the same" in summary
    assert "Other claims that hold" not in summary
    _, heading, ours = page.partition('<h2 id="our-controls">')
    assert heading
    assert "no number in the paper" not in ours
    table, _, controls = rest.partition("Controls (ours)</h2>")
    assert '<tr id="better"' in table
    assert table.count('>control <a href="#never" title="So.">never</a>: +2.00<') == 1
    assert '<tr id="never"' in controls
    assert "✗ not passed<" in controls
    assert '<rect class="region wrong"' in controls
    assert "region wrong" not in table
    assert re.search(r"<summary>1 claim: .*; 1 control: ", controls)
    assert '<tr id="never"' not in table
    assert "So.</a> <span" in controls  # in the section of its table


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (-10, 30, ["−10", "0", "30"]),
        (1.0, 3.5, ["0", "3.5"]),  # the scale goes on to zero
        (60, 61, ["60.0", "61.0"]),
    ],
)
def test_plots_have_a_zero_and_a_scale(
    claims: pd.DataFrame, low: float, high: float, numbers: list[str]
) -> None:
    ends = {"effect": low, "low": low, "high": high, "above": low, "below": high}
    ends |= {"reported_here": low}
    better, _ = claim_views(claims.assign(**ends), WORLD)
    plot = better.outcomes[0].plot
    assert plot
    assert [text for _, text in plot["ticks"]] == numbers
    by_number = {text: place for place, text in plot["ticks"]}
    assert plot["zero"] == by_number.get("0")
    assert plot["high"] == by_number[numbers[-1]]
    places = [place for place, _ in plot["ticks"]]
    assert all(later - first > 25 for first, later in pairwise(places))


def test_the_worst_of_several_is_by_chance_too_low() -> None:
    drawn = np.random.default_rng(1).standard_normal((100_000, 20))
    for k in (1, 5, 20):
        assert expected_extreme(k) == pytest.approx(drawn[:, :k].max(axis=1).mean(), abs=0.02)


def test_commas_in_names_stay(claims: pd.DataFrame) -> None:
    some = claims.assign(contrast="bert_20_200k,hi − en")
    better, _ = claim_views(some, setting_with("30,000 sentences"))
    assert better.contrasts == ["30,000 sentences, Hindi − en"]


def test_prose_without_the_heading_gives_nothing() -> None:
    assert bullets(PROSE, "Nothing") == []
    assert table_rows(PROSE, "Deviations and choices") == []
    assert [str(text) for text in bullets(PROSE, "Deviations and choices")][1] == (
        "Seeds are <em>ours</em>."
    )
    assert table_rows(PROSE, "The two protocols")[1][1] == "<strong>mean</strong>"


@pytest.mark.parametrize("paper", papers.names())
def test_a_paper_has_both_protocols_and_its_deviations(paper: str) -> None:
    prose = (ROOT / f"docs/papers/{paper}.md").read_text(encoding="utf-8")
    head, *rows = table_rows(prose, "The two protocols")
    assert head == ["", "published", "corrected"]
    assert rows
    assert bullets(prose, "Deviations and choices")
