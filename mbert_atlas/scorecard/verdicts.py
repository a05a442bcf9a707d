"""Whether a paper's claims hold here: one rule over measurements alone.

docs/verdicts.md states the rule; :mod:`.seeds` and :mod:`.estimates` have its statistics. Here are
the claims: the cells that each is about, the one that limits it, and the verdict.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from scipy.stats import false_discovery_control

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.scorecard.cells import Key, measured_cells, read_cells
from mbert_atlas.scorecard.claims import CellEffect, Claim, Claims, Expected, Weights, cells_of
from mbert_atlas.scorecard.estimates import Estimate, Evidence, evidence_of
from mbert_atlas.scorecard.gates import in_words, outcomes, why_not
from mbert_atlas.scorecard.rules import is_gain

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
HOLDS_SO_FAR = "holds so far"
FAILS_SO_FAR = "does not hold so far"
IN_CONTROL = "also in a control"
TOO_FEW_SEEDS = "too few seeds"
NOT_APPLICABLE = "not applicable"
NOT_RUN = "not run"
VERDICTS = (
    *(HOLDS, HOLDS_SO_FAR, DOES_NOT_HOLD, FAILS_SO_FAR, IN_CONTROL, UNDECIDED),
    *(TOO_FEW_SEEDS, NOT_APPLICABLE, NOT_RUN),
)
DECIDED = VERDICTS[:4]
JUDGED = VERDICTS[:6]
COLUMNS = (
    *("paper", "id", "claim", "verdict", "effect", "low", "high", "basis", "cells", "cases"),
    *("cell", "part", "n", "seeds", "gate", "control_for", "in_control", "same_numbers"),
    *("p", "q", "detectable", "seeds_to_decide"),
    *("protocol", "artifact", "place", "effect_of", "expected", "above", "below"),
    *("reported", "reported_here", "reported_bears_out", "note", "headline", "metric", "contrast"),
)
"""Columns of claims.csv. ``low`` and ``high`` are the ends of the interval, ``basis`` its source;
``cells`` is the number of cells that count, ``cases`` how many the paper has, ``cell`` the limiting
case where the effect is not their mean, ``part`` which of several differences it is, ``n`` how many
items it has, ``seeds`` how many seeds; ``gate`` is why cases do not count; ``control_for`` are the
claims of which it is a control, ``in_control`` the controls that show the same as a claim that
would hold; ``same_numbers`` is ``yes`` if the other protocol has the same numbers;
``p`` is the level at which the verdict would just be reached, ``q`` is p corrected for the number
of claims (one q, of ``corrected``, where the protocols share a result); ``detectable`` the distance
from a border that is decided with 80% power, ``seeds_to_decide`` how many seeds would decide, both
of undecided claims; ``effect_of`` is
``difference`` (of conditions, or numbers that are gains) or ``level``; ``reported`` is the effect
in the paper's own numbers, ``reported_here`` that in the cells of our effect,
``reported_bears_out`` is ``yes`` if the former agrees with the claim; ``headline`` is ``yes`` for
claims of the abstract that the index shows first; ``metric`` are the metrics of its cells, apart by
spaces; ``contrast`` are the conditions, artifacts or other names whose difference the effect is."""
_NUMBERS = (
    *("effect", "low", "high", "cells", "cases", "p", "q", "detectable", "seeds_to_decide"),
    *("above", "below", "reported", "reported_here"),
)
_TEXTS = tuple(column for column in COLUMNS if column not in _NUMBERS)
CENSORED = "_censored"
"""End of the name of a metric of which only a bound was measured."""
BEYOND = "beyond the measured range"
_LEVEL = 0.05
_NOUNS = {"target": "language", "source": "training language", "layers": "layer"}


class _Part(NamedTuple):
    """One cell of a claim, or their mean, with its verdict."""

    estimate: Estimate
    cell: CellEffect
    level: float  # of the interval, for the verdict that it takes
    p: float
    low: float
    high: float
    verdict: str


def judge(low: float, high: float, expected: Expected) -> str:
    """Return the verdict of an interval: inside the region, outside of it, or neither."""
    if expected.contains(low, high):
        return HOLDS
    above, below = expected.ends
    return DOES_NOT_HOLD if high <= above or below <= low else UNDECIDED


def verdicts(
    claims: Mapping[str, Claims],
    measurements: Sequence[Path],
    reported: Sequence[Path],
    resamples: Sequence[Path] = (),
    *,
    languages: Collection[str],
    comparable: bool = True,
) -> pd.DataFrame:
    """Judge the claims of papers: columns :data:`COLUMNS`, one row per claim and protocol.

    The files are those of :func:`.measured_cells` and of the papers' numbers. Targets that are no
    ``languages`` are means. Claims that need the scale of the paper are judged if the run is
    ``comparable``. A DataError names file and line of a mistake in the files.
    """
    printed = {line.key: line.number("value") for line in read_cells(reported)}
    ours = measured_cells(measurements, resamples)
    evidence = evidence_of(claims, ours, languages)
    rows = []
    for paper, stated in claims.items():
        numbers = stated.with_means(printed)
        keys = {name: [key for key in cells if key[0] == paper] for name, cells in ours.items()}
        beyond = {
            name: [uncensored(key) for key in some if key[-1].endswith(CENSORED)]
            for name, some in keys.items()
        }
        gates = {name: outcomes(stated, keys[name], evidence[name], _LEVEL) for name in PROTOCOLS}
        for name, claim in stated.claims.items():
            of_paper = cells_of(claim, paper, numbers)
            cells = {
                protocol: cells_of(claim, paper, keys[protocol], numbers) for protocol in PROTOCOLS
            }
            common = {"paper": paper, "id": name} | _of_paper(claim, of_paper, numbers)
            common |= _as_columns(claim, [*of_paper, *chain(*cells.values())])
            judged = []
            for protocol in PROTOCOLS:
                some = cells[protocol]
                reasons = [why_not(stated, claim, cell, gates[protocol]) for cell in some]
                counted = [cell for cell, why in zip(some, reasons, strict=True) if not any(why)]
                if beyond[protocol]:
                    more = cells_of(claim, paper, {*keys[protocol], *beyond[protocol]})
                    reasons += [(BEYOND, "")] * (len(more) - len(some))
                row = _verdict(claim, counted, evidence[protocol], numbers, len(of_paper))
                row["gate"] = in_words(reasons)
                if reasons and (not counted or (claim.needs_paper_scale and not comparable)):
                    row |= {"verdict": NOT_APPLICABLE, "p": math.nan}
                judged.append(common | {"protocol": protocol} | row)
            same = all(_numbers(row) == _numbers(judged[0]) for row in judged)
            rows += [row | {"same_numbers": "yes" if same else ""} for row in judged]
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(_NUMBERS, float))
    frame["in_control"] = _in_control(frame)
    frame.loc[frame["in_control"] != "", "verdict"] = IN_CONTROL
    of_papers = frame[frame["control_for"] == ""]
    by_family = of_papers.groupby(["paper", "protocol"], sort=False)["p"]
    frame = frame.assign(q=by_family.transform(corrected))
    shared = frame[frame["same_numbers"] == "yes"]
    frame.loc[shared.index, "q"] = shared.groupby(["paper", "id"])["q"].transform("last")
    return frame


def uncensored(key: Key) -> Key:
    """Return the cell of which only a bound is known."""
    return (*key[:-1], key[-1].removesuffix(CENSORED))


def _numbers(row: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("verdict", "effect", "low", "high", "cell", "part"))


def _in_control(frame: pd.DataFrame) -> "pd.Series[str]":
    """Return for each row whose interval lies in its region the controls whose does, too."""
    holds = frame["verdict"].isin([HOLDS, HOLDS_SO_FAR])
    controls: dict[tuple[str, str, str], list[str]] = {}
    for row in frame[holds & (frame["control_for"] != "")].to_dict("records"):
        for name in row["control_for"].split():
            controls.setdefault((row["paper"], row["protocol"], name), []).append(row["id"])
    places = zip(frame["paper"], frame["protocol"], frame["id"], strict=True)
    names = pd.Series([" ".join(controls.get(place, [])) for place in places], frame.index)
    return names.where(holds, "")


def corrected(p_values: "pd.Series[float]") -> "pd.Series[float]":
    """Return Benjamini and Hochberg's q of the p-values that there are; .03 of .01 among three."""
    numbers = p_values.dropna()
    return pd.Series(false_discovery_control(numbers), numbers.index).reindex(p_values.index)


