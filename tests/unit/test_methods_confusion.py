"""Gradient reversal and entropy maximisation; kills of runs with any method."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
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
)
from torch.nn import functional

from mbert_atlas import tasks
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.methods.confusion import LanguageConfusion
from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoding import encode
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.randomness import derive_seed
from mbert_atlas.schemas import LID_EXAMPLES
from mbert_atlas.tasks import load_model
from mbert_atlas.tasks.base import CrossEntropy, EncoderWithHead
from mbert_atlas.training import loop, states
from mbert_atlas.training.gradients import accumulate_gradients
from mbert_atlas.training.job import FinetuningJob, FinetuningRun, new_model
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import Method, TrainingLog
from mbert_atlas.training.methods import confusion as unlearning_module
from mbert_atlas.training.methods.confusion import (
    HeadCrossEntropy,
    LanguageUnlearning,
    confidence,
    reverse_gradient,
)
from mbert_atlas.training.methods.selection import BestEpoch

WORDS = {"de": ["un", "-", ","], "en": ["the", "cat", "dog", "sees"], "zh": ["你", "好", "a", "b"]}
TASK = {"text": "nli", "token": "tagging"}
LABELS = {"text": NLI_LABELS, "token": TAGS}
ONE_STEP = Optimisation(batch_size=100, epochs=1, head_learning_rate=0.01)


def language_table() -> pa.Table:
    """Ten paragraphs to train on and three others of each of three languages."""
    random = np.random.default_rng(3)
    ids = [f"{language}{number}" for language in WORDS for number in range(13)]
    texts = [" ".join(random.choice(WORDS[name[:2]], random.integers(2, 9))) for name in ids]
    splits = (["train"] * 10 + ["validation", "dev", "test"]) * 3
    return pa.table([ids, [name[:2] for name in ids], splits, texts], schema=LID_EXAMPLES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An encoder with dropout, one without, and the data of both units."""
    tokenizer = make_tokenizer(tmp_path)
    make_encoder(tmp_path, tokenizer)
    (tmp_path / "still").mkdir()
    make_encoder(tmp_path / "still", tokenizer, dropout=0.0)
    encode("nli", nli_table(32), tokenizer, tmp_path / "text", labels=NLI_LABELS)
    words = [[*WORDS["en"][n % 3 :], ","] for n in range(32)]
    tags = [[TAGS[len(word) % 4] for word in sentence] for sentence in words]
    encode("tagging", sentence_table(words, tags), tokenizer, tmp_path / "token", labels=TAGS)
    for unit in TASK:
        own = {"labels": sorted(WORDS), "unit": unit}
        store = tmp_path / f"languages-{unit}"
        encode("language_identification", language_table(), tokenizer, store, **own)
    return tmp_path


def unlearning_of(folder: Path, unit: str, **fields: Any) -> LanguageUnlearning:
    path = folder / f"languages-{unit}"
    return LanguageUnlearning(LanguageConfusion.model_validate(fields), path)


def prepared(
    folder: Path,
    unit: str,
    method: str,
    optimisation: Optimisation = ONE_STEP,
    *,
    examples: int = 32,
    encoder: str = "still/encoder",
    seed: int = 1,
    head: HeadOptions | None = None,
    **fields: Any,
) -> tuple[LanguageUnlearning, FinetuningRun]:
    """Return the method and the run that it has prepared."""
    own = {"evaluate": {}, "encoder": folder / encoder, "optimisation": optimisation, "seed": seed}
    own["head"] = head or HeadOptions(dropout=0.0)
    run = FinetuningRun(FinetuningJob(**finetuning_job(folder, TASK[unit], unit, **own)))
    run.rows = np.arange(examples)
    unlearning = unlearning_of(folder, unit, method=method, **fields)
    unlearning.prepare(run)
    run.model.train()
    return unlearning, run


def train_on(run: FinetuningRun, *methods: Method) -> TrainingLog:
    return train(
        run.model,
        run.examples(run.rows),
        run.objective,
        run.job.optimisation,
        seed=1,
        state_dir=None,
        description="phases",
        methods=methods,
    )


