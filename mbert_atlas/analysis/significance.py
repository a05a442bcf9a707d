"""Significance of the difference between two systems.

Paired t-tests on per-example means (accuracy, answer F1), permutation tests for scores that are no
means over examples (F1 of entities), and Holm's correction of a family of tests.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.resampling import resampled_sums
from mbert_atlas.analysis.scores import TagItem, sentence_counts
from mbert_atlas.errors import AtlasError
from mbert_atlas.f1 import micro_f1
from mbert_atlas.randomness import generator

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
_ROUNDING = 1e-12
_SWAPS_AT_A_TIME = 1 << 22
"""Swaps drawn at once: 32 MB as float64, which the matrix product takes."""


class Comparison(NamedTuple):
    """A two-sided test of ``system - baseline``: scores from 0 to 1, 95% confidence interval."""

    n: int  # examples; of a permutation test the units that are swapped, sentences times seeds
    difference: float
    low: float
    high: float
    p_value: float
    # Cohen's d_z: mean difference over its standard deviation; none of a permutation test.
    effect_size: float | None = None


def paired_t_test(baseline: Floats, system: Floats) -> Comparison:
    """Compare two systems on the same examples (Efimov et al. 2022, section 5.1).

    Both have a float per example, shape ``(n,)``, in the same order; a mean over seeds is one
    score. Without any spread of the differences p is 1 if they are 0, else 0.
    """
    difference = system - baseline
    mean, n = float(difference.mean()), len(difference)
    if np.ptp(difference) < _ROUNDING:  # no spread: t is 0/0 or unbounded
        differs = abs(mean) > _ROUNDING
        effect_size = math.copysign(math.inf, mean) if differs else 0.0
        return Comparison(n, mean, mean, mean, 0.0 if differs else 1.0, effect_size)
    from scipy import stats  # as costly to import as all else that a measuring job needs

    test = stats.ttest_rel(system, baseline)
    low, high = map(float, test.confidence_interval(0.95))
    effect_size = mean / float(difference.std(ddof=1))
    return Comparison(n, mean, low, high, float(test.pvalue), effect_size)


def permutation_test(
    baseline: Counts, system: Counts, ids: Sequence[str], *, seed: int, iterations: int = 1000
) -> Comparison:
    """Compare the micro F1 of two systems by swapping their predictions sentence by sentence.

    The p-value is the fraction of iterations, the observed assignment included, with at least as
    large a difference in either direction; the interval is that of the test set's resamples, see
    :mod:`mbert_atlas.analysis.resampling`. Both systems have the counts of the same sentences,
    int64, shape ``(n, 3)``, see :func:`mbert_atlas.analysis.scores.sentence_counts`. With several
    seeds the same ``ids`` follow each other: a sentence is swapped by seed, but resampled with all
    of its seeds.
    """
    # A sentence swapped moves its change (system - baseline) from the system to the baseline. With
    # (right, gold, predicted) of three sentences
    #     baseline (1,2,2) (0,1,1) (2,2,3)     system (2,2,2) (1,1,1) (2,2,2)
    #     change   (1,0,0) (1,0,0) (0,0,-1)    swaps [1, 0, 1] @ change = (1, 0, -1)
    # the totals (3,5,6) and (5,5,5) become (4,5,5) and (4,5,6); F1 = 2 right / (gold + predicted).
    change = (system - baseline).astype(np.float64)
    totals = baseline.sum(0, dtype=np.float64), system.sum(0, dtype=np.float64)
    random = generator(seed, "permutations")
    changes, at_a_time = [], max(1, _SWAPS_AT_A_TIME // len(change))
    for start in range(0, iterations, at_a_time):
        shape = min(at_a_time, iterations - start), len(change)
        moved = random.integers(0, 2, size=shape, dtype=np.uint8) @ change  # exact: whole numbers
        changes.append(micro_f1(totals[1] - moved) - micro_f1(totals[0] + moved))
    differences = np.concatenate(changes)
    before, after = (float(micro_f1(total)) for total in totals)
    extreme = np.count_nonzero(np.abs(differences) >= abs(after - before) - _ROUNDING)
    sums = resampled_sums(np.stack([baseline, system], axis=1), ids).astype(np.float64)
    low, high = np.quantile(micro_f1(sums[:, 1]) - micro_f1(sums[:, 0]), [0.025, 0.975]).tolist()
    p_value = (1 + int(extreme)) / (1 + iterations)
    return Comparison(len(change), after - before, low, high, p_value)


def compare_taggers(
    baseline: Sequence[pa.Table], system: Sequence[pa.Table], *, unit: TagItem, seed: int
) -> Comparison:
    """Compare two taggers over all seeds by a permutation test.

    Each has one table of :data:`mbert_atlas.schemas.TAG_PREDICTIONS` per seed, see
    :func:`mbert_atlas.analysis.scores.select`, whose predictions are concatenated (Efimov et al.
    2022, section 5.1); seed k of one system is swapped with seed k of the other. For ``unit`` see
    :func:`mbert_atlas.analysis.scores.sentence_counts`. Raises :class:`AtlasError` if the numbers
    of runs differ, or the runs hold different sentences or gold tags.
    """
    tables, shared = [*baseline, *system], ["example_id", "gold"]
    dataset, language = (tables[0][column][0] for column in ("dataset", "language"))
    title = f"predictions of dataset {dataset}, language {language}"
    if len(baseline) != len(system):
        raise AtlasError(
            f"{title}: {len(baseline)} runs of one system and {len(system)} of the other; "
            "run both with the same seeds."
        )
    if any(not table.select(shared).equals(tables[0].select(shared)) for table in tables):
        raise AtlasError(
            f"{title}: the runs were evaluated on different sentences or gold tags; "
            "predict the same test set with each."
        )
    # All at once, so that both systems' labels are numbered alike.
    counts = sentence_counts(pa.concat_tables(tables), unit=unit)
    half = len(counts) // 2
    ids = tables[0]["example_id"].to_pylist() * len(system)
    return permutation_test(counts[:half], counts[half:], ids, seed=seed)


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Correct the p-values of a family of tests for their number (Holm 1979).

    Returns float64, shape ``(n,)``, in the given order.
    """
    raw: Floats = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
