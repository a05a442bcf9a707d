"""The training loop of every paper, and prediction: device, precision, accumulation, resuming.

What differs between runs comes in from outside: the examples, the objective, the hyperparameters
and the methods.
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
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import DataLoaderConfiguration
from safetensors import SafetensorError
from torch import nn
from transformers import get_scheduler

from mbert_atlas.arrays import Ragged
from mbert_atlas.batching import Indices, epoch_batches, micro_batches
from mbert_atlas.encoders.precision import Precision, autocast, fitting_tokens
from mbert_atlas.errors import AtlasError, StoppedError, TransientError
from mbert_atlas.files import atomic_directory, flush_to_disk, read_json, sha256_of, write_json
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.training.interfaces import (
    Backward,
    Batch,
    Examples,
    Objective,
    Optimisation,
    TrainingLog,
)
from mbert_atlas.training.method import Method

_logger = logging.getLogger(__name__)
# Each save would warn that tied weights are stored once; they are restored as tied.
logging.getLogger("accelerate.utils.other").setLevel(logging.ERROR)


_STATES_KEPT = 2


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
    seed_micro_batches: bool = False,
) -> TrainingLog:
    """Train ``model`` in place and leave it on the device, in evaluation mode.

    All randomness comes from ``seed`` and the number of the step: torch's generator is seeded
    before each step, so a resumed run takes the steps an uninterrupted one would have taken. With
    several processes it is seeded before each micro-batch, whose draws then depend neither on the
    others nor on who computes it.

    Args:
        model: the network; its weights are part of what identifies a saved state.
        examples: the training data.
        objective: the loss.
        optimisation: hyperparameters.
        seed: the run's seed.
        state_dir: folder for the resumable state, which is saved at the end, too; whoever has
            accepted the result removes it. None: no state is saved.
        description: what is trained, for progress lines.
        methods: what happens beside; their gradients are added in this order.
        fingerprint: whatever else identifies the run (digests of its data); a saved state with
            another one is not continued.
        seed_micro_batches: seed each micro-batch in one process, too, so that it draws what several
            would draw.

    Raises:
        AtlasError: if there are no examples or the loss is not finite.
        TransientError: if the disk is full.
        StoppedError: if the process was asked to end (SIGTERM, SIGINT); the state has been saved.
    """
    if len(examples.lengths) == 0:
        raise AtlasError(
            f"{description}: there are no training examples; check the data's filters."
        )
    run = _Run(model, examples, objective, optimisation, seed, description, methods)
    run.seeds_micro_batches |= seed_micro_batches
    if state_dir is not None:
        run.restore(state_dir, fingerprint)
    last_save = time.monotonic()
    with _termination_flag() as terminated, _deterministic(run.device):
        for _ in run.steps():
            if total_of(len(terminated)):  # all processes stop after the same step
                kept, name = run.save(), (terminated or ["SIGTERM"])[0]
                run.accelerator.wait_for_everyone()  # who ends first would have the others ended
                raise StoppedError(
                    f"{description}: stopped by {name} after step {run.log.steps} of "
                    f"{run.total_steps}; {kept}."
                )
            if time.monotonic() - last_save >= optimisation.checkpoint_seconds:
                run.save()
                last_save = time.monotonic()
    if state_dir is not None and run.log.steps > run.saved_steps:
        run.save()  # what follows may fail or be rejected
    if run.device.type == "cuda":
        run.accelerator.free_memory()  # for predictions; elsewhere it only goes through all objects
    model.eval()
    for method in methods:
        method.finish(model, run.log)
    return run.log


def predict(
    model: nn.Module,
    examples: Examples,
    forward: Callable[[Any, Batch], torch.Tensor],
    *,
    description: str,
    rows: Indices | None = None,
    token_budget: int | None = None,
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
        token_budget: padded tokens in one batch; none: what suits the device.
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
    budget = token_budget or fitting_tokens(device)
    groups = micro_batches(np.arange(len(lengths), dtype=np.int64), lengths, budget)
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


def accumulate_gradients(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    indices: Indices,
    backward: Backward = torch.Tensor.backward,
    seed: int | None = None,
) -> torch.Tensor:
    """Add the gradients of the loss over some examples, in micro-batches, to the parameters'.

    Of several processes each takes some of the micro-batches; :func:`add_up_gradients` joins their
    gradients.

    Args:
        model: the network, on the device.
        examples: the data.
        objective: the loss.
        optimisation: token budget and precision.
        indices: the examples of the step.
        backward: what computes the gradients of a loss.
        seed: seeds torch's generator before each micro-batch, by its number; none: it is left as it
            is.

    Returns:
        The loss, a float64 scalar without gradient.
    """
    device = PartialState().device
    groups = micro_batches(indices, examples.lengths, optimisation.token_budget)
    state = PartialState()
    own = range(state.process_index, len(groups), state.num_processes)
    batches = {number: examples.collate(groups[number]) for number in own}
    # The normaliser comes first, so that accumulated shares add up to the loss of one batch.
    step_weight = total_of(sum(objective.weight(batch) for batch in batches.values()))
    total = torch.zeros((), dtype=torch.float64, device=device)
    for number, batch in batches.items():
        if seed is not None:
            torch.manual_seed(derive_seed(seed, "micro-batch", number))
        with autocast(optimisation.precision, device):
            loss = objective.loss(model, _to_device(batch, device), step_weight)
        backward(loss)
        total += loss.detach()
    return add_up(total)


def add_up(value: torch.Tensor) -> torch.Tensor:
    """Return the sum of a value over all processes; of one it is the value itself."""
    if PartialState().num_processes > 1:
        torch.distributed.all_reduce(value)
    return value


def total_of(value: float) -> float:
    """Return the sum of a number over all processes; it travels on the CPU, so no GPU waits."""
    if PartialState().num_processes == 1:
        return value
    return float(add_up(torch.tensor(value, dtype=torch.float64)))


def add_up_gradients(model: nn.Module) -> None:
    """Replace the gradients of each process by their sum, in one message.

    DistributedDataParallel would send them in parts while others are computed, which pays with one
    micro-batch a step; with several it would send them after each, or need to be told not to. And
    it takes means, while losses here are shares of the step's.
    """
    if PartialState().num_processes == 1:
        return
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    # A parameter that no process has used keeps no gradient, so that it is not decayed.
    used = add_up(torch.tensor([float(item.grad is not None) for item in trained])).tolist()
    shared = [item for item, count in zip(trained, used, strict=True) if count]
    for item in shared:
        if item.grad is None:
            item.grad = torch.zeros_like(item)
    summed = add_up(torch.cat([item.grad.flatten() for item in shared if item.grad is not None]))
    for item, part in zip(
        shared, torch.split(summed, [item.numel() for item in shared]), strict=True
    ):
        item.grad = part.view_as(item)


def _to_device(batch: Batch, device: torch.device) -> Batch:
    if device.type == "cpu":
        return batch
    return {
        name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in batch.items()
    }


def _row_numbers(starts: Indices, counts: Indices) -> Indices:
    # Row k of the result is starts[i] + (k - rows before example i):
    # starts [7, 0, 5], counts [2, 1, 3] give 7 8 | 0 | 5 6 7.
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1], dtype=np.int64)


class _Run:
    """A model on its device with its optimiser, what has happened to it, and its saved states.

    States are folders ``step-<n>``, of which the newest two are kept. Each has the checksums of its
    files in ``meta.json``; a damaged one is dropped.
    """

    def __init__(
        self,
        model: nn.Module,
        examples: Examples,
        objective: Objective,
        optimisation: Optimisation,
        seed: int,
        description: str,
        methods: Sequence[Method],
    ) -> None:
        self.examples, self.objective, self.optimisation = examples, objective, optimisation
        self.seed, self.description, self.methods = seed, description, methods
        self.steps_per_epoch = math.ceil(len(examples.lengths) / optimisation.batch_size)
        self.total_steps = self.steps_per_epoch * optimisation.epochs
        # Precision: see autocast. The schedule goes by steps, however many processes take one.
        by_step = DataLoaderConfiguration(split_batches=True)
        self.accelerator = Accelerator(mixed_precision="no", dataloader_config=by_step)
        if methods and self.accelerator.num_processes > 1:
            raise AtlasError(f"{description}: its methods need one process; ask for one GPU.")
        self.seeds_micro_batches = self.accelerator.num_processes > 1
        self.device = self.accelerator.device
        model.to(self.device)
        optimiser = _optimiser(model, optimisation)
        scheduler = _scheduler(optimiser, optimisation, self.total_steps)
        # In evaluation mode it is not wrapped: gradients are added up here.
        self.model = self.accelerator.prepare_model(model, evaluation_mode=True)
        self.optimiser, self.scheduler = self.accelerator.prepare(optimiser, scheduler)
        self.folder: Path | None = None
        self.digests: dict[Path, str] = {}  # of the methods' files
        self.log, self.fingerprint, self.saved_steps = TrainingLog(), "", 0
        # Of the epoch's steps so far; on the device, so that no step waits for the number.
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=self.device)
        self.last_time = time.monotonic()

    def steps(self) -> Iterator[None]:
        """Take the steps that are left, and call the methods around them."""
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
        step, backward = self.log.steps, self.accelerator.backward
        seed = derive_seed(self.seed, "step", step)
        torch.manual_seed(seed)
        self.loss_sum += accumulate_gradients(
            self.model,
            self.examples,
            self.objective,
            self.optimisation,
            batch,
            backward,
            seed if self.seeds_micro_batches else None,
        )
        for method in self.methods:
            loss = method.add_gradients(self.model, step, backward)
            if loss is not None:
                self.loss_sum += loss
        add_up_gradients(self.model)
        if self.optimisation.clip_norm is not None:
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.optimisation.clip_norm)
        self.optimiser.step()
        self.scheduler.step()
        self.optimiser.zero_grad()
        now = time.monotonic()
        self.log.steps += 1
        self.log.examples += len(batch)
        self.log.tokens += int(self.examples.lengths[batch].sum())
        self.log.seconds, self.last_time = self.log.seconds + now - self.last_time, now

    def end_epoch(self, epoch: int, title: str) -> None:
        """Note the mean loss of an epoch and call the methods at its end."""
        log = self.log
        log.epoch_losses.append(self.finite_loss() / self.steps_per_epoch)
        self.loss_sum.zero_()
        speed = log.tokens / log.seconds
        message = "%s: mean loss %.4f, %d steps, %.0f tokens per second"
        _logger.info(message, title, log.epoch_losses[-1], log.steps, speed)
        self.model.eval()
        for method in self.methods:
            method.end_epoch(epoch, self.model)

    def finite_loss(self) -> float:
        """Return the sum of the epoch's losses so far, or raise if it is not a number."""
        value = self.loss_sum.item()
        if not math.isfinite(value):
            raise AtlasError(
                f"{self.description}: the loss is not finite at step {self.log.steps}; "
                "lower the learning rate or clip the gradients."
            )
        return value

    def restore(self, folder: Path, fingerprint: str) -> None:
        """Save states to a folder; go on from the newest of this run, remove those of others."""
        self.folder, self.fingerprint = folder, self._digest(fingerprint)
        with self.accelerator.main_process_first():  # which tidies up
            self._restore(folder)

    def _restore(self, folder: Path) -> None:
        for leftover in folder.glob(".step-*.partial"):
            shutil.rmtree(leftover, ignore_errors=True)
        for state in sorted(folder.glob("step-*"), reverse=True):
            try:
                meta = _whole_meta(state)
            except (AtlasError, OSError, ValueError) as error:
                message = "%s: drops a damaged state and goes on from an older one or the start: %s"
                _logger.warning(message, self.description, error)
                _remove(state)
                continue
            if meta["fingerprint"] != self.fingerprint:
                _logger.info("%s: ignores %s, the state of another run", self.description, state)
                _remove(state)
            elif self.log.steps == 0:
                self.accelerator.load_state(str(state))
                self.log = TrainingLog(**meta["log"])
                self.saved_steps = self.log.steps
                self.log.resumptions += 1
                self.loss_sum.fill_(meta["loss_sum"])
                for method, saved in zip(self.methods, meta["methods"], strict=True):
                    method.state = saved
                message = "%s: goes on after step %d from %s"
                _logger.info(message, self.description, self.log.steps, state)

    def save(self) -> str:
        """Save the state beside the one before; return in words what has been kept."""
        meta = {
            "fingerprint": self.fingerprint,
            "log": asdict(self.log),
            "loss_sum": self.finite_loss(),
            "methods": [method.state for method in self.methods],
        }
        if self.folder is None:
            return "nothing was saved because no state folder was given"
        if not self.accelerator.is_main_process:
            return "the first process saves the state"
        target = self.folder / f"step-{self.log.steps:09d}"
        with writing_weights(target), atomic_directory(target) as folder:
            self.accelerator.save_state(str(folder))
            meta["files"] = {file.name: sha256_of(file) for file in folder.iterdir()}
            meta["beside"] = self._beside(self.folder)
            write_json({**meta, "sha256": _digest_of(meta)}, folder / "meta.json")
            flush_to_disk(folder)
        flush_to_disk(self.folder)
        self.saved_steps = self.log.steps
        for older in sorted(self.folder.glob("step-*"))[:-_STATES_KEPT]:
            _remove(older)
        return f"the state is saved in {self.folder} and the next run goes on from there"

    def _beside(self, folder: Path) -> dict[str, str]:
        """Checksums of the methods' files, each computed once, by path within the folder."""
        files = [file for method in self.methods for file in method.files()]
        for file in files:
            if file not in self.digests:
                self.digests[file] = sha256_of(file)
        return {str(file.relative_to(folder)): self.digests[file] for file in files}

    def _digest(self, fingerprint: str) -> str:
        # How often a state is saved does not change the result; everything else may.
        settings = self.optimisation.model_dump(exclude={"checkpoint_seconds"})
        known = [settings, self.seed, fingerprint, *(item.fingerprint for item in self.methods)]
        digest = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
        digest.update(np.ascontiguousarray(self.examples.lengths).tobytes())
        for name, tensor in self.model.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