class Look(Method):
    """Keeps what it sees where epochs begin and end."""

    def __init__(self, see: Callable[[Any], Any]) -> None:
        self.see, self.begins, self.ends = see, [], []

    def start_epoch(self, epoch: int, model: Any) -> None:
        self.begins.append(self.see(model))

    def end_epoch(self, epoch: int, model: Any) -> None:
        self.ends.append(self.see(model))


def copied(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def changed(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> set[str]:
    """Return the parts of the model that differ."""
    return {name.split(".")[0] for name in one if not torch.equal(one[name], other[name])}


# The components


@given(st.floats(0.01, 0.99), st.integers(0, 100))
def test_reversal_is_the_identity_with_minus_lambda_times_the_gradient(factor, seed):
    torch.manual_seed(seed)
    vectors = torch.randn(3, 4, requires_grad=True)
    gradient = torch.randn(3, 4)
    result = reverse_gradient(vectors, factor)
    assert torch.equal(result, vectors)
    result.backward(gradient)
    assert torch.equal(vectors.grad, -factor * gradient)


def test_the_second_term_by_hand():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.7, 0.2, 0.1]])
    logits = torch.from_numpy(probabilities).log() + 3.0  # what is common to all does not matter
    np.testing.assert_allclose(
        confidence(logits, "uniform"), [5 * np.log(2), -np.log(0.7 * 0.2 * 0.1)], rtol=1e-6
    )
    np.testing.assert_allclose(
        confidence(logits, "entropy"),
        [-1.5 * np.log(2), 0.7 * np.log(0.7) + 0.2 * np.log(0.2) + 0.1 * np.log(0.1)],
        rtol=1e-6,
    )


class PlainCrossEntropy(CrossEntropy):
    """The language head's loss without reversal."""

    def loss(self, model, batch, step_weight):
        logits = model.head_language(model.features(batch))
        return functional.cross_entropy(logits, batch["labels"], reduction="sum") / step_weight


@pytest.mark.parametrize("unit", ["text", "token"])
def test_the_encoder_unlearns_what_the_language_head_learns(folder, unit):
    gradients = []
    for plain, budget in ((True, 10_000), (False, 10_000), (False, 16)):
        unlearning, run = prepared(folder, unit, "gradient_reversal", weight=0.3)
        objective = PlainCrossEntropy() if plain else unlearning.objective
        within = ONE_STEP.model_copy(update={"token_budget": budget})
        accumulate_gradients(run.model, unlearning.examples, objective, within, np.arange(12))
        gradients.append(
            {name: p.grad for name, p in run.model.named_parameters() if p.grad is not None}
        )
    plain, *others = gradients
    assert {name.split(".")[0] for name in plain} == {"encoder", "head_language"}
    for other in others:
        assert other.keys() == plain.keys()
        for name, gradient in other.items():
            expected = plain[name] if name.startswith("head") else -0.3 * plain[name]
            torch.testing.assert_close(gradient, expected, rtol=1e-4, atol=1e-6)


# The steps


@pytest.mark.parametrize("unit", ["text", "token"])
@pytest.mark.parametrize(
    ("method", "uncertainty"),
    [
        ("gradient_reversal", "uniform"),
        ("entropy_maximisation", "uniform"),
        ("entropy_maximisation", "entropy"),
    ],
)
def test_the_loss_of_a_step_by_hand(folder, unit, method, uncertainty):
    fields = {"method": method, "weight": 0.3, "uncertainty": uncertainty}
    by_hand, run = prepared(folder, unit, **fields)
    model = run.model
    by_hand.start_epoch(0, model)
    batch = run.examples(run.rows).collate(np.arange(32))
    label_loss = functional.cross_entropy(model(batch), batch["labels"]).item()
    paragraphs = by_hand.examples.collate(by_hand.batch(0))
    logs = model.head_language(model.features(paragraphs)).log_softmax(1)
    if method == "gradient_reversal":
        expected = label_loss + functional.nll_loss(logs, paragraphs["labels"]).item()
    else:
        term = -logs if uncertainty == "uniform" else logs.exp() * logs
        expected = 0.7 * label_loss + 0.3 * term.sum(1).mean().item()

    unlearning, run = prepared(folder, unit, **fields)
    log = train_on(run, unlearning)
    assert log.epoch_losses == [pytest.approx(expected, rel=1e-5)]
    assert (log.steps, log.examples) == (1, 32)


