"""Dropout on CPUs from a quarter of the random numbers.

torch draws a number for each value, which takes an eighth of the time of a step (profiled in NLI).
Here each 16 bits of a number of 64 decide on a value.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_VALUES = 2**16


def fewer_draws(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which dropout on a CPU draws fewer numbers; elsewhere nothing changes.

    In it, ``functional.dropout`` and the dropout of ``functional.scaled_dot_product_attention``
    keep a value with the probability 1 - p, rounded to 1/65536, and scale it by the inverse. Calls
    that torch makes inside ``functional.multi_head_attention_forward`` are not seen, and stay.
    """
    return _FewerDraws() if device.type == "cpu" else nullcontext()


def _noise(like: torch.Tensor, p: float) -> torch.Tensor:
    """Return what dropout multiplies values with: 0, or the inverse of the share that is kept."""
    dropped = round(p * _VALUES)
    draws = torch.empty(-(-like.numel() // 4), dtype=torch.int64).random_(-(2**63), None)
    bits = draws.view(torch.int16)[: like.numel()].view(like.shape)
    last = dropped - _VALUES // 2 - 1  # of the values that are dropped
    # A comparison would give the same, but torch converts booleans slowly: together half the speed.
    kept = bits.clamp_(last, last + 1).sub_(last)
    return kept.to(like.dtype).mul_(_VALUES / (_VALUES - dropped))


def _dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    if not training or inplace or not 0.5 < p * _VALUES < _VALUES - 0.5:
        return functional.dropout(input, p, training, inplace)
    return input * _noise(input, p)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Attend as torch does on a CPU where there is dropout, with products in the inputs' type."""
    if not dropout_p or is_causal or enable_gqa:
        return functional.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    scores = (query * (scale or query.shape[-1] ** -0.5)) @ key.transpose(-2, -1)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return _dropout(weights, dropout_p) @ value


_INSTEAD: dict[Callable[..., Any], Callable[..., Any]] = {
    functional.dropout: _dropout,
    functional.scaled_dot_product_attention: _attention,
}


class _FewerDraws(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _INSTEAD.get(func, func)(*args, **(kwargs or {}))
