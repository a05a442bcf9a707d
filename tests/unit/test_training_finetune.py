"""Fine-tuning: what it learns and writes, which layers, resuming after a kill."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from tiny_models import (
    NLI_LABELS,
    TAGS,
    finetuned,
    finetuning_job,
    make_encoder,
    make_tokenizer,
    nli_table,
    sentence_table,
    tagging_job,
)

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.finetuning import Finetuning
from mbert_atlas.config.methods import METHODS as OPTIONS
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS, CURVES, TAG_PREDICTIONS, TAGGED_SENTENCES
from mbert_atlas.tasks import load_model
from mbert_atlas.tasks.base import CrossEntropy
from mbert_atlas.training.job import new_model, train_only
from mbert_atlas.training.methods import METHODS, methods_of
from mbert_atlas.training.prediction import predict


def test_the_batch_hardly_changes_a_prediction(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    encoder = make_encoder(tmp_path, tokenizer)
    task = tasks.get("nli")
    encode("nli", nli_table(40), tokenizer, tmp_path / "s", labels=NLI_LABELS)
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
    return tagging_job(tmp_path)


def test_finetuning_learns_and_writes_model_and_predictions(small_run, tmp_path):
    finetuned(small_run)
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
    outputs = predict(model, examples, task.forward, description="p")
    assert task.decode(examples, outputs, "ud").equals(table)


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
    encode("ner", table, small_run["encoder"], tmp_path / "entities", labels=tags)
    own = {"task": "ner", "train": tmp_path / "entities"}
    finetuned(small_run, **own, evaluate={"wikiann": tmp_path / "entities"})
    found = read_parquet(tmp_path / "predictions.parquet", TAG_PREDICTIONS)
    scores = tag_scores(found).set_index(["language", "metric"])["value"]
    assert scores["hi", "span_micro_f1"] > 90
    assert found["gold"].to_pylist() == table["ner_tags"].to_pylist()
    assert load_model(tmp_path / "model")[1] == tags
    # a test set may have tags that no training set has: they are missed
    other = table.slice(0, 3).to_pylist()
    other[0]["ner_tags"] = ["B-MISC"] * len(other[0]["forms"])
    more = pa.Table.from_pylist(other, TAGGED_SENTENCES)
    labels = [*tags, "B-MISC"]
    encode("ner", more, small_run["encoder"], tmp_path / "more", labels=labels)
    finetuned(small_run, **own, evaluate={"news": tmp_path / "more"})
    found = read_parquet(tmp_path / "predictions.parquet", TAG_PREDICTIONS)
    assert found["gold"].to_pylist() == more["ner_tags"].to_pylist()
    assert "B-MISC" not in found["prediction"].to_pylist()[0]
    with pytest.raises(DataError, match="encoded for ner, not for tagging"):
        finetuned(small_run, train=tmp_path / "entities")


def test_finetuning_predicts_the_languages_of_the_job(small_run, tmp_path):
    encode("nli", nli_table(9), small_run["encoder"], tmp_path / "pairs", labels=NLI_LABELS)
    tests = {"xnli": tmp_path / "pairs", "all": tmp_path / "pairs"}
    own = {"evaluate": tests, "languages": {"xnli": ["de"]}, "optimisation": Optimisation(epochs=1)}
    run_of_pairs = finetuning_job(tmp_path, "nli", "pairs", **own)
    finetuned(run_of_pairs)
    table = read_parquet(tmp_path / "predictions.parquet", CLASS_PREDICTIONS)
    found = table.group_by(["dataset", "language"]).aggregate([([], "count_all")]).to_pylist()
    assert {(row["dataset"], row["language"]): row["count_all"] for row in found} == {
        ("xnli", "de"): 5,
        ("all", "de"): 5,
        ("all", "en"): 4,
    }
    with pytest.raises(DataError, match="language fr"):
        finetuned(run_of_pairs, languages={"xnli": ["fr"]})


def test_finetuning_rejects_stores_that_do_not_fit(small_run, tmp_path):
    table = sentence_table([["the"]], [["DET"]])
    encode("tagging", table, tmp_path / "tokenizer", tmp_path / "other", labels=["DET"])
    with pytest.raises(DataError, match="differ from the training data's"):
        finetuned(small_run, evaluate={"ud": tmp_path / "other"})
    (tmp_path / "elsewhere").mkdir()
    foreign = make_encoder(tmp_path / "elsewhere", small_run["encoder"])
    text = (foreign / "tokenizer.json").read_text("utf-8")
    (foreign / "tokenizer.json").write_text(text + "\n", "utf-8")
    with pytest.raises(DataError, match="not made with the tokenizer"):
        finetuned(small_run, encoder=foreign)
    with pytest.raises(DataError, match="encoded for tagging, not for nli"):
        finetuned(small_run, task="nli")
    long = sentence_table([["the"] * 90], [["DET"] * 90])
    encode("tagging", long, tmp_path / "tokenizer", tmp_path / "long", labels=TAGS)
    with pytest.raises(DataError, match=r"has 92 subwords, but .* takes 64 at most"):
        finetuned(small_run, evaluate={"ud": tmp_path / "long"})
    assert not (tmp_path / "model").exists()


# Resuming after a kill


def finetune_pairs(
    folder: Path, name: str, losses: int | None = None, number=signal.SIGKILL, **own
):
    """Fine-tune with a save after every step; with ``losses``, send a signal at that loss."""

    class KilledAt(CrossEntropy):
        left = losses

        def loss(self, model, batch, step_weight):
            self.left = None if self.left is None else self.left - 1
            if self.left == 0:
                os.kill(os.getpid(), number)
            return super().loss(model, batch, step_weight)

    settings = {"learning_rate": 1e-3, "batch_size": 4, "epochs": 3, "token_budget": 48}
    optimisation = Optimisation(**settings, checkpoint_seconds=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mbert_atlas.tasks.base.Task.objective", KilledAt)
        own = {"output_curve": folder / name / "training.parquet", **own}
        return finetuned(
            finetuning_job(folder, "nli", "store", name, optimisation=optimisation, **own)
        )


def test_after_kill_9_the_result_is_byte_identical(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer)
    encode("nli", nli_table(30), tokenizer, tmp_path / "store", labels=NLI_LABELS, max_length=32)
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
    state = max((folder / "state").glob("step-*"))
    meta = json.loads((state / "meta.json").read_text())
    assert 8 < meta["log"]["steps"] < 24  # of 3 x 8: in mid-training
    assert meta["log"]["steps"] % 8 != 0  # and in mid-epoch
    assert not (folder / "model").exists()
    assert not (folder / "predictions.parquet").exists()

    resumed, whole = finetune_pairs(tmp_path, "interrupted"), finetune_pairs(tmp_path, "whole")
    assert (resumed.steps, resumed.resumptions) == (24, 1)
    assert (whole.steps, whole.resumptions) == (24, 0)
    assert resumed.epoch_losses == whole.epoch_losses
    for file in ("predictions.parquet", "model/model.safetensors", "model/head.safetensors"):
        assert (folder / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()
    curves = [
        read_parquet(tmp_path / name / "training.parquet", CURVES).drop(["tokens_per_second"])
        for name in ("interrupted", "whole")
    ]
    assert curves[0]["step"].to_pylist() == list(range(1, 25))  # each step has a row
    assert curves[0].equals(curves[1])


@pytest.mark.parametrize("change", ["none", "head", "layers", "store"])
def test_finetuning_goes_on_only_with_the_same_head_layers_and_examples(tmp_path, change):
    tokenizer, store = make_tokenizer(tmp_path), tmp_path / "store"
    make_encoder(tmp_path, tokenizer)
    encode("nli", nli_table(12), tokenizer, store, labels=NLI_LABELS, segment_ids=True)
    with pytest.raises(AtlasError, match="stopped by SIGTERM after step 1 of 9"):
        finetune_pairs(tmp_path, "run", 1, signal.SIGTERM)
    if change == "store":  # the same subwords, other token types
        encode("nli", nli_table(12), tokenizer, store, labels=NLI_LABELS, segment_ids=False)
    own = {"head": {"head": HeadOptions(dropout=0.3)}, "layers": {"trained_layers": ["2-2"]}}
    log = finetune_pairs(tmp_path, "run", **own.get(change, {}))
    assert (log.steps, log.resumptions) == (9, int(change == "none"))


# Trained layers


def parts(encoder, original):
    """Which parts of an encoder differ from those of another folder's."""
    one, other = (load_file(folder / "model.safetensors") for folder in (encoder, original))
    assert one.keys() == other.keys()
    found = {name for name in one if not torch.equal(one[name], other[name])}
    return {re.sub(r"encoder\.layer\.(\d+).*", r"layer \1", name).split(".")[0] for name in found}


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ("all", {"embeddings", "layer 0", "layer 1", "pooler"}),
        ("all_but_words", {"embeddings", "layer 0", "layer 1", "pooler"}),
        (["2-2"], {"layer 1", "pooler"}),
        (["embeddings", "1-1"], {"embeddings", "layer 0", "pooler"}),
        (["1-2"], {"layer 0", "layer 1", "pooler"}),
        ([], {"pooler"}),
        ("none", set()),
    ],
)
def test_layers_that_are_not_trained_keep_their_bytes(small_run, tmp_path, layers, expected):
    encode("nli", nli_table(9), small_run["encoder"], tmp_path / "pairs", labels=NLI_LABELS)
    pairs = {**small_run, "task": "nli", "train": tmp_path / "pairs", "evaluate": {}}
    model = tmp_path / "model"
    finetuned(pairs, trained_layers=layers, optimisation=Optimisation(epochs=1))
    assert parts(model, small_run["encoder"]) == expected
    one, other = (load_file(folder / "model.safetensors") for folder in (pairs["encoder"], model))
    words = "embeddings.word_embeddings.weight"
    assert torch.equal(one[words], other[words]) == (layers not in ("all", ["embeddings", "1-1"]))
    first = new_model(small_run["encoder"], tasks.get("nli"), NLI_LABELS, HeadOptions(), 1)
    assert not torch.equal(load_model(model)[0].head.weight, first.head.weight)


@pytest.mark.parametrize("wrong", ["0-1", "2-1", "2-3"])
def test_ranges_beyond_the_encoder_are_rejected(small_run, wrong):
    with pytest.raises(AtlasError, match=f"{wrong} is no range .*choose one within 1-2"):
        train_only(load_encoder(small_run["encoder"]), ["embeddings", wrong])


def test_every_optional_hyperparameter_of_the_config_is_a_method():
    optional = {name for name, field in Finetuning.model_fields.items() if field.default is None}
    assert set(METHODS) == optional - {"labelled_subword"} == set(OPTIONS)
    needed = ("confusion_texts", "language_directions", "replay_pairs", "replay_encoder")
    inputs = {name: Path(name) for name in needed}
    hyperparameters = {
        "subspace": {"method": "densray", "first": 2},
        **{"language_subspace": {}, "confusion": {}, "replay": {}, "selection": {"seed": 7}},
    }
    made = methods_of(hyperparameters, {"replay": {"hyperparameters": {}}}, inputs)
    assert [type(item) for item in made] == [METHODS.load(name) for name in METHODS]
    assert '"seed":7' in made[0].fingerprint
    assert not methods_of({"trained_layers": "all"}, {}, inputs)