@pytest.mark.parametrize("method", ["gradient_reversal", "entropy_maximisation"])
def test_the_phases_keep_apart(folder, method):
    optimisation = Optimisation(batch_size=8, epochs=3, learning_rate=1e-3, head_learning_rate=0.01)
    unlearning, run = prepared(folder, "token", method, optimisation)
    train_on(run, before := Look(copied), unlearning, after := Look(copied))
    alone = [changed(*pair) for pair in zip(before.begins, after.begins, strict=True)]
    together = [changed(*pair) for pair in zip(after.begins, after.ends, strict=True)]
    if method == "gradient_reversal":
        assert alone == [set()] * 3
        assert together == [{"encoder", "head", "head_language"}] * 3
    else:
        assert alone == [{"head_language"}] * 3
        assert together == [{"encoder", "head"}] * 3


def test_the_stream_of_paragraphs_is_used_up_and_shuffled_again(folder):
    optimisation = Optimisation(batch_size=8)
    unlearning, _ = prepared(folder, "text", "gradient_reversal", optimisation)
    passes = [[unlearning.batch(4 * number + place) for place in range(4)] for number in range(3)]
    for batches in passes:
        assert sorted(np.concatenate(batches)) == list(range(30))
    assert any(not np.array_equal(*pair) for pair in zip(passes[0], passes[1], strict=True))
    again, _ = prepared(folder, "text", "entropy_maximisation", optimisation)
    assert np.array_equal(again.batch(9), passes[2][1])  # nothing but seed and step decide
    assert np.array_equal(again.batch(2), passes[0][2])
    other, _ = prepared(folder, "text", "gradient_reversal", optimisation, seed=2)
    assert any(not np.array_equal(other.batch(step), passes[0][step]) for step in range(4))


def test_only_the_training_split_is_used(folder):
    unlearning, run = prepared(folder, "token", "gradient_reversal")
    store = unlearning.examples.store
    splits = store.dense("split")[unlearning.examples.rows]
    assert (len(splits), set(splits)) == (30, {"train"})

    # Another weight or another split is another run.
    arrays = {**store.arrays, "split": np.roll(store.dense("split"), 1)}
    meta = {key: value for key, value in store.meta.items() if key != "arrays"}
    save_arrays(folder / "languages-moved", arrays, meta)
    others = [unlearning_of(folder, "token", weight=0.4), unlearning_of(folder, "moved")]
    for other in others:
        other.prepare(run)
    assert len({item.fingerprint for item in (unlearning, *others)}) == 3


@pytest.mark.parametrize(("examples", "expected"), [(7, 7), (1000, 30)])
def test_phase_1_takes_as_many_paragraphs_as_the_task_has_examples(
    folder, examples, expected, monkeypatch
):
    unlearning, run = prepared(
        folder, "text", "entropy_maximisation", Optimisation(batch_size=4), examples=examples
    )
    seen = []

    def record(model, examples, objective, optimisation, indices):
        seen.append(indices)
        return accumulate_gradients(model, examples, objective, optimisation, indices)

    monkeypatch.setattr(unlearning_module, "accumulate_gradients", record)
    epochs = []
    for epoch in (0, 1, 0):
        seen.clear()
        unlearning.start_epoch(epoch, run.model)
        epochs.append(np.concatenate(seen))
        assert len(set(epochs[-1])) == len(epochs[-1]) == expected
        assert max(map(len, seen)) == 4
    assert not np.array_equal(epochs[0], epochs[1])
    assert np.array_equal(epochs[0], epochs[2])


def test_the_language_head_does_not_disturb_the_label_head(folder):
    options = HeadOptions(initial_stddev=0.5)
    task = tasks.get("nli")
    alone = new_model(folder / "still/encoder", task, NLI_LABELS, options, 1)
    assert alone.head_language is None
    heads = []
    for seed in (1, 1, 2):
        _, run = prepared(folder, "text", "gradient_reversal", seed=seed, head=options)
        heads.append(run.model.head_language)
        if seed == 1:
            assert not changed(copied(alone), copied(run.model))
    assert heads[0].weight.shape == (3, 16)
    assert 0.3 < heads[0].weight.std() < 0.7
    assert not heads[0].bias.any()
    assert torch.equal(heads[0].weight, heads[1].weight)
    assert not torch.equal(heads[0].weight, heads[2].weight)


