"""Alignment replay: continual learning during fine-tuning (efimov2022, Eq. 2).

The loss of a step is the task's plus ``alpha`` times that of Eq. 1 on a few sentences drawn anew;
both are computed with the encoder that is being fine-tuned. Eq. 1's f0 stays the original encoder
under both protocols, although fine-tuning starts from the adjusted one: the paper defines f0 so,
Eq. 2 takes Eq. 1 as it is, and the authors' code does it. Held to the adjusted encoder instead,
English would be drawn to another place than during the adjustment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mbert_atlas.config.training import Adjustment, Replay
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.files import sha256_of
from mbert_atlas.objectives.adjustment import (
    AlignedSentences,
    alignment_terms,
    group_shares,
    open_reference,
    open_sample,
)
from mbert_atlas.pooling import Aggregation
from mbert_atlas.randomness import generator
from mbert_atlas.training.interfaces import Batch


@dataclass(frozen=True)
class ReplaySource:
    """What a fine-tuning run replays.

    Attributes:
        specification: how many sentences and how they are weighted.
        adjustment: the adjustment whose sentences come again, in its terms.
        store: token store of its bitext.
        encoder: folder of the original encoder, the one before adjustment.
        seed: seed of the adjustment; decides its sample, and the draws of each step.
    """

    specification: Replay
    adjustment: Adjustment
    store: Path
    encoder: Path
    seed: int


class AlignmentReplay:
    """Eq. 1 on sentences drawn for each step; an ``auxiliary`` of :func:`training.loop.train`.

    The draw depends on the seed and the number of the step alone, so that a resumed run draws as
    an uninterrupted one. Dropout is the adjustment's: as the model in training mode has it
    (published), or none (corrected), where the forward pass runs with the encoder in evaluation
    mode; the task's own forward pass keeps its dropout.

    Args:
        examples: the adjustment's sample, with the original's vectors if there is a regulariser.
        source: what is replayed.
        hidden_size: dimensions of a vector.
        fingerprint: what tells this replay from others.
    """

    def __init__(
        self,
        examples: AlignedSentences,
        source: ReplaySource,
        *,
        hidden_size: int,
        fingerprint: str = "",
    ) -> None:
        self.examples, self.fingerprint = examples, fingerprint
        self._replay, self._seed = source.specification, source.seed
        self._aggregation: Aggregation = source.adjustment.aggregation
        self._mean = source.adjustment.reduction == "mean"
        self._dropout = source.adjustment.dropout_in_training
        self._hidden_size = hidden_size

    def draw(self, step: int) -> npt.NDArray[np.int64]:
        """Return the sentences of a step, int64, drawn with replacement."""
        random = generator(self._seed, "replay", step)
        return random.integers(0, len(self.examples), size=self._replay.sentences)

    def collate(self, indices: npt.NDArray[np.int64]) -> Batch:
        """Return the tensors of drawn sentences, weighted as one step of their own."""
        batch = self.examples.collate(indices)
        for name, counts in (
            ("pair_weight", self.examples.pair_counts[indices]),
            ("token_weight", self.examples.start.lengths[indices]),
        ):
            weight = np.full(len(indices), 1 / len(indices), dtype=np.float32)
            if self._mean:
                weight = group_shares(counts, self._replay.group_size, self._hidden_size)
            batch[name] = torch.from_numpy(np.repeat(weight, counts))
        return batch

    def __call__(self, model: Any, step: int) -> torch.Tensor:
        """Return the loss to add to a step's.

        Args:
            model: a model with an ``encoder``, such as :class:`tasks.base.EncoderWithHead`.
            step: number of the step.

        Returns:
            ``alpha * pull + regulariser``, or ``alpha`` times both; float32 scalar with gradient.
        """
        encoder: nn.Module = model.encoder
        device = next(encoder.parameters()).device
        batch = {name: tensor.to(device) for name, tensor in self.collate(self.draw(step)).items()}
        if self._dropout:
            pull, regulariser = alignment_terms(encoder, batch, self._aggregation)
        else:
            with _evaluation_mode(encoder):
                pull, regulariser = alignment_terms(encoder, batch, self._aggregation)
        alpha = self._replay.alpha
        return alpha * pull + (alpha if self._replay.scope == "both" else 1.0) * regulariser


def open_replay(source: ReplaySource, folder: Path) -> AlignmentReplay:
    """Open a replay; the original's English vectors are computed unless they lie in ``folder``.

    Args:
        source: what is replayed.
        folder: keeps the vectors, for as long as the run may be resumed.

    Raises:
        DataError: if the store is not usable or not of the encoder's tokenizer, or the sample holds
            no pair.
    """
    model = load_encoder(source.encoder)
    adjustment = source.adjustment
    examples, _ = open_sample(source.store, adjustment, source.seed, source.encoder, model)
    encoder = sha256_of(source.encoder / "model.safetensors")
    fingerprint = examples.fingerprint(adjustment, encoder)
    if adjustment.regulariser:
        examples.reference = open_reference(model, examples, adjustment, folder, fingerprint)
    text = f"{fingerprint} {source.specification.model_dump_json()} {source.seed}"
    return AlignmentReplay(
        examples,
        source,
        hidden_size=int(model.config.hidden_size),
        fingerprint=hashlib.sha256(text.encode()).hexdigest(),
    )


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Switch dropout off for a while; gradients flow as before."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training
