"""Changes of hidden states: by hooks on a forward pass, or many at once above a cached one.

Hidden state 0 is the output of the embeddings, hidden state l that of Transformer layer l. A
change applies at every position, padding included, and gradients flow through it::

    with hooked(encoder, [Hook(8, project_out(directions))]):
        ...  # forward passes, or fine-tuning a model with this encoder

A grid of k changes at each of n layers takes k n forward passes. With :func:`remember` one pass
caches the hidden states, and :func:`last_states` runs only the layers above a change again, for all
k changes at once.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mbert_atlas.encoders.families import family_of
from mbert_atlas.errors import AtlasError

Change = Callable[[torch.Tensor], torch.Tensor]
"""From a hidden state, shape ``(batch, tokens, dims)``, to its replacement."""


class Hook(NamedTuple):
    """A change of the hidden state ``layer``, 0 for the embeddings."""

    layer: int
    change: Change


@contextmanager
def hooked(model: nn.Module, hooks: Sequence[Hook]) -> Iterator[None]:
    """Apply hooks to all forward passes in the block, those of one layer in their order.

    The model is an encoder of one of :data:`mbert_atlas.encoders.families.FAMILIES`. Later layers,
    the pooler and the returned hidden states get the changed state. Raises an AtlasError if the
    encoder has no such layer.
    """
    with ExitStack() as stack:
        for layer, change in reversed(hooks):  # each is put in front of the others
            stack.callback(_hook(model, layer, change).remove)
        yield


def _hook(model: nn.Module, number: int, change: Change) -> Any:
    layers, family = layers_of(model), family_of(model.config)
    _require_states(layers, [number])
    # Also in front of transformers' hooks, which record the hidden states.
    if number == 0 and not family.first:
        return layers[0].register_forward_pre_hook(_before(change), prepend=True)
    makers = {0: family.first, len(layers): family.final}
    maker = model.get_submodule(name) if (name := makers.get(number)) else layers[number - 1]
    return maker.register_forward_hook(_after(change), prepend=True)


def _before(change: Change) -> Callable[..., tuple[Any, ...]]:
    return lambda _, inputs: (change(inputs[0]), *inputs[1:])


def _after(change: Change) -> Callable[..., Any]:
    def hook(_: nn.Module, __: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    return hook


def layers_of(model: Any) -> nn.ModuleList:
    """Return the Transformer layers of an encoder.

    Raises an AtlasError if it is not built like BERT.
    """
    for part in model.modules():
        if isinstance(part, nn.ModuleList) and len(part) == model.config.num_hidden_layers:
            return part
    raise AtlasError(
        f"{type(model).__name__} keeps no list of its layers; take an encoder that is built like "
        "BERT."
    )


def _require_states(layers: nn.ModuleList, numbers: Sequence[int]) -> None:
    if wrong := [number for number in numbers if not 0 <= number <= len(layers)]:
        raise AtlasError(
            f"hidden state {wrong[0]}: the encoder has hidden states 0 to {len(layers)}; "
            "choose one of these."
        )


def project_out(directions: npt.NDArray[np.float32]) -> Change:
    """Return the change that projects orthonormal directions, ``(k, dims)``, out of hidden states.

    It computes in float32 at least, without autocast, which would use bf16. Raises an AtlasError if
    they are not orthonormal.
    """
    # h' = h - (h D^T) D, D = [[0, 1, 0],    h = [[1, 2, 3],    h' = [[1, 0, 0],
    #                           [0, 0, 1]]         [4, 0, 0],          [4, 0, 0],
    #                                              [0, 5, 6]]          [0, 0, 0]]
    if not np.allclose(directions @ directions.T, np.eye(len(directions)), atol=1e-4):
        raise AtlasError(
            f"{len(directions)} directions to project out are not orthonormal; take an orthonormal "
            "basis of them (numpy.linalg.qr)."
        )
    constant = torch.from_numpy(np.ascontiguousarray(directions, np.float32))
    on_device = functools.cache(functools.partial(constant.to, non_blocking=True))

    def change(hidden: torch.Tensor) -> torch.Tensor:
        dtype = torch.promote_types(hidden.dtype, torch.float32)
        with torch.autocast(hidden.device.type, enabled=False):
            basis, state = on_device(hidden.device, dtype), hidden.to(dtype)
            return (state - state @ basis.T @ basis).to(hidden.dtype)

    return change


class Remembered(NamedTuple):
    """Inputs, hidden states by number, each ``(b, tokens, dims)``, and arguments of the layers."""

    inputs: Mapping[str, torch.Tensor]
    states: Mapping[int, torch.Tensor]
    positional: tuple[Any, ...]
    named: Mapping[str, Any]


def remember(model: Any, inputs: Mapping[str, torch.Tensor], numbers: Sequence[int]) -> Remembered:
    """Run an encoder on inputs with ``attention_mask``; cache some hidden states.

    Raises an AtlasError if it has no such state.
    """
    layers = layers_of(model)
    _require_states(layers, numbers)
    arguments: list[Any] = []

    def note(_: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        arguments[:] = [positional[1:], named]

    handle = layers[-1].register_forward_pre_hook(note, with_kwargs=True)
    try:
        states = model(**inputs, output_hidden_states=True).hidden_states
    finally:
        handle.remove()
    return Remembered(inputs, {number: states[number] for number in numbers}, *arguments)


def last_states(model: Any, below: Remembered, number: int, changed: torch.Tensor) -> torch.Tensor:
    """Run the layers above hidden state ``number`` on its k replacements for each of b texts.

    ``changed`` and the returned last hidden states have the shape ``(k, b, tokens, dims)``. Where
    layers take different arguments, or a norm follows the last one, the whole model is run.
    """
    # The k changes of b texts are k b texts, change by change; masks repeat likewise:
    # texts [x, y] with changes 1 and 2 give [x1, y1, x2, y2] and masks [mx, my, mx, my].
    count, texts = changed.shape[:2]

    def repeated(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or len(value) != texts:
            return value
        return value.repeat(count, *[1] * (value.ndim - 1))

    if not family_of(model.config).like_bert:
        inputs = {name: repeated(value) for name, value in below.inputs.items()}
        with hooked(model, [Hook(number, lambda state: changed.flatten(0, 1).to(state.dtype))]):
            output = model(**inputs)
        last: torch.Tensor = output.last_hidden_state
        return last.view(changed.shape)
    arguments = [repeated(value) for value in below.positional]
    options = {name: repeated(value) for name, value in below.named.items()}
    state = changed.flatten(0, 1)
    for layer in layers_of(model)[number:]:
        output = layer(state, *arguments, **options)
        state = output[0] if isinstance(output, tuple) else output
    return state.view(changed.shape)
