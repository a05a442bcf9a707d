"""How often the rule for verdicts is wrong: a simulation with known effects and variances.

Runs are scored on items of several test sets, with several seeds. An item is answered correctly
with a probability that depends on the item, the run, the seed, and the seed of run and test, see
the model in docs/verdicts.md. The rule of ``mbert_atlas.scorecard`` sees the scores and their
resamples, as from predictions. Printed, for differences of two runs (on one test, and in the mean
over tests) and for levels, in this order, are in percent the coverage of the 95% intervals, how
often a claim that is just not true is said to hold, how often one that is just true is said not to
hold, and in points the median width. Then come claims that every test, and that most tests, have a
difference, where all are just at the border: they have no coverage and no width. With one seed, the
compared runs have one and the others of the pool two. In a second table the first of the compared
runs spreads unlike the others of its pool. ``--picture`` draws how often a claim holds, is
undecided and does not hold, by the size of the true effect.

    python benchmarks/verdicts.py            # half an hour: tables of docs/verdicts-simulated.md
    python benchmarks/verdicts.py --draws 200
    python benchmarks/verdicts.py --unequal          # the second table
    python benchmarks/verdicts.py --picture docs/verdicts.svg
"""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import common
import numpy as np
from matplotlib.figure import Figure

from mbert_atlas.figures.style import BLACK, BLUE, FULL_WIDTH, VERMILION, figure_style
from mbert_atlas.scorecard.cells import Key, Measured
from mbert_atlas.scorecard.estimates import Evidence

RESAMPLES = 400
TARGETS = ("ru", "hi", "vi", "es", "de", "ar", "tr", "zh")
SPREADS = {
    "mostly its own": (0.0, 0.5, 0.5, 1.5),
    "mostly the run's": (0.3, 1.5, 0.3, 0.5),
    "mostly the seed's": (1.5, 0.5, 0.5, 0.5),
}
"""Standard deviations in points of seed, run x seed, test x seed, and of the rest."""


UNEQUAL = {
    "ten times as wide as the others": lambda runs: [1.0] + [0.1] * (runs - 1),
    "three times as wide as the others": lambda runs: [1.0] + [1 / 3] * (runs - 1),
    "a tenth of the others": lambda runs: [0.1] + [1.0] * (runs - 1),
    "as every other run, ten times as wide as the rest": lambda runs: [1.0, 0.1] * runs,
    "as half of the others, which are constant": lambda runs: [1.0, 1.0] + [0.0, 1.0] * runs,
}
"""How the first of the compared runs spreads over its seeds, and the factors of all runs."""
TAILS = "with heavy tails (Student's t, 3 degrees of freedom)"


class Design(NamedTuple):
    """What is simulated."""

    runs: int
    tests: int
    seeds: int
    items: int
    spread: str
    unlike: str = ""  # what is not equal and normal


