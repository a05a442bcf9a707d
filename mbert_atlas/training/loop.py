"""The training loop of every paper, and prediction: device, precision, accumulation, resuming.

What differs between papers comes in from outside: the examples, the objective, the
hyperparameters, the parameter groups, an auxiliary loss.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from safetensors import SafetensorError
from torch import nn
from transformers import get_scheduler

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.precision import Precision, autocast
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory, read_json, write_json
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.training.batching import Indices, epoch_batches, micro_batches
from mbert_atlas.training.interfaces import Batch, Examples, Objective, Optimisation

_logger = logging.getLogger(__name__)
# Each save would warn that tied weights are stored once; they are restored as tied.
logging.getLogger("accelerate.utils.other").setLevel(logging.ERROR)

Auxiliary = Callable[[Any, int], torch.Tensor]
"""Takes the model and the number of the step, returns a loss to add to the step's."""


class Companion(Protocol):
    """A second minibatch of each step, with a loss of its own that is added to the step's.

    It is cut into micro-batches like the first.
    """

    @property
    def examples(self) -> Examples:
        """Where the minibatches come from."""
        ...

    @property
    def objective(self) -> Objective:
        """Their loss."""
        ...

    def batch(self, step: int) -> Indices:
        """Return the examples of a step; they depend on nothing but its number."""
        ...


@dataclass
class TrainingLog:
    """What happened in a training run, over all the processes that worked on it.

    Attributes:
        epoch_losses: mean loss of the steps of each finished epoch.
        steps: optimiser steps taken.
        examples: examples seen, those of losses beside the objective left out.
        tokens: tokens seen in them, padding left out.
        seconds: time in the loop.
        resumptions: how often a saved state was continued.
        scores: where an epoch is selected: the score by epoch, the first before training.
        epoch: the epoch that was selected, from 1, or 0 for the model before training; none where
            the last one is kept.
    """

    epoch_losses: list[float] = field(default_factory=list)
    steps: int = 0
    examples: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumptions: int = 0
    scores: list[float] = field(default_factory=list)
    epoch: int | None = None


