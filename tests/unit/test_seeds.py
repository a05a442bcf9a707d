"""Pooled seed variance, compared with calculations by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import polygamma
from toy_claims import key, measured

from mbert_atlas.scorecard.cells import Key, Measured
from mbert_atlas.scorecard.seeds import (
    Pools,
    Term,
    components,
    freedom_of,
    prior_of,
    run_spreads,
    with_own,
    without_outlying,
)

LANGUAGES = ("en", "ru", "hi")
EXAMPLE = {
    key("original", "ru"): measured(60, 62),
    key("original", "hi"): measured(50, 54),
    key("adjusted", "ru"): measured(66, 66),
    key("adjusted", "hi"): measured(55, 57),
}
"""The example of docs/verdicts-simulated.md."""


def mean_difference() -> dict[Key, float]:
    return {name: 0.5 if name[4] == "adjusted" else -0.5 for name in EXAMPLE}


def test_the_example_of_the_docs() -> None:
    pools = Pools(EXAMPLE, LANGUAGES)
    found = pools.components(pools.of(key("adjusted", "ru")))
    assert found.variances.tolist() == pytest.approx([1, 1, 1, 0])
    (term,) = pools.terms(mean_difference()) or []
    assert term == pytest.approx((1, 1))
    (term,) = pools.pooled(mean_difference(), 4) or []
    assert term.variance == pytest.approx(0.5)


def test_the_degrees_of_freedom_are_those_of_the_pool() -> None:
    """Seven runs and four tests with three seeds: 2, 6 x 2, 3 x 2 and (28 - 7 - 4 + 1) x 2."""
    random = np.random.default_rng(0)
    values = {
        (run, test): dict(enumerate(random.normal(size=3))) for run in range(7) for test in range(4)
    }
    assert components(values).freedom.tolist() == [2, 12, 6, 36]
    one_test = {place: item for place, item in values.items() if place[1] == 0}
    assert components(one_test).freedom[3] == 12
    alone = {place: item for place, item in values.items() if place == (0, 0)}
    assert components(alone).freedom[3] == 2
    assert components(alone).variances[3] == pytest.approx(np.var([*alone[0, 0].values()], ddof=1))


def test_the_variances_are_found_again() -> None:
    """Variances 1, 4, .25 and 2.25 of 60 runs, 40 tests and 30 seeds."""
    random = np.random.default_rng(1)
    shape = (60, 40, 30)
    scores = (
        random.normal(0, 1, shape[2])
        + random.normal(0, 2, (shape[0], 1, shape[2]))
        + random.normal(0, 0.5, (1, *shape[1:]))
        + random.normal(0, 1.5, shape)
    )
    values = {place: dict(enumerate(scores[place])) for place in np.ndindex(shape[:2])}
    assert components(values).variances == pytest.approx([1, 4, 0.25, 2.25], rel=0.3)


def test_a_difference_of_means_over_tests_has_the_mean_square_of_the_runs() -> None:
    """Seven runs, four tests, three seeds: 2 M / (4 · 3), M with 6 x 2 degrees of freedom."""
    random = np.random.default_rng(2)
    languages = ("ru", "hi", "vi", "es")
    scores = random.normal(size=(7, 4, 3)) + random.normal(0, 3, size=(7, 1, 3))
    scores += 10 * np.arange(3)  # common to all, which a difference does not have
    cells = {
        key(f"run{run}", target): measured(*scores[run, place])
        for run in range(7)
        for place, target in enumerate(languages)
    }
    weights = {
        key(f"run{run}", target): sign / 4
        for run, sign in ((0, 1), (1, -1))
        for target in languages
    }
    (term,) = Pools(cells, languages).terms(weights) or []
    means = scores.mean(axis=1)
    rest = means - means.mean(axis=0) - means.mean(axis=1, keepdims=True) + means.mean()
    assert term == pytest.approx((2 * (rest**2).sum() / 12 / 3, 12))


def test_degrees_of_freedom_of_a_sum_are_those_of_welchs_test() -> None:
    random = np.random.default_rng(4)
    one, other = random.normal(0, 3, 4), random.normal(0, 1, 9)
    terms = [Term(np.var(some, ddof=1) / len(some), len(some) - 1) for some in (one, other)]
    assert freedom_of(terms) == pytest.approx(stats.ttest_ind(one, other, equal_var=False).df)
    assert freedom_of([]) == math.inf
    assert freedom_of([Term(0.0, 3), Term(0.0, 2)]) == 2


def test_runs_with_seeds_of_their_own_have_the_variance_within_groups() -> None:
    """SciPy's F is that of the means of the runs, over the mean square within."""
    scores = np.random.default_rng(6).normal(size=(6, 3)) + np.arange(6)[:, None]
    values = {(run, "test"): dict(enumerate(some, 10 * run)) for run, some in enumerate(scores)}
    within = 3 * np.var(scores.mean(axis=1), ddof=1) / stats.f_oneway(*scores).statistic
    found = components(values)
    assert found.variances == pytest.approx([0, 0, 0, within])
    assert found.freedom[3] == 12


