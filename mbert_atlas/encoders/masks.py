"""Attention masks in the form that an encoder adds to its scores."""

import torch


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
