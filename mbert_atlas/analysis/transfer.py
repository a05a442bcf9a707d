"""Zero-shot transfer: scores by condition, language and seed, and tests of their differences."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mbert_atlas.analysis.resampling import difference
from mbert_atlas.analysis.scoring import scores_of, scoring_of
from mbert_atlas.analysis.significance import Comparison, holm
from mbert_atlas.cells import Cell

_LEVEL = 0.05
GAIN = "gain_over_original"
_Test = tuple[dict[str, Any], str, Comparison]


def measure_transfer(
    cells: Sequence[Cell], against: Mapping[str, str] | None = None, gains_over: str | None = None
) -> list[dict[str, Any]]:
    """Score predictions and test conditions against each other (Efimov et al. 2022, section 5.1).

    Scores are in percent, by source language and seed. Tests are over the seeds that both
    conditions have: a two-sided paired t-test on the examples' mean scores or, for entities, a
    permutation test. 1 where p < .05, under ``corrected`` after Holm's correction over all tests of
    the table. Also returned: p-values, the ends of the 95% interval of the gain in points
    (entities: of the test set's resamples), and Cohen's d_z (not for entities). ``against`` maps a
    tested condition to the one that it is compared with; all others also get the difference from
    the scores by seed of the condition ``gains_over``, as ``gain_over_original``. Raises
    :class:`AtlasError` if conditions were evaluated on different examples.
    """
    groups: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.task, cell.protocol, cell.source, cell.language, cell.condition].append(cell)
    rows: list[dict[str, Any]] = []
    tests: list[_Test] = []
    for (*place, condition), runs in groups.items():
        baseline = groups.get((*place, gains_over or ""), [])
        rows += _scores_by_seed(runs, [] if condition == gains_over else baseline)
        if name := (against or {}).get(condition):
            columns = replace(runs[0], seed=None).columns
            columns["metric"] = scoring_of(runs[0].kind).metrics[0]
            tests.append((columns, name, _compare(groups[*place, name], runs)))
    return [*rows, *_significances(tests)]


def _scores_by_seed(runs: Sequence[Cell], baseline: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    before = {run.seed: scores_of(run) for run in baseline}
    for run in runs:
        scores = scores_of(run)
        if original := before.get(run.seed):
            metric, headline = next(iter(scores.items()))
            gain = headline | difference(headline, original[metric])
            yield run.columns | gain | {"metric": GAIN}
        for metric, score in scores.items():
            yield run.columns | score | {"metric": metric}


def _compare(baseline: Sequence[Cell], system: Sequence[Cell]) -> Comparison:
    """Test a condition against another, by the seeds that both have, if there are any."""
    if common := {cell.seed for cell in baseline} & {cell.seed for cell in system}:
        baseline, system = (
            [cell for cell in cells if cell.seed in common] for cells in (baseline, system)
        )
    return scoring_of(system[0].kind).compare(baseline, system)


def _significances(tests: Sequence[_Test]) -> Iterator[dict[str, Any]]:
    corrected = [n for n, (columns, _, _) in enumerate(tests) if columns["protocol"] == "corrected"]
    adjusted = dict(zip(corrected, holm([tests[n][2].p_value for n in corrected]), strict=True))
    for number, (columns, baseline, test) in enumerate(tests):
        p_value = adjusted.get(number, test.p_value)
        values = {"significant_vs": int(p_value < _LEVEL), "p_value_vs": test.p_value}
        if number in adjusted:
            values["holm_p_value_vs"] = p_value
        values |= {"gain_low_vs": 100 * test.low, "gain_high_vs": 100 * test.high}
        if test.effect_size is not None and math.isfinite(test.effect_size):
            values["effect_size_vs"] = test.effect_size
        for name, value in values.items():
            metric = f"{columns['metric']}_{name}_{baseline}"
            yield {**columns, "metric": metric, "value": value, "n": test.n}
