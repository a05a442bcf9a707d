"""Seed variance of measured numbers, pooled over the cells of their kind; docs/verdicts.md, 1."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import digamma, fdtri, polygamma, stdtrit

from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, Key, Measured

Floats = npt.NDArray[np.float64]
_PLACE = {name: KEY.index(name) for name in KEY}
_RUN = [_PLACE[name] for name in ("artifact", "model", "condition", "source", "layers")]
_NUMBER = [_PLACE[name] for name in ("paper", "model", "source", "target", "metric")]
_ALL = [_PLACE[name] for name in KEY if name != "artifact"]
_Place = tuple[Hashable, Hashable]  # run and test
_ROUNDING = 1e-12
_ENOUGH = 4
"""Degrees of freedom of a pool's rest below which the wider pool is taken."""
_OWN_SEEDS = 4
"""Seeds from which on the spread of an effect itself is enough."""
_OUTLYING, _WIDER = 0.05, 0.1
"""Levels at which a run leaves its pool, and at which an effect spreads more than that says."""
_LEAST_PRIOR = 0.25
"""Half the least degrees of freedom of a prior: with fewer, quantiles mean nothing."""


class Term(NamedTuple):
    """A part of a variance, and its degrees of freedom."""

    variance: float
    freedom: float


class Components(NamedTuple):
    """The variances of a pool: of seed, run x seed, test x seed, and the rest, shape ``(4,)``.

    ``squares @ variances`` are the expected mean squares of an analysis of variance, with as many
    degrees of freedom: of 2 runs on 3 tests 6 g + 3 a + 2 b + e, 3 a + e, 2 b + e, and e.
    """

    variances: Floats
    freedom: Floats
    squares: Floats  # (4, 4)
    prior: float = math.inf
    """What the pool is worth for one of its runs, in degrees of freedom, see :func:`prior_of`."""


