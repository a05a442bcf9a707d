"""Sentences of words with a tag each as token stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Encoding, Tokenizer

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.ner import entity_tags
from mbert_atlas.corpora.universal_dependencies import UPOS
from mbert_atlas.encoding.stores import (
    TaskEncoding,
    in_chunks,
    label_numbers,
    require_columns,
    row_name,
    truncating_tokenizer,
    write_store,
)
from mbert_atlas.errors import DataError

LabelledPieces = Literal["first", "non_continuation"]
NO_LABEL = -100
NO_WORD = -1


def encode_tags(
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    task: str,
    tag_column: str,
    labels: Sequence[str],
    max_length: int = 128,
    drop_unknown: bool = False,
    origin: Path | str = "examples",
    labelled_pieces: LabelledPieces = "first",
) -> None:
    """Write a table as a token store; see :func:`mbert_atlas.encoding.encode`.

    The store holds, parallel to ``input_ids``, ``labels`` (ragged int32, -100 at tokens without a
    label) and ``words`` (ragged int32: the token's word in the sentence, -1 at special tokens).
    Words that the cut at ``max_length`` removes and words without a subword are left out and
    counted; a sentence without any word left is dropped.

    The table has ``id``, ``language``, ``forms`` and the tags in ``tag_column``. In training the
    first subword of a word carries its tag, as in the code of Efimov et al. (2022), or
    (``labelled_pieces``) all that do not begin with ``##``, several where the tokenizer splits a
    word at punctuation or between Chinese characters (Tanti et al. 2021).

    Raises:
        DataError: if a column is missing, forms and tags differ in number, a tag is not in
            ``labels`` or nothing is left.
    """
    require_columns(table, ["id", "language", "forms", tag_column], origin)
    tags = tag_numbers(table, tag_column, labels, origin)
    tokenizer, unknown = truncating_tokenizer(tokenizer_dir, max_length)
    labelled_ids = _labelled_ids(tokenizer, labelled_pieces, tokenizer_dir)
    dropped: Counter[str] = Counter()
    kept: list[int] = []
    arrays: dict[str, list[npt.NDArray[Any]]] = {"input_ids": [], "labels": [], "words": []}
    for row, encoding in encoded_words(table, tokenizer, f"encoding {Path(output).name}"):
        ids = np.array(encoding.ids, dtype=np.int32)
        words = np.array([NO_WORD if n is None else n for n in encoding.word_ids], np.int32)
        seen = np.unique(words[words != NO_WORD])
        count_lost_words(dropped, seen, len(tags[row]), bool(encoding.overflowing))
        if drop_unknown and unknown in encoding.ids:
            dropped["sentence_with_unknown_piece"] += 1
        elif len(seen) == 0:
            dropped["sentence_without_words"] += 1
        else:
            kept.append(row)
            arrays["input_ids"].append(ids)
            arrays["labels"].append(_subword_labels(tags[row], words, labelled_ids[ids]))
            arrays["words"].append(words)
    options = {
        "max_length": max_length,
        "drop_unknown": drop_unknown,
        "labelled_pieces": labelled_pieces,
    }
    ragged = {name: Ragged.from_rows(rows, np.int32) for name, rows in arrays.items()}
    where = (tokenizer_dir, output)
    write_store(task, table, kept, ragged, *where, labels=labels, options=options, dropped=dropped)


def encoded_words(
    table: pa.Table, tokenizer: Tokenizer, description: str
) -> Iterator[tuple[int, Encoding]]:
    """Yield the number and the tokens of every row, with the word of ``forms`` of each token."""
    for first_row, part in in_chunks(table, description):
        forms = part.column("forms").to_pylist()
        yield from enumerate(tokenizer.encode_batch(forms, is_pretokenized=True), first_row)


def _subword_labels(
    tags: npt.NDArray[np.int32], words: npt.NDArray[np.int32], is_labelled: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int32]:
    # words of the subwords   -1  0  0  1  -1   with the tags 7 and 4 of words 0 and 1
    # first of its word        1  1  0  1   1   (or is_labelled)
    # labels                -100  7  -100  4  -100
    begins = np.concatenate([[True], words[1:] != words[:-1]])
    return np.where((words != NO_WORD) & (begins | is_labelled), tags[words], NO_LABEL)


def tag_numbers(
    table: pa.Table, tag_column: str, labels: Sequence[str], origin: Path | str
) -> Ragged:
    """Return the number of each word's tag, int32.

    Raises:
        DataError: if forms and tags differ in number or a tag is not in ``labels``.
    """
    column = column_of_words(table, tag_column, "tags", origin)

    def place(number: int) -> str:
        return row_name(table, pc.list_parent_indices(column)[number].as_py())

    numbers = label_numbers(pc.list_flatten(column), labels, place, origin)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    return Ragged(numbers, offsets_of(lengths))


def column_of_words(table: pa.Table, name: str, what: str, origin: Path | str) -> pa.ListArray:
    """Return a column that has one entry per word of ``forms``.

    Raises:
        DataError: if a sentence has more or fewer; the message names ``what`` they are.
    """
    forms, column = (table.column(key).combine_chunks() for key in ("forms", name))
    unequal = pc.not_equal(pc.list_value_length(forms), pc.list_value_length(column))
    if (row := pc.index(unequal, True).as_py()) >= 0:
        raise DataError(
            origin,
            row_name(table, row),
            f"{len(forms[row])} words but {len(column[row])} {what}",
            "remake the table",
        )
    return column


def _labelled_ids(
    tokenizer: Tokenizer, labelled_pieces: LabelledPieces, tokenizer_dir: Path | str
) -> npt.NDArray[np.bool_]:
    """Return which ids are labelled where they do not begin a word, shape ``(vocabulary,)``."""
    if labelled_pieces == "first":
        return np.zeros(tokenizer.get_vocab_size(), dtype=np.bool_)
    return ~continuation_ids(tokenizer, tokenizer_dir)


def continuation_ids(tokenizer: Tokenizer, tokenizer_dir: Path | str) -> npt.NDArray[np.bool_]:
    """Return which subwords continue a word, shape ``(vocabulary,)``.

    WordPiece marks them by ``##``; SentencePiece marks the others by U+2581.

    Raises:
        DataError: if there is neither mark, as the tokenizer marks continuation in another way.
    """
    subwords = [tokenizer.id_to_token(n) or "" for n in range(tokenizer.get_vocab_size())]
    continuation = np.array([subword.startswith("##") for subword in subwords])
    begins = np.array([subword.startswith("\u2581") for subword in subwords])
    if begins.any():
        return ~begins
    if not continuation.any():
        raise DataError(
            tokenizer_dir,
            "tokenizer.json",
            "no subword begins with ## or U+2581, which would mark whether it continues a word",
            "label the first subword of each word, or whole texts, or take another tokenizer",
        )
    return continuation


def count_lost_words(
    dropped: Counter[str], seen: npt.NDArray[np.int32], words: int, cut: bool
) -> None:
    """Count the words of a sentence without a subword, and those after the cut."""
    behind = words - (int(seen[-1]) + 1 if len(seen) else 0) if cut else 0
    dropped["words_behind_cut"] += behind
    dropped["words_without_pieces"] += words - behind - len(seen)


TAGGING = TaskEncoding(
    partial(encode_tags, task="tagging", tag_column="upos"), lambda table, languages: sorted(UPOS)
)
NER = TaskEncoding(
    partial(encode_tags, task="ner", tag_column="ner_tags"),
    lambda table, languages: entity_tags(table),
)
