"""All word embeddings of an encoder that was trained with some."""

from typing import Any

import torch
from torch import nn

from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoders.trimming import SomeWords
from mbert_atlas.training.interfaces import TrainingLog
from mbert_atlas.training.loop import new_optimiser

_BLOCK = 2**20  # numbers at a time, which fit a cache


def restore_words(encoder: Any, initial: Any, optimisation: Optimisation, log: TrainingLog) -> None:
    """Give a trained encoder all word embeddings again, as if it had been trained with all.

    ``initial`` is the encoder that training began with, which lends its embeddings. Rows that no
    training example has got no gradient: what the optimiser did to them, weight decay, is done
    here, by the same optimiser in as many steps.
    """
    some, words = encoder.get_input_embeddings(), initial.get_input_embeddings()
    if not isinstance(some, SomeWords):
        return
    weight, kept = words.weight.detach(), some.kept.cpu()
    if some.weight.requires_grad and optimisation.weight_decay:
        is_absent = torch.ones(len(weight), dtype=torch.bool)
        is_absent[kept] = False
        for rows in is_absent.nonzero().squeeze(1).split(_BLOCK // words.embedding_dim):
            weight[rows] = _without_gradient(weight[rows], optimisation, log)
    weight[kept] = some.weight.detach().cpu()
    encoder.set_input_embeddings(words)


def _without_gradient(
    rows: torch.Tensor, optimisation: Optimisation, log: TrainingLog
) -> torch.Tensor:
    """Take the steps of a training run with rows of the encoder that get no gradient."""
    trained = nn.ParameterList([rows.to(default_device())])
    optimiser, scheduler = new_optimiser(trained, optimisation, log.steps)
    trained[0].grad = torch.zeros_like(trained[0])
    epoch = optimisation.epochs if log.epoch is None else log.epoch
    for _ in range(epoch * log.steps // optimisation.epochs):
        optimiser.step()
        scheduler.step()
    return trained[0].detach().cpu()
