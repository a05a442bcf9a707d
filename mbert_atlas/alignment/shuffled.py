"""Word pairs whose partners come from another sentence: the control of cross-lingual adjustment."""

from pathlib import Path
from typing import Any

import numpy as np

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.randomness import generator

_SEED = 0
"""Decides which sentences change places: the same for every run."""


def shuffle_pairs(store: Path, output: Path) -> None:
    """Give every English sentence with word pairs the other language's side of another sentence.

    ``store`` is a token store of :func:`mbert_atlas.alignment.pairs.encode_word_pairs`, and so is
    the output, with the same sentences and words. A sentence gets the side of one with as many
    pairs, or the next larger number, and the k-th pair joins the k-th linked words of both; what
    the larger side has more is no pair. Sentences without pairs stay. Raises a DataError if fewer
    than two sentences have pairs.
    """
    stored = load_arrays(store)
    source = stored.ragged("source_pairs")
    with_pairs = np.flatnonzero(source.lengths)
    if len(with_pairs) < 2:
        problem = f"{len(with_pairs)} sentences have word pairs, and two are needed to shuffle them"
        raise DataError(store, "", problem, "take more sentences")
    # Numbers of pairs 3 1 2 1, the sentences in the order 1 3 2 0 of these numbers: 1 gets the side
    # of 3, 3 that of 2, 2 that of 0, and 0 that of 1.
    with_pairs = generator(_SEED, "shuffled pairs").permutation(with_pairs)
    order = with_pairs[np.argsort(source.lengths[with_pairs], kind="stable")]
    other = np.arange(len(source))
    other[order] = np.roll(order, -1)
    moved = {
        name: stored.ragged(f"target_{name}").take(other)
        for name in ("ids", "word_start", "word_end", "pairs")
    }
    count = np.minimum(source.lengths, moved["pairs"].lengths)
    pairs = {"source": _first(source, count), "target": _first(moved.pop("pairs"), count)}
    arrays: dict[str, Any] = {**stored.arrays}
    arrays |= {f"target_{name}": side for name, side in moved.items()}
    arrays |= {f"{side}_pairs": words for side, words in pairs.items()}
    counts = stored.meta["counts"] | {"pairs": int(count.sum())}
    save_arrays(output, arrays, {**stored.meta, "counts": counts, "shuffled": True})


def _first(rows: Ragged, count: np.ndarray) -> Ragged:
    """Return the first values of each row, ``count`` of them."""
    place = np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.lengths)
    kept = place < np.repeat(count, rows.lengths)
    return Ragged(rows.values[kept], np.concatenate([[0], np.cumsum(count)]))