def test_a_cell_with_one_seed_takes_the_variance_of_its_pool() -> None:
    cells = EXAMPLE | {key("replayed", "ru"): measured(40)}
    (term,) = Pools(cells, LANGUAGES).terms({key("replayed", "ru"): 1.0}) or []
    assert term.variance == pytest.approx(3)


def test_a_pool_without_a_second_seed_takes_the_wider_one() -> None:
    own_language = key("original", "en")
    pools = Pools(EXAMPLE | {own_language: measured(80)}, LANGUAGES)
    assert sum(term.variance for term in pools.terms({own_language: 1.0}) or []) == pytest.approx(3)


def test_without_any_second_seed_nothing_is_known() -> None:
    cells = {key("original"): measured(60), key("original", metric="f1"): measured(50, 52)}
    assert Pools(cells, LANGUAGES).terms({key("original"): 1.0}) is None


def test_a_number_without_seed_has_no_variance_over_seeds() -> None:
    assert Pools({key("original"): Measured({None: 3.0}, 10)}, ()).terms({key("original"): 1}) == []


def test_a_cell_that_two_artifacts_show_counts_once() -> None:
    again = {("toy2020", "table9", *name[2:]): cell for name, cell in EXAMPLE.items()}
    pools = Pools(EXAMPLE | again, LANGUAGES)
    pool = pools.of(key("adjusted", "ru"))
    assert len(pools.members(pool)) == 4
    assert pools.components(pool).freedom.tolist() == [1, 1, 1, 1]


def test_a_run_under_two_names_counts_once() -> None:
    again = {name: EXAMPLE[name] for name in EXAMPLE if name[4] == "adjusted"}
    renamed = {key("adjusted_30K", name[6]): cell for name, cell in again.items()}
    pools = Pools(EXAMPLE | renamed, LANGUAGES)
    # The two equal seeds of Russian are no sign of the same run.
    assert len(pools.members(pools.of(key("adjusted", "ru")))) == 5


@pytest.mark.parametrize(
    "other",
    [
        key("original_delta"),
        key("original", "en"),
        key("original", "mean_x"),
        (*key("original")[:7], "lower", "accuracy"),
        key("original", metric="f1"),
        key("original", task="pos"),
    ],
)
def test_what_spreads_differently_has_a_separate_pool(other: Key) -> None:
    names = [f"run{number}" for number in range(5)]
    cells = {key(name): measured(1, 2) for name in names}
    others = {
        (*other[:3], name, f"{name}_{other[4]}", *other[5:]): measured(1, 3) for name in names
    }
    pools = Pools(cells | others, LANGUAGES)
    assert {pools.of(name) for name in others} != {pools.of(name) for name in cells}
    assert set(pools.members(pools.of(next(iter(others))))) == set(others)


def test_a_small_pool_takes_the_wider_one() -> None:
    """Four degrees of freedom are enough: five runs with two seeds, on one test."""
    few, enough = (
        {key(f"run{number}"): measured(number, 2 * number + 1) for number in range(runs)}
        for runs in (4, 5)
    )
    means = {key(f"run{number}", "mean_x"): measured(number, 9) for number in range(4)}
    for some, members in ((few, len(few | means)), (enough, len(enough))):
        pools = Pools(some | means, LANGUAGES)
        assert len(pools.members(pools.of(key("run1")))) == members


def test_tasks_are_pooled_under_a_common_name() -> None:
    cells = {
        key(f"run{run}", task=task): measured(run, 2 * run + place + 1)
        for run in range(5)
        for place, task in enumerate(("xquad", "mlqa"))
    }
    pools = Pools(cells, LANGUAGES, lambda key: "qa")
    pool = pools.of(key("run1", task="xquad"))
    assert len(pools.members(pool)) == 10
    assert pools.components(pool).freedom.tolist() == [1, 4, 1, 4]


@pytest.mark.parametrize(("freedom", "critical"), [(1, 0.841), (2, 0.684)])
def test_a_run_leaves_its_pool_by_cochrans_test(freedom: float, critical: float) -> None:
    """ISO 5725-2, table 4: the critical values of five laboratories, at level .05."""
    for share, left in ((critical - 0.002, 5), (critical + 0.002, 4)):
        spreads = {run: Term(1.0, freedom) for run in range(4)}
        spreads[4] = Term(4 * share / (1 - share), freedom)
        assert len(without_outlying(spreads)) == left


