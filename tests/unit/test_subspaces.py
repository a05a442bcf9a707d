"""DensRay and LDA against sums over all pairs and against scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from mbert_atlas.analysis.subspaces import densray, find_directions, lda
from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.errors import AtlasError

LANGUAGES, DIMS = 5, 8


def toy(seed: int = 0, size: int = 40) -> np.ndarray:
    """Vectors of five languages, shape (languages, size, dims); the axes differ in spread."""
    random = np.random.default_rng(seed)
    means = random.normal(size=(LANGUAGES, 1, DIMS)) * 2
    return means + random.normal(size=(LANGUAGES, size, DIMS)) * np.linspace(0.5, 2, DIMS)


def moments_of(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of the languages, their numbers of vectors, and the scatter within them."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    counts = np.full(len(vectors), vectors.shape[1])
    return vectors.mean(axis=1), counts, np.einsum("lmd,lme->de", centred, centred)


def within_of(vectors: np.ndarray) -> np.ndarray:
    """Return the covariance within languages."""
    _, counts, scatter = moments_of(vectors)
    within: np.ndarray = scatter / (counts.sum() - len(counts))
    return within


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
    found = densray(vectors.mean(axis=1), within_of(vectors))
    expected = by_all_pairs(vectors)
    values, axes = np.linalg.eigh(expected)
    assert found.rank == LANGUAGES - 1
    np.testing.assert_allclose(2 * found.values, np.maximum(values[::-1], 0), atol=1e-9)
    for number in range(found.rank):
        assert abs(found.basis[:, number] @ axes[:, -1 - number]) == pytest.approx(1, abs=1e-9)


def test_beyond_the_rank_the_basis_is_sorted_by_variance() -> None:
    within = within_of(toy())
    basis, values, rank = densray(toy().mean(axis=1), within)
    np.testing.assert_allclose(basis.T @ basis, np.eye(DIMS), atol=1e-12)
    assert not values[rank:].any()
    beyond = basis[:, rank:].T @ within @ basis[:, rank:]
    np.testing.assert_allclose(beyond, np.diag(np.diag(beyond)), atol=1e-9)
    assert (np.diff(np.diag(beyond)) <= 0).all()
    largest = np.abs(basis).argmax(axis=0)
    assert (basis[largest, np.arange(DIMS)] > 0).all()


def test_lda_is_that_of_scikit_learn() -> None:
    vectors = toy()
    means, counts, _ = moments_of(vectors)
    found = lda(means, counts, within_of(vectors))
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
    within = found.basis.T @ within_of(vectors) @ found.basis
    np.testing.assert_allclose(within, np.eye(DIMS), atol=1e-8)


def test_lda_needs_more_vectors_than_dimensions() -> None:
    means, counts, _ = moments_of(toy(size=2))
    with pytest.raises(AtlasError, match="10 vectors of 5 languages cannot determine"):
        lda(means, counts, within_of(toy(size=2)))


def test_parts_add_up(tmp_path: Path) -> None:
    vectors = toy()
    parts = {"ab": vectors[:2], "cde": vectors[2:]}
    for languages, some in parts.items():
        means, counts, scatter = moments_of(some)
        arrays = {"means": means[:, None], "counts": counts, "scatter": scatter[None]}
        save_arrays(tmp_path / languages, arrays, {"languages": list(languages)})
    find_directions([tmp_path / name for name in parts], tmp_path / "found", list("ace"))
    found, some = load_arrays(tmp_path / "found"), vectors[[0, 2, 4]]
    whole = densray(some.mean(axis=1), within_of(vectors))
    np.testing.assert_allclose(found.dense("densray_basis"), whole.basis[None], atol=1e-9)
    assert found.dense("densray_rank").tolist() == found.dense("lda_rank").tolist() == [2]
    np.testing.assert_allclose(found.dense("mean"), some.mean(axis=(0, 1))[None])
    assert found.meta["languages"] == ["a", "c", "e"]


def test_an_axis_without_variance_comes_last() -> None:
    vectors = toy(size=60)
    vectors -= vectors.mean(axis=2, keepdims=True)  # as a layer normalisation leaves them
    means, counts, _ = moments_of(vectors)
    basis, _, rank = lda(means, counts, within_of(vectors))
    assert rank == LANGUAGES - 1
    assert np.isfinite(basis).all()
    np.testing.assert_allclose(np.abs(basis[:, -1]), 1 / np.sqrt(DIMS))
    inside = basis[:, :-1].T @ within_of(vectors) @ basis[:, :-1]
    np.testing.assert_allclose(inside, np.eye(DIMS - 1), atol=1e-9)
