"""What the training loop asks of data and of losses."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.config.training import Optimisation

__all__ = ["Batch", "Examples", "Objective", "Optimisation", "Precision"]

Batch = dict[str, torch.Tensor]
Precision = Literal["auto", "fp32", "bf16"]


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
        """Return what this micro-batch adds to the step's normaliser (examples, labelled words)."""
        ...

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return this micro-batch's share of the step's loss, a scalar with gradient.

        Args:
            model: the network in training mode.
            batch: tensors on the model's device.
            step_weight: sum of :meth:`weight` over the micro-batches of the step.
        """
        ...