class Pools:
    """The pools of all cells that were measured under one protocol.

    Targets that are no ``languages`` are means over some. ``kind_of`` returns what cells of a pool
    have in common apart from paper and metric: their task, by default.
    """

    def __init__(
        self,
        cells: Mapping[Key, Measured],
        languages: Collection[str],
        kind_of: Callable[[Key], Hashable] = lambda key: key[_PLACE["task"]],
    ) -> None:
        self._cells, self._languages, self._kind_of = cells, languages, kind_of
        groups: dict[Hashable, dict[Hashable, Key]] = defaultdict(dict)
        for key, cell in cells.items():
            if len(cell.values) > 1:
                # The same run may be in several artifacts, also under another condition.
                names = _NUMBER if len({*cell.values.values()}) > 1 else _ALL
                place = (*(key[number] for number in names), *sorted(cell.values.items()))
                for pool in self._pools(key):
                    groups[pool].setdefault(place, key)
        self._keys = {pool: list(members.values()) for pool, members in groups.items()}
        self.components, self.of = cache(self._components), cache(self._of)

    def _of(self, key: Key) -> Hashable | None:
        """Return the pool of a cell that depends on the seed; none if none was replicated."""
        pools = [pool for pool in self._pools(key) if pool in self._keys]
        large = (pool for pool in pools if self.components(pool).freedom[3] >= _ENOUGH)
        return next(large, pools[-1] if pools else None)

    def _pools(self, key: Key) -> list[Hashable]:
        """Return the pool of a cell, and those that it takes where that is too small."""
        paper, _, _, _, condition, source, target, layers, metric = key
        kind = (paper, self._kind_of(key), metric, rules.is_difference(metric, condition))
        target = target if target not in self._languages else str(source == target)
        depth = "" if "-" in layers else layers  # of vectors; sets of layers are runs
        return [(*kind, target, depth), (*kind, target, layers.isalpha()), kind]

    def members(self, pool: Hashable) -> list[Key]:
        """Return the cells of a pool with several seeds, each once."""
        return self._keys[pool]

    def _components(self, pool: Hashable) -> Components:
        """Return the variances of a pool, without the runs that spread more than the others."""
        members = self._keys[pool]
        values = {(_run(key), _test(key)): self._cells[key].values for key in members}
        spreads = {run: term for run, term in run_spreads(values).items() if term.variance}
        alike = without_outlying(spreads)
        some = {place: each for place, each in values.items() if place[0] in alike}
        return components(some or values)._replace(prior=prior_of([*spreads.values()]))

    def terms(self, weights: Mapping[Key, float]) -> list[Term] | None:
        """Return the terms of the variance over seeds of a sum of cells times weights.

        None if a number depends on the seed and no cell of its kind was replicated.
        """
        if pooled := self.pooled(weights):
            used = {self.of(key) for key in weights if None not in self._cells[key].values}
            prior = min(self.components(pool).prior for pool in used)
            return with_own(pooled, prior, self._own(weights))
        return pooled

    def _own(self, weights: Mapping[Key, float]) -> list[Term]:
        """Return the terms from the effect itself, seed by seed; none if a cell has one seed."""
        sums: dict[tuple[int | None, ...], Floats] = {}
        for key, weight in weights.items():
            by_seed = self._cells[key].values
            if None not in by_seed:
                seeds = tuple(sorted(by_seed, key=str))
                of_cell = weight * np.array([by_seed[seed] for seed in seeds])
                sums[seeds] = sums.get(seeds, 0.0) + of_cell
        if any(len(seeds) < 2 for seeds in sums):
            return []
        return [
            Term(float(np.var(effect, ddof=1)) / len(seeds), len(seeds) - 1)
            for seeds, effect in sums.items()
        ]

    def pooled(self, weights: Mapping[Key, float], seeds: int | None = None) -> list[Term] | None:
        """Return the terms of the variance that the pools say; None as for :meth:`terms`.

        With ``seeds`` the variance is that of as many seeds, common to all cells.
        """
        by_pool: dict[Hashable, dict[Key, float]] = defaultdict(dict)
        for key, weight in weights.items():
            if None not in self._cells[key].values:
                pool = self.of(key)
                if pool is None:
                    return None
                by_pool[pool][key] = weight
        return [
            Term(variance, freedom)
            for pool, some in by_pool.items()
            for variance, freedom in zip(*self._parts(pool, some, seeds), strict=True)
            if abs(variance) > _ROUNDING
        ]

    def _parts(
        self, pool: Hashable, weights: Mapping[Key, float], seeds: int | None
    ) -> tuple[list[float], list[float]]:
        factors = np.zeros(4)
        by_seed: dict[int | None, dict[Key, float]] = defaultdict(dict)
        for key, weight in weights.items():
            numbers = self._cells[key].values if seeds is None else range(seeds)
            for seed in numbers:
                by_seed[seed][key] = weight / len(numbers)
        for some in by_seed.values():
            all_of_them = sum(some.values()) ** 2
            of_cells = sum(weight**2 for weight in some.values())
            factors += [all_of_them, _squares(some, _run), _squares(some, _test), of_cells]
        variances, freedom, squares, _ = self.components(pool)
        times = np.linalg.solve(squares.T, factors)  # the same variance as a sum of mean squares
        return (times * (squares @ variances)).tolist(), freedom.tolist()


def freedom_of(terms: Iterable[Term]) -> float:
    """Return Satterthwaite's degrees of freedom of a sum: V² / Σ V_k² / f_k."""
    some = [*terms]
    spread = sum(term.variance**2 / term.freedom for term in some)
    if not spread:  # of zeros: as many as there are
        return min((term.freedom for term in some), default=math.inf)
    return sum(term.variance for term in some) ** 2 / spread