# Fine-tuning

CONDITIONS = ["plain", "frozen", "gradient_reversal", "entropy_maximisation"]
FILES = ("predictions.parquet", "model/model.safetensors", "model/head.safetensors")


SPLIT = Selection(fraction=0.25)


def run(
    folder: Path,
    name: str,
    condition: str,
    unit: str = "text",
    *,
    selection: Selection | None = SPLIT,
    unlearning: list[LanguageUnlearning] | None = None,
    **changes: Any,
) -> TrainingLog:
    """Fine-tune on 24 of 32 examples, 6 steps an epoch, with a save after every step."""
    if unlearning is None:
        confused = condition in CONDITIONS[2:]
        unlearning = [unlearning_of(folder, unit, method=condition, weight=0.3)] if confused else []
    optimisation = Optimisation(
        learning_rate=1e-3,
        head_learning_rate=1e-2,
        batch_size=4,
        epochs=3,
        token_budget=48,
        checkpoint_seconds=1e-9,
    )
    layers = "none" if condition == "frozen" else "all"
    own = {"seed": 5, "optimisation": optimisation, "trained_layers": layers} | changes
    chosen = [BestEpoch(selection)] if selection else []
    job = finetuning_job(folder, TASK[unit], unit, name, **own)
    return finetuned(job, *chosen, *unlearning)


def at_step(number: int, action: Callable[[], None]) -> Callable[..., int]:
    """Stand in for the loop's ``derive_seed``: do something at the beginning of a step."""

    def derive(seed: int, *names: str | int) -> int:
        if names == ("step", number):
            action()
        return derive_seed(seed, *names)

    return derive


def die() -> None:
    raise KeyboardInterrupt


def same_files(folder: Path, one: str, other: str) -> None:
    for file in FILES:
        assert (folder / one / file).read_bytes() == (folder / other / file).read_bytes(), file


@pytest.mark.parametrize(("unit", "chosen"), [("text", None), ("token", SPLIT)])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_killed_run_goes_on_to_the_same_bytes(folder, unit, chosen, condition, monkeypatch):
    whole = run(folder, "whole", condition, unit, selection=chosen)
    steps = whole.steps // 3
    for step in (3, steps + 2, 2 * steps):  # the last before the third epoch's first step
        with monkeypatch.context() as patch:
            patch.setattr(loop, "derive_seed", at_step(step, die))
            with pytest.raises(KeyboardInterrupt):
                run(folder, "killed", condition, unit, selection=chosen)
        assert not (folder / "killed/model").exists()
    resumed = run(folder, "killed", condition, unit, selection=chosen)
    assert (whole.resumptions, resumed.resumptions) == (0, 3)
    assert resumed.epoch_losses == whole.epoch_losses
    assert resumed.scores == whole.scores
    assert resumed.epoch == whole.epoch
    if chosen:
        assert whole.steps == 18
        assert len(whole.scores) == 4
        assert whole.epoch == whole.scores.index(max(whole.scores)) > 0
    else:
        assert whole.steps == 24
        assert (whole.scores, whole.epoch) == ([], None)
    same_files(folder, "whole", "killed")


