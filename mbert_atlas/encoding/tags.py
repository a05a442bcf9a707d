"""Sentences of words, with a tag each or a dependency tree, as token stores."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.corpora.ner import entity_tags
from mbert_atlas.corpora.universal_dependencies import RELATIONS, UPOS
from mbert_atlas.encoding.stores import Encoded, Examples, TaskEncoding, in_chunks
from mbert_atlas.errors import DataError
from mbert_atlas.tokenizer import prefixed, word_prefix

Ints = npt.NDArray[np.int32]
NO_LABEL = -100
NO_WORD = -1
NO_PIECE = -1
WORD_BOUNDARY = "\u2581"  # SentencePiece's symbol at the beginning of words, U+2581


def encode_tags(
    examples: Examples,
    *,
    tag_column: str,
    labelled_pieces: Literal["first", "non_continuation"] = "first",
) -> Encoded:
    """Encode sentences (``forms``, and tags in ``tag_column``).

    The store holds, parallel to ``input_ids``, ``labels`` (ragged int32, -100 at tokens without a
    label) and ``words`` (ragged int32: the token's word in the sentence, -1 at special tokens).
    Words after the cut at ``max_length`` and words without a subword are left out and counted; a
    sentence without any word left is dropped. Labelled are the first subword of each word (code of
    Efimov et al. 2022) or all that do not begin with ``##`` (Tanti et al. 2021): several in a word
    with punctuation or Chinese characters.

    Raises a DataError if forms and tags differ in number.
    """
    examples.require_columns("id", "language", "forms", tag_column)
    column = _column_of_words(examples, tag_column, "tags")
    tags = _tag_numbers(examples, column, column.flatten())
    tokenizer, unknown = examples.truncating_tokenizer()
    labelled = np.zeros(tokenizer.get_vocab_size(), dtype=np.bool_)
    if labelled_pieces == "non_continuation":
        labelled = ~continuation_ids(tokenizer, examples.tokenizer_dir)
    dropped: Counter[str] = Counter()
    kept: list[int] = []
    arrays: dict[str, list[Ints]] = {"input_ids": [], "labels": [], "words": []}
    sentences = _encoded_sentences(examples, tokenizer, unknown, tags.lengths, dropped)
    for row, ids, words, first_pieces in sentences:
        if (first_pieces == NO_PIECE).all():
            dropped["sentence_without_words"] += 1
        else:
            kept.append(row)
            arrays["input_ids"].append(ids)
            arrays["labels"].append(_subword_labels(tags[row], words, labelled[ids]))
            arrays["words"].append(words)
    ragged = {name: Ragged.from_rows(rows, np.int32) for name, rows in arrays.items()}
    options = {"labelled_pieces": labelled_pieces} | _lone_symbols(tokenizer)
    return Encoded(kept, ragged, dropped, options)


def encode_trees(examples: Examples) -> Encoded:
    """Encode sentences with dependency trees (``forms``, ``heads``, ``deprels``).

    Per sentence the store holds ``input_ids`` (ragged int32) and, parallel to all of its words,
    ``first_pieces`` (ragged int32: place of the word's first subword among ``input_ids``, -1 where
    it has none), ``heads`` (ragged int32: 1-based, 0 for the root) and ``labels`` (ragged int32:
    number of the relation's universal part, as in the official scores: ``nmod:poss`` is ``nmod``).
    Under a tokenizer that splits ``dogs`` and drops U+200B, with a cut at six tokens::

        forms            input_ids                   first_pieces  heads    labels
        dogs sees a cat  [CLS] dog ##s sees a [SEP]  1 3 4 -1      2 0 4 2  nsubj root det obj
        U+200B cats      [CLS] cat ##s [SEP]         -1 1          2 0      dep root
        the dog          [CLS] the dog [SEP]         1 2           2 0      det root

    Words without a subword stay, to be scored as wrong. The head of ``a`` was cut off: that arc is
    not trained on, but it counts in the scores.

    Raises a DataError if forms, heads and relations differ in number.
    """
    examples.require_columns("id", "language", "forms", "heads", "deprels")
    relations = _column_of_words(examples, "deprels", "relations")
    universal = pc.replace_substring_regex(relations.flatten(), ":.*", "")
    numbers = _tag_numbers(examples, relations, universal)
    heads = _column_of_words(examples, "heads", "heads").flatten().to_numpy(zero_copy_only=False)
    tokenizer, unknown = examples.truncating_tokenizer()
    dropped: Counter[str] = Counter()
    rows = list(_encoded_sentences(examples, tokenizer, unknown, numbers.lengths, dropped))
    kept = [row for row, *_ in rows]
    arrays = {
        "input_ids": Ragged.from_rows((ids for _, ids, *_ in rows), np.int32),
        "first_pieces": Ragged.from_rows((first for *_, first in rows), np.int32),
        "heads": Ragged(heads.astype(np.int32), numbers.offsets).take(np.array(kept, np.int64)),
        "labels": numbers.take(np.array(kept, np.int64)),
    }
    return Encoded(kept, arrays, dropped, _lone_symbols(tokenizer))


def _encoded_sentences(
    examples: Examples,
    tokenizer: Tokenizer,
    unknown: int,
    lengths: npt.NDArray[np.int64],
    dropped: Counter[str],
) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """Yield rows that are not dropped for [UNK]; count the words that have no token.

    They are: its number, token ids, the word of each token, and the first token of each of its
    words, as many as in ``lengths``; -1 for none.
    """
    prefix = word_prefix(tokenizer, examples.tokenizer_dir)
    for first_row, part in in_chunks(examples.table, examples.title):
        forms = part.column("forms").to_pylist()
        encodings = tokenizer.encode_batch(prefixed(forms, prefix), is_pretokenized=True)
        for row, encoding in enumerate(encodings, first_row):
            words = np.array([NO_WORD if n is None else n for n in encoding.word_ids], np.int32)
            seen, places = np.unique(words, return_index=True)
            seen, places = seen[seen != NO_WORD], places[seen != NO_WORD]
            first_pieces = np.full(lengths[row], NO_PIECE, np.int32)
            first_pieces[seen] = places
            last = seen.max(initial=-1) if encoding.overflowing else len(first_pieces) - 1
            behind = len(first_pieces) - 1 - int(last)
            dropped["words_behind_cut"] += behind
            dropped["words_without_pieces"] += len(first_pieces) - behind - len(seen)
            if examples.drop_unknown and unknown in encoding.ids:
                dropped["sentence_with_unknown_piece"] += 1
            else:
                yield row, np.array(encoding.ids, np.int32), words, first_pieces


def _subword_labels(tags: Ints, words: Ints, is_labelled: npt.NDArray[np.bool_]) -> Ints:
    # words of the subwords   -1  0  0  1  -1   with the tags 7 and 4 of words 0 and 1
    # first of its word        1  1  0  1   1   (or is_labelled)
    # labels                -100  7  -100  4  -100
    begins = np.concatenate([[True], words[1:] != words[:-1]])
    return np.where((words != NO_WORD) & (begins | is_labelled), tags[words], NO_LABEL)


def _tag_numbers(examples: Examples, column: pa.ListArray, tags: pa.Array) -> Ragged:
    """Return the number of each word's tag, int32; ``tags`` are those of a column, flat."""
    rows = pc.list_parent_indices(column)
    numbers = examples.label_numbers(tags, lambda number: rows[number].as_py())
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    return Ragged(numbers, offsets_of(lengths))


def _column_of_words(examples: Examples, name: str, what: str) -> pa.ListArray:
    """Return a column that has one entry per word of ``forms``; ``what`` they are."""
    forms, column = (examples.table.column(key).combine_chunks() for key in ("forms", name))
    unequal = pc.not_equal(pc.list_value_length(forms), pc.list_value_length(column))
    if (row := pc.index(unequal, True).as_py()) >= 0:
        raise examples.error(row, f"{len(forms[row])} words but {len(column[row])} {what}")
    return column


def _lone_symbols(tokenizer: Tokenizer) -> dict[str, list[int]]:
    """Return the ids of subwords without characters, if any; see the module ``lone_symbols``."""
    symbol = tokenizer.token_to_id(WORD_BOUNDARY)
    return {} if symbol is None else {"lone_symbols": [symbol]}


def _marks_first_words(tokenizer: Tokenizer, subwords: Sequence[str]) -> bool:
    """Return whether U+2581 is also at the first word of a text, unlike in Gemma's tokenizer."""
    words = (word for word in subwords if word.startswith(WORD_BOUNDARY) and len(word) > 3)
    text = next(words, WORD_BOUNDARY).removeprefix(WORD_BOUNDARY) or "a"
    first = tokenizer.encode(text, add_special_tokens=False).tokens[:1]
    return bool(first) and first[0].startswith(WORD_BOUNDARY)


def continuation_ids(tokenizer: Tokenizer, tokenizer_dir: Path | str) -> npt.NDArray[np.bool_]:
    """Return which subwords continue a word, shape ``(vocabulary,)``.

    WordPiece marks them by ``##``, SentencePiece the others by U+2581. Raises a DataError if there
    is neither mark, or the first word of a text has none.
    """
    subwords = [tokenizer.id_to_token(n) or "" for n in range(tokenizer.get_vocab_size())]
    continuation = np.array([subword.startswith("##") for subword in subwords])
    begins = np.array([subword.startswith(WORD_BOUNDARY) for subword in subwords])
    if begins.any() and _marks_first_words(tokenizer, subwords):
        return ~begins
    if not continuation.any():
        problem = "not all words have ## or U+2581, the marks of whether a subword continues one"
        fix = "label the first subword of each word, or whole texts, or take another tokenizer"
        raise DataError(tokenizer_dir, "tokenizer.json", problem, fix)
    return continuation


TAGGING = TaskEncoding(
    partial(encode_tags, tag_column="upos"), lambda table, languages: sorted(UPOS)
)
NER = TaskEncoding(
    partial(encode_tags, tag_column="ner_tags"), lambda table, languages: entity_tags(table)
)
PARSING = TaskEncoding(encode_trees, lambda table, languages: RELATIONS)
