"""Tagging of words given as such: universal parts of speech; subclasses name other tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import TAG_PREDICTIONS
from mbert_atlas.tasks.base import (
    NO_LABEL,
    Batch,
    EncodedExamples,
    Indices,
    Task,
    in_chunks,
    label_numbers,
    require_columns,
    row_name,
    write_store,
)

LabelledPieces = Literal["first", "non_continuation", "all"]
NO_WORD = -1


class Tagging(Task):
    """A tag for every word of a sentence (schemas.SENTENCES)."""

    name = "tagging"
    unit = "token"
    prediction_schema = TAG_PREDICTIONS
    tag_column = "upos"

    def encode(
        self,
        table: pa.Table,
        tokenizer_dir: Path | str,
        output: Path | str,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        drop_unknown: bool = False,
        origin: Path | str = "examples",
        labelled_pieces: LabelledPieces = "first",
    ) -> None:
        """Write a table as a token store; see :meth:`Task.encode`.

        The store holds, parallel to ``input_ids``, ``labels`` (ragged int32, -100 at pieces without
        a label) and ``words`` (ragged int32: the piece's word in the sentence, -1 at special
        pieces). Words that the cut at ``max_length`` removes and words that the tokenizer gives no
        piece are left out and counted; a sentence without any word left is dropped.

        Args:
            table: sentences with ``id``, ``language``, ``forms`` and the tags (``tag_column``).
            tokenizer_dir: folder of the fast tokenizer.
            output: the store's folder.
            labels: the tags, in the order of the model's outputs.
            max_length: most pieces of a sentence, special ones included; the rest is cut.
            drop_unknown: leave out sentences with [UNK].
            origin: where the table comes from, for messages.
            labelled_pieces: pieces of a word that carry its tag in training: the first; all that do
                not begin with ``##``, which are several where the tokenizer splits a word at
                punctuation or between Chinese characters (tanti2021); or all.

        Raises:
            DataError: if a column is missing, forms and tags differ in number, a tag is not in
                ``labels`` or nothing is left.
        """
        require_columns(table, ["id", "language", "forms", self.tag_column], origin)
        tags = self._tag_numbers(table, labels, origin)
        tokenizer = load_tokenizer(tokenizer_dir)
        labelled_ids = _labelled_ids(tokenizer, labelled_pieces, tokenizer_dir)

        dropped: Counter[str] = Counter()
        kept: list[int] = []
        arrays: dict[str, list[npt.NDArray[Any]]] = {"input_ids": [], "labels": [], "words": []}
        for first_row, part in in_chunks(table, f"encoding {Path(output).name}"):
            encoded = tokenizer(
                part.column("forms").to_pylist(),
                is_split_into_words=True,
                truncation=True,
                max_length=max_length,
                return_token_type_ids=False,
                return_attention_mask=False,
            )
            for place, encoding in enumerate(encoded.encodings):
                row = first_row + place
                ids = np.array(encoding.ids, dtype=np.int32)
                words = np.array(
                    [NO_WORD if word is None else word for word in encoding.word_ids], np.int32
                )
                seen = np.unique(words[words != NO_WORD])
                cut = bool(encoding.overflowing)
                _count_lost_words(dropped, seen, len(tags[row]), cut)
                if drop_unknown and tokenizer.unk_token_id in encoding.ids:
                    dropped["sentence_with_unknown_piece"] += 1
                elif len(seen) == 0:
                    dropped["sentence_without_words"] += 1
                else:
                    begins = np.concatenate([[True], words[1:] != words[:-1]])
                    labelled = (words != NO_WORD) & (begins | labelled_ids[ids])
                    kept.append(row)
                    arrays["input_ids"].append(ids)
                    arrays["labels"].append(np.where(labelled, tags[row][words], NO_LABEL))
                    arrays["words"].append(words)
        write_store(
            self.name,
            table,
            kept,
            {name: Ragged.from_rows(rows, np.int32) for name, rows in arrays.items()},
            tokenizer_dir,
            output,
            labels=labels,
            options={
                "max_length": max_length,
                "drop_unknown": drop_unknown,
                "labelled_pieces": labelled_pieces,
            },
            dropped=dropped,
        )

    def _tag_numbers(self, table: pa.Table, labels: Sequence[str], origin: Path | str) -> Ragged:
        forms = table.column("forms").combine_chunks()
        column = table.column(self.tag_column).combine_chunks()
        unequal = pc.not_equal(pc.list_value_length(forms), pc.list_value_length(column))
        if (row := pc.index(unequal, True).as_py()) >= 0:
            raise DataError(
                origin,
                row_name(table, row),
                f"{len(forms[row])} words but {len(column[row])} tags",
                "remake the table",
            )

        def place(number: int) -> str:
            return row_name(table, pc.list_parent_indices(column)[number].as_py())

        numbers = label_numbers(pc.list_flatten(column), labels, place, origin)
        offsets = np.zeros(len(column) + 1, dtype=np.int64)
        np.cumsum(pc.list_value_length(column).to_numpy(zero_copy_only=False), out=offsets[1:])
        return Ragged(numbers, offsets)

    def examples(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> TaggingExamples:
        """Open encoded sentences for training or prediction, all of them or only ``rows``."""
        return TaggingExamples(store, rows, pad_multiple=pad_multiple)

    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the tag number of each labelled piece, int64, shape ``(m,)``."""
        numbers: torch.Tensor = model(batch).argmax(dim=-1)
        return numbers

    def decode(
        self, examples: EncodedExamples, outputs: Ragged, labels: Sequence[str], dataset: str
    ) -> pa.Table:
        """Return gold and predicted tags: a word's tag is that of its first labelled piece."""
        store, rows = examples.store, examples.rows
        gold, words = store.ragged("labels").take(rows), store.ragged("words").take(rows)
        labelled = gold.values != NO_LABEL
        sentence = np.repeat(np.arange(len(rows)), gold.lengths)[labelled]
        word = words.values[labelled]
        first = np.ones(len(word), dtype=bool)
        first[1:] = (sentence[1:] != sentence[:-1]) | (word[1:] != word[:-1])
        offsets = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum(np.bincount(sentence[first], minlength=len(rows)), out=offsets[1:])
        names = np.array(labels)
        columns = [
            pa.array([dataset] * len(rows), pa.string()),
            pa.array(store.dense("language")[rows], pa.string()),
            pa.array(store.dense("example_id")[rows], pa.string()),
            *(
                pa.ListArray.from_arrays(offsets, pa.array(names[numbers[first]], pa.string()))
                for numbers in (gold.values[labelled], outputs.values)
            ),
        ]
        return pa.Table.from_arrays(columns, schema=self.prediction_schema)


