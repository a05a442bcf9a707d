"""Batches, the training loop and its methods, resuming, prediction."""

from __future__ import annotations

import logging
import os
import shutil
import signal

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import weights
from torch import nn
from torch.nn import functional

from mbert_atlas.batching import epoch_batches, micro_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.errors import AtlasError
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import Objective
from mbert_atlas.training import loop
from mbert_atlas.training.loop import parameter_groups, train
from mbert_atlas.training.method import Method
from mbert_atlas.training.prediction import predict

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


class SquaredError(Objective):
    """Mean squared error."""

    def weight(self, batch):
        return len(batch["x"])

    def loss(self, model, batch, step_weight):
        return functional.mse_loss(model(batch["x"]), batch["y"], reduction="sum") / step_weight


def line_model(dropout: float = 0.0) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Dropout(dropout), nn.Linear(8, 1))


def run(model, *, examples=None, state_dir=None, seed=1, objective=None, methods=(), **settings):
    values = {"learning_rate": 0.01, "batch_size": 8, "epochs": 2, **settings}
    return train(
        model,
        examples or Line(),
        objective or SquaredError(),
        Optimisation(**values),
        seed=seed,
        state_dir=state_dir,
        description="line",
        methods=methods,
    )


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


def test_draws_of_a_step_follow_each_other():
    class Drawing(SquaredError):
        def loss(self, model, batch, step_weight):
            drawn.append(torch.rand(()).item())
            return super().loss(model, batch, step_weight)

    lengths, drawn, expected = Line().lengths, [], []
    settings = Optimisation(batch_size=25, epochs=1, token_budget=64)
    train(line_model(), Line(), Drawing(), settings, seed=1, state_dir=None, description="line")
    for step, batch in enumerate(epoch_batches(lengths, 25, "bucketed", 1, 0)):
        torch.manual_seed(derive_seed(1, "step", step))
        expected += [torch.rand(()).item() for _ in micro_batches(batch, lengths, 64)]
    assert len(expected) > 4
    assert drawn == expected


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


@pytest.mark.parametrize("schedule", ["linear", "constant"])
def test_schedule(schedule, monkeypatch):
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
    left = [(15 - step) / 11 if schedule == "linear" else 1 for step in range(15)]
    expected = [0.2 * min(step / 4, left[step]) for step in range(15)]
    assert sorted(set(rates[4])) == [0.2, 0.4]
    assert [min(step) for step in rates] == pytest.approx(expected)
    assert [max(step) for step in rates] == pytest.approx([2 * rate for rate in expected])


def test_parameter_groups_spare_biases_frozen_weights_and_know_heads():
    model = nn.ModuleDict({"encoder": nn.Linear(2, 2), "head": nn.Linear(2, 3)})
    model["encoder"].weight.requires_grad = False
    groups = parameter_groups(
        model, Optimisation(learning_rate=0.1, head_learning_rate=0.3, weight_decay=0.5)
    )
    found = {
        (group["lr"], group["weight_decay"], tuple(parameter.shape))
        for group in groups
        for parameter in group["params"]
    }
    assert found == {(0.1, 0.0, (2,)), (0.3, 0.5, (3, 2)), (0.3, 0.0, (3,))}


class Pull(Method):
    """Pulls the first layer to zero; notes how it is called."""

    def __init__(self, fingerprint="pull"):
        self.fingerprint, self.state, self.calls = fingerprint, [], []

    def start(self, model):
        self.calls.append(("start", model.training))

    def start_epoch(self, epoch, model):
        self.calls.append(("begin", epoch))

    def add_gradients(self, model, step):
        self.calls.append(step)
        loss = 1000.0 * model[0].weight.square().sum()
        loss.backward()
        return loss.detach()

    def end_epoch(self, epoch, model):
        self.calls.append(("end", epoch, model.training))
        self.state.append(epoch)

    def finish(self, model, log):
        self.calls.append(("finish", log.steps))


def test_methods_are_called_in_order():
    run(line_model(), methods=[Method(), pull := Pull()], batch_size=25)
    assert pull.calls == [
        ("start", False),
        ("begin", 0),
        *(0, 1),
        ("end", 0, False),
        ("begin", 1),
        *(2, 3),
        ("end", 1, False),
        ("finish", 4),
    ]


