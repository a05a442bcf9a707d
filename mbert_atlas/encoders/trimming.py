"""Encoders that hold the word embeddings of some subwords only (Abdaoui et al. 2020)."""

import logging
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import nn

from mbert_atlas.encoders.hidden_states import IntArray

_logger = logging.getLogger(__name__)
_LANES = 16


class SomeWords(nn.Embedding):
    """Some rows of an embedding, ``kept`` (int64, ``(k,)``, ascending); takes the ids of all.

    Ascending, so that a GPU, which sorts ids, adds up the gradients of a row in the same order.
    """

    def __init__(self, words: nn.Embedding, kept: torch.Tensor) -> None:
        # Other ids are out of range: an error, not the vector of another subword.
        places = torch.full((words.num_embeddings,), len(kept))
        places[kept] = torch.arange(len(kept))
        padding = None if words.padding_idx is None else int(places[words.padding_idx])
        weight = words.weight.detach()[kept]
        super().__init__(len(kept), words.embedding_dim, padding, _weight=weight)
        self.weight.requires_grad_(words.weight.requires_grad)
        self.kept: torch.Tensor
        self.places: torch.Tensor
        # Buffers move to the GPU with the weights: a step would wait for a copy.
        self.register_buffer("kept", kept, persistent=False)
        self.register_buffer("places", places, persistent=False)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return the vectors of ids; raise an IndexError if one was not kept (on a CPU)."""
        return super().forward(self.places[input])

    def whole_gradient(self) -> torch.Tensor | None:
        """Return a gradient with the norm of the whole embedding's, to the last bit.

        On a GPU the zeros of absent rows decide how a sum is split: they are put back.
        """
        gradient = self.weight.grad
        if gradient is None or not gradient.is_cuda:
            return gradient
        whole = gradient.new_zeros(len(self.places), self.embedding_dim)
        return whole.index_copy_(0, self.kept, gradient)


def trim(encoder: Any, subwords: Iterable[IntArray]) -> None:
    """Drop the word embeddings of all but some subwords and the padding, in place.

    What the encoder computes from these subwords, forwards and backwards, keeps its bytes, and so
    does the norm of the gradient on a CPU: only zeros are left out of its up to 16 parallel sums.
    If the length of the vectors is no multiple of 16, numbers would move from one sum to another:
    nothing is dropped, which is logged, nor from embeddings that do more than look vectors up.
    """
    words: nn.Embedding = encoder.get_input_embeddings()
    if type(words) is not nn.Embedding:
        _logger.info("The vocabulary is not trimmed: %s is no plain embedding.", type(words))
        return
    if words.embedding_dim % _LANES:
        message = "The vocabulary is not trimmed: vectors of length %d are no multiple of %d."
        _logger.info(message, words.embedding_dim, _LANES)
        return
    is_kept = np.zeros(words.num_embeddings, dtype=bool)
    for ids in subwords:
        is_kept[ids] = True
    if words.padding_idx is not None:
        is_kept[words.padding_idx] = True
    kept = torch.from_numpy(np.flatnonzero(is_kept)).to(words.weight.device)
    encoder.set_input_embeddings(SomeWords(words, kept))
    for weight in encoder.parameters():
        weight.data = weight.data.clone()  # the file stays mapped as long as one weight is
    message = "The encoder holds %d of %d word embeddings."
    _logger.info(message, len(kept), words.num_embeddings)
