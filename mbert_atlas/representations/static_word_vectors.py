"""One vector for each word type: the mean of static vectors of its pieces; free of torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.corpora.dictionaries import words_of
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest


def static_word_vectors(
    *,
    static: Path,
    tokenizer_dir: Path,
    dictionaries: Sequence[Path],
    side: Literal["source", "target"],
    language: str,
    output: Path,
) -> None:
    """Write the vector of each word as the mean of its pieces' vectors; one layer, no contexts.

    Args:
        static: token store with ``vectors`` (float32, ``(vocabulary, dims)``).
        tokenizer_dir: folder of the tokenizer whose pieces they are of.
        dictionaries: tables with the columns of ``schemas.DICTIONARY``.
        side: whose words are taken, of all the dictionaries together.
        language: of the words.
        output: the store's folder, see :mod:`mbert_atlas.representations.word_vectors`.

    Raises:
        DataError: if the vectors are of another tokenizer's pieces.
    """
    stored = load_arrays(static)
    if stored.meta.get("tokenizer") != tokenizer_digest(tokenizer_dir):
        raise DataError(
            static,
            "meta.json",
            f"the vectors are not of pieces of the tokenizer in {tokenizer_dir}",
            "take the tokenizer that they were trained with, or train them again",
        )
    tokenizer, words = open_tokenizer(tokenizer_dir), words_of(dictionaries, side)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    pieces = Ragged.from_rows(
        (
            encoding.ids or [unknown]
            for encoding in tokenizer.encode_batch_fast(words, add_special_tokens=False)
        ),
        np.int64,
    )
    vectors = np.add.reduceat(stored.dense("vectors")[pieces.values], pieces.offsets[:-1])
    vectors /= pieces.lengths[:, None].astype(np.float32)
    contexts = np.zeros(len(words), dtype=np.int64)
    arrays = {"vectors": vectors[None], "contexts": contexts, "words": np.array(words, np.str_)}
    save_arrays(output, arrays, {"language": language})
