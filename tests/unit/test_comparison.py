"""The page that compares finished runs, and what it reads of their folders."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from axe import check, needs_axe
from configs import ROOT
from matplotlib.figure import Figure
from toy_results import PAPER, PAPERS, finished_run

from mbert_atlas import papers
from mbert_atlas.__main__ import main
from mbert_atlas.errors import AtlasError
from mbert_atlas.figures.reported import MARK
from mbert_atlas.figures.style import save_figure
from mbert_atlas.files import write_json
from mbert_atlas.scorecard.cells import KEY
from mbert_atlas.scorecard.comparison import compare_claims, write_comparison
from mbert_atlas.scorecard.results import read_results
from mbert_atlas.scorecard.templates import Setting
from mbert_atlas.scorecard.verdicts import COLUMNS

NAMES = {"ru": "Russian", "hi": "Hindi"}


def page(folders: list[Path], output: Path) -> str:
    write_comparison(folders, output, papers=PAPERS, names=NAMES)
    return (output / "index.html").read_text("utf-8")


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Russian gains in one run and loses in the other, Hindi gains in both."""
    return [
        finished_run(tmp_path / "results/first", {"ru": 10, "hi": 10}),
        finished_run(tmp_path / "results/second", {"ru": -10, "hi": 20}, encoder="OTHER/NAME"),
    ]


def test_claims_stand_next_to_each_other_and_differences_are_marked(
    two: list[Path], tmp_path: Path
) -> None:
    text = page(two, tmp_path / "out")
    rows = dict(re.findall(r'<tr id="toy2020-(\w+)" class="(\w+)"', text))
    assert rows == {"russian": "opposite", "hindi": "same"}  # nothing has a row that nobody ran
    row = text[text.index('<tr id="toy2020-russian"') : text.index('<tr id="toy2020-hindi"')]
    first, second = row.split('<td class="outcome"')[1:]
    assert "✓ holds" in first
    assert "+10.0 [" in first
    assert "✗ does not hold" in second
    assert "−10.0 [" in second
    assert "both protocols" in first
    assert "Adjustment helps &lt;Russian&gt;." in row
    assert "≠ opposite verdicts<" in row
    assert "1 the same, 1 opposite, 2 not run" in text
    assert "2 claims that were not run" in text
    table = pd.read_csv(tmp_path / "out/claims.csv")
    assert table.columns.tolist() == ["run", *COLUMNS]
    assert table.groupby("run").size().to_dict() == {"first": 8, "second": 8}


def test_the_page_says_what_each_run_is_and_needs_no_other_file(
    two: list[Path], tmp_path: Path
) -> None:
    text = page(two, tmp_path / "out")
    facts = dict(re.findall(r'<tr><th scope="row">(.*?)</th>(<td>.*)</tr>', text))
    assert facts["encoder mbert"] == "<td>folder e5</td><td>OTHER/NAME</td>"
    for name, expected in {
        "run": "demo",
        "comparable with the papers": "no, on &lt;truncated&gt; data",
        "preset": "small",
        "data": "2 languages in all, from XNLI",
        "protocols": "published, corrected",
        "seeds": "1, 2",  # not that of the search
        "cost": "0.5 hours if all jobs ran one after the other, 1.5 CPU hours; "
        "at most 0.9 GB of memory a job",
    }.items():
        assert facts[name] == f"<td>{expected}</td>" * 2, name
    assert "<dt>encoder trimmed</dt><dd>12 layers of 384, 72,592 subwords</dd>" in text
    assert re.search(r"mbert-atlas \d.*torch \d", facts["versions"])
    assert re.search(r"<td>20\d\d-\d\d-\d\d</td>", facts["date"])
    assert not re.search(r"<(link|script|iframe)\b|https?://|url\(|@import", text)
    targets = re.findall(r'(?:href|src)="([^"]*)"', text)
    for target in targets:
        assert target == "claims.csv" or re.match("#|data:image/", target), target
        assert not target.startswith("#") or f'id="{target[1:]}"' in text
    assert sum(target.startswith("data:") for target in targets) == 1  # protocols agree


@pytest.mark.parametrize("used", [{"mbert": "folder e5"}, {"other": "folder e5"}])
def test_encoders_that_a_run_did_not_use_are_no_fact(tmp_path: Path, used: dict[str, str]) -> None:
    run = finished_run(tmp_path / "one", {"ru": 10})
    write_json({"encoders": used}, run / "provenance.json")
    (results,) = read_results([run])
    assert ("encoder mbert" in results.facts) == ("mbert" in used)


