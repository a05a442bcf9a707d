"""Alignment replay: continual learning during fine-tuning (Efimov et al. 2022, Eq. 2).

The loss of a step is the task's plus ``alpha`` times that of Eq. 1 on a few newly sampled
sentences; both are computed with the encoder that is being fine-tuned. The authors tuned ``alpha``
for means over pairs and dims. Where the adjustment takes the sums of Eq. 1, these are divided by
the sample's pairs times the dims, so that ``alpha`` weighs the distance of aligned words as theirs
does and both terms keep the balance of Eq. 1: ``alpha`` of Eq. 2 is ``alpha / (pairs * dims)``. On
bare sums it would weigh some hundred pairs times 768 dims more than what was tuned. Eq. 1's f0 is
the original encoder under both protocols, although fine-tuning starts from the adjusted one: the
paper defines f0 so, Eq. 2 takes Eq. 1 as it is, and so does the authors' code. Regularised towards
the adjusted encoder instead, English would move elsewhere than during the adjustment.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from mbert_atlas.config.methods.replay import Replay
from mbert_atlas.config.training import LOSSES, Adjustment
from mbert_atlas.encoders.hidden_states import IntArray
from mbert_atlas.encoders.precision import Precision, autocast, to_device
from mbert_atlas.errors import DataError
from mbert_atlas.randomness import generator
from mbert_atlas.tasks.base import Batch
from mbert_atlas.tokenizer import tokenizer_digest
from mbert_atlas.training.adjustment import alignment_terms, open_sample
from mbert_atlas.training.aligned_sentences import AlignedSentences, group_shares
from mbert_atlas.training.job import FinetuningRun
from mbert_atlas.training.method import Inputs, Method, TrainingLog, Values


class AlignmentReplay(Method):
    """Eq. 1 on sentences sampled for each step from those of the adjustment with the same seed.

    The sample depends on the seed and the number of the step alone, so that it is the same in a
    resumed run. Dropout is the adjustment's: as the model in training mode has it (published), or
    none (corrected), where the forward pass runs with the encoder in evaluation mode; the task's
    forward pass keeps its dropout. ``store`` is the bitext, ``encoder`` the original.
    """

    examples: AlignedSentences
    seed: int

    def __init__(self, replay: Replay, adjustment: Adjustment, store: Path, encoder: Path) -> None:
        self._replay, self._adjustment = replay, adjustment
        self._store, self._encoder = store, encoder
        self._precision: Precision = "auto"

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run."""
        adjustment = Adjustment(**specification["replay"]["hyperparameters"])
        files = inputs["replay_pairs"], inputs["replay_encoder"]
        return cls(Replay(**options), adjustment, *files)

    def prepare(self, run: FinetuningRun) -> None:
        """Open the sample; the original's vectors are computed unless a killed run left them.

        Raises a DataError if the store is not usable or not of the encoder's tokenizer, or the
        sample holds no pair.
        """
        if tokenizer_digest(self._encoder) != tokenizer_digest(run.job.encoder):
            problem = f"not the tokenizer of {self._encoder}, whose alignment is replayed"
            fix = "fine-tune the encoder that was adjusted, or replay another adjustment"
            raise DataError(run.job.encoder, "tokenizer.json", problem, fix)
        self.seed, self._precision = run.job.seed, run.job.optimisation.precision
        files = self._encoder, run.job.state_dir
        sample = open_sample(self._store, self._adjustment, self.seed, *files)
        self.examples = sample.examples
        settings = self._replay.model_dump_json()
        self.fingerprint = f"replay {sample.fingerprint} {settings} {self.seed}"

    def subwords(self) -> Iterable[IntArray]:
        """Return the token ids of all sentences."""
        return self.examples.subwords

    def sample(self, step: int) -> npt.NDArray[np.int64]:
        """Return the sentences of a step, int64, sampled with replacement."""
        random = generator(self.seed, "replay", step)
        return random.integers(0, len(self.examples), size=self._replay.sentences)

    def collate(self, indices: npt.NDArray[np.int64]) -> Batch:
        """Return the tensors of sampled sentences, weighted as one separate step."""
        batch, dims = self.examples.collate(indices), self.examples.hidden_size
        pairs, tokens = self.examples.pair_counts[indices], self.examples.start.lengths[indices]
        is_mean = self._adjustment.reduction == "mean"
        size = self._replay.group_size if is_mean else len(indices)
        of_pairs = group_shares(pairs, size, dims)
        of_tokens = group_shares(tokens, size, dims) if is_mean else of_pairs  # one divisor
        batch["pair_weight"] = torch.from_numpy(np.repeat(of_pairs, pairs))
        batch["token_weight"] = torch.from_numpy(np.repeat(of_tokens, tokens))
        return batch

    def loss(self, encoder: nn.Module, step: int) -> torch.Tensor:
        """Return a step's ``alpha * distance + regulariser``, or ``alpha`` times both, float32."""
        device = next(encoder.parameters()).device
        batch = to_device(self.collate(self.sample(step)), device)
        adjustment = self._adjustment
        mode = nullcontext() if adjustment.dropout_in_training else _evaluation_mode(encoder)
        with autocast(self._precision, device), mode:
            distance, regulariser = alignment_terms(
                encoder, batch, adjustment.aggregation, LOSSES.load(adjustment.loss)
            )
        alpha = self._replay.alpha
        return alpha * distance + (alpha if self._replay.scope == "both" else 1.0) * regulariser

    def add_gradients(self, model: Any, step: int) -> torch.Tensor:
        """Back-propagate the loss of a step."""
        loss = self.loss(model.encoder, step)
        torch.autograd.backward(loss)
        return loss.detach()

    def finish(self, model: Any, log: TrainingLog) -> None:
        """Close the file of the original's vectors, which is in the state's folder."""
        self.examples.reference = None


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Switch dropout off temporarily; gradients flow as before."""
    modes = {part: part.training for part in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for part, training in modes.items():
            part.training = training
