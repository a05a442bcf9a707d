"""How numbers are judged: tolerances by metric, verdicts, and contrasts of conditions.

The scorecard explains it (``page.html.j2``).
"""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

REPRODUCED = "reproduced"
DIRECTION_ONLY = "direction only"
NOT_REPRODUCED = "not reproduced"
NOT_COMPARABLE = "not comparable"
NO_REPORTED_VALUE = "no reported value"
NOT_RUN = "not run"
JUDGED = (REPRODUCED, DIRECTION_ONLY, NOT_REPRODUCED)
UNJUDGED = (NOT_COMPARABLE, NO_REPORTED_VALUE, NOT_RUN)
VERDICTS = (*JUDGED, *UNJUDGED)

MOST_NOISE = 3  # tolerances that two standard errors can excuse
_LEAST_P_VALUE = 0.0001  # that is printed
_ROUNDING = 1e-9
_SHARE = re.compile(
    r"(^|_)(accuracy|f1|v_measure|ami|clustering|exact_match|las|uas|mrr|score|separation_auc|"
    r"(convert|source|translated|third_language)_rate)"
    r"(?!_(drop|gain|lost|significant))(_|$)"
)


class Metric(NamedTuple):
    """How far a reproduced value may be from the reported one, and how it is printed."""

    absolute: float  # tolerance in the unit of the metric
    relative: float = 0.0  # as a fraction of the reported value; the larger tolerance counts
    format: str = ".2f"


_POINTS = Metric(1.0)
_CLUSTERING = Metric(2.0)  # depends on which few thousand points are sampled
_DIFFERENCE = Metric(0.5, 0.05)  # a gain or loss: difference of two scores
_COUNT = Metric(0.0, 0.01, ",.0f")
_ROUNDED_COUNT = Metric(0.0, 0.05, ",.0f")  # the papers give these in round numbers
_CHOICE = Metric(0.0, 0.0, "g")  # a hyperparameter: the same or not
_CURVE_OPTIMUM = Metric(0.5)

METRICS = {
    name: metric
    for names, metric in (
        ("accuracy accuracy_label f1 token_f1 micro_f1_label las bleu1", _POINTS),
        ("macro_f1_label macro_f1_language_target macro_f1_language_wikipedia", _POINTS),
        ("v_measure_label v_measure_language_target v_measure_language_wikipedia", _CLUSTERING),
        ("cka_percent_maximum", _CLUSTERING),
        ("l2_share_top10_dims_percent l2_share_top100_dims_percent", _CLUSTERING),
        ("gain_over_original", _DIFFERENCE),
        ("convert_rate", Metric(0.02, 0.0, ".3f")),
        ("spearman_cross_lingual_gap_vs_similarity", Metric(0.05)),
        ("n_items n_points n_tokens_in_language n_tokens_shared_with_english", _COUNT),
        ("n_pages", _ROUNDED_COUNT),
        ("best_alpha shift_weight_alpha", _CURVE_OPTIMUM),
        ("best_layer init_std minibatch batch_size epochs_best", _CHOICE),
        ("encoder_lr classifier_lr learning_rate", _CHOICE),
        ("grad_rev_lambda entropy_weight n_grid_trials", _CHOICE),
        ("runtime_minutes", Metric(0.0, 0.5, ".0f")),  # on the authors' unknown machine
    )
    for name in names.split()
}
"""Every metric that a paper reports; additional metrics need no entry."""


class Contrast(NamedTuple):
    """A comparison in a paper: ``condition`` differs from ``baseline``."""

    artifact: str  # that shows the condition
    condition: str
    baseline: str
    baseline_artifact: str = ""  # that shows the baseline; empty: the same


def star(contrasts: Sequence[Contrast], artifact: str, condition: str) -> str:
    """Return the mark of a significant difference: ``*``, or ``**`` from a tested baseline."""
    baselines = {c.condition: c.baseline for c in reversed(contrasts) if c.artifact == artifact}
    return "**" if baselines.get(condition) in baselines else "*"


def is_difference(metric: str, condition: str) -> bool:
    """Return whether a cell is a gain or loss, whose sign means something."""
    return metric == "gain_over_original" or condition.endswith("_delta")


def full_scale(metric: str, condition: str) -> float | None:
    """Return the largest value of a proportion, such as accuracy; none of other numbers."""
    if is_difference(metric, condition) or not _SHARE.search(metric):
        return None
    return 1.0 if metric == "separation_auc" or metric.endswith("_rate") else 100.0