def verdict_rows(*verdicts: str) -> pd.DataFrame:
    """A claim's verdicts under both protocols, run by run."""
    unknown = dict.fromkeys(COLUMNS, float("nan"))
    texts = {"effect_of": "level", "metric": "", "basis": "", "cell": "", "cells": 1, "effect": 1.0}
    texts |= dict.fromkeys(("contrast", "part", "n", "seeds", "gate"), "") | {"cases": 1}
    texts |= dict.fromkeys(("control_for", "in_control", "same_numbers"), "")
    return pd.DataFrame(
        [
            {**unknown, **texts, "id": "one", "verdict": verdict, "protocol": protocol}
            for verdict, protocol in zip(verdicts, ("published", "corrected") * 9, strict=False)
        ]
    )


@pytest.mark.parametrize(
    ("verdicts", "agreement", "differing"),
    [
        (["holds", "holds"] * 2, "the same", []),
        # protocols may differ from each other
        (["holds", "does not hold"] * 2, "the same", []),
        (["holds", "holds", "undecided", "holds"], "different", ["published"]),
        (["holds", "holds", "does not hold", "undecided"], "opposite", ["published", "corrected"]),
        (["holds", "holds", "not run", "not run"], "in one run only", []),
        (["holds", "holds", "not applicable", "not applicable"], "in one run only", []),
        (["not applicable"] * 4, "not applicable", []),
        (["not applicable", "not applicable", "not run", "not run"], "not applicable", []),
        (["not run"] * 4, "not run", []),
        # on a part of the cases, and on all
        (["holds", "holds so far", "holds so far", "holds"], "the same", []),
        (["does not hold so far", "undecided", "does not hold", "undecided"], "the same", []),
        (["holds so far", "holds", "does not hold", "holds"], "different", ["published"]),
        (
            ["holds", "undecided", "not run", "not run", "does not hold", "undecided"],
            "opposite",
            ["published"],
        ),
    ],
)
def test_agreement(verdicts: list[str], agreement: str, differing: list[str]) -> None:
    (claim,) = compare_claims(verdict_rows(*verdicts), Setting("", False), len(verdicts) // 2)
    assert (claim.agreement, list(claim.differing)) == (agreement, differing)


@needs_axe
@pytest.mark.parametrize(("width", "dark"), [(1280, True), (500, False)])
def test_the_page_passes_an_accessibility_check(
    two: list[Path], tmp_path: Path, width: int, dark: bool
) -> None:
    page(two, tmp_path / "compared")
    found = check(tmp_path / "compared/index.html", width=width, dark=dark)
    assert found["wrong"] == []
    assert found["passed"] > 20
    assert found["size"][1] <= width


def test_a_run_may_lack_claims_papers_and_curves(two: list[Path], tmp_path: Path) -> None:
    claims = pd.read_csv(two[1] / "claims.csv")
    claims[claims["id"] == "hindi"].to_csv(two[1] / "claims.csv", index=False)
    shutil.rmtree(two[1] / "measurements")
    (two[1] / "measurements").mkdir()
    text = page(two, tmp_path / "out")
    assert "1 the same, 1 in one run only, 2 not run" in text
    assert "All runs have the same vertical axis. Not run in second." in text
    shutil.rmtree(two[0] / f"measurements/{PAPER}")
    assert "No run has measured the paper's main curves." in page(two, tmp_path / "out")


def test_curves_are_the_first_that_most_runs_have(two: list[Path], tmp_path: Path) -> None:
    assert "<h3>Table 1: Scores</h3>" in page(two, tmp_path / "out")
    for number, folder in enumerate(two):
        measured = folder / f"measurements/{PAPER}"
        text = (measured / "table1.csv").read_text().replace("published,1", f"published,{number}1")
        (measured / "more.csv").write_text(text)
        title = ["Table 1: Scores", "Figure 1: Scores of more"][number]
        assert f"<h3>{title}</h3>" in page(two, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out/figures").iterdir()} == {
        f"toy2020.{protocol}.{kind}"
        for protocol in ("both", "published", "corrected")  # the first of Table 1
        for kind in ("svg", "png")
    }


def test_curves_show_what_the_paper_reports(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(
        "mbert_atlas.scorecard.comparison.save_figure",
        lambda figure, stem: (figures.append(figure), save_figure(figure, stem))[1],
    )
    assert "not judged" not in page(two, tmp_path / "out")
    row = pd.read_csv(two[0] / f"measurements/{PAPER}/table1.csv", keep_default_na=False).iloc[0]
    pd.DataFrame([row[[*KEY]].to_dict() | {"value": 12.5}]).to_csv(tmp_path / "r.csv", index=False)
    reported = {PAPER: tmp_path / "r.csv"}
    write_comparison(two, tmp_path / "out", papers=PAPERS, names=NAMES, reported=reported)
    assert "not judged" in (tmp_path / "out/index.html").read_text("utf-8")
    lines = [line for figure in figures for axes in figure.axes for line in axes.lines]
    marked = [line.get_ydata() for line in lines if line.get_label() == MARK]
    assert {value for values in marked for value in values if value == value} == {12.5}


def test_folders_are_named_by_the_part_that_differs(tmp_path: Path) -> None:
    def labels(*names: str) -> list[str]:
        folders = [tmp_path / name for name in names]
        for folder in folders:
            if not folder.exists():
                part = "highlights" if folder.name == "highlights" else ""
                finished_run(folder.parent if part else folder, {"ru": 1}, scope=part)
        return [one.label for one in read_results(folders)]

    assert labels("a/demo", "b/demo") == ["a", "b"]
    assert labels("a/demo", "a/small") == ["demo", "small"]
    assert labels("c/highlights", "d/highlights", "a/demo") == ["c", "d", "demo"]
    assert labels("a/demo", "a/small", "b/demo") == [
        str(tmp_path / name) for name in ("a/demo", "a/small", "b/demo")
    ]


def test_highlights_have_the_files_of_their_run(tmp_path: Path) -> None:
    (one,) = read_results([finished_run(tmp_path / "demo", {"ru": 1}, scope="highlights")])
    assert one.root == tmp_path / "demo"
    assert one.facts["seeds"] == "1, 2"
    assert one.facts["preset"] == "small"


def test_bad_folders_end_with_one_sentence(two: list[Path], tmp_path: Path) -> None:
    first, second = two

    def error(*folders: Path, output: Path = tmp_path / "out") -> str:
        with pytest.raises(AtlasError) as caught:
            page(list(folders), output)
        assert "\n" not in str(caught.value)
        return str(caught.value).replace(str(tmp_path), "")

    assert "two results folders or more; name another one." in error(first)
    again = error(first, second / "../first")
    assert again.endswith("the same folder as /results/first; name each folder once.")
    assert error(first, tmp_path / "results") == (
        "/results: there is no claims.csv; make the target `available` and name its folder."
    )
    finished_run(tmp_path / "third", {"ru": 1}, scope="highlights")
    assert error(first, tmp_path / "third").endswith("no claims.csv; name /third/highlights.")
    for output in (second, tmp_path / "third", tmp_path / "third/highlights"):
        assert "which the comparison would overwrite; name" in error(*two, output=output)

    claims = pd.read_csv(second / "claims.csv")
    claims.assign(above=1.5).to_csv(second / "claims.csv", index=False)
    assert error(*two) == (
        "/results/second/claims.csv: above of toy2020's claim russian is 1.5, but 0 in "
        "/results/first, which another version of mbert-atlas judged; "
        "judge the claims of both by one version."
    )
    claims.drop(columns=["q", "cells"]).to_csv(second / "claims.csv", index=False)
    assert "claims.csv: no column cells, q: another version of mbert-atlas judged" in error(*two)
    (second / "claims.csv").write_text("")
    assert "it is no table of claims (" in error(*two)


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Titles and curves are those of the real papers."""
    monkeypatch.chdir(ROOT)
    known, out = papers.names()[0], str(tmp_path / "out")
    first = finished_run(tmp_path / "first", {"ru": 1}, paper=known)
    second = finished_run(tmp_path / "second", {"ru": 1}, paper="another2020")
    main(["compare", str(first), str(second), "--output", out])
    assert capsys.readouterr().out == f"{out}/index.html\n"
    text = (tmp_path / "out/index.html").read_text("utf-8")
    titles = re.findall(r"<section id=.*>\n<h2>(.*)</h2>", text)
    assert re.search(r" et al\. \(\d{4}\): ", titles[0])
    assert titles[1:] == ["another2020"]
    copy = str(tmp_path / "copy")
    with pytest.raises(SystemExit, match=r"claims\.csv: \d+ verdicts or intervals are others than"):
        main(["publish", str(first), copy])  # the claims were not those of the paper
    main(["judge", str(first), "--output", str(first / "claims.csv")])
    assert f"{known}/" in capsys.readouterr().out
    main(["publish", str(first), copy, "--hardware", "two cores"])
    main(["judge", copy])
    assert capsys.readouterr().out.endswith("The same verdicts and intervals as in claims.csv.\n")
    assert "two cores" in (tmp_path / "copy/README.md").read_text("utf-8")
    with pytest.raises(SystemExit, match=r"the same folder as .*; name each folder once\."):
        main(["compare", str(first), str(first), "--output", out])
