"""Effects with their error, from seeds and items; docs/verdicts.md explains it all."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri, stdtrit  # scipy.stats takes a second

from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, Key, Measured
from mbert_atlas.scorecard.claims import Claims, Expected
from mbert_atlas.scorecard.seeds import Pools, Term

_TASK, _METRIC, _CONDITION = (KEY.index(name) for name in ("task", "metric", "condition"))
_POWER = 0.8
_MOST_SEEDS = 1000
_ROUNDING = 1e-12
_LEAST_SHARE = 1e-12  # that counts as more than none


class Scale(NamedTuple):
    """Where an effect can be. A level is about normal as the logit of its place between the ends.

    Of a correlation, from -1 to 1, that is Fisher's z times 2.
    """

    low: float = -math.inf
    high: float = math.inf
    is_level: bool = False
    n: float = math.inf  # items, or the fewest points of a correlation

    def of(self, value: float) -> float:
        """Return a value on this scale, infinite at its ends."""
        if not self.is_level:
            return value
        return float(logit(self._share(min(max(value, self.low), self.high))))

    def back(self, value: float) -> float:
        """Return a value of this scale in its unit, inside the range of what is possible."""
        if self.is_level:
            return self.low + (self.high - self.low) * float(expit(value))
        return min(max(value, self.low), self.high)

    def inside(self, value: float) -> float:
        """Return a level away from the ends, by two items of either kind or half a rank."""
        if not self.is_level or math.isinf(self.n):
            return value
        if self.low < 0:  # a correlation
            most = _most_correlated(self.n)
            return min(max(value, -most), most)
        share = (self._share(value) * self.n + 2) / (self.n + 4)
        return self.low + (self.high - self.low) * share

    def slope(self, value: float) -> float:
        """Return the derivative at a value, d logit(p) = dp / p(1-p) of a level."""
        if self.is_level:
            return (self.high - self.low) / ((value - self.low) * (self.high - value))
        return 1.0

    def _share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Estimate:
    """An effect in the unit of its metric, with the terms of its variance."""

    effect: float
    over_seeds: Sequence[Term]
    over_items: Sequence[Term]
    scale: Scale
    basis: str  # of the interval: seeds, items
    of_one_seed: float = 0.0  # the part of the variance over seeds if all cells had one in common
    seeds: int = 0  # the most that one of its cells has

    @property
    def terms(self) -> list[Term]:
        """The terms of its variance; none if its error is unknown."""
        return [*self.over_seeds, *self.over_items]

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval that covers 1 - ``level``; it contains the effect."""
        centre = self.scale.inside(self.effect)
        low = max(centre - self._distance(level / 2, -1), self.scale.low)
        high = min(centre + self._distance(level / 2, 1), self.scale.high)
        return min(low, self.effect), max(high, self.effect)

    def levels(self, expected: Expected) -> tuple[float, float]:
        """Return the one-sided p-values of *holds* and of *does not hold*."""
        below, above = (self._level_below(end) for end in expected.ends)
        # ``below`` is how far the effect may be below the region, 1 - ``above`` above it.
        return max(below, 1 - above), min(1 - below, above)

    def detectable(self, expected: Expected, level: float) -> float:
        """Return the distance from the nearest border that is decided with 80% power.

        It is infinite if no possible effect is that far.
        """
        gap, side = self._nearest(expected)
        border = self.scale.inside(self.effect) + side * gap
        distance = sum(self._distance(share, side) for share in (level / 2, 1 - _POWER))
        room = max(border - self.scale.low, self.scale.high - border)
        return distance if distance <= room else math.inf

    def seeds_to_decide(self, expected: Expected, level: float) -> int | None:
        """Return the number of seeds that leaves the border outside; none if no number does.

        It is more than there are, as these do not decide.
        """
        gap, side = self._nearest(expected)
        left = gap**2 - self._of_items(level / 2, side) ** 2
        one = self.of_one_seed * _half(self.over_seeds, level / 2) ** 2
        needed = one / left if left > 0 else math.inf
        return max(math.ceil(needed), self.seeds + 1) if 0 < needed <= _MOST_SEEDS else None

    def _nearest(self, expected: Expected) -> tuple[float, int]:
        """Return the distance to the nearest border, and on which side of the effect it is."""
        centre = self.scale.inside(self.effect)
        end = min(expected.ends, key=lambda end: abs(end - centre))
        return abs(end - centre), 1 if end > centre else -1

    def _of_items(self, share: float, side: int) -> float:
        """Return the distance to an end of the item-level CI, which has the scale of the number."""
        centre = self.scale.inside(self.effect)
        half = _half(self.over_items, share) * self.scale.slope(centre)
        return abs(self.scale.back(self.scale.of(centre) + side * half) - centre)

    def _distance(self, share: float, side: int) -> float:
        """Return the distance to the end below (-1) or above which ``share`` is.

        Distances over seeds and items are added as squares (Zou and Donner 2008).
        """
        return math.hypot(self._of_items(share, side), _half(self.over_seeds, share))

    def _level_below(self, end: float) -> float:
        """Return the level at which an end of the interval is there: small if it is far below."""
        gap = end - self.scale.inside(self.effect)
        side, size = (1 if gap > 0 else -1), abs(gap)
        share = 0.0
        if self._distance(_LEAST_SHARE, side) > size:
            share = 0.5
            if size > 0:
                excess = lambda x: self._distance(x, side) - size  # noqa: E731
                share = float(brentq(excess, _LEAST_SHARE, 0.5, xtol=_LEAST_SHARE))
        return 1 - share if side > 0 else share


