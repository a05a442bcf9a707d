"""Losses and gradients of a step, accumulated over micro-batches, and their norm."""

import torch
from torch import nn

from mbert_atlas.batching import Indices, micro_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import autocast, default_device
from mbert_atlas.encoders.trimming import SomeWords
from mbert_atlas.training.interfaces import Batch, Examples, Objective


def accumulate_gradients(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    indices: Indices,
) -> torch.Tensor:
    """Add the gradients of a step's loss, in micro-batches; return the loss, a float64 scalar."""
    device = default_device()
    groups = micro_batches(indices, examples.lengths, optimisation.token_budget)
    batches = [examples.collate(group) for group in groups]
    # The normaliser comes first, so that accumulated losses add up to the loss of one batch.
    step_weight = sum(objective.weight(batch) for batch in batches)
    total = torch.zeros((), dtype=torch.float64, device=device)
    for batch in batches:
        with autocast(optimisation.precision, device):
            loss = objective.loss(model, to_device(batch, device), step_weight)
        torch.autograd.backward(loss)
        total += loss.detach()
    return total


def clip_gradients(model: nn.Module, limit: float) -> None:
    """Scale all gradients so that their norm together is ``limit`` at most."""
    whole = {
        item.weight: item.whole_gradient()
        for item in model.modules()
        if isinstance(item, SomeWords)
    }
    parameters = list(model.parameters())
    gradients = (whole.get(item, item.grad) for item in parameters)
    norm = nn.utils.get_total_norm([item for item in gradients if item is not None])
    nn.utils.clip_grads_with_norm_(parameters, limit, norm)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Return a batch on a device."""
    if device.type == "cpu":
        return batch
    return {
        name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in batch.items()
    }
