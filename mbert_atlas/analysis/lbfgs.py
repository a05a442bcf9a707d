"""Limited-memory BFGS (Nocedal 1980) of many convex functions at once, one step of all at a time.

A function that has converged leaves; the first axis of every tensor is that of the functions. Each
step follows the last gradient, times an estimate of the inverse curvature that the last steps and
the changes of the gradient in them correct.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_MEMORY = 8
"""Steps that the estimate of the curvature remembers."""
_MOST_STEPS = 200
_OVERSHOT = 0.5
"""A step is too long if the slope at its end exceeds this fraction of the descent at its start."""

Function = Callable[[Tensor, Tensor], Tensor]
"""Of values, ``(functions, dims)``, and the numbers of their functions, ``(functions,)``."""


@dataclass
class _State:
    """State of the functions that have not converged; axis 0 of every tensor indexes them."""

    which: Tensor  # their numbers
    points: Tensor
    gradients: Tensor
    directions: Tensor
    lengths: Tensor  # of the next step, in directions
    steps: Tensor  # (functions, memory, dims); 0 where a step was rejected
    changes: Tensor  # of the gradient in these steps


def minimise(
    gradient: Function, precondition: Function, start: Tensor, limits: Tensor
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


def _advance(state: _State, gradient: Function, precondition: Function, place: int) -> None:
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


def _directions(state: _State, precondition: Function, place: int) -> Tensor:
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
