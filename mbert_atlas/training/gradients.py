"""Losses and gradients of a step, accumulated over micro-batches and processes."""

import torch
from accelerate import PartialState
from torch import nn

from mbert_atlas.batching import Indices, micro_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import autocast
from mbert_atlas.randomness import derive_seed
from mbert_atlas.training.interfaces import Backward, Batch, Examples, Objective


def accumulate_gradients(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    indices: Indices,
    backward: Backward = torch.Tensor.backward,
    seed: int | None = None,
) -> torch.Tensor:
    """Add the gradients of a step's loss, in micro-batches; return the loss, a float64 scalar.

    Of several processes each takes some of the micro-batches; :func:`add_up_gradients` joins their
    gradients. A ``seed`` seeds torch's generator before each micro-batch, with its number.
    """
    state = PartialState()
    groups = micro_batches(indices, examples.lengths, optimisation.token_budget)
    numbers = range(state.process_index, len(groups), state.num_processes)
    batches = {number: examples.collate(groups[number]) for number in numbers}
    # The normaliser comes first, so that accumulated losses add up to the loss of one batch.
    step_weight = total_of(sum(objective.weight(batch) for batch in batches.values()))
    total = torch.zeros((), dtype=torch.float64, device=state.device)
    for number, batch in batches.items():
        if seed is not None:
            torch.manual_seed(derive_seed(seed, "micro-batch", number))
        with autocast(optimisation.precision, state.device):
            loss = objective.loss(model, to_device(batch, state.device), step_weight)
        backward(loss)
        total += loss.detach()
    return add_up(total)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Return a batch on a device."""
    if device.type == "cpu":
        return batch
    return {
        name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in batch.items()
    }


def add_up(value: torch.Tensor) -> torch.Tensor:
    """Return the sum of a value over all processes; of one it is the value itself."""
    if PartialState().num_processes > 1:
        torch.distributed.all_reduce(value)
    return value


def total_of(value: float) -> float:
    """Return the sum of a number over all processes; it is sent by the CPU, so no GPU waits."""
    if PartialState().num_processes == 1:
        return value
    return float(add_up(torch.tensor(value, dtype=torch.float64)))


def add_up_gradients(model: nn.Module) -> None:
    """Replace the gradients of each process by their sum, in one message.

    DistributedDataParallel would communicate after every micro-batch, and it averages, while losses
    here are parts of the step's.
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
    parts = torch.split(summed, [item.numel() for item in shared])
    for item, part in zip(shared, parts, strict=True):
        item.grad = part.view_as(item)
