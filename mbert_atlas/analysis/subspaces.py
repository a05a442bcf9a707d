"""Directions that identify languages: DensRay and LDA (Liang et al. 2021, section 3, appendix A).

Both need the mean vector of each language, and the covariance within languages. With un-normalised
differences and equally many vectors of each of n languages, the matrix that DensRay decomposes is
the scatter of the language means up to a factor (:func:`densray`), which follows from appendix A.
So its rank is at most n - 1, as for LDA; the paper proves n + 1.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.errors import AtlasError
from mbert_atlas.progress import track

Floats = npt.NDArray[np.float64]


class Directions(NamedTuple):
    """A basis of the whole space, sorted by how well a direction identifies languages.

    DensRay's is orthonormal; LDA's makes the covariance within languages the identity where
    possible. The values are eigenvalues, descending: scatter of the language means in each
    direction, for LDA relative to that within languages. Beyond the rank they are 0, and directions
    are sorted by the variance within languages, the largest first.
    """

    basis: Floats  # (dims, dims), one direction per column
    values: Floats  # (dims,)
    rank: int  # number of directions that identify languages


def densray(means: Floats, within: Floats) -> Directions:
    """Return DensRay's directions: eigenvectors of the scatter of the language means.

    The paper's A = 2 m^2 / (n - 1) sum_i (c_i - c) (c_i - c)^T for means c_i, their mean c and m
    vectors per language (appendix A with A_1 and A_2 taken together); here without 2 m^2. Means
    have the shape ``(n, dims)``; the covariance ``within`` languages, shape ``(dims, dims)``, sorts
    the directions beyond the rank.
    """
    # c = [[1, 0, 0],   centred: [[ 1, 0, 0],   A = [[1, 0, 0],   first direction [1, 0, 0],
    #      [-1, 0, 0],            [-1, 0, 0],        [0, 0, 0],   rank 1 of at most 2
    #      [0, 0, 0]]             [ 0, 0, 0]]        [0, 0, 0]]
    basis, values, rank = _decomposed(means - means.mean(axis=0), within)
    return Directions(_signed(basis), values / (len(means) - 1), rank)


def lda(means: Floats, counts: npt.NDArray[np.int64], within: Floats) -> Directions:
    """Return the directions of linear discriminant analysis (Fisher 1936).

    After a layer normalisation one axis has no variance (the normalised entries sum to 0). Such
    axes come last, with length 1. The counts of vectors, shape ``(n,)``, weight the means, as in
    scikit-learn; the others are those of :func:`densray`. Raises :class:`AtlasError` if there are
    fewer vectors than dimensions.
    """
    if counts.sum() - len(counts) < len(within):
        raise AtlasError(
            f"{counts.sum()} vectors of {len(counts)} languages cannot determine the covariance of "
            f"{len(within)} dimensions; take more vectors per language."
        )
    variances, axes = np.linalg.eigh(within)
    varies = variances > variances[-1] * len(within) * np.finfo(np.float32).eps
    whitening = axes[:, varies] / np.sqrt(variances[varies])
    share = counts / counts.sum()
    centred = (means - share @ means) * np.sqrt(share)[:, None]
    basis, values, rank = _decomposed(centred @ whitening, np.diag(variances[varies]))
    basis = np.hstack([whitening @ basis, axes[:, ~varies]])
    return Directions(_signed(basis), np.append(values, np.zeros((~varies).sum())), rank)


def find_directions(
    parts: Sequence[Path], output: Path, languages: Sequence[str] | None = None
) -> None:
    """Find DensRay's and LDA's directions of every layer, by the means of some languages, or all.

    Parts are folders of :func:`mbert_atlas.representations.language_vectors.collect_vectors`, each
    of different languages; the covariance within languages is that of them all. Writes a token
    store: ``densray_basis`` and ``lda_basis`` (float64, ``(layers, dims, dims)``, a direction per
    column), ``densray_values`` and ``lda_values`` (float64, ``(layers, dims)``), ``densray_rank``
    and ``lda_rank`` (int64, ``(layers,)``), ``means`` (float64, ``(n, layers, dims)``), ``mean``,
    that of all vectors of these languages (float64, ``(layers, dims)``), and ``languages`` in the
    meta data.
    """
    stores = list(map(load_arrays, parts))
    every = [code for store in stores for code in store.meta["languages"]]
    counts, means = (
        np.concatenate([store.dense(name) for store in stores]) for name in ("counts", "means")
    )
    scatter = reduce(np.add, [store.dense("scatter") for store in stores])  # around their means
    freedom = counts.sum() - len(counts)
    languages = every if languages is None else languages
    rows = [every.index(code) for code in languages]
    means, counts = means[rows], counts[rows]
    bases: dict[str, list[Directions]] = {"densray": [], "lda": []}
    for layer in track(range(means.shape[1]), "directions, layers"):
        within = scatter[layer] / freedom
        bases["densray"].append(densray(means[:, layer], within))
        bases["lda"].append(lda(means[:, layer], counts, within))
    mean = np.average(means, axis=0, weights=counts)
    arrays: dict[str, Any] = {"means": means, "mean": mean}
    for name, directions in bases.items():
        for field, values in zip(Directions._fields, zip(*directions, strict=True), strict=True):
            arrays[f"{name}_{field}"] = np.stack(values)
    save_arrays(output, arrays, {"languages": list(languages)})


def _decomposed(centred: Floats, within: Floats) -> Directions:
    """Return the right singular vectors, sorted as in :class:`Directions`, and squared values."""
    _, singular, rows = np.linalg.svd(centred, full_matrices=True)
    rank = int((singular > singular[0] * max(centred.shape) * np.finfo(float).eps).sum())
    values = np.zeros(len(within))
    values[:rank] = singular[:rank] ** 2
    return Directions(np.hstack([rows[:rank].T, _by_variance(rows[rank:].T, within)]), values, rank)


def _by_variance(directions: Floats, covariance: Floats) -> Floats:
    """Rotate an orthonormal basis of a subspace so that its columns have descending variance."""
    _, rotation = np.linalg.eigh(directions.T @ covariance @ directions)
    return np.asarray(directions @ rotation[:, ::-1])


def _signed(basis: Floats) -> Floats:
    """Make the largest entry of every column positive: the sign of an eigenvector is arbitrary."""
    largest = np.abs(basis).argmax(axis=0)
    return np.asarray(basis * np.sign(basis[largest, np.arange(basis.shape[1])]))