def with_own(pooled: Sequence[Term], prior: float, own: Sequence[Term]) -> list[Term]:
    """Return the terms of the variance over seeds from those of pools, and of the effect itself.

    ``prior`` is that of the pools. From :data:`_OWN_SEEDS` seeds on the effect itself is enough.
    Before, it is moderated by the pools (Smyth 2004), unless it is wider than these allow.
    """
    of_pools = Term(sum(term.variance for term in pooled), freedom_of(pooled))
    itself = Term(sum(term.variance for term in own), freedom_of(own))
    if own and itself.variance and min(term.freedom for term in own) >= _OWN_SEEDS - 1:
        return [*own]
    terms = [of_pools]
    if math.isfinite(prior):
        worth = 1 / (1 / prior + 1 / of_pools.freedom)
        more = itself.freedom if own else 0.0
        sums = worth * of_pools.variance + more * itself.variance
        terms = [Term(sums / (worth + more), worth + more)]
    limit = fdtri(itself.freedom, of_pools.freedom, 1 - _WIDER) if own else math.inf
    if itself.variance > limit * of_pools.variance and _half(itself) > _half(terms[0]):
        return [*own]
    return terms


def _half(term: Term) -> float:
    """Return half the length of an interval of 95%."""
    return float(stdtrit(term.freedom, 0.975)) * math.sqrt(term.variance)


def run_spreads(values: Mapping[_Place, Mapping[int | None, float]]) -> dict[Hashable, Term]:
    """Return the variance over seeds of each run's mean over its tests; arguments as below."""
    residuals: dict[Hashable, dict[tuple[int | None, ...], list[Floats]]] = defaultdict(dict)
    for (run, _), by_seed in values.items():
        seeds = tuple(sorted(by_seed, key=str))
        scores = np.array([by_seed[seed] for seed in seeds])
        residuals[run].setdefault(seeds, []).append(scores - scores.mean())
    return {
        run: Term(
            sum(float((np.mean(some, axis=0) ** 2).sum()) for some in by_seeds.values())
            / (freedom := sum(len(seeds) - 1 for seeds in by_seeds)),
            freedom,
        )
        for run, by_seeds in residuals.items()
    }


def without_outlying(spreads: Mapping[Hashable, Term]) -> set[Hashable]:
    """Return the runs that spread alike: the widest leave, one by one, by Cochran's test.

    ISO 5725-2, 7.3.3: the largest variance against the others, at level .05 for all of them.
    """
    left = dict(spreads)
    while len(left) > 2:
        widest = max(left, key=lambda run: left[run].variance)
        rest = [term for run, term in left.items() if run != widest]
        freedom = sum(term.freedom for term in rest)
        mean = sum(term.variance * term.freedom for term in rest) / freedom
        limit = fdtri(left[widest].freedom, freedom, 1 - _OUTLYING / len(left))
        if left[widest].variance <= limit * mean:
            break
        del left[widest]
    return {*left}


def prior_of(spreads: Sequence[Term]) -> float:
    """Return how many degrees of freedom the other runs of a pool are worth for one of them.

    The variances of runs are taken as drawn from a scaled inverse chi-squared distribution with
    these degrees of freedom; infinite if they differ no more than by chance. Estimated from
    positive variances as by Smyth (2004), Linear Models and Empirical Bayes Methods, section 6.2.
    """
    if len(spreads) < 2:
        return math.inf
    variance, half = (
        np.array(numbers) for numbers in zip(*((v, f / 2) for v, f in spreads), strict=True)
    )
    logarithms = np.log(variance) - digamma(half) + np.log(half)
    excess = float(np.var(logarithms, ddof=1) - polygamma(1, half).mean())
    if excess <= 0:
        return math.inf
    if excess >= polygamma(1, _LEAST_PRIOR):
        return 2 * _LEAST_PRIOR
    # trigamma(x) is 1/x + 1/(2 x²) + ..., below 2/x from 1 on: the root lies before 1 + 2 / excess
    return 2 * float(brentq(lambda x: polygamma(1, x) - excess, _LEAST_PRIOR, 1 + 2 / excess))


