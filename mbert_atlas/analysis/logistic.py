"""Many binary logistic regressions on the same vectors, each with its own classes.

Liang et al. (2021, section 4.2) identify languages pairwise and predict each value of a typological
feature against the rest: thousands of regressions per window of a space. The class of a vector
depends on its language alone, so that vectors come in groups: a group belongs to one class of a
regression, to the other, or to none.

The loss is scikit-learn's, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / (2 C), with a free intercept.
A loop of scikit-learn's faster solver takes 10 times the CPU time for 20 languages pairwise and 38
times for typology of 40, at equal C and tolerance on one thread; in the demo's jobs 8 and 10 times
(``benchmarks/language_subspace.py``). Of this the calibrated start brings 1.2 and 1.6 times.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mbert_atlas.analysis.descent import minimise

_logger = logging.getLogger(__name__)
_CURVATURE = 0.1
"""Assumed mean of p (1 - p) where the penalty is added to the covariance."""
_CALIBRATION_STEPS = 6
_MINIMUM = 1e-3
"""Least curvature: that of well-separated classes is nearly 0."""
_CALIBRATION_VECTORS = 20
"""Vectors per group that the start is calibrated on."""


def fit_regressions(
    groups: Sequence[Tensor],
    signs: npt.NDArray[np.int8],
    *,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-4,
    most_steps: int = 200,
) -> Tensor:
    """Fit the regressions; warn of those that did not converge.

    All start at linear discriminant analysis, scaled. The covariance of all vectors, scaled, stands
    for the curvature of each loss, so that all regressions share one inverse.

    Args:
        groups: vectors of each, float32, shape ``(n, dims)``.
        signs: 1 where a group belongs to a regression's second class, -1 for the first, 0 for none;
            int8, shape ``(groups, k)``.
        inverse_penalty: C.
        tolerance: a regression has converged once its loss is within n times this of the minimum, n
            being its vectors.
        most_steps: limit of steps.

    Returns:
        Weights, float32, shape ``(k, dims + 1)``, the intercepts last.

    Raises:
        ValueError: if a regression lacks a class.
    """
    # Languages a, b, c of values 1, 2, 2; is the value 1, is it 2, and is it 1 without c:
    # signs = [[1, -1, 1], [-1, 1, -1], [-1, 1, 0]]
    if not ((signs > 0).any(0) & (signs < 0).any(0)).all():
        raise ValueError("a regression needs vectors of both classes")
    sizes = torch.tensor([float(len(vectors)) for vectors in groups])
    side = torch.from_numpy(np.ascontiguousarray(signs.T)).float()
    group_means = torch.stack([vectors.mean(0) for vectors in groups])
    inverse = _inverse_scatter(groups, sizes @ group_means / sizes.sum(), inverse_penalty)
    counts = side.abs() @ sizes
    means = (side.abs() * sizes) @ group_means / counts[:, None]
    first, second = (
        (chosen * sizes) @ group_means / (chosen @ sizes)[:, None]
        for chosen in ((side < 0).float(), (side > 0).float())
    )
    solved = (second - first) @ inverse
    discriminants = torch.column_stack([solved, -(solved * means).sum(1)])
    start, curvature = _calibrate(discriminants, groups, side, sizes / counts[:, None])
    scale = (curvature * counts / sizes.sum())[:, None]

    def precondition(gradients: Tensor, which: Tensor) -> Tensor:
        # f(x) = w x + b = w (x - m) + c: for c instead of b the gradient is g_w - m g_b, and the
        # curvature has no entries between w and c.
        centred = gradients[:, :-1] - means[which] * gradients[:, -1:]
        steps = centred @ inverse / scale[which]
        intercepts = gradients[:, -1] / (curvature * counts)[which] - (means[which] * steps).sum(1)
        return torch.column_stack([steps, intercepts])

    gradient = partial(_gradient, groups, side, 1 / inverse_penalty)
    weights, converged = minimise(gradient, precondition, start, tolerance * counts, most_steps)
    if failed := int((~converged).sum()):
        _logger.warning("%d of %d regressions did not converge", failed, len(weights))
    return weights


def _gradient(
    groups: Sequence[Tensor], side: Tensor, penalty: float, points: Tensor, which: Tensor
) -> Tensor:
    total = torch.column_stack([penalty * points[:, :-1], torch.zeros(len(points))])
    for vectors, sign in zip(groups, side[which].T, strict=True):
        rows = sign.nonzero()[:, 0]
        weights, signed = points[rows], -sign[rows][:, None]
        # The derivative of log(1 + exp(-y f)) is -y / (1 + exp(y f)).
        errors = torch.addmm(weights[:, -1:], weights[:, :-1], vectors.T)
        errors = errors.mul_(signed).sigmoid_().mul_(signed)
        total.index_add_(0, rows, torch.column_stack([errors @ vectors, errors.sum(1)]))
    return total


def _inverse_scatter(groups: Sequence[Tensor], mean: Tensor, inverse_penalty: float) -> Tensor:
    scatter = sum(((own - mean).T @ (own - mean) for own in groups), torch.zeros(()))
    ridge = 1 / (inverse_penalty * _CURVATURE) + 1e-6 * float(scatter.diagonal().max())
    scatter.diagonal().add_(ridge)
    return torch.cholesky_inverse(torch.linalg.cholesky(scatter))


def _calibrate(
    weights: Tensor, groups: Sequence[Tensor], side: Tensor, shares: Tensor
) -> tuple[Tensor, Tensor]:
    """Scale margins to fit best as log-odds (Platt 1999), by Newton's method on a sample.

    Args:
        weights: with the intercept last, shape ``(k, dims + 1)``.
        groups: vectors of each.
        side: signs of the groups, shape ``(k, groups)``.
        shares: of each group in the vectors of a regression, shape ``(k, groups)``.

    Returns:
        The weights scaled and shifted, and the means of p (1 - p), shape ``(k,)``.
    """
    # The loss log(1 + exp(-y (s f + c))) has the gradient -y (1 - p) (f, 1) and the curvature
    # p (1 - p) (f, 1) (f, 1)^T: two equations for the steps of s and c.
    some = [own[:: max(1, len(own) // _CALIBRATION_VECTORS)] for own in groups]
    lengths = torch.tensor([*map(len, some)])
    owner = torch.repeat_interleave(torch.arange(len(groups)), lengths)
    signs, shares = side[:, owner], (side.abs() * shares / lengths)[:, owner]
    margin = weights[:, :-1] @ torch.cat(some).T + weights[:, -1:]
    spread = (shares * margin.abs()).sum(1).clamp(min=1e-20)
    margin = margin / spread[:, None]
    scale, shift = torch.zeros_like(spread), torch.zeros_like(spread)
    for _ in range(_CALIBRATION_STEPS):
        wrong = torch.sigmoid(-signs * (scale[:, None] * margin + shift[:, None]))
        errors, curved = shares * signs * wrong, shares * wrong * (1 - wrong)
        a, b = (curved * margin**2).sum(1) + _MINIMUM, (curved * margin).sum(1)
        c = curved.sum(1) + _MINIMUM
        one, two = (errors * margin).sum(1), errors.sum(1)
        determinant = a * c - b * b
        scale += (c * one - b * two) / determinant
        shift += (a * two - b * one) / determinant
    scaled = weights * (scale / spread)[:, None]
    scaled[:, -1] += shift
    return scaled, curved.sum(1).clamp(min=_MINIMUM)
