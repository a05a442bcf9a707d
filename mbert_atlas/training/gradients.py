"""Losses and gradients of a step, accumulated over micro-batches, and their norm."""

import torch
from torch import nn

from mbert_atlas.batching import Indices, micro_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import autocast, default_device, to_device
from mbert_atlas.encoders.trimming import SomeWords
from mbert_atlas.tasks.base import Batch, Examples, Objective
from mbert_atlas.training.graphs import Graphs


def accumulate_gradients(
    model: nn.Module,
    examples: Examples,
    objective: Objective,
    optimisation: Optimisation,
    indices: Indices,
    graphs: Graphs | None = None,
) -> torch.Tensor:
    """Add the gradients of a step's loss, in micro-batches; return the loss, a float64 scalar.

    ``graphs`` are those of this model and objective.
    """
    device = default_device()
    groups = micro_batches(indices, examples.lengths, optimisation.token_budget)
    batches = [objective.prepare(examples.collate(group)) for group in groups]
    # The normaliser comes first, so that accumulated losses add up to the loss of one batch.
    step_weight = torch.tensor(sum(objective.weight(batch) for batch in batches))

    def passes(batch: Batch) -> torch.Tensor:
        with autocast(optimisation.precision, device):
            loss = objective.loss(model, batch, batch["step_weight"])
        torch.autograd.backward(loss)
        return loss.detach()

    total = torch.zeros((), dtype=torch.float64, device=device)
    for batch in batches:
        weighted = {**batch, "step_weight": step_weight}
        total += graphs.run(passes, weighted) if graphs else passes(to_device(weighted, device))
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
