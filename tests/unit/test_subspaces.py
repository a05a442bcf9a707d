"""DensRay and LDA against sums over all pairs and against scikit-learn."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mbert_atlas.analysis.subspaces import Moments, densray, lda, merged
from mbert_atlas.errors import AtlasError

LANGUAGES, DIMS = 5, 8


def toy(seed: int = 0, size: int = 40) -> np.ndarray:
    """Vectors of five languages, shape (languages, size, dims); the axes differ in spread."""
    random = np.random.default_rng(seed)
    means = random.normal(size=(LANGUAGES, 1, DIMS)) * 2
    return means + random.normal(size=(LANGUAGES, size, DIMS)) * np.linspace(0.5, 2, DIMS)


def moments_of(vectors: np.ndarray, names: str = "abcde") -> Moments:
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    scatter = np.einsum("lmd,lme->de", centred, centred)[None]
    counts = np.full(len(vectors), vectors.shape[1])
    return Moments(list(names), counts, vectors.mean(axis=1)[:, None], scatter)


def by_all_pairs(vectors: np.ndarray) -> np.ndarray:
    """DensRay's matrix as in the paper: pairs across languages minus pairs within."""
    total = np.zeros((DIMS, DIMS))
    count, size = vectors.shape[:2]
    for i in range(count):
        for j in range(count):
            differences = (vectors[i][:, None] - vectors[j][None]).reshape(-1, DIMS)
            weight = 1 / (count * (count - 1)) if i != j else -1 / count
            total += weight * differences.T @ differences / (size * size)
    return total


def test_densray_is_the_sum_over_all_pairs() -> None:
    vectors = toy()
    own = moments_of(vectors)
    found = densray(own.means[:, 0], own.within(0))
    expected = by_all_pairs(vectors)
    values, axes = np.linalg.eigh(expected)
    assert found.rank == LANGUAGES - 1
    np.testing.assert_allclose(2 * found.values, np.maximum(values[::-1], 0), atol=1e-9)
    for number in range(found.rank):
        assert abs(found.basis[:, number] @ axes[:, -1 - number]) == pytest.approx(1, abs=1e-9)


def test_beyond_the_rank_the_basis_is_sorted_by_variance() -> None:
    own = moments_of(toy())
    basis, values, rank = densray(own.means[:, 0], own.within(0))
    np.testing.assert_allclose(basis.T @ basis, np.eye(DIMS), atol=1e-12)
    assert not values[rank:].any()
    beyond = basis[:, rank:].T @ own.within(0) @ basis[:, rank:]
    np.testing.assert_allclose(beyond, np.diag(np.diag(beyond)), atol=1e-9)
    assert (np.diff(np.diag(beyond)) <= 0).all()
    largest = np.abs(basis).argmax(axis=0)
    assert (basis[largest, np.arange(DIMS)] > 0).all()


def test_lda_is_that_of_scikit_learn() -> None:
    vectors = toy()
    own = moments_of(vectors)
    found = lda(own.means[:, 0], own.counts, own.within(0))
    theirs = LinearDiscriminantAnalysis()
    flat = vectors.reshape(-1, DIMS)
    projected = theirs.fit(flat, np.repeat(np.arange(LANGUAGES), vectors.shape[1])).transform(flat)
    ours = (flat - flat.mean(axis=0)) @ found.basis[:, : found.rank]
    assert found.rank == projected.shape[1] == LANGUAGES - 1
    # scikit-learn divides by all vectors where we divide by the degrees of freedom
    freedom = np.sqrt(1 - LANGUAGES / len(flat))
    np.testing.assert_allclose(np.abs(ours), np.abs(projected) * freedom, rtol=1e-6, atol=1e-8)
    shares = found.values[: found.rank] / found.values.sum()
    np.testing.assert_allclose(shares, theirs.explained_variance_ratio_, atol=1e-9)
    within = found.basis.T @ own.within(0) @ found.basis
    np.testing.assert_allclose(within, np.eye(DIMS), atol=1e-8)


def test_lda_needs_more_vectors_than_dimensions() -> None:
    own = moments_of(toy(size=2))
    with pytest.raises(AtlasError, match="10 vectors of 5 languages cannot determine"):
        lda(own.means[:, 0], own.counts, own.within(0))


def test_parts_add_up() -> None:
    vectors = toy()
    parts = [moments_of(vectors[:2], "ab"), moments_of(vectors[2:], "cde")]
    whole = moments_of(vectors)
    found = merged(parts)
    assert found.languages == whole.languages
    np.testing.assert_allclose(found.within(0), whole.within(0))
    np.testing.assert_array_equal(found.means, whole.means)


def test_an_axis_without_variance_comes_last() -> None:
    vectors = toy(size=60)
    vectors -= vectors.mean(axis=2, keepdims=True)  # as a layer normalisation leaves them
    own = moments_of(vectors)
    basis, _, rank = lda(own.means[:, 0], own.counts, own.within(0))
    assert rank == LANGUAGES - 1
    assert np.isfinite(basis).all()
    np.testing.assert_allclose(np.abs(basis[:, -1]), 1 / np.sqrt(DIMS))
    inside = basis[:, :-1].T @ own.within(0) @ basis[:, :-1]
    np.testing.assert_allclose(inside, np.eye(DIMS - 1), atol=1e-9)
