"""Where the words of a dictionary stand in running text: rows of token ids, and the words in them.

A vector of a word type needs contexts to average over (Liu et al. 2020, section 3.1.1).
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding

from mbert_atlas.arrays import Ragged, save_arrays
from mbert_atlas.corpora.dictionaries import words_of
from mbert_atlas.corpora.plain_text import shuffled_texts
from mbert_atlas.corpora.words import unit_pattern
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest

_logger = logging.getLogger(__name__)
_TEXTS_AT_A_TIME = 2048
Places = dict[int, tuple[int, int]]
"""By word its first character in a text and one past its last."""


def find_word_contexts(
    *,
    dictionaries: Sequence[Path],
    side: Literal["source", "target"],
    language: str,
    texts: Path,
    tokenizer_dir: Path,
    output: Path,
    contexts: int = 100,
    max_length: int = 128,
    searched: int | None = None,
    seed: int = 0,
) -> None:
    """Find places of words in texts, and encode what is around them.

    Words are compared in lower case, as MUSE has them, and found as whole units of
    :func:`mbert_atlas.corpora.words.unit_pattern`, where a word such as "well-known" is several
    that follow each other, so "well" is found in it. In Chinese, Japanese and Thai, which leave no
    blanks, units are characters, and a word is found inside any longer one. Texts are taken in an
    order that the seed draws; the first ``contexts`` that have a word are its contexts, each by the
    word's first place in it.

    The store has ``input_ids`` (ragged int32, ``[CLS] pieces [SEP]``), ``words`` (strings, each
    once), ``contexts`` (int64, how many each word has); and of each occurrence ``word`` and ``row``
    (int32, which ones), ``start`` and ``end`` (int32, its pieces in the row). A word without a
    context has one occurrence: itself between the special pieces.

    Args:
        dictionaries: tables with the columns of ``schemas.DICTIONARY``.
        side: whose words are taken, of all the dictionaries together.
        language: of the words.
        texts: Parquet file with a column ``text``.
        tokenizer_dir: folder of the encoder's tokenizer.
        output: the store's folder.
        contexts: most contexts of a word.
        max_length: longest row, special pieces included; a longer text gives windows of it, each
            half over the next, and a word stands in the one whose middle is nearest.
        searched: most texts looked through; none: all.
        seed: decides the order of the texts.

    Raises:
        DataError: if there is no text.
    """
    tokenizer = open_tokenizer(tokenizer_dir)
    unknown, first, last = (
        special_id(tokenizer, piece, tokenizer_dir) for piece in ("[UNK]", "[CLS]", "[SEP]")
    )
    words, room = words_of(dictionaries, side), max_length - 2
    finder = _Finder(words, language)
    counts = np.zeros(len(words), dtype=np.int64)
    rows, occurrences = list[npt.NDArray[np.int32]](), array("i")

    def add(ids: Sequence[int], found: Sequence[tuple[int, int, int]]) -> None:
        """Keep a row, given without special pieces, and the words in it with their pieces."""
        for word, start, end in found:
            occurrences.extend((word, len(rows), 1 + start, 1 + end))
        rows.append(np.array([first, *ids, last], dtype=np.int32))

    seen = 0
    order = islice(shuffled_texts(texts, seed, language), searched)
    for chunk in track(_chunks(order), f"texts in {language} by {_TEXTS_AT_A_TIME}"):
        seen += len(chunk)
        is_wanted = counts < contexts
        wanted = [finder.places(text, is_wanted) for text in chunk]
        having = [number for number, places in enumerate(wanted) if places]
        for number, encoding in zip(
            having,
            tokenizer.encode_batch([chunk[number] for number in having], add_special_tokens=False),
            strict=True,
        ):
            left = {word: at for word, at in wanted[number].items() if counts[word] < contexts}
            for start, found in windows(encoding, left, room).items():
                add(encoding.ids[start : start + room], found)
                counts[[word for word, *_ in found]] += 1
    if not seen:
        raise DataError(texts, "column text", "there is no text", "check its sources")
    alone = np.flatnonzero(counts == 0)
    _logger.info("%s: %d of %d words without a context", language, len(alone), len(words))
    for word, encoding in zip(
        alone.tolist(),
        tokenizer.encode_batch([words[word] for word in alone], add_special_tokens=False),
        strict=True,
    ):
        ids = encoding.ids[:room] or [unknown]
        add(ids, [(word, 0, len(ids))])
    columns = np.frombuffer(occurrences, dtype=np.int32).reshape(-1, 4).T
    save_arrays(
        output,
        {
            "input_ids": Ragged.from_rows(rows, np.int32),
            "words": np.array(words, dtype=np.str_),
            "contexts": counts,
            **dict(zip(("word", "row", "start", "end"), columns, strict=True)),
        },
        {
            "language": language,
            "texts": seen,
            "without_context": len(alone),
            "options": {"contexts": contexts, "max_length": max_length, "seed": seed},
            "tokenizer": tokenizer_digest(tokenizer_dir),
        },
    )


class _Finder:
    """Finds words in texts by their units in lower case."""

    def __init__(self, words: Sequence[str], language: str) -> None:
        self._pattern = unit_pattern(language)
        self._numbers: dict[tuple[str, ...], list[int]] = {}
        self._sizes: dict[str, set[int]] = {}
        for number, word in enumerate(words):
            units = tuple(unit.lower() for unit in self._pattern.findall(word))
            self._numbers.setdefault(units, []).append(number)
            self._sizes.setdefault(units[0], set()).add(len(units))

    def places(self, text: str, wanted: npt.NDArray[np.bool_]) -> Places:
        """Return the first place of each wanted word (bool, shape ``(words,)``) in a text."""
        # "well-known" in "So well-known": units so | well | - | known; "well" begins words of one
        # unit (well) and of three (well-known), so "well" and "well - known" are looked up.
        spans = [match.span() for match in self._pattern.finditer(text)]
        units = [text[start:end].lower() for start, end in spans]
        found: Places = {}
        for place, unit in enumerate(units):
            for size in self._sizes.get(unit, ()):
                if place + size > len(units):
                    continue
                for number in self._numbers.get(tuple(units[place : place + size]), ()):
                    if wanted[number]:
                        end = spans[place + size - 1][1]
                        found.setdefault(number, (spans[place][0], end))
        return found


def windows(
    encoding: Encoding, places: Mapping[int, tuple[int, int]], room: int
) -> dict[int, list[tuple[int, int, int]]]:
    """Cut a text into windows around words.

    Args:
        encoding: the text without special pieces.
        places: first character of each word, and one past its last.
        room: pieces in a window.

    Returns:
        By first piece of a window the words in it, each with its first piece there and one past its
        last. Words that have no piece are left out; pieces beyond the window are cut off.
    """
    # 20 pieces, room for 8: windows begin at 0, 4, 8 and 12. A word at pieces 9 and 10 would have
    # its middle 10 in the middle of a window from 6 to 14; 6 / 4 is rounded to 2: it begins at 8.
    latest, found = max(0, len(encoding) - room), dict[int, list[tuple[int, int, int]]]()
    for word, (begin, end) in places.items():
        start, final = encoding.char_to_token(begin), encoding.char_to_token(end - 1)
        if start is None or final is None:
            continue
        stop, step = final + 1, max(1, room // 2)
        window = min(max(0, round(((start + stop) / 2 - room / 2) / step)) * step, latest)
        found.setdefault(window, []).append((word, start - window, min(stop - window, room)))
    return found


def _chunks(texts: Iterator[str]) -> Iterator[list[str]]:
    while chunk := list(islice(texts, _TEXTS_AT_A_TIME)):
        yield chunk
