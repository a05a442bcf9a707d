"""Effects and their intervals, compared with calculations by hand and with a simulation."""

import importlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit
from test_seeds import EXAMPLE, LANGUAGES, mean_difference
from toy_claims import key, measured

from mbert_atlas.analysis.correlation import spearman
from mbert_atlas.scorecard.cells import Key, Measured
from mbert_atlas.scorecard.claims import Expected
from mbert_atlas.scorecard.estimates import Estimate, Evidence, Scale
from mbert_atlas.scorecard.seeds import Term

DIFFERENCE = {key("adjusted"): 1.0, key("original"): -1.0}


def estimate(weights: dict[Key, float], cells: dict[Key, Measured]) -> Estimate:
    return Evidence(cells, LANGUAGES).estimate(weights)


def half(found: Estimate, level: float = 0.05) -> float:
    low, high = found.interval(level)
    return (high - low) / 2


def variance(terms: Sequence[Term]) -> float:
    return sum(term.variance for term in terms)


def with_seeds(found: Estimate, number: int) -> Estimate:
    """The same estimate if all cells had as many seeds, and its degrees of freedom stayed."""
    times = found.of_one_seed / number
    return replace(found, over_seeds=[Term(times * v, f) for v, f in found.over_seeds])


def waves(*sizes: float) -> list[np.ndarray]:
    """400 resamples each, of these variances, uncorrelated."""
    place = np.arange(400)
    both = [np.cos(2 * np.pi * (number + 1) * place / 400) for number in range(len(sizes))]
    return [
        math.sqrt(size) * wave / wave.std(ddof=1) for size, wave in zip(sizes, both, strict=True)
    ]


def test_the_example_of_the_docs() -> None:
    """A variance of 1 over seeds, 1.2 over items of which .2 differ by seed: ±12.86."""
    shared, of_seed = waves(1.0, 0.2)
    cells = {}
    for name, cell in EXAMPLE.items():
        # The whole effect is in one cell of weight 1/2: twice the deviation.
        is_first = name == key("adjusted", "ru")
        parts = (
            [2 * shared + 2 * of_seed, 2 * shared - 2 * of_seed] if is_first else [shared * 0] * 2
        )
        # Means over two seeds differ by 2 of_seed: I / 2 = (2 of_seed)² = .8, times (1/2)² = .2.
        cells[name] = cell._replace(resampled=dict(enumerate(parts, 1)), n_items=1000)
    # The mean over both seeds is 2 shared; add what the mean over seeds has of the interaction.
    first = cells[key("adjusted", "ru")]
    extra = waves(0, 0, 0.2)[2] * 2
    cells[key("adjusted", "ru")] = first._replace(
        resampled={seed: each + extra for seed, each in first.resampled.items()}
    )
    found = estimate(mean_difference(), cells)
    assert found.effect == pytest.approx(4.5)
    assert found.over_seeds == [pytest.approx((1, 1))]
    assert found.over_items == [pytest.approx((1, 399))]
    assert half(found) == pytest.approx(12.86, abs=0.005)
    six = replace(found, over_seeds=[Term(1.0, 6)])
    assert half(six) == pytest.approx(3.14, abs=0.005)
    assert found.basis == "seed- and item-level CI, 2 seeds"


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        ([(1, "accuracy", 90, 100)], 80.6, 93.4),
        ([(1, "accuracy", 0, 100)], 0, 7.6),
        ([(1, "accuracy", 60, 400), (-1, "accuracy", 50, 400)], 3.1, 16.9),
        (
            [
                (sign, "accuracy", share, 400)
                for sign, share in ((1, 60), (-1, 50), (-1, 55), (1, 50))
            ],
            *(-4.7, 14.7),
        ),
        ([(1, "gain_over_original", 8, 400)], 1.1, 14.9),
        ([(1, "spearman_cross_lingual_gap_vs_similarity", 0.47, 17)], -0.04, 0.79),
        ([(1, "spearman_cross_lingual_gap_vs_similarity", 1, 5)], 0.13, 1),
    ],
)
def test_the_examples_of_the_docs_without_seeds(
    cells: list[tuple[int, str, float, int]], low: float, high: float
) -> None:
    names = [key(f"run{place}", metric=metric) for place, (_, metric, *_) in enumerate(cells)]
    values = {
        name: Measured({None: value}, n)
        for name, (_, _, value, n) in zip(names, cells, strict=True)
    }
    weights = {name: float(sign) for name, (sign, *_) in zip(names, cells, strict=True)}
    digits = 0.005 if high <= 1 else 0.05
    assert estimate(weights, values).interval(0.05) == pytest.approx((low, high), abs=digits)


