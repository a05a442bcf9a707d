"""One vector per word type: the mean of static vectors of its subwords; free of torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.corpora.dictionaries import words_of
from mbert_atlas.tokenizer import open_tokenizer, require_tokenizer, special_id


def static_word_vectors(
    *,
    static: Path,
    tokenizer_dir: Path,
    dictionaries: Sequence[Path],
    side: Literal["source", "target"],
    language: str,
    output: Path,
) -> None:
    """Write the mean vector of each word's subwords as one layer.

    ``static`` has ``vectors`` of subwords (float32, ``(vocabulary, dims)``). Words are those on a
    side of all the dictionaries (``schemas.DICTIONARY``). For the output see
    :mod:`mbert_atlas.representations.word_vectors`. Raises a DataError if the vectors were trained
    with another tokenizer.
    """
    stored = load_arrays(static)
    require_tokenizer(static, stored.meta.get("tokenizer"), tokenizer_dir)
    tokenizer, words = open_tokenizer(tokenizer_dir), words_of(dictionaries, side)
    unknown = special_id(tokenizer, "[UNK]", tokenizer_dir)
    encodings = tokenizer.encode_batch_fast(words, add_special_tokens=False)
    subwords = Ragged.from_rows((item.ids or [unknown] for item in encodings), np.int64)
    vectors = np.add.reduceat(stored.dense("vectors")[subwords.values], subwords.offsets[:-1])
    vectors /= subwords.lengths[:, None].astype(np.float32)
    arrays = {"vectors": vectors[None], "words": np.array(words, np.str_)}
    save_arrays(output, arrays, {"language": language})
