"""Texts, or pairs of texts, with one label each as token stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.stores import (
    in_chunks,
    label_numbers,
    require_columns,
    row_name,
    write_store,
)
from mbert_atlas.tokenizer import open_tokenizer, special_id


def encode_classes(
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    task: str,
    text_columns: tuple[str, ...],
    label_column: str,
    labels: Sequence[str],
    max_length: int = 128,
    drop_unknown: bool = False,
    origin: Path | str = "examples",
    segment_ids: bool = True,
) -> None:
    """Write a table as a token store; see :func:`mbert_atlas.encoding.encode`.

    The store holds ``labels`` (int32, shape ``(n,)``) and for pairs ``segment_start`` (int32,
    shape ``(n,)``), the place of the second text's first piece. Of a pair that is too long the
    longer text is cut first.

    Args:
        table: examples with ``id``, ``language``, the text columns and the label column.
        tokenizer_dir: folder of the fast tokenizer.
        output: the store's folder.
        task: name of the task.
        text_columns: one column, or two that are encoded as a pair.
        label_column: the column with the label.
        labels: the classes, in the order of the model's outputs.
        max_length: most pieces of an example, special ones included; the rest is cut.
        drop_unknown: leave out examples with [UNK].
        origin: where the table comes from, for messages.
        segment_ids: give the second text of a pair the token type 1; tanti2021 gives it 0.

    Raises:
        DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
    """
    require_columns(table, ["id", "language", *text_columns, label_column], origin)
    names = table.column(label_column).combine_chunks()
    numbers = label_numbers(names, labels, lambda row: row_name(table, row), origin)
    tokenizer = open_tokenizer(tokenizer_dir)
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    kept: list[int] = []
    input_ids: list[npt.NDArray[np.int32]] = []
    segment_start: list[int] = []
    for first_row, part in in_chunks(table, f"encoding {Path(output).name}"):
        texts = [part.column(name).to_pylist() for name in text_columns]
        encoded = tokenizer.encode_batch_fast(
            list(zip(*texts, strict=True)) if len(texts) == 2 else texts[0]
        )
        for row, encoding in enumerate(encoded, first_row):
            ids = encoding.ids
            if not (drop_unknown and unknown in ids):
                kept.append(row)
                input_ids.append(np.array(ids, dtype=np.int32))
                segment_start.append(len(ids) - sum(encoding.type_ids))
    arrays: dict[str, npt.NDArray[Any] | Ragged] = {
        "input_ids": Ragged.from_rows(input_ids, np.int32),
        "labels": numbers[kept],
    }
    if len(text_columns) == 2:
        arrays["segment_start"] = np.array(segment_start, dtype=np.int32)
    write_store(
        task,
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