def test_the_similarity_of_the_docs() -> None:
    """Two layers, each with a variance of 4, that share half of it: 10 ± 3.93."""
    common, one, other = waves(2, 2, 2)
    names = [(*key("tuned", metric="cka_percent")[:7], layer, "cka_percent") for layer in "58"]
    cells = {
        name: Measured({None: value}, 300, {None: common + rest})
        for name, value, rest in zip(names, (80, 70), (one, other), strict=True)
    }
    found = estimate(dict(zip(names, (1.0, -1.0), strict=True)), cells)
    assert found.interval(0.05) == pytest.approx((6.07, 13.93), abs=0.005)


def test_conditions_on_one_test_set_are_paired() -> None:
    (wave, other) = waves(4.0, 0.09)
    cells = {
        key("original"): Measured({None: 60.0}, 1000, {None: 60 + wave}),
        key("adjusted"): Measured({None: 61.0}, 1000, {None: 61 + wave + other}),
    }
    assert half(estimate(DIFFERENCE, cells)) == pytest.approx(1.966 * 0.3, abs=0.001)


def test_two_systems_that_never_differ_are_no_certainty() -> None:
    same = np.full(400, 50.0)
    cells = {name: Measured({None: 50.0}, 200, {None: same}) for name in DIFFERENCE}
    assert half(estimate(DIFFERENCE, cells)) == pytest.approx(1.966 * 0.5, abs=0.001)


def test_shares_without_resamples_count_as_independent() -> None:
    """242 of 404 and 202 of 404: 1e4 (.599 · .401 + .25) / 400 = 12.25, 1.96 · 3.50 = 6.86."""
    cells = {key("adjusted"): Measured({None: 60}, 400), key("original"): Measured({None: 50}, 400)}
    found = estimate(DIFFERENCE, cells)
    assert found.interval(0.05) == pytest.approx((3.139, 16.861), abs=0.001)
    assert found.basis == "item-level CI, no seeds"


@pytest.mark.parametrize("metric", ["accuracy", "convert_rate"])
@pytest.mark.parametrize("right", [0, 3, 50, 99, 100])
def test_the_interval_of_a_share_is_about_wilsons(metric: str, right: int) -> None:
    full = 100 if metric == "accuracy" else 1
    name = key("original", metric=metric)
    found = estimate({name: 1.0}, {name: Measured({None: full * right / 100}, 100)})
    low, high = found.interval(0.05)
    wilson = stats.binomtest(right, 100).proportion_ci(method="wilson")
    assert 0 <= low <= full * right / 100 <= high <= full
    # Wider near the ends, where two items more of either kind count most.
    assert wilson.low - 0.04 < low / full < wilson.low + 0.01
    assert wilson.high - 0.01 < high / full < wilson.high + 0.04
    assert high - low > 0.01 * full


