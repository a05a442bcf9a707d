"""The training loop of every paper: device, precision, accumulation, schedule, resumption.

What differs between runs is passed in: examples, objective, hyperparameters and methods.
"""

import hashlib
import json
import logging
import math
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import get_scheduler

from mbert_atlas.batching import Indices, epoch_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.errors import AtlasError, StoppedError
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import Examples, Objective
from mbert_atlas.training.curve import steps_between_points
from mbert_atlas.training.dropout import fewer_draws
from mbert_atlas.training.gradients import accumulate_gradients, clip_gradients
from mbert_atlas.training.graphs import can_be_recorded, graphs_on, one_stream
from mbert_atlas.training.method import Method, TrainingLog
from mbert_atlas.training.states import States

_logger = logging.getLogger(__name__)


def train(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    *,
    seed: int,
    state_dir: Path | None,
    description: str,
    methods: Sequence[Method] = (),
    fingerprint: str = "",
) -> TrainingLog:
    """Train ``model`` in place and leave it on the device, in evaluation mode.

    All randomness comes from ``seed`` and the number of the step: torch's generator is seeded
    before each step, so a resumed run takes the steps of an uninterrupted one.

    The state is saved in ``state_dir`` whenever the last save is ``checkpoint_seconds`` old; the
    caller removes it once the result is accepted. It is only resumed with the same weights, data
    lengths, settings, methods and ``fingerprint``. The methods' gradients are added in their order.
    Raises an AtlasError if there are no examples or the loss is not finite; a TransientError if the
    disk is full; a StoppedError at SIGTERM or SIGINT, once the state is saved.
    """
    if len(examples.lengths) == 0:
        raise AtlasError(f"{description}: no training examples; check the data's filters.")
    run = _Run(model, examples, objective, optimisation, seed, description, methods)
    if state_dir is not None:
        run.restore(state_dir, fingerprint)
    on = run.device
    with termination_signals() as signals, _deterministic(on), one_stream(on), fewer_draws(on):
        run.take_steps(signals)
    if run.log.steps > run.saved_steps and run.is_save_due():
        run.save()  # what follows may fail or be rejected
    model.eval()
    for method in methods:
        method.finish(model, run.log)
    return run.log


def parameter_groups(model: nn.Module, optimisation: Optimisation) -> list[dict[str, Any]]:
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