def test_the_gradients_of_methods_are_added_to_the_tasks():
    alone, together = (
        run(line_model(), batch_size=50, epochs=1, methods=methods).epoch_losses[0]
        for methods in ((), [Pull(), Pull()])
    )
    pulled = 1000 * line_model()[0].weight.square().sum().item()
    assert together == pytest.approx(alone + 2 * pulled, rel=1e-5)
    run(model := line_model(), methods=[Pull()], epochs=30, learning_rate=0.02)
    assert model[0].weight.abs().max() < 0.1


def test_losses_that_explode_are_reported():
    class Broken(SquaredError):
        def loss(self, model, batch, step_weight):
            return super().loss(model, batch, step_weight) * float("nan")

    with pytest.raises(AtlasError, match="not finite at step 1;"):
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


def states(folder):
    return sorted(state.name for state in folder.glob("*step-*"))


def test_sigterm_saves_the_state_and_the_next_run_goes_on(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    run(whole := line_model(0.5), epochs=3)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(AtlasError, match="stopped by SIGTERM after step 10 of 21; the state is"):
        run(line_model(0.5), epochs=3, state_dir=tmp_path, objective=StopAfter(10))
    assert signal.getsignal(signal.SIGTERM) is before
    assert states(tmp_path) == ["step-000000010"]
    log = run(resumed := line_model(0.5), epochs=3, state_dir=tmp_path)
    assert "resumes after step 10" in caplog.text
    assert weights(resumed) == weights(whole)
    assert (log.steps, log.examples, log.resumptions, len(log.epoch_losses)) == (21, 150, 1, 3)


@pytest.mark.parametrize(("stop", "expected"), [(10, [2]), (14, [2]), (7, [1, 2])])
def test_a_resumed_run_starts_only_what_had_not_begun(tmp_path, stop, expected):
    def begun(pull):
        return [call[-1] for call in pull.calls if isinstance(call, tuple) and call[0] == "begin"]

    options = {"state_dir": tmp_path, "epochs": 3}  # of seven steps each
    with pytest.raises(AtlasError, match="SIGTERM"):
        run(line_model(), objective=StopAfter(stop), methods=[first := Pull()], **options)
    assert begun(first) == list(range(-(-stop // 7)))
    run(line_model(), methods=[second := Pull()], **options)
    assert begun(second) == expected
    assert ("start", False) not in second.calls
    assert second.state == [0, 1, 2]


def test_states_of_other_runs_are_ignored(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    changes = [{"seed": 2}, {"learning_rate": 0.02}, {"examples": Line(51)}, {}]
    for change in [*changes, {"methods": [Pull("other")]}]:
        options = {"state_dir": tmp_path, "methods": [Pull()]}
        with pytest.raises(AtlasError, match="SIGTERM"):
            run(line_model(), objective=StopAfter(3), **options)
        start = line_model()
        if not change:
            with torch.no_grad():
                start[0].weight[0, 0] += 1e-6  # another encoder
        caplog.clear()
        log = run(start, checkpoint_seconds=1000, **{**options, **change})
        assert "the state of another run" in caplog.text
        assert log.resumptions == 0
        assert states(tmp_path) == []


def test_the_newest_two_states_stay_and_leftovers_go(tmp_path):
    (tmp_path / ".step-000000003.77.partial").mkdir()
    run(line_model(), state_dir=tmp_path, checkpoint_seconds=1e-9)
    assert states(tmp_path) == ["step-000000013", "step-000000014"]
    log = run(line_model(), state_dir=tmp_path, checkpoint_seconds=50)  # nothing left to do
    assert (log.steps, log.resumptions) == (14, 1)


def test_a_training_shorter_than_the_interval_writes_nothing(tmp_path):
    log = run(line_model(), state_dir=tmp_path, checkpoint_seconds=1000)
    assert (log.steps, states(tmp_path)) == (14, [])


def flip_a_bit(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGES = {
    "truncated": lambda file: os.truncate(file, file.stat().st_size // 2),
    "one bit": flip_a_bit,
    "missing": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
}
STATE_FILES = ["states.pt", "meta.json"]


@pytest.fixture(scope="module")
def two_states(tmp_path_factory):
    """States after steps 9 and 10 of 21, and the weights of an undisturbed run."""
    run(whole := line_model(0.5), epochs=3)
    folder = tmp_path_factory.mktemp("states")
    stop = StopAfter(10)
    with pytest.raises(AtlasError, match="SIGTERM"):
        run(line_model(0.5), epochs=3, state_dir=folder, checkpoint_seconds=1e-9, objective=stop)
    assert states(folder) == ["step-000000009", "step-000000010"]
    assert {file.name for file in (folder / "step-000000010").iterdir()} == set(STATE_FILES)
    return folder, weights(whole)


@pytest.mark.parametrize("name", STATE_FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_costs_no_more_than_its_steps(tmp_path, two_states, damage, name, caplog):
    saved, expected = two_states
    for folder, damaged, resumed in (("one", [10], 9), ("other", [9], 10), ("both", [9, 10], 0)):
        shutil.copytree(saved, state_dir := tmp_path / folder)
        for step in damaged:
            DAMAGES[damage](state_dir / f"step-{step:09}" / name)
        caplog.clear()
        caplog.set_level(logging.INFO)
        log = run(again := line_model(0.5), epochs=3, state_dir=state_dir)
        assert weights(again) == expected
        assert caplog.text.count("drops a damaged state") == len(damaged)
        assert (f"resumes after step {resumed} " in caplog.text) == (resumed > 0)
        assert (log.steps, log.resumptions) == (21, int(resumed > 0))
        assert len(states(state_dir)) <= 2


def test_whatever_lies_in_the_place_of_a_state_is_no_obstacle(tmp_path, caplog):
    (tmp_path / "step-000000001").mkdir()
    (tmp_path / "step-000000001/meta.json").write_bytes(b'{"fingerprint": "\xff"}')
    (tmp_path / "step-000000002").mkdir()
    (tmp_path / "step-000000002/meta.json").write_text("[]")
    (tmp_path / "step-000000003").write_text("a file")
    run(line_model(), state_dir=tmp_path, checkpoint_seconds=1e-9)
    assert caplog.text.count("drops a damaged state") == 3
    assert states(tmp_path) == ["step-000000013", "step-000000014"]


def test_a_damaged_file_of_a_method_counts_as_the_states(tmp_path, caplog):
    class Keeps(Pull):
        def files(self):
            return [tmp_path / "kept" / "file"]

    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("whole")
    often = {"state_dir": tmp_path, "checkpoint_seconds": 1e-9}
    run(line_model(), methods=[Keeps()], **often)
    assert run(line_model(), methods=[Keeps()], **often).resumptions == 1
    flip_a_bit(tmp_path / "kept/file")
    assert run(line_model(), state_dir=tmp_path, methods=[Keeps()]).resumptions == 0
    assert "kept/file is not what was saved" in caplog.text


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(_, path):
        path.write_text("half")
        raise RuntimeError("PytorchStreamWriter failed writing file data/0")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(AtlasError, match=r"step-000000001: the weights cannot .*free space"):
        run(line_model(), state_dir=tmp_path, checkpoint_seconds=1e-9)
    assert not list(tmp_path.iterdir())


# Prediction


@settings(max_examples=20, deadline=None)
@given(st.integers(16, 60), st.lists(st.integers(0, 4), min_size=50, max_size=50))
def test_predictions_come_in_the_order_of_the_examples(budget, counts):
    examples, rows = Line(), np.array(counts)

    class Repeated(Line):
        label_counts = rows

        def collate(self, indices):
            return {"x": torch.from_numpy(np.repeat(self.x[indices], rows[indices], axis=0))}

    def forward(model, batch):
        return batch["x"] * 2

    result = predict(nn.Identity(), Repeated(), forward, description="p", token_budget=budget)
    assert result.lengths.tolist() == counts
    np.testing.assert_array_equal(result.values, 2 * np.repeat(examples.x, rows, axis=0))
