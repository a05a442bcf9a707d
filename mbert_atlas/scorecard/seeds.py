"""Seed variance of measured numbers, pooled over the cells of their kind; docs/verdicts.md, 1."""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


class Pools:
    """The pools of all cells that were measured under one protocol.

    Targets that are no ``languages`` are means over some. ``tasks`` are the names under which
    tasks are pooled, by paper and task, where these differ.
    """

    def __init__(
        self,
        cells: Mapping[Key, Measured],
        languages: Collection[str],
        tasks: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self._cells, self._languages, self._tasks = cells, languages, tasks or {}
        groups: dict[Hashable, dict[Hashable, Key]] = defaultdict(dict)
        for key, cell in cells.items():
            if len(cell.values) > 1:
                # The same run may be in several artifacts, also under another condition.
                names = _NUMBER if len({*cell.values.values()}) > 1 else _ALL
                place = (*(key[number] for number in names), *sorted(cell.values.items()))
                for pool in self._pools(key):
                    groups[pool].setdefault(place, key)
        self._keys = {pool: list(members.values()) for pool, members in groups.items()}
        self.components = cache(self._components)

    def of(self, key: Key) -> Hashable | None:
        """Return the pool of a cell that depends on the seed; none if none was replicated."""
        pools = [pool for pool in self._pools(key) if pool in self._keys]
        large = (pool for pool in pools if self.components(pool).freedom[3] >= _ENOUGH)
        return next(large, pools[-1] if pools else None)

    def _pools(self, key: Key) -> list[Hashable]:
        """Return the pool of a cell, and the one that it takes where that is too small."""
        paper, _, task, _, condition, source, target, layers, metric = key
        task = self._tasks.get((paper, task), task)
        kind = (paper, task, metric, rules.is_difference(metric, condition))
        is_mean = target not in self._languages
        return [(*kind, target if is_mean else source == target, layers.isalpha()), kind]

    def members(self, pool: Hashable) -> list[Key]:
        """Return the cells of a pool with several seeds, each once."""
        return self._keys[pool]

    def _components(self, pool: Hashable) -> Components:
        """Return the variances of a pool."""
        members = self._keys[pool]
        return components({(_run(key), _test(key)): self._cells[key].values for key in members})

    def terms(self, weights: Mapping[Key, float], seeds: int | None = None) -> list[Term] | None:
        """Return the terms of the variance over seeds of a sum of cells times weights.

        With ``seeds`` the variance is that of as many seeds, common to all cells. None if a number
        depends on the seed and no cell of its kind was replicated.
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
        variances, freedom, squares = self.components(pool)
        times = np.linalg.solve(squares.T, factors)  # the same variance as a sum of mean squares
        return (times * (squares @ variances)).tolist(), freedom.tolist()


def components(values: Mapping[_Place, Mapping[int | None, float]]) -> Components:
    """Estimate the variances of a pool, from its numbers by run and test, and seed.

    Cells with the same seeds are compared; each has at least two. Example and formulae in
    docs/verdicts.md.
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
