"""What a language-model head predicts at masked subwords."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from mbert_atlas.arrays import load_arrays
from mbert_atlas.batching import micro_batches
from mbert_atlas.config.training import MaskedTraining
from mbert_atlas.encoders.loading import load_masked_model, load_tokenizer
from mbert_atlas.encoders.precision import autocast, default_device
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.schemas import MASKED_PREDICTIONS
from mbert_atlas.tasks.base import Batch
from mbert_atlas.tokenizer import require_tokenizer
from mbert_atlas.training.head_fitting import HELD_OUT, HeadObjective, add_head
from mbert_atlas.training.pretraining import MaskedExamples


class _OnlyMasks(HeadObjective):
    """All predicted tokens become ``[MASK]``: one that stays could be copied."""

    def mask(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Sample the predicted positions, as numbers into the flat batch (m,), and the inputs."""
        positions, _ = super().mask(batch)
        masked = batch["input_ids"].flatten().index_fill(0, positions, self.mask_id)
        return positions, masked.view_as(batch["input_ids"])


@torch.no_grad()
def predict_masked(
    spec: MaskedTraining, encoder: Path, store: Path, *, seed: int, head: Path | None = None
) -> pa.Table:
    """Mask subwords of every twentieth row of a store and predict them.

    Args:
        spec: decides how many subwords are masked.
        encoder: folder of the encoder, with its language-model head.
        store: rows of :func:`mbert_atlas.encoding.pretraining.encode_texts` with its tokenizer.
        seed: decides which subwords are masked.
        head: what :func:`mbert_atlas.training.head_fitting.fit_head` wrote, in place of its head.

    Returns:
        A table of ``schemas.MASKED_PREDICTIONS``, one row per masked subword.

    Raises a DataError if the store is of another tokenizer, or the encoder has no such head.
    """
    tokenizer, encoded = load_tokenizer(encoder), load_arrays(store)
    require_tokenizer(store, encoded.meta["tokenizer"], encoder)
    model: Any = load_masked_model(encoder, seed=0 if head else None)
    model = (add_head(model, head) if head else model).to(default_device()).eval()
    examples = MaskedExamples(encoded, spec.masking_probability, tokenizer.pad_token_id)
    objective = _OnlyMasks(tokenizer.mask_token_id, len(tokenizer))
    languages, names = encoded.dense("language"), encoded.meta["languages"]
    held_out = np.arange(0, len(examples.lengths), HELD_OUT)
    budget = spec.optimisation.token_budget
    columns: dict[str, list[Any]] = {name: [] for name in MASKED_PREDICTIONS.names}
    batches = micro_batches(held_out, examples.lengths, budget)
    for number, rows in enumerate(track(batches, "masked subwords")):
        torch.manual_seed(derive_seed(seed, "masked subwords", number))
        batch = {key: item.to(model.device) for key, item in examples.collate(rows).items()}
        with autocast("auto", model.device):
            logits, gold = objective.predicted(model, batch)
        of_row = rows[batch["slot_row"].cpu().numpy()]
        columns["language"] += [names[code] for code in languages[of_row]]
        columns["row"] += of_row.tolist()
        columns["gold"] += gold.tolist()
        columns["prediction"] += logits.argmax(-1).tolist()
    return pa.table(columns, schema=MASKED_PREDICTIONS)
