"""Is the difference between two systems more than chance?

Paired t-tests on per-example means (accuracy, answer F1), permutation tests where the score is no
mean over examples (F1 over entities), and Holm's correction of a family of tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from mbert_atlas.analysis.scores import sentence_counts
from mbert_atlas.errors import AtlasError
from mbert_atlas.randomness import generator

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_ROUNDING = 1e-12
_SWAPS_AT_A_TIME = 1 << 22
"""Swaps drawn at once: 32 MB as the double that the matrix product wants."""


@dataclass(frozen=True)
class PairedTest:
    """A two-sided paired t-test of ``system - baseline``.

    Attributes:
        n: examples.
        baseline: mean of the baseline.
        system: mean of the system.
        difference: mean of the differences.
        low: lower end of the confidence interval of the difference.
        high: its upper end.
        effect_size: Cohen's d_z, the mean difference over the standard deviation of differences.
        statistic: t with ``n - 1`` degrees of freedom.
        p_value: 1 if all differences are 0, 0 if all are equal and not 0.
    """

    n: int
    baseline: float
    system: float
    difference: float
    low: float
    high: float
    effect_size: float
    statistic: float
    p_value: float


def paired_t_test(baseline: Floats, system: Floats, confidence: float = 0.95) -> PairedTest:
    """Compare two systems on the same examples (efimov2022, section 5.1).

    Args:
        baseline: score of each example, float, shape ``(n,)``; a mean over seeds is one score.
        system: scores of the same examples in the same order.
        confidence: level of the interval.

    Raises:
        AtlasError: if the shapes differ or there are fewer than two examples.
    """
    if baseline.shape != system.shape or baseline.ndim != 1 or len(baseline) < 2:
        raise AtlasError(
            f"a paired test needs the same two or more examples from both systems, found "
            f"{baseline.shape} and {system.shape}; score both on one test set."
        )
    difference = system - baseline
    mean, n = float(difference.mean()), len(difference)
    if np.ptp(difference) < _ROUNDING:  # no spread: t is 0/0 or unbounded
        differs = abs(mean) > _ROUNDING
        low = high = mean
        effect = statistic = math.copysign(math.inf, mean) if differs else 0.0
        p_value = 0.0 if differs else 1.0
    else:
        test = stats.ttest_rel(system, baseline)
        interval = test.confidence_interval(confidence)
        low, high = float(interval.low), float(interval.high)
        effect = mean / float(difference.std(ddof=1))
        statistic, p_value = float(test.statistic), float(test.pvalue)
    return PairedTest(
        n=n,
        baseline=float(baseline.mean()),
        system=float(system.mean()),
        difference=mean,
        low=low,
        high=high,
        effect_size=effect,
        statistic=statistic,
        p_value=p_value,
    )


def mean_correct(
    runs: Sequence[pa.Table], *, dataset: str | None = None, language: str | None = None
) -> tuple[list[str], Floats]:
    """Return how often each example was right over runs with different seeds.

    Args:
        runs: one table of :data:`mbert_atlas.schemas.CLASS_PREDICTIONS` per seed.
        dataset: keep only this dataset.
        language: keep only this language.

    Returns:
        Example ids, sorted, each with its dataset and language; and the share of runs that were
        right, float64, shape ``(n,)``.

    Raises:
        AtlasError: if there are no runs or no examples, an example occurs twice in a run, or runs
            hold different examples.
    """
    if not runs:
        raise AtlasError("there are no predictions to compare; run at least one seed.")
    keys: list[str] = []
    shares: Floats = np.empty(0)
    for number, run in enumerate(runs):
        frame = run.select(["dataset", "language", "example_id", "gold", "prediction"]).to_pandas()
        for column, value in (("dataset", dataset), ("language", language)):
            if value is not None:
                frame = frame[frame[column] == value]
        key = frame["dataset"] + "\t" + frame["language"] + "\t" + frame["example_id"]
        right = (frame["gold"] == frame["prediction"]).set_axis(key).sort_index()
        if len(right) == 0 or not right.index.is_unique:
            raise AtlasError(
                f"predictions of dataset {dataset}, language {language}: "
                f"{'an example occurs twice' if len(right) else 'there are none'}; predict again."
            )
        if number == 0:
            keys, shares = [str(k) for k in right.index], np.zeros(len(right))
        elif list(right.index) != keys:
            raise AtlasError(
                f"predictions of dataset {dataset}, language {language}: the seeds were evaluated "
                "on different examples; predict the same test set with each."
            )
        shares += right.to_numpy(dtype=np.float64)
    return keys, shares / len(runs)


@dataclass(frozen=True)
class PermutationTest:
    """A two-sided permutation test of ``system - baseline`` in micro F1 (0 to 1).

    Attributes:
        n: units that were swapped: sentences times seeds.
        baseline: F1 of the baseline, all seeds together.
        system: F1 of the system.
        difference: ``system - baseline``.
        null_low: lower end of the range that holds 95% of the differences that swapping gives.
        null_high: its upper end; no confidence interval of the observed difference.
        low: lower end of the difference's 95% confidence interval, bootstrapped over sentences.
        high: its upper end.
        iterations: random assignments drawn.
        p_value: share of assignments, the observed one included, whose difference is at least as
            large in either direction.
    """

    n: int
    baseline: float
    system: float
    difference: float
    null_low: float
    null_high: float
    low: float
    high: float
    iterations: int
    p_value: float


def permutation_test(
    baseline: Counts, system: Counts, *, seed: int, iterations: int = 1000, runs: int = 1
) -> PermutationTest:
    """Compare the micro F1 of two systems by swapping their predictions sentence by sentence.

    F1 needs three sums over sentences, so an iteration is one row of a matrix product between
    random swaps and what each swap changes, whatever the counts were made from.

    Args:
        baseline: right, gold and predicted items of each sentence, int64, shape ``(n, 3)``, see
            :func:`mbert_atlas.analysis.scores.sentence_counts`.
        system: the same of the same sentences in the same order.
        seed: decides the swaps.
        iterations: random assignments of the two predictions of each sentence to the two systems.
        runs: how many times the same sentences follow each other, once for each seed. A resample
            of the confidence interval takes a sentence with all of its runs.

    Raises:
        AtlasError: if the shapes differ or there is no sentence.
    """
    if baseline.shape != system.shape or baseline.ndim != 2 or len(baseline) == 0:
        raise AtlasError(
            f"a permutation test needs the same sentences from both systems, found "
            f"{baseline.shape} and {system.shape}; score both on one test set."
        )
    change = (system - baseline).astype(np.float64)
    totals = baseline.sum(0, dtype=np.float64), system.sum(0, dtype=np.float64)
    random = generator(seed, "permutations")
    differences = np.empty(iterations)
    size = max(1, _SWAPS_AT_A_TIME // len(change))
    for start in range(0, iterations, size):
        count = min(size, iterations - start)
        swaps = random.integers(0, 2, size=(count, len(change)), dtype=np.uint8)
        moved = swaps @ change  # exact: sums of whole numbers
        differences[start : start + count] = _f1(totals[1] - moved) - _f1(totals[0] + moved)
    before, after = (float(_f1(total)) for total in totals)
    extreme = np.count_nonzero(np.abs(differences) >= abs(after - before) - _ROUNDING)
    null_low, null_high = np.quantile(differences, [0.025, 0.975])
    low, high = _bootstrap(
        *(counts.reshape(runs, -1, 3).sum(0) for counts in (baseline, system)),
        seed=seed,
        iterations=iterations,
    )
    return PermutationTest(
        n=len(change),
        baseline=before,
        system=after,
        difference=after - before,
        null_low=float(null_low),
        null_high=float(null_high),
        low=low,
        high=high,
        iterations=iterations,
        p_value=(1 + int(extreme)) / (1 + iterations),
    )


def compare_taggers(
    baseline: Sequence[pa.Table],
    system: Sequence[pa.Table],
    *,
    unit: Literal["entity", "token"],
    seed: int,
    outside: str = "O",
    dataset: str | None = None,
    language: str | None = None,
    iterations: int = 1000,
) -> PermutationTest:
    """Test two taggers, each run with the same number of seeds, all seeds together.

    The predictions of the seeds are concatenated (efimov2022, section 5.1); seed k of one system is
    swapped with seed k of the other.

    Args:
        baseline: one table of :data:`mbert_atlas.schemas.TAG_PREDICTIONS` per seed.
        system: the same of the other system.
        unit: what F1 counts, see :func:`mbert_atlas.analysis.scores.sentence_counts`.
        seed: decides the swaps.
        outside: label that is no class.
        dataset: keep only this dataset.
        language: keep only this language.
        iterations: random assignments.

    Raises:
        AtlasError: if there are no runs or no sentences, the numbers of runs differ, a sentence
            occurs twice in a run, or the runs hold different sentences or gold tags.
    """
    title = f"predictions of dataset {dataset}, language {language}"
    if not baseline or len(baseline) != len(system):
        raise AtlasError(
            f"{title}: {len(baseline)} runs of one system and {len(system)} of the other; "
            "run both with the same seeds."
        )
    tables = [_sorted(run, dataset, language, title) for run in [*baseline, *system]]
    shared = ["dataset", "language", "example_id", "gold"]
    if any(not table.select(shared).equals(tables[0].select(shared)) for table in tables):
        raise AtlasError(
            f"{title}: the runs were evaluated on different sentences or gold tags; "
            "predict the same test set with each."
        )
    # All at once, so that both systems' labels are numbered alike.
    counts = sentence_counts(pa.concat_tables(tables), unit=unit, outside=outside)
    half = len(counts) // 2
    return permutation_test(
        counts[:half], counts[half:], seed=seed, iterations=iterations, runs=len(system)
    )


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Correct the p-values of a family of tests for their number (Holm 1979).

    Rejecting what is at most the threshold then errs anywhere in the family with at most that
    probability, however the tests depend on each other.

    Args:
        p_values: of the family, 0 to 1.

    Returns:
        Adjusted p-values in the given order, float64, shape ``(n,)``.

    Raises:
        AtlasError: if one is not a number from 0 to 1.
    """
    given: Floats = np.asarray(p_values, dtype=np.float64)
    if given.ndim != 1 or not np.all((given >= 0) & (given <= 1)):
        raise AtlasError(f"p-values {given.tolist()}: not numbers from 0 to 1; test again.")
    order = np.argsort(given, kind="stable")
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _bootstrap(
    baseline: Counts, system: Counts, *, seed: int, iterations: int
) -> tuple[float, float]:
    """Return the ends of the 95% interval of the difference in F1 over resampled sentences.

    How often a sentence comes in a resample is drawn from Poisson(1), which many sentences make
    as good as drawing with replacement.
    """
    random = generator(seed, "resamples")
    differences = np.empty(iterations)
    size = max(1, _SWAPS_AT_A_TIME // len(system))
    for start in range(0, iterations, size):
        count = min(size, iterations - start)
        times = random.poisson(1.0, size=(count, len(system))).astype(np.float64)
        differences[start : start + count] = _f1(times @ system) - _f1(times @ baseline)
    low, high = np.quantile(differences, [0.025, 0.975])
    return float(low), float(high)


def _f1(totals: Floats) -> Floats:
    """Return F1 from sums of right, gold and predicted items, shape ``(..., 3)``; 0 without any."""
    found = totals[..., 1] + totals[..., 2]
    return np.divide(2 * totals[..., 0], found, out=np.zeros_like(found), where=found > 0)


def _sorted(run: pa.Table, dataset: str | None, language: str | None, title: str) -> pa.Table:
    for column, value in (("dataset", dataset), ("language", language)):
        if value is not None:
            run = run.filter(pc.equal(run[column], value))
    keys = ["dataset", "language", "example_id"]
    if run.num_rows == 0 or run.group_by(keys).aggregate([]).num_rows < run.num_rows:
        raise AtlasError(
            f"{title}: {'a sentence occurs twice' if run.num_rows else 'there are none'}; "
            "predict again."
        )
    return run.sort_by([(key, "ascending") for key in keys]).combine_chunks()
