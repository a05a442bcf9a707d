"""Sentences that mean the same in several languages, as token ids: those of a parallel NLI set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.arrays import Ragged, offsets_of, save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest


def encode_parallel(
    tables: Sequence[pa.Table],
    languages: Sequence[str],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    max_length: int,
    limit: int | None = None,
) -> None:
    """Write the sentences of a parallel set of premises and hypotheses as a token store.

    A sentence that comes several times in the first language is taken once.

    Args:
        tables: of each dataset the columns ``language``, ``id``, ``premise``, ``hypothesis``.
        languages: which of their languages; the first decides which sentences are the same.
        tokenizer_dir: folder of the fast tokenizer.
        output: the store's folder: ``input_ids`` (ragged int32, special tokens at both ends), all
            sentences of the first language, then those of the second, in the same order; and
            ``part`` (int32), the number of the sentence's table.
        max_length: sentences are cut there, special tokens included.
        limit: most sentences of each table; none: all.

    Raises:
        DataError: if a language lacks a pair that the first one has.
    """
    texts: dict[str, list[str]] = {code: [] for code in languages}
    parts: list[int] = []
    for number, table in enumerate(tables):
        by_language = {code: _sentences(table, code, output) for code in languages}
        leading = by_language[languages[0]]
        for code, pairs in by_language.items():
            if missing := sorted(leading.keys() - pairs.keys()):
                raise DataError(
                    output,
                    f"language {code}",
                    f"pair {missing[0][0]} is missing, which {languages[0]} has",
                    "drop the language or take all of its pairs",
                )
        places: dict[str, tuple[str, int]] = {}
        for key, text in leading.items():
            places.setdefault(text, key)
        kept = list(places.values())[:limit]
        for code, own in by_language.items():
            texts[code] += [own[key] for key in kept]
        parts += [number] * len(kept)
    tokenizer = open_tokenizer(tokenizer_dir)
    first, last = (special_id(tokenizer, token, tokenizer_dir) for token in ("[CLS]", "[SEP]"))
    rows = [
        [first, *encoding.ids[: max_length - 2], last]
        for sentences in texts.values()
        for encoding in tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
    ]
    arrays: dict[str, Any] = {
        "input_ids": Ragged.from_rows(rows, np.int32),
        "part": np.array(parts, dtype=np.int32),
    }
    meta = {"languages": list(languages), "tokenizer": tokenizer_digest(tokenizer_dir)}
    save_arrays(output, arrays, meta)


def _sentences(table: pa.Table, code: str, output: Path | str) -> dict[tuple[str, int], str]:
    rows = table.filter(pc.equal(table["language"], code))
    if rows.num_rows == 0:
        raise DataError(
            output, f"language {code}", "it has no pairs", "drop it or add it to the dataset"
        )
    columns = (rows[name].to_pylist() for name in ("id", "premise", "hypothesis"))
    return {
        (pair, side): text
        for pair, *texts in zip(*columns, strict=True)
        for side, text in enumerate(texts)
    }


def inner(rows: Ragged) -> Ragged:
    """Return token ids without the special ones at both ends."""
    inside = np.ones(len(rows.values), dtype=bool)
    inside[rows.offsets[:-1]] = inside[rows.offsets[1:] - 1] = False
    return Ragged(rows.values[inside], offsets_of(rows.lengths - 2))
