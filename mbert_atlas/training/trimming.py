"""All word embeddings of an encoder that was trained with some."""

from typing import Any

import torch
from torch import nn

from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoders.trimming import SomeWords
from mbert_atlas.training.loop import new_optimiser
from mbert_atlas.training.method import TrainingLog

_BLOCK = 2**20  # numbers at a time, which fit a cache


def restore_words(encoder: Any, initial: Any, optimisation: Optimisation, log: TrainingLog) -> None:
    """Give a trained encoder all word embeddings again, as if it had been trained with all.

    ``initial`` is the encoder that training began with, which lends its embeddings. Rows that no
    training example has got no gradient: only the weight decay of all steps changes them.
    """
    some, words = encoder.get_input_embeddings(), initial.get_input_embeddings()
    if not isinstance(some, SomeWords):
        return
    weight, kept = words.weight.detach(), some.kept.cpu()
    if some.weight.requires_grad and optimisation.weight_decay:
        is_absent = torch.ones(len(weight), dtype=torch.bool)
        is_absent[kept] = False
        decay = multiply if default_device().type == "cpu" else optimise
        absent = is_absent.nonzero().squeeze(1)
        for rows in absent.chunk(1 + len(absent) * words.embedding_dim // _BLOCK):
            weight[rows] = decay(weight[rows], optimisation, log)
    weight[kept] = some.weight.detach().cpu()
    encoder.set_input_embeddings(words)


def multiply(rows: torch.Tensor, optimisation: Optimisation, log: TrainingLog) -> torch.Tensor:
    """Return rows of the encoder after training without a gradient, as torch's AdamW on a CPU.

    Its product with ``1 - rate * decay``, rounded to fp32, is rounded in every step; the rest of
    the step adds zero.
    """
    for rate in _rates(optimisation, log):
        rows.mul_(1 - rate * optimisation.weight_decay)
    return rows


def optimise(rows: torch.Tensor, optimisation: Optimisation, log: TrainingLog) -> torch.Tensor:
    """Return the same on any device, ten times as slow on a CPU: by the steps of the optimiser."""
    trained = nn.Parameter(rows.to(default_device()))
    optimiser, _ = new_optimiser(nn.ParameterList([trained]), optimisation, log.steps)
    trained.grad = torch.zeros_like(trained)
    for rate in _rates(optimisation, log):
        optimiser.param_groups[0]["lr"] = rate
        optimiser.step()
    return trained.detach().cpu()


def _rates(optimisation: Optimisation, log: TrainingLog) -> list[float]:
    """Return the encoder's learning rate in each step up to the weights that were kept."""
    scheduler: Any = new_optimiser(nn.Linear(1, 1), optimisation, log.steps)[1]
    epoch = optimisation.epochs if log.epoch is None else log.epoch
    steps = epoch * log.steps // optimisation.epochs
    factor_of = scheduler.lr_lambdas[0]
    return [optimisation.learning_rate * factor_of(step) for step in range(steps)]
