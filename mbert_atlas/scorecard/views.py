"""Claims as pages show them: verdicts under both protocols, effects as text and as plots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import language
from mbert_atlas.scorecard.templates import artifact_name
from mbert_atlas.scorecard.verdicts import NOT_RUN, VERDICTS

_WIDTH, _HEIGHT, _EDGE = 150, 22, 6  # of a plot, in pixels
_Record = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The result of a claim under one protocol; texts are empty if it was not run."""

    protocol: str
    verdict: str
    effect: str = ""  # with its interval
    basis: str = ""  # of the interval, and the limiting case if there is one
    plot: str = ""  # effect and interval over the expected region, as SVG


@dataclass(frozen=True)
class ClaimView:
    """A claim with its results."""

    row: dict[str, Any]  # of :func:`.verdicts.verdicts`, under the first protocol
    reported: str  # the effect in the paper's own numbers; empty if it has none
    outcomes: list[Outcome]  # by protocol


def claim_views(
    claims: pd.DataFrame, names: Mapping[str, str], *, comparable: bool
) -> list[ClaimView]:
    """Prepare the claims of one paper for a page; if comparable, plots show the paper's effect."""
    views = []
    for _, rows in claims.groupby("id", sort=False):
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        first = records[0]
        reported = first["reported"]
        text = "" if math.isnan(reported) else signed(reported, 2, first["effect_of"])
        scale = _scale(records, with_reported=comparable)
        outcomes = [_outcome(record, names, scale, comparable) for record in records]
        views.append(ClaimView(first, text, outcomes))
    return views


def count_verdicts(claims: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many claims have which verdict, by protocol."""
    return {
        protocol: {
            verdict: int(((claims["protocol"] == protocol) & (claims["verdict"] == verdict)).sum())
            for verdict in VERDICTS
        }
        for protocol in PROTOCOLS
    }


def signed(number: float, digits: int, effect_of: str) -> str:
    """Return a number, a difference with its sign, the minus as wide as the plus."""
    sign = "+" if effect_of == "difference" else "-"
    return f"{number:{sign}z.{digits}f}".replace("-", "−")


def _outcome(
    record: _Record, names: Mapping[str, str], scale: tuple[float, float], comparable: bool
) -> Outcome:
    if record["verdict"] == NOT_RUN:
        return Outcome(record["protocol"], NOT_RUN)
    low, high, cells = record["low"], record["high"], int(record["cells"])
    # two digits of half the interval
    size = (high - low) / 2
    digits = min(max(1 - math.floor(math.log10(size)), 0), 4) if 0 < size < math.inf else 2
    effect, *ends = (
        signed(number, digits, record["effect_of"]) for number in (record["effect"], low, high)
    )
    text = f"{effect} [{', '.join(ends)}]" if math.isfinite(size) else effect
    basis = record["basis"]
    if record["cell"]:
        cell = " ".join(_name(part, names) for part in record["cell"].split())
        basis += f"; limiting case: {cell} (1 of {cells})"
    elif cells > 1:
        basis += f"; mean of {cells}"
    reported = record["reported"] if comparable else math.nan
    plot = _plot(record, scale, reported)
    return Outcome(record["protocol"], record["verdict"], text, basis, plot)


def _name(part: str, names: Mapping[str, str]) -> str:
    is_artifact = part.startswith(("figure", "table"))
    return artifact_name(part) if is_artifact else language(part, names)


def _scale(records: Sequence[_Record], *, with_reported: bool) -> tuple[float, float]:
    """Return the range of a claim's plots, the same under both protocols."""
    columns = ["effect", "low", "high", "above", "below", *(["reported"] if with_reported else [])]
    numbers = [record[column] for record in records for column in columns]
    numbers = [number for number in numbers if math.isfinite(number)]
    if not numbers:
        return 0.0, 1.0
    width = (max(numbers) - min(numbers)) or 1.0
    return min(numbers) - 0.08 * width, max(numbers) + 0.08 * width


def _plot(record: _Record, scale: tuple[float, float], reported: float) -> Markup:
    """Return the expected region, the interval and the effect as an SVG without text."""

    def place(number: float) -> float:
        share = (min(max(number, scale[0]), scale[1]) - scale[0]) / (scale[1] - scale[0])
        return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)

    above, below = (
        place(record[column]) if math.isfinite(record[column]) else edge
        for column, edge in (("above", 0.0), ("below", float(_WIDTH)))
    )
    size = f'width="{round(below - above, 1)}" height="{_HEIGHT}"'
    parts = [f'<rect class="region" x="{above}" y="0" {size}/>']
    middle = _HEIGHT / 2
    if math.isfinite(record["high"] - record["low"]):
        ends = f'x1="{place(record["low"])}" x2="{place(record["high"])}"'
        parts.append(f'<line class="interval" {ends} y1="{middle}" y2="{middle}"/>')
    if math.isfinite(reported):
        x = place(reported)
        corners = f"{x},{middle - 5} {x + 5},{middle} {x},{middle + 5} {x - 5},{middle}"
        parts.append(f'<polygon class="reported" points="{corners}"/>')
    parts.append(f'<circle class="effect" cx="{place(record["effect"])}" cy="{middle}" r="3.5"/>')
    return Markup(
        f'<svg class="plot" width="{_WIDTH}" height="{_HEIGHT}" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )
