"""Tagging of words: universal POS or named entities."""

from typing import Any

import numpy as np
import pyarrow as pa
import torch

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.batching import Indices
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.schemas import TAG_PREDICTIONS
from mbert_atlas.tasks.base import Batch, EncodedExamples, Task


class TaggingExamples(EncodedExamples):
    """Sentences with labels at some of their subwords."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.labels = self.store.ragged("labels")
        before = offsets_of(self.labels.values != NO_LABEL)
        self.label_counts = np.diff(before[self.labels.offsets])[self.rows]

    @property
    def classes(self) -> Indices:
        """The labels of all sentences, one after the other, int64, shape ``(m,)``."""
        labels = self.labels.take(self.rows).values.astype(np.int64)
        kept: Indices = labels[labels != NO_LABEL]
        return kept

    def collate(self, indices: Indices) -> Batch:
        """Return the padded tokens, and ``positions`` and ``labels`` (both int64, ``(m,)``).

        A position is a place in the flattened (b * l) batch. If shapes are fixed, m is b * l.
        """
        labels = self.labels.padded(self.rows[indices], NO_LABEL, multiple=self.pad_multiple)
        positions = np.flatnonzero(labels != NO_LABEL)
        return {
            **super().collate(indices),
            "positions": self.fill_up(positions, labels.size, 0),
            "labels": self.fill_up(labels.reshape(-1)[positions], labels.size, NO_LABEL),
        }


class Tagging(Task):
    """A tag for every word of a sentence (schemas.SENTENCES or schemas.TAGGED_SENTENCES)."""

    unit = "token"
    prediction_schema = TAG_PREDICTIONS
    examples = TaggingExamples

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the tag number of each labelled subword, int64, shape ``(m,)``."""
        numbers: torch.Tensor = model(batch).argmax(dim=-1)
        return numbers

    def decode(self, examples: EncodedExamples, outputs: Ragged, dataset: str) -> pa.Table:
        """Return gold and predicted tags of all labelled subwords, and the word of each."""
        store, rows = examples.store, examples.rows
        gold, words = store.ragged("labels").take(rows), store.ragged("words").take(rows)
        labelled = gold.values != NO_LABEL
        sentence = np.repeat(np.arange(len(rows)), gold.lengths)[labelled]
        offsets = offsets_of(np.bincount(sentence, minlength=len(rows))).astype(np.int32)
        names = np.array(store.meta["labels"], dtype=object)
        lists = {
            "gold": names[gold.values[labelled]],
            "prediction": names[outputs.values],
            "words": words.values[labelled].astype(np.int32),
        }
        columns = {key: pa.ListArray.from_arrays(offsets, item) for key, item in lists.items()}
        return pa.table(examples.columns(dataset) | columns, self.prediction_schema)