def train(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    *,
    seed: int,
    state_dir: Path | None,
    description: str,
    parameter_groups: Sequence[dict[str, Any]] | None = None,
    on_start: Callable[[Any], None] | None = None,
    on_epoch_start: Callable[[int, Any], None] | None = None,
    on_epoch_end: Callable[[int, Any], None] | None = None,
    auxiliary: Auxiliary | None = None,
    companion: Companion | None = None,
    fingerprint: str = "",
) -> TrainingLog:
    """Train ``model`` in place and leave it on the device, in evaluation mode.

    All randomness comes from ``seed`` and the number of the step: torch's generator is seeded
    before each step, so a resumed run takes the steps an uninterrupted one would have taken.

    Args:
        model: the network; its weights are part of what identifies a saved state.
        examples: the training data.
        objective: the loss.
        optimisation: hyperparameters.
        seed: the run's seed.
        state_dir: folder for the resumable state; the caller removes it once it has stored the
            result. None: no state is saved.
        description: what is trained, for progress lines.
        parameter_groups: parameters with their own settings, as torch's optimisers take them;
            none: :func:`default_parameter_groups`.
        on_start: called with the model before training, but not if a saved state is continued.
        on_epoch_start: called with the number of an epoch (from 0) and the model where the epoch
            begins, but not where a run goes on inside it. What it does to the model must depend
            on the number and on the model alone: interrupted, it is done again.
        on_epoch_end: called with the number of the finished epoch (from 0) and the model. After
            an interruption it may be called for the same epoch again, so what it makes must be
            files that it can write twice.
        auxiliary: a loss that is added once per step, such as alignment replay.
        companion: a second minibatch of each step, with its own loss.
        fingerprint: whatever else identifies the run (digests of its data); a saved state with
            another one is not continued.

    Raises:
        AtlasError: if there are no examples, the loss is not finite, the disk is full, or the
            process was asked to stop (SIGTERM); in the last case the state has been saved.
    """
    count = len(examples.lengths)
    if count == 0:
        raise AtlasError(
            f"{description}: there are no training examples; check the data's filters."
        )
    steps_per_epoch = math.ceil(count / optimisation.batch_size)
    states = _States(state_dir)
    if state_dir is not None:
        states.fingerprint = _run_fingerprint(model, examples, optimisation, seed, fingerprint)

    accelerator = Accelerator(mixed_precision="no")  # precision: see autocast
    device = accelerator.device
    model.to(device)
    optimiser = _optimiser(parameter_groups, model, optimisation)
    scheduler = _scheduler(optimiser, optimisation, steps_per_epoch * optimisation.epochs)
    model, optimiser, scheduler = accelerator.prepare(model, optimiser, scheduler)
    log, loss_sum = states.restore(accelerator, description)
    running = torch.tensor(loss_sum, dtype=torch.float64, device=device)

    last_save = last_time = time.monotonic()
    with _termination_flag() as terminated, _deterministic(device):
        if on_start is not None and log.resumptions == 0:
            model.eval()
            on_start(model)
        for epoch in range(log.steps // steps_per_epoch, optimisation.epochs):
            if on_epoch_start is not None and log.steps == epoch * steps_per_epoch:
                on_epoch_start(epoch, model)
            model.train()
            batches = epoch_batches(
                examples.lengths, optimisation.batch_size, optimisation.order, seed, epoch
            )
            title = f"{description}, epoch {epoch + 1} of {optimisation.epochs}"
            for batch in track(batches[log.steps - epoch * steps_per_epoch :], title):
                torch.manual_seed(derive_seed(seed, "step", log.steps))
                running += accumulate_gradients(
                    model, examples, objective, optimisation, batch, accelerator.backward
                )
                if auxiliary is not None:
                    with autocast(optimisation.precision, device):
                        extra = auxiliary(model, log.steps)
                    accelerator.backward(extra)
                    running += extra.detach()
                if companion is not None:
                    running += accumulate_gradients(
                        model,
                        companion.examples,
                        companion.objective,
                        optimisation,
                        companion.batch(log.steps),
                        accelerator.backward,
                    )
                if optimisation.clip_norm is not None:
                    accelerator.clip_grad_norm_(model.parameters(), optimisation.clip_norm)
                optimiser.step()
                scheduler.step()
                optimiser.zero_grad()

                now = time.monotonic()
                log.steps += 1
                log.examples += len(batch)
                log.tokens += int(examples.lengths[batch].sum())
                log.seconds, last_time = log.seconds + now - last_time, now
                if log.steps == (epoch + 1) * steps_per_epoch:
                    log.epoch_losses.append(_finite(running, description, log) / steps_per_epoch)
                    running.zero_()
                    _report(title, log)
                    if on_epoch_end is not None:
                        model.eval()
                        on_epoch_end(epoch, model)
                if terminated.is_set():
                    states.save(accelerator, log, _finite(running, description, log))
                    raise AtlasError(
                        f"{description}: stopped by SIGTERM after step {log.steps} of "
                        f"{steps_per_epoch * optimisation.epochs}; {states.promise}."
                    )
                if now - last_save >= optimisation.checkpoint_seconds:
                    states.save(accelerator, log, _finite(running, description, log))
                    last_save = time.monotonic()
    accelerator.free_memory()
    model.eval()
    return log


def predict(
    model: nn.Module,
    examples: Examples,
    forward: Callable[[Any, Batch], torch.Tensor],
    *,
    description: str,
    rows: Indices | None = None,
    token_budget: int = 16384,
    precision: Precision = "auto",
) -> Ragged:
    """Run ``forward`` over all examples, those of similar length together, without gradients.

    Args:
        model: the network; moved to the device.
        examples: the data.
        forward: takes the model and a batch on the device, returns the rows of the batch's
            examples one after the other, shape ``(rows, ...)``.
        description: for progress lines.
        rows: rows that each example gives, shape ``(n,)``; none: one each.
        token_budget: padded tokens in one batch.
        precision: see :class:`Optimisation`.

    Returns:
        The rows in the order of the examples; row i of the result belongs to example i.
    """
    lengths = examples.lengths
    counts = np.ones(len(lengths), dtype=np.int64) if rows is None else rows
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    values = np.empty(0, dtype=np.float32)
    device = PartialState().device
    model.to(device).eval()
    groups = micro_batches(np.arange(len(lengths), dtype=np.int64), lengths, token_budget)
    with torch.inference_mode():
        for number, indices in enumerate(track(groups, description)):
            with autocast(precision, device):
                output = forward(model, _to_device(examples.collate(indices), device))
            output = output.float() if output.is_floating_point() else output
            array = output.cpu().numpy()
            if number == 0:
                values = np.empty((offsets[-1], *array.shape[1:]), dtype=array.dtype)
            values[_row_numbers(offsets[indices], counts[indices])] = array
    return Ragged(values, offsets)


def default_parameter_groups(model: nn.Module, optimisation: Optimisation) -> list[dict[str, Any]]:
    """Group what is trainable: heads apart from the encoder, decayed apart from undecayed.

    A parameter belongs to a head if its name begins with ``head``. Biases and normalisation
    weights, the one-dimensional parameters, are not decayed, as in BERT's own optimiser.
    """
    groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = (name.startswith("head"), parameter.ndim > 1)
            groups.setdefault(key, []).append(parameter)
    head_rate = optimisation.head_learning_rate or optimisation.learning_rate
    return [
        {
            "params": parameters,
            "lr": head_rate if in_head else optimisation.learning_rate,
            "weight_decay": optimisation.weight_decay if decayed else 0.0,
        }
        for (in_head, decayed), parameters in groups.items()
    ]


def accumulate_gradients(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    indices: Indices,
    backward: Callable[[torch.Tensor], Any] = torch.Tensor.backward,
) -> torch.Tensor:
    """Add the gradients of the loss over some examples, in micro-batches, to the parameters'.

    Args:
        model: the network, on the device.
        examples: the data.
        objective: the loss.
        optimisation: token budget and precision.
        indices: the examples of the step.
        backward: what computes the gradients of a loss.

    Returns:
        The loss, a float64 scalar without gradient.
    """
    device = PartialState().device
    groups = micro_batches(indices, examples.lengths, optimisation.token_budget)
    batches = [examples.collate(group) for group in groups]
    # The normaliser comes first, so that accumulated shares add up to the loss of one batch.
    step_weight = sum(objective.weight(batch) for batch in batches)
    total = torch.zeros((), dtype=torch.float64, device=device)
    for batch in batches:
        with autocast(optimisation.precision, device):
            loss = objective.loss(model, _to_device(batch, device), step_weight)
        backward(loss)
        total += loss.detach()
    return total


def _to_device(batch: Batch, device: torch.device) -> Batch:
    if device.type == "cpu":
        return batch
    return {
        name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in batch.items()
    }


def _row_numbers(starts: Indices, counts: Indices) -> Indices:
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1], dtype=np.int64)


