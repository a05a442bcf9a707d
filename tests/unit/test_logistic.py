"""Regressions of all windows at once against scikit-learn's, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mbert_atlas.analysis.logistic import Sample, count_correct, fit_windows


def toy(gap: float, count: int = 3000, dims: int = 30) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    gold = np.repeat([False, True], count // 2)
    vectors = random.normal(size=(count, dims)) * np.linspace(3, 0.3, dims)
    vectors[gold] += gap * random.normal(size=dims)
    return vectors.astype(np.float32), gold


WINDOWS = [slice(0, 1), slice(0, 10), slice(10, 20), slice(0, 30)]


@pytest.mark.parametrize("gap", [0.05, 0.5, 3.0])
def test_windows_converge_to_what_scikit_learn_finds(gap: float) -> None:
    vectors, gold = toy(gap)
    no, yes = Sample.of(vectors[~gold]), Sample.of(vectors[gold])
    weights, converged = fit_windows(no, yes, WINDOWS, tolerance=1e-9)
    assert converged.all()
    for number, window in enumerate(WINDOWS):
        theirs = LogisticRegression(tol=1e-8, max_iter=10_000).fit(
            vectors[:, window].astype(np.float64), gold
        )
        own = weights[number, :-1].numpy()
        np.testing.assert_allclose(own[window], theirs.coef_[0], atol=0.02, rtol=0.02)
        assert float(weights[number, -1]) == pytest.approx(theirs.intercept_[0], abs=0.02, rel=0.02)
        assert not np.delete(own, np.arange(len(own))[window]).any()


def test_accuracies_are_those_of_scikit_learn() -> None:
    vectors, gold = toy(0.3)
    train, test = (
        [Sample.of(vectors[start::2][gold[start::2] == side]) for side in (False, True)]
        for start in (0, 1)
    )
    weights, _ = fit_windows(*train, WINDOWS)
    right = count_correct(test[0].vectors, test[1].vectors, weights, WINDOWS)
    for number, window in enumerate(WINDOWS):
        theirs = LogisticRegression(max_iter=10_000).fit(vectors[::2, window], gold[::2])
        expected = theirs.score(vectors[1::2, window], gold[1::2])
        assert right[number] / len(gold[1::2]) == pytest.approx(expected, abs=0.001)
