"""Texts without labels as token stores: for their vectors, and in several languages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.arrays import Ragged, TokenStore, offsets_of, save_arrays
from mbert_atlas.encoding.stores import Encoded, Examples, TaskEncoding, in_chunks
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer, tokenizer_digest


def encode_unlabelled(examples: Examples, *, repeat_specials: bool = False) -> Encoded:
    """Encode all texts (column ``text``) in their order, so that parallel texts stay parallel.

    The store holds ``input_ids`` and, where the table has one, ``split`` (strings, shape ``(n,)``).
    With ``repeat_specials``, as in the code of Muller et al. (2021), a second pair of [CLS] and
    [SEP] is part of the text.
    """
    examples.require_columns("id", "language", "text")
    table, (tokenizer, _) = examples.table, examples.truncating_tokenizer()
    chunks = (part.column("text").to_pylist() for _, part in in_chunks(table, examples.title))
    rows = [one.ids for texts in chunks for one in tokenizer.encode_batch_fast(texts)]
    if repeat_specials:
        rows = [[row[0], *row[: examples.max_length - 2], row[-1]] for row in rows]
    arrays: dict[str, Any] = {"input_ids": Ragged.from_rows(rows, np.int32)}
    if "split" in table.column_names:
        arrays["split"] = np.array(table.column("split").to_pylist(), dtype=np.str_)
    return Encoded(range(table.num_rows), arrays, {}, {"repeat_specials": repeat_specials})


def encode_parallel(
    tables: Sequence[pa.Table],
    languages: Sequence[str],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    max_length: int,
) -> None:
    """Write the sentences of parallel sets of premises and hypotheses as a token store.

    A sentence that comes several times in the first language is taken once, and cut at
    ``max_length``, special tokens included. The store has ``input_ids`` (ragged int32), all
    sentences of the first language, then those of the second, in the same order; and ``part``
    (int32), the number of the sentence's table.

    Raises a DataError if a language lacks a pair that the first one has.
    """
    texts, parts = {code: list[str]() for code in languages}, list[int]()
    for number, table in enumerate(tables):
        by_language = {code: _sentences(table, code, output) for code in languages}
        leading = by_language[languages[0]]
        for code, pairs in by_language.items():
            if missing := sorted(leading.keys() - pairs.keys()):
                problem = f"pair {missing[0][0]} is missing, which {languages[0]} has"
                fix = "drop the language or take all of its pairs"
                raise DataError(output, f"language {code}", problem, fix)
        places: dict[str, tuple[str, int]] = {}
        for key, text in leading.items():
            places.setdefault(text, key)
        for code, own in by_language.items():
            texts[code] += [own[key] for key in places.values()]
        parts += [number] * len(places)
    tokenizer = open_tokenizer(tokenizer_dir)
    tokenizer.enable_truncation(max_length)
    rows = [one.ids for some in texts.values() for one in tokenizer.encode_batch_fast(some)]
    input_ids, part = Ragged.from_rows(rows, np.int32), np.array(parts, dtype=np.int32)
    meta = {"languages": list(languages), "tokenizer": tokenizer_digest(tokenizer_dir)}
    save_arrays(output, {"input_ids": input_ids, "part": part}, meta)


def _sentences(table: pa.Table, code: str, output: Path | str) -> dict[tuple[str, int], str]:
    """Return the sentences of a language by pair and side."""
    rows = table.filter(pc.equal(table["language"], code))
    if rows.num_rows == 0:
        fix = "drop it or add it to the dataset"
        raise DataError(output, f"language {code}", "it has no pairs", fix)
    columns = (rows[name].to_pylist() for name in ("id", "premise", "hypothesis"))
    return {
        (pair, side): text
        for pair, *texts in zip(*columns, strict=True)
        for side, text in enumerate(texts)
    }


def parallel_sentences(store: TokenStore, language: str) -> Ragged:
    """Return the token ids in a language of what :func:`encode_parallel` wrote."""
    count = len(store.dense("part"))
    first = count * store.meta["languages"].index(language)
    return store.ragged("input_ids").take(np.arange(first, first + count))


def inner(rows: Ragged) -> Ragged:
    """Return token ids without the special ones at both ends."""
    inside = np.ones(len(rows.values), dtype=bool)
    inside[rows.offsets[:-1]] = inside[rows.offsets[1:] - 1] = False
    return Ragged(rows.values[inside], offsets_of(rows.lengths - 2))


def token_set(rows: Ragged, vocabulary_size: int) -> npt.NDArray[np.bool_]:
    """Return whether texts have each token between the special ones, shape ``(vocabulary,)``."""
    return np.bincount(inner(rows).values, minlength=vocabulary_size) > 0


TEXT = TaskEncoding(encode_unlabelled, lambda table, languages: ())
