"""Parts of an encoder by name: its embeddings, ranges of its layers; which are drawn anew."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from transformers import AutoModel

from mbert_atlas.encoders.hooks import layers_of
from mbert_atlas.errors import AtlasError


def parts_of(encoder: Any, names: Sequence[str], key: str) -> Iterator[nn.Module]:
    """Yield the named parts of an encoder of BERT's kind.

    Args:
        encoder: the encoder.
        names: ``embeddings``, and ranges such as ``7-12``: Transformer layers, counted from 1, both
            ends included.
        key: where the names stand in the config, for messages.

    Raises:
        AtlasError: if the encoder lacks a layer.
    """
    stack = layers_of(encoder)
    for name in names:
        if name == "embeddings":
            yield encoder.embeddings
            continue
        first, last = map(int, re.findall(r"\d+", name))
        if not 1 <= first <= last <= len(stack):
            raise AtlasError(
                f"key {key}: {name} is no range of this encoder's layers; "
                f"choose one within 1-{len(stack)}."
            )
        yield from stack[first - 1 : last]


def reinitialise(encoder: Any, names: Sequence[str], seed: int) -> None:
    """Draw parts of an encoder anew, as the library does for one that nobody has trained.

    The random initialisation of Muller et al. (2021), section 2: weights, biases and both layer
    normalisations of a layer. The rest, the pooler too, stays as it is to the bit. A layer's new
    weights depend on the seed alone, not on what else is drawn.

    Args:
        encoder: an encoder of BERT's kind; changed in place.
        names: see :func:`parts_of`.
        seed: of the new weights.

    Raises:
        AtlasError: if the encoder lacks a layer.
    """
    if not names:
        return
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        fresh = AutoModel.from_config(encoder.config)  # type: ignore[no-untyped-call]
    key = "reinitialised_layers"
    pairs = zip(parts_of(encoder, names, key), parts_of(fresh, names, key), strict=True)
    for old, new in pairs:
        old.load_state_dict(new.state_dict())