def _optimiser(
    groups: Sequence[dict[str, Any]] | None, model: nn.Module, optimisation: Optimisation
) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if optimisation.optimiser == "adamw" else torch.optim.Adam
    return kind(
        list(groups) if groups is not None else default_parameter_groups(model, optimisation),
        lr=optimisation.learning_rate,
        betas=optimisation.betas,
        eps=optimisation.epsilon,
        fused=True,
    )


def _scheduler(
    optimiser: torch.optim.Optimizer, optimisation: Optimisation, steps: int
) -> torch.optim.lr_scheduler.LRScheduler:
    name = {"linear": "linear", "constant": "constant_with_warmup"}[optimisation.schedule]
    warmup = math.ceil(optimisation.warmup_fraction * steps)
    scheduler: torch.optim.lr_scheduler.LRScheduler = get_scheduler(
        name, optimiser, num_warmup_steps=warmup, num_training_steps=steps
    )
    return scheduler


def _finite(running: torch.Tensor, description: str, log: TrainingLog) -> float:
    value = running.item()
    if not math.isfinite(value):
        raise AtlasError(
            f"{description}: the loss is not finite at step {log.steps}; "
            "lower the learning rate or clip the gradients."
        )
    return value


def _report(title: str, log: TrainingLog) -> None:
    _logger.info(
        "%s: mean loss %.4f, %d steps, %.0f tokens per second",
        title,
        log.epoch_losses[-1],
        log.steps,
        log.tokens / log.seconds,
    )


