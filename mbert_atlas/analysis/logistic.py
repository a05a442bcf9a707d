"""Many binary logistic regressions of the same vectors at once, each on columns of its own.

Liang et al. (2021) tell two languages apart by 1, 10, ..., 200 dimensions of a projected space, for
many pairs of languages and three kinds of windows: thousands of regressions on a few arrays. The
loss is scikit-learn's, sum_i log(1 + exp(-y_i f(x_i))) + |w|^2 / (2 C), the intercept free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mbert_atlas.analysis.descent import minimise

Floats = npt.NDArray[np.float32]

CURVATURE = 0.1
"""Where the penalty is weighed against the covariance, p (1 - p) is taken to be this on average."""
_CALIBRATIONS = 6
"""Newton steps for the scale of the margins that all begin with."""
_SMALL = 1e-3
"""Least curvature: classes that lie far apart have next to none, and steps would have no end."""
_SOME = 1000
"""Vectors of a class that the scale is found on."""
_BLOCK = 64
"""Columns of one product: few windows end within, and the block stays in the processor's cache."""


@dataclass(frozen=True)
class Sample:
    """Vectors of one class, with what every regression on them needs.

    Attributes:
        vectors: float32, shape ``(dims, n)``: a window is a block of memory.
        mean: float32, shape ``(dims,)``.
        scatter: sum of (x - mean) (x - mean)^T, float32, shape ``(dims, dims)``.
        some: some of the vectors, to begin with.
    """

    vectors: Tensor
    mean: Tensor
    scatter: Tensor
    some: Tensor

    @classmethod
    def of(cls, vectors: Floats) -> Sample:
        """Take vectors of shape ``(n, dims)``."""
        own = torch.from_numpy(np.ascontiguousarray(vectors.T, dtype=np.float32))
        mean = own.mean(1)
        centred = own - mean[:, None]
        some = own[:, :: max(1, own.shape[1] // _SOME)].contiguous()
        return cls(own, mean, centred @ centred.T, some)

    def __len__(self) -> int:
        """Return the number of vectors."""
        return self.vectors.shape[1]


def fit_windows(
    no: Sample,
    yes: Sample,
    windows: Sequence[slice],
    *,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-4,
    most_steps: int = 300,
) -> tuple[Tensor, npt.NDArray[np.bool_]]:
    """Fit one regression on each window of columns.

    All begin at the solution of linear discriminant analysis, which that of the regression tends to
    if both classes are Gaussian with one covariance; the curvature there is nearly a multiple of
    the covariance, and what it lacks a few steps of :mod:`mbert_atlas.analysis.descent` learn.

    Args:
        no: vectors of the first class.
        yes: of the second.
        windows: columns of each regression, as ``slice(start, stop)``.
        inverse_penalty: C.
        tolerance: a regression has converged once its loss is within n times this of the least,
            see :func:`mbert_atlas.analysis.descent.minimise`. With the default, accuracies are
            about as near to those of the exact solution as scikit-learn's with its own.
        most_steps: the others end here.

    Returns:
        Weights, float32, shape ``(windows, dims + 1)``, 0 outside the window, the last column the
        intercepts; and which have converged, shape ``(windows,)``.
    """
    # Windows [0:1] and [1:3] of three dimensions: regressions are rows, their weights lie where
    # their columns do, and the intercepts stand last,
    #   [[a, 0, 0, b],
    #    [0, c, d, e]]
    count = len(no) + len(yes)
    layout = _Layout.of(windows, len(no.mean))
    mean = (len(no) * no.mean + len(yes) * yes.mean) / count
    gap = yes.mean - no.mean
    scatter = no.scatter + yes.scatter + len(no) * len(yes) / count * torch.outer(gap, gap)
    solve = _Solver(windows, scatter, 1 / (inverse_penalty * CURVATURE))
    means, gaps = layout.pick(mean), layout.pick(gap)
    every = torch.arange(len(windows))
    start = discriminant(means, count * solve(gaps, every))
    weights, blocks = layout.spread(start, every), layout.blocks(every)
    start, curvature = calibrated(
        start,
        torch.column_stack([margins(own.some, weights, blocks) for own in (no, yes)]),
        torch.cat(
            [torch.full((own.some.shape[1],), sign) for own, sign in ((no, -1.0), (yes, 1.0))]
        ),
        torch.cat(
            [
                torch.full((own.some.shape[1],), len(own) / count / own.some.shape[1])
                for own in (no, yes)
            ]
        ),
    )
    penalty = torch.full((layout.width + 1,), 1 / inverse_penalty)
    penalty[-1] = 0

    def gradient(points: Tensor, which: Tensor) -> Tensor:
        weights = layout.spread(points, which)
        total = torch.zeros_like(weights)
        blocks = layout.blocks(which)
        for sample, sign in ((no, -1.0), (yes, 1.0)):
            # The derivative of log(1 + exp(-y f)) is -y / (1 + exp(y f)).
            errors = margins(sample.vectors, weights, blocks)
            errors = errors.mul_(-sign).sigmoid_().mul_(-sign)
            for rows, place in blocks:
                total[rows, place] += errors[rows] @ sample.vectors[place].T
            total[:, -1] += errors.sum(1)
        return layout.collect(total, which) + penalty * points

    def precondition(gradients: Tensor, which: Tensor) -> Tensor:
        own, scale = means[which], curvature[which]
        steps = solve(centred(gradients, own), which)
        return step_of(steps, gradients, own, scale, scale * count)

    limits = torch.full((len(windows),), tolerance * count)
    points, converged = minimise(gradient, precondition, start, limits, most_steps)
    return layout.spread(points, every), converged.numpy()


def count_correct(
    no: Tensor, yes: Tensor, weights: Tensor, windows: Sequence[slice]
) -> npt.NDArray[np.int64]:
    """Count what regressions tell right.

    Args:
        no: vectors of the first class, float32, shape ``(dims, n)``.
        yes: of the second.
        weights: of :func:`fit_windows`.
        windows: its windows.

    Returns:
        Vectors on the right side, int64, shape ``(windows,)``.
    """
    blocks = _Layout.of(windows, len(no)).blocks(torch.arange(len(windows)))
    right = (margins(no, weights, blocks) <= 0).sum(1) + (margins(yes, weights, blocks) > 0).sum(1)
    return np.asarray(right.numpy())


def discriminant(means: Tensor, solved: Tensor) -> Tensor:
    """Return the directions of linear discriminant analyses, their margins 0 at the mean.

    Args:
        means: of all vectors of each regression, shape ``(k, dims)``.
        solved: inverse covariance times the gap of the class means, shape ``(k, dims)``.

    Returns:
        Weights with the intercept last, shape ``(k, dims + 1)``.
    """
    return torch.column_stack([solved, -(solved * means).sum(1)])


def calibrated(
    weights: Tensor, found: Tensor, signs: Tensor, shares: Tensor
) -> tuple[Tensor, Tensor]:
    """Scale margins so that they fit best as log-odds (Platt 1999), by Newton's method.

    Args:
        weights: with the intercept last, shape ``(k, dims + 1)``.
        found: margins of some vectors, shape ``(k, n)``.
        signs: 1 for the second class and -1 for the first, shape ``(n,)`` or ``(k, n)``.
        shares: what each vector counts, 1 in all, shape ``(n,)`` or ``(k, n)``.

    Returns:
        The weights scaled and shifted, and the means of p (1 - p), shape ``(k,)``.
    """
    # The loss log(1 + exp(-y (s f + c))) has the gradient -y (1 - p) (f, 1) and the curvature
    # p (1 - p) (f, 1) (f, 1)^T; two equations in two unknowns give a step of s and c.
    spread = (shares * found.abs()).sum(1).clamp(min=1e-20)
    margin = found / spread[:, None]
    scale, shift = torch.zeros_like(spread), torch.zeros_like(spread)
    for _ in range(_CALIBRATIONS):
        wrong = torch.sigmoid(-signs * (scale[:, None] * margin + shift[:, None]))
        errors, curved = shares * signs * wrong, shares * wrong * (1 - wrong)
        a, b = (curved * margin**2).sum(1) + _SMALL, (curved * margin).sum(1)
        c = curved.sum(1) + _SMALL
        one, two = (errors * margin).sum(1), errors.sum(1)
        determinant = a * c - b * b
        scale += (c * one - b * two) / determinant
        shift += (a * two - b * one) / determinant
    scaled = weights * (scale / spread)[:, None]
    scaled[:, -1] += shift
    return scaled, curved.sum(1).clamp(min=_SMALL)


def centred(gradients: Tensor, means: Tensor) -> Tensor:
    """Return the gradients for weights of vectors that their mean is taken off."""
    # f(x) = w x + b = w (x - m) + c: with c held instead of b, the gradient is g_w - m g_b, and
    # the curvature has no entries between w and c.
    return gradients[:, :-1] - means * gradients[:, -1:]


def step_of(
    steps: Tensor, gradients: Tensor, means: Tensor, scales: Tensor, weights: Tensor
) -> Tensor:
    """Return steps of weights and intercept.

    Args:
        steps: inverse scatter times what :func:`centred` gave, shape ``(k, dims)``.
        gradients: of weights and intercept, shape ``(k, dims + 1)``.
        means: as in :func:`centred`.
        scales: curvature of the weights, in scatters, shape ``(k,)``.
        weights: curvature of the intercept, shape ``(k,)``.
    """
    own = steps / scales[:, None]
    return torch.column_stack([own, gradients[:, -1] / weights - (means * own).sum(1)])


def margins(vectors: Tensor, weights: Tensor, blocks: Sequence[tuple[slice, slice]]) -> Tensor:
    """Return f(x) of every regression, shape ``(windows, n)``."""
    found = weights[:, -1:].repeat(1, vectors.shape[1])
    for rows, place in blocks:
        found[rows].addmm_(weights[rows, place], vectors[place])
    return found


class _Solver:
    """Solves systems of the scatters of windows; one factor serves all that begin at one column.

    Args:
        windows: columns of each.
        scatter: of all columns, shape ``(dims, dims)``.
        ridge: what is added to its diagonal.
    """

    # The scatter of [0:x] is a leading block of that of [0:200] = L L^T, and so are their factors:
    # L y = g, y cut behind x, then L^T w = y. For x = 2 of 3 columns [a, b, c] becomes [a, b, 0].
    def __init__(self, windows: Sequence[slice], scatter: Tensor, ridge: float) -> None:
        starts = [window.start for window in windows]
        self._sizes = torch.tensor([window.stop - window.start for window in windows])
        self._chains = [
            (torch.tensor([start == own for start in starts]), own) for own in sorted(set(starts))
        ]
        self._factors = []
        for members, start in self._chains:
            columns = slice(start, start + int(self._sizes[members].max()))
            own = scatter[columns, columns].clone()
            own.diagonal().add_(ridge + 1e-6 * float(own.diagonal().max()))
            self._factors.append(torch.linalg.cholesky(own))

    def __call__(self, vectors: Tensor, which: Tensor) -> Tensor:
        """Solve for vectors as wide as the widest window, 0 beyond their own, ``(k, width)``."""
        found = torch.zeros_like(vectors)
        sizes = self._sizes[which]
        for (members, _), factor in zip(self._chains, self._factors, strict=True):
            rows = members[which].nonzero()[:, 0]
            if len(rows) == 0:
                continue
            width = len(factor)
            inside = torch.arange(width)[:, None] < sizes[rows]
            half = torch.linalg.solve_triangular(factor, vectors[rows, :width].T, upper=False)
            whole = torch.linalg.solve_triangular(factor.T, half * inside, upper=True)
            found[rows, :width] = whole.T
        return found


@dataclass(frozen=True)
class _Layout:
    """Weights of windows, each next to each other (``width`` and the intercept) or in place.

    Attributes:
        windows: columns of each regression.
        dims: of the whole space.
        places: column of each weight, int64, shape ``(windows, width)``.
        inside: which of them are not beyond a window's end, shape ``(windows, width)``.
    """

    windows: Sequence[slice]
    dims: int
    places: Tensor
    inside: Tensor

    @classmethod
    def of(cls, windows: Sequence[slice], dims: int) -> _Layout:
        # Windows [0:1] and [1:3] of 3 dimensions: places [[0, 3], [1, 2]], inside [[1, 0], [1, 1]];
        # what is beyond an end lies where the intercept does, and is 0.
        starts = torch.tensor([window.start for window in windows])
        sizes = torch.tensor([window.stop for window in windows]) - starts
        offsets = torch.arange(int(sizes.max()))
        inside = offsets < sizes[:, None]
        places = torch.where(inside, starts[:, None] + offsets, dims)
        return cls(windows, dims, places, inside)

    @property
    def width(self) -> int:
        return self.places.shape[1]

    def pick(self, values: Tensor) -> Tensor:
        """Return of values of all columns, shape ``(dims,)``, those of each window."""
        extended = torch.cat([values, values.new_zeros(1)])
        return extended[self.places]

    def spread(self, points: Tensor, which: Tensor) -> Tensor:
        """Return weights in place, shape ``(k, dims + 1)``."""
        weights = points.new_zeros(len(points), self.dims + 1)
        weights.scatter_add_(1, self.places[which], points[:, :-1])
        weights[:, -1] += points[:, -1]
        return weights

    def collect(self, total: Tensor, which: Tensor) -> Tensor:
        """Return the other way round."""
        own = torch.where(self.inside[which], total.gather(1, self.places[which]), 0)
        return torch.column_stack([own, total[:, -1]])

    def blocks(self, which: Tensor) -> list[tuple[slice, slice]]:
        """Return blocks of columns, each with regressions next to each other that see some of it.

        A block with several such groups of regressions comes several times.
        """
        windows = [self.windows[number] for number in which.tolist()]
        found = []
        for start in range(0, self.dims, _BLOCK):
            stop = min(start + _BLOCK, self.dims)
            sees = [own.start < stop and start < own.stop for own in windows]
            at = 0
            for seen, group in groupby(sees):
                size = len(list(group))
                if seen:
                    found.append((slice(at, at + size), slice(start, stop)))
                at += size
        return found
