"""Spearman's rho against SciPy, its p-value and its interval."""

import numpy as np
import pytest
from scipy import stats

from mbert_atlas.analysis.correlation import spearman
from mbert_atlas.errors import AtlasError


@pytest.mark.parametrize("n", [4, 17])
@pytest.mark.parametrize("ties", [False, True])
def test_rho_and_p_value_equal_scipy(n: int, ties: bool) -> None:
    random = np.random.default_rng(n)
    x = random.normal(size=n)
    y = -x + random.normal(size=n)
    if ties:
        x, y = x.round(), y.round()
        x[0] = x[1] + 5
    found = spearman(x, y)
    expected = stats.spearmanr(x, y)
    assert found.rho == pytest.approx(expected.statistic, abs=1e-12)
    if n == 17:
        assert found.p_value == pytest.approx(expected.pvalue, abs=0.015)
    else:  # all orders
        exact = stats.permutation_test(
            (x,), lambda side: stats.spearmanr(side, y).statistic, permutation_type="pairings"
        )
        assert found.p_value == pytest.approx(exact.pvalue, abs=0.015)
    assert found.n == n
    assert spearman(x, -y).rho == pytest.approx(-found.rho)


def test_the_interval_covers_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a bivariate normal rho is 6 / pi asin(r / 2)."""
    monkeypatch.setattr("mbert_atlas.analysis.correlation._PERMUTATIONS", 2)
    random = np.random.default_rng(0)
    r, covered = -0.7, []
    truth = 6 / np.pi * np.arcsin(r / 2)
    for _ in range(300):
        x = random.normal(size=20)
        found = spearman(x, r * x + np.sqrt(1 - r**2) * random.normal(size=20))
        covered.append(found.low < truth < found.high)
    assert 0.92 < np.mean(covered) < 0.98


def test_the_example_of_the_comment() -> None:
    found = spearman([3.0, 1, 2, 9], [5.0, 6, 7, 1])
    assert (found.rho, found.n) == (pytest.approx(-0.8), 4)
    assert -1 <= found.low <= found.high <= 1


@pytest.mark.parametrize(("n", "low"), [(4, -0.72977), (6, 0.62377), (20, 0.99759)])
def test_a_perfect_correlation_is_not_certain(n: int, low: float) -> None:
    """Half a step below 1, by hand: n = 4 gives z = atanh(1 - 6 / 60) and z - 1.96 sqrt(1.5)."""
    found = spearman(range(n), range(n))
    assert (found.rho, found.high) == (1, 1)
    assert found.low == pytest.approx(low, abs=1e-4)
    below = spearman(range(n), [1, 0, *range(2, n)])  # the nearest that is not perfect
    assert below.low < found.low
    opposite = spearman(range(n), range(n, 0, -1))
    assert (opposite.low, opposite.high) == (-1, pytest.approx(-low, abs=1e-4))


@pytest.mark.parametrize("values", [[1, 2, 3], [1, 1, 1, 1]])
def test_what_cannot_be_correlated(values: list[int]) -> None:
    with pytest.raises(AtlasError, match=r"fewer than four pairs, or .* constant"):
        spearman(values, [3, 1, 2, 4][: len(values)])
