"""Attention masks in the form that an encoder adds to its scores."""

from typing import Any

import torch

from mbert_atlas.encoders.families import family_of


def attention_mask(config: Any, inside: torch.Tensor) -> torch.Tensor:
    """Return the mask that an encoder with this configuration takes for padded texts.

    ``inside`` is bool, shape ``(b, l)``. It is :func:`additive_mask` where the family is like BERT;
    others limit some layers to near tokens, which they do only to a mask of two axes, int64.
    """
    return additive_mask(inside) if family_of(config).like_bert else inside.long()


def additive_mask(inside: torch.Tensor) -> torch.Tensor:
    """Return 0 where a token may be attended to and -inf at padding, shape ``(b, 1, l, l)``.

    ``inside`` is bool, shape ``(b, l)``. The dtype is that of autocast, if it is on, else float32.
    Given a mask of two axes, transformers reads on the host whether any token is padding, so that
    each forward pass waits for the GPU, and PyTorch converts it in every layer.
    """
    # inside [[1, 1, 0]] gives rows [0, 0, -inf], one for each of the three tokens that attend.
    kind = inside.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
    mask = torch.zeros(inside.shape, dtype=dtype, device=inside.device)
    mask = mask.masked_fill(~inside, -torch.inf)
    return mask[:, None, None].expand(-1, 1, inside.shape[1], -1)
