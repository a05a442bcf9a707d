"""Running texts without labels as token stores, for their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.stores import TaskEncoding, in_chunks, require_columns, write_store
from mbert_atlas.tokenizer import open_tokenizer, special_id


def encode_unlabelled(
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str] = (),
    max_length: int = 128,
    repeat_specials: bool = False,
    origin: Path | str = "examples",
) -> None:
    """Write a table as a token store; see :func:`mbert_atlas.encoding.encode`.

    Every row of the table is kept, in its order, so that parallel texts stay parallel. The store
    holds ``input_ids`` and, where the table has one, ``split`` (strings, shape ``(n,)``). The table
    has ``id``, ``language`` and ``text``; there are no labels.

    ``repeat_specials`` follows the code of Muller et al. (2021), which writes [CLS] and [SEP] into
    the texts before its tokenizer adds them: the inner pair counts as part of the text when it is
    cut and when its tokens are averaged.

    Raises:
        DataError: if a column is missing or the table is empty.
    """
    require_columns(table, ["id", "language", "text"], origin)
    tokenizer = open_tokenizer(tokenizer_dir)
    first, last = (special_id(tokenizer, token, tokenizer_dir) for token in ("[CLS]", "[SEP]"))
    rows: list[list[int]] = []
    for _, part in in_chunks(table, f"encoding {Path(output).name}"):
        texts = part.column("text").to_pylist()
        for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False):
            ids = [first, *encoding.ids, last] if repeat_specials else encoding.ids
            rows.append([first, *ids[: max_length - 2], last])
    arrays: dict[str, Any] = {"input_ids": Ragged.from_rows(rows, np.int32)}
    if "split" in table.column_names:
        arrays["split"] = np.array(table.column("split").to_pylist(), dtype=np.str_)
    write_store(
        "text",
        table,
        range(table.num_rows),
        arrays,
        tokenizer_dir,
        output,
        labels=labels,
        options={"max_length": max_length, "repeat_specials": repeat_specials},
        dropped={},
    )


TEXT = TaskEncoding(encode_unlabelled, lambda table, languages: ())