def read_verdicts(path: Path | str) -> pd.DataFrame:
    """Read the CSV file of what :func:`verdicts` returns."""
    return pd.read_csv(path, dtype=dict.fromkeys(_TEXTS, str)).fillna(dict.fromkeys(_TEXTS, ""))


def _as_columns(claim: Claim, cells: Sequence[CellEffect]) -> dict[str, object]:
    is_difference = _is_difference(claim)
    region = claim.expect.text("+" if is_difference else "")
    metrics = dict.fromkeys(name for cells in claim.terms for name in cells["metric"])
    varying = {column for cell in cells for column in cell.place}
    noun = _NOUNS.get(min(varying), min(varying)) if len(varying) == 1 else "case"
    scopes = {"every": f" in all {noun}s", "most": f" in most {noun}s"}
    scopes |= {"some": f" in at least one {noun}", "mean": ""}
    return {
        **claim.model_dump(include={"claim", "artifact", "place", "note"}),
        **claim.expect.model_dump(),
        "headline": "yes" if claim.headline else "",
        "control_for": " ".join(claim.control_for),
        "metric": " ".join(metrics),
        "contrast": "; ".join(filter(None, (difference.text for difference in claim.effect))),
        "effect_of": "difference" if is_difference else "level",
        "expected": region + scopes[claim.over],
    }


