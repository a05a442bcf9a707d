"""Which examples are trained on together: batches of similar length, within a token budget."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from mbert_atlas.randomness import generator

Order = Literal["bucketed", "shuffled", "sequential"]
Indices = npt.NDArray[np.int64]

_BATCHES_PER_CHUNK = 100  # sorted by length together: next to no padding, and still random


def epoch_batches(
    lengths: Indices, batch_size: int, order: Order, seed: int, epoch: int
) -> list[Indices]:
    """Cut one epoch into optimiser steps; a permutation of all examples.

    Every batch has ``batch_size`` examples, one may have fewer. ``bucketed`` shuffles the
    examples, sorts chunks of 100 batches by length in tokens, cuts them and shuffles the batches:
    similar lengths, and batches mix differently in every epoch.
    """
    if order == "sequential":
        return _cut(np.arange(len(lengths), dtype=np.int64), batch_size)
    random = generator(seed, "order", epoch)
    shuffled = random.permutation(len(lengths)).astype(np.int64)
    if order == "shuffled":
        return _cut(shuffled, batch_size)
    batches = []
    for chunk in _cut(shuffled, batch_size * _BATCHES_PER_CHUNK):
        batches += _cut(chunk[np.argsort(lengths[chunk], kind="stable")], batch_size)
    return [batches[number] for number in random.permutation(len(batches))]


def micro_batches(indices: Indices, lengths: Indices, token_budget: int) -> list[Indices]:
    """Split examples, longest first, into groups whose padded size is within ``token_budget``.

    A longer example is a separate group. ``lengths`` are the tokens of all examples.
    """
    ordered = indices[np.argsort(-lengths[indices], kind="stable")]
    groups, start = [], 0
    while start < len(ordered):
        size = max(1, token_budget // max(1, int(lengths[ordered[start]])))
        groups.append(ordered[start : start + size])
        start += size
    return groups


def _cut(indices: Indices, size: int) -> list[Indices]:
    return [indices[start : start + size] for start in range(0, len(indices), size)]
