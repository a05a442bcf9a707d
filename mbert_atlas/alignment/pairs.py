"""Word pairs: the links that adjustment and analysis use, and the subwords of their words."""

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from mbert_atlas.alignment.links import Links, read_pharaoh
from mbert_atlas.arrays import Ragged, offsets_of, save_arrays
from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import DerivingJob
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import BITEXT, WORD_PAIRS
from mbert_atlas.tokenizer import open_tokenizer, prefixed, tokenizer_digest, word_prefix

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
_SIDES = ("source", "target")
_BATCH = 2048


def word_pairs(
    bitext: Path | str,
    pharaoh: Path | str,
    card: Path | str,
    *,
    held_out: int,
    seed: int,
    language: str,
    maximum_words: int = 64,
) -> tuple[pa.Table, pa.Table]:
    """Select word pairs as the loader of Efimov et al. (2022, from Cao et al. 2020) does.

    Sentences with more than ``maximum_words`` on a side, links of words that have several, and
    links of words with the same spelling are dropped. ``bitext`` has the schema ``BITEXT``, its
    links in ``pharaoh`` are line-parallel. Returns two tables of ``WORD_PAIRS``, which the dataset
    ``card`` describes: for adjustment, also with sentences without a pair; and ``held_out`` other
    sentences, with pairs.

    Raises DataError if at most ``held_out`` sentences have a pair.
    """
    table = read_parquet(bitext, BITEXT)
    links = read_pharaoh(pharaoh)
    kept, usable, dropped = selected(table, links, maximum_words)
    pairs = np.bincount(kept.row, minlength=len(table))
    with_pairs = np.flatnonzero(pairs)
    if len(with_pairs) <= held_out:
        raise _too_few(pharaoh, len(with_pairs), held_out)
    apart = np.sort(generator(seed, "held out").choice(with_pairs, held_out, replace=False))
    rows = np.setdiff1d(np.flatnonzero(usable), apart)
    counts = {
        "sentences read": len(table),
        "links read": len(links),
        "sentences": len(rows),
        "sentences with pairs": len(with_pairs) - len(apart),
        "pairs": int(pairs[rows].sum()),
        "held-out sentences": len(apart),
        "held-out pairs": int(pairs[apart].sum()),
    }
    Card("word pairs", language, Counter(counts), Counter(dropped)).write(card, [bitext, pharaoh])
    return _select(table, kept, rows), _select(table, kept, apart)


def selected(
    table: pa.Table, links: Links, maximum_words: int
) -> tuple[Links, BoolArray, dict[str, int]]:
    """Return the links that :func:`word_pairs` keeps, and what it drops.

    ``table`` has the columns ``source_tokens`` and ``target_tokens``. Also returns which sentences
    may have links, bool, ``(sentences,)``, and counts of what is dropped, by reason.
    """
    words, lengths = zip(*(_flat(table[f"{side}_tokens"]) for side in _SIDES), strict=True)
    long = np.maximum(*lengths) > maximum_words
    empty = (np.minimum(*lengths) == 0) & ~long
    inside = ~(long | empty)[links.row]
    # Sentences of 2 and 3 source words: word 1 of the second has place 2 + 1 among all words. With
    # the links 0-0 0-1 of the first and 1-0 of the second, source places are 0 0 3: 0 has several.
    one = offsets_of(lengths[0])[links.row] + links.source
    two = offsets_of(lengths[1])[links.row] + links.target
    several = (np.bincount(one)[one] > 1) | (np.bincount(two)[two] > 1)
    same = pc.equal(words[0].take(pa.array(one)), words[1].take(pa.array(two)))
    identical = same.to_numpy(zero_copy_only=False) & ~several
    dropped = {
        f"sentences longer than {maximum_words} words": long,
        "sentences with an empty side": empty,
        "links in dropped sentences": ~inside,
        "links of words with several links": several & inside,
        "links of words with the same spelling": identical & inside,
    }
    counts = {reason: int(np.count_nonzero(which)) for reason, which in dropped.items()}
    return links.take(~(several | identical) & inside), ~(long | empty), counts


def _too_few(origin: Path | str, sentences: int = 0, held_out: int = 0) -> DataError:
    problem = "no aligned word pair is left"
    if sentences:
        problem = f"only {sentences} sentences have an aligned word pair, {held_out} are held out"
    return DataError(origin, "", problem, "take more sentences or loosen the filters")


