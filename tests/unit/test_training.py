"""Batches, the training loop, resuming, prediction, fine-tuning."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError
from seqeval.metrics import f1_score as seqeval_f1
from sklearn.metrics import f1_score
from tiny_models import NLI_LABELS, TAGS, make_encoder, make_tokenizer, nli_table, sentence_table
from torch import nn
from torch.nn import functional
from transformers import get_scheduler

from mbert_atlas import tasks
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.arrays import load_arrays
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS, TAGGED_SENTENCES
from mbert_atlas.specifications import Optimisation, Selection
from mbert_atlas.tasks.base import CrossEntropy, HeadOptions, load_model
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training import loop
from mbert_atlas.training import selection as selection_module
from mbert_atlas.training.batching import epoch_batches, micro_batches
from mbert_atlas.training.finetune import finetune, new_model
from mbert_atlas.training.loop import default_parameter_groups, predict, train

LENGTHS = st.lists(st.integers(1, 200), min_size=1, max_size=300).map(np.array)


class Line:
    """Points of a line with noise; example i is row i."""

    def __init__(self, count: int = 50) -> None:
        random = np.random.default_rng(0)
        self.x = random.normal(size=(count, 3)).astype(np.float32)
        self.y = (self.x @ np.array([1.0, -2.0, 0.5]))[:, None].astype(np.float32)
        self.lengths = random.integers(1, 30, count)

    def collate(self, indices):
        return {name: torch.from_numpy(getattr(self, name)[indices]) for name in ("x", "y")}


class SquaredError:
    """Mean squared error."""

    def weight(self, batch):
        return len(batch["x"])

    def loss(self, model, batch, step_weight):
        return functional.mse_loss(model(batch["x"]), batch["y"], reduction="sum") / step_weight


def line_model(dropout: float = 0.0) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


def run(model, *, examples=None, state_dir=None, seed=1, objective=None, **settings):
    hooks = ("on_start", "on_epoch_start", "on_epoch_end", "auxiliary", "companion")
    options = {name: settings.pop(name) for name in hooks if name in settings}
    values = {"learning_rate": 0.01, "batch_size": 8, "epochs": 2, **settings}
    return train(
        model,
        examples or Line(),
        objective or SquaredError(),
        Optimisation(**values),
        seed=seed,
        state_dir=state_dir,
        description="line",
        **options,
    )


def weights(model: nn.Module) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())


# Batches


@given(
    LENGTHS,
    st.integers(1, 40),
    st.sampled_from(["bucketed", "shuffled", "sequential"]),
    st.integers(0, 3),
)
def test_an_epoch_is_a_permutation_in_full_batches(lengths, size, order, epoch):
    batches = epoch_batches(lengths, size, order, 7, epoch)
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    sizes = [len(batch) for batch in batches]
    assert len(sizes) == -(-len(lengths) // size)
    assert sum(size != full for full in sizes) <= 1
    if order == "sequential":
        assert np.concatenate(batches).tolist() == list(range(len(lengths)))


def test_buckets_hold_similar_lengths_and_change_with_epoch_and_seed():
    lengths = np.random.default_rng(0).integers(5, 128, 20_000)
    padded = {}
    for order in ("bucketed", "shuffled"):
        batches = epoch_batches(lengths, 32, order, 1, 0)
        padded[order] = sum(len(b) * lengths[b].max() for b in batches) / lengths.sum()
    assert padded["bucketed"] < 1.03 < 1.5 < padded["shuffled"]
    first = epoch_batches(lengths, 32, "bucketed", 1, 0)
    for seed, epoch in ((1, 1), (2, 0)):
        other = epoch_batches(lengths, 32, "bucketed", seed, epoch)
        assert any(set(a) != set(b) for a, b in zip(first, other, strict=True))
    again = epoch_batches(lengths, 32, "bucketed", 1, 0)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    means = [lengths[batch].mean() for batch in first]
    assert abs(np.corrcoef(range(len(means)), means)[0, 1]) < 0.1  # no drift from short to long


@given(LENGTHS, st.integers(16, 500))
def test_micro_batches_keep_the_budget(lengths, budget):
    indices = np.arange(0, len(lengths), 2)
    groups = micro_batches(indices, lengths, budget)
    assert sorted(np.concatenate(groups)) == indices.tolist()
    for group in groups:
        assert len(group) == 1 or len(group) * lengths[group].max() <= budget


# The loop


def test_training_fits_the_line_and_reports():
    log = run(model := line_model(), epochs=60, learning_rate=0.03)
    assert log.epoch_losses[-1] < 0.05 * log.epoch_losses[0]
    assert (log.steps, log.examples, log.tokens) == (60 * 7, 60 * 50, 60 * Line().lengths.sum())
    assert not model.training


@pytest.mark.parametrize("clip_norm", [None, 0.1])
def test_accumulation_equals_one_batch(clip_norm):
    models, logs = [], []
    for budget in (16, 100_000):
        models.append(line_model())
        logs.append(
            run(models[-1], token_budget=budget, clip_norm=clip_norm, batch_size=25, epochs=3)
        )
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    assert logs[0].epoch_losses == pytest.approx(logs[1].epoch_losses, rel=1e-5)


def test_accumulated_gradients_of_an_encoder_equal_those_of_one_batch(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    encoder = make_encoder(tmp_path, tokenizer, dropout=0.0)
    sentences = [["the"] * n for n in (1, 9, 3, 20, 7)]
    task = tasks.get("tagging")
    table = sentence_table(sentences, [["DET"] * len(words) for words in sentences])
    encode(task.name, table, tokenizer, tmp_path / "s", labels=TAGS)
    examples = task.examples(load_arrays(tmp_path / "s"))
    objective, gradients = CrossEntropy(), []
    for budget in (16, 1000):
        model = new_model(encoder, task, TAGS, HeadOptions(), seed=1).train()
        groups = micro_batches(np.arange(5), examples.lengths, budget)
        batches = [examples.collate(group) for group in groups]
        total = sum(objective.weight(batch) for batch in batches)
        assert total == 40
        for batch in batches:
            objective.loss(model, batch, total).backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    assert len(micro_batches(np.arange(5), examples.lengths, 16)) > 2
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("schedule", "name"), [("linear", "linear"), ("constant", "constant_with_warmup")]
)
def test_schedule(schedule, name, monkeypatch):
    rates = []

    class Spy(torch.optim.AdamW):
        def step(self, closure=None):
            rates.append([group["lr"] for group in self.param_groups])
            return super().step(closure)

    monkeypatch.setattr(loop.torch.optim, "AdamW", Spy)
    model = nn.ModuleDict({"body": line_model(), "head": nn.Linear(1, 1)})
    model.forward = lambda x: model["head"](model["body"](x))
    run(
        model,
        schedule=schedule,
        warmup_fraction=0.25,
        epochs=3,
        batch_size=10,
        learning_rate=0.2,
        head_learning_rate=0.4,
    )
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2)
    reference = get_scheduler(name, optimiser, num_warmup_steps=4, num_training_steps=15)
    expected = []
    for _ in range(15):
        expected.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        reference.step()
    assert sorted(set(rates[4])) == [0.2, 0.4]
    assert [min(step) for step in rates] == pytest.approx(expected)
    assert [max(step) for step in rates] == pytest.approx([2 * rate for rate in expected])
    if schedule == "linear":  # closed form
        assert expected == pytest.approx([0.2 * min(s / 4, (15 - s) / 11) for s in range(15)])


def test_parameter_groups_spare_biases_frozen_weights_and_know_heads():
    model = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 3)})
    model["encoder"].weight.requires_grad = False
    groups = default_parameter_groups(
        model, Optimisation(learning_rate=0.1, head_learning_rate=0.3, weight_decay=0.5)
    )
    found = {
        (group["lr"], group["weight_decay"], tuple(parameter.shape))
        for group in groups
        for parameter in group["params"]
    }
    assert found == {(0.1, 0.0, (2,)), (0.3, 0.5, (3, 2)), (0.3, 0.0, (3,))}


def test_epoch_ends_and_auxiliary_loss():
    ends, steps = [], []

    def auxiliary(model, step):
        steps.append(step)
        return 1000.0 * model[0].weight.square().sum()

    run(
        model := line_model(),
        on_epoch_end=lambda epoch, model: ends.append((epoch, model.training)),
        auxiliary=auxiliary,
        epochs=30,
        learning_rate=0.02,
        schedule="constant",
    )
    assert ends == [(epoch, False) for epoch in range(30)]
    assert steps == list(range(210))
    assert model[0].weight.abs().max() < 0.1  # the auxiliary loss rules


class Zero:
    """A companion: the same line, but its loss pulls all outputs to zero."""

    def __init__(self) -> None:
        self.examples, self.objective, self.steps = Line(20), self, []
        self.examples.y[:] = 0

    def weight(self, batch):
        return len(batch["x"])

    def loss(self, model, batch, step_weight):
        return 1000.0 * model(batch["x"]).square().sum() / step_weight

    def batch(self, step):
        self.steps.append(step)
        return np.arange(step % 3, 20)


@pytest.mark.parametrize("budget", [32, 10_000])
def test_a_companion_gets_a_minibatch_at_each_step(budget):
    run(
        model := line_model(),
        companion=(companion := Zero()),
        epochs=30,
        learning_rate=0.02,
        token_budget=budget,
    )
    assert companion.steps == list(range(210))
    assert model(torch.from_numpy(Line().x)).abs().max() < 0.1  # its loss rules


def test_a_companions_loss_is_added_to_the_steps():
    alone, together = (
        run(line_model(), batch_size=50, epochs=1, companion=companion).epoch_losses[0]
        for companion in (None, Zero())
    )
    model, x = line_model(), torch.from_numpy(Line(20).x)
    assert together == pytest.approx(alone + 1000 * model(x).square().mean().item(), rel=1e-5)


def test_hooks_come_in_order():
    calls = []
    run(
        line_model(),
        on_start=lambda model: calls.append(("start", model.training)),
        on_epoch_start=lambda epoch, model: calls.append(("begin", epoch)),
        auxiliary=lambda model, step: calls.append(step) or torch.zeros(1, requires_grad=True)[0],
        on_epoch_end=lambda epoch, model: calls.append(("end", epoch, model.training)),
        batch_size=25,
    )
    assert calls == [
        ("start", False),
        ("begin", 0),
        *(0, 1),
        ("end", 0, False),
        ("begin", 1),
        *(2, 3),
        ("end", 1, False),
    ]


def test_losses_that_explode_are_reported():
    class Broken(SquaredError):
        def loss(self, model, batch, step_weight):
            return super().loss(model, batch, step_weight) * float("nan")

    with pytest.raises(AtlasError, match="not finite at step 7"):
        run(line_model(), objective=Broken())
    with pytest.raises(AtlasError, match="no training examples"):
        run(line_model(), examples=Line(0))


# Resuming


class StopAfter(SquaredError):
    """Ask the own process to end, as SLURM does, once some losses have been computed."""

    def __init__(self, losses: int) -> None:
        self.left = losses

    def loss(self, model, batch, step_weight):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        return super().loss(model, batch, step_weight)


def test_sigterm_saves_the_state_and_the_next_run_goes_on(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    run(whole := line_model(0.5), epochs=3)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(AtlasError, match="stopped by SIGTERM after step 10 of 21; the state is"):
        run(line_model(0.5), epochs=3, state_dir=tmp_path, objective=StopAfter(10))
    assert signal.getsignal(signal.SIGTERM) is before
    assert [state.name for state in tmp_path.iterdir()] == ["step-000000010"]
    log = run(resumed := line_model(0.5), epochs=3, state_dir=tmp_path)
    assert "goes on after step 10" in caplog.text
    assert weights(resumed) == weights(whole)
    assert (log.steps, log.examples, log.resumptions, len(log.epoch_losses)) == (21, 150, 1, 3)


@pytest.mark.parametrize(("stop", "expected"), [(10, [2]), (14, [2]), (7, [1, 2])])
def test_a_resumed_run_starts_only_what_had_not_begun(tmp_path, stop, expected):
    calls = []
    hooks = {
        "on_start": lambda model: calls.append("start"),
        "on_epoch_start": lambda epoch, model: calls.append(epoch),
        "state_dir": tmp_path,
        "epochs": 3,  # of seven steps each
    }
    with pytest.raises(AtlasError, match="SIGTERM"):
        run(line_model(), objective=StopAfter(stop), **hooks)
    assert calls == ["start", *range(-(-stop // 7))]
    calls.clear()
    run(line_model(), **hooks)
    assert calls == expected


def test_states_of_other_runs_are_ignored(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    for change in ({"seed": 2}, {"learning_rate": 0.02}, {"examples": Line(51)}, {}):
        with pytest.raises(AtlasError, match="SIGTERM"):
            run(line_model(), state_dir=tmp_path, objective=StopAfter(3))
        start = line_model()
        if not change:
            with torch.no_grad():
                start[0].weight[0, 0] += 1e-6  # another encoder
        caplog.clear()
        log = run(start, state_dir=tmp_path, checkpoint_seconds=1000, **change)
        assert "the state of another run" in caplog.text
        assert log.resumptions == 0
        assert not list(tmp_path.iterdir())


def test_only_the_newest_state_stays_and_leftovers_go(tmp_path):
    (tmp_path / ".step-000000003.77.partial").mkdir()
    run(line_model(), state_dir=tmp_path, checkpoint_seconds=1e-9)
    assert [state.name for state in tmp_path.iterdir()] == ["step-000000014"]
    names = {file.name for file in (tmp_path / "step-000000014").iterdir()}
    assert {"model.safetensors", "optimizer.bin", "scheduler.bin", "meta.json"} <= names
    log = run(line_model(), state_dir=tmp_path, checkpoint_seconds=50)  # nothing left to do
    assert (log.steps, log.resumptions) == (14, 1)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(self, folder, **_):
        Path(folder, "model.safetensors").write_text("half")
        raise RuntimeError("PytorchStreamWriter failed writing file data/0")

    monkeypatch.setattr(loop.Accelerator, "save_state", full)
    with pytest.raises(AtlasError, match=r"training state cannot be written.*free space"):
        run(line_model(), state_dir=tmp_path, checkpoint_seconds=1e-9)
    assert not list(tmp_path.iterdir())


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
        "import sys; from pathlib import Path; from test_training import finetune_pairs;"
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


# Prediction and fine-tuning


@settings(max_examples=20, deadline=None)
@given(st.integers(16, 60), st.lists(st.integers(0, 4), min_size=50, max_size=50))
def test_predictions_come_in_the_order_of_the_examples(budget, counts):
    examples, rows = Line(), np.array(counts)

    class Repeated(Line):
        def collate(self, indices):
            return {"x": torch.from_numpy(np.repeat(self.x[indices], rows[indices], axis=0))}

    def forward(model, batch):
        return batch["x"] * 2

    result = predict(
        nn.Identity(), Repeated(), forward, description="p", rows=rows, token_budget=budget
    )
    assert result.lengths.tolist() == counts
    np.testing.assert_array_equal(result.values, 2 * np.repeat(examples.x, rows, axis=0))


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
