"""Changes of hidden states: the layers below run once for all changes, those above for each.

A grid of k changes at each of n layers takes k n forward passes. Here one pass caches the hidden
states, and only the layers above a change run again, for all k changes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mbert_atlas.encoders.hooks import layers_of
from mbert_atlas.errors import AtlasError


@dataclass(frozen=True)
class Remembered:
    """Cached hidden states of a forward pass.

    Attributes:
        states: by number of the hidden state (0 for the embeddings), each ``(b, tokens, dims)``.
        arguments: further arguments of the layers, positional and by name.
    """

    states: Mapping[int, torch.Tensor]
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]]


def remember(model: Any, inputs: Mapping[str, torch.Tensor], numbers: Sequence[int]) -> Remembered:
    """Run an encoder and cache some of its hidden states.

    Args:
        model: an encoder built like BERT.
        inputs: its inputs by name, with ``attention_mask``.
        numbers: numbers of the states, 0 for the embeddings.

    Raises:
        AtlasError: if it has no such state.
    """
    layers = layers_of(model)
    if wrong := [number for number in numbers if not 0 <= number <= len(layers)]:
        raise AtlasError(
            f"hidden state {wrong[0]}: the encoder has 0 to {len(layers)}; choose one of these."
        )
    arguments: list[Any] = []

    def note(_: Any, positional: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        arguments[:] = [(positional[1:], named)]

    handle = layers[-1].register_forward_pre_hook(note, with_kwargs=True)
    try:
        states = model(**inputs, output_hidden_states=True).hidden_states
    finally:
        handle.remove()
    return Remembered({number: states[number] for number in numbers}, arguments[0])


def last_states(model: Any, below: Remembered, number: int, changed: torch.Tensor) -> torch.Tensor:
    """Run the layers above a hidden state on changed ones.

    Args:
        model: the encoder of :func:`remember`.
        below: its cached states.
        number: number of the changed hidden state.
        changed: its replacements, shape ``(k, b, tokens, dims)``, k changes of each text.

    Returns:
        The last hidden states, of the same shape.
    """
    # The k changes of b texts are k b texts, change by change; masks repeat likewise:
    # texts [x, y] with changes 1 and 2 give [x1, y1, x2, y2] and masks [mx, my, mx, my].
    count, texts = changed.shape[:2]
    positional, named = below.arguments

    def repeated(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or len(value) != texts:
            return value
        return value.repeat(count, *[1] * (value.ndim - 1))

    arguments = [repeated(value) for value in positional]
    options = {name: repeated(value) for name, value in named.items()}
    state = changed.flatten(0, 1)
    for layer in layers_of(model)[number:]:
        output = layer(state, *arguments, **options)
        state = output[0] if isinstance(output, tuple) else output
    return state.view(changed.shape)