def _is_difference(claim: Claim) -> bool:
    """Return whether an effect compares conditions, or its cells do, as gains over one."""
    return any(each.minus for each in claim.effect) or all(
        is_gain(metric, condition)
        for cells in claim.terms
        for metric in cells["metric"]
        for condition in cells.get("condition", [""])
    )


def _verdict(
    claim: Claim,
    cells: Sequence[CellEffect],
    evidence: Evidence,
    printed: Mapping[Key, float],
    of_paper: int,
) -> dict[str, object]:
    """Judge the cells that count; the paper has ``of_paper``, with the numbers ``printed``."""
    cases = max(claim.cases or of_paper, len(cells))
    row: dict[str, object] = {"cells": len(cells), "cases": cases}
    row |= dict.fromkeys(("cell", "part", "basis", "n", "seeds"), "")
    if not cells:
        return row | {"verdict": NOT_RUN}
    effects = _parts(claim, cells)
    parts = [_part(claim, effect, evidence, len(effects)) for effect in effects]
    ranks = (DOES_NOT_HOLD, UNDECIDED, TOO_FEW_SEEDS, HOLDS)

    def goodness(part: _Part) -> tuple[int, float]:
        return ranks.index(part.verdict), claim.expect.margin(part.estimate.effect)

    ranked = sorted(parts, key=goodness, reverse=True)
    limiting = ranked[_limiting_place(claim, len(parts))]
    is_tie = False
    if claim.over == "most" and limiting.verdict == DOES_NOT_HOLD and len(cells) < cases:
        # Half of a part of the cases refutes nothing: the other cases may be as the claim says.
        limiting = ranked[(len(parts) - 1) // 2]
        is_tie = limiting.verdict == HOLDS
    estimate, of_cell = limiting.estimate, limiting.cell
    row |= {"effect": estimate.effect, "basis": estimate.basis, "part": of_cell.part}
    row |= {"cell": " ".join(filter(None, of_cell.place.values()))}
    row |= evidence.sizes(of_cell.weights)
    if printed.keys() >= of_cell.weights.keys():
        row["reported_here"] = _in_numbers(printed, of_cell)
    row |= {name: getattr(limiting, name) for name in ("low", "high", "p")}
    agreeing = sum(part.verdict == limiting.verdict for part in parts)
    row["verdict"] = in_scope(claim.over, limiting.verdict, agreeing, len(cells), cases)
    if is_tie:
        row |= {"verdict": UNDECIDED, "p": 1.0}
    elif limiting.verdict == UNDECIDED:
        row["detectable"] = estimate.detectable(claim.expect, limiting.level)
        row["seeds_to_decide"] = estimate.seeds_to_decide(claim.expect, limiting.level)
    return row


def in_scope(over: str, verdict: str, agreeing: int, run: int, cases: int) -> str:
    """Return a verdict, with "so far" if it needs those of the paper's ``cases`` that were not run.

    ``run`` of these were, ``agreeing`` of which have this verdict themselves. One case refutes
    "every" and bears out "some"; "most" takes half of the paper's cases, or more.
    """
    enough = {
        ("every", DOES_NOT_HOLD): True,
        ("some", HOLDS): True,
        ("most", HOLDS): 2 * agreeing > cases,
        ("most", DOES_NOT_HOLD): 2 * agreeing >= cases,
    }
    if run >= cases or enough.get((over, verdict), False):
        return verdict
    return {HOLDS: HOLDS_SO_FAR, DOES_NOT_HOLD: FAILS_SO_FAR}.get(verdict, verdict)


def _part(claim: Claim, cell: CellEffect, evidence: Evidence, parts: int) -> _Part:
    """Return one cell of several with its verdict, at the level that this takes."""
    estimate = evidence.estimate(cell.weights)
    if not estimate.terms:
        unknown = math.nan
        return _Part(estimate, cell, _LEVEL, unknown, unknown, unknown, TOO_FEW_SEEDS)
    needs_all = {"every": HOLDS, "some": DOES_NOT_HOLD}.get(claim.over)
    level, (low, high) = _LEVEL, estimate.interval(_LEVEL)
    if judge(low, high, claim.expect) != needs_all:
        level = _LEVEL / parts
        low, high = estimate.interval(level)
    times = [1 if verdict == needs_all else parts for verdict in (HOLDS, DOES_NOT_HOLD)]
    p = min(2 * each * k for each, k in zip(estimate.levels(claim.expect), times, strict=True))
    verdict = judge(low, high, claim.expect)
    return _Part(estimate, cell, level, min(p, 1.0), low, high, verdict)


def _limiting_place(claim: Claim, cells: int) -> int:
    """Return the place, from the best, of the cell that decides for the claim."""
    return {"mean": 0, "some": 0, "every": -1, "most": cells // 2}[claim.over]


def _of_paper(
    claim: Claim, cells: Sequence[CellEffect], printed: Mapping[Key, float]
) -> dict[str, object]:
    """Return the effect in the paper's own numbers, and whether it is as claimed."""
    if not cells:
        return {"reported": math.nan, "reported_bears_out": ""}
    effects = [_in_numbers(printed, cell) for cell in _parts(claim, cells)]
    best_first = sorted(effects, key=claim.expect.margin, reverse=True)
    effect = best_first[_limiting_place(claim, len(effects))]
    # reported numbers are rounded, and a sum of them is not exact
    inside = claim.expect.margin(round(effect, 6)) > 0
    return {"reported": effect, "reported_bears_out": "yes" if inside else "no"}


def _in_numbers(printed: Mapping[Key, float], cell: CellEffect) -> float:
    return sum(weight * printed[key] for key, weight in cell.weights.items())


def _parts(claim: Claim, cells: Sequence[CellEffect]) -> Sequence[CellEffect]:
    """Return the effects that are judged: those of the cells, or their mean."""
    if claim.over != "mean":
        return cells
    weights: Weights = {}
    for cell in cells:
        for key, weight in cell.weights.items():
            weights[key] = weights.get(key, 0.0) + weight / len(cells)
    return [CellEffect({key: each for key, each in weights.items() if abs(each) > 1e-12}, {})]
