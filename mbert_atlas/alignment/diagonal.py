"""fast_align's model in NumPy: IBM Model 2 with a diagonal prior (Dyer et al. 2013).

The generated word at position g of G comes from the conditioning word at position c of C with
prior (1 - p0) exp(-tension |c/C - g/G|) / Z, or from the empty word with prior p0, times a
translation probability. Translation probabilities are re-estimated by EM under a Dirichlet prior
(the flag ``-v``), the tension by gradient steps (``-o``); the alignment takes for each generated
word the most probable conditioning word (Viterbi).

It is fast because sentence pairs of the same two lengths form one dense block, so that the prior is
computed once per shape without padding, and because every cell (source word, target word) carries
the number of its word pair, which the C++ program looks up in each iteration and direction.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import digamma

from mbert_atlas.alignment.pharaoh import Links
from mbert_atlas.arrays import Ragged

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NULL_PROBABILITY = 0.08
DIRICHLET = 0.01
ITERATIONS = 5  # four estimates; the fifth pass aligns
FIRST_TENSION = 4.0
_BLOCK_CELLS = 1 << 17  # a block's temporaries stay in the processor's cache
_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True)
class Block:
    """Consecutive sentence pairs of one shape.

    Attributes:
        start: the first one's place in ``Grid.rows``.
        sentences: number of sentence pairs.
        source_words: words of each source sentence.
        target_words: words of each target sentence.
        source: their part of ``Grid.source``.
        target: their part of ``Grid.target``.
        cells: their part of ``Grid.pair``.
    """

    start: int
    sentences: int
    source_words: int
    target_words: int
    source: slice
    target: slice
    cells: slice


@dataclass(frozen=True)
class Grid:
    """A bitext as blocks of equal shape, without sentence pairs that have an empty side.

    Attributes:
        rows: row of each sentence pair in the bitext, int64.
        source: source word ids, flat, in the order of ``rows``, int64.
        target: target word ids, likewise.
        pair: number of the word pair of each cell, int32; a block's cells have the shape
            (sentences, target words, source words).
        pair_source: source word id of each word pair, int64.
        pair_target: target word id of each word pair, int64.
        source_types: number of different source words.
        target_types: number of different target words.
        bitext_rows: number of rows of the bitext.
        blocks: the blocks, in order.
    """

    rows: IntArray
    source: IntArray
    target: IntArray
    pair: npt.NDArray[np.int32]
    pair_source: IntArray
    pair_target: IntArray
    source_types: int
    target_types: int
    bitext_rows: int
    blocks: list[Block]


@dataclass(frozen=True)
class Model:
    """One direction's parameters.

    Attributes:
        pair: probability of the generated word given the conditioning word, per word pair of the
            grid, float64.
        null: probability of each generated word given the empty word, float64.
        tension: how strongly links keep to the diagonal.
    """

    pair: FloatArray
    null: FloatArray
    tension: float


def build_grid(
    source: Ragged, target: Ragged, source_types: int, target_types: int, threads: int = 1
) -> Grid:
    """Arrange a bitext in blocks and number its word pairs.

    Args:
        source: source word ids of each sentence, below ``source_types``.
        target: target word ids of each sentence, below ``target_types``.
        source_types: number of different source words.
        target_types: number of different target words.
        threads: CPU threads.
    """
    usable = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    n, m = source.lengths[usable], target.lengths[usable]
    order = np.lexsort((m, n))
    rows, n, m = usable[order], n[order], m[order]
    words = [side.take(rows).values.astype(np.int64) for side in (source, target)]
    blocks = list(_blocks(n, m))
    pair, keys = _number_pairs(words[0], words[1], target_types, blocks, threads)
    return Grid(
        rows=rows,
        source=words[0],
        target=words[1],
        pair=pair,
        pair_source=keys // target_types,
        pair_target=keys % target_types,
        source_types=source_types,
        target_types=target_types,
        bitext_rows=len(source),
        blocks=blocks,
    )


def estimate(grid: Grid, reverse: bool) -> Model:
    """Estimate one direction by EM, as ``fast_align -d -o -v`` (``-r`` if ``reverse``) does.

    Args:
        grid: the bitext.
        reverse: whether source words are generated from target words.
    """
    conditioning = grid.pair_target if reverse else grid.pair_source
    types = grid.target_types if reverse else grid.source_types
    generated, generated_types = _generated(grid, reverse)
    model = Model(np.ones(len(grid.pair_source)), np.ones(generated_types), FIRST_TENSION)
    for iteration in range(ITERATIONS - 1):
        counts, null_counts, feature = _expectations(grid, model, reverse)
        tension = model.tension
        if iteration > 0:
            tension = _improve_tension(grid, tension, feature / len(generated), reverse)
        totals = np.bincount(conditioning, weights=counts + DIRICHLET, minlength=types)
        pair = np.exp(digamma(counts + DIRICHLET) - digamma(totals)[conditioning])
        seen = np.bincount(generated, minlength=generated_types) > 0
        null_counts += DIRICHLET
        null = np.exp(digamma(null_counts) - digamma(null_counts[seen].sum()))
        model = Model(pair, null, tension)
    return model


def align_by(grid: Grid, model: Model, reverse: bool) -> Links:
    """Link each generated word to its most probable conditioning word, or to none.

    Returns:
        The links, in any order.
    """
    axis = 1 if reverse else 2
    parts = []
    for block, cells, generated in _walk(grid, reverse):
        weight = model.pair.take(cells)
        weight *= _prior(block, model.tension, reverse)
        best = weight.argmax(axis)
        linked = weight.max(axis) > model.null[generated] * NULL_PROBABILITY
        sentence, position = np.nonzero(linked)
        parts.append((grid.rows[block.start + sentence], best[linked], position))
    if not parts:
        parts = [(np.empty(0, np.int64),) * 3]
    row, conditioning, generated = (np.concatenate(item) for item in zip(*parts, strict=True))
    source, target = (generated, conditioning) if reverse else (conditioning, generated)
    return Links(row, source.astype(np.int32), target.astype(np.int32), grid.bitext_rows)


def align_both(grid: Grid, threads: int = 1) -> tuple[Links, Links]:
    """Estimate and align both directions, in parallel with two threads.

    Returns:
        Links of the forward direction (target words generated) and of the reverse one; they do not
        depend on ``threads``.
    """
    with ThreadPoolExecutor(min(threads, 2)) as pool:
        forward, reverse = pool.map(
            lambda reverse: align_by(grid, estimate(grid, reverse), reverse), (False, True)
        )
    return forward, reverse


def _blocks(n: IntArray, m: IntArray) -> Iterator[Block]:
    """Yield blocks of at most ``_BLOCK_CELLS`` cells of sentence pairs, sorted by both lengths."""
    changes = np.flatnonzero((np.diff(n) != 0) | (np.diff(m) != 0)) + 1
    source = target = cell = 0
    for begin, end in pairwise([0, *changes.tolist(), len(n)] if len(n) else []):
        words = int(n[begin]), int(m[begin])
        step = max(1, _BLOCK_CELLS // (words[0] * words[1]))
        for first in range(begin, end, step):
            count = min(step, end - first)
            block = Block(
                first,
                count,
                *words,
                slice(source, source + count * words[0]),
                slice(target, target + count * words[1]),
                slice(cell, cell + count * words[0] * words[1]),
            )
            source, target, cell = block.source.stop, block.target.stop, block.cells.stop
            yield block


def _number_pairs(
    source: IntArray, target: IntArray, target_types: int, blocks: list[Block], threads: int
) -> tuple[npt.NDArray[np.int32], IntArray]:
    """Return the number of each cell's word pair and, per number, the pair's key.

    The pair of source word 1 and target word 2 of 10 has the key 1 * 10 + 2; numbers follow first
    occurrence: 12 31 12 become 0 1 0. Pairs are numbered in chunks, whose small tables stay in the
    cache, and then the chunks' keys.
    """
    pair = np.empty(blocks[-1].cells.stop if blocks else 0, dtype=np.int32)

    def keys_of(block: Block) -> IntArray:
        left = source[block.source].reshape(block.sentences, 1, block.source_words)
        right = target[block.target].reshape(block.sentences, block.target_words, 1)
        return (left * target_types + right).ravel()

    def number(chunk: list[Block]) -> IntArray:
        codes, keys = pd.factorize(np.concatenate([keys_of(block) for block in chunk]))
        pair[chunk[0].cells.start : chunk[-1].cells.stop] = codes
        return keys

    grouped = groupby(blocks, lambda block: block.cells.start // _CHUNK_CELLS)
    chunks = [list(group) for _, group in grouped]
    with ThreadPoolExecutor(threads) as pool:
        keys_by_chunk = list(pool.map(number, chunks))
    codes, keys = pd.factorize(np.concatenate(keys_by_chunk or [np.empty(0, np.int64)]))
    numbers = np.split(
        codes.astype(np.int32), np.cumsum([len(part) for part in keys_by_chunk])[:-1]
    )
    for chunk, renumbered in zip(chunks, numbers, strict=False):
        span = slice(chunk[0].cells.start, chunk[-1].cells.stop)
        pair[span] = renumbered[pair[span]]
    return pair, keys


def _generated(grid: Grid, reverse: bool) -> tuple[IntArray, int]:
    return (grid.source, grid.source_types) if reverse else (grid.target, grid.target_types)


def _walk(grid: Grid, reverse: bool) -> Iterator[tuple[Block, npt.NDArray[np.int32], IntArray]]:
    """Yield each block with its cells (k, m, n) and its generated words (k, m) or (k, n)."""
    for block in grid.blocks:
        shape = block.sentences, block.target_words, block.source_words
        generated = grid.source[block.source] if reverse else grid.target[block.target]
        yield block, grid.pair[block.cells].reshape(shape), generated.reshape(block.sentences, -1)


def _distance(block: Block, reverse: bool, first: int = 1) -> FloatArray:
    """Return how far each cell (target, source) is off the diagonal.

    Args:
        block: gives the two lengths.
        reverse: whether source words are generated.
        first: number of the first generated word; conditioning words count from 1.
    """
    target = (np.arange(block.target_words) + (1 if reverse else first)) / block.target_words
    source = (np.arange(block.source_words) + (first if reverse else 1)) / block.source_words
    return np.asarray(np.abs(target[:, None] - source))


def _prior(block: Block, tension: float, reverse: bool) -> FloatArray:
    """Return the prior of each cell (target, source); sums to 1 - p0 per generated word."""
    prior = np.exp(-tension * _distance(block, reverse))
    prior *= (1 - NULL_PROBABILITY) / prior.sum(0 if reverse else 1, keepdims=True)
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
        null = model.null[generated] * NULL_PROBABILITY
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
    shapes = (
        pd.DataFrame([(b.source_words, b.target_words, b.sentences) for b in grid.blocks])
        .groupby([0, 1], as_index=False)[2]
        .sum()
        .to_numpy(dtype=np.int64)
        .T
    )
    conditioning, generated = (shapes[1], shapes[0]) if reverse else (shapes[0], shapes[1])
    position = np.concatenate([np.arange(1, length + 1) for length in generated])
    m, n, count = (np.repeat(column, generated) for column in (generated, conditioning, shapes[2]))
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
