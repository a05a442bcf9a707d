"""Classification of one text or a pair of texts through the pooler."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from mbert_atlas.arrays import Ragged
from mbert_atlas.batching import Indices
from mbert_atlas.schemas import CLASS_PREDICTIONS
from mbert_atlas.tasks.base import Batch, EncodedExamples, Task


class TextExamples(EncodedExamples):
    """Texts or pairs with one label each."""

    @property
    def classes(self) -> Indices:
        """The label of each text, int64, shape ``(n,)``."""
        return self.store.dense("labels")[self.rows].astype(np.int64)

    def collate(self, indices: Indices) -> Batch:
        """Return the padded tokens, the token types of pairs, and ``labels``, int64, ``(b,)``."""
        batch = super().collate(indices)
        if "segment_start" in self.store.arrays and self.store.meta["options"]["segment_ids"]:
            batch["token_type_ids"] = self.token_types(indices, batch["attention_mask"])
        labels = self.store.dense("labels")[self.rows[indices]].astype(np.int64)
        return {**batch, "labels": torch.from_numpy(labels)}


class TextClassification(Task):
    """A task with one label per text or pair of texts."""

    unit = "text"
    prediction_schema = CLASS_PREDICTIONS
    examples = TextExamples

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the probabilities of the labels, float32, shape ``(b, labels)``."""
        probabilities: torch.Tensor = model(batch).float().softmax(dim=-1)
        return probabilities

    def decode(self, examples: EncodedExamples, outputs: Ragged, dataset: str) -> pa.Table:
        """Return the most probable label and all probabilities of each example."""
        names = np.array(examples.store.meta["labels"])
        gold = examples.store.dense("labels")[examples.rows]
        probabilities = outputs.values.astype(np.float32)
        offsets = np.arange(len(gold) + 1, dtype=np.int32) * probabilities.shape[1]
        columns = {
            **examples.columns(dataset),
            "gold": names[gold],
            "prediction": names[probabilities.argmax(axis=1)],
            "probabilities": pa.ListArray.from_arrays(offsets, probabilities.reshape(-1)),
        }
        return pa.table(columns, self.prediction_schema)
