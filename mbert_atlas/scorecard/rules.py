"""The stated rule: tolerances by metric, verdicts, and what a claim of a paper is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

REPRODUCED = "reproduced"
DIRECTION_ONLY = "direction only"
NOT_REPRODUCED = "not reproduced"
NOT_COMPARABLE = "not comparable"
NO_REPORTED_VALUE = "no reported value"
NOT_RUN = "not run"
VERDICTS = (
    REPRODUCED,
    DIRECTION_ONLY,
    NOT_REPRODUCED,
    NOT_COMPARABLE,
    NO_REPORTED_VALUE,
    NOT_RUN,
)

_MOST_NOISE = 3  # tolerances; two standard errors beyond that excuse nothing
_ROUNDING = 1e-9


class Metric(NamedTuple):
    """How far a reproduced value may be from the reported one, and how it is printed.

    Attributes:
        absolute: tolerance in the unit of the metric.
        relative: tolerance as a share of the reported value; the larger of the two counts.
        format: format specification of one value.
    """

    absolute: float
    relative: float = 0.0
    format: str = ".2f"


_POINTS = Metric(1.0)
_CLUSTERING = Metric(2.0)  # depends on which few thousand points are sampled
_DIFFERENCE = Metric(0.5, 0.05)  # a gain or loss: a score less another score
_COUNT = Metric(0.0, 0.01, ",.0f")
_ROUNDED_COUNT = Metric(0.0, 0.05, ",.0f")  # the papers give these in round numbers
_CHOICE = Metric(0.0, 0.0, "g")  # a hyperparameter: the same or not
_CURVE_OPTIMUM = Metric(0.5, 0.0, "g")

METRICS = {
    **dict.fromkeys(["accuracy", "accuracy_label", "f1", "token_f1", "micro_f1_label"], _POINTS),
    **dict.fromkeys(["las", "bleu1"], _POINTS),
    **{f"macro_f1_{what}": _POINTS for what in ("label", "language_target", "language_wikipedia")},
    **{
        f"v_measure_{what}": _CLUSTERING
        for what in ("label", "language_target", "language_wikipedia")
    },
    "cka_percent_maximum": _CLUSTERING,
    "l2_share_top10_dims_percent": _CLUSTERING,
    "l2_share_top100_dims_percent": _CLUSTERING,
    "gain_over_original": _DIFFERENCE,
    "convert_rate": Metric(0.02, 0.0, ".3f"),
    "spearman_cross_lingual_gap_vs_similarity": Metric(0.05),
    **dict.fromkeys(["n_items", "n_points"], _COUNT),
    **dict.fromkeys(
        ["n_pages", "n_tokens_in_language", "n_tokens_shared_with_english"], _ROUNDED_COUNT
    ),
    **dict.fromkeys(["best_alpha", "shift_weight_alpha"], _CURVE_OPTIMUM),
    **dict.fromkeys(["best_layer", "init_std", "minibatch", "batch_size", "epochs_best"], _CHOICE),
    **dict.fromkeys(["encoder_lr", "classifier_lr", "learning_rate"], _CHOICE),
    **dict.fromkeys(["grad_rev_lambda", "entropy_weight", "n_grid_trials"], _CHOICE),
    "runtime_minutes": Metric(0.0, 0.5, ".0f"),  # on whatever machine the authors had
}
"""Every metric that a paper reports. One that only we measure needs no entry."""


class Contrast(NamedTuple):
    """A claim of a paper: ``condition`` differs from ``baseline``.

    Attributes:
        artifact: that shows the condition.
        condition: the condition.
        baseline: what it is compared with.
        beside: the artifact that has the baseline; empty for the same.
    """

    artifact: str
    condition: str
    baseline: str
    beside: str = ""


def star(contrasts: Sequence[Contrast], artifact: str, condition: str) -> str:
    """Return the mark of a significant difference.

    Args:
        contrasts: the paper's.
        artifact: of the cell.
        condition: of the cell.

    Returns:
        ``**`` if the condition's baseline is itself compared with another one in this artifact,
        else ``*``.
    """
    baselines = {c.condition: c.baseline for c in reversed(contrasts) if c.artifact == artifact}
    return "**" if baselines.get(condition) in baselines else "*"


def is_difference(metric: str, condition: str) -> bool:
    """Tell whether a cell is a gain or loss, whose sign means something."""
    return metric == "gain_over_original" or condition.endswith("_delta")


def metric_of(metric: str, condition: str) -> Metric | None:
    """Return tolerance and format of a cell; none if the metric is unknown."""
    return _DIFFERENCE if is_difference(metric, condition) else METRICS.get(metric)


def printed(value: float, metric: str, condition: str = "") -> str:
    """Return ``value`` as the papers print it, signed if it is a difference."""
    if math.isnan(value):
        return ""
    if is_difference(metric, condition) or "_minus_" in metric:
        return f"{value:+z.2f}"
    return format(value, (metric_of(metric, condition) or Metric(0.0, 0.0, ".4g")).format)


def printed_spread(spread: float, metric: str, condition: str = "") -> str:
    """Return a standard deviation in the decimals of its metric; empty if there is none."""
    known = metric_of(metric, condition) is not None or "_minus_" in metric
    text = printed(spread, metric, condition) if known else format(spread, ".2g")
    return "" if math.isnan(spread) else text.lstrip("+")


def tolerance(rule: Metric, reported: float) -> float:
    """Return the tolerance around ``reported``, in its unit."""
    return max(rule.absolute, rule.relative * abs(reported))


def value_verdict(
    reported: float, measured: float, standard_error: float, rule: Metric, *, signed: bool
) -> str:
    """Judge one number.

    Args:
        reported: the paper's value.
        measured: our mean over seeds.
        standard_error: of that mean; NaN if there are fewer than two seeds.
        rule: tolerance of the metric.
        signed: whether the sign alone is worth something (differences).
    """
    allowed = tolerance(rule, reported)
    noise = 0.0 if math.isnan(standard_error) else min(2 * standard_error, _MOST_NOISE * allowed)
    if abs(measured - reported) <= max(allowed, noise) + _ROUNDING:
        return REPRODUCED
    return DIRECTION_ONLY if signed and _same_sign(reported, measured) else NOT_REPRODUCED


def claim_verdict(
    reported: float,
    measured: float,
    *,
    reported_significant: bool,
    measured_significant: bool | None,
) -> str:
    """Judge a claim that the paper tested for significance.

    Args:
        reported: the paper's difference between two conditions.
        measured: ours, mean over seeds.
        reported_significant: whether the paper stars it.
        measured_significant: whether our test does; none if no test was made.
    """
    agree = _same_sign(reported, measured)
    if measured_significant is reported_significant and (agree or not reported_significant):
        return REPRODUCED
    return DIRECTION_ONLY if agree else NOT_REPRODUCED


def _same_sign(one: float, other: float) -> bool:
    return (one > 0) - (one < 0) == (other > 0) - (other < 0)


RULE = (
    f"A cell is “{REPRODUCED}” if our mean over seeds is within its tolerance of the paper's "
    "value, or within two standard errors of that mean (with two seeds or more), of which at "
    f"most {_MOST_NOISE} tolerances count. The tolerance is {_POINTS.absolute:g} point for "
    f"accuracies, F1, LAS and BLEU, {_CLUSTERING.absolute:g} points for clustering and CKA, "
    f"{_DIFFERENCE.absolute:g} points or {_DIFFERENCE.relative:.0%} for gains and losses, "
    f"{_COUNT.relative:.0%} for counts ({_ROUNDED_COUNT.relative:.0%} where the paper rounds), "
    "none for hyperparameters; scorecard.csv gives it for each cell.",
    f"A gain or loss outside its tolerance but with the paper's sign is “{DIRECTION_ONLY}”.",
    "A claim compares two conditions, of one table or of two. Where the paper tests it: a starred "
    f"difference is “{REPRODUCED}” if ours has the same sign and is significant too, an unstarred "
    f"one if ours is not significant either; otherwise the same sign is “{DIRECTION_ONLY}”. Where "
    "the paper does not test, the difference counts as a gain or loss. "
    "Anything else that was run is "
    f"“{NOT_REPRODUCED}”.",
)
"""The rule in words, one paragraph per entry, for the page."""