class Evidence:
    """What was measured under one protocol, and how much it varies.

    ``parts`` yields for a measured difference the two scores of which it may consist.
    """

    def __init__(
        self,
        cells: Mapping[Key, Measured],
        languages: Collection[str],
        parts: Callable[[Key], Iterable[tuple[Key, Key]]] = lambda _: (),
        kind_of: Callable[[Key], Hashable] = lambda key: key[_TASK],
    ) -> None:
        self._cells, self._scores = _with_scores(cells, parts)
        self._pools = Pools(self._cells, languages, kind_of)
        self._ratio = cache(self._ratio_of)

    def estimate(self, effect_of: Mapping[Key, float]) -> Estimate:
        """Return the sum of cells times weights; without terms if its error is unknown."""
        weights: dict[Key, float] = defaultdict(float)
        for key, weight in effect_of.items():
            for score, sign in self._scores.get(key, {key: 1}).items():
                weights[score] += sign * weight
        weights = {key: weight for key, weight in weights.items() if abs(weight) > _ROUNDING}
        cells = {key: self._cells[key] for key in weights}
        effect = sum(weight * _mean(cells[key]) for key, weight in weights.items())
        scale = _scale(weights, cells)
        numbers = [len(cell.values) for cell in cells.values() if None not in cell.values]
        text = "/".join(map(str, sorted(set(numbers))))
        seeds = f"{text} seed{'' if text == '1' else 's'}" if numbers else "no seeds"
        over_seeds = self._pools.terms(weights)
        over_items = self._item_terms(weights)
        items = [term for term in over_items if term is not None and term.variance]
        whole = sum(
            (weight * rules.step_of(key[_METRIC], cells[key].n_items)) ** 2
            for key, weight in weights.items()
        )
        rounding = [Term(whole / 12, math.inf)] if whole else []
        sources = ["seed-"] if numbers and (over_seeds or items or rounding) else []
        if items:
            sources.append("item-" if len(items) == len(over_items) else "in part item-")
        if over_seeds is None or not sources:
            return Estimate(effect, [], [], scale, f"no CI available, {seeds}")
        basis = f"{' and '.join(sources)}level CI, {seeds}"
        now, one = (
            sum(term.variance for term in self._pools.pooled(weights, number) or [])
            for number in (None, 1)
        )
        times, most = one / now if now else 0.0, max(numbers, default=0)
        return Estimate(effect, over_seeds, [*items, *rounding], scale, basis, times, most)

    def sizes(self, effect_of: Mapping[Key, float]) -> dict[str, str]:
        """Return how many items and seeds the cells of an effect have: ``n`` and ``seeds``."""
        cells = [self._cells[key] for key in effect_of]
        items = [cell.n_items for cell in cells if cell.n_items]
        numbers = [len(cell.values) for cell in cells if None not in cell.values]
        return {
            name: " to ".join(f"{end:d}" for end in dict.fromkeys((min(some), max(some))))
            if some
            else ""
            for name, some in (("n", items), ("seeds", numbers))
        }

    def _item_terms(self, weights: Mapping[Key, float]) -> list[Term | None]:
        """Return the terms of the variance over items, none for a number that has none."""
        terms: list[Term | None] = []
        resampled = {key: weight for key, weight in weights.items() if self._cells[key].resampled}
        if resampled:
            each = [self._by_seed(key).mean(axis=0) * weight for key, weight in resampled.items()]
            again = sum(
                weight**2 * self._interaction(key) / len(self._cells[key].resampled)
                for key, weight in resampled.items()
            )
            least = max(self._one_item(key, weight) for key, weight in resampled.items())
            variance = max(float(np.var(sum(each), ddof=1)) - again, least)
            terms.append(Term(variance, len(each[0]) - 1))
        for key, weight in weights.items():
            if key not in resampled:
                of_one = _item_variance(key, self._cells[key])
                terms.append(None if of_one is None else Term(weight**2 * of_one, math.inf))
        return terms

    def _by_seed(self, key: Key) -> npt.NDArray[np.float64]:
        return np.array([*self._cells[key].resampled.values()], dtype=np.float64)

    def _one_item(self, key: Key, weight: float) -> float:
        full, n = rules.full_scale(key[_METRIC], key[_CONDITION]), self._cells[key].n_items
        if rules.is_gain(key[_METRIC], key[_CONDITION]):
            full = 100.0
        return (weight * full / n) ** 2 if full and n else 0.0

    def _interaction(self, key: Key) -> float:
        """Return the variance over resamples that differs from seed to seed, I in the docs."""
        if None in self._cells[key].values:
            return 0.0
        if len(by_seed := self._by_seed(key)) > 1:
            return _interaction(by_seed)
        pool = self._pools.of(key)
        return self._ratio(pool) * float(np.var(by_seed, ddof=1)) if pool else 0.0

    def _ratio_of(self, pool: Hashable) -> float:
        """Return the interaction's part of the variance over resamples in a pool."""
        both = np.zeros(2)
        for key in self._pools.members(pool):
            if len(by_seed := self._by_seed(key)) > 1:
                both += [_interaction(by_seed), np.var(by_seed, axis=1, ddof=1).mean()]
        return float(both[0] / both[1]) if both[1] else 0.0


