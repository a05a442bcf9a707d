"""Forward and backward passes as CUDA graphs.

A step of a small batch launches a thousand short kernels: that takes the CPU longer than the GPU
needs to run them. A graph is recorded once and then launched as a whole.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from mbert_atlas.encoders.families import family_of
from mbert_atlas.encoders.precision import default_device, pinned, to_device
from mbert_atlas.errors import AtlasError
from mbert_atlas.tasks.base import Batch

Passes = Callable[[Batch], torch.Tensor]
"""Compute the loss of a batch on the device, add its gradients, and return it, detached."""

Replay = Callable[[], torch.Tensor]
"""Repeat recorded passes on the batch in the same memory; the loss is overwritten by the next."""

_MOST_TOKENS = 8192  # of a batch: recordings keep the memory of the largest
_MOST_GRAPHS = 64
_SWITCH = "MBERT_ATLAS_GRAPHS"


class Graphs:
    """Passes by the shapes of their batch: the first runs eagerly, the second is recorded.

    A recording computes the same from the same places in memory: weights have to change in place,
    gradients are set to zero instead of dropped, and a batch is copied over the recorded one. Large
    batches, and shapes beyond the first 64, stay eager.
    """

    def __init__(self, record: Callable[[Passes, Batch], Replay]) -> None:
        self._record = record
        self._recorded: dict[Any, tuple[Batch, Replay] | None] = {}

    def run(self, passes: Passes, batch: Batch) -> torch.Tensor:
        """Take the passes for a batch on the CPU and return the loss.

        Raises an AtlasError if they cannot be recorded; training cannot go on, as torch's random
        generator is left as if it were still recording.
        """
        device = default_device()
        key = tuple((name, tensor.shape) for name, tensor in batch.items())
        if key not in self._recorded:
            is_small = batch["input_ids"].numel() <= _MOST_TOKENS
            if is_small and len(self._recorded) < _MOST_GRAPHS:
                self._recorded[key] = None
            return passes(to_device(batch, device))
        recorded = self._recorded[key]
        if recorded is None:
            inputs = to_device(batch, device)
            try:
                recorded = self._recorded[key] = inputs, self._record(passes, inputs)
            except RuntimeError as error:
                reason = str(error).partition("\n")[0]
                raise AtlasError(
                    f"A step cannot be recorded as a CUDA graph: {reason}. The loss of a new task "
                    "or method must not read numbers on the CPU, and recordings take memory; "
                    f"{_SWITCH}=0 trains without graphs, more slowly."
                ) from error
        else:
            for name, tensor in pinned(batch).items():
                recorded[0][name].copy_(tensor, non_blocking=True)
        return recorded[1]()


def can_be_recorded(model: nn.Module) -> bool:
    """Return whether a graph can have the passes of an encoder, or of a model with one.

    Families that are not built like BERT read their masks on the CPU, which no recording can do.
    """
    config = getattr(getattr(model, "encoder", model), "config", None)
    return config is None or family_of(config).like_bert


def graphs_on(device: torch.device) -> Graphs | None:
    """Return graphs for passes on a GPU, none elsewhere or if MBERT_ATLAS_GRAPHS is 0."""
    if device.type != "cuda" or os.environ.get(_SWITCH) == "0":
        return None
    pool = torch.cuda.graph_pool_handle()  # of all graphs, as only one runs at a time

    def record(passes: Passes, inputs: Batch) -> Replay:
        # Unlike torch.cuda.graph, this leaves the cached memory of eager steps alone.
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(pool=pool)
        loss = passes(inputs)
        graph.capture_end()

        def replay() -> torch.Tensor:
            graph.replay()
            return loss

        return replay

    return Graphs(record)


@contextmanager
def one_stream(device: torch.device) -> Iterator[None]:
    """Run all passes on one stream, and not the default one, where nothing can be recorded."""
    if device.type != "cuda":
        yield
        return
    before = torch.cuda.current_stream(device)
    stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    stream.wait_stream(before)
    with torch.cuda.stream(stream):
        yield
    before.wait_stream(stream)
