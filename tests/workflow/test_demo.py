"""The demo, run for real in a copy of the repository, whatever papers there are."""

import os
import re
import shutil

import pandas as pd
import pytest
import torch
import yaml
from axe import check, needs_axe
from test_wording import odd_words, words_of

from clone import DEMO, copy_repository, jobs, left_to_do, snakemake, succeeded
from mbert_atlas.papers import names
from mbert_atlas.scorecard.verdicts import VERDICTS

pytestmark = pytest.mark.workflow


def claims_in(folder):
    """Claims with verdicts and the papers' pages in a folder of results; they have to fit."""
    claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
    assert set(claims["verdict"]) <= set(VERDICTS)
    run = claims[claims["verdict"] != "not run"]
    assert ((run["basis"] != "") | (run["gate"] != "")).all()
    return claims


def linked(page):
    """Files that a page of results links to, relative to it."""
    targets = {target.partition("#")[0] for target in re.findall(r'(?:href|src)="([^"]+)"', page)}
    return {target for target in targets if target and not target.startswith("data:")}


def check_figures(folder):
    figures = sorted((folder / "figures").rglob("*.svg"))
    for path in figures:
        assert path.with_suffix(".png").stat().st_size > 4_000
        assert path.read_text().count("<path") > 20
    return {path.parent.name for path in figures}


def check_logs(folder):
    """Every job wrote its log, and nothing is half written."""
    logs = sorted((folder / "logs").rglob("*.log"))
    assert len(logs) > 50
    assert all(path.stat().st_size > 0 for path in logs)
    assert [path for path in folder.rglob("*") if path.name.endswith(".partial")] == []
    assert not any((folder / "state").rglob("*.safetensors"))


def test_highlights_are_judged_and_drawn(highlights):
    folder = highlights / "results/demo"
    claims = claims_in(folder / "highlights")
    assert (claims["verdict"] != "not run").sum() >= 10
    assert set(claims["paper"]) == set(names())
    page = (folder / "highlights/index.html").read_text()
    assert [path for path in linked(page) if not (folder / "highlights" / path).exists()] == []
    assert check_figures(folder) <= set(names())
    assert list((folder / "figures").rglob("*.svg"))
    check_logs(folder)


def test_every_training_has_a_curve_on_the_page(highlights):
    folder = highlights / "results/demo"
    runs = {path.parent for path in (folder / "runs").glob("*/*/predictions.parquet")}
    runs |= {path.parent for path in (folder / "runs").glob("*/*/counts.json")}
    for run in runs:
        steps = pd.read_parquet(run / "training.parquet")["step"]
        assert 1 < len(steps) < 60
        assert steps.is_monotonic_increasing
        assert steps.is_unique
    page = (folder / "highlights/training.html").read_text()
    drawn = re.findall(r'<figure id="(.+?)">', page)
    assert {run.parent.name for run in runs} <= {name.partition("/")[2] for name in drawn}
    assert len(drawn) == len(set(drawn))


def test_pages_use_the_words_of_the_field(highlights):
    pages = list((highlights / "results/demo").rglob("*.html"))
    assert pages
    for page in pages:
        assert odd_words(words_of(page.read_text())) == [], page.name


@needs_axe
def test_the_demos_pages_pass_an_accessibility_check(highlights):
    folder = highlights / "results/demo/highlights"
    smallest = min(folder.glob("papers/*.html"), key=lambda path: path.stat().st_size)
    for page in (folder / "index.html", folder / "claims.html", smallest):
        found = check(page, width=500, dark=False)
        assert found["wrong"] == [], page.name
        assert found["size"][1] <= 500, page.name


def test_highlights_run_once(highlights, tmp_path):
    """There and in a fresh clone with the results copied in, nothing is left to do."""
    assert left_to_do(highlights, target="highlights") == {}
    clone = copy_repository(tmp_path)
    for path in clone.rglob("*"):
        os.utime(path)  # a clone's files are new
    for name in ("results", ".snakemake"):
        shutil.copytree(highlights / name, clone / name, copy_function=shutil.copy2, symlinks=True)
    assert left_to_do(clone, target="highlights") == {}


