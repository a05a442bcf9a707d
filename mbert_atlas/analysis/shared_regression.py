"""Many binary logistic regressions on the same vectors, each with classes of its own.

Liang et al. (2021), section 4.2, predict each value of each typological feature from tokens, one
against the rest. What a token's class is depends on its language alone, so that vectors come in
groups: a group is on one side of a regression, on the other, or not in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mbert_atlas.analysis.descent import minimise
from mbert_atlas.analysis.logistic import CURVATURE, calibrated, centred, discriminant, step_of

_SOME = 20
"""Vectors of a group that the beginning is calibrated on."""


def fit_shared(
    groups: Sequence[Tensor],
    signs: npt.NDArray[np.int8],
    *,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-4,
    most_steps: int = 200,
) -> tuple[Tensor, npt.NDArray[np.bool_]]:
    """Fit regressions that share their vectors, with one inverse of the covariance for all.

    The loss of each is scikit-learn's, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / (2 C) over the
    groups that are in it, the intercept free. The covariance of all vectors stands for the
    curvature of each, but for a factor, see :func:`mbert_atlas.analysis.logistic.fit_windows`.

    Args:
        groups: vectors of each, float32, shape ``(n, dims)``.
        signs: 1 where a group is of a regression's second class, -1 where of the first, 0 where it
            is left out; int8, shape ``(groups, k)``. Every regression has both classes.
        inverse_penalty: C.
        tolerance: a regression has converged once its loss is within n times this, n being its
            vectors; a last step, no longer looked at, brings it nearer still.
        most_steps: the others end here.

    Returns:
        Weights, float32, shape ``(k, dims + 1)``, the intercepts last; and which have converged,
        shape ``(k,)``.

    Raises:
        ValueError: if a regression lacks a class.
    """
    # Groups of languages a, b, c; is the value 1 (a, b against c), is it 2, and without c:
    #   [[ 1, -1, 1],
    #    [ 1, -1, -1],
    #    [-1,  1, 0]]
    if not ((signs > 0).any(0) & (signs < 0).any(0)).all():
        raise ValueError("a regression needs vectors of both classes")
    sizes = torch.tensor([float(len(own)) for own in groups])
    side = torch.from_numpy(np.ascontiguousarray(signs.T)).float()
    group_means = torch.stack([own.mean(0) for own in groups])
    mean = sizes @ group_means / sizes.sum()
    scatter = sum(((own - mean).T @ (own - mean) for own in groups), torch.zeros(()))
    scatter.diagonal().add_(
        1 / (inverse_penalty * CURVATURE) + 1e-6 * float(scatter.diagonal().max())
    )
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(scatter))
    counts = side.abs() @ sizes
    means = (side.abs() * sizes) @ group_means / counts[:, None]
    of_class = [
        (chosen * sizes) @ group_means / (chosen @ sizes)[:, None]
        for chosen in ((side < 0).float(), (side > 0).float())
    ]
    start = discriminant(means, (of_class[1] - of_class[0]) @ inverse)
    some = [own[:: max(1, len(own) // _SOME)] for own in groups]
    owner = torch.repeat_interleave(torch.arange(len(groups)), torch.tensor([*map(len, some)]))
    shares = (side.abs() * sizes / counts[:, None] / torch.tensor([*map(len, some)]))[:, owner]
    found = start[:, :-1] @ torch.cat(some).T + start[:, -1:]
    start, curvature = calibrated(start, found, side[:, owner], shares)
    scale = curvature * counts / sizes.sum()
    penalty = torch.full((start.shape[1],), 1 / inverse_penalty)
    penalty[-1] = 0

    def gradient(points: Tensor, which: Tensor) -> Tensor:
        total = penalty * points
        for own, sign in zip(groups, side[which].T, strict=True):
            rows = sign.nonzero()[:, 0]
            weights, signed = points[rows], -sign[rows][:, None]
            errors = torch.addmm(weights[:, -1:], weights[:, :-1], own.T)
            errors = errors.mul_(signed).sigmoid_().mul_(signed)
            total.index_add_(0, rows, torch.column_stack([errors @ own, errors.sum(1)]))
        return total

    def precondition(gradients: Tensor, which: Tensor) -> Tensor:
        steps = centred(gradients, means[which]) @ inverse
        return step_of(steps, gradients, means[which], scale[which], (curvature * counts)[which])

    points, converged = minimise(gradient, precondition, start, tolerance * counts, most_steps)
    return points, converged.numpy()
