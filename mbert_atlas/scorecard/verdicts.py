"""Whether a paper's claims hold here: one rule over measurements alone, as pages explain it.

An effect is a sum of measured numbers times weights: a mean over cells of one condition minus that
of another. A claim without numbers for any of its cells is *not run*.

- **Seeds.** The seeds that all sides have are paired: the spread s of the effects of S seeds adds
  s²/S to the variance (Student's t, S - 1 degrees of freedom). Without a common seed each number is
  its mean over its seeds. With one seed there is no spread, and only items make the interval.
- **Items.** A score p on n items adds w² p (1 - p) / n for its weight w, where p has two correct
  and two wrong items more (Agresti and Coull 1998), so that 0 and 100 are not certain. This is
  exact for accuracy, too wide for means of numbers between 0 and 1, such as reciprocal ranks and
  convert rates of sentences, and an approximation for F1 and V-measure. Sides count as different
  items, which is too wide where they share a test set, unless the paired interval of the two
  conditions was measured (``<metric>_gain_low_vs_<condition>``). A gain over the original is two
  scores at 50, of which the original's cancels out where gains are compared. Test sets and
  languages count as different items. A metric that is no proportion (a ratio of distances) adds
  nothing.
- Both variances are added, with the degrees of freedom of Welch and Satterthwaite, where the items
  have infinitely many.
- A claim over the mean of its k cells has one interval. One over every, most or some of them has an
  interval for each cell, and a verdict that a single cell can bring about takes level 1 - .05/k
  (Bonferroni): "every" to fail, "some" to hold, "most" for both. Thus either verdict is wrong in at
  most 2.5%, however many cells there are. Cells are sorted by verdict and by how far they are
  inside the region; that gives the limiting case.

Example: 64, 62, 66 with three seeds against 61, 62, 60, of 1,000 items each. The effects are 3, 0
and 6: mean 3, s² = 9, so that the seeds add 9 / 3 = 3. The means 64 and 61 become 63.94 and 60.96,
and the items add 63.94 · 36.06 / 1000 + 60.96 · 39.04 / 1000 = 2.306 + 2.380 = 4.686. The
variance is 7.686, with 7.686² / (3² / 2) = 13.1 degrees of freedom, t = 2.16, and the interval
3 ± 5.98.
"""

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain, permutations
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit  # scipy.stats would take a second to import

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import KEY, Key, Measured, measured_cells, read_cells
from mbert_atlas.scorecard.claims import CellEffect, Claim, Claims, Expected, Weights, cells_of

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
NOT_RUN = "not run"
VERDICTS = (HOLDS, DOES_NOT_HOLD, UNDECIDED, NOT_RUN)
COLUMNS = (
    *("paper", "id", "claim", "verdict", "effect", "low", "high", "basis", "cells", "cell"),
    *("protocol", "artifact", "place", "effect_of", "expected", "above", "below"),
    *("reported", "reported_bears_out", "note"),
)
"""Columns of claims.csv. ``low`` and ``high`` are the ends of the interval, ``basis`` its source;
``cells`` is the number of cells, ``cell`` the limiting case where the effect is not their mean;
``effect_of`` is ``difference`` (of conditions) or ``level``; ``reported_bears_out`` is ``yes`` if
the paper's own numbers agree with the claim."""
_NUMBERS = ("effect", "low", "high", "cells", "above", "below", "reported")
_TEXTS = tuple(column for column in COLUMNS if column not in _NUMBERS)
_LEVEL = 0.05
_PERCENT = re.compile(r"(^|_)(accuracy(?!_drop)|f1|v_measure|ami|exact_match|las|mrr)(_|$)")
_SHARES = {"separation_auc": 1.0, "convert_rate": 1.0}
_METRIC, _CONDITION, _LAYERS = map(KEY.index, ("metric", "condition", "layers"))
_NOUNS = {"target": "language", "source": "training language", "layers": "layer"}
_Item = TypeVar("_Item")


class Estimate(NamedTuple):
    """An effect in the unit of the metric, and its interval."""

    effect: float
    low: float  # minus infinity if there is no interval
    high: float
    basis: str  # of the interval: seeds, items, or both


def judge(low: float, high: float, expected: Expected) -> str:
    """Return the verdict of an interval: inside the region, outside of it, or neither."""
    above, below = expected.ends
    if above < low and high < below:
        return HOLDS
    return DOES_NOT_HOLD if high <= above or below <= low else UNDECIDED