def test_the_prior_is_that_of_the_variances() -> None:
    """Inverse chi-squared with five degrees of freedom, each estimated with two."""
    random = np.random.default_rng(0)
    variances = 5 / random.chisquare(5, 20_000) * random.chisquare(2, 20_000) / 2
    assert prior_of([Term(value, 2) for value in variances]) == pytest.approx(5, rel=0.1)
    by_hand = prior_of([Term(value, 4) for value in (1.0, 4.0, 16.0)])
    assert polygamma(1, by_hand / 2) == pytest.approx(math.log(4) ** 2 - (math.pi**2 / 6 - 1))
    assert prior_of([Term(1.0, 4), Term(2.0, 4)]) == math.inf  # .24 < .645
    assert prior_of([Term(1e-9, 4), Term(1e9, 4)]) == pytest.approx(0.5)
    assert prior_of([Term(1.0, 4)]) == math.inf


def test_few_seeds_are_moderated_by_the_pool() -> None:
    """Worth 1 / (1/4 + 1/6) = 2.4 degrees: (2.4 · 1 + 3) / 3.4; F(.9; 1, 6) = 3.776."""
    pooled = [Term(1.0, 6)]
    assert with_own(pooled, math.inf, [Term(3.0, 1)]) == pooled
    (term,) = with_own(pooled, 4, [Term(3.0, 1)])
    assert term == pytest.approx((5.4 / 3.4, 3.4))
    assert with_own(pooled, 4, []) == [pytest.approx((1.0, 2.4))]
    (term,) = with_own(pooled, 4, [Term(0.0, 1)])  # both seeds the same
    assert term == pytest.approx((2.4 / 3.4, 3.4))
    for prior in (4, math.inf):  # wider than the pool allows
        assert with_own(pooled, prior, [Term(3.8, 1)]) == [Term(3.8, 1)]


def test_four_seeds_need_no_pool() -> None:
    cells = EXAMPLE | {
        key("stable", target): measured(70, 70.1, 69.9, 70) for target in ("ru", "hi")
    }
    weights = {key("stable", target): 0.5 for target in ("ru", "hi")}
    assert Pools(cells, LANGUAGES).terms(weights) == [pytest.approx((0.02 / 3 / 4, 3))]
    assert with_own([Term(1.0, 6)], math.inf, [Term(0.0, 3)]) == [Term(1.0, 6)]


def test_an_effect_is_taken_seed_by_seed() -> None:
    """Original and adjusted fall together by 2 and 4: their difference does not."""
    cells = {
        key("original"): measured(60, 62, 58, 64),
        key("adjusted"): measured(66, 68, 64, 70),
    }
    weights = {key("adjusted"): 1.0, key("original"): -1.0}
    assert Pools(cells, LANGUAGES)._own(weights) == [Term(0.0, 3)]
    cells[key("adjusted")] = measured(66, 68, 65, 70)
    assert Pools(cells, LANGUAGES).terms(weights) == [pytest.approx((0.25 / 4, 3))]


def test_runs_without_spread_and_wide_ones_are_not_in_the_pool() -> None:
    runs = {key(f"run{number}"): measured(number, number + 2) for number in range(5)}
    constant = {key(f"pretrained{number}"): measured(number, number) for number in range(5)}
    wide = {key("wide"): measured(0, 40)}
    for cells in (runs, runs | constant, runs | wide):
        pools = Pools(cells, LANGUAGES)
        assert pools.components(pools.of(key("run1"))).variances.sum() == pytest.approx(2)


def test_the_spread_of_a_run_is_that_of_its_mean_over_tests() -> None:
    """Half the differences 1 and 2: the mean is 1.5 to either side, twice 2.25."""
    values = {("run", test): cell for test, cell in ((1, {1: 60, 2: 62}), (2, {1: 50, 2: 54}))}
    assert run_spreads(values) == {"run": Term(4.5, 1)}


def test_a_class_has_a_pool_of_its_own() -> None:
    static = {key(f"glove{number}"): measured(number, number + 8) for number in range(5)}
    kinds = Pools(static | EXAMPLE, LANGUAGES, lambda name: name[4].startswith("glove"))
    assert set(kinds.members(kinds.of(key("glove1")))) == set(static)
    bert = {key("bert"): measured(50)}
    kinds = Pools(static | bert, LANGUAGES, lambda name: name[4].startswith("glove"))
    assert kinds.terms({key("bert"): 1.0}) is None