def _run_fingerprint(
    model: nn.Module, examples: Examples, optimisation: Optimisation, seed: int, extra: str
) -> str:
    digest = hashlib.sha256()
    # How often a state is saved does not change the result; everything else may.
    settings = optimisation.model_dump(exclude={"checkpoint_seconds"})
    digest.update(json.dumps([settings, seed, extra], sort_keys=True).encode())
    digest.update(np.ascontiguousarray(examples.lengths).tobytes())
    for name, tensor in model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


class _States:
    """The saved states of one run: folders ``step-<n>``, of which the newest is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self.fingerprint = folder, ""

    @property
    def promise(self) -> str:
        if self.folder is None:
            return "nothing was saved because no state folder was given"
        return f"the state is saved in {self.folder} and the next run goes on from there"

    def restore(self, accelerator: Accelerator, description: str) -> tuple[TrainingLog, float]:
        """Load the newest state that belongs to this run; remove those of other runs."""
        restored = (TrainingLog(), 0.0)
        if self.folder is None or not self.folder.is_dir():
            return restored
        for leftover in self.folder.glob(".step-*.partial"):
            shutil.rmtree(leftover)
        for state in sorted(self.folder.glob("step-*"), reverse=True):
            meta = read_json(state / "meta.json")
            if meta["fingerprint"] != self.fingerprint:
                _logger.info("%s: ignores %s, the state of another run", description, state)
                shutil.rmtree(state)
            elif restored[0].steps == 0:
                accelerator.load_state(str(state))
                log = TrainingLog(**meta["log"])
                log.resumptions += 1
                restored = (log, meta["loss_sum"])
                _logger.info("%s: goes on after step %d from %s", description, log.steps, state)
        return restored

    def save(self, accelerator: Accelerator, log: TrainingLog, loss_sum: float) -> None:
        if self.folder is None:
            return
        meta = {"fingerprint": self.fingerprint, "log": asdict(log), "loss_sum": loss_sum}
        target = self.folder / f"step-{log.steps:09d}"
        try:
            with atomic_directory(target) as folder:
                accelerator.save_state(str(folder))
                write_json(meta, folder / "meta.json")
        except (RuntimeError, SafetensorError) as error:  # how torch and safetensors report it
            raise AtlasError(
                f"{target}: the training state cannot be written ({error}); "
                "free space or point the run at another disk, then start again."
            ) from error
        for older in self.folder.glob("step-*"):
            if older != target:
                shutil.rmtree(older)


@contextmanager
def _termination_flag() -> Iterator[threading.Event]:
    """Turn SIGTERM (scancel, a time limit) into a flag that the loop reads after each step."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    previous = signal.signal(signal.SIGTERM, lambda *_: flag.set())
    try:
        yield flag
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def _deterministic(device: torch.device) -> Iterator[None]:
    """Choose CUDA kernels that add in a fixed order, so that a rerun gives the same bytes.

    Attention's backward pass is only deterministic in the strict mode, not in the warning one.
    """
    if device.type != "cuda":
        yield
        return
    settings: Any = torch.utils.deterministic
    before = torch.are_deterministic_algorithms_enabled(), settings.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    settings.fill_uninitialized_memory = False  # a debugging aid that costs time
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0])
        settings.fill_uninitialized_memory = before[1]