def _whole_meta(state: Path) -> dict[str, Any]:
    """Return what ``meta.json`` of a state says, once it and every other file are found whole."""
    meta = read_json(state / "meta.json")
    if not isinstance(meta, dict) or meta.pop("sha256", None) != _digest_of(meta):
        raise AtlasError(f"{state / 'meta.json'} is not what was saved.")
    for folder, saved in ((state, meta["files"]), (state.parent, meta["beside"])):
        for name, digest in saved.items():
            if sha256_of(folder / name) != digest:
                raise AtlasError(f"{folder / name} is not what was saved.")
    return meta


def _digest_of(meta: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _remove(state: Path) -> None:
    """Delete a state, whatever is left of it; a file system that refuses costs only its space."""
    shutil.rmtree(state, ignore_errors=True)
    with suppress(OSError):
        state.unlink()


def _optimiser(model: nn.Module, optimisation: Optimisation) -> torch.optim.Optimizer:
    kind = torch.optim.AdamW if optimisation.optimiser == "adamw" else torch.optim.Adam
    return kind(
        parameter_groups(model, optimisation),
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


@contextmanager
def writing_weights(path: Path) -> Iterator[None]:
    """Turn what torch and safetensors raise on a full disk into a TransientError."""
    try:
        yield
    except (RuntimeError, SafetensorError) as error:
        raise TransientError(
            f"{path}: the weights cannot be written ({error}); "
            "free space or point the run at another disk, then start again."
        ) from error


@contextmanager
def _termination_flag() -> Iterator[list[str]]:
    """Turn SIGTERM (scancel, a time limit) and SIGINT into their names, read after each step."""
    names: list[str] = []
    if threading.current_thread() is not threading.main_thread():
        yield names
        return

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
