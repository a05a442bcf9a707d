"""Contexts of a dictionary's words in running text: rows of token ids, and the words in them.

The vector of a word type averages over its contexts (Liu et al. 2020, section 3.1.1): the first
texts that contain it, in random order, each with the word's first place in it. A word without a
context has one occurrence: itself between the special tokens.

Words are compared in lower case, as in MUSE, and matched as whole units of
:func:`mbert_atlas.corpora.words.unit_pattern`: "well-known" is three units in a row and contains
"well". Chinese, Japanese and Thai have no blanks: units are characters, and longer words contain
shorter ones.

The store has ``input_ids`` (ragged int32, ``[CLS] tokens [SEP]``), ``words`` (strings, each once),
``contexts`` (int64, contexts of each word); and of each occurrence ``word`` and ``row`` (int32,
places in these), ``start`` and ``end`` (int32, its tokens in the row).
"""

import logging
from array import array
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

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
_SEED = 0
"""Decides the order of the texts."""
Places = dict[int, tuple[int, int]]
"""By word its first character in a text and one past its last."""
Occurrence = tuple[int, int, int]
"""A word, its first token in a row, and one past its last."""


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
) -> None:
    """Find words in texts and encode their contexts.

    Words are those on a side of all the dictionaries (``schemas.DICTIONARY``). At most ``searched``
    texts (Parquet with a column ``text``) are searched for at most so many contexts of each. A row
    has at most ``max_length`` tokens, special ones included: longer texts are cut into windows that
    overlap by half; a word belongs to the window whose middle is nearest. Raises a DataError if
    there is no text.
    """
    words = words_of(dictionaries, side)
    rows = _Contexts(words, language, tokenizer_dir, contexts, max_length - 2)
    read = 0
    order = islice(shuffled_texts(texts, _SEED, language), searched)
    chunks = iter(lambda: list(islice(order, _TEXTS_AT_A_TIME)), [])
    for chunk in track(chunks, f"texts in {language} by {_TEXTS_AT_A_TIME}"):
        read += len(chunk)
        rows.search(chunk)
    if not read:
        raise DataError(texts, "column text", "there is no text", "check its sources")
    alone = rows.add_words_without_context()
    _logger.info("%s: %d of %d words without a context", language, alone, len(words))
    meta = {"language": language, "tokenizer": tokenizer_digest(tokenizer_dir)}
    save_arrays(output, rows.arrays(), meta)


class _Contexts:
    """Rows of at most ``room`` tokens, special ones left out, and the words in them."""

    def __init__(
        self, words: Sequence[str], language: str, folder: Path, maximum: int, room: int
    ) -> None:
        self._words, self._finder = words, _Finder(words, language)
        self._tokenizer = open_tokenizer(folder)
        self._unknown, self._first, self._last = (
            special_id(self._tokenizer, token, folder) for token in ("[UNK]", "[CLS]", "[SEP]")
        )
        self._maximum, self._room = maximum, room
        self._counts = np.zeros(len(words), dtype=np.int64)
        self._rows = list[npt.NDArray[np.int32]]()
        self._occurrences = array("i")

    def search(self, texts: Sequence[str]) -> None:
        """Add contexts of words that have too few."""
        is_sought = self._counts < self._maximum
        places = [self._finder.places(text, is_sought) for text in texts]
        having = [number for number, words in enumerate(places) if words]
        for number, encoding in zip(having, self._encode(texts, having), strict=True):
            # A word may have reached its maximum in an earlier text of these.
            items = places[number].items()
            lacking = {word: at for word, at in items if self._counts[word] < self._maximum}
            for start, words in _windows(encoding, lacking, self._room).items():
                self._add(encoding.ids[start : start + self._room], words)
                self._counts[[word for word, *_ in words]] += 1

    def add_words_without_context(self) -> int:
        """Add words without a context by themselves; return their number."""
        alone = np.flatnonzero(self._counts == 0).tolist()
        for word, encoding in zip(alone, self._encode(self._words, alone), strict=True):
            ids = encoding.ids[: self._room] or [self._unknown]
            self._add(ids, [(word, 0, len(ids))])
        return len(alone)

    def arrays(self) -> dict[str, Ragged | npt.NDArray[Any]]:
        """Return the arrays of the store."""
        columns = np.frombuffer(self._occurrences, dtype=np.int32).reshape(-1, 4).T
        return {
            "input_ids": Ragged.from_rows(self._rows, np.int32),
            "words": np.array(self._words, dtype=np.str_),
            "contexts": self._counts,
            **dict(zip(("word", "row", "start", "end"), columns, strict=True)),
        }

    def _encode(self, texts: Sequence[str], numbers: Sequence[int]) -> list[Encoding]:
        chosen = [texts[number] for number in numbers]
        return list(self._tokenizer.encode_batch(chosen, add_special_tokens=False))

    def _add(self, ids: Sequence[int], words: Sequence[Occurrence]) -> None:
        """Keep a row, passed without special tokens, and the words in it."""
        for word, start, end in words:
            self._occurrences.extend((word, len(self._rows), 1 + start, 1 + end))
        self._rows.append(np.array([self._first, *ids, self._last], dtype=np.int32))


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

    def places(self, text: str, is_sought: npt.NDArray[np.bool_]) -> Places:
        """Return the first place of each sought word (bool, shape ``(words,)``) in a text."""
        # "well-known" in "So well-known": units so | well | - | known; "well" begins words of one
        # unit (well) and of three (well-known), so "well" and "well - known" are looked up.
        spans = [match.span() for match in self._pattern.finditer(text)]
        units = [text[start:end].lower() for start, end in spans]
        places: Places = {}
        for place, unit in enumerate(units):
            for size in self._sizes.get(unit, ()):
                if place + size > len(units):
                    continue
                for number in self._numbers.get(tuple(units[place : place + size]), ()):
                    if is_sought[number]:
                        end = spans[place + size - 1][1]
                        places.setdefault(number, (spans[place][0], end))
        return places


def _windows(encoding: Encoding, places: Places, room: int) -> dict[int, list[Occurrence]]:
    """Cut a text into windows of ``room`` tokens around words; return these by a window's start.

    Words without a token are left out; tokens beyond the window are cut off.
    """
    # 20 tokens, room for 8: windows begin at 0, 4, 8 and 12. A word at tokens 9 and 10 would have
    # its middle 10 in the middle of a window from 6 to 14; 6 / 4 is rounded to 2: it begins at 8.
    latest, words = max(0, len(encoding) - room), dict[int, list[Occurrence]]()
    for word, (begin, end) in places.items():
        start, final = encoding.char_to_token(begin), encoding.char_to_token(end - 1)
        if start is None or final is None:
            continue
        stop, step = final + 1, max(1, room // 2)
        window = min(max(0, round(((start + stop) / 2 - room / 2) / step)) * step, latest)
        words.setdefault(window, []).append((word, start - window, min(stop - window, room)))
    return words
