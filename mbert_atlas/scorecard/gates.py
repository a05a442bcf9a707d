"""Gates: what a claim presupposes, and why a case that does not pass one does not count.

docs/verdicts.md, 3, states the rule.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from mbert_atlas.scorecard.cells import KEY, Key
from mbert_atlas.scorecard.claims import CellEffect, Claim, Claims, Gate, Weights, effects
from mbert_atlas.scorecard.estimates import Evidence


def names_by(gate: Gate, key: Key) -> Key:
    """Return the names of a cell in the columns that a gate shares with a case."""
    return tuple(key[KEY.index(column)] for column in gate.by)


def references(gate: Gate, keys: Collection[Key]) -> dict[Key, Weights]:
    """Return the effects of a gate that are known, by their names in its columns ``by``.

    ``keys`` are those of its paper with numbers.
    """
    cells = effects(gate.effect.terms(gate.of), keys, partial(names_by, gate))
    return {names: weights for names, _, weights in cells}


def outcomes(
    stated: Claims, keys: Collection[Key], evidence: Evidence, level: float
) -> dict[tuple[str, Key], tuple[str, str]]:
    """Return by gate, and names in its columns, why cases do not pass it; empty if they do."""
    reasons = {}
    for name, gate in stated.gates.items():
        for names, weights in references(gate, keys).items():
            estimate = evidence.estimate(weights)
            ends = estimate.interval(level)  # without any known error, the effect alone
            effect, low, high = (round(number, 9) for number in (estimate.effect, *ends))  # 0 is 0
            clearly = "clearly " * gate.expect.contains(effect, effect)
            parts = (*names, _rounded(effect, low, high))
            numbers = f"{' '.join(filter(None, parts))}, not {clearly}{gate.expect.text('')}"
            passes = gate.expect.contains(low, high)
            reasons[name, names] = ("", "") if passes else (gate.otherwise, numbers)
    return reasons


def _rounded(effect: float, low: float, high: float) -> str:
    """Return an effect with its interval, to the second digit of its width, or without one."""
    if not 0 < high - low < math.inf:
        return f"{effect:.3g}".replace("-", "−")
    digits = max(0, 1 - math.floor(math.log10(high - low)))
    return "{:z.{n}f} [{:z.{n}f}, {:z.{n}f}]".format(effect, low, high, n=digits).replace("-", "−")


def why_not(
    stated: Claims, claim: Claim, cell: CellEffect, gates: Mapping[tuple[str, Key], tuple[str, str]]
) -> tuple[str, str]:
    """Return why a case does not count: the first gate that it does not pass, and its numbers.

    Both are empty if it passes all.
    """
    for name in claim.needs:
        gate = stated.gates[name]
        for names in dict.fromkeys(names_by(gate, key) for key in cell.weights):
            reason = gates.get((name, names), (f"unknown whether {gate.otherwise}", ""))
            if any(reason):
                return reason
    return "", ""


def in_words(reasons: Sequence[tuple[str, str]]) -> str:
    """Return why cases do not count, each reason once, with the numbers of its first case."""
    first = dict(reversed([each for each in reasons if any(each)]))
    return "; ".join(": ".join(filter(None, each)) for each in reversed(first.items()))
