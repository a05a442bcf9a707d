"""Many smooth convex functions minimised in step: limited-memory BFGS (Nocedal 1980), batched.

A regression on 8,000 vectors is so small that a minimiser of its own spends its time between the
products. Here hundreds of them take every step together, each with steps and memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_MEMORY = 8
_OVERSHOT = 0.5
"""A step is too long if the slope at its end exceeds this part of the fall at its beginning."""


@dataclass
class _State:
    """What is known of the functions that are still moving; the first axis of all is theirs."""

    which: Tensor  # their numbers
    points: Tensor
    gradients: Tensor
    directions: Tensor
    lengths: Tensor  # of the next step, in directions
    steps: Tensor  # (functions, memory, dims); 0 where a step was not taken
    turns: Tensor  # what the gradient changed by

    def keep(self, some: Tensor) -> None:
        for name, value in vars(self).items():
            setattr(self, name, value[some])


def minimise(
    gradient: Callable[[Tensor, Tensor], Tensor],
    precondition: Callable[[Tensor, Tensor], Tensor],
    start: Tensor,
    limits: Tensor,
    most_steps: int,
) -> tuple[Tensor, Tensor]:
    """Minimise convex functions, all in step.

    A step ends where the slope along it is not much above 0; if it is, the function tries half of
    the step in the next round while others go on. So only gradients are needed, which float32 holds
    well enough near the end; the fall of a loss it would not.

    Args:
        gradient: gives for points (float32, ``(k, dims)``) and the numbers of their functions
            (int64, ``(k,)``) the gradients.
        precondition: gives for gradients and the numbers of their functions an estimate of the
            inverse curvature times the gradients; the better it is, the fewer steps.
        start: where to begin, float32, ``(functions, dims)``.
        limits: a function has converged once it is within this of its minimum, shape
            ``(functions,)``, as the gradient and the curvature along it tell. One more step is
            then taken unlooked at: near the minimum it takes off most of what is left.
        most_steps: gradients that are looked at.

    Returns:
        The points, and which have converged, bool, ``(functions,)``.
    """
    found, converged = start.clone(), torch.zeros(len(start), dtype=torch.bool)
    converged = converged.to(start.device)
    which = torch.arange(len(start), device=start.device)
    old = gradient(start, which)
    memory = start.new_zeros(len(start), _MEMORY, start.shape[1])
    lengths = start.new_ones(len(start))
    state = _State(
        which, start.clone(), old, -precondition(old, which), lengths, memory, memory.clone()
    )
    for step in range(most_steps):
        gaps = -_dot(state.gradients, state.directions) / 2
        arrived = gaps <= limits[state.which]
        if arrived.any():
            converged[state.which[arrived]] = True
            found[state.which[arrived]] = (state.points + state.directions)[arrived]
            state.keep(~arrived)
        if len(state.which) == 0:
            break
        _advance(state, gradient, precondition, step % _MEMORY)
    found[state.which] = state.points
    return found, converged


def _advance(
    state: _State,
    gradient: Callable[[Tensor, Tensor], Tensor],
    precondition: Callable[[Tensor, Tensor], Tensor],
    place: int,
) -> None:
    """Take a step; what it teaches goes to a place of the memory."""
    moves = state.lengths[:, None] * state.directions
    new = gradient(state.points + moves, state.which)
    fall = _dot(state.gradients, state.directions)
    taken = _dot(new, state.directions) <= -_OVERSHOT * fall
    turned = torch.where(taken[:, None], new - state.gradients, 0)
    moved = torch.where(taken[:, None], moves, 0)
    state.points, state.gradients = state.points + moved, state.gradients + turned
    state.steps[:, place], state.turns[:, place] = moved, turned
    directions = _directions(state, precondition, place)
    level = _dot(state.gradients, directions) >= 0
    if level.any():  # rounding, next to the minimum
        plain = -precondition(state.gradients, state.which)
        directions = torch.where(level[:, None], plain, directions)
    state.directions = torch.where(taken[:, None], directions, state.directions)
    state.lengths = torch.where(taken, torch.ones_like(state.lengths), state.lengths / 2)


def _directions(
    state: _State, precondition: Callable[[Tensor, Tensor], Tensor], place: int
) -> Tensor:
    """Return minus the inverse curvature times the gradient: Nocedal's two loops."""
    curved = (state.steps * state.turns).sum(2)
    weights = torch.where(curved > 0, 1 / curved, 0)
    left = state.gradients.clone()
    order = [(place - back) % _MEMORY for back in range(_MEMORY)]  # the last step first
    shares = {}
    for at in order:
        shares[at] = weights[:, at] * _dot(state.steps[:, at], left)
        left -= shares[at][:, None] * state.turns[:, at]
    left = precondition(left, state.which)
    for at in reversed(order):
        share = shares[at] - weights[:, at] * _dot(state.turns[:, at], left)
        left += share[:, None] * state.steps[:, at]
    return -left


def _dot(one: Tensor, other: Tensor) -> Tensor:
    return (one * other).sum(1)
