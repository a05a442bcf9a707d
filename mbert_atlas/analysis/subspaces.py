"""Directions that tell languages apart: DensRay and LDA (Liang et al. 2021, section 3, appendix A).

Both need of each language the mean of its vectors, LDA the covariance within languages too, so that
vectors can pass by once: :class:`Moments` of parts of the data add up to those of the whole.

DensRay looks for directions in which vectors of two languages differ more than vectors of one. With
pair differences as they are, and as many vectors of each of n languages, what it decomposes is, but
for a factor, the scatter of the language means (:func:`densray`): appendix A, carried to its end.
So its rank is at most n - 1, as that of LDA; the paper proves n + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mbert_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """What is kept of vectors that were seen once.

    Attributes:
        languages: in the order of the rows.
        counts: vectors of each, int64, shape ``(n,)``.
        means: float64, shape ``(n, layers, dims)``.
        scatter: sum over all vectors of (x - m) (x - m)^T, m being the mean of the vector's
            language; float64, shape ``(layers, dims, dims)``.
    """

    languages: list[str]
    counts: npt.NDArray[np.int64]
    means: Floats
    scatter: Floats

    def within(self, layer: int) -> Floats:
        """Return the covariance within languages, pooled, shape ``(dims, dims)``."""
        pooled: Floats = self.scatter[layer] / (self.counts.sum() - len(self.counts))
        return pooled


class Directions(NamedTuple):
    """A basis of the whole space, the directions that tell languages apart best first.

    Attributes:
        basis: float64, shape ``(dims, dims)``, one direction per column; of DensRay orthonormal, of
            LDA such that the covariance within languages becomes the identity where it can.
        values: eigenvalues, falling, float64, shape ``(dims,)``: scatter of the language means in
            each direction, of LDA relative to that within languages; 0 behind ``rank``.
        rank: how many directions tell languages apart; the others are ordered by the variance
            within languages, the largest first, as any basis would do there.
    """

    basis: Floats
    values: Floats
    rank: int


def merged(parts: Sequence[Moments]) -> Moments:
    """Return the moments of all parts, each of other languages.

    Raises:
        AtlasError: if two parts have one language.
    """

    def both(one: Moments, other: Moments) -> Moments:
        if twice := set(one.languages) & set(other.languages):
            raise AtlasError(f"language {min(twice)}: its moments are there twice; leave out one.")
        return Moments(
            one.languages + other.languages,
            np.concatenate([one.counts, other.counts]),
            np.concatenate([one.means, other.means]),
            one.scatter + other.scatter,
        )

    return reduce(both, parts)


def densray(means: Floats, within: Floats) -> Directions:
    """Return DensRay's directions, un-normalised: eigenvectors of the scatter of the means.

    The paper's A = 2 m^2 / (n - 1) sum_i (c_i - c) (c_i - c)^T for means c_i, their mean c and m
    vectors per language (appendix A with A_1 and A_2 taken together); here without 2 m^2.

    Args:
        means: of the languages, shape ``(n, dims)``.
        within: covariance within languages, shape ``(dims, dims)``; it orders what is behind the
            rank, where all eigenvalues are 0.
    """
    # c = [[1, 0, 0],   centred: [[ 1, 0, 0],   A = [[1, 0, 0],   first direction [1, 0, 0],
    #      [-1, 0, 0],            [-1, 0, 0],        [0, 0, 0],   rank 1 of at most 2
    #      [0, 0, 0]]             [ 0, 0, 0]]        [0, 0, 0]]
    centred = means - means.mean(axis=0)
    _, singular, rows = np.linalg.svd(centred, full_matrices=True)
    rank = int((singular > singular[0] * max(centred.shape) * np.finfo(float).eps).sum())
    found = rows[:rank].T
    basis = np.hstack([found, _by_variance(rows[rank:].T, within)])
    values = np.zeros(len(within))
    values[:rank] = singular[:rank] ** 2 / (len(means) - 1)
    return Directions(_signed(basis), values, rank)


def densray_normalised(vectors: Sequence[Floats], within: Floats) -> Directions:
    """Return DensRay's directions with every difference of two vectors scaled to length 1.

    That is the variant of Dufter and Schuetze (2019). Its matrix has full rank and negative
    eigenvalues; pairs of two languages weigh in all as much as pairs of one.

    Args:
        vectors: of each language, shape ``(m, dims)``; all pairs are formed, so a sample will do.
        within: see :func:`densray`; not needed here.
    """
    total = np.zeros_like(within)
    count = len(vectors)
    for i, one in enumerate(vectors):
        for j, other in enumerate(vectors[: i + 1]):
            weight = -1 / count if i == j else 2 / (count * (count - 1))
            total += weight * _normalised_scatter(one, other)
    values, basis = np.linalg.eigh(total)
    return Directions(_signed(basis[:, ::-1]), values[::-1], len(within))


def _normalised_scatter(one: Floats, other: Floats) -> Floats:
    """Return the mean over all pairs (v, w) with v != w of d d^T / |d|^2, d = v - w."""
    # With K = 1 / |v - w|^2: V^T diag(K 1) V + W^T diag(K^T 1) W - V^T K W - (V^T K W)^T.
    products = one @ other.T
    squares = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1) - 2 * products
    same = squares <= 1e-9 * squares.max()
    weights = np.where(same, 0.0, 1 / np.where(same, 1.0, squares))
    mixed = one.T @ weights @ other
    total = (one.T * weights.sum(axis=1)) @ one + (other.T * weights.sum(axis=0)) @ other
    scatter: Floats = (total - mixed - mixed.T) / max(1, (~same).sum())
    return scatter


def lda(means: Floats, counts: npt.NDArray[np.int64], within: Floats) -> Directions:
    """Return the directions of linear discriminant analysis (Fisher 1936).

    Behind a layer normalisation one axis has no variance (the normalised entries sum to 0). Such
    axes come last of all, at length 1.

    Args:
        means: of the languages, shape ``(n, dims)``.
        counts: vectors of each, shape ``(n,)``: they weigh the means, as in scikit-learn.
        within: covariance within languages, shape ``(dims, dims)``.

    Raises:
        AtlasError: if there are fewer vectors than dimensions.
    """
    if counts.sum() - len(counts) < len(within):
        raise AtlasError(
            f"{counts.sum()} vectors of {len(counts)} languages do not tell the covariance of "
            f"{len(within)} dimensions; take more vectors per language."
        )
    variances, axes = np.linalg.eigh(within)
    varies = variances > variances[-1] * len(within) * np.finfo(np.float32).eps
    whitening = axes[:, varies] / np.sqrt(variances[varies])
    share = counts / counts.sum()
    centred = (means - share @ means) * np.sqrt(share)[:, None]
    _, singular, rows = np.linalg.svd(centred @ whitening, full_matrices=True)
    rank = int((singular > singular[0] * max(centred.shape) * np.finfo(float).eps).sum())
    behind = _by_variance(rows[rank:].T, np.diag(variances[varies]))
    values = np.zeros(len(within))
    values[:rank] = singular[:rank] ** 2
    basis = np.hstack([whitening @ np.hstack([rows[:rank].T, behind]), axes[:, ~varies]])
    return Directions(_signed(basis), values, rank)


def _by_variance(directions: Floats, covariance: Floats) -> Floats:
    """Turn an orthonormal basis of a subspace so that its columns have falling variance."""
    _, turned = np.linalg.eigh(directions.T @ covariance @ directions)
    basis: Floats = directions @ turned[:, ::-1]
    return basis


def _signed(basis: Floats) -> Floats:
    """Make the largest entry of every column positive: eigenvectors have no sign of their own."""
    largest = np.abs(basis).argmax(axis=0)
    signed: Floats = basis * np.sign(basis[largest, np.arange(basis.shape[1])])
    return signed
