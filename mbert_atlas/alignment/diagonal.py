"""fast_align's model in NumPy: IBM Model 2 with a diagonal prior (Dyer et al. 2013).

The generated word at position g of G comes from the conditioning word at position c of C with
prior (1 - p0) exp(-tension |c/C - g/G|) / Z, or from the empty word with prior p0, times a
translation probability. Translation probabilities are re-estimated by EM under a Dirichlet prior
(the flag ``-v``), the tension by gradient steps (``-o``); the alignment takes for each generated
word the most probable conditioning word (Viterbi). Cao et al. (2020) use these flags, and Efimov
et al. (2022) the intersection of both directions (``-r`` is the reverse one).

It is fast because sentence pairs of the same two lengths form one dense block, with one prior and
no padding, and every cell (source word, target word) carries the number of its word pair.

On 60,000 Tatoeba en-es pairs plus 350 XL-WA gold pairs it shares 99.999% of its links in each
direction with the binary (commit cab1e9a), as do two runs of the binary with two threads.
AER (precision, recall) of both: intersection .269 (.876, .628), union .298 (.658, .751), one_to_one
.393 (.914, .454).
"""

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import digamma

from mbert_atlas import __version__
from mbert_atlas.alignment.aligner import Aligner, in_both_directions
from mbert_atlas.alignment.links import Links
from mbert_atlas.arrays import Ragged

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

_NULL_PROBABILITY = 0.08
_DIRICHLET = 0.01
_ESTIMATES = 4  # fast_align's five passes over the bitext, of which the last one aligns
_FIRST_TENSION = 4.0
_BLOCK_CELLS = 1 << 17  # a block's temporaries stay in the processor's cache
_CHUNK_CELLS = 1 << 20


class Block(NamedTuple):
    """Consecutive sentence pairs of one shape."""

    start: int  # the first one's place in ``Grid.rows``
    sentences: int
    source_words: int  # of each sentence
    target_words: int
    source: slice  # their part of ``Grid.source``
    target: slice  # their part of ``Grid.target``
    cells: slice  # their part of ``Grid.pair``


class Grid(NamedTuple):
    """A bitext as blocks of equal shape, without sentence pairs that have an empty side."""

    rows: IntArray  # row of each sentence pair in the bitext
    source: IntArray  # source word ids, flat, in the order of ``rows``
    target: IntArray  # target word ids, likewise
    # Number of each cell's word pair; a block's shape is (sentences, target words, source words).
    pair: npt.NDArray[np.int32]
    pair_source: IntArray  # source word id of each word pair
    pair_target: IntArray  # target word id of each word pair
    bitext_rows: int
    blocks: list[Block]


class Model(NamedTuple):
    """One direction's parameters."""

    pair: FloatArray  # probability of the generated word given the other one, per word pair
    null: FloatArray  # probability of each generated word given the empty word
    tension: float  # how strongly links keep to the diagonal


