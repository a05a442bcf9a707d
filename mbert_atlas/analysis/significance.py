"""Is the difference between two systems more than chance? Paired tests on per-example means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import stats

from mbert_atlas.errors import AtlasError

Floats = npt.NDArray[np.float64]
_ROUNDING = 1e-12


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


def compare_runs(
    baseline: Sequence[pa.Table],
    system: Sequence[pa.Table],
    *,
    dataset: str | None = None,
    language: str | None = None,
) -> PairedTest:
    """Test two systems, each run with some seeds, on accuracy per example (0 to 1).

    Raises:
        AtlasError: see :func:`mean_correct`; also if the systems saw different examples.
    """
    keys, before = mean_correct(baseline, dataset=dataset, language=language)
    others, after = mean_correct(system, dataset=dataset, language=language)
    if keys != others:
        raise AtlasError(
            f"predictions of dataset {dataset}, language {language}: the two systems were "
            "evaluated on different examples; predict the same test set with both."
        )
    return paired_t_test(before, after)
