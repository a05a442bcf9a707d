"""Fine-tuning: what it learns and writes, going on after a kill, the best epoch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from seqeval.metrics import f1_score as seqeval_f1
from sklearn.metrics import f1_score
from tiny_models import (
    NLI_LABELS,
    TAGS,
    make_encoder,
    make_tokenizer,
    nli_table,
    sentence_table,
    weights,
)

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.training import HeadOptions, Optimisation, Selection
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS, TAGGED_SENTENCES
from mbert_atlas.tasks.base import CrossEntropy, load_model
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training import selection as selection_module
from mbert_atlas.training.finetune import finetune, new_model
from mbert_atlas.training.loop import predict


def test_the_batch_hardly_changes_a_prediction(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    encoder = make_encoder(tmp_path, tokenizer)
    task = tasks.get("inference")
    encode(task.name, nli_table(40), tokenizer, tmp_path / "s", labels=NLI_LABELS)
    model = new_model(encoder, task, NLI_LABELS, HeadOptions(), seed=1)
    examples = task.examples(load_arrays(tmp_path / "s"))
    one, many, again = (
        predict(model, examples, task.forward, description="p", token_budget=budget).values
        for budget in (16, 2000, 2000)
    )
    np.testing.assert_allclose(one, many, atol=1e-6)
    np.testing.assert_array_equal(many, again)
    padded = task.examples(load_arrays(tmp_path / "s"), pad_multiple=8)
    assert padded.collate(np.arange(3))["input_ids"].shape[1] % 8 == 0
    wide = predict(model, padded, task.forward, description="p").values
    np.testing.assert_allclose(wide, many, atol=1e-6)


@pytest.fixture
def small_run(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    sentences = [["the", "cat", "sees", "a", "dog", ","][: 2 + n % 5] for n in range(40)]
    tags = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB", ",": "PUNCT"}
    table = sentence_table(sentences, [[tags[word] for word in words] for words in sentences])
    encode("tagging", table, tokenizer, tmp_path / "train", labels=TAGS)
    return {
        "task": "tagging",
        "encoder": make_encoder(tmp_path, tokenizer),
        "train": tmp_path / "train",
        "evaluate": {"ud": tmp_path / "train"},
        "optimisation": Optimisation(learning_rate=5e-3, batch_size=8, epochs=12),
        "seed": 1,
        "output_model": tmp_path / "model",
        "output_predictions": tmp_path / "predictions.parquet",
        "state_dir": tmp_path / "state",
    }


def test_finetuning_learns_and_writes_model_and_predictions(small_run, tmp_path):
    finetune(**small_run)
    table = read_parquet(tmp_path / "predictions.parquet", TAG_PREDICTIONS)
    assert table.num_rows == 40
    rows = table.to_pylist()
    assert [row["example_id"] for row in rows] == [f"s{n}" for n in range(40)]
    pairs = [pair for row in rows for pair in zip(row["gold"], row["prediction"], strict=True)]
    assert sum(gold == prediction for gold, prediction in pairs) > 0.9 * len(pairs)
    model, labels = load_model(tmp_path / "model")
    assert labels == TAGS
    task = tasks.get("tagging")
    examples = task.examples(load_arrays(tmp_path / "train"))
    outputs = predict(model, examples, task.forward, description="p", rows=examples.label_counts)
    assert task.decode(examples, outputs, labels, "ud").equals(table)


def test_finetuning_finds_named_entities(small_run, tmp_path):
    sentences = [["the", "cat", "dog", "sees", ","][n % 2 : 3 + n % 3] for n in range(40)]
    tag_of = {"the": "O", "cat": "B-PER", "dog": "I-PER", "sees": "O", ",": "O"}
    table = pa.table(
        {
            "id": [f"s{n}" for n in range(40)],
            "language": ["hi"] * 40,
            "split": ["train"] * 40,
            "forms": sentences,
            "ner_tags": [[tag_of[word] for word in words] for words in sentences],
        },
        schema=TAGGED_SENTENCES,
    )
    tags = ["O", "B-PER", "I-PER"]
    task = tasks.get("named_entities")
    encode(task.name, table, small_run["encoder"], tmp_path / "entities", labels=tags)
    finetune(
        **{
            **small_run,
            "task": "named_entities",
            "train": tmp_path / "entities",
            "evaluate": {"wikiann": tmp_path / "entities"},
        }
    )
    found = read_parquet(tmp_path / "predictions.parquet", TAG_PREDICTIONS)
    scores = tag_scores(found, outside="O").set_index(["language", "metric"])["value"]
    assert scores["hi", "span_micro_f1"] > 90
    assert found["gold"].to_pylist() == table["ner_tags"].to_pylist()
    assert load_model(tmp_path / "model")[1] == tags
    with pytest.raises(DataError, match="encoded for named_entities, not for tagging"):
        finetune(**{**small_run, "train": tmp_path / "entities"})


def test_finetuning_predicts_the_languages_asked_for(small_run, tmp_path):
    run_of_pairs = {
        **small_run,
        "task": "inference",
        "train": tmp_path / "pairs",
        "evaluate": {"xnli": tmp_path / "pairs", "all": tmp_path / "pairs"},
        "languages": {"xnli": ["de"]},
        "optimisation": Optimisation(epochs=1),
    }
    encode("inference", nli_table(9), small_run["encoder"], tmp_path / "pairs", labels=NLI_LABELS)
    finetune(**run_of_pairs)
    table = read_parquet(tmp_path / "predictions.parquet", CLASS_PREDICTIONS)
    found = table.group_by(["dataset", "language"]).aggregate([([], "count_all")]).to_pylist()
    assert {(row["dataset"], row["language"]): row["count_all"] for row in found} == {
        ("xnli", "de"): 5,
        ("all", "de"): 5,
        ("all", "en"): 4,
    }
    with pytest.raises(DataError, match="language fr"):
        finetune(**{**run_of_pairs, "languages": {"xnli": ["fr"]}})


def test_finetuning_refuses_stores_that_do_not_fit(small_run, tmp_path):
    table = sentence_table([["the"]], [["DET"]])
    encode("tagging", table, tmp_path / "tokenizer", tmp_path / "other", labels=["DET"])
    with pytest.raises(DataError, match="differ from the training data's"):
        finetune(**{**small_run, "evaluate": {"ud": tmp_path / "other"}})
    (tmp_path / "elsewhere").mkdir()
    foreign = make_encoder(tmp_path / "elsewhere", small_run["encoder"])
    text = (foreign / "tokenizer.json").read_text("utf-8")
    (foreign / "tokenizer.json").write_text(text + "\n", "utf-8")
    with pytest.raises(DataError, match="not encoded by the tokenizer"):
        finetune(**{**small_run, "encoder": foreign})
    with pytest.raises(DataError, match="encoded for tagging, not for inference"):
        finetune(**{**small_run, "task": "inference"})
    long = sentence_table([["the"] * 90], [["DET"] * 90])
    encode("tagging", long, tmp_path / "tokenizer", tmp_path / "long", labels=TAGS)
    with pytest.raises(DataError, match=r"has 92 pieces, but .* takes 64 at most"):
        finetune(**{**small_run, "evaluate": {"ud": tmp_path / "long"}})
    assert not (tmp_path / "model").exists()


# Going on after a kill


def finetune_pairs(folder: Path, name: str, losses: int | None = None):
    """Fine-tune with a save after every step; with ``losses``, die by SIGKILL at that loss."""

    class KilledAt(CrossEntropy):
        left = losses

        def loss(self, model, batch, step_weight):
            self.left = None if self.left is None else self.left - 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().loss(model, batch, step_weight)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mbert_atlas.tasks.base.CrossEntropy", KilledAt)
        return finetune(
            task="inference",
            encoder=folder / "encoder",
            train=folder / "store",
            evaluate={"test": folder / "store"},
            optimisation=Optimisation(
                learning_rate=1e-3,
                batch_size=4,
                epochs=3,
                token_budget=48,
                checkpoint_seconds=1e-9,
            ),
            seed=5,
            output_model=folder / name / "model",
            output_predictions=folder / name / "predictions.parquet",
            state_dir=folder / name / "state",
        )


def test_after_kill_9_the_result_is_byte_identical(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer)
    encode(
        "inference", nli_table(30), tokenizer, tmp_path / "store", labels=NLI_LABELS, max_length=32
    )
    program = (
        "import sys; from pathlib import Path; from test_training_finetune import finetune_pairs;"
        "finetune_pairs(Path(sys.argv[1]), 'interrupted', 25)"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    folder = tmp_path / "interrupted"
    (state,) = (folder / "state").glob("step-*")
    meta = json.loads((state / "meta.json").read_text())
    assert 8 < meta["log"]["steps"] < 24  # of 3 x 8: in mid-training
    assert meta["log"]["steps"] % 8 != 0  # and in mid-epoch
    assert not (folder / "model").exists()
    assert not (folder / "predictions.parquet").exists()

    resumed, whole = finetune_pairs(tmp_path, "interrupted"), finetune_pairs(tmp_path, "whole")
    assert (resumed.steps, resumed.resumptions) == (24, 1)
    assert (whole.steps, whole.resumptions) == (24, 0)
    assert resumed.epoch_losses == whole.epoch_losses
    assert not (folder / "state").exists()
    for file in ("predictions.parquet", "model/model.safetensors", "model/head.safetensors"):
        assert (folder / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.parametrize("change", ["none", "head", "store"])
def test_finetuning_goes_on_only_with_the_same_head_and_examples(tmp_path, change, monkeypatch):
    tokenizer, task = make_tokenizer(tmp_path), tasks.get("inference")

    def write_store(segment_ids):
        encode(
            task.name,
            nli_table(12),
            tokenizer,
            tmp_path / "s",
            labels=NLI_LABELS,
            segment_ids=segment_ids,
        )

    write_store(True)
    arguments = {
        "task": "inference",
        "encoder": make_encoder(tmp_path, tokenizer),
        "train": tmp_path / "s",
        "evaluate": {},
        "optimisation": Optimisation(batch_size=4, epochs=2),
        "seed": 1,
        "output_model": tmp_path / "model",
        "output_predictions": tmp_path / "predictions.parquet",
        "state_dir": tmp_path / "state",
    }

    class Stopped(CrossEntropy):
        def loss(self, model, batch, step_weight):
            os.kill(os.getpid(), signal.SIGTERM)
            return super().loss(model, batch, step_weight)

    with monkeypatch.context() as patch:
        patch.setattr("mbert_atlas.tasks.base.CrossEntropy", Stopped)
        with pytest.raises(AtlasError, match="stopped by SIGTERM after step 1 of 6"):
            finetune(**arguments, head=HeadOptions(dropout=0.1))
    if change == "store":
        write_store(False)  # the same pieces, other token types
    log = finetune(**arguments, head=HeadOptions(dropout=0.3 if change == "head" else 0.1))
    assert (log.steps, log.resumptions) == (6, int(change == "none"))


# The best epoch


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


def test_what_is_held_out_depends_on_the_seed():
    languages = np.array(["en"] * 1000 + ["de"] * 60)
    one, again, other = (held_out(languages, 0.1, seed) for seed in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert one[:1000].sum() == other[:1000].sum() == 100
    assert one[1000:].sum() == 6
    assert abs(np.flatnonzero(one[:1000]).mean() - 500) < 100  # from all over


def scored_anew(small_run, metric, seed=0, fraction=0.25):
    """Score the saved model with seqeval or scikit-learn on what was held out."""
    model, labels = load_model(small_run["output_model"])
    store = load_arrays(small_run["train"])
    rows = np.flatnonzero(held_out(store.dense("language"), fraction, seed))
    task = tasks.get("tagging")
    examples = task.examples(store, rows)
    outputs = predict(model, examples, task.forward, description="p", rows=examples.label_counts)
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

    monkeypatch.setattr("mbert_atlas.tasks.base.CrossEntropy", Turning)
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
    log = finetune(
        **{**small_run, "optimisation": optimisation},
        selection=Selection(metric=metric, fraction=0.25),
    )
    assert log.steps == 6 * 4  # on 30 examples
    assert len(log.scores) == 7
    assert log.epoch == log.scores.index(max(log.scores))
    assert log.epoch in (1, 2, 3, 4)
    assert max(log.scores) > max(log.scores[0], log.scores[-1]) + 0.3
    assert scored_anew(small_run, metric) == pytest.approx(max(log.scores), abs=1e-6)


def test_of_equally_good_epochs_the_first_is_kept(small_run, tmp_path):
    log = finetune(**small_run, selection=Selection(fraction=0.25))
    best = max(log.scores)
    assert log.scores.count(best) > 1
    assert log.epoch == log.scores.index(best) > 0
    assert not (tmp_path / "state").exists()
    assert scored_anew(small_run, "macro_f1") == pytest.approx(best)


def test_the_model_before_training_competes(small_run, tmp_path):
    optimisation = Optimisation(learning_rate=1e-9, batch_size=8, epochs=2)
    log = finetune(**{**small_run, "optimisation": optimisation}, selection=Selection())
    assert log.scores == [log.scores[0]] * 3
    assert log.epoch == 0
    first = new_model(small_run["encoder"], tasks.get("tagging"), TAGS, HeadOptions(), seed=1)
    kept, _ = load_model(tmp_path / "model")
    assert weights(kept) == weights(first)


def test_the_state_folder_of_another_run_does_not_count(small_run, tmp_path):
    folder = tmp_path / "state/epochs"
    folder.mkdir(parents=True)
    (folder / "scores.json").write_text("[0.5, 2.0]")
    (folder / "epoch-1.safetensors").write_text("of another run")
    log = finetune(**small_run, selection=Selection(fraction=0.25))
    assert len(log.scores) == 13
    assert max(log.scores) <= 1


def test_what_is_held_out_is_not_trained_on(small_run, tmp_path, monkeypatch):
    encode("inference", nli_table(40), small_run["encoder"], tmp_path / "pairs", labels=NLI_LABELS)
    seen = []
    collate = TextExamples.collate

    def record(self, indices):
        seen.append((torch.is_grad_enabled(), self.rows[indices]))
        return collate(self, indices)

    monkeypatch.setattr(TextExamples, "collate", record)
    pairs = {**small_run, "task": "inference", "train": tmp_path / "pairs", "evaluate": {}}
    finetune(**pairs, selection=Selection(seed=3), train_languages=["de"])
    parts = {
        learning: set(np.concatenate([rows for how, rows in seen if how is learning]).tolist())
        for learning in (True, False)
    }
    german = load_arrays(tmp_path / "pairs").dense("language") == "de"
    held = held_out(np.array(["de"] * int(german.sum())), 0.1, 3)
    assert parts[False] == set(np.flatnonzero(german)[held].tolist())
    assert parts[True] == set(np.flatnonzero(german)[~held].tolist())
    assert len(parts[False]) == 2


def test_selections_that_make_no_sense_are_refused(small_run, tmp_path):
    spans = Selection(metric="span_macro_f1")
    with pytest.raises(AtlasError, match="inference: texts have no spans"):
        finetune(**{**small_run, "task": "inference"}, selection=spans)
    with pytest.raises(AtlasError, match="question_answering: there are no classes"):
        finetune(**{**small_run, "task": "question_answering"}, selection=Selection())
    with pytest.raises(DataError, match="40 examples are too few to hold out 1% of a language"):
        finetune(**small_run, selection=Selection(fraction=0.01))
    assert not (tmp_path / "model").exists()


def test_weights_that_do_not_fit_on_the_disk_are_one_sentence(small_run, tmp_path, monkeypatch):
    def full(tensors, path):
        Path(path).write_text("half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device")

    monkeypatch.setattr(selection_module, "save_file", full)
    with pytest.raises(AtlasError, match=r"epoch-0\.safetensors: the weights cannot .*free space"):
        finetune(**small_run, selection=Selection())
    assert not list((tmp_path / "state/epochs").glob("*"))