def components(values: Mapping[_Place, Mapping[int | None, float]]) -> Components:
    """Estimate the variances of a pool, from its numbers by run and test, and seed.

    Cells with the same seeds are compared; each has at least two. Example and formulae in
    docs/verdicts-simulated.md.
    """
    sums, pairs, freedom = np.zeros(4), np.zeros(4), np.zeros(4)
    by_seeds: dict[tuple[int | None, ...], list[_Place]] = defaultdict(list)
    for place, by_seed in values.items():
        by_seeds[tuple(sorted(by_seed, key=str))].append(place)
    for seeds, places in by_seeds.items():
        scores = np.array([[values[place][seed] for seed in seeds] for place in places])
        residuals = scores - scores.mean(axis=1, keepdims=True)
        run, test = (_numbered(place[side] for place in places) for side in (0, 1))
        of_cells = np.array([(residuals**2).sum(), len(places)])
        in_run, in_test, in_all = (
            _products(residuals, index) for index in (run, test, np.zeros_like(run))
        )
        neither = in_all - in_run - in_test + of_cells
        products, counts = np.stack([of_cells, in_run - of_cells, in_test - of_cells, neither]).T
        sums += products
        pairs += counts * (len(seeds) - 1)
        freedom += _freedom(counts, run.max() + 1, test.max() + 1) * (len(seeds) - 1)
    cell, same_run, same_test, neither = np.divide(sums, pairs, out=np.zeros(4), where=pairs > 0)
    g = max(neither, 0.0)
    a = max(same_run - g, 0.0) if pairs[1] else 0.0
    b = max(same_test - g, 0.0) if pairs[2] else 0.0
    variances = np.array([g, a, b, max(cell - g - a - b, 0.0)])
    return Components(variances, freedom, _squares_of(pairs / pairs[0], variances))


def _squares_of(pairs: Floats, variances: Floats) -> Floats:
    """Return expected mean squares, from the number of pairs of each kind per cell."""
    # A run has as many tests as a cell has cells of its run, and so on.
    tests, runs, cells = 1 + pairs[1], 1 + pairs[2], pairs.sum()
    squares = np.array([[cells, tests, runs, 1], [0, tests, 0, 1], [0, 0, runs, 1], [0, 0, 0, 1]])
    # A variance of 0 has no mean square: what is known of the others does not depend on it.
    return np.where((variances > 0)[:, None], squares, np.eye(4))


def _freedom(pairs: Floats, runs: int, tests: int) -> Floats:
    """Return the degrees of freedom of the four variances per seed beyond the first."""
    cells = pairs[0]
    if not pairs[3]:
        return np.array([1, 1, 1, max(cells - 1, 1)])
    rest = cells - runs - tests + 1 if pairs[1] and pairs[2] else cells - 1
    return np.maximum([1, runs - 1, tests - 1, rest], 1)


def _products(residuals: Floats, index: npt.NDArray[np.intp]) -> Floats:
    """Return the sum of products of residuals over ordered pairs in a group, and their number."""
    total = np.zeros((index.max() + 1, residuals.shape[1]))
    np.add.at(total, index, residuals)
    return np.array([(total**2).sum(), (np.bincount(index) ** 2).sum()])


def _numbered(names: Iterable[Hashable]) -> npt.NDArray[np.intp]:
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names])


def _squares(weights: Mapping[Key, float], group: Callable[[Key], Hashable]) -> float:
    sums: dict[Hashable, float] = defaultdict(float)
    for key, weight in weights.items():
        sums[group(key)] += weight
    return sum(total**2 for total in sums.values())


def _run(key: Key) -> Hashable:
    return tuple(key[place] for place in _RUN)


def _test(key: Key) -> Hashable:
    return key[_PLACE["task"]], key[_PLACE["target"]]
