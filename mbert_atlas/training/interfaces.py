"""What the training loop requires of data and losses, and its log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.config.training import Optimisation

__all__ = [
    "Backward",
    "Batch",
    "Examples",
    "Objective",
    "Optimisation",
    "TrainingLog",
]

Batch = dict[str, torch.Tensor]
Backward = Callable[[torch.Tensor], Any]
"""Adds the gradients of a loss to those of the parameters."""


class Examples(Protocol):
    """Training or evaluation data, addressed by example index."""

    lengths: npt.NDArray[np.int64]
    """Tokens of each example, shape ``(n,)``; decides buckets and micro-batches."""

    def collate(self, indices: npt.NDArray[np.int64]) -> Batch:
        """Return the padded CPU tensors of these examples."""
        ...


class Objective(Protocol):
    """A loss over micro-batches; the sum over the micro-batches of a step is the step's loss."""

    def weight(self, batch: Batch) -> float:
        """Return the micro-batch's part of the step's normaliser (examples, labelled words)."""
        ...

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return this micro-batch's part of the step's loss, a scalar with gradient.

        Args:
            model: the network in training mode.
            batch: tensors on the model's device.
            step_weight: sum of :meth:`weight` over the micro-batches of the step.
        """
        ...


@dataclass
class TrainingLog:
    """What happened in a training run, over all processes and resumptions.

    Attributes:
        epoch_losses: mean loss of the steps of each finished epoch.
        steps: optimiser steps taken.
        examples: examples seen, without those of methods.
        tokens: tokens seen in them, without padding.
        seconds: time in the loop.
        resumptions: how often a saved state was resumed.
        scores: if an epoch is selected: the score by epoch, the first before training.
        epoch: the epoch that was selected, from 1, or 0 for the model before training; none if the
            last one is kept.
    """

    epoch_losses: list[float] = field(default_factory=list)
    steps: int = 0
    examples: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumptions: int = 0
    scores: list[float] = field(default_factory=list)
    epoch: int | None = None