def evidence_of(
    claims: Mapping[str, Claims],
    cells: Mapping[str, Mapping[Key, Measured]],
    languages: Collection[str],
) -> dict[str, Evidence]:
    """Return the evidence in cells by protocol, with what the claims of papers say of cells."""

    def parts(key: Key) -> Iterable[tuple[Key, Key]]:
        return claims[key[0]].parts(key) if key[0] in claims else ()

    def kind_of(key: Key) -> Hashable:
        return claims[key[0]].kind_of(key) if key[0] in claims else key[_TASK]

    return {protocol: Evidence(some, languages, parts, kind_of) for protocol, some in cells.items()}


def _with_scores(
    cells: Mapping[Key, Measured], parts: Callable[[Key], Iterable[tuple[Key, Key]]]
) -> tuple[dict[Key, Measured], dict[Key, dict[Key, int]]]:
    """Return the cells and the scores behind differences, and these scores with their signs.

    A score that was not measured is the difference plus the reference, seed by seed.
    """
    scores, signs = dict(cells), {}
    for key, cell in cells.items():
        for score, reference in parts(key):
            base = cells.get(reference)
            if base and cell.values.keys() & base.values.keys():
                scores.setdefault(score, _added(cell, base))
                signs[key] = {score: 1, reference: -1}
                break
    return scores, signs


def _added(one: Measured, other: Measured) -> Measured:
    values, resampled = (
        {seed: mine[seed] + theirs[seed] for seed in mine.keys() & theirs.keys()}
        for mine, theirs in ((one.values, other.values), (one.resampled, other.resampled))
    )
    return Measured(values, one.n_items, resampled)


def _interaction(by_seed: npt.NDArray[np.float64]) -> float:
    """Return I of one cell, whose seeds are rows: differences of seeds, as they vary over columns.

    Means over seeds (a, b) and (c, d) of two resamples leave ±(a-b)/2 and ±(c-d)/2.
    """
    rest = by_seed - by_seed.mean(axis=0)
    return float(np.var(rest, axis=1, ddof=1).sum()) / (len(by_seed) - 1)


def _item_variance(key: Key, cell: Measured) -> float | None:
    """Return the variance of a number without resamples over its n items; none if unknown."""
    metric, condition = key[_METRIC], key[_CONDITION]
    full = rules.full_scale(metric, condition)
    if not (n := cell.n_items):
        return None
    if full is not None:
        share = (_mean(cell) / full * n + 2) / (n + 4)
        return full**2 * share * (1 - share) / n
    if rules.is_correlation(metric):
        r, most = abs(_mean(cell)), _most_correlated(n)
        return (1 - min(r, most) ** 2) ** 2 * (1 + r**2 / 2) / (n - 3) if n > 3 else None
    return 2 * 50.0**2 / n if rules.is_gain(metric, condition) else None


def _scale(weights: Mapping[Key, float], cells: Mapping[Key, Measured]) -> Scale:
    """Return the scale of a level, or the plain one of a difference within its range."""
    ranges = {rules.range_of(key[_METRIC], key[_CONDITION]) for key in weights}
    common = ranges.pop() if len(ranges) == 1 else None
    if common is None:
        return Scale()
    low, high = common
    numbers = [cell.n_items or math.inf for cell in cells.values()]
    n = min(numbers) if low < 0 else sum(numbers)
    if min(weights.values()) > 0 and math.isclose(sum(weights.values()), 1) and n < math.inf:
        return Scale(low, high, True, n)
    ends = [sorted((weight * low, weight * high)) for weight in weights.values()]
    return Scale(sum(end[0] for end in ends), sum(end[1] for end in ends))


def _most_correlated(n: float) -> float:
    """Return what a rank correlation of 1 counts as; see :mod:`mbert_atlas.analysis.correlation`.

    Otherwise its variance would be 0.
    """
    return 1 - 6 / (n**3 - n) if n > 1 else 0.0


def _mean(cell: Measured) -> float:
    return float(np.mean([*cell.values.values()]))


def _half(terms: Iterable[Term], share: float) -> float:
    """Return half the length of an interval outside of which is this share on either side.

    Its square is the sum of those of its terms. Student's t with Satterthwaite's degrees of freedom
    would be up to 2.5 times as often wrong with few of them.
    """
    return math.sqrt(sum(_quantile(1 - share, f) ** 2 * variance for variance, f in terms))


def _quantile(share: float, freedom: float) -> float:
    return float(ndtri(share) if math.isinf(freedom) else stdtrit(freedom, share))
