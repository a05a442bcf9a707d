"""Training on a CUDA device: placement, bf16, resuming, repeatability."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
import torch
from tiny_models import (
    NLI_LABELS,
    finetuned,
    finetuning_job,
    make_encoder,
    make_tokenizer,
    nli_table,
    sentence_table,
)

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import attachment_counts
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.training import HeadOptions, Optimisation, Pretraining
from mbert_atlas.corpora.universal_dependencies import RELATIONS
from mbert_atlas.encoders.precision import autocast
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_parquet
from mbert_atlas.tasks.base import CrossEntropy
from mbert_atlas.training.job import new_model
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import Method
from mbert_atlas.training.prediction import predict
from mbert_atlas.training.pretraining import pretrain

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


class Watched(CrossEntropy):
    """Notes the device and the type of the logits."""

    def __init__(self) -> None:
        self.seen = set()

    def loss(self, model, batch, step_weight):
        devices = {tensor.device.type for tensor in batch.values()}
        self.seen.add((*devices, next(model.parameters()).device.type, model(batch).dtype))
        return super().loss(model, batch, step_weight)


class Stop(Method):
    """Asks the process to end in a step; a recorded loss would not."""

    def __init__(self, step: int) -> None:
        self.step = step

    def add_gradients(self, model, step):
        if step + 1 == self.step:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.fixture
def pairs(tmp_path) -> Path:
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer, dropout=0.0)
    table = nli_table(60)
    # The label can be read off the hypothesis, so that there is something to learn.
    words = {"contradiction": "cat", "entailment": "dog", "neutral": "the"}
    hypotheses = [words[label] for label in table["label"].to_pylist()]
    table = table.set_column(4, "hypothesis", [hypotheses])
    encode("nli", table, tokenizer, tmp_path / "store", labels=NLI_LABELS)
    return tmp_path


def trained(folder: Path, objective: CrossEntropy, state_dir=None, methods=(), **settings):
    task = tasks.get("nli")
    model = new_model(folder / "encoder", task, NLI_LABELS, HeadOptions(), seed=1)
    values = {"learning_rate": 3e-3, "batch_size": 12, "epochs": 25, **settings}
    log = train(
        model,
        task.examples(load_arrays(folder / "store"), pad_multiple=8),
        objective,
        Optimisation(**values),
        seed=1,
        state_dir=state_dir,
        description="gpu",
        methods=methods,
    )
    return model, log


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_training_on_the_device_learns(pairs, precision):
    watched = Watched()
    model, log = trained(pairs, watched, precision=precision)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    assert watched.seen == {("cuda", "cuda", dtype)}
    assert log.epoch_losses[-1] < 0.7 * log.epoch_losses[0]
    assert all(p.dtype == torch.float32 for p in model.parameters())  # master weights


def test_automatic_precision_is_bf16_where_the_device_has_it():
    context = autocast("auto", torch.device("cuda"))
    assert context._enabled == torch.cuda.is_bf16_supported(including_emulation=False)


def test_a_stopped_run_goes_on_and_equals_an_uninterrupted_one(pairs):
    whole, _ = trained(pairs, CrossEntropy(), epochs=4)
    with pytest.raises(AtlasError, match="SIGTERM after step 7 of 20"):
        trained(pairs, CrossEntropy(), pairs / "state", [Stop(7)], epochs=4)
    resumed, log = trained(pairs, CrossEntropy(), pairs / "state", [Method()], epochs=4)
    assert (log.steps, log.resumptions) == (20, 1)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)


def test_predictions_on_the_device_equal_those_on_the_cpu(pairs):
    task = tasks.get("nli")
    model, _ = trained(pairs, CrossEntropy())
    examples = task.examples(load_arrays(pairs / "store"))
    on_device = predict(model, examples, task.forward, description="p", precision="fp32").values
    batch = examples.collate(np.arange(60))
    with torch.inference_mode():
        on_cpu = task.forward(model.cpu().eval(), batch).numpy()
    np.testing.assert_allclose(on_device, on_cpu, atol=1e-3)


def test_finetuning_writes_the_same_predictions_twice(pairs):
    tables = []
    for name in ("a", "b"):
        optimisation = Optimisation(learning_rate=3e-3, batch_size=12, epochs=25)
        finetuned(finetuning_job(pairs, "nli", "store", name, optimisation=optimisation))
        tables.append(read_parquet(pairs / name / "predictions.parquet"))
    assert tables[0].equals(tables[1])
    right = pc.equal(tables[0]["gold"], tables[0]["prediction"])
    assert pc.mean(right).as_py() > 0.55  # a third by chance


def test_a_parser_is_trained_alike_twice(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer)
    forms = [["the", "cat", "sees", "a", "dog", ","][: 3 + n % 4] for n in range(40)]
    heads = [[2, 3, 0, 5, 3, 3] if len(words) > 4 else [2, 3, 0, 3] for words in forms]
    relations = [["det", "nsubj", "root", "det", "obj", "punct"][: len(words)] for words in forms]
    heads = [own[: len(words)] for own, words in zip(heads, forms, strict=True)]
    table = sentence_table(forms, [["X"] * len(words) for words in forms], heads, relations)
    encode("parsing", table, tokenizer, tmp_path / "store", labels=RELATIONS)
    tables = []
    for name in ("a", "b"):
        optimisation = Optimisation(learning_rate=3e-3, batch_size=8, epochs=30)
        finetuned(finetuning_job(tmp_path, "parsing", "store", name, optimisation=optimisation))
        tables.append(read_parquet(tmp_path / name / "predictions.parquet"))
    assert tables[0].equals(tables[1])
    las, _, words = attachment_counts(tables[0]).sum(axis=0)
    assert las / words > 0.9


def test_pretraining_on_the_device(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    texts = {"en": ["the cat sees a dog , a b"] * 60, "zh": ["你 好 - 你 好 - 你"] * 60}
    encode_texts(texts, tokenizer, tmp_path / "store", max_length=16)
    spec = Pretraining(
        vocabulary_size=100,
        alphabet_size=50,
        hidden_size=16,
        layers=1,
        heads=2,
        intermediate_size=32,
        positions=32,
        max_length=32,
        optimisation=Optimisation(learning_rate=5e-3, batch_size=16, epochs=10),
    )
    log = pretrain(spec, tokenizer, tmp_path / "store", tmp_path / "model", seed=3)
    assert log.epoch_losses[-1] < 0.8 * log.epoch_losses[0]