def simulate(design: Design, draws: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return for each kind of effect: covered, too low, too high (0 or 1), and the interval's ends.

    Shape ``(draws, 5)``; ends are less the true effect, which is too low if the interval lies below
    it. ``every`` and ``most`` tests have no single interval: NaN.
    """
    random = np.random.default_rng([seed, *map(len, filter(None, map(str, design)))])
    tests, count = TARGETS[: design.tests], design.items
    times = [random.multinomial(count, np.full(count, 1 / count), RESAMPLES) for _ in tests]
    resamples = [each.T.astype(np.float32) for each in times]  # whole numbers are exact
    levels = {target: 55 + 3 * place for place, target in enumerate(tests)}
    results: dict[str, list[tuple[float, ...]]] = {}
    for _ in range(draws):
        evidence = Evidence(_draw(design, levels, resamples, random), TARGETS)
        for name, weights, truth in _effects(levels):
            low, high = evidence.estimate(weights).interval(0.05)
            row = (low <= truth <= high, high < truth, truth < low, low - truth, high - truth)
            results.setdefault(name, []).append(row)
        for name, row in _several(evidence, levels):
            results.setdefault(name, []).append(row)
    return {name: np.array(rows, dtype=float) for name, rows in results.items()}


def _draw(
    design: Design,
    levels: Mapping[str, float],
    resamples: list[np.ndarray],
    random: np.random.Generator,
) -> dict[Key, Measured]:
    """Return the measured cells of one draw."""
    replicated = max(design.seeds, 2)
    shapes = [
        (replicated,),
        (design.runs, replicated),
        (design.tests, replicated),
        (design.runs, design.tests, replicated),
    ]
    has_tails = design.unlike == TAILS
    of_seed, of_run, of_test, rest = (
        sd * (random.standard_t(3, shape) / 3**0.5 if has_tails else random.normal(size=shape))
        for sd, shape in zip(SPREADS[design.spread], shapes, strict=True)
    )
    shifts = of_seed + of_run[:, None] + of_test + rest
    if factors := UNEQUAL.get(design.unlike):
        shifts *= np.array(factors(design.runs)[: design.runs])[:, None, None]
    cells: dict[Key, Measured] = {}
    for place, (target, level) in enumerate(levels.items()):
        difficulty = random.uniform(-30, 30, design.items)
        for run in range(design.runs):
            seeds = range(1 if design.seeds == 1 and run < 2 else replicated)
            chances = level + difficulty + shifts[run, place, list(seeds), None]
            right = random.random(chances.shape) * 100 < chances
            again = (right.astype(np.float32) @ resamples[place]) * (100 / design.items)
            values = {number: 100 * float(right[number].mean()) for number in seeds}
            cells[_key(run, target)] = Measured(values, design.items, dict(enumerate(again)))
    return cells


def _effects(levels: Mapping[str, float]) -> Iterator[tuple[str, dict[Key, float], float]]:
    """Yield the name of an effect, its weights and its true value."""
    first, share = next(iter(levels)), 1 / len(levels)
    yield "difference", {_key(0, first): 1.0, _key(1, first): -1.0}, 0.0
    both = {_key(0, target): share for target in levels}
    yield "mean difference", both | {_key(1, target): -share for target in levels}, 0.0
    yield "level", both, sum(levels.values()) * share


def _several(
    evidence: Evidence, levels: Mapping[str, float]
) -> Iterator[tuple[str, tuple[float, ...]]]:
    """Yield the row of claims on every and on most tests, of which none has a difference."""
    each = [evidence.estimate({_key(0, test): 1.0, _key(1, test): -1.0}) for test in levels]
    wide = np.array([estimate.interval(0.05 / len(each)) for estimate in each])
    above = all(estimate.interval(0.05)[0] > 0 for estimate in each)
    yield "every", (np.nan, (wide[:, 1] < 0).any(), above, np.nan, np.nan)
    half = len(each) / 2  # more than these, or as many
    below, above = (wide[:, 1] < 0).sum() >= half, (wide[:, 0] > 0).sum() > half
    yield "most", (np.nan, below, above, np.nan, np.nan)


def _key(run: int, target: str) -> Key:
    return ("toy", "table", "nli", "mbert", f"run{run}", "en", target, "", "accuracy")


def draw(path: Path, draws: int) -> None:
    """Draw the verdicts on a mean difference of two runs, by its true size and number of seeds."""
    seeds, effects = (2, 3, 5), np.linspace(-10, 10, 201)
    with figure_style():
        figure = Figure(figsize=(FULL_WIDTH, 2.6), layout="constrained")
        for place, number in enumerate(seeds):
            rows = simulate(Design(7, 6, number, 500, "mostly the run's"), draws)
            low, high = rows["mean difference"][:, 3:].T[..., None]
            fails, holds = ((some).mean(axis=0) for some in (high + effects < 0, low + effects > 0))
            axes = figure.add_subplot(1, len(seeds), place + 1)
            shares = 100 * np.stack([fails, 1 - fails - holds, holds])
            axes.stackplot(effects, shares, colors=[VERMILION, "#E3E3E3", BLUE])
            axes.axvline(0, color=BLACK, linewidth=1)
            axes.set(title=f"{number} seeds", xlim=(-10, 10), ylim=(0, 100))
            axes.set(xlabel="true difference (points)", ylabel="" if place else "% of runs")
            axes.text(-9.6, 8, "does not\nhold", color="white")
            axes.text(9.6, 88, "holds", color="white", ha="right")
            axes.text(-0.4, 88, "" if place else "undecided", ha="right")
        figure.savefig(path)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--designs", type=int, help="only so many of each table")
    parser.add_argument("--unequal", action="store_true", help="only the second table")
    parser.add_argument("--picture", type=Path, help="draw a picture into this file instead")
    options = common.parse(parser, draws=5, designs=1)
    if options.picture:
        draw(options.picture, options.draws)
        return
    shapes = [(7, 6, 500), (3, 2, 500)]  # runs, tests, items
    equal = [
        Design(runs, tests, seeds, items, spread)
        for runs, tests, items in shapes
        for spread in SPREADS
        for seeds in (1, 2, 3, 5)
    ]
    unequal = [
        Design(7, 6, seeds, 500, "mostly the run's", unlike)
        for unlike in (*UNEQUAL, TAILS)
        for seeds in (1, 2, 3, 4, 5, 10)
    ]
    for designs in [unequal] if options.unequal else [equal, unequal]:
        print("\n| runs x tests | seeds spread | seeds | coverage | wrong *holds* | ", end="")
        print("wrong *does not hold* | width |\n|" + " --- |" * 7)
        for design in designs[: options.designs]:
            drawn = [*simulate(design, options.draws).values()]
            means = [rows.mean(axis=0) for rows in drawn]
            covered, low, high = (
                " ".join(f"{100 * mean[place]:.1f}" for mean in means if mean[place] >= 0)
                for place in range(3)
            )
            widths = [float(np.median(rows[:, 4] - rows[:, 3])) for rows in drawn]
            width = " ".join(f"{number:.1f}" for number in widths if number >= 0)
            spread = design.unlike or design.spread
            name = f"{design.runs} x {design.tests} | {spread} | {design.seeds}"
            print(f"| {name} | {covered} | {high} | {low} | {width} |", flush=True)


if __name__ == "__main__":
    main()
