"""Many binary logistic regressions of the same vectors at once, each on columns of its own.

Liang et al. (2021) tell two languages apart by 1, 10, ..., 200 dimensions of a projected space, for
many pairs of languages and three kinds of windows: thousands of regressions on a few arrays. The
loss is scikit-learn's, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / (2 C), the intercept free.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

Floats = npt.NDArray[np.float32]

_HESSIAN_ROWS = 2000
_HESSIAN_STEPS = (2, 5, 9, 14, 20, 30, 45, 65)
"""Steps at which the curvature is looked at again; before, it is that of weights 0."""


def fit_windows(
    vectors: Floats,
    gold: npt.NDArray[np.bool_],
    windows: Sequence[slice],
    *,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-4,
    most_steps: int = 100,
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Fit one regression on each window of columns.

    Newton's method, all windows in step. Gradients are exact; curvature is estimated from some rows
    and kept for several steps, which costs steps and no accuracy: what converges has no gradient.

    Args:
        vectors: float32, shape ``(n, dims)``.
        gold: which are of the second class, shape ``(n,)``.
        windows: columns of each regression.
        inverse_penalty: C.
        tolerance: a regression has converged once no entry of its gradient exceeds n times this.
        most_steps: the others end here.

    Returns:
        Weights, shape ``(dims + 1, windows)``, 0 outside the window, the last row the intercepts;
        and which have converged, shape ``(windows,)``.
    """
    # Windows [0:1] and [0:2] of the rows (x1, x2): the design is (x1, x2, 1), and the weights are
    #   [[a, c],    one column per regression;
    #    [0, d],    margins of all rows and regressions in one product, design @ weights
    #    [b, e]]
    count, dims = vectors.shape
    design = np.ones((count, dims + 1), dtype=np.float32)
    design[:, :dims] = vectors
    columns = [np.append(np.arange(dims)[window], dims) for window in windows]
    inside = np.zeros((dims + 1, len(windows)), dtype=bool)
    for number, own in enumerate(columns):
        inside[own, number] = True
    penalty = np.full((dims + 1, 1), 1 / inverse_penalty, dtype=np.float32)
    penalty[dims] = 0
    sign = np.where(gold, np.float32(1), np.float32(-1))[:, None]
    weights = np.zeros((dims + 1, len(windows)), dtype=np.float32)
    margins = np.zeros((count, len(windows)), dtype=np.float32)  # y f(x)
    gram = design.T @ design / 4
    curvature = [cho_factor(gram[np.ix_(own, own)] + np.diag(penalty[own, 0])) for own in columns]
    some = slice(None, None, max(1, count // _HESSIAN_ROWS))
    left = np.arange(len(windows))
    for step in range(most_steps):
        shares = expit(-margins[:, left])
        gradient = -(design.T @ (sign * shares)) + penalty * weights[:, left]
        gradient *= inside[:, left]
        steep = np.abs(gradient).max(axis=0) > tolerance * count
        left, gradient = left[steep], gradient[:, steep]
        if len(left) == 0:
            break
        if step in _HESSIAN_STEPS:
            spread = np.sqrt(shares * (1 - shares))[some][:, steep]
            for place, number in enumerate(left):
                rows = design[some][:, columns[number]] * spread[:, place, None]
                hessian = rows.T @ rows * (count / len(rows))
                hessian += np.diag(penalty[columns[number], 0])
                curvature[number] = cho_factor(hessian)
        change = np.zeros_like(gradient)
        for place, number in enumerate(left):
            own = columns[number]
            change[own, place] = -cho_solve(curvature[number], gradient[own, place])
        _move(weights, margins, left, change, sign * (design @ change), penalty)
    converged = np.ones(len(windows), dtype=bool)
    converged[left] = False
    return weights, converged


def _move(
    weights: Floats,
    margins: Floats,
    left: npt.NDArray[np.int64],
    change: Floats,
    farther: Floats,
    penalty: Floats,
) -> None:
    """Go a whole step, or half of it again and again where the loss would rise."""
    old, at = weights[:, left], margins[:, left]
    before = _losses(old, at, penalty)
    length = np.ones(len(left), dtype=np.float32)
    for _ in range(12):
        rises = _losses(old + length * change, at + length * farther, penalty) > before
        if not rises.any():
            break
        length[rises] /= 2
    weights[:, left], margins[:, left] = old + length * change, at + length * farther


def _losses(weights: Floats, margins: Floats, penalty: Floats) -> npt.NDArray[np.float64]:
    losses: npt.NDArray[np.float64] = np.logaddexp(0, -margins).sum(axis=0, dtype=np.float64)
    losses += (penalty * weights**2).sum(axis=0) / 2
    return losses