def build_grid(source: Ragged, target: Ragged) -> Grid:
    """Arrange a bitext, given as word ids (from 0) of each sentence, in blocks; number its pairs.

    At least one sentence pair must have words on both sides.
    """
    usable = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    n, m = source.lengths[usable], target.lengths[usable]
    order = np.lexsort((m, n))
    rows = usable[order]
    left, right = (side.take(rows).values.astype(np.int64) for side in (source, target))
    blocks = list(_blocks(n[order], m[order]))
    types = int(right.max()) + 1
    pair, keys = _number_pairs(left, right, types, blocks)
    return Grid(rows, left, right, pair, keys // types, keys % types, len(source), blocks)


def estimate(grid: Grid, reverse: bool) -> Model:
    """Estimate one direction by EM; ``reverse`` generates source words from target words."""
    conditioning = grid.pair_target if reverse else grid.pair_source
    generated = grid.source if reverse else grid.target
    seen = np.bincount(generated) > 0
    model = Model(np.ones(len(conditioning)), np.ones(len(seen)), _FIRST_TENSION)
    for iteration in range(_ESTIMATES):
        counts, null_counts, feature = _expectations(grid, model, reverse)
        tension = model.tension
        if iteration > 0:
            tension = _improve_tension(grid, tension, feature / len(generated), reverse)
        totals = np.bincount(conditioning, weights=counts + _DIRICHLET)
        pair = np.exp(digamma(counts + _DIRICHLET) - digamma(totals)[conditioning])
        null_counts += _DIRICHLET
        null = np.exp(digamma(null_counts) - digamma(null_counts[seen].sum()))
        model = Model(pair, null, tension)
    return model


def align_by(grid: Grid, model: Model, reverse: bool) -> Links:
    """Link each generated word to its most probable conditioning word, or to none; unsorted."""
    axis = 1 if reverse else 2
    parts = []
    for block, cells, generated in _walk(grid, reverse):
        weight = model.pair.take(cells)
        weight *= _prior(block, model.tension, reverse)
        best = weight.argmax(axis)
        linked = weight.max(axis) > model.null[generated] * _NULL_PROBABILITY
        sentence, position = np.nonzero(linked)
        parts.append((grid.rows[block.start + sentence], best[linked], position))
    row, *words = (np.concatenate(item) for item in zip(*parts, strict=True))
    source, target = (word.astype(np.int32) for word in (words[::-1] if reverse else words))
    return Links(row, source, target, grid.bitext_rows)


def align_both(
    source: Ragged, target: Ragged, *, program: str | None = None, threads: int = 1
) -> tuple[Links, Links]:
    """Return the links of both directions, see :class:`mbert_atlas.alignment.aligner.Align`."""
    grid = build_grid(source, target)

    def link(reverse: bool) -> Links:
        return align_by(grid, estimate(grid, reverse), reverse)

    return in_both_directions(link, threads)


BUILTIN = Aligner(lambda program: f"mbert-atlas {__version__}", align_both)


def _blocks(n: IntArray, m: IntArray) -> Iterator[Block]:
    """Yield blocks of at most ``_BLOCK_CELLS`` cells of sentence pairs, sorted by both lengths."""
    changes = np.flatnonzero((np.diff(n) != 0) | (np.diff(m) != 0)) + 1
    starts = [0, 0, 0]
    for begin, end in pairwise([0, *changes.tolist(), len(n)]):
        words = int(n[begin]), int(m[begin])
        step = max(1, _BLOCK_CELLS // (words[0] * words[1]))
        for first in range(begin, end, step):
            count = min(step, end - first)
            sizes = count * words[0], count * words[1], count * words[0] * words[1]
            slices = [slice(at, at + size) for at, size in zip(starts, sizes, strict=True)]
            starts = [part.stop for part in slices]
            yield Block(first, count, *words, *slices)


def _number_pairs(
    source: IntArray, target: IntArray, target_types: int, blocks: list[Block]
) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Return the number of each cell's word pair, by first occurrence, and each number's key."""
    # Source word 1 and target word 2 of 10 have the key 1 * 10 + 2; 12 31 12 become 0 1 0. Pairs
    # are numbered in chunks, whose small tables stay in the cache, and then the chunks' keys.
    pair = np.empty(blocks[-1].cells.stop, dtype=np.int32)

    def keys_of(block: Block) -> IntArray:
        left = source[block.source].reshape(block.sentences, 1, block.source_words)
        right = target[block.target].reshape(block.sentences, block.target_words, 1)
        return (left * target_types + right).ravel()

    chunks: list[tuple[slice, IntArray]] = []
    for _, group in groupby(blocks, lambda block: block.cells.start // _CHUNK_CELLS):
        chunk = list(group)
        span = slice(chunk[0].cells.start, chunk[-1].cells.stop)
        pair[span], keys = pd.factorize(np.concatenate([keys_of(block) for block in chunk]))
        chunks.append((span, keys))
    numbers, keys = pd.factorize(np.concatenate([keys for _, keys in chunks]))
    ends = np.cumsum([len(keys) for _, keys in chunks])
    for (span, _), renumbered in zip(chunks, np.split(numbers, ends[:-1]), strict=True):
        pair[span] = renumbered[pair[span]]
    return pair, keys


def _walk(grid: Grid, reverse: bool) -> Iterator[tuple[Block, npt.NDArray[np.int32], IntArray]]:
    """Yield each block with its cells (k, m, n) and its generated words (k, m) or (k, n)."""
    for block in grid.blocks:
        shape = block.sentences, block.target_words, block.source_words
        generated = grid.source[block.source] if reverse else grid.target[block.target]
        yield block, grid.pair[block.cells].reshape(shape), generated.reshape(block.sentences, -1)


def _distance(block: Block, reverse: bool, first: int = 1) -> FloatArray:
    """Return how far each cell is off the diagonal; ``first`` is the first generated word."""
    target = (np.arange(block.target_words) + (1 if reverse else first)) / block.target_words
    source = (np.arange(block.source_words) + (first if reverse else 1)) / block.source_words
    return np.asarray(np.abs(target[:, None] - source))


def _prior(block: Block, tension: float, reverse: bool) -> FloatArray:
    """Return the prior of each cell (target, source); sums to 1 - p0 per generated word."""
    prior = np.exp(-tension * _distance(block, reverse))
    prior *= (1 - _NULL_PROBABILITY) / prior.sum(0 if reverse else 1, keepdims=True)
    return prior


def _expectations(grid: Grid, model: Model, reverse: bool) -> tuple[FloatArray, FloatArray, float]:
    """Return expected counts of word pairs, of words from nothing, and of the feature."""
    # P(g linked to c) = t(g|c) prior(c, g) / (sum of that over c + p0 t(g|empty word)): weights of
    # .2 and .6 for two words c, and .2 for the empty one, add .2, .6 and .2 to the counts.
    axis = 1 if reverse else 2
    counts, null_counts = np.zeros_like(model.pair), np.zeros_like(model.null)
    feature = 0.0
    for block, cells, generated in _walk(grid, reverse):
        weight = model.pair.take(cells)
        weight *= _prior(block, model.tension, reverse)
        null = model.null[generated] * _NULL_PROBABILITY
        total = weight.sum(axis) + null
        weight /= np.expand_dims(total, axis)
        null /= total
        np.add.at(counts, cells.ravel(), weight.ravel())
        np.add.at(null_counts, generated.ravel(), null.ravel())
        # fast_align counts generated words from 0 here and from 1 in the prior.
        feature -= float((weight.sum(0) * _distance(block, reverse, first=0)).sum())
    return counts, null_counts, feature


def _improve_tension(grid: Grid, tension: float, observed: float, reverse: bool) -> float:
    """Return the tension after eight steps towards the observed mean of the feature."""
    shapes = pd.DataFrame([(b.source_words, b.target_words, b.sentences) for b in grid.blocks])
    source, target, pairs = shapes.groupby([0, 1], as_index=False)[2].sum().to_numpy(np.int64).T
    conditioning, generated = (target, source) if reverse else (source, target)
    position = np.concatenate([np.arange(1, length + 1) for length in generated])
    m, n, count = (np.repeat(column, generated) for column in (generated, conditioning, pairs))
    for _ in range(8):
        expected = float((count * _slope(position, m, n, tension)).sum()) / float(count.sum())
        tension = float(np.clip(tension + (observed - expected) * 20.0, 0.1, 14.0))
    return tension


def _slope(i: IntArray, m: IntArray, n: IntArray, tension: float) -> FloatArray:
    """Return fast_align's derivative of log Z for generated word i of m and n conditioning words.

    Z is taken with m and n exchanged, as fast_align's code does: the fixed point of the tension,
    and with it the alignment, depends on it.
    """
    ratio, step = np.exp(-tension / n), -1.0 / n
    below = np.floor(i * n / m)
    above = n - below
    swapped = np.exp(-tension / m)
    swapped_below = np.floor(i * m / n)
    # An unsigned difference: below zero it wraps around and stands for a long series.
    swapped_above = np.where(swapped_below > m, np.inf, m - swapped_below)

    def feature(j: FloatArray, words: IntArray, others: IntArray) -> FloatArray:
        return np.asarray(-np.abs(j / words - i / others))

    def series(j: FloatArray, terms: Any) -> FloatArray:
        """Return the sum of feature * exp(tension * feature) over ``terms`` words away from j."""
        first = feature(j, n, m)
        weight = np.exp(tension * first)
        last = step * (terms - 1) + first
        end = weight * ratio**terms
        total = (last * end - first * weight) / (ratio - 1)
        total -= step * (end - weight * ratio) / (ratio - 1) ** 2
        return np.where(terms > 0, total, 0.0)

    def geometric(j: FloatArray, terms: Any) -> FloatArray:
        weight = np.exp(tension * feature(j, m, n))
        return np.where(terms > 0, weight * (1 - swapped**terms) / (1 - swapped), 0.0)

    z = geometric(swapped_below + 1, swapped_above) + geometric(swapped_below, swapped_below)
    return np.asarray((series(below + 1, above) + series(below, below)) / z)