def _select(table: pa.Table, links: Links, rows: IntArray) -> pa.Table:
    """Return ``rows`` of a bitext with their links (sorted by row) as ``WORD_PAIRS``."""
    begins = np.searchsorted(links.row, np.arange(links.rows + 1))
    chosen = table.take(pa.array(rows))
    columns: dict[str, Any] = {name: chosen[name] for name in WORD_PAIRS.names[:3]}
    for name, word in (("source_index", links.source), ("target_index", links.target)):
        index = Ragged(word, begins).take(rows)
        offsets, values = pa.array(index.offsets, pa.int32()), pa.array(index.values, pa.int16())
        columns[name] = pa.ListArray.from_arrays(offsets, values)
    return pa.table(columns, schema=WORD_PAIRS)


def encode_word_pairs(
    rows: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    maximum_length: int = 512,
    units: Literal["words", "subwords"] = "words",
) -> None:
    """Tokenise rows of ``WORD_PAIRS`` and write a token store, row by row parallel to them.

    ``units`` are words to tokenise, or subwords of this tokenizer (see :func:`derive_subwords`),
    which are looked up, as ``##ing`` would be split at its signs. Ragged int32 arrays of the store,
    for each side (``source``, ``target``): ``<side>_ids``, from [CLS] to [SEP], truncated to
    ``maximum_length``; ``<side>_word_start`` and ``<side>_word_end``, the positions [start, end) of
    each word (0, 0 if it has no tokens or is cut); ``<side>_pairs``, the words of each pair.

    Raises DataError if the tokenizer cannot be used, no pair is left, or it lacks a subword.
    """
    tokenizer = load_word_tokenizer(tokenizer_dir)
    prefix = word_prefix(tokenizer, tokenizer_dir) if units == "words" else ""
    if units == "subwords":
        tokenizer = _lookup(tokenizer, rows)
    arrays: dict[str, Ragged] = {}
    indices = [_flat(rows[f"{side}_index"]) for side in _SIDES]
    gone = cut = np.zeros(len(indices[0][0]), dtype=np.bool_)
    for side, (index, count) in zip(_SIDES, indices, strict=True):
        tokens = tokenise_words(tokenizer, rows[f"{side}_tokens"], side, prefix)
        ids, start, end, vanished = _spans(*tokens, maximum_length)
        word = np.repeat(start.offsets[:-1], count) + index.to_numpy().astype(np.int64)
        arrays |= {f"{side}_ids": ids, f"{side}_word_start": start, f"{side}_word_end": end}
        gone, cut = gone | vanished[word], cut | (end.values == 0)[word]
    if cut.all():
        raise _too_few(output)
    for side, (index, count) in zip(_SIDES, indices, strict=True):
        kept = index.to_numpy().astype(np.int32)[~cut]
        arrays[f"{side}_pairs"] = Ragged(kept, offsets_of(~cut)[offsets_of(count)])
    pairs = arrays["source_pairs"]
    meta = {
        "tokenizer_sha256": tokenizer_digest(tokenizer_dir),
        "maximum_length": maximum_length,
        "units": units,
        "counts": {
            "sentences": len(pairs),
            "sentences with pairs": int(np.count_nonzero(pairs.lengths)),
            "pairs": len(pairs.values),
            "source tokens": len(arrays["source_ids"].values),
            "target tokens": len(arrays["target_ids"].values),
        },
        "dropped": {
            "pairs of words without tokens": int(gone.sum()),
            "pairs of words beyond maximum_length": int((cut & ~gone).sum()),
        },
    }
    save_arrays(output, arrays, meta)


def derive_subwords(job: DerivingJob) -> None:
    """Split the words of a bitext into subwords, each of which is a "word" of the new bitext.

    For the subword alignment of Efimov et al. (2022, Table 6).
    :func:`encode_word_pairs` then needs ``units="subwords"``.

    Raises DataError if the bitext or the tokenizer cannot be used.
    """
    assert job.tokenizer is not None
    table = read_parquet(job.tables[0], BITEXT)
    tokenizer = load_word_tokenizer(job.tokenizer)
    prefix = word_prefix(tokenizer, job.tokenizer)
    numbers = range(tokenizer.get_vocab_size())
    vocabulary = pa.array(map(tokenizer.id_to_token, numbers), pa.string())
    columns: dict[str, Any] = {name: table[name] for name in ("id", "score")}
    for side in _SIDES:
        ids, words, _ = tokenise_words(tokenizer, table[f"{side}_tokens"], side, prefix)
        # A row's subwords without [CLS] and [SEP], which belong to no word.
        columns[f"{side}_tokens"] = pa.ListArray.from_arrays(
            pa.array(offsets_of(words >= 0)[ids.offsets], pa.int32()),
            vocabulary.take(pa.array(ids.values[words >= 0])),
        )
    write_parquet(pa.table(columns, schema=BITEXT), job.output)


