"""Texts, or pairs of texts, with one label each as token stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tokenizers import normalizers

from mbert_atlas.arrays import Ragged
from mbert_atlas.corpora.nli import LABELS
from mbert_atlas.encoding.stores import (
    TaskEncoding,
    in_chunks,
    label_numbers,
    require_columns,
    row_name,
    truncating_tokenizer,
    write_store,
)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts or pairs as token ids, with a label each.

    Attributes:
        rows: rows of the table that are kept, ``n`` of them.
        input_ids: ragged int32, special tokens included.
        labels: numbers of the labels, int32, shape ``(n,)``.
        segment_start: place of the second text's first token, int32, shape ``(n,)``.
    """

    rows: list[int]
    input_ids: Ragged
    labels: npt.NDArray[np.int32]
    segment_start: npt.NDArray[np.int32]


def labelled_texts(
    table: pa.Table,
    tokenizer_dir: Path | str,
    description: str,
    *,
    text_columns: Sequence[str],
    label_column: str,
    labels: Sequence[str],
    max_length: int,
    drop_unknown: bool,
    origin: Path | str,
    strip_case_and_accents: bool = False,
) -> LabelledTexts:
    """Encode texts or pairs; arguments as :func:`encode_classes`."""
    require_columns(table, ["id", "language", *text_columns, label_column], origin)
    names = table.column(label_column).combine_chunks()
    numbers = label_numbers(names, labels, lambda row: row_name(table, row), origin)
    tokenizer, unknown = truncating_tokenizer(tokenizer_dir, max_length)
    if strip_case_and_accents:
        plain = [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]
        tokenizer.normalizer = normalizers.Sequence([*plain, tokenizer.normalizer])
    kept: list[int] = []
    input_ids: list[npt.NDArray[np.int32]] = []
    segment_start: list[int] = []
    for first_row, part in in_chunks(table, description):
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
    starts = np.array(segment_start, dtype=np.int32)
    return LabelledTexts(kept, Ragged.from_rows(input_ids, np.int32), numbers[kept], starts)


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
    strip_case_and_accents: bool = False,
) -> None:
    """Write a table as a token store; see :func:`mbert_atlas.encoding.encode`.

    The store holds ``labels`` (int32, shape ``(n,)``) and for pairs ``segment_start`` (int32,
    shape ``(n,)``), the place of the second text's first token. Of a pair that is too long the
    longer text is cut first.

    The table has ``id``, ``language``, the label column and one text column, or two that are
    encoded as a pair. ``segment_ids`` gives the second text of a pair the token type 1; Tanti et
    al. (2021) give it 0. ``strip_case_and_accents`` normalises texts as an uncased tokenizer does,
    whatever the vocabulary.

    Raises:
        DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
    """
    options: dict[str, Any] = {
        "max_length": max_length,
        "drop_unknown": drop_unknown,
        "strip_case_and_accents": strip_case_and_accents,
    }
    texts = labelled_texts(
        table,
        tokenizer_dir,
        f"encoding {Path(output).name}",
        text_columns=text_columns,
        label_column=label_column,
        labels=labels,
        origin=origin,
        **options,
    )
    arrays: dict[str, Any] = {"input_ids": texts.input_ids, "labels": texts.labels}
    if len(text_columns) == 2:
        arrays["segment_start"] = texts.segment_start
    write_store(
        task,
        table,
        texts.rows,
        arrays,
        tokenizer_dir,
        output,
        labels=labels,
        options={**options, "segment_ids": segment_ids},
        dropped={"unknown_piece": table.num_rows - len(texts.rows)},
    )


NLI = TaskEncoding(
    partial(
        encode_classes,
        task="nli",
        text_columns=("premise", "hypothesis"),
        label_column="label",
    ),
    lambda table, languages: LABELS,
)
