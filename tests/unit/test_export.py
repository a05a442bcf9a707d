"""Exports: LaTeX that compiles, numbers of the run, a folder that replaces nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from axe import check, dom, needs_axe, needs_chromium
from configs import ROOT
from matplotlib.figure import Figure
from toy_results import finished_run

from mbert_atlas.errors import DataError
from mbert_atlas.export.folder import export
from mbert_atlas.export.latex import _ESCAPED, claim_macros, escape, macro, number
from mbert_atlas.export.results import GUIDE, FinishedRun, load_results
from mbert_atlas.papers import names
from mbert_atlas.plan.records import Artifact, PaperPlan, Table
from mbert_atlas.plan.records import Figure as Figure_
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.scorecard.templates import Setting

# A paper whose claims and reported numbers exist, without stars; the run's numbers are made up.
PAPER = next(
    name
    for name in names()
    if "_significant_vs_" not in (ROOT / f"resources/reported/{name}.csv").read_text("utf-8")
)
COMPILER = next(filter(None, map(shutil.which, ("tectonic", "pdflatex"))), "")
CONTRAST = ("table1", "adjusted", "original")
MEASURED = f"measurements/{PAPER}/table1.csv"
needs_latex = pytest.mark.skipif(not COMPILER, reason="needs tectonic or pdflatex (TeX Live)")


def compiled(folder: Path, document: str = "preview.tex") -> None:
    quiet = ["-interaction=nonstopmode", "-halt-on-error"] if "pdflatex" in COMPILER else []
    done = subprocess.run(
        [COMPILER, *quiet, document], cwd=folder, capture_output=True, timeout=300, check=False
    )
    printed = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0, printed[-3000:]
    if document == "preview.tex":
        assert not re.findall(r"^Overfull.*|Float too large.*", printed, re.M)  # beyond margins
    assert folder.joinpath(document).with_suffix(".pdf").stat().st_size > 1000


def line(name: str, root: Path) -> Figure | None:
    if name.endswith("picture"):  # whose files are missing
        return None
    figure = Figure()
    figure.subplots().plot(pd.read_csv(root / MEASURED)["value"])
    return figure


@pytest.fixture
def run(tmp_path: Path) -> FinishedRun:
    return load_results(finished_run(tmp_path / "run", {"ru": 10, "hi": -10}, paper=PAPER))


TABLE = Artifact(
    "table1",
    "Scores & more_",
    tables=[Table("table1", ["table1"])],
    figures=[Figure_("table1", "", list), Figure_("picture", "", list)],
    highlight=True,
)
SHOWN: dict[str, Any] = {
    "plan": PaperPlan("Toy & al. (2020): 100% of #1_", [TABLE], contrasts=[CONTRAST]),
    "setting": Setting("demo", False, "on <truncated> data", {"ru": "Russian", "hi": "Hindi_{%}"}),
    "draw": line,
}


def test_an_export_has_the_numbers_of_the_run(run: FinishedRun, tmp_path: Path) -> None:
    shutil.copy(run.results.root / f"figures/{PAPER}/table1.png", tmp_path)
    (tmp_path / "table1.png").rename(run.results.root / f"figures/{PAPER}/picture.png")
    output = tmp_path / "out"
    export(run, PAPER, output, **SHOWN)
    assert {path.relative_to(output).as_posix() for path in output.rglob("*.*")} == {
        *("README.md", "summary.html", "claims.tex", "preview.tex", "tables/table1.tex"),
        *("data/claims.csv", "data/table1.csv", "figures/table1.pdf", "figures/picture.pdf"),
    }
    data = pd.read_csv(output / "data/table1.csv")
    expected = run.table(PAPER, 1)
    pd.testing.assert_frame_equal(
        data[["value", "low", "high"]],
        expected[["value", "low", "high"]],
        rtol=1e-5,
        check_dtype=False,
    )
    guide = (output / "README.md").read_text("utf-8")
    for column in data:
        assert f"| `{column}` | {GUIDE[column]} |" in guide
    assert "| `adjusted` |" in guide
    first = expected.query("metric == 'accuracy' and condition == 'adjusted' and target == 'ru'")
    value, low, high = first.iloc[0][["value", "low", "high"]]
    table = (output / "tables/table1.tex").read_text("utf-8")
    assert rf"\shortstack[r]{{${value:.2f}$\\{{\scriptsize $[{low:.2f}, {high:.2f}]$}}}}" in table
    summary = (output / "summary.html").read_text("utf-8")
    assert "Adjustment helps &lt;Russian&gt;." in summary
    assert "data:image/png" in summary
    assert re.search(rb"/Type\s*/Page\b", (output / "figures/table1.pdf").read_bytes())
    export(run, PAPER, output, **SHOWN)  # replaces the first one
    again = (output / "figures/table1.pdf").read_bytes()
    export(run, PAPER, output, **SHOWN)
    assert again == (output / "figures/table1.pdf").read_bytes()


@needs_latex
def test_an_export_compiles(run: FinishedRun, tmp_path: Path) -> None:
    export(run, PAPER, tmp_path / "out", **SHOWN)
    compiled(tmp_path / "out")
    export(run, PAPER, tmp_path / "out", **{**SHOWN, "plan": PaperPlan("Toy", [])})
    compiled(tmp_path / "out")


def test_special_characters() -> None:
    assert escape("50% & $x_1 #{a}^~\\") == (
        r"50\% \& \$x\_1 \#\{a\}\textasciicircum{}\textasciitilde{}\textbackslash{}"
    )
    assert number("-1,234.50", "*") == "$-1{,}234.50^{*}$"


@needs_latex
def test_special_characters_compile(tmp_path: Path) -> None:
    """All of ASCII, what is escaped beyond it, and the letters of claims and languages."""
    paths = [*ROOT.glob("mbert_atlas/papers/*/*.yaml"), ROOT / "resources/languages.csv"]
    letters = {letter for path in paths for letter in path.read_text("utf-8") if ord(letter) > 126}
    texts = ["".join(map(chr, [*range(32, 127), *_ESCAPED])), "".join(sorted(letters))]
    lines = [r"\documentclass{article}\usepackage[T1]{fontenc}\begin{document}"]
    lines += [escape(text) + "\n" for text in texts] + [r"\end{document}"]
    (tmp_path / "all.tex").write_text("\n".join(lines), "utf-8")
    compiled(tmp_path, "all.tex")


def test_macros_are_distinct_words() -> None:
    """Of all claims of all papers, which a document may read together."""
    macros = [
        macro(paper, claim, protocol, "Effect")
        for paper in names()
        for claim in read_claims(
            ROOT / f"mbert_atlas/papers/{paper}/claims.yaml",
            paper,
            ROOT / f"resources/reported/{paper}.csv",
        ).claims
        for protocol in ("published", "corrected")
    ]
    assert len({*macros}) == len(macros) > 100
    assert all(re.fullmatch(r"\\[A-Za-z]+", name) for name in macros)


def test_claims_that_were_not_run_have_dashes(run: FinishedRun) -> None:
    text = claim_macros(run.claims(PAPER))
    start = macro(PAPER, "never", "corrected", "")
    assert f"\\newcommand{{{start}Verdict}}{{not run}}" in text
    assert f"\\newcommand{{{start}Effect}}{{--}}" in text
    start = macro(PAPER, "hindi", "corrected", "")
    assert f"\\newcommand{{{start}Verdict}}{{does not hold}}" in text
    assert re.search(rf"\{start}Effect}}{{\\ensuremath{{-10\.\d+}}}}", text)


def test_other_folders_stay(run: FinishedRun, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError, match=r"no claims.tex, so it is no export.*name another folder"):
        export(run, PAPER, tmp_path / "mine", **SHOWN)
    with pytest.raises(DataError, match="there is no paper 'nobody2020'; name one of"):
        export(run, "nobody2020", tmp_path / "out", **SHOWN)
    assert not (tmp_path / "out").exists()


@needs_axe
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (500, True)])
def test_the_summary_passes_an_accessibility_check(
    run: FinishedRun, tmp_path: Path, width: int, dark: bool
) -> None:
    export(run, PAPER, tmp_path / "out", **SHOWN)
    assert check(tmp_path / "out/summary.html", width=width, dark=dark)["wrong"] == []


@needs_chromium
def test_the_summary_prints_to_one_page(run: FinishedRun, tmp_path: Path) -> None:
    export(run, PAPER, tmp_path / "out", **SHOWN)
    assert "Headline claims" in dom(tmp_path / "out/summary.html")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu"]
    command += [f"--print-to-pdf={tmp_path}/s.pdf", (tmp_path / "out/summary.html").as_uri()]
    subprocess.run(command, capture_output=True, timeout=300, check=True)
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "s.pdf").read_bytes())) == 1
