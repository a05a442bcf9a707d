"""What the demo shows of the paper."""

import json

import pandas as pd
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from safetensors.torch import load_file

from clone import left_to_do, measured
from mbert_atlas.analysis.answers import score_answers
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.papers import load

pytestmark = pytest.mark.workflow


def test_adjustment_brings_related_words_together(highlights):
    frame = measured(highlights, "efimov2022/figure1").astype({"value": float})
    ratio = frame[frame.metric == "mean_ratio"].groupby(["protocol", "target", "condition"])
    mean = ratio["value"].mean().unstack()
    assert (mean["adjusted"] < mean["original"]).all(), mean
    auc = frame[frame.metric == "separation_auc"].groupby(["protocol", "condition"])
    area = auc["value"].mean().unstack()
    assert (area["adjusted"] > area["original"]).all(), area


def test_replay_keeps_what_fine_tuning_alone_forgets(highlights):
    frame = measured(highlights, "efimov2022/figure1").astype({"value": float})
    auc = frame[frame.metric == "separation_auc"].groupby(["protocol", "target", "condition"])
    area = auc["value"].mean().unstack()
    assert (area["adjusted_continual-nli"] > area["adjusted_nli"]).all(), area


def test_alignment_is_close_to_the_truth(highlights):
    for language in ("ru", "hi"):
        path = highlights / f"results/demo/alignment/wikimatrix/{language}.scores.json"
        scores = json.loads(path.read_text())
        assert scores["sentences"] >= 100
        assert scores["aer"] < 0.20, scores


def test_inference_beats_guessing_and_transfers(highlights):
    paths = [
        highlights / f"results/demo/runs/nli/seed{seed}/predictions.parquet" for seed in (1, 2)
    ]
    predictions = pd.concat((pq.read_table(path).to_pandas() for path in paths), ignore_index=True)
    right = (predictions.gold == predictions.prediction)[predictions.dataset == "xnli"]
    by_language = right.groupby(predictions.language).mean()
    assert by_language["en"] > 0.55, by_language  # three classes
    assert by_language[["ru", "hi"]].mean() > 0.38, by_language  # not trained on


def test_entities_and_answers_are_found_in_english(demo):
    """Well above nothing, and above a random span of some fifteen words."""
    tagged = pq.read_table(demo / "results/demo/runs/ner/seed1/predictions.parquet")
    scores = tag_scores(tagged).set_index(["language", "metric"])["value"]
    assert scores["en", "span_micro_f1"] > 60
    answered = pq.read_table(demo / "results/demo/runs/qa/seed1/predictions.parquet")
    english = answered.filter(pc.equal(answered["dataset"], "squad-dev"))
    assert score_answers(english)["f1"].mean() > 0.25


def test_every_table_has_its_tests_and_conditions(demo):
    config = load([demo / "config/demo.yaml"], demo)
    for artifact, table in config.efimov2022.tables.items():
        frame = measured(demo, f"efimov2022/{artifact}")
        metric = "gain_over_original" if table.gains_over else frame["metric"]
        shown = frame[(frame["metric"] == metric) & (frame["seed"] != "")]
        tests = {
            name
            for name, test in table.tests.items()
            if {*(test.languages or table.languages)} & {*config.datasets[test.dataset].languages}
        }
        assert set(shown["task"]) == tests, artifact
        assert set(shown["protocol"]) == {"published", "corrected"}
        conditions = {name for name, family in table.conditions.items() if family}
        conditions.discard(table.gains_over)
        assert conditions <= set(shown["condition"]), artifact
        tested = shown["condition"].isin(table.against)
        stars = frame["metric"].str.contains("_significant_vs_")
        assert stars.any() == tested.any(), artifact
    extra = measured(demo, "efimov2022/table3")["metric"]
    for what in ("p_value", "holm_p_value", "gain_low", "gain_high"):
        assert f"token_f1_{what}_vs_original" in set(extra)


def test_the_extended_encoder_is_the_old_one_and_more(demo):
    encoders = demo / "results/demo/encoders"
    names = ("mbert/shipped", "embert-hi/extended", "embert-hi/model")
    folders = [encoders / name for name in names]
    old, extended, new = (load_tokenizer(folder).get_vocab() for folder in folders)
    assert old.items() < extended.items() == new.items()
    before, start, after = (
        load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
        for folder in folders
    )
    assert start[: len(before)].equal(before)
    assert len(start) == len(after) == len(new)
    assert (after - start).abs().amax(1)[len(before) :].min() > 0


def test_protocols_differ_where_they_should(highlights):
    table = measured(highlights, "efimov2022/table2")
    accuracy = table[table.metric == "accuracy"].astype({"value": float})
    by = accuracy.pivot_table("value", ["condition", "target", "seed"], "protocol")
    assert (by.loc["original", "published"] == by.loc["original", "corrected"]).all()
    assert (by.loc["adjusted", "published"] != by.loc["adjusted", "corrected"]).any()


def test_one_hyperparameter_reruns_one_family_and_what_depends_on_it(demo, tmp_path):
    overlay = tmp_path / "change.yaml"
    overlay.write_text("runs: {adjusted: {corrected: {sentences: 1400}}}\n")
    planned = left_to_do(demo, str(overlay))
    assert planned["adjust"] == 4  # two languages, two seeds, one protocol
    # Two languages and two seeds of NLI, two seeds of NER and of QA, one of translated questions;
    # with replay one seed of each but the last.
    assert planned["finetune"] == 2 * 2 + 2 + 2 + 1 + 2 + 1 + 1
    assert "pretrain" not in planned
    assert "align" not in planned
