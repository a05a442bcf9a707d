"""The best epoch: what is held out, how it is scored, what is kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from seqeval.metrics import f1_score as seqeval_f1
from sklearn.metrics import f1_score
from tiny_models import NLI_LABELS, TAGS, finetuned, nli_table, sentence_table, tagging_job, weights

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet, write_json
from mbert_atlas.schemas import TAG_PREDICTIONS
from mbert_atlas.tasks import load_model
from mbert_atlas.tasks.base import CrossEntropy
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training.job import new_model
from mbert_atlas.training.methods import selection as selection_module
from mbert_atlas.training.methods.selection import BestEpoch
from mbert_atlas.training.prediction import predict


@pytest.fixture
def small_run(tmp_path):
    return tagging_job(tmp_path)


@given(
    st.lists(st.sampled_from(["de", "en", "zh"]), min_size=1, max_size=200),
    st.integers(1, 99),
    st.integers(0, 3),
)
def test_every_language_gives_its_share(languages, percent, seed):
    languages = np.array(languages)
    marks = held_out(languages, percent / 100, seed)
    for language in set(languages.tolist()):
        of_language = languages == language
        count, size = int(of_language.sum()), int(marks[of_language].sum())
        assert size == percent * count // 100
        alone = held_out(languages[of_language], percent / 100, seed)
        assert np.array_equal(alone, marks[of_language])  # whatever other languages there are


def scored_again(small_run, metric, seed=0, fraction=0.25):
    """Score the saved model with seqeval or scikit-learn on what was held out."""
    model, labels = load_model(small_run["output_model"])
    store = load_arrays(small_run["train"])
    rows = np.flatnonzero(held_out(store.dense("language"), fraction, seed))
    task = tasks.get("tagging")
    examples = task.examples(store, rows)
    outputs = predict(model, examples, task.forward, description="p")
    gold = [[labels[n] for n in store.ragged("labels")[row] if n >= 0] for row in rows]
    found = [[labels[n] for n in outputs[place]] for place in range(len(rows))]
    assert list(map(len, gold)) == list(map(len, found))
    if metric == "span_macro_f1":
        return seqeval_f1(gold, found, average="macro", zero_division=0)
    return f1_score(np.concatenate(gold), np.concatenate(found), average="macro")


@pytest.mark.filterwarnings("ignore:.* seems not to be NE tag")
@pytest.mark.parametrize("metric", ["macro_f1", "span_macro_f1"])
def test_the_best_epoch_is_kept(small_run, tmp_path, metric, monkeypatch):
    """Three epochs learn, three unlearn: the best one lies in between."""

    class Turning(CrossEntropy):
        steps = 0

        def loss(self, model, batch, step_weight):
            self.steps += 1
            loss = super().loss(model, batch, step_weight)
            return loss if self.steps <= 3 * 4 else -loss

    monkeypatch.setattr("mbert_atlas.tasks.base.Task.objective", Turning)
    sentences = [["un-able", "cats", "sees", "a-dog", "你好", ","][n % 4 :] for n in range(40)]
    tags = [[TAGS[len(word) % 4] for word in words] for words in sentences]
    encode(
        "tagging",
        sentence_table(sentences, tags),
        small_run["encoder"],
        tmp_path / "train",
        labels=TAGS,
        labelled_pieces="non_continuation",
    )
    optimisation = Optimisation(
        learning_rate=0.01, batch_size=8, epochs=6, schedule="constant", token_budget=10_000
    )
    best = BestEpoch(Selection(metric=metric, fraction=0.25))
    log = finetuned(small_run, best, optimisation=optimisation)
    assert log.steps == 6 * 4  # on 30 examples
    assert len(log.scores) == 7
    assert log.epoch == log.scores.index(max(log.scores))
    assert log.epoch in (1, 2, 3, 4)
    assert max(log.scores) > max(log.scores[0], log.scores[-1]) + 0.3
    assert scored_again(small_run, metric) == pytest.approx(max(log.scores), abs=1e-6)


def test_of_equally_good_epochs_the_first_is_kept(small_run, tmp_path):
    log = finetuned(small_run, BestEpoch(Selection(fraction=0.25)))
    best = max(log.scores)
    assert log.scores.count(best) > 1
    assert log.epoch == log.scores.index(best) > 0
    assert scored_again(small_run, "macro_f1") == pytest.approx(best)


def test_weights_that_a_saved_state_refers_to_stay(tmp_path, monkeypatch):
    best, scores = BestEpoch(Selection()), iter([0.1, 0.3, 0.2, 0.4, 0.5, 0.6])
    best._job = SimpleNamespace(state_dir=tmp_path, description="run")
    monkeypatch.setattr(best, "_score", lambda *_: next(scores))

    def kept(epochs):
        for _ in range(epochs):
            best.end_epoch(0, torch.nn.Linear(1, 1))
        assert [path.exists() for path in best.files()] == [True]
        return sorted(path.name for path in (tmp_path / "epochs").iterdir())

    assert kept(1) == ["epoch-0.safetensors"]
    assert kept(2) == ["epoch-1.safetensors"]
    write_json({"methods": [None, best.state]}, tmp_path / "step-3/meta.json")
    assert kept(2) == ["epoch-1.safetensors", "epoch-4.safetensors"]
    (tmp_path / "step-3/meta.json").unlink()
    assert kept(1) == ["epoch-5.safetensors"]


def test_a_short_training_writes_no_weights_but_the_best_are_kept(small_run, tmp_path, monkeypatch):
    """What is written depends on the time between saves; what is kept does not."""
    written, save = [], selection_module.save_file
    monkeypatch.setattr(
        selection_module, "save_file", lambda *args: (written.append(args), save(*args))
    )
    kept = {}
    for seconds in (300, 1e-9):
        optimisation = Optimisation(
            learning_rate=0.01, batch_size=8, epochs=4, checkpoint_seconds=seconds
        )
        finetuned(small_run, BestEpoch(Selection(fraction=0.25)), optimisation=optimisation)
        kept[seconds] = (tmp_path / "model/model.safetensors").read_bytes()
        assert bool(written) == (seconds < 1)
    assert kept[300] == kept[1e-9]


def test_the_model_before_training_competes(small_run, tmp_path):
    optimisation = Optimisation(learning_rate=1e-9, batch_size=8, epochs=2)
    log = finetuned(small_run, BestEpoch(Selection()), optimisation=optimisation)
    assert log.scores == [log.scores[0]] * 3
    assert log.epoch == 0
    first = new_model(small_run["encoder"], tasks.get("tagging"), TAGS, HeadOptions(), seed=1)
    kept, _ = load_model(tmp_path / "model")
    assert weights(kept) == weights(first)


def test_what_is_held_out_is_not_trained_on(small_run, tmp_path, monkeypatch):
    encode("nli", nli_table(40), small_run["encoder"], tmp_path / "pairs", labels=NLI_LABELS)
    seen = []
    collate = TextExamples.collate

    def record(self, indices):
        seen.append((torch.is_grad_enabled(), self.rows[indices]))
        return collate(self, indices)

    monkeypatch.setattr(TextExamples, "collate", record)
    pairs = {**small_run, "task": "nli", "train": tmp_path / "pairs", "evaluate": {}}
    finetuned(pairs, BestEpoch(Selection(seed=3)), train_languages=["de"])
    parts = {
        learning: set(np.concatenate([rows for how, rows in seen if how is learning]).tolist())
        for learning in (True, False)
    }
    german = load_arrays(tmp_path / "pairs").dense("language") == "de"
    held = held_out(np.array(["de"] * int(german.sum())), 0.1, 3)
    assert parts[False] == set(np.flatnonzero(german)[held].tolist())
    assert parts[True] == set(np.flatnonzero(german)[~held].tolist())
    assert len(parts[False]) == 2


@pytest.mark.parametrize(
    ("metric", "score"), [("accuracy", "token_accuracy"), ("span_micro_f1", "span_micro_f1")]
)
def test_a_development_set_chooses_and_all_else_is_trained_on(small_run, tmp_path, metric, score):
    small_run["evaluate"] = {"dev": small_run["train"]}
    best = BestEpoch(Selection(metric=metric, development="dev"), small_run["train"])
    optimisation = Optimisation(learning_rate=0.01, batch_size=8, epochs=3)
    log = finetuned(small_run, best, optimisation=optimisation)
    assert log.examples == 3 * 40
    assert len(log.scores) == 4
    scores = tag_scores(read_parquet(small_run["output_predictions"], TAG_PREDICTIONS))
    found = scores.set_index(["language", "metric"])["value"]["all", score]
    assert found == pytest.approx(100 * max(log.scores))


def test_a_development_set_without_the_language_of_training_is_rejected(small_run, tmp_path):
    best = BestEpoch(Selection(development="dev"), small_run["train"])
    sentences = sentence_table([["cats", "a-dog"]], [["NOUN", "NOUN"]])
    column = sentences.column_names.index("language")
    german = sentences.set_column(column, "language", pa.array(["de"]))
    encode("tagging", german, small_run["encoder"], tmp_path / "german", labels=TAGS)
    job = {**small_run, "train": tmp_path / "german", "evaluate": {}}
    with pytest.raises(DataError, match="language de: there are no examples of this language"):
        finetuned(job, best, train_languages=["de"])


def test_too_few_examples_to_hold_out_are_rejected(small_run, tmp_path):
    with pytest.raises(DataError, match="40 examples are too few to hold out 1% of a language"):
        finetuned(small_run, BestEpoch(Selection(fraction=0.01)))
    assert not (tmp_path / "model").exists()


def test_weights_that_do_not_fit_on_the_disk_are_one_sentence(small_run, tmp_path, monkeypatch):
    def full(tensors, path):
        Path(path).write_text("half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    monkeypatch.setattr(selection_module, "save_file", full)
    often = Optimisation(checkpoint_seconds=1e-9)
    with pytest.raises(AtlasError, match=r"epoch-0\.safetensors: no space left .*free space"):
        finetuned(small_run, BestEpoch(Selection()), optimisation=often)
    assert not list((tmp_path / "state/epochs").glob("*"))
