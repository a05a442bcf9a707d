"""Plots of effects on pages: where numbers stand, in pixels."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH, _EDGE, _APART = 150, 10, 26  # of a plot, and of numbers on its scale, in pixels


def scale_of(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the ends of a scale with room for some numbers, and for zero if that is near."""
    numbers = [number for number in numbers if math.isfinite(number)] or [0.0]
    size = (max(numbers) - min(numbers)) or 1.0
    if min(map(abs, numbers)) <= size:  # zero is in the scale, or near
        numbers.append(0.0)
    margin = 0.08 * ((max(numbers) - min(numbers)) or 1.0)
    return (min(numbers) - margin, max(numbers) + margin)


def plot(
    record: Mapping[str, Any], columns: Sequence[str], scale: tuple[float, float]
) -> dict[str, Any]:
    """Return where the numbers of some columns of a claim stand on a scale, by column.

    Also ``zero`` if it is on the scale; ``ticks``, round numbers on it with their texts; and
    whether it is ``of_control``.
    """
    low, high = scale
    places: dict[str, Any] = {name: _place(record[name], low, high) for name in columns}
    zero = _place(0.0, low, high) if low < 0 < high else None
    is_control = bool(record["control_for"])
    return places | {"zero": zero, "ticks": _ticks(low, high), "of_control": is_control}


def _place(number: float, low: float, high: float) -> float | None:
    """Return where a plot shows a number, in pixels from its left; none if that is not finite."""
    if not math.isfinite(number):
        return None
    share = (min(max(number, low), high) - low) / (high - low)
    return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)


def _ticks(low: float, high: float) -> list[tuple[float | None, str]]:
    """Return two or three round numbers of a plot's scale, with zero if that is on it."""
    step = 10 ** math.floor(math.log10((high - low) / 5))
    step *= max(each for each in (1, 2, 5) if each * step <= (high - low) / 5)
    digits = max(0, -math.floor(math.log10(step)))
    round_numbers = [math.ceil(low / step) * step, math.floor(high / step) * step]
    if low < 0 < high:
        apart = _APART / _WIDTH * (high - low)
        round_numbers = sorted([0.0, *(each for each in round_numbers if abs(each) > apart)])
    return [
        (_place(each, low, high), f"{each:z.{digits}f}".replace("-", "−") if each else "0")
        for each in round_numbers
    ]
