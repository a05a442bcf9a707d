"""Aligned word pairs of a bitext's token store, as flat arrays."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.errors import DataError

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WordPairs:
    """Word pairs, each array int64 of shape ``(pairs,)``, sorted by sentence.

    ``source_word`` is the English word, counted from 0 in its sentence; starts and ends (one past
    the last) are subwords in the sentence's ``source_ids`` and ``target_ids``.
    """

    sentence: IntArray
    source_word: IntArray
    source_start: IntArray
    source_end: IntArray
    target_start: IntArray
    target_end: IntArray

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.sentence)

    def take(self, which: npt.NDArray[np.bool_] | IntArray) -> Self:
        """Return the pairs at these positions, or where the mask is true."""
        return type(self)(**{item.name: getattr(self, item.name)[which] for item in fields(self)})


def open_pairs(path: Path | str) -> tuple[TokenStore, WordPairs]:
    """Open what :func:`mbert_atlas.alignment.pairs.encode_word_pairs` wrote: store and all pairs.

    Pairs with a word that has no subword (cut off with the end of its sentence) are left out.
    Raises a DataError if no pair is left.
    """
    store = load_arrays(path)
    source, target = store.ragged("source_pairs"), store.ragged("target_pairs")
    sentence = np.repeat(np.arange(len(source)), source.lengths)
    spans = []
    for side, words in (("source", source.values), ("target", target.values)):
        starts = store.ragged(f"{side}_word_start")
        ends = store.ragged(f"{side}_word_end")
        flat = starts.offsets[sentence] + words
        spans += [starts.values[flat].astype(np.int64), ends.values[flat].astype(np.int64)]
    pairs = WordPairs(sentence, np.asarray(source.values, dtype=np.int64), *spans)
    pairs = pairs.take(
        (pairs.source_end > pairs.source_start) & (pairs.target_end > pairs.target_start)
    )
    if len(pairs) == 0:
        fix = "take more sentences or loosen the filters"
        raise DataError(path, "", "no aligned word pair is left", fix)
    return store, pairs
