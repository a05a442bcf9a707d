"""Texts for language identification, of the whole text or of each token, as token stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.classes import labelled_texts
from mbert_atlas.encoding.stores import TaskEncoding, require_columns, write_store
from mbert_atlas.encoding.tags import NO_LABEL, continuation_ids
from mbert_atlas.tokenizer import open_tokenizer


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
    special tokens and those that begin with ``##`` (code of Tanti et al. 2021).

    The table has ``id``, ``language``, ``split`` and ``text``; what has a language are texts or
    tokens (``unit``).

    Raises:
        DataError: if a column is missing, a language is not in ``labels`` or nothing is left.
    """
    require_columns(table, ["split"], origin)
    options: dict[str, Any] = {"max_length": max_length, "drop_unknown": drop_unknown}
    texts = labelled_texts(
        table,
        tokenizer_dir,
        f"encoding {Path(output).name}",
        text_columns=["text"],
        label_column="language",
        labels=labels,
        origin=origin,
        **options,
    )
    ids, kept = texts.input_ids, texts.rows
    arrays: dict[str, Any] = {"input_ids": ids, "labels": texts.labels}
    if unit == "token":
        unlabelled = continuation_ids(open_tokenizer(tokenizer_dir), tokenizer_dir)[ids.values]
        unlabelled[ids.offsets[:-1]] = True  # [CLS]
        unlabelled[ids.offsets[1:] - 1] = True  # [SEP]
        of_token = np.repeat(texts.labels, ids.lengths)
        arrays["labels"] = Ragged(np.where(unlabelled, np.int32(NO_LABEL), of_token), ids.offsets)
    splits = table.column("split").take(kept).to_pylist()
    write_store(
        "language_identification",
        table,
        kept,
        {**arrays, "split": np.array(splits, dtype=np.str_)},
        tokenizer_dir,
        output,
        labels=labels,
        options={**options, "unit": unit},
        dropped={"unknown_piece": table.num_rows - len(kept)},
    )


LANGUAGE_IDENTIFICATION = TaskEncoding(encode_languages, lambda table, languages: sorted(languages))
