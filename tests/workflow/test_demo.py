"""The demo, run for real in a copy of the repository, and what its outputs mean."""

import json
import os
import re
import shutil

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from clone import copy_repository, snakemake
from mbert_atlas.analysis.question_answering import score_answers
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.config_reading import load
from mbert_atlas.encoders.loading import load_tokenizer

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
    frame = measured(demo, "tanti2021/table1_xnli.csv").astype({"value": float})
    initial = frame[frame.condition == "initial"]
    accuracy = initial[initial.metric == "accuracy_language_wikipedia"]
    assert set(accuracy.protocol) == {"published", "corrected"}
    assert accuracy["value"].min() > 95, accuracy


def test_experiments_of_language_specificity_are_complete(demo):
    for artifact in ("table1", "table2", "table3"):
        for task in ("udpos", "xnli"):
            frame = measured(demo, f"tanti2021/{artifact}_{task}.csv").astype({"value": float})
            frame = frame[frame.artifact == artifact]
            score = "v_measure" if artifact == "table3" else "macro_f1"
            for what in ("label", "language_target", "language_wikipedia"):
                rows = frame[(frame.metric == f"{score}_{what}") & (frame.target == "")]
                assert len(rows) == 2 * 2  # conditions, protocols; one seed
                assert rows["value"].between(0, 100).all()
    choices = measured(demo, "tanti2021/table5.csv")
    assert len(choices[choices.metric == "classifier_lr"]) == 8 * 2
    items = measured(demo, "tanti2021/appendixA.csv").set_index(["task", "condition", "protocol"])
    assert items["value"].astype(int).loc["udpos", "train", "published"].item() == 1080
    assert items["value"].astype(int).loc["udpos", "val", "published"].item() == 120
    # The test set has a fourth language, in which nothing is evaluated.
    assert items["value"].astype(int).loc["xnli", "test", "published"].item() == 3 * 300
    points = measured(demo, "tanti2021/appendixB.csv").set_index(["task", "protocol"])
    assert points["value"].astype(int).loc["xnli", "published"].item() == 3 * 3 * 40


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
    tuned = tagging[tagging.condition == "fine_tuned"]
    words = tuned[(tuned.metric == "accuracy") & (tuned.target == "en")]
    assert words["value"].astype(float).min() > 90


def test_entities_and_answers_are_found_in_english(demo):
    """Well above nothing, and above a random span of some fifteen words."""
    tagged = pq.read_table(demo / "results/demo/runs/ner/seed1/predictions.parquet")
    scores = tag_scores(tagged, outside="O").set_index(["language", "metric"])["value"]
    assert scores["en", "span_micro_f1"] > 60
    answered = pq.read_table(demo / "results/demo/runs/qa/seed1/predictions.parquet")
    english = answered.filter(pc.equal(answered["dataset"], "squad-dev"))
    assert score_answers(english).f1.mean() > 0.25


def test_every_table_has_its_tests_and_conditions(demo):
    paper = load([demo / "config/demo.yaml"], demo).efimov2022
    for artifact, table in paper.tables.items():
        frame = measured(demo, f"efimov2022/{artifact}.csv")
        metric = "gain_over_original" if table.gains_over else frame["metric"]
        shown = frame[(frame["metric"] == metric) & (frame["seed"] != "")]
        assert set(shown["task"]) == set(table.tests), artifact
        assert set(shown["protocol"]) == {"published", "corrected"}
        conditions = {name for name, family in table.conditions.items() if family}
        conditions.discard(table.gains_over)
        assert conditions <= set(shown["condition"]), artifact
        tested = shown["condition"].isin(table.against)
        stars = frame["metric"].str.contains("_significant_vs_")
        assert stars.any() == tested.any(), artifact
    extra = measured(demo, "efimov2022/table3.csv")["metric"]
    for what in ("p_value", "holm_p_value", "gain_low", "gain_high"):
        assert f"token_f1_{what}_vs_original" in set(extra)


def test_the_extended_encoder_is_the_old_one_and_more(demo):
    encoders = demo / "results/demo/encoders"
    folders = [encoders / name for name in ("mbert/model", "embert-hi/extended", "embert-hi/model")]
    old, extended, new = (load_tokenizer(folder).get_vocab() for folder in folders)
    assert old.items() < extended.items() == new.items()
    before, start, after = (
        load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
        for folder in folders
    )
    assert start[: len(before)].equal(before)
    assert len(start) == len(after) == len(new)
    assert (after - start).abs().amax(1)[len(before) :].min() > 0


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
    # Figure 1 by language and protocol, Figure 2 by protocol, eight tables; of tanti2021 two tables
    # by task, Figures 3 to 6 by protocol.
    assert len(figures) == 4 + 2 + 8 + 4 + 8
    for path in figures:
        assert path.with_suffix(".png").stat().st_size > 10_000
        assert path.read_text().count("<path") > 20


def test_the_report_holds_every_figure_and_table_with_a_caption(demo):
    page = demo / "results/demo/report.html"
    done = snakemake(demo, "all", "--profile", "local", *CONFIG, "--report", str(page))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    text = page.read_text()
    for name in ("figure1.hi.published.svg", "figure6.corrected.svg", "appendixA.html"):
        assert name in text
    # How many points a map shows comes from the config, which says 5 tokens here.
    assert "at most 5 tokens of each language and label" in text.replace("\\n", " ")


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
    # On each of them three tasks, with and without replay; and translated questions in Hindi.
    assert planned["finetune"] == 4 * 3 * 2 + 1
    assert "pretrain" not in planned
    assert "align" not in planned


def test_package_code_reruns_what_uses_it(demo):
    module = demo / "mbert_atlas/analysis/clustering.py"
    before = module.read_text()
    try:
        module.write_text(before + "\nCHANGED = 1\n")
        planned = plan(demo)
        # The vectors are temporary, so all that reads them comes again; training does not.
        assert planned["cluster_points"] == planned["project_points"] == 8
        assert planned["extract_features"] == 8
        assert "finetune" not in planned
        assert "measure_transfer" not in planned
        module.write_text(before + "\n# only words\n")
        assert plan(demo) == {}
    finally:
        module.write_text(before)