class TaggingExamples(EncodedExamples):
    """Sentences with labels at some of their pieces."""

    def __init__(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> None:
        super().__init__(store, rows, pad_multiple=pad_multiple)
        self.labels = store.ragged("labels")
        before = np.concatenate([[0], np.cumsum(self.labels.values != NO_LABEL)])
        self.label_counts = np.diff(before[self.labels.offsets])[self.rows]

    def collate(self, indices: Indices) -> Batch:
        """Return the padded pieces, and ``positions`` and ``labels`` (both int64, ``(m,)``).

        A position is a place in the flattened (b * l) batch.
        """
        labels = self.labels.padded(self.rows[indices], NO_LABEL, multiple=self.pad_multiple)
        positions = np.flatnonzero(labels != NO_LABEL)
        return {
            **super().collate(indices),
            "positions": torch.from_numpy(positions),
            "labels": torch.from_numpy(labels.reshape(-1)[positions]),
        }


def _labelled_ids(
    tokenizer: Any, labelled_pieces: LabelledPieces, tokenizer_dir: Path | str
) -> npt.NDArray[np.bool_]:
    """Return which ids are labelled where they do not begin a word, shape ``(vocabulary,)``."""
    size = len(tokenizer)
    if labelled_pieces != "non_continuation":
        return np.full(size, labelled_pieces == "all")
    pieces = tokenizer.convert_ids_to_tokens(range(size))
    continuation = np.array([piece.startswith("##") for piece in pieces])
    if not continuation.any():
        raise DataError(
            tokenizer_dir,
            "tokenizer.json",
            "no piece begins with ##, so labelled_pieces 'non_continuation' has no meaning",
            "choose 'first' or a WordPiece tokenizer",
        )
    return ~continuation


def _count_lost_words(
    dropped: Counter[str], seen: npt.NDArray[np.int32], words: int, cut: bool
) -> None:
    """Count the words of a sentence that got no piece, and those behind the cut."""
    behind = words - (int(seen[-1]) + 1 if len(seen) else 0) if cut else 0
    dropped["words_behind_cut"] += behind
    dropped["words_without_pieces"] += words - behind - len(seen)