def range_of(metric: str, condition: str) -> tuple[float, float] | None:
    """Return the least and the largest value of a proportion or correlation; none of others."""
    if is_correlation(metric):
        return -1.0, 1.0
    full = full_scale(metric, condition)
    return (0.0, full) if full else None


def is_gain(metric: str, condition: str) -> bool:
    """Return whether a number is the difference of two shares."""
    return is_difference(metric, condition) or metric.endswith(("_gain", "_lost"))


def is_correlation(metric: str) -> bool:
    """Return whether a number is a rank correlation."""
    return metric.startswith("spearman_") and not metric.endswith(("_p_value", "_low", "_high"))


def is_whole(metric: str) -> bool:
    """Return whether a number counts dimensions or layers."""
    return metric in ("dimensionality", "best_layer")


def step_of(metric: str, n_items: int | None) -> float:
    """Return the step from one possible value of a whole number to the next; 0 of other numbers.

    The ``n_items`` of ``dimensionality`` are the dimensions of such a step.
    """
    return float(n_items or 1) if metric == "dimensionality" else float(is_whole(metric))


def metric_of(metric: str, condition: str) -> Metric | None:
    """Return tolerance and format of a cell; none if the metric is unknown."""
    return _DIFFERENCE if is_difference(metric, condition) else METRICS.get(metric)


def printed(value: float, metric: str, condition: str = "", *, spread: bool = False) -> str:
    """Return a value, or its standard deviation, as the papers print it; empty if it is NaN."""
    if math.isnan(value):
        return ""
    if is_difference(metric, condition) or "_minus_" in metric:
        return f"{value:{'' if spread else '+'}z.2f}"
    if "p_value" in metric and value < _LEAST_P_VALUE and not spread:
        return f"<{_LEAST_P_VALUE}"
    rule = metric_of(metric, condition)
    style = rule.format if rule else _format(metric)
    return format(value, ".2g" if spread and style == "g" else style)


def _format(metric: str) -> str:
    """Return the format of a metric that no paper reports."""
    if metric.startswith("n_"):
        return ",.0f"
    if is_whole(metric):  # its mean over seeds
        return ".1f"
    if "p_value" in metric:
        return ".4f"
    is_small = metric.startswith(("mean_", "entropy_")) or full_scale(metric, "") == 1.0
    return ".3f" if is_small else ".2f"


def printed_difference(difference: float, metric: str, condition: str, verdict: str) -> str:
    """Return the signed difference to the reported number; empty if there is none.

    Nor is there one of hyperparameters, and of counts where data are not the papers'.
    """
    rule = METRICS.get(metric, _DIFFERENCE)
    is_other_data = verdict == NOT_COMPARABLE and rule.format.endswith(".0f")
    if math.isnan(difference) or rule in (_CHOICE, _CURVE_OPTIMUM) or is_other_data:
        return ""
    size = printed(abs(difference), metric, condition, spread=True)
    return f"{'-' if difference < 0 else '+'}{size}"


def tolerance(rule: Metric, reported: float) -> float:
    """Return the tolerance around ``reported``, in its unit."""
    return max(rule.absolute, rule.relative * abs(reported))


def value_verdict(
    reported: float, measured: float, standard_error: float, rule: Metric, *, signed: bool
) -> str:
    """Judge a mean over seeds, whose standard error is NaN below two seeds.

    If ``signed``, an equal sign alone counts as :data:`DIRECTION_ONLY`.
    """
    allowed = tolerance(rule, reported)
    noise = 0.0 if math.isnan(standard_error) else min(2 * standard_error, MOST_NOISE * allowed)
    if abs(measured - reported) <= max(allowed, noise) + _ROUNDING:
        return REPRODUCED
    return DIRECTION_ONLY if signed and _same_sign(reported, measured) else NOT_REPRODUCED


def claim_verdict(
    reported: float, measured: float, reported_star: bool, our_star: bool | None
) -> str:
    """Judge a difference of two conditions that the paper tested; none: we did not test it."""
    agree = _same_sign(reported, measured)
    if our_star is reported_star and (agree or not reported_star):
        return REPRODUCED
    return DIRECTION_ONLY if agree else NOT_REPRODUCED


def _same_sign(one: float, other: float) -> bool:
    return (one > 0) - (one < 0) == (other > 0) - (other < 0)