def test_a_correlation_has_fishers_interval() -> None:
    name = key("original", metric="spearman_cross_lingual_gap_vs_similarity")
    low, high = estimate({name: 1.0}, {name: Measured({None: 0.8}, 17)}).interval(0.05)
    error = math.sqrt((1 + 0.8**2 / 2) / 14)  # Bonett and Wright (2000)
    ends = [math.tanh(math.atanh(0.8) + sign * 1.96 * error) for sign in (-1, 1)]
    assert (low, high) == pytest.approx(ends, abs=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("n", [4, 5, 7, 15, 17])
def test_a_correlation_near_one_is_as_certain_as_its_instrument_says(n: int, sign: int) -> None:
    """Of all orders with at most one exchange of neighbours, and of a mean of such correlations."""
    names = [
        key(f"run{number}", metric="spearman_cross_lingual_gap_vs_similarity") for number in (1, 2)
    ]
    for values in ([*range(n)], [1, 0, *range(2, n)]):
        found = spearman(range(n), [sign * value for value in values])
        cells = {name: Measured({None: found.rho}, n) for name in names}
        assert estimate({names[0]: 1.0}, cells).interval(0.05) == pytest.approx(
            (found.low, found.high), abs=1e-9
        )
        low, high = estimate(dict.fromkeys(names, 0.5), cells).interval(0.05)
        assert found.low <= low <= found.rho <= high <= found.high
        assert high - low < found.high - found.low  # of two


def test_a_difference_stays_where_it_can_be() -> None:
    cells = {key("adjusted"): measured(99, 1), key("original"): measured(2, 0)}
    low, high = estimate(DIFFERENCE, cells).interval(0.05)
    assert (low, high) == (-100, 100)


def test_a_number_that_is_no_share_has_seeds_alone() -> None:
    cells = {
        key(name, metric="mean_ratio"): measured(0.8, 0.6) for name in ("adjusted", "original")
    }
    found = estimate({key("adjusted", metric="mean_ratio"): 1.0}, cells)
    assert found.basis == "seed-level CI, 2 seeds"
    assert not found.over_items


def test_whole_numbers_that_agree_are_no_certainty() -> None:
    """Seeds that agree leave the rounding of both numbers, 1/12 each: ±1.96 √(1/6)."""
    cells = {key(name, metric="best_layer"): measured(3, 3) for name in ("one", "other")}
    found = estimate(dict(zip(cells, (1.0, -1.0), strict=True)), cells)
    assert half(found) == pytest.approx(0.8, abs=0.001)
    assert found.basis == "seed-level CI, 2 seeds"


def test_dimensions_in_steps_have_the_variance_of_a_step() -> None:
    """Windows of 10 dimensions: ±1.96 √(2 · 100/12)."""
    names = [key(name, metric="dimensionality") for name in ("one", "other")]
    cells = {name: measured(30, 30, n=10) for name in names}
    found = estimate(dict(zip(names, (1.0, -1.0), strict=True)), cells)
    assert half(found) == pytest.approx(8.0, abs=0.005)


@pytest.mark.parametrize("value", [0.0, 100.0])
def test_a_level_of_unknown_items_may_be_at_its_end(value: float) -> None:
    cells = {key(f"run{number}", metric="ami"): measured(40, 42, n=None) for number in range(5)}
    cells[key("all", metric="ami")] = measured(value, value, n=None)
    low, high = estimate({key("all", metric="ami"): 1.0}, cells).interval(0.05)
    assert 0 <= low <= value <= high <= 100


def parts(name: Key) -> Iterator[tuple[Key, Key]]:
    if name[4] == "adjusted_delta":
        yield key("adjusted", name[6]), key("original", name[6])


@pytest.mark.parametrize("is_measured", [True, False])
def test_differences_are_judged_as_score_minus_score(is_measured: bool) -> None:
    """The seed variance is that of the pool of scores, with its degrees of freedom."""
    (wave, other) = waves(4.0, 1.0)
    scores = {
        name: cell._replace(resampled={seed: value + wave for seed, value in cell.values.items()})
        for name, cell in EXAMPLE.items()
    }
    deltas = {
        key("adjusted_delta", target): Measured({1: first, 2: second}, 1000, {1: other, 2: other})
        for target, first, second in (("ru", 6.0, 4.0), ("hi", 5.0, 3.0))
    }
    weights = dict.fromkeys(deltas, 0.5)
    cells = {name: scores[name] for name in scores if is_measured or name[4] == "original"}
    found = Evidence(cells | deltas, LANGUAGES, parts).estimate(weights)
    if is_measured:
        direct = Evidence(scores, LANGUAGES).estimate(mean_difference())
        assert (found.terms, found.scale) == (direct.terms, direct.scale)
    else:  # the score is made of both, with what the difference adds on each resample
        assert variance(found.over_items) == pytest.approx(1.0)
    assert found.effect == pytest.approx(4.5)
    assert variance(found.over_seeds) == pytest.approx(1)
    assert Evidence(deltas, LANGUAGES, parts).estimate(weights).effect == pytest.approx(4.5)


@pytest.mark.parametrize("cell", [measured(0.8), Measured({None: 0.8}, None), measured(1, 1)])
def test_without_any_known_error_there_are_no_terms(cell: Measured) -> None:
    name = key("original", metric="mean_ratio")
    assert not estimate({name: 1.0}, {name: cell}).terms


def test_p_is_the_level_at_which_the_interval_touches_the_border() -> None:
    cells = {key("adjusted"): measured(64, 62, 66), key("original"): measured(61, 62, 60)}
    found = estimate(DIFFERENCE, cells)
    holds, fails = found.levels(Expected(above=0))
    assert holds + fails == pytest.approx(1)
    assert found.interval(2 * holds)[0] == pytest.approx(0, abs=1e-9)
    inside, outside = found.levels(Expected(above=-1, below=1))  # the effect is 3
    assert found.interval(2 * outside)[0] == pytest.approx(1, abs=1e-9)
    assert inside > 0.5


def test_seeds_to_decide_leave_the_border_outside() -> None:
    values = {key("adjusted"): (52.0, 55.0), key("original"): (52.5, 51.5)}
    others = {key(f"other{number}"): measured(50, 50 + number % 3) for number in range(12)}
    cells = others | {name: measured(*some, n=200_000) for name, some in values.items()}
    found = estimate(DIFFERENCE, cells)
    low, _ = found.interval(0.05)
    assert low < 0
    seeds = found.seeds_to_decide(Expected(above=0), 0.05)
    assert seeds is not None
    assert seeds > 2
    halves = [half(with_seeds(found, number)) for number in (seeds, seeds - 1)]
    assert halves[0] <= found.effect < halves[1]
    few = {name: cell._replace(n_items=50) for name, cell in cells.items()}
    assert estimate(DIFFERENCE, few).seeds_to_decide(Expected(above=0), 0.05) is None
    both = half(found) + half(found, 0.4)  # 80% of a distribution lie below the end of 60%
    assert found.detectable(Expected(above=0), 0.05) == pytest.approx(both)


def test_what_would_decide_is_on_the_scale_of_the_interval() -> None:
    """An accuracy of 97% with a border of 97.5%: over items the interval is one of logits."""
    cells = {key(f"other{number}"): measured(96, 96 + number % 3) for number in range(12)}
    cells |= {key("adjusted"): measured(96.4, 97.4, n=100_000)}
    found, border = estimate({key("adjusted"): 1.0}, cells), Expected(above=97.5)
    low, high = found.interval(0.05)
    assert low < 97.5 < high
    seeds = found.seeds_to_decide(border, 0.05)
    assert seeds is not None

    ends = [with_seeds(found, number).interval(0.05)[1] for number in (seeds, seeds - 1)]
    assert ends[0] < 97.5 < ends[1]
    # By hand: over items from the logit, with p by Agresti and Coull, over seeds as it is.
    p = (found.effect / 100 * 100_000 + 2) / 100_004
    error = 1 / math.sqrt(100_000 * p * (1 - p))
    distances = []
    for share in (0.975, 0.8):
        of_items = 100 * (expit(logit(p) + stats.norm.ppf(share) * error) - p)
        ((variance_of_seeds, freedom),) = found.over_seeds
        distances.append(math.hypot(of_items, stats.t.ppf(share, freedom) * variance_of_seeds**0.5))
    assert found.detectable(border, 0.05) == pytest.approx(sum(distances))
    assert high == 100 < 100 * p + distances[0]
    assert found.interval(0.4)[1] == pytest.approx(100 * p + distances[1])


def test_what_is_detectable_is_decided_in_four_of_five_runs() -> None:
    """Accuracies of 2,000 items, drawn as far from the border as this run could have detected."""
    n, border, name = 2000, Expected(above=50), key("adjusted")

    def of(right: float) -> Estimate:
        return estimate({name: 1.0}, {name: Measured({None: 100 * right / n}, n)})

    distance = of(1000).detectable(border, 0.05)
    drawn = np.random.default_rng(4).binomial(n, 0.5 + distance / 100, 2000)
    holds = {right: border.contains(*of(right).interval(0.05)) for right in set(drawn.tolist())}
    assert np.mean([holds[right] for right in drawn]) == pytest.approx(0.8, abs=0.03)


def test_few_items_decide_no_possible_level() -> None:
    for items, is_decided in ((4, False), (400, True)):
        found = estimate({key("adjusted"): 1.0}, {key("adjusted"): Measured({None: 50.0}, items)})
        assert math.isfinite(found.detectable(Expected(above=50), 0.05)) == is_decided


def test_what_is_detectable_of_a_correlation_is_on_fishers_scale() -> None:
    name = key("original", metric="spearman_cross_lingual_gap_vs_similarity")
    found = estimate({name: 1.0}, {name: Measured({None: 0.4}, 17)})
    z, error = math.atanh(0.4), math.sqrt((1 + 0.4**2 / 2) / 14)
    ends = [math.tanh(z - stats.norm.ppf(share) * error) for share in (0.975, 0.8)]
    assert found.interval(0.05)[0] == pytest.approx(ends[0])
    assert found.detectable(Expected(above=0), 0.05) == pytest.approx(0.8 - sum(ends))


def test_more_seeds_than_there_are_decide() -> None:
    found = Estimate(1.0, [Term(1.0, 10.0)], [], Scale(), "", of_one_seed=0.1, seeds=5)
    assert found.interval(0.05)[0] < 0
    assert found.seeds_to_decide(Expected(above=0), 0.05) == 6


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), min_size=4, max_size=4), st.integers(10, 10_000))
def test_the_rule_is_even_handed(values: list[float], n: int) -> None:
    one, other = measured(*values[:2], n=n), measured(*values[2:], n=n)
    found = estimate(DIFFERENCE, {key("adjusted"): one, key("original"): other})
    turned = estimate(DIFFERENCE, {key("adjusted"): other, key("original"): one})
    low, high = found.interval(0.05)
    assert turned.interval(0.05) == pytest.approx((-high, -low))
    assert low <= found.effect <= high
    assert low < high


