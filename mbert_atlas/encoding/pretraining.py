"""Plain texts as a token store to pretrain on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from mbert_atlas.arrays import Ragged, save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest

_TEXTS_AT_A_TIME = 2048


def encode_texts(
    texts: Mapping[str, Iterable[str]],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    max_length: int,
    texts_per_language: int | None = None,
) -> None:
    """Write texts as a token store of rows ``[CLS] pieces [SEP]``; long texts give several rows.

    The store has ``input_ids`` (ragged int32) and ``language`` (uint16, a number into the list
    ``languages`` of its meta data).

    Args:
        texts: texts by language, read once.
        tokenizer_dir: folder of the fast tokenizer.
        output: the store's folder.
        max_length: longest row, special pieces included.
        texts_per_language: most texts taken of each language.

    Raises:
        DataError: if a language has no text.
    """
    tokenizer = open_tokenizer(tokenizer_dir)
    first = [special_id(tokenizer, "[CLS]", tokenizer_dir)]
    last = [special_id(tokenizer, "[SEP]", tokenizer_dir)]
    rows: list[npt.NDArray[np.int32]] = []
    languages: list[int] = []
    for number, (language, some) in enumerate(texts.items()):
        before = len(rows)
        for pieces in track(
            _pieces(islice(some, texts_per_language), tokenizer), f"encoding {language}"
        ):
            for start in range(0, len(pieces), max_length - 2):
                row = first + pieces[start : start + max_length - 2] + last
                rows.append(np.array(row, dtype=np.int32))
        if len(rows) == before:
            raise DataError(
                output, f"language {language}", "there is no text", "check its sources or drop it"
            )
        languages += [number] * (len(rows) - before)
    save_arrays(
        output,
        {
            "input_ids": Ragged.from_rows(rows, np.int32),
            "language": np.array(languages, dtype=np.uint16),
        },
        {
            "languages": list(texts),
            "max_length": max_length,
            "tokenizer": tokenizer_digest(tokenizer_dir),
        },
    )


def _pieces(texts: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _TEXTS_AT_A_TIME)):
        for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            yield encoding.ids
