"""What the training loop requires of data and losses, and its log."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from mbert_atlas.batching import Indices

Batch = dict[str, torch.Tensor]
Weight = torch.Tensor | float


class Examples(Protocol):
    """Training or evaluation data, addressed by example index."""

    lengths: Indices
    """Tokens of each example, shape ``(n,)``; decides buckets and micro-batches."""

    def collate(self, indices: Indices) -> Batch:
        """Return the padded CPU tensors of these examples."""
        ...


class Objective(Protocol):
    """A loss over micro-batches; the sum over the micro-batches of a step is the step's loss."""

    def weight(self, batch: Batch) -> float:
        """Return the micro-batch's part of the step's normaliser (examples, labelled words)."""
        ...

    def prepare(self, batch: Batch) -> Batch:
        """Return a batch, on the CPU, with what else :meth:`loss` needs."""
        return batch

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return this micro-batch's part of the step's loss, a scalar with gradient.

        ``batch`` is on the device; ``step_weight`` sums :meth:`weight` over the step. Neither is
        read on the CPU: a read waits for the GPU, and a recorded pass cannot do it.
        """
        ...


@dataclass
class TrainingLog:
    """What happened in a training run, over all resumptions.

    ``epoch_losses`` are means over steps, ``seconds`` time in the loop; ``examples`` and ``tokens``
    (without padding) are the task's. If an epoch is selected, ``scores`` has the score by epoch,
    the first before training, and ``epoch`` is the selected one, 0 for the model before training.
    """

    epoch_losses: list[float] = field(default_factory=list)
    steps: int = 0
    examples: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumptions: int = 0
    scores: list[float] = field(default_factory=list)
    epoch: int | None = None
