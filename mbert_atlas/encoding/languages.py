"""Texts whose language is to be identified, as a whole or piece by piece, as token stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

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
from mbert_atlas.encoding.tags import NO_LABEL, continuation_ids
from mbert_atlas.tokenizer import open_tokenizer, special_id

TASK = "language_identification"


def encode_languages(
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str],
    max_length: int = 128,
    drop_unknown: bool = False,
    origin: Path | str = "examples",
    unit: Literal["text", "token"] = "text",
) -> None:
    """Write a table as a token store; see :func:`mbert_atlas.encoding.encode`.

    The store holds ``split`` (strings, shape ``(n,)``) and ``labels``, the number of the language:
    int32 of shape ``(n,)`` for texts; for tokens ragged int32, parallel to ``input_ids``, -100 at
    special pieces and those that begin with ``##`` (tanti2021, code).

    Args:
        table: texts with ``id``, ``language``, ``split`` and ``text``.
        tokenizer_dir: folder of the fast tokenizer.
        output: the store's folder.
        labels: the languages, in the order of the model's outputs.
        max_length: most pieces of a text, special ones included; the rest is cut.
        drop_unknown: leave out texts with [UNK].
        origin: where the table comes from, for messages.
        unit: what has a language: texts or tokens.

    Raises:
        DataError: if a column is missing, a language is not in ``labels`` or nothing is left.
    """
    require_columns(table, ["id", "language", "split", "text"], origin)
    names = table.column("language").combine_chunks()
    numbers = label_numbers(names, labels, lambda row: row_name(table, row), origin)
    tokenizer = open_tokenizer(tokenizer_dir)
    tokenizer.enable_truncation(max_length)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    kept: list[int] = []
    input_ids: list[npt.NDArray[np.int32]] = []
    for first_row, part in in_chunks(table, f"encoding {Path(output).name}"):
        texts = part.column("text").to_pylist()
        for row, encoding in enumerate(tokenizer.encode_batch_fast(texts), first_row):
            if not (drop_unknown and unknown in encoding.ids):
                kept.append(row)
                input_ids.append(np.array(encoding.ids, dtype=np.int32))
    ids = Ragged.from_rows(input_ids, np.int32)
    arrays: dict[str, npt.NDArray[Any] | Ragged] = {"input_ids": ids, "labels": numbers[kept]}
    if unit == "token":
        unlabelled = continuation_ids(tokenizer, tokenizer_dir)[ids.values]
        unlabelled[ids.offsets[:-1]] = True  # [CLS]
        unlabelled[ids.offsets[1:] - 1] = True  # [SEP]
        of_piece = np.repeat(numbers[kept], ids.lengths)
        arrays["labels"] = Ragged(np.where(unlabelled, np.int32(NO_LABEL), of_piece), ids.offsets)
    splits = table.column("split").take(kept).to_pylist()
    write_store(
        TASK,
        table,
        kept,
        {**arrays, "split": np.array(splits, dtype=np.str_)},
        tokenizer_dir,
        output,
        labels=labels,
        options={"max_length": max_length, "drop_unknown": drop_unknown, "unit": unit},
        dropped={"unknown_piece": table.num_rows - len(kept)},
    )
