"""Outputs of a model for all examples."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.batching import micro_batches
from mbert_atlas.encoders.precision import (
    Precision,
    autocast,
    default_device,
    fitting_tokens,
    to_device,
)
from mbert_atlas.progress import track
from mbert_atlas.tasks.base import Batch, EncodedExamples


def predict(
    model: nn.Module,
    examples: EncodedExamples,
    forward: Callable[[Any, Batch], torch.Tensor],
    *,
    description: str,
    token_budget: int | None = None,
    precision: Precision = "auto",
) -> Ragged:
    """Run ``forward`` over all examples, those of similar length together, without gradients.

    ``forward`` takes the model and a batch on the device and returns the rows of the batch's
    examples in order, as many of each as its ``label_counts``, shape ``(rows, ...)``. Without
    ``token_budget`` (padded tokens in one batch) it is what suits the device. Row i of the result
    belongs to example i.
    """
    lengths = examples.lengths
    offsets = offsets_of(examples.label_counts)
    places = Ragged(np.arange(offsets[-1]), offsets)  # of each example's rows in the result
    values = np.empty(0, dtype=np.float32)
    device = default_device()
    model.to(device).eval()
    budget = token_budget or fitting_tokens(device)
    groups = micro_batches(np.arange(len(lengths), dtype=np.int64), lengths, budget)
    with torch.inference_mode():
        for number, indices in enumerate(track(groups, description)):
            with autocast(precision, device):
                output = forward(model, to_device(examples.collate(indices), device))
            output = output.float() if output.is_floating_point() else output
            array = output.cpu().numpy()
            if number == 0:
                values = np.empty((offsets[-1], *array.shape[1:]), dtype=array.dtype)
            values[places.take(indices).values] = array
    return Ragged(values, offsets)
