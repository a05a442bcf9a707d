"""Parts of an encoder by name (embeddings, ranges of layers), and their re-initialisation."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import nn
from transformers import AutoModel

from mbert_atlas.encoders.hooks import layers_of
from mbert_atlas.errors import AtlasError


def parts_of(encoder: Any, names: Sequence[str], key: str) -> Iterator[nn.Module]:
    """Yield the named parts of an encoder.

    Names are ``embeddings`` and ranges such as ``7-12``: Transformer layers, counted from 1, both
    ends included. ``key`` is their key in the config, for messages. Raises an AtlasError if the
    encoder lacks a layer.
    """
    stack = layers_of(encoder)
    for name in names:
        if name == "embeddings":
            yield getattr(encoder, "embeddings", None) or encoder.get_input_embeddings()
            continue
        first, last = map(int, re.findall(r"\d+", name))
        if not 1 <= first <= last <= len(stack):
            raise AtlasError(
                f"key {key}: {name} is no range of this encoder's layers; "
                f"choose one within 1-{len(stack)}."
            )
        yield from stack[first - 1 : last]


def reinitialise(encoder: Any, names: Sequence[str], seed: int) -> None:
    """Re-initialise parts of an encoder in place, as the library initialises an untrained one.

    RANDOM-INIT of Muller et al. (2021), section 2: weights, biases and both layer normalisations of
    a layer. All other weights, the pooler's too, keep their bits. The new weights of a layer depend
    only on the seed, not on the other names, for which see :func:`parts_of`. Raises an AtlasError
    if the encoder lacks a layer.
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
