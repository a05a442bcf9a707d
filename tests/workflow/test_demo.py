"""The demo, run for real in a copy of the repository, whatever papers there are."""

import os
import re
import shutil

import pandas as pd
import pytest
import torch
import yaml

from clone import DEMO, copy_repository, jobs, left_to_do, snakemake
from mbert_atlas.papers import names

pytestmark = pytest.mark.workflow


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
    found = pd.read_csv(demo / "results/demo/claims.csv", keep_default_na=False)
    for paper in names():
        stated = yaml.safe_load((demo / f"mbert_atlas/papers/{paper}/claims.yaml").read_text())
        rows = found[found.paper == paper]
        assert rows["id"].tolist() == [name for name in stated["claims"] for _ in range(2)]
        assert set(rows["protocol"]) == {"published", "corrected"}
        page = (demo / f"results/demo/papers/{paper}.html").read_text()
        assert [name for name in stated["claims"] if f'id="{name}"' not in page] == []
        assert "in this little world" in page
        assert re.search(r'<img src="data:image/', page)
        assert not re.search(r'(?:src|href)="https?:', page)
    assert set(found["verdict"]) <= {"holds", "does not hold", "undecided", "not run"}
    decided = found[found["verdict"] != "not run"]
    assert (decided["basis"] != "").all()
    assert len(decided) > len(found) / 2


def test_the_index_leads_to_what_is_there(demo, report):
    folder = demo / "results/demo"
    page = (folder / "index.html").read_text()
    targets = {target.partition("#")[0] for target in re.findall(r'(?:href|src)="([^"]+)"', page)}
    assert {"scorecard.html", "claims.csv", "cost.csv", "report.html"} <= targets
    assert [target for target in targets if not (folder / target).exists()] == []
    assert not any(target.startswith(("/", "..")) for target in targets)


def test_highlights_after_everything_cost_pages_alone(demo):
    """Claims about what they don't show are not run there; the rest is as over everything."""
    target = ["highlights", "--profile", "local", *DEMO]
    assert jobs(snakemake(demo, *target, "-n")) == {}  # made before everything
    shutil.rmtree(demo / "results/demo/highlights")
    planned = jobs(snakemake(demo, *target, "-n"))
    assert set(planned) - {"total", "highlights", "write_replication"} == {
        *("judge_claims", "cost", "write_index"),
    }
    done = snakemake(demo, *target, "--cores", "2")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert left_to_do(demo) == {}
    folder = demo / "results/demo"
    few, everything = (
        pd.read_csv(folder / name, keep_default_na=False)
        for name in ("highlights/claims.csv", "claims.csv")
    )
    assert few["id"].tolist() == everything["id"].tolist()
    run = few[few["verdict"] != "not run"]
    assert len(run) >= 10
    assert run.equals(everything.loc[run.index])
    page = (folder / "highlights/index.html").read_text()
    targets = {target.partition("#")[0] for target in re.findall(r'(?:href|src)="([^"]+)"', page)}
    assert [target for target in targets if not (folder / "highlights" / target).exists()] == []


def test_costs_are_booked_on_papers_and_stages(demo):
    cost = pd.read_csv(demo / "results/demo/cost.csv")
    assert {*names(), "shared"} == set(cost.paper)
    assert cost["jobs"].sum() >= 50
    training = cost[cost.stage == "training"]
    assert (training["cpu_hours"] > 0).all()
    # Asking for a GPU is not using one.
    used = torch.cuda.is_available()
    assert (training["gpu_hours"] > 0).all() == used


def test_figures_are_drawings_with_text(demo):
    figures = sorted((demo / "results/demo/figures").rglob("*.svg"))
    assert {path.parent.name for path in figures} == set(names())
    for path in figures:
        assert path.with_suffix(".png").stat().st_size > 4_000
        assert path.read_text().count("<path") > 20


def test_the_report_holds_every_figure_and_table(demo, report):
    assert len(report.encode()) < 10_000_000
    opening = report.partition("var workflow_desc")[2].partition("var ")[0]
    assert "app.showCategory(" in opening
    assert "System Message" not in opening  # of docutils, where the page is not as it should be
    found = [
        demo / "results/demo/alignment.html",
        *(demo / "results/demo/figures").rglob("*.png"),
        *(demo / "results/demo/tables").rglob("*.html"),
    ]
    assert [path.name for path in found if path.name not in report] == []


def test_every_job_wrote_its_log_and_nothing_is_half_written(demo):
    logs = sorted((demo / "results/demo/logs").rglob("*.log"))
    assert len(logs) > 50
    assert all(path.stat().st_size > 0 for path in logs)
    assert [path for path in (demo / "results").rglob("*") if path.name.endswith(".partial")] == []
    assert not any((demo / "results/demo/state").rglob("*.safetensors"))


def test_a_second_run_has_nothing_to_do(demo):
    assert left_to_do(demo) == {}


def test_a_fresh_clone_with_results_copied_in_has_nothing_to_do(demo, tmp_path):
    clone = copy_repository(tmp_path)
    for path in clone.rglob("*"):
        os.utime(path)  # a clone's files are new
    for name in ("results", ".snakemake"):
        shutil.copytree(demo / name, clone / name, copy_function=shutil.copy2, symlinks=True)
    assert left_to_do(clone) == {}