def test_scorecard_has_every_reported_cell_and_says_it_is_not_comparable(demo):
    card = pd.read_csv(demo / "results/demo/scorecard.csv", keep_default_na=False)
    for paper in names():
        reported = pd.read_csv(demo / f"resources/reported/{paper}.csv")
        plain = reported[~reported.metric.str.contains("_significant_vs_")]
        values = card[(card.paper == paper) & (card.kind == "value") & (card.reported != "")]
        assert len(values) == len(plain)
    assert "reproduced" not in set(card.published_verdict)
    page = (demo / "results/demo/scorecard.html").read_text()
    assert "not comparable" in page
    assert "http://" not in re.sub(r"http://www\.w3\.org/\S+", "", page)


def test_every_claim_has_a_verdict_under_both_protocols(demo):
    claims = claims_in(demo / "results/demo")
    for paper in names():
        stated = yaml.safe_load((demo / f"mbert_atlas/papers/{paper}/claims.yaml").read_text())
        rows = claims[claims.paper == paper]
        assert rows["id"].tolist() == [name for name in stated["claims"] for _ in range(2)]
        assert set(rows["protocol"]) == {"published", "corrected"}
        page = (demo / f"results/demo/papers/{paper}.html").read_text()
        assert [name for name in stated["claims"] if f'id="{name}"' not in page] == []
        assert "on synthetic data" in page
        assert re.search(r'<img src="data:image/', page)
        assert not re.search(r'(?:src|href)="https?:', page)
    assert (claims["verdict"] != "not run").sum() > len(claims) / 2


def test_the_index_links_existing_files(demo):
    folder = demo / "results/demo"
    targets = linked((folder / "index.html").read_text())
    assert {"scorecard.html", "claims.csv", "cost.csv"} <= targets
    assert [target for target in targets if not (folder / target).exists()] == []
    assert not any(target.startswith(("/", "..")) for target in targets)


def test_highlights_after_everything_rewrite_only_pages(demo):
    """Claims about other artifacts are not run there; the rest is about the same numbers.

    Intervals differ, since the seed variance is pooled over fewer cells.
    """
    target = ["highlights", "--profile", "local", *DEMO]
    assert left_to_do(demo, target="highlights") == {}
    shutil.rmtree(demo / "results/demo/highlights")
    planned = jobs(snakemake(demo, *target, "-n"))
    assert set(planned) - {"total", "highlights", "write_replication"} == {
        *("judge_claims", "cost", "trace_artifacts", "write_index"),
    }
    succeeded(snakemake(demo, *target, "--cores", "2"))
    assert left_to_do(demo) == {}
    few, everything = (claims_in(demo / "results/demo" / name) for name in ("highlights", ""))
    assert few["id"].tolist() == everything["id"].tolist()
    run = few[few["verdict"] != "not run"]
    assert len(run) >= 10
    same, is_mean = everything.loc[run.index], run["cell"] == ""
    assert run["cells"].equals(same["cells"])
    assert run.loc[is_mean, "effect"].equals(same.loc[is_mean, "effect"])


def test_costs_are_attributed_to_papers_and_stages(demo):
    cost = pd.read_csv(demo / "results/demo/cost.csv")
    assert {*names(), "shared"} == set(cost.paper)
    assert cost["jobs"].sum() >= 50
    training = cost[cost.stage == "training"]
    assert (training["cpu_hours"] > 0).all()
    # A job that requests a GPU may not have used one.
    used = torch.cuda.is_available()
    assert (training["gpu_hours"] > 0).all() == used


def test_every_paper_has_figures(demo):
    assert check_figures(demo / "results/demo") == set(names())
    check_logs(demo / "results/demo")


def test_the_report_holds_every_figure_and_table(demo, report):
    assert len(report.encode()) < 12_000_000
    opening = report.partition("var workflow_desc")[2].partition("var ")[0]
    assert "means: on synthetic data with a small encoder." in opening
    assert "app.showCategory(" in opening
    assert "System Message" not in opening  # of docutils, where the page has a mistake
    shown = [
        demo / "results/demo/alignment.html",
        *(demo / "results/demo/figures").rglob("*.png"),
        *(demo / "results/demo/tables").rglob("*.html"),
    ]
    assert [path.name for path in shown if path.name not in report] == []
