"""Many binary logistic regressions on the same vectors, each with its own classes.

Liang et al. (2021, section 4.2) identify languages pairwise and predict each value of a typological
feature against the rest: thousands of regressions per window of a space. Vectors come in groups,
the languages: a group belongs to one class of a regression, to the other, or to none.

The loss is scikit-learn's at C = 1, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / 2, with a free
intercept, minimised by limited-memory BFGS (Nocedal 1980), one step of all regressions at a time:
10 to 38 times as fast as a loop of scikit-learn (``benchmarks/language_subspace.py``).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_logger = logging.getLogger(__name__)
_CURVATURE = 0.1
"""Assumed mean of p (1 - p) where the penalty is added to the covariance."""
_CALIBRATION_STEPS = 6
_MINIMUM = 1e-3
"""Least curvature: that of well-separated classes is nearly 0."""
_CALIBRATION_VECTORS = 20
"""Vectors per group that the start is calibrated on."""
_MEMORY = 8
_MOST_STEPS = 200
_OVERSHOT = 0.5
"""A step is too long if the slope at its end exceeds this fraction of the descent at its start."""
_TEST_FRACTION = 0.2


class Split(NamedTuple):
    """Rows of the training and the test vectors of a language, int64, ascending."""

    train: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def split(random: np.random.Generator, count: int, most: int) -> Split:
    """Sample at most ``most`` of ``count`` rows and split them."""
    chosen = random.permutation(count)[:most]
    tests = round(len(chosen) * _TEST_FRACTION)
    return Split(np.sort(chosen[tests:]), np.sort(chosen[:tests]))


def pairwise_accuracies(
    vectors: Mapping[str, npt.NDArray[np.float32]],
    splits: Mapping[str, Split],
    pairs: Sequence[tuple[str, str]],
) -> npt.NDArray[np.float64]:
    """Return the accuracy, 0 to 1, of a classifier between each pair of languages.

    Vectors of each language have the shape ``(m, dims)``.
    """
    # Pairs (a, b) and (b, c): signs of a, b, c in two regressions [[-1, 0], [1, -1], [0, 1]]
    codes = list(dict.fromkeys(chain.from_iterable(pairs)))
    signs = np.zeros((len(codes), len(pairs)), dtype=np.int8)
    for number, (first, second) in enumerate(pairs):
        signs[codes.index(first), number], signs[codes.index(second), number] = -1, 1

    def rows(code: str, part: int) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(vectors[code][splits[code][part]]))

    weights = fit_regressions([rows(code, 0) for code in codes], signs)
    correct, total = np.zeros(len(pairs)), np.zeros(len(pairs))
    for code, sign in zip(codes, signs, strict=True):
        test, used = rows(code, 1), sign.nonzero()[0]
        is_second = test @ weights[used, :-1].T + weights[used, -1] > 0
        correct[used] += (is_second.numpy() == (sign[used] > 0)).sum(axis=0)
        total[used] += len(test)
    return correct / total


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

    weights, converged = _minimise(gradient, precondition, start, tolerance * counts)
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


_Function = Callable[[Tensor, Tensor], Tensor]


@dataclass
class _State:
    """The functions that have not converged; the first axis of every tensor is theirs."""

    which: Tensor  # their numbers
    points: Tensor
    gradients: Tensor
    directions: Tensor
    lengths: Tensor  # of the next step, in directions
    steps: Tensor  # (functions, memory, dims); 0 where a step was rejected
    changes: Tensor  # of the gradient in these steps


def _minimise(
    gradient: _Function, precondition: _Function, start: Tensor, limits: Tensor
) -> tuple[Tensor, Tensor]:
    """Minimise convex functions from ``start``, float32, shape ``(functions, dims)``.

    A step is accepted if the slope along it at its end is not much above 0; if it is, the next step
    is half as long. Gradients alone decide: float32 resolves them near the minimum, but not the
    decrease of a loss. ``gradient`` maps points and the numbers of their functions to gradients,
    ``precondition`` gradients to an estimate of the inverse curvature times them. A function that
    is within its limit of the minimum takes one more step. Returns the points, and which functions
    have converged.
    """
    result, converged = start.clone(), torch.zeros(len(start), dtype=torch.bool)
    which = torch.arange(len(start))
    first = gradient(start, which)
    directions, lengths = -precondition(first, which), start.new_ones(len(start))
    memory = start.new_zeros(len(start), _MEMORY, start.shape[1])
    state = _State(which, start.clone(), first, directions, lengths, memory, memory.clone())
    for step in range(_MOST_STEPS):
        gaps = -_dot(state.gradients, state.directions) / 2
        arrived = gaps <= limits[state.which]
        if arrived.any():
            converged[state.which[arrived]] = True
            result[state.which[arrived]] = (state.points + state.directions)[arrived]
            state = _State(*(value[~arrived] for value in vars(state).values()))
        if len(state.which) == 0:
            break
        _advance(state, gradient, precondition, step % _MEMORY)
    result[state.which] = state.points
    return result, converged


def _advance(state: _State, gradient: _Function, precondition: _Function, place: int) -> None:
    """Take a step and remember it at a place of the memory."""
    moves = state.lengths[:, None] * state.directions
    new = gradient(state.points + moves, state.which)
    slope = _dot(state.gradients, state.directions)
    accepted = _dot(new, state.directions) <= -_OVERSHOT * slope
    changed = torch.where(accepted[:, None], new - state.gradients, 0)
    moved = torch.where(accepted[:, None], moves, 0)
    state.points, state.gradients = state.points + moved, state.gradients + changed
    state.steps[:, place], state.changes[:, place] = moved, changed
    directions = _directions(state, precondition, place)
    ascends = _dot(state.gradients, directions) >= 0
    if ascends.any():  # rounding, close to the minimum
        plain = -precondition(state.gradients, state.which)
        directions = torch.where(ascends[:, None], plain, directions)
    state.directions = torch.where(accepted[:, None], directions, state.directions)
    state.lengths = torch.where(accepted, torch.ones_like(state.lengths), state.lengths / 2)


def _directions(state: _State, precondition: _Function, place: int) -> Tensor:
    """Return minus the inverse curvature times the gradient: Nocedal's two loops."""
    curved = (state.steps * state.changes).sum(2)
    weights = torch.where(curved > 0, 1 / curved, 0)
    rest = state.gradients.clone()
    order = [(place - back) % _MEMORY for back in range(_MEMORY)]  # the last step first
    shares = {}
    for at in order:
        shares[at] = weights[:, at] * _dot(state.steps[:, at], rest)
        rest -= shares[at][:, None] * state.changes[:, at]
    rest = precondition(rest, state.which)
    for at in reversed(order):
        share = shares[at] - weights[:, at] * _dot(state.changes[:, at], rest)
        rest += share[:, None] * state.steps[:, at]
    return -rest


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).sum(1)