def estimate(
    weights: Mapping[Key, float], cells: Mapping[Key, Measured], level: float = _LEVEL
) -> Estimate:
    """Estimate an effect by the rule of this module; the interval covers 1 - ``level``.

    The cells are measured numbers, with paired intervals where they exist.
    """
    effect, spread, freedom, seeds = _over_seeds(weights, cells)
    items = _over_items(weights, cells)
    if items is None and not freedom:
        return Estimate(effect, -math.inf, math.inf, f"no CI available, {seeds}")
    total = spread + (items or 0.0)
    # With one seed only the items count, which have infinitely many degrees of freedom.
    ratio = total / spread if spread and freedom else math.inf
    degrees = freedom * ratio * ratio if math.isfinite(ratio) else math.inf
    share = 1 - level / 2
    quantile = ndtri(share) if math.isinf(degrees) else stdtrit(degrees, share)
    half = float(quantile) * math.sqrt(total)
    kind = "seed" if items is None else "seed- and item" if freedom else "item"
    return Estimate(effect, effect - half, effect + half, f"{kind}-level CI, {seeds}")


def verdicts(
    claims: Mapping[str, Claims], measurements: Sequence[Path], reported: Sequence[Path]
) -> pd.DataFrame:
    """Judge the claims of papers: columns :data:`COLUMNS`, one row per claim and protocol.

    Measurements are CSV files with the columns ``MEASUREMENT_COLUMNS``, ``reported`` those of the
    papers' numbers. A DataError names file and line of a mistake in them.
    """
    printed = {line.key: line.number("value") for line in read_cells(reported)}
    ours = measured_cells(measurements)
    rows = []
    for paper, stated in claims.items():
        numbers = stated.with_means(printed)
        for name, claim in stated.claims.items():
            of_paper = cells_of(claim, paper, numbers)
            cells = {protocol: cells_of(claim, paper, ours[protocol]) for protocol in PROTOCOLS}
            common = {
                **{"paper": paper, "id": name},
                **_as_columns(claim, [*of_paper, *chain(*cells.values())]),
                **_of_paper(claim, of_paper, numbers),
            }
            rows += [
                common | {"protocol": protocol} | _verdict(claim, cells[protocol], ours[protocol])
                for protocol in PROTOCOLS
            ]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(_NUMBERS, float))


def read_verdicts(path: Path | str) -> pd.DataFrame:
    """Read the CSV file of what :func:`verdicts` returns."""
    return pd.read_csv(path, dtype=dict.fromkeys(_TEXTS, str)).fillna(dict.fromkeys(_TEXTS, ""))


def _as_columns(claim: Claim, cells: Sequence[CellEffect]) -> dict[str, object]:
    is_difference = any(difference.minus for difference in claim.effect)
    region = claim.expect.text("+" if is_difference else "")
    varying = {column for cell in cells for column in cell.place}
    noun = _NOUNS.get(min(varying), min(varying)) if len(varying) == 1 else "case"
    scopes = {"every": f" in all {noun}s", "most": f" in most {noun}s"}
    scopes |= {"some": f" in at least one {noun}", "mean": ""}
    return {
        **claim.model_dump(include={"claim", "artifact", "place", "note"}),
        **claim.expect.model_dump(),
        "effect_of": "difference" if is_difference else "level",
        "expected": region + scopes[claim.over],
    }


def _verdict(
    claim: Claim, cells: Sequence[CellEffect], measured: Mapping[Key, Measured]
) -> dict[str, object]:
    if not cells:
        return {"verdict": NOT_RUN, "cells": 0, "cell": "", "basis": ""}
    parts = _parts(claim, cells)
    estimates = [
        (
            _estimate_part(claim, weights, measured, len(parts)),
            " ".join(filter(None, place.values())),
        )
        for weights, place in parts
    ]

    def goodness(item: tuple[Estimate, str]) -> tuple[int, float]:
        ranks = (DOES_NOT_HOLD, UNDECIDED, HOLDS)
        verdict = judge(item[0].low, item[0].high, claim.expect)
        return ranks.index(verdict), claim.expect.margin(item[0].effect)

    limiting, cell = _limiting_case(claim, sorted(estimates, key=goodness, reverse=True))
    verdict = judge(limiting.low, limiting.high, claim.expect)
    return {"verdict": verdict, "cells": len(cells), "cell": cell, **limiting._asdict()}


def _estimate_part(
    claim: Claim, weights: Weights, measured: Mapping[Key, Measured], parts: int
) -> Estimate:
    """Return the estimate of one cell of several, at the level that its verdict takes."""
    plain = estimate(weights, measured)
    needs_all = {"every": HOLDS, "some": DOES_NOT_HOLD}.get(claim.over)
    if judge(plain.low, plain.high, claim.expect) == needs_all:
        return plain
    return estimate(weights, measured, _LEVEL / parts)


