"""Classification of one text or a pair of texts through the pooler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.schemas import CLASS_PREDICTIONS
from mbert_atlas.tasks.base import (
    Batch,
    EncodedExamples,
    Indices,
    Task,
    in_chunks,
    label_numbers,
    require_columns,
    row_name,
    write_store,
)


class TextClassification(Task):
    """A task with one label per text or pair of texts."""

    unit = "text"
    prediction_schema = CLASS_PREDICTIONS
    text_columns: ClassVar[tuple[str, ...]]
    """One column, or two that are encoded as a pair."""
    label_column: ClassVar[str]

    def encode(
        self,
        table: pa.Table,
        tokenizer_dir: Path | str,
        output: Path | str,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        drop_unknown: bool = False,
        origin: Path | str = "examples",
        segment_ids: bool = True,
    ) -> None:
        """Write a table as a token store; see :meth:`Task.encode`.

        The store holds ``labels`` (int32, shape ``(n,)``) and for pairs ``segment_start`` (int32,
        shape ``(n,)``), the place of the second text's first piece. Of a pair that is too long the
        longer text is cut first.

        Args:
            table: examples with ``id``, ``language``, the text columns and the label column.
            tokenizer_dir: folder of the fast tokenizer.
            output: the store's folder.
            labels: the classes, in the order of the model's outputs.
            max_length: most pieces of an example, special ones included; the rest is cut.
            drop_unknown: leave out examples with [UNK].
            origin: where the table comes from, for messages.
            segment_ids: give the second text of a pair the token type 1; tanti2021 gives it 0.

        Raises:
            DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
        """
        require_columns(table, ["id", "language", *self.text_columns, self.label_column], origin)
        names = table.column(self.label_column).combine_chunks()
        numbers = label_numbers(names, labels, lambda row: row_name(table, row), origin)
        tokenizer = load_tokenizer(tokenizer_dir)
        kept: list[int] = []
        input_ids: list[npt.NDArray[np.int32]] = []
        segment_start: list[int] = []
        for first_row, part in in_chunks(table, f"encoding {Path(output).name}"):
            encoded = tokenizer(
                *(part.column(name).to_pylist() for name in self.text_columns),
                truncation="longest_first",
                max_length=max_length,
                return_token_type_ids=True,
                return_attention_mask=False,
            )
            pairs = zip(encoded["input_ids"], encoded["token_type_ids"], strict=True)
            for row, (ids, types) in enumerate(pairs, first_row):
                if not (drop_unknown and tokenizer.unk_token_id in ids):
                    kept.append(row)
                    input_ids.append(np.array(ids, dtype=np.int32))
                    segment_start.append(len(ids) - sum(types))
        arrays: dict[str, npt.NDArray[Any] | Ragged] = {
            "input_ids": Ragged.from_rows(input_ids, np.int32),
            "labels": numbers[kept],
        }
        if len(self.text_columns) == 2:
            arrays["segment_start"] = np.array(segment_start, dtype=np.int32)
        write_store(
            self.name,
            table,
            kept,
            arrays,
            tokenizer_dir,
            output,
            labels=labels,
            options={
                "max_length": max_length,
                "drop_unknown": drop_unknown,
                "segment_ids": segment_ids,
            },
            dropped={"unknown_piece": table.num_rows - len(kept)},
        )

    def examples(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> TextExamples:
        """Open encoded examples for training or prediction, all of them or only ``rows``."""
        return TextExamples(store, rows, pad_multiple=pad_multiple)

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the probabilities of the labels, float32, shape ``(b, labels)``."""
        probabilities: torch.Tensor = model(batch).float().softmax(dim=-1)
        return probabilities

    def decode(
        self, examples: EncodedExamples, outputs: Ragged, labels: Sequence[str], dataset: str
    ) -> pa.Table:
        """Return the most probable label and all probabilities of each example."""
        names = np.array(labels)
        gold = examples.store.dense("labels")[examples.rows]
        probabilities = outputs.values.astype(np.float32)
        offsets = np.arange(len(gold) + 1, dtype=np.int32) * probabilities.shape[1]
        columns = [
            pa.array([dataset] * len(gold), pa.string()),
            pa.array(examples.store.dense("language")[examples.rows], pa.string()),
            pa.array(examples.store.dense("example_id")[examples.rows], pa.string()),
            pa.array(names[gold], pa.string()),
            pa.array(names[probabilities.argmax(axis=1)], pa.string()),
            pa.ListArray.from_arrays(offsets, pa.array(probabilities.reshape(-1))),
        ]
        return pa.Table.from_arrays(columns, schema=self.prediction_schema)


class TextExamples(EncodedExamples):
    """Texts or pairs with one label each."""

    def collate(self, indices: Indices) -> Batch:
        """Return the padded pieces, the token types of pairs, and ``labels``, int64, ``(b,)``."""
        batch = super().collate(indices)
        if "segment_start" in self.store.arrays and self.store.meta["options"]["segment_ids"]:
            batch["token_type_ids"] = self.token_types(indices, batch["attention_mask"])
        labels = self.store.dense("labels")[self.rows[indices]].astype(np.int64)
        return {**batch, "labels": torch.from_numpy(labels)}
