"""Word vectors from vectors of subwords."""

from typing import Literal

import torch

Aggregation = Literal["first", "last", "mean"]


def pool_words(
    hidden: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
    batch_index: torch.Tensor,
    how: Aggregation,
) -> torch.Tensor:
    """Pool subwords into words, all words of a batch at once, with gradient.

    Args:
        hidden: subword vectors, shape ``(batch, subwords, dims)``.
        starts: first subword of each word, int64, shape ``(words,)``.
        ends: one past its last subword, int64, shape ``(words,)``; no span may be empty.
        batch_index: row of each word in ``hidden``, int64, shape ``(words,)``.
        how: the first subword, the last one, or the mean of all.

    Returns:
        Shape ``(words, dims)``, dtype of ``hidden``.
    """
    if how == "first":
        return hidden[batch_index, starts]
    if how == "last":
        return hidden[batch_index, ends - 1]
    # An embedding bag gathers and averages in one kernel: the subwords are its table.
    sizes = ends - starts
    bags = sizes.cumsum(0) - sizes
    shift = batch_index * hidden.shape[1] + starts - bags
    positions = torch.repeat_interleave(shift, sizes)
    positions = positions + torch.arange(len(positions), device=hidden.device)
    return torch.nn.functional.embedding_bag(
        positions, hidden.reshape(-1, hidden.shape[-1]), bags, mode="mean"
    )
