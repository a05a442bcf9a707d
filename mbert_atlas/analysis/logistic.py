"""Many binary logistic regressions on the same vectors, each with its own classes.

Liang et al. (2021, section 4.2) identify languages pairwise and predict each value of a typological
feature against the rest: thousands of regressions per window of a space. Vectors come in groups,
the languages: a group belongs to one class of a regression, to the other, or to none.

The loss is scikit-learn's at C = 1, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / 2, with a free
intercept. What makes one fit of all faster than scikit-learn's in a loop (docs/decisions.md, hours)
is shared: the vectors of a group are multiplied once by the weights of all its regressions; all
start near their minimum, at linear discriminant analysis with scaled margins; and one inverse of
the covariance stands for the curvature of each loss, see :mod:`mbert_atlas.analysis.lbfgs`.
"""

import logging
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mbert_atlas.analysis.lbfgs import minimise

_logger = logging.getLogger(__name__)
_CURVATURE = 0.1
"""Assumed mean of p (1 - p) where the penalty is added to the covariance."""
_CALIBRATION_STEPS = 6
_MINIMUM = 1e-3
"""Least curvature: that of well-separated classes is nearly 0."""
_CALIBRATION_VECTORS = 20
"""Vectors per group that the start is calibrated on."""


def fit_regressions(
    groups: Sequence[Tensor], signs: npt.NDArray[np.int8], *, tolerance: float = 1e-4
) -> Tensor:
    """Fit the regressions; warn of those that did not converge.

    All start at linear discriminant analysis, scaled. The covariance of all vectors, scaled, stands
    for the curvature of each loss, so that all regressions share one inverse. A regression has
    converged once its loss is within n times the tolerance of the minimum, n being its vectors.

    Groups have vectors of float32, shape ``(n, dims)``; a sign, int8, shape ``(groups, k)``, is 1
    where a group belongs to a regression's second class, -1 for the first, 0 for none; each has
    groups of both. Returns weights, float32, shape ``(k, dims + 1)``, the intercepts last.
    """
    # Languages a, b, c of values 1, 2, 2; is the value 1, is it 2, and is it 1 without c:
    # signs = [[1, -1, 1], [-1, 1, -1], [-1, 1, 0]]
    sizes = torch.tensor([float(len(vectors)) for vectors in groups])
    side = torch.from_numpy(np.ascontiguousarray(signs.T)).float()
    group_means = torch.stack([vectors.mean(0) for vectors in groups])
    inverse = _inverse_scatter(groups, sizes @ group_means / sizes.sum())
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

    def gradient(points: Tensor, which: Tensor) -> Tensor:
        return _gradient(groups, side[which], points)

    def precondition(gradients: Tensor, which: Tensor) -> Tensor:
        # f(x) = w x + b = w (x - m) + c: for c instead of b the gradient is g_w - m g_b, and the
        # curvature has no entries between w and c.
        centred = gradients[:, :-1] - means[which] * gradients[:, -1:]
        steps = centred @ inverse / scale[which]
        intercepts = gradients[:, -1] / (curvature * counts)[which] - (means[which] * steps).sum(1)
        return torch.column_stack([steps, intercepts])

    weights, converged = minimise(gradient, precondition, start, tolerance * counts)
    if failed := int((~converged).sum()):
        _logger.warning("%d of %d regressions did not converge", failed, len(weights))
    return weights


def _gradient(groups: Sequence[Tensor], side: Tensor, points: Tensor) -> Tensor:
    total = torch.column_stack([points[:, :-1], torch.zeros(len(points))])
    for vectors, sign in zip(groups, side.T, strict=True):
        rows = sign.nonzero()[:, 0]
        weights, signed = points[rows], -sign[rows][:, None]
        # The derivative of log(1 + exp(-y f)) is -y / (1 + exp(y f)).
        errors = torch.addmm(weights[:, -1:], weights[:, :-1], vectors.T)
        errors = errors.mul_(signed).sigmoid_().mul_(signed)
        total.index_add_(0, rows, torch.column_stack([errors @ vectors, errors.sum(1)]))
    return total


def _inverse_scatter(groups: Sequence[Tensor], mean: Tensor) -> Tensor:
    scatter = sum(((own - mean).T @ (own - mean) for own in groups), torch.zeros(()))
    scatter.diagonal().add_(1 / _CURVATURE + 1e-6 * float(scatter.diagonal().max()))
    return torch.cholesky_inverse(torch.linalg.cholesky(scatter))


def _calibrate(
    weights: Tensor, groups: Sequence[Tensor], side: Tensor, shares: Tensor
) -> tuple[Tensor, Tensor]:
    """Scale margins to fit best as log-odds (Platt 1999), by Newton's method on a sample.

    ``side`` and ``shares`` are the signs of the groups and their shares in the vectors of a
    regression, shape ``(k, groups)``. Returns the scaled weights, and the means of p (1 - p).
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
