"""Hooks on hidden states of an encoder during forward passes: project out directions, shift.

Hidden state 0 is the output of the embeddings, hidden state l that of Transformer layer l. A
change applies at every position, padding included, and gradients flow through it::

    hooks = [Hook(8, project_out(directions)), Hook(12, shift(vector, 0.5))]
    with hooked(encoder, hooks):
        ...  # forward passes, or fine-tuning a model with this encoder
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mbert_atlas.errors import AtlasError

Change = Callable[[torch.Tensor], torch.Tensor]
Floats = npt.NDArray[np.float32]


class Hook(NamedTuple):
    """A change of a hidden state.

    Attributes:
        layer: number of the state, 0 for the embeddings.
        change: function of the state, shape ``(batch, tokens, dims)``, to its replacement.
    """

    layer: int
    change: Change


@contextmanager
def hooked(model: nn.Module, hooks: Sequence[Hook]) -> Iterator[None]:
    """Apply hooks to all forward passes in the block, those of one layer in their order.

    Later layers, the pooler and the returned hidden states get the changed state.

    Args:
        model: an encoder of transformers: BERT, RoBERTa, XLM-R, DistilBERT or one built like them.
        hooks: any number of changes.

    Raises:
        AtlasError: if the encoder has no such layer.
    """
    with ExitStack() as stack:
        for layer, change in reversed(hooks):  # each is put in front of the others
            layers = layers_of(model)
            if not 0 <= layer <= len(layers):
                raise AtlasError(
                    f"hook on layer {layer}: the encoder has hidden states 0 to {len(layers)}; "
                    "choose one of these."
                )
            # Also in front of transformers' hooks, which record the hidden states.
            if layer == 0:
                handle = layers[0].register_forward_pre_hook(_before(change), prepend=True)
            else:
                handle = layers[layer - 1].register_forward_hook(_after(change), prepend=True)
            stack.callback(handle.remove)
        yield


def layers_of(model: Any) -> nn.ModuleList:
    """Return the Transformer layers of an encoder.

    Raises:
        AtlasError: if it is not built like BERT.
    """
    for part in model.modules():
        if isinstance(part, nn.ModuleList) and len(part) == model.config.num_hidden_layers:
            return part
    raise AtlasError(
        f"{type(model).__name__} keeps no list of its layers; take an encoder that is built like "
        "BERT."
    )


def project_out(directions: Floats) -> Change:
    """Return the change that projects directions out of hidden states.

    Args:
        directions: float32, shape ``(k, dims)``, orthonormal.

    Raises:
        AtlasError: if they are not orthonormal.
    """
    # h' = h - (h D^T) D, D = [[0, 1, 0],    h = [[1, 2, 3],    h' = [[1, 0, 0],
    #                           [0, 0, 1]]         [4, 0, 0],          [4, 0, 0],
    #                                              [0, 5, 6]]          [0, 0, 0]]
    if not np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-4):
        raise AtlasError(
            f"{len(directions)} directions to project out are not orthonormal; take an orthonormal "
            "basis of them (numpy.linalg.qr)."
        )
    basis = torch.from_numpy(np.ascontiguousarray(directions, np.float32))
    return _in_float32(lambda hidden, basis: hidden - hidden @ basis.T @ basis, basis)


def shift(vector: Floats, weight: float = 1.0) -> Change:
    """Return the change that adds a weighted vector to hidden states.

    Args:
        vector: float32, shape ``(dims,)``.
        weight: its factor.
    """
    # h' = h + w v, w = 0.5, v = [2, 0, 4],   h = [[1, 2, 3],    h' = [[2, 2, 5],
    #                                              [4, 0, 0],          [5, 0, 2],
    #                                              [0, 5, 6]]          [1, 5, 8]]
    added = torch.from_numpy(np.asarray(vector, np.float32) * np.float32(weight))
    return _in_float32(torch.add, added)


def _in_float32(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], constant: torch.Tensor
) -> Change:
    """Apply a function of hidden states and a constant without autocast, which would use bf16."""

    def change(hidden: torch.Tensor) -> torch.Tensor:
        dtype = torch.promote_types(hidden.dtype, torch.float32)
        with torch.autocast(hidden.device.type, enabled=False):
            changed = function(hidden.to(dtype), constant.to(hidden.device, dtype))
        return changed.to(hidden.dtype)

    return change


def _before(change: Change) -> Callable[..., tuple[Any, ...]]:
    return lambda _, inputs: (change(inputs[0]), *inputs[1:])


def _after(change: Change) -> Callable[..., Any]:
    def hook(_: nn.Module, __: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    return hook