def test_a_run_that_goes_back_behind_its_best_epoch_finds_the_same(folder, monkeypatch):
    """Stopped in the second epoch, killed in the fourth without another state, then resumed."""
    optimisation = Optimisation(learning_rate=2e-3, batch_size=4, epochs=5, checkpoint_seconds=1e9)
    whole = run(folder, "whole", "plain", "token", optimisation=optimisation)
    assert whole.epoch > 1  # better ones came after the state
    for step, action, error in (
        (8, lambda: os.kill(os.getpid(), signal.SIGTERM), AtlasError),
        (22, die, KeyboardInterrupt),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(loop, "derive_seed", at_step(step, action))
            with pytest.raises(error):
                run(folder, "killed", "plain", "token", optimisation=optimisation)
    (kept,) = (folder / "killed/state/epochs").iterdir()  # that of the state, not a later one
    assert kept.stem < f"epoch-{whole.epoch}"
    resumed = run(folder, "killed", "plain", "token", optimisation=optimisation)
    assert (resumed.scores, resumed.epoch) == (whole.scores, whole.epoch)
    same_files(folder, "whole", "killed")


@pytest.mark.parametrize("save", [1, 6, 12])
def test_killed_between_the_weights_of_an_epoch_and_the_state(folder, save, monkeypatch):
    whole = run(folder, "whole", "plain", "token")
    calls = []

    def write(value: Any, path: Path) -> None:
        calls.append(path)
        if len(calls) == save:
            die()
        original(value, path)

    original = states.write_json
    with monkeypatch.context() as patch:
        patch.setattr(states, "write_json", write)
        with pytest.raises(KeyboardInterrupt):
            run(folder, "killed", "plain", "token")
    resumed = run(folder, "killed", "plain", "token")
    assert resumed.resumptions == int(save > 1)
    assert (resumed.scores, resumed.epoch) == (whole.scores, whole.epoch)
    same_files(folder, "whole", "killed")


@pytest.mark.parametrize("calls", [3, 12])
def test_killed_while_the_language_head_learns_alone(folder, calls, monkeypatch):
    whole = run(folder, "whole", "entropy_maximisation")
    left = [calls]

    def dies(*arguments: Any) -> torch.Tensor:
        left[0] -= isinstance(arguments[2], HeadCrossEntropy)
        if left[0] == 0:
            die()
        return accumulate_gradients(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(unlearning_module, "accumulate_gradients", dies)
        with pytest.raises(KeyboardInterrupt):
            run(folder, "killed", "entropy_maximisation")
    resumed = run(folder, "killed", "entropy_maximisation")
    assert resumed.scores == whole.scores
    assert resumed.epoch_losses == whole.epoch_losses
    same_files(folder, "whole", "killed")


def test_a_frozen_encoder_has_dropout_in_training(folder, monkeypatch):
    seen = []
    features = EncoderWithHead.features

    def watched(self, batch):
        seen.append((self.training, self.encoder.training, torch.is_grad_enabled()))
        vectors = features(self, batch)
        assert not vectors.requires_grad
        return vectors

    monkeypatch.setattr(EncoderWithHead, "features", watched)
    run(folder, "run", "frozen")
    assert set(seen) == {(True, True, True), (False, False, False)}  # training; scoring


@pytest.mark.parametrize("condition", CONDITIONS[2:])
def test_the_saved_model_has_no_language_head(folder, condition):
    run(folder, "run", condition)
    model, labels = load_model(folder / "run/model")
    assert labels == NLI_LABELS
    assert model.head_language is None
    assert sorted(load_file(folder / "run/model/head.safetensors")) == ["bias", "weight"]
    weights = load_file(folder / "run/model/model.safetensors")
    assert not [name for name in weights if "head" in name]


def test_what_does_not_fit_is_rejected(folder):
    store = load_arrays(folder / "languages-text")
    meta = {key: value for key, value in store.meta.items() if key != "arrays"}
    for name, arrays, changes in (
        ("foreign", {}, {"tokenizer": "0"}),
        ("untrained", {"split": np.full(39, "test")}, {}),
        ("nli", {}, {"task": "nli"}),
    ):
        save_arrays(folder / f"languages-{name}", {**store.arrays, **arrays}, {**meta, **changes})
    rows = [{"id": "1", "language": "en", "split": "train", "text": "the " * 90}]
    long = pa.Table.from_pylist(rows, LID_EXAMPLES)
    kind = "language_identification"
    encode(kind, long, folder / "tokenizer", folder / "languages-long", labels=["en"])
    for name, unit, message in (
        ("text", "token", "of unit text, but the task classifies unit token"),
        ("nli", "text", "encoded for nli, not for language_identification"),
        ("foreign", "text", "not made with the tokenizer"),
        ("untrained", "text", "no paragraph is of the split train"),
        ("long", "text", r"has 92 subwords, but .* takes 64 at most"),
    ):
        with pytest.raises(DataError, match=message):
            run(folder, "run", "plain", unit, unlearning=[unlearning_of(folder, name)])
    assert not (folder / "run/model").exists()
