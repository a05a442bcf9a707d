"""Attachment scores of dependency trees, as the CoNLL 2018 shared task's script counts them.

All words count, punctuation included; relations are compared without their subtypes. Words are the
gold ones, so that precision, recall and F1 are the same: the fraction of words with the correct
head (UAS), or with the correct head and relation (LAS). A word beyond the model's input (predicted
head -1) is wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.arrays import offsets_of
from mbert_atlas.errors import AtlasError


def right_arcs(
    predictions: pa.Table, *, labelled: bool
) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return for each word whether its head is correct; the mean is UAS, or LAS.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TREE_PREDICTIONS`, of one language.
        labelled: the relation must be correct, too.

    Returns:
        Keys of sentence id and word number, sorted by sentence; and 1 or 0, float64, shape
        ``(words,)``.

    Raises:
        AtlasError: if the columns of a sentence differ in length.
    """
    table = predictions.sort_by("example_id")
    heads, relations, lengths = _right(table)
    sentences = zip(table["example_id"].to_pylist(), lengths.tolist(), strict=True)
    keys = [f"{sentence}\t{word}" for sentence, count in sentences for word in range(count)]
    return keys, (heads & relations if labelled else heads).astype(np.float64)


def attachment_counts(predictions: pa.Table) -> npt.NDArray[np.int64]:
    """Count correct words by sentence.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TREE_PREDICTIONS`.

    Returns:
        Words with the correct head and relation, words with the correct head, and all words of
        each row, int64, shape ``(n, 3)``.

    Raises:
        AtlasError: if the columns of a sentence differ in length.
    """
    heads, relations, lengths = _right(predictions)
    offsets = offsets_of(lengths)
    before = [offsets_of(right)[offsets] for right in (heads & relations, heads)]
    return np.stack([*map(np.diff, before), lengths], axis=1)


def _right(
    predictions: pa.Table,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return which heads and which relations are correct, and the words by sentence."""
    names = ("gold_heads", "predicted_heads", "gold_relations", "predicted_relations")
    columns = [predictions[name].combine_chunks() for name in names]
    lengths = [pc.list_value_length(column).to_numpy(zero_copy_only=False) for column in columns]
    for name, other in zip(names, lengths, strict=True):
        if not np.array_equal(lengths[0], other):
            example = predictions["example_id"][int(np.argmax(lengths[0] != other))]
            raise AtlasError(
                f"predictions of sentence {example}: {names[0]} and {name} differ in length; "
                "predict with the words that were encoded."
            )
    heads = pc.equal(*(column.flatten() for column in columns[:2]))
    universal = (pc.replace_substring_regex(col.flatten(), ":.*", "") for col in columns[2:])
    both: list[npt.NDArray[Any]] = [
        right.to_numpy(zero_copy_only=False) for right in (heads, pc.equal(*universal))
    ]
    return both[0], both[1], lengths[0].astype(np.int64)
