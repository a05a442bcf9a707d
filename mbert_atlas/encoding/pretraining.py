"""Plain texts as a token store for pretraining."""

import logging
import re
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

_logger = logging.getLogger(__name__)
_TEXTS_AT_A_TIME = 2048
_SENTENCE_END = re.compile(r"(?<=[.!?؟۔।॥])\s+|(?<=[。！？])\s*")
"""To count sentences: abbreviations end one, too, and in Thai a paragraph is one."""


def encode_texts(
    texts: Mapping[str, Iterable[str]],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    max_length: int,
    texts_per_language: int | None = None,
    sentences_per_language: int | None = None,
    packed: bool = False,
) -> None:
    """Write texts as a token store of rows ``[CLS] subwords [SEP]``; long texts give several rows.

    The store has ``input_ids`` (ragged int32) and ``language`` (uint16, a number into the list
    ``languages`` of its meta data, which counts subwords as ``pieces`` and perhaps ``sentences``).

    Texts by language are read once, up to so many texts or sentences of each. A row has at most
    ``max_length`` tokens, special ones included. If ``packed``, texts follow each other, so that
    only the last row of a language is shorter; else each text begins a row.

    Raises a DataError if a language has no text.
    """
    tokenizer = open_tokenizer(tokenizer_dir)
    first, last = ([special_id(tokenizer, name, tokenizer_dir)] for name in ("[CLS]", "[SEP]"))
    width = max_length - 2
    rows, sizes = list[npt.NDArray[np.int32]](), list[int]()
    subwords, sentences = dict[str, int](), dict[str, int]()
    for language, some in texts.items():
        chosen: Iterable[str] = islice(some, texts_per_language)
        if sentences_per_language is not None:
            chosen = _first_sentences(chosen, sentences_per_language, sentences, language)
        encoded = track(_subwords(chosen, tokenizer), f"encoding {language}")
        parts = [np.array(ids, dtype=np.int32) for ids in encoded if ids]
        if not parts:
            problem, fix = "there is no text", "check its sources or drop it"
            raise DataError(output, f"language {language}", problem, fix)
        subwords[language], before = sum(map(len, parts)), len(rows)
        for part in [np.concatenate(parts)] if packed else parts:
            for start in range(0, len(part), width):
                row = np.concatenate([first, part[start : start + width], last])
                rows.append(row.astype(np.int32))
        sizes.append(len(rows) - before)
    if few := {code: n for code, n in sentences.items() if n < (sentences_per_language or 0)}:
        _logger.warning("fewer sentences than %d: %s", sentences_per_language, few)
    languages = np.repeat(np.arange(len(sizes), dtype=np.uint16), sizes)
    meta = {
        "languages": list(texts),
        "max_length": max_length,
        "pieces": subwords,
        "sentences": sentences,
        "tokenizer": tokenizer_digest(tokenizer_dir),
    }
    input_ids = Ragged.from_rows(rows, np.int32)
    save_arrays(output, {"input_ids": input_ids, "language": languages}, meta)


def _first_sentences(
    texts: Iterable[str], wanted: int, counts: dict[str, int], language: str
) -> Iterator[str]:
    """Yield texts up to a number of sentences, the last one cut; count them."""
    counts[language] = 0
    for text in texts:
        sentences = [part for part in _SENTENCE_END.split(text) if part]
        kept = sentences[: wanted - counts[language]]
        counts[language] += len(kept)
        yield text if len(kept) == len(sentences) else " ".join(kept)
        if counts[language] == wanted:
            return


def _subwords(texts: Iterable[str], tokenizer: Tokenizer) -> Iterator[list[int]]:
    iterator = iter(texts)
    while batch := list(islice(iterator, _TEXTS_AT_A_TIME)):
        for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
            yield encoding.ids
