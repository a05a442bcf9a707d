"""Regressions on shared vectors against scikit-learn's, one by one."""

import logging

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from mbert_atlas.analysis import lbfgs
from mbert_atlas.analysis.logistic import fit_regressions

GROUPS, SIZE, DIMS = 12, 150, 8


def toy(gap: float) -> tuple[list[torch.Tensor], np.ndarray]:
    """Groups with different means and sizes, some left out of some regressions."""
    random = np.random.default_rng(0)
    spread = np.linspace(3, 0.3, DIMS)
    groups = [
        random.normal(size=(SIZE + 10 * number, DIMS)) * spread + gap * random.normal(size=DIMS) + 1
        for number in range(GROUPS)
    ]
    signs = random.choice([-1, 0, 1], size=(GROUPS, 9)).astype(np.int8)
    signs[:2] = [[1], [-1]]  # both classes everywhere
    signs[2:, 8] = 0  # two groups alone, as of a pair of languages
    return [torch.from_numpy(own.astype(np.float32)) for own in groups], signs


def rows_of(groups: list[torch.Tensor], signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and classes of one regression, as scikit-learn takes them."""
    kept = [(own.numpy(), sign) for own, sign in zip(groups, signs, strict=True) if sign]
    gold = np.concatenate([np.full(len(own), sign > 0) for own, sign in kept])
    return np.concatenate([own for own, _ in kept]).astype(np.float64), gold


@pytest.mark.parametrize("gap", [0.05, 0.5, 3.0])
def test_it_converges_to_what_scikit_learn_finds(
    gap: float, caplog: pytest.LogCaptureFixture
) -> None:
    groups, signs = toy(gap)
    weights = fit_regressions(groups, signs, tolerance=1e-9)
    assert "converge" not in caplog.text
    for number, own in enumerate(weights.numpy()):
        theirs = LogisticRegression(tol=1e-8, max_iter=10_000)
        theirs.fit(*rows_of(groups, signs[:, number]))
        np.testing.assert_allclose(own[:-1], theirs.coef_[0], atol=0.01, rtol=0.01)
        assert own[-1] == pytest.approx(theirs.intercept_[0], abs=0.01, rel=0.01)


def test_regressions_that_do_not_converge_are_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lbfgs, "_MOST_STEPS", 1)
    with caplog.at_level(logging.WARNING):
        fit_regressions(*toy(0.5), tolerance=1e-9)
    assert "9 of 9 regressions did not converge" in caplog.text
