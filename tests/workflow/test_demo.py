"""The demo, run for real in a copy of the repository, and what its outputs mean."""

import json
import os
import re
import shutil

import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from clone import copy_repository, snakemake

pytestmark = pytest.mark.workflow
CONFIG = ["--configfile", "config/demo.yaml"]


@pytest.fixture(scope="module")
def demo(repository):
    """Run everything once; the tests below look at it, and the last ones change it."""
    cores = str(os.cpu_count() or 1)
    done = snakemake(
        repository, "all", "--profile", "local", "--cores", cores, *CONFIG, timeout=1500
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return repository


def measured(demo, name):
    return pd.read_csv(demo / "results/demo/measurements" / name, keep_default_na=False)


def test_adjustment_brings_related_words_together(demo):
    frame = measured(demo, "efimov2022/figure1.csv").astype({"value": float})
    ratio = frame[frame.metric == "mean_ratio"].groupby(["protocol", "target", "condition"])
    mean = ratio["value"].mean().unstack()
    assert (mean["adjusted"] < mean["original"]).all(), mean
    auc = frame[frame.metric == "separation_auc"].groupby(["protocol", "condition"])
    area = auc["value"].mean().unstack()
    assert (area["adjusted"] > area["original"]).all(), area


def test_replay_keeps_what_fine_tuning_alone_forgets(demo):
    frame = measured(demo, "efimov2022/figure1.csv").astype({"value": float})
    auc = frame[frame.metric == "separation_auc"].groupby(["protocol", "target", "condition"])
    area = auc["value"].mean().unstack()
    assert (area["adjusted_continual-nli"] > area["adjusted_nli"]).all(), area


def test_languages_are_identified(demo):
    frame = measured(demo, "tanti2021/languages.csv").astype({"value": float})
    accuracy = frame[frame.metric == "accuracy_language_wikipedia"]
    assert set(accuracy.protocol) == {"published", "corrected"}
    assert accuracy["value"].min() > 95, accuracy


def test_alignment_is_close_to_the_truth(demo):
    for language in ("ru", "hi"):
        path = demo / f"results/demo/alignment/wikimatrix/{language}.scores.json"
        scores = json.loads(path.read_text())
        assert scores["sentences"] >= 100
        assert scores["aer"] < 0.20, scores


def test_inference_and_tagging_beat_guessing(demo):
    right = []
    for seed in (1, 2):
        path = demo / f"results/demo/runs/nli/seed{seed}/predictions.parquet"
        predictions = pq.read_table(path).to_pandas()
        english = predictions[predictions.language == "en"]
        right.append((english.gold == english.prediction).mean())
    assert sum(right) / len(right) > 0.55, right  # three classes
    tagging = measured(demo, "tanti2021/table1_udpos.csv")
    words = tagging[(tagging.metric == "accuracy") & (tagging.target == "en")]
    assert words["value"].astype(float).min() > 90


def test_protocols_differ_where_they_should(demo):
    table = measured(demo, "efimov2022/table2.csv")
    accuracy = table[table.metric == "accuracy"].astype({"value": float})
    by = accuracy.pivot_table("value", ["condition", "target", "seed"], "protocol")
    assert (by.loc["original", "published"] == by.loc["original", "corrected"]).all()
    assert (by.loc["adjusted", "published"] != by.loc["adjusted", "corrected"]).any()


def test_scorecard_has_every_reported_cell_and_says_it_is_not_comparable(demo):
    card = pd.read_csv(demo / "results/demo/scorecard.csv", keep_default_na=False)
    for paper in ("efimov2022", "tanti2021"):
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
    assert {"efimov2022", "tanti2021", "shared"} <= set(cost.paper)
    assert cost["jobs"].sum() >= 50
    training = cost[cost.stage == "training"]
    assert (training["cpu_hours"] > 0).all()
    # Asking for a GPU is not using one.
    used = torch.cuda.is_available()
    assert (training["gpu_hours"] > 0).all() == used


def test_figures_are_drawings_with_text(demo):
    figures = sorted((demo / "results/demo/figures").rglob("*.svg"))
    assert len(figures) == 7
    for path in figures:
        assert path.with_suffix(".png").stat().st_size > 10_000
        assert path.read_text().count("<path") > 20


def test_every_job_wrote_its_log_and_nothing_is_half_written(demo):
    logs = sorted((demo / "results/demo/logs").rglob("*.log"))
    assert len(logs) > 50
    assert all(path.stat().st_size > 0 for path in logs)
    assert [path for path in (demo / "results").rglob("*") if path.name.endswith(".partial")] == []
    assert not any((demo / "results/demo/state").rglob("*.safetensors"))


def plan(folder, *arguments):
    """Rules that would run, with their number."""
    done = snakemake(folder, "all", "-n", "--profile", "local", *CONFIG, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout + done.stderr
    found = re.search(r"Job stats:\n.*?\n-[- ]+\n(.*?)\n\n", text, re.S)
    rows = [line.split() for line in found.group(1).splitlines()] if found else []
    return {name: int(count) for name, count in rows if name not in ("total", "all")}


def test_a_second_run_has_nothing_to_do(demo):
    assert plan(demo) == {}


def test_a_fresh_clone_with_results_copied_in_has_nothing_to_do(demo, tmp_path):
    clone = copy_repository(tmp_path)
    for path in clone.rglob("*"):
        os.utime(path)  # a clone's files are new
    for name in ("results", ".snakemake"):
        shutil.copytree(demo / name, clone / name, copy_function=shutil.copy2, symlinks=True)
    assert plan(clone) == {}


def test_one_hyperparameter_reruns_one_family_and_what_depends_on_it(demo, tmp_path):
    overlay = tmp_path / "change.yaml"
    overlay.write_text("runs: {adjusted: {corrected: {sentences: 1400}}}\n")
    planned = plan(demo, "--configfile", "config/demo.yaml", str(overlay))
    assert planned["adjust"] == 4  # two languages, two seeds, one protocol
    assert planned["finetune"] == 8  # on each of them, with and without replay
    assert "pretrain" not in planned
    assert "align" not in planned


def test_package_code_reruns_what_uses_it(demo):
    module = demo / "mbert_atlas/analysis/clustering.py"
    before = module.read_text()
    try:
        module.write_text(before + "\nCHANGED = 1\n")
        planned = plan(demo)
        assert planned["project_languages"] == 1
        assert "finetune" not in planned
        assert "probe_language_identification" not in planned
        module.write_text(before + "\n# only words\n")
        assert plan(demo) == {}
    finally:
        module.write_text(before)