@pytest.mark.parametrize(
    ("seeds", "unlike"),
    [*((seeds, "") for seeds in (1, 2, 3, 5)), (5, "ten times as wide as the others")],
)
def test_intervals_cover_and_verdicts_are_right_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch, seeds: int, unlike: str
) -> None:
    """400 draws: 2.5% wrong per side, up to chance (two standard errors), coverage from 93%."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    module = importlib.import_module("verdicts")
    design = module.Design(7, 6, seeds, 300, "mostly its own", unlike)
    for name, rows in module.simulate(design, 400).items():
        covered, too_low, too_high = rows[:, :3].mean(axis=0)
        assert name in ("every", "most") or covered >= 0.915, (name, covered)
        assert max(too_low, too_high) <= 0.025 + 0.016, (name, too_low, too_high)


def test_the_docs_sum_up_their_simulation() -> None:
    text = (Path(__file__).parents[2] / "docs/verdicts-simulated.md").read_text("utf-8")
    alike, unlike = [], []
    for line in text.splitlines():
        cells = line.strip("| ").split(" | ")
        # Coverage, wrong "holds", wrong "does not hold", width; before them the design and seeds.
        if [len(cell.split()) for cell in cells[-4:]] == [3, 5, 5, 3] and cells[-5].isdigit():
            wrong = np.array([cell.split() for cell in cells[-3:-1]], float)
            (alike if len(cells) == 7 else unlike).append((cells[0], int(cells[-5]), wrong))
    many = [wrong for _, seeds, wrong in unlike if seeds >= 4]
    wider = ("ten times as wide as the others", "three times as wide as the others")
    few = [wrong for name, seeds, wrong in unlike if seeds < 4 and name in wider]
    plain = " ".join(text.split())
    for wrong, mean, most in (
        ([wrong for *_, wrong in alike], "1.6% of cases on average; the largest of all 240", "5.0"),
        (many, "2.2% of cases on average over these designs (the largest of these 180", "6.0"),
        (few, "4.8% on average where the compared run is the one that spreads more (the", "9.5"),
    ):
        place = plain.index(mean)
        assert most in plain[place : place + len(mean) + 50]
        assert f"{np.mean(np.array(wrong)[:, :, :3]):.1f}%" == mean.split()[0]
        assert np.max(wrong) == float(most)
    assert (np.size([wrong for *_, wrong in alike]), np.size(many)) == (240, 180)