def _limiting_case(claim: Claim, best_first: Sequence[_Item]) -> _Item:
    """Return the cell that decides for the claim."""
    place = {"mean": 0, "some": 0, "every": -1, "most": len(best_first) // 2}
    return best_first[place[claim.over]]


def _of_paper(
    claim: Claim, cells: Sequence[CellEffect], printed: Mapping[Key, float]
) -> dict[str, object]:
    """Return the effect in the paper's own numbers, and whether it is as claimed."""
    if not cells:
        return {"reported": math.nan, "reported_bears_out": ""}
    effects = [
        sum(weight * printed[key] for key, weight in weights.items())
        for weights, _ in _parts(claim, cells)
    ]
    effect = _limiting_case(claim, sorted(effects, key=claim.expect.margin, reverse=True))
    # reported numbers are rounded, and a sum of them is not exact
    inside = claim.expect.margin(round(effect, 6)) > 0
    return {"reported": effect, "reported_bears_out": "yes" if inside else "no"}


def _parts(claim: Claim, cells: Sequence[CellEffect]) -> Sequence[CellEffect]:
    """Return the effects that are judged: those of the cells, or their mean."""
    if claim.over != "mean":
        return cells
    weights: Weights = {}
    for cell in cells:
        for key, weight in cell.weights.items():
            weights[key] = weights.get(key, 0.0) + weight / len(cells)
    return [CellEffect({key: each for key, each in weights.items() if abs(each) > 1e-12}, {})]


def _over_seeds(
    weights: Mapping[Key, float], cells: Mapping[Key, Measured]
) -> tuple[float, float, float, str]:
    """Return the effect, its variance over seeds, the degrees of freedom of that, and a text."""
    by_seed = [(weight, cells[key].values) for key, weight in weights.items()]
    seeded = [{seed for seed in values if seed is not None} for _, values in by_seed]
    seeded = [seeds for seeds in seeded if seeds]
    common = sorted(set.intersection(*seeded)) if seeded else [None]
    if common:
        effects = [
            sum(weight * values[None if None in values else seed] for weight, values in by_seed)
            for seed in common
        ]
        if len(effects) == 1:
            return effects[0], 0.0, 0, "no seeds" if common == [None] else "one seed"
        spread = float(np.var(effects, ddof=1)) / len(effects)
        text = f"{len(effects)} {'paired ' if len(by_seed) > 1 else ''}seeds"
        return float(np.mean(effects)), spread, len(effects) - 1, text
    effect = sum(weight * float(np.mean(list(values.values()))) for weight, values in by_seed)
    text = f"{'/'.join(sorted({str(len(each)) for each in seeded}))} unpaired seeds"
    parts = [
        (weight**2 * float(np.var(list(values.values()), ddof=1)) / len(values), len(values) - 1)
        for weight, values in by_seed
        if None not in values and len(values) > 1
    ]
    if len(parts) < len(seeded) or not any(variance for variance, _ in parts):
        return effect, 0.0, 0, text
    spread = sum(variance for variance, _ in parts)
    freedom = 1 / sum((variance / spread) ** 2 / degrees for variance, degrees in parts)
    return effect, spread, freedom, text


def _over_items(weights: Mapping[Key, float], cells: Mapping[Key, Measured]) -> float | None:
    """Return the variance over items; none if it is unknown for a number."""
    variance = 0.0
    left = dict(weights)
    for key, other in permutations(weights, 2):
        if key in left and other in left and math.isclose(weights[key], -weights[other]):
            paired = _paired_variance(key, other, cells)
            if paired is not None:
                variance += weights[key] ** 2 * paired
                del left[key], left[other]
    originals: dict[Key, tuple[float, int]] = {}
    for key, weight in left.items():
        of_one = _item_variance(key, cells[key])
        if of_one is None:
            return None
        variance += weight**2 * of_one
        if rules.is_difference(key[_METRIC], key[_CONDITION]):
            # The score that it is a difference to: one for all conditions and layers.
            blank = {_CONDITION: "", _LAYERS: ""}
            original = tuple(blank.get(place, name) for place, name in enumerate(key))
            total, n = originals.get(original, (0.0, cells[key].n_items or 0))
            originals[original] = (total + weight, n)
    return variance + sum(weight**2 * 50.0**2 / n for weight, n in originals.values())


def _item_variance(key: Key, cell: Measured) -> float | None:
    is_difference = rules.is_difference(key[_METRIC], key[_CONDITION])
    full = 100.0 if _PERCENT.search(key[_METRIC]) else _SHARES.get(key[_METRIC])
    if not cell.n_items or (full is None and not is_difference):
        return None
    if full is None or is_difference:
        return 50.0**2 / cell.n_items
    mean = float(np.mean(list(cell.values.values()))) / full
    share = (mean * cell.n_items + 2) / (cell.n_items + 4)
    return full**2 * share * (1 - share) / cell.n_items


def _paired_variance(key: Key, baseline: Key, cells: Mapping[Key, Measured]) -> float | None:
    """Return the variance of the difference of two conditions, if its interval was measured."""
    if key != (*baseline[:_CONDITION], key[_CONDITION], *baseline[_CONDITION + 1 :]):
        return None
    name = f"{key[_METRIC]}_gain_{{}}_vs_{baseline[_CONDITION]}"
    low, high = (cells.get((*key[:_METRIC], name.format(end))) for end in ("low", "high"))
    if low is None or high is None:
        return None
    width = high.values[None] - low.values[None]
    # no difference at all, such as two scores of 0, is not certainty
    return float((width / (2 * ndtri(0.975))) ** 2) if width > 0 else None
