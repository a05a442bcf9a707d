"""The demo, run for real in a copy of the repository, whatever papers there are."""

import os
import re
import shutil

import pandas as pd
import pytest
import torch

from clone import copy_repository, left_to_do
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
        assert path.with_suffix(".png").stat().st_size > 10_000
        assert path.read_text().count("<path") > 20


def test_the_report_holds_every_figure_and_table(demo, report):
    found = [
        *(demo / "results/demo/figures").rglob("*.svg"),
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