@dataclass
class _Run:
    """A model on its device, with its optimiser, its log and its saved states."""

    model: Any
    examples: Examples
    objective: Objective
    optimisation: Optimisation
    seed: int
    description: str
    methods: Sequence[Method]

    def __post_init__(self) -> None:
        self.steps_per_epoch = math.ceil(len(self.examples.lengths) / self.optimisation.batch_size)
        self.total_steps = self.steps_per_epoch * self.optimisation.epochs
        self.device = default_device()
        self.model.to(self.device)
        self.optimiser, self.scheduler = new_optimiser(
            self.model, self.optimisation, self.total_steps
        )
        self.graphs = graphs_on(self.device) if can_be_recorded(self.model) else None
        self.states: States | None = None
        self.log, self.saved_steps = TrainingLog(), 0
        self.saved_at = time.monotonic()
        # Of the epoch's steps so far, of the task and of the methods; on the device, so that few
        # steps wait for the numbers.
        self.loss_sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        self.interval = steps_between_points(self.steps_per_epoch, self.optimisation.epochs)
        self.last_time = time.monotonic()

    def take_steps(self, signals: Sequence[str]) -> None:
        """Take the remaining steps; save from time to time and once there is a signal."""
        for _ in self.steps():
            if signals:
                raise StoppedError(
                    f"{self.description}: stopped by {signals[0]} after step {self.log.steps} of "
                    f"{self.total_steps}; {self.save()}."
                )
            if self.is_save_due():
                self.save()

    def steps(self) -> Iterator[None]:
        """Take the remaining steps, and call the methods around them."""
        if self.log.resumptions == 0:
            self.model.eval()
            for method in self.methods:
                method.start(self.model)
        for epoch in range(self.log.steps // self.steps_per_epoch, self.optimisation.epochs):
            done = self.log.steps - epoch * self.steps_per_epoch
            if done == 0:
                for method in self.methods:
                    method.start_epoch(epoch, self.model)
            self.model.train()
            size, order = self.optimisation.batch_size, self.optimisation.order
            batches = epoch_batches(self.examples.lengths, size, order, self.seed, epoch)
            title = f"{self.description}, epoch {epoch + 1} of {self.optimisation.epochs}"
            for batch in track(batches[done:], title):
                self.step(batch)
                if self.log.steps == (epoch + 1) * self.steps_per_epoch:
                    self.end_epoch(epoch, title)
                yield

    def step(self, batch: Indices) -> None:
        """Take one step: the gradients of the task and then of each method, clipped together."""
        torch.manual_seed(derive_seed(self.seed, "step", self.log.steps))
        task = self.model, self.examples, self.objective, self.optimisation
        self.loss_sums[0] += accumulate_gradients(*task, batch, self.graphs)
        for method in self.methods:
            loss = method.add_gradients(self.model, self.log.steps)
            if loss is not None:
                self.loss_sums[1] += loss
        if self.optimisation.clip_norm is not None:
            clip_gradients(self.model, self.optimisation.clip_norm)
        self.optimiser.step()
        rate = float(self.scheduler.get_last_lr()[0])
        self.scheduler.step()
        self.optimiser.zero_grad(set_to_none=self.graphs is None)
        log = self.log
        log.steps += 1
        log.examples += len(batch)
        log.tokens += int(self.examples.lengths[batch].sum())
        place = log.steps % self.steps_per_epoch
        losses = None if place % self.interval else self.finite_losses()  # waits for the device
        now = time.monotonic()
        log.seconds, self.last_time = log.seconds + now - self.last_time, now
        if losses:
            log.points.append([log.steps, *losses, rate, log.tokens, log.seconds])

    def end_epoch(self, epoch: int, title: str) -> None:
        """Log the mean loss of an epoch and call the methods at its end."""
        log = self.log
        log.epoch_losses.append(sum(self.finite_losses()) / self.steps_per_epoch)
        self.loss_sums.zero_()
        speed = log.tokens / log.seconds
        message = "%s: mean loss %.4f, %d steps, %.0f tokens per second"
        _logger.info(message, title, log.epoch_losses[-1], log.steps, speed)
        self.model.eval()
        for method in self.methods:
            method.end_epoch(epoch, self.model)

    def finite_losses(self) -> list[float]:
        """Return the sums of the epoch's losses so far, or raise if one is not a number."""
        values: list[float] = self.loss_sums.tolist()
        if not all(map(math.isfinite, values)):
            raise AtlasError(
                f"{self.description}: the loss is not finite at step {self.log.steps}; "
                "lower the learning rate or clip the gradients."
            )
        return values

    def restore(self, folder: Path, fingerprint: str) -> None:
        """Save states to a folder; resume from the newest of this run, if there is one."""
        digest = self._digest(fingerprint)
        parts = {"model": self.model, "optimiser": self.optimiser, "scheduler": self.scheduler}
        self.states = States(folder, digest, parts, self.description)
        meta = self.states.load_newest()
        if meta is None:
            return
        self.log = TrainingLog(**meta["log"])
        self.saved_steps = self.log.steps
        self.log.resumptions += 1
        self.loss_sums.copy_(torch.tensor(meta["loss_sums"], dtype=torch.float64))
        for method, state in zip(self.methods, meta["methods"], strict=True):
            method.state = state
        message = "%s: resumes after step %d from %s"
        _logger.info(message, self.description, self.log.steps, folder)

    def is_save_due(self) -> bool:
        """Whether more than a checkpoint interval of work would be lost."""
        seconds = self.optimisation.checkpoint_seconds
        return self.states is not None and time.monotonic() - self.saved_at >= seconds

    def save(self) -> str:
        """Save the state; return a clause that describes what was saved."""
        meta = {
            "log": asdict(self.log),
            "loss_sums": self.finite_losses(),
            "methods": [method.state for method in self.methods],
        }
        if self.states is None:
            return "nothing was saved because no state folder was given"
        files = (file for method in self.methods for file in method.files())
        self.states.save(self.log.steps, meta, files)
        self.saved_steps, self.saved_at = self.log.steps, time.monotonic()
        return f"the state is saved in {self.states.folder} and the next run resumes from it"

    def _digest(self, fingerprint: str) -> str:
        # How often a state is saved does not change the result; everything else may.
        settings = self.optimisation.model_dump(exclude={"checkpoint_seconds"})
        parts = [settings, self.seed, fingerprint, *(item.fingerprint for item in self.methods)]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.examples.lengths).tobytes())
        for name, tensor in self.model.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


def new_optimiser(
    model: nn.Module, optimisation: Optimisation, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Return the optimiser of what is trainable, and its schedule over all ``steps``."""
    kind = torch.optim.AdamW if optimisation.optimiser == "adamw" else torch.optim.Adam
    optimiser = kind(
        parameter_groups(model, optimisation),
        lr=optimisation.learning_rate,
        betas=optimisation.betas,
        eps=optimisation.epsilon,
        fused=True,
    )
    name = {"linear": "linear", "constant": "constant_with_warmup"}[optimisation.schedule]
    warmup = math.ceil(optimisation.warmup_fraction * steps)
    return optimiser, get_scheduler(
        name, optimiser, num_warmup_steps=warmup, num_training_steps=steps
    )


@contextmanager
def termination_signals() -> Iterator[list[str]]:
    """Collect the names of SIGTERM (scancel, a time limit) and SIGINT, read after each step."""
    names: list[str] = []

    def note(number: int, _: Any) -> None:
        names.append(signal.Signals(number).name)

    both = (signal.SIGTERM, signal.SIGINT)
    previous = [signal.signal(number, note) for number in both]
    try:
        yield names
    finally:
        for number, handler in zip(both, previous, strict=True):
            signal.signal(number, handler)


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
