"""Claims as pages show them: verdicts under both protocols, effects as text and as drawings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import language
from mbert_atlas.scorecard.verdicts import NOT_RUN, VERDICTS

_WIDTH, _HEIGHT, _EDGE = 150, 22, 6  # of a drawing, in pixels


@dataclass(frozen=True)
class Outcome:
    """What a claim came to under one protocol.

    Attributes:
        protocol: published or corrected.
        verdict: one of :data:`mbert_atlas.scorecard.verdicts.VERDICTS`.
        effect: with its interval, as text; empty if it was not run.
        basis: where the interval comes from, and the deciding cell if there is one.
        drawing: effect and interval over the expected region, as SVG; empty if it was not run.
    """

    protocol: str
    verdict: str
    effect: str
    basis: str
    drawing: Markup


@dataclass(frozen=True)
class ClaimView:
    """One claim, with what it came to under each protocol.

    Attributes:
        key: its id.
        sentence: the claim.
        place: where the paper states it.
        artifact: key of the artifact that shows it.
        expected: in words.
        reported: the effect of the paper's own numbers; empty if it has none.
        contradicted: whether these numbers don't bear the claim out.
        note: how it is read.
        outcomes: by protocol.
    """

    key: str
    sentence: str
    place: str
    artifact: str
    expected: str
    reported: str
    contradicted: bool
    note: str
    outcomes: list[Outcome]


def claim_views(
    claims: pd.DataFrame, names: Mapping[str, str], *, comparable: bool
) -> list[ClaimView]:
    """Prepare the claims of one paper for a page.

    Args:
        claims: rows of what :func:`mbert_atlas.scorecard.verdicts.verdicts` returns.
        names: language code to English name.
        comparable: whether the paper's own effect is drawn beside ours.
    """
    views = []
    for key, rows in claims.groupby("id", sort=False):
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        first = records[0]
        scale = _scale(records, with_reported=comparable)
        reported = first["reported"]
        views.append(
            ClaimView(
                str(key),
                first["claim"],
                first["place"],
                first["artifact"],
                first["expected"],
                "" if math.isnan(reported) else shown(reported, 2, first["effect_of"]),
                first["reported_bears_out"] == "no",
                first["note"],
                [_outcome(record, names, scale, comparable) for record in records],
            )
        )
    return views


def glance(claims: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many claims have which verdict, by protocol."""
    return {
        protocol: {
            verdict: int(((claims["protocol"] == protocol) & (claims["verdict"] == verdict)).sum())
            for verdict in VERDICTS
        }
        for protocol in PROTOCOLS
    }


def shown(number: float, digits: int, effect_of: str) -> str:
    """Return a number, a difference with its sign, the minus as wide as the plus."""
    sign = "+" if effect_of == "difference" else "-"
    return f"{number:{sign}z.{digits}f}".replace("-", "−")


def _digits(size: float) -> int:
    """Return the decimals that show two digits of a number of this size."""
    return 2 if not 0 < size < math.inf else min(max(1 - math.floor(math.log10(size)), 0), 4)


def _outcome(
    record: Mapping[str, Any],
    names: Mapping[str, str],
    scale: tuple[float, float],
    comparable: bool,
) -> Outcome:
    if record["verdict"] == NOT_RUN:
        return Outcome(record["protocol"], NOT_RUN, "", "", Markup())
    low, high, cells = record["low"], record["high"], int(record["cells"])
    digits = _digits((high - low) / 2)
    effect, *ends = (
        shown(number, digits, record["effect_of"]) for number in (record["effect"], low, high)
    )
    text = f"{effect} [{', '.join(ends)}]" if math.isfinite(high - low) else effect
    basis = record["basis"]
    if record["cell"]:
        cell = " ".join(language(part, names) for part in record["cell"].split())
        basis += f"; {cell} decides (1 of {cells})"
    elif cells > 1:
        basis += f"; mean of {cells}"
    reported = record["reported"] if comparable else math.nan
    return Outcome(
        record["protocol"], record["verdict"], text, basis, _drawing(record, scale, reported)
    )


def _scale(records: Sequence[Mapping[str, Any]], *, with_reported: bool) -> tuple[float, float]:
    """Return the range that a claim's drawings show, the same under both protocols."""
    columns = ["effect", "low", "high", "above", "below", *(["reported"] if with_reported else [])]
    numbers = [record[column] for record in records for column in columns]
    numbers = [number for number in numbers if math.isfinite(number)]
    if not numbers:
        return 0.0, 1.0
    width = (max(numbers) - min(numbers)) or 1.0
    return min(numbers) - 0.08 * width, max(numbers) + 0.08 * width


def _drawing(record: Mapping[str, Any], scale: tuple[float, float], reported: float) -> Markup:
    """Return the expected region, the interval and the effect as an SVG without text."""

    def place(number: float) -> float:
        share = (min(max(number, scale[0]), scale[1]) - scale[0]) / (scale[1] - scale[0])
        return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)

    above, below = (
        place(record[column]) if math.isfinite(record[column]) else edge
        for column, edge in (("above", 0.0), ("below", float(_WIDTH)))
    )
    middle = _HEIGHT / 2
    parts = [
        f'<rect class="region" x="{above}" y="0" width="{round(below - above, 1)}" '
        f'height="{_HEIGHT}"/>'
    ]
    if math.isfinite(record["high"] - record["low"]):
        ends = f'x1="{place(record["low"])}" x2="{place(record["high"])}"'
        parts.append(f'<line class="interval" {ends} y1="{middle}" y2="{middle}"/>')
    if math.isfinite(reported):
        x = place(reported)
        corners = f"{x},{middle - 5} {x + 5},{middle} {x},{middle + 5} {x - 5},{middle}"
        parts.append(f'<polygon class="reported" points="{corners}"/>')
    parts.append(f'<circle class="effect" cx="{place(record["effect"])}" cy="{middle}" r="3.5"/>')
    return Markup(
        f'<svg class="drawing" width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )
