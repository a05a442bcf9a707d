"""Whether a paper's claims hold here: one rule over measurements alone.

An effect is a sum of measured numbers times weights: a mean over cells of one condition less that
of another. Each claim says in which region its effect is to lie.

- It *holds* if the 95% interval of the effect lies inside the region, and *does not hold* if the
  interval lies outside of it. If it lies across a border the claim is *undecided*, and if there
  are no numbers for any of its cells it is *not run*.
- **Seeds.** The seeds that all sides have are paired: for each the effect is computed, and the
  spread s of these over S seeds adds s²/S to the variance (Student's t, S - 1 degrees of freedom).
  Without a common seed each number is taken by itself, its mean over its own seeds. With one seed
  there is no spread: the items alone make the interval, and the row says so.
- **Items.** A score p on n items adds w² p (1 - p) / n for its weight w, p with two right and two
  wrong items more (Agresti and Coull 1998), so that 0 and 100 are not certain. This is right for
  accuracy, too wide for means of numbers between 0 and 1 such as reciprocal ranks and convert rates
  of sentences, and an approximation for F1 and V-measure. Sides count as different items, which
  makes the interval too wide where they share a test set, unless the measurements have the paired
  interval of the two conditions (``<metric>_gain_low_vs_<condition>``): then that counts. A gain
  over the original is two scores at 50, of which the original's drops out where gains are compared.
  Test sets and languages count as different items. A metric that is no share of items (a ratio of
  distances) adds nothing, and the row says so.
- Both variances are added; the degrees of freedom are Welch and Satterthwaite's, where the items
  have infinitely many.
- A claim over the mean of its k cells has one interval. One about every, most or some of them has
  one for each cell, and a verdict that a single cell can bring takes level 1 - .05/k (Bonferroni)
  in place of 95%: "every" to fail, "some" to hold, "most" for both. Thus either verdict is wrong
  in 2.5% at most, however many cells there are. Sorted by verdict and by how far they are inside
  the region, the worst cell decides for "every", the best for "some", and for "most" the one that
  more than half are as good as.

Example: 64, 62, 66 with three seeds against 61, 62, 60, of 1,000 items each. The effects are 3, 0
and 6: mean 3, s² = 9, so that the seeds add 9 / 3 = 3. The means 64 and 61 become 63.94 and 60.96,
and the items add 63.94 · 36.06 / 1000 + 60.96 · 39.04 / 1000 = 2.306 + 2.380 = 4.686. The
variance is 7.686, with 7.686² / (3² / 2) = 13.1 degrees of freedom, t = 2.16, and the interval
3 ± 5.98.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit  # scipy.stats would take a second to import

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path
from mbert_atlas.schemas import MEASUREMENT_COLUMNS
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.cells import (
    KEY,
    REPORTED_COLUMNS,
    Key,
    Measured,
    measured_cells,
    read_cells,
)
from mbert_atlas.scorecard.claims import CellEffect, Claim, Claims, Expected, cells_of

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
"""Columns of claims.csv. ``low`` and ``high`` are the ends of the interval; ``cells`` is how many
the effect ranges over, ``cell`` the one that decides where that is not their mean; ``effect_of``
says whether the effect is a ``difference`` of conditions or a ``level``."""

RULE = (
    "A claim speaks of an effect: the mean of some cells less that of others. It holds if the 95% "
    "interval of the effect lies inside the expected region, does not hold if it lies outside, and "
    "is undecided if it lies across a border. Nothing is decided by hand.",
    "The interval comes from the spread over seeds (Student's t, paired by seed) and from the "
    "sampling of items (as that of a share of n; conditions count as different items unless their "
    "paired interval was measured), added up. With one seed the items alone make it, and the row "
    "says so.",
    "Where a claim is about every, most or some of k cells rather than their mean, each cell has "
    "an interval of its own; a verdict that a single cell can bring takes level 1 − .05/k in place "
    "of 95%. The worst cell decides for “everywhere”, the best for “somewhere”, and for “most” the "
    "one that more than half are as good as. It is named beside the effect.",
    "The paper's own numbers have no interval: they bear a claim out or not by the region alone.",
)
"""The rule in words, one paragraph per entry, for the pages; the module says it in full."""
_NUMBERS = ("effect", "low", "high", "cells", "above", "below", "reported")
_TEXTS = tuple(column for column in COLUMNS if column not in _NUMBERS)
_LEVEL = 0.05
_PERCENT = re.compile(r"(^|_)(accuracy(?!_drop)|f1|v_measure|ami|exact_match|las|mrr)(_|$)")
_SHARES = {"separation_auc": 1.0, "convert_rate": 1.0}
_Item = TypeVar("_Item")
_WHERE = {"mean": "", "every": "everywhere", "most": "in most places", "some": "somewhere"}
_METRIC, _CONDITION, _LAYERS = map(KEY.index, ("metric", "condition", "layers"))


class Estimate(NamedTuple):
    """An effect and its interval.

    Attributes:
        effect: in the unit of the metric.
        low: lower end of the interval; minus infinity if there is none.
        high: upper end.
        basis: what the interval comes from, in words.
    """

    effect: float
    low: float
    high: float
    basis: str


def judge(low: float, high: float, expected: Expected) -> str:
    """Return the verdict of an interval: inside the region, outside of it, or neither."""
    above = -math.inf if expected.above is None else expected.above
    below = math.inf if expected.below is None else expected.below
    if above < low and high < below:
        return HOLDS
    return DOES_NOT_HOLD if high <= above or below <= low else UNDECIDED


def estimate(
    weights: Mapping[Key, float], cells: Mapping[Key, Measured], level: float = _LEVEL
) -> Estimate:
    """Estimate an effect by the rule of this module.

    Args:
        weights: what each measured number counts.
        cells: the measured numbers, and beside them paired intervals where there are some.
        level: one less the coverage of the interval.
    """
    effect, spread, freedom, seeds = _over_seeds(weights, cells)
    items = _over_items(weights, cells)
    total = spread + (items or 0.0)
    if items is None and freedom == 0:
        return Estimate(effect, -math.inf, math.inf, f"{seeds}, items unknown")
    # the items have infinitely many degrees of freedom; with one seed they alone count
    ratio = total / spread if spread and freedom else math.inf
    degrees = freedom * ratio * ratio if math.isfinite(ratio) else math.inf
    share = 1 - level / 2
    quantile = ndtri(share) if math.isinf(degrees) else stdtrit(degrees, share)
    half = float(quantile) * math.sqrt(total)
    kind = " alone" if items is None else " and items" if freedom else ": items alone"
    return Estimate(effect, effect - half, effect + half, seeds + kind)


def verdicts(
    claims: Mapping[str, Claims],
    measurements: Sequence[Path],
    reported: Sequence[Path],
) -> pd.DataFrame:
    """Judge claims under both protocols.

    Args:
        claims: by paper.
        measurements: CSV files with the columns ``MEASUREMENT_COLUMNS``.
        reported: CSV files of the papers' numbers, all papers'.

    Returns:
        Columns :data:`COLUMNS`, one row per claim and protocol. The reported effect has no
        interval; whether it bears the claim out is a matter of the region alone.

    Raises:
        DataError: names file and line if a CSV file is not as it should be.
    """
    printed = {line.key: line.number("value") for line in read_cells(reported, REPORTED_COLUMNS)}
    ours = measured_cells(read_cells(measurements, MEASUREMENT_COLUMNS))
    rows = []
    for paper, stated in claims.items():
        numbers = stated.with_means(printed)
        for name, claim in stated.claims.items():
            of_paper = _of_paper(claim, cells_of(claim, paper, numbers), numbers)
            for protocol in PROTOCOLS:
                cells = cells_of(claim, paper, ours[protocol])
                rows.append(
                    {"paper": paper, "id": name, "protocol": protocol}
                    | _as_columns(claim)
                    | _verdict(claim, cells, ours[protocol])
                    | of_paper
                )
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(_NUMBERS, float))


def write_claims(frame: pd.DataFrame, path: Path | str) -> None:
    """Write what :func:`verdicts` returns as CSV, atomically."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")


def read_verdicts(path: Path | str) -> pd.DataFrame:
    """Read what :func:`write_claims` wrote.

    Raises:
        DataError: if columns are missing.
    """
    frame = pd.read_csv(path, dtype=dict.fromkeys(_TEXTS, str)).fillna(dict.fromkeys(_TEXTS, ""))
    if missing := [column for column in COLUMNS if column not in frame]:
        raise DataError(path, "line 1", f"no column {', '.join(missing)}", "make it again")
    return frame


def _as_columns(claim: Claim) -> dict[str, object]:
    is_difference = any(difference.minus for difference in claim.effect)
    expected = claim.expect.text("+" if is_difference else "")
    return {
        "claim": claim.claim,
        "artifact": claim.artifact,
        "place": claim.place,
        "effect_of": "difference" if is_difference else "level",
        "expected": f"{expected} {_WHERE[claim.over]}".strip(),
        "above": claim.expect.above,
        "below": claim.expect.below,
        "note": claim.note,
    }


def _verdict(
    claim: Claim, cells: Sequence[CellEffect], measured: Mapping[Key, Measured]
) -> dict[str, object]:
    if not cells:
        return {"verdict": NOT_RUN, "cells": 0, "cell": "", "basis": ""}
    if claim.over == "mean":
        estimates = [(estimate(_mean(cells), measured), "")]
    else:
        estimates = [
            (
                _of_cell(claim, cell.weights, measured, len(cells)),
                " ".join(filter(None, cell.place.values())),
            )
            for cell in cells
        ]
    ranked = sorted(estimates, key=lambda item: _goodness(item[0], claim.expect), reverse=True)
    found, cell = _deciding(claim, ranked)
    return {
        "verdict": judge(found.low, found.high, claim.expect),
        "cells": len(cells),
        "cell": cell,
        **found._asdict(),
    }


def _of_cell(
    claim: Claim, weights: Mapping[Key, float], measured: Mapping[Key, Measured], cells: int
) -> Estimate:
    """Return the estimate of one cell of many, at the level that its verdict takes."""
    plain = estimate(weights, measured)
    needs_all = {"every": HOLDS, "some": DOES_NOT_HOLD}.get(claim.over)
    if judge(plain.low, plain.high, claim.expect) == needs_all:
        return plain
    return estimate(weights, measured, _LEVEL / cells)


def _goodness(found: Estimate, expected: Expected) -> tuple[int, float]:
    ranks = (DOES_NOT_HOLD, UNDECIDED, HOLDS)
    return ranks.index(judge(found.low, found.high, expected)), expected.margin(found.effect)


def _deciding(claim: Claim, best_first: Sequence[_Item]) -> _Item:
    """Return the one of all cells, sorted by how good they are, that decides for the claim."""
    place = {"mean": 0, "some": 0, "every": -1, "most": len(best_first) // 2}
    return best_first[place[claim.over]]


def _of_paper(
    claim: Claim, cells: Sequence[CellEffect], printed: Mapping[Key, float]
) -> dict[str, object]:
    """Return the effect that the paper's own numbers show, and whether it is as claimed."""
    if not cells:
        return {"reported": math.nan, "reported_bears_out": ""}
    parts = [_mean(cells)] if claim.over == "mean" else [cell.weights for cell in cells]
    effects = [sum(weight * printed[key] for key, weight in part.items()) for part in parts]
    effect = _deciding(claim, sorted(effects, key=claim.expect.margin, reverse=True))
    # reported numbers are rounded, and a sum of them is not exact
    inside = claim.expect.margin(round(effect, 6)) > 0
    return {"reported": effect, "reported_bears_out": "yes" if inside else "no"}


def _mean(cells: Collection[CellEffect]) -> dict[Key, float]:
    weights: dict[Key, float] = {}
    for cell in cells:
        for key, weight in cell.weights.items():
            weights[key] = weights.get(key, 0.0) + weight / len(cells)
    return {key: weight for key, weight in weights.items() if abs(weight) > 1e-12}


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
            return effects[0], 0.0, 0, "no seeds" if common == [None] else "1 seed"
        spread = float(np.var(effects, ddof=1)) / len(effects)
        text = f"{len(effects)} seeds" if len(by_seed) == 1 else f"{len(effects)} paired seeds"
        return float(np.mean(effects)), spread, len(effects) - 1, text
    effect = sum(weight * float(np.mean(list(values.values()))) for weight, values in by_seed)
    text = f"{'/'.join(sorted({str(len(each)) for each in seeded}))} seeds, none in common"
    parts = [
        (weight**2 * float(np.var(list(values.values()), ddof=1)) / len(values), len(values) - 1)
        for weight, values in by_seed
        if None not in values and len(values) > 1
    ]
    if len(parts) < len(seeded) or not any(variance for variance, _ in parts):
        return effect, 0.0, 0, text
    spread = sum(variance for variance, _ in parts)
    freedom = 1 / sum((variance / spread) ** 2 / own for variance, own in parts)
    return effect, spread, freedom, text


def _over_items(weights: Mapping[Key, float], cells: Mapping[Key, Measured]) -> float | None:
    """Return the variance from the items; none if it is not known of all numbers."""
    variance = 0.0
    left = dict(weights)
    for key, weight in weights.items():
        for other, against in weights.items():
            if key not in left or other not in left or not math.isclose(weight, -against):
                continue
            paired = _paired_variance(key, other, cells)
            if paired is not None:
                variance += weight**2 * paired
                del left[key], left[other]
    originals: dict[tuple[str, ...], tuple[float, int]] = {}
    for key, weight in left.items():
        of_one = _item_variance(key, cells[key])
        if of_one is None:
            return None
        variance += weight**2 * of_one
        if rules.is_difference(key[_METRIC], key[_CONDITION]):
            # The score that it was taken from: one for all conditions and layers.
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
    """Return the variance of a condition less another, where their interval was measured."""
    if (
        key[:_CONDITION] + key[_CONDITION + 1 :]
        != baseline[:_CONDITION] + baseline[_CONDITION + 1 :]
    ):
        return None
    ends = [
        cells.get((*key[:_METRIC], f"{key[_METRIC]}_gain_{end}_vs_{baseline[_CONDITION]}"))
        for end in ("low", "high")
    ]
    if ends[0] is None or ends[1] is None:
        return None
    width = ends[1].values[None] - ends[0].values[None]
    if width <= 0:  # nothing differs, such as where neither finds anything: that is not certainty
        return None
    return float((width / (2 * ndtri(0.975))) ** 2)