def _flat(column: pa.ChunkedArray) -> tuple[pa.Array, IntArray]:
    """Return the values of a list column, and the length of each row's list."""
    lists = column.combine_chunks()
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
    return lists.flatten(), lengths


def load_word_tokenizer(folder: Path | str) -> Tokenizer:
    """Open a tokenizer for sentences split into words, without truncation or padding.

    Raises DataError if it is missing, unreadable or not one that frames a sentence by two tokens.
    """
    tokenizer = open_tokenizer(folder)
    if len(tokenizer.encode([], is_pretokenized=True).ids) != 2:
        path, fix = Path(folder) / "tokenizer.json", "use the tokenizer of a BERT model"
        problem = "does not put one token before and one after a sentence"
        raise DataError(path, "key post_processor", problem, fix)
    return tokenizer


def tokenise_words(
    tokenizer: Tokenizer, column: pa.ChunkedArray, side: str, prefix: str = ""
) -> tuple[Ragged, npt.NDArray[np.int32], IntArray]:
    """Tokenise a column of lists of words; ``side`` is for the progress line.

    For the ``prefix`` see :func:`mbert_atlas.tokenizer.prefixed`.

    Returns token ids with specials, int32, by sentence; each token's word in its sentence (-1 for
    specials), int32, flat; and words per sentence, int64.
    """
    ids, words = list[npt.NDArray[np.int32]](), [np.empty(0, np.int32)]
    for begin in track(range(0, len(column), _BATCH), f"tokenising {side} words"):
        sentences = prefixed(column.slice(begin, _BATCH).to_pylist(), prefix)
        for encoding in tokenizer.encode_batch(sentences, is_pretokenized=True):
            ids.append(np.array(encoding.ids, np.int32))
            numbers = (-1 if word is None else word for word in encoding.word_ids)
            words.append(np.fromiter(numbers, np.int32))
    return Ragged.from_rows(ids, np.int32), np.concatenate(words), _flat(column)[1]


def _lookup(tokenizer: Tokenizer, rows: pa.Table) -> Tokenizer:
    """Return a tokenizer whose words are the subwords of another one, which ``rows`` consist of."""
    numbers = tokenizer.get_vocab(with_added_tokens=True)
    for side in _SIDES:
        for token in pc.unique(_flat(rows[f"{side}_tokens"])[0]).to_pylist():
            if token not in numbers:
                place, problem = f"{side} subword {token!r}", "the tokenizer has no such subword"
                fix = "split the bitext with the tokenizer of this encoder"
                raise DataError("word pairs", place, problem, fix)
    lookup = Tokenizer(WordLevel(numbers))
    lookup.post_processor = tokenizer.post_processor
    return lookup


def _spans(
    tokens: Ragged, words: npt.NDArray[np.int32], lengths: IntArray, maximum_length: int
) -> tuple[Ragged, Ragged, Ragged, BoolArray]:
    """Return truncated ids, each word's first token and end (0: cut off), which words vanished."""
    sentence = np.repeat(np.arange(len(tokens)), tokens.lengths)
    position = np.arange(len(sentence)) - tokens.offsets[sentence]
    first_word = offsets_of(lengths)
    inside = words >= 0
    word = first_word[sentence[inside]] + words[inside]
    # Tokens      [CLS] a  ##b c [SEP]   their words      -1  0  0  1  -1
    # positions   0     1  2   3 4       starts 1 3, ends 3 4: word 0 has the tokens [1, 3).
    # A word's tokens are consecutive, so the last write of its end is that of its last token.
    start, end = np.zeros((2, int(first_word[-1])), dtype=np.int32)
    end[word] = position[inside] + 1
    start[word[::-1]] = position[inside][::-1]
    vanished = end == 0
    cut = end > maximum_length - 1
    start[cut] = end[cut] = 0
    last = tokens.lengths[sentence] - 1
    kept = (position < maximum_length - 1) | (position == last)
    ids = Ragged(tokens.values[kept], offsets_of(np.minimum(tokens.lengths, maximum_length)))
    return ids, Ragged(start, first_word), Ragged(end, first_word), vanished
