"""What pages show of a paper: its claims with verdicts and effects, and parts of its prose."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import label, language, listed
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.templates import Setting, artifact_name
from mbert_atlas.scorecard.verdicts import DOES_NOT_HOLD, HOLDS, NOT_RUN, UNDECIDED, VERDICTS

_MARKS = (
    (re.compile(r"`([^`]+)`"), r"<code>\1</code>"),
    (re.compile(r"\*\*(.+?)\*\*"), r"<strong>\1</strong>"),
    (re.compile(r"(?<!\w)\*(.+?)\*"), r"<em>\1</em>"),
    (re.compile(r"\[([^\]]+)\]\([^)]+\)"), r"\1"),  # the targets of links are not with the page
)
FALSE_DISCOVERIES = 0.05
_WORDS = {  # of one and of several; others are "is undecided", "are undecided", ...
    HOLDS: ("holds", "hold"),
    DOES_NOT_HOLD: ("does not hold", "do not hold"),
    NOT_RUN: ("was not run", "were not run"),
}
_WIDTH, _EDGE = 150, 6  # of a plot, in pixels


@dataclass(frozen=True)
class Outcome:
    """The result of a claim under one protocol; texts are empty if it was not run."""

    protocol: str
    verdict: str
    effect: str = ""  # with its interval
    basis: str = ""  # of the interval, and the limiting case if there is one
    limiting: str = ""  # that case
    unit: str = ""  # of the effect, with the metric unless the case names it
    q: str = ""  # of a claim that holds or does not
    plot: Mapping[str, float | None] | None = None  # pixels of its effect, interval, region, ...


@dataclass(frozen=True)
class ClaimView:
    """A claim with its results."""

    row: dict[str, Any]  # of :func:`.verdicts.verdicts`, under the first protocol
    reported: str  # the effect in the paper's own numbers; empty if it has none
    outcomes: list[Outcome]  # by protocol
    contrasts: list[str]  # of which its effect is the difference: "adjusted − original"

    @property
    def verdicts(self) -> dict[str, str]:
        """Its verdict by protocol."""
        return {one.protocol: one.verdict for one in self.outcomes}

    @property
    def agrees(self) -> bool:
        """Whether it has the same result under all protocols, which may have the same runs."""
        return len({(one.verdict, one.effect, one.limiting) for one in self.outcomes}) == 1


def claim_views(claims: pd.DataFrame, setting: Setting) -> list[ClaimView]:
    """Prepare the claims of one paper for a page; if comparable, plots show the paper's effect."""
    columns = ["effect", "low", "high", "above", "below"]
    columns += ["reported"] if setting.comparable else []
    views = []
    for _, rows in claims.groupby("id", sort=False):
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        first = records[0]
        reported = first["reported"]
        text = "" if math.isnan(reported) else signed(reported, 2, first["effect_of"])
        # the plots of both protocols have one scale
        numbers = [record[column] for record in records for column in columns]
        numbers = [number for number in numbers if math.isfinite(number)] or [0.0]
        margin = 0.08 * ((max(numbers) - min(numbers)) or 1.0)
        scale = (min(numbers) - margin, max(numbers) + margin)
        conditions = setting.conditions.get(f"{first['paper']}/{first['artifact']}", {})
        names = {**setting.names, **conditions}
        outcomes = [_outcome(record, names, scale, columns) for record in records]
        contrasts = [_named(each, names) for each in first["contrast"].split("; ") if each]
        views.append(ClaimView(first, text, outcomes, contrasts))
    return views


def unit(metrics: str, effect_of: str, *, named: bool = False) -> str:
    """Return the unit of an effect: ``points (accuracy)``, ``% (LAS; F1)``, ``(AUC)``.

    If the metric is ``named`` next to it, ``points``, ``%`` or nothing.
    """
    names = metrics.split()
    percent = [rules.full_scale(name, "") == 100 or rules.is_gain(name, "") for name in names]
    percent = [each or "percent" in name for each, name in zip(percent, names, strict=True)]
    word = ("%" if effect_of == "level" else "points") if all(percent) else ""
    labels = dict.fromkeys(label(name).removesuffix(" (%)") for name in names)
    return word if named else f"{word} ({'; '.join(labels)})".lstrip()


def headlines(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the headline claims of a paper; all of its claims, if it has none."""
    chosen = claims[claims["headline"] == "yes"]
    return claims if chosen.empty else chosen


def finding(claims: pd.DataFrame) -> str:
    """Return the verdicts on the headline claims of a paper as a sentence.

    ``Of 5 headline claims 3 hold, 1 does not hold and 1 is undecided, under both protocols.`` A
    paper without headline claims is described by all of its claims.
    """
    kind = "headline claim" if (claims["headline"] == "yes").any() else "claim"
    counted = headlines(claims)
    total = counted["id"].nunique()
    kinds = f"{total} {kind}{'s' if total > 1 else ''}"
    if (counted["verdict"] == NOT_RUN).all():
        return f"None of {kinds} was run."
    of_protocol = count_verdicts(counted)
    published, corrected = (_in_words(of_protocol[name], total) for name in PROTOCOLS)
    if (counted.groupby("id")["verdict"].nunique() == 1).all():
        return f"Of {kinds} {corrected}, under both protocols."
    return f"Of {kinds} {corrected}; under the published protocol {published}."


def _in_words(counts: Mapping[str, int], total: int) -> str:
    words = []
    for verdict, number in counts.items():
        one, several = _WORDS.get(verdict, (f"is {verdict}", f"are {verdict}"))
        if number == total > 1:
            text = {NOT_RUN: "none was run", DOES_NOT_HOLD: "none holds"}
            return text.get(verdict, f"all {several}")
        if number:
            words.append(f"{number} {several if number > 1 else one}")
    return listed(words)


def count_verdicts(claims: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Return how many claims have which verdict, by protocol."""
    counts = claims.groupby(["protocol", "verdict"]).size()
    return {
        protocol: {verdict: int(counts.get((protocol, verdict), 0)) for verdict in VERDICTS}
        for protocol in PROTOCOLS
    }


def count_discoveries(claims: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return how many claims hold or do not, and how many still do at that false-discovery rate."""
    decided = claims[claims["verdict"].isin([HOLDS, DOES_NOT_HOLD])]
    of_protocol = {name: decided["q"][decided["protocol"] == name] for name in PROTOCOLS}
    return {name: (len(q), int((q <= FALSE_DISCOVERIES).sum())) for name, q in of_protocol.items()}


def signed(number: float, digits: int, effect_of: str) -> str:
    """Return a number, a difference with its sign, the minus as wide as the plus."""
    sign = "+" if effect_of == "difference" else "-"
    return f"{number:{sign}z.{digits}f}".replace("-", "−")


def effect_and_interval(record: Mapping[Any, Any]) -> tuple[str, int]:
    """Return the effect of a judged claim with its 95% interval, and their number of digits.

    Two digits of half the interval are shown.
    """
    low, high = record["low"], record["high"]
    size = (high - low) / 2
    digits = min(max(1 - math.floor(math.log10(size)), 0), 4) if 0 < size < math.inf else 2
    effect, *ends = (
        signed(number, digits, record["effect_of"]) for number in (record["effect"], low, high)
    )
    return f"{effect} [{', '.join(ends)}]" if math.isfinite(size) else effect, digits


def _outcome(
    record: Mapping[str, Any],
    names: Mapping[str, str],
    scale: tuple[float, float],
    plotted: Sequence[str],
) -> Outcome:
    if record["verdict"] == NOT_RUN:
        return Outcome(record["protocol"], NOT_RUN)
    text, digits = effect_and_interval(record)
    cells, basis = int(record["cells"]), record["basis"]
    limiting = _named(record["cell"], names)
    if limiting and cells == 1:
        limiting += ", the only case run"
        basis += f"; {limiting}"
    elif limiting:
        basis += f"; limiting case: {limiting} (1 of {cells})"
    elif cells > 1:
        basis += f"; mean of {cells}"
    if record["verdict"] == UNDECIDED:
        basis += f"; {_would_decide(record, digits)}"
    q = ""
    if record["verdict"] in (HOLDS, DOES_NOT_HOLD):
        basis += f"; p {_level(record['p'])}, q {_level(record['q'])}"
        q = _level(record["q"]).removeprefix("= ")
    plot = {column: _place(record[column], *scale) for column in plotted}
    metrics = record["metric"].split()
    metric = [name for name in metrics if name in record["cell"].split()]
    measured = unit(" ".join(metric or metrics), record["effect_of"], named=bool(metric))
    return Outcome(record["protocol"], record["verdict"], text, basis, limiting, measured, q, plot)


def _level(number: float) -> str:
    return f"= {number:.2g}" if number >= 1e-4 else "< .0001"


def _would_decide(record: Mapping[str, Any], digits: int) -> str:
    seeds = record["seeds_to_decide"]
    text = f"{seeds:.0f} seeds would decide" if seeds > 0 else "no number of seeds would decide"
    return f"detectable: {record['detectable']:.{digits}f} from the border; {text}"


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return names in a text, apart by spaces and commas, as pages show them."""
    spaced = text.replace(",", ", ")
    return re.sub(r"[^\s,]*[^\s,+−][^\s,]*", lambda part: _name(part[0], names), spaced)


def _name(part: str, names: Mapping[str, str]) -> str:
    is_artifact = part.startswith(("figure", "table"))
    return artifact_name(part) if is_artifact else language(part, names)


def _place(number: float, low: float, high: float) -> float | None:
    """Return where a plot shows a number, in pixels from its left; none if that is not finite."""
    if not math.isfinite(number):
        return None
    share = (min(max(number, low), high) - low) / (high - low)
    return round(_EDGE + share * (_WIDTH - 2 * _EDGE), 1)


def bullets(text: str, heading: str) -> list[Markup]:
    """Return the items of the list under a heading of a Markdown text; none if there is none."""
    return [_inline(line[2:]) for line in _section(text, heading) if line.startswith("- ")]


def table_rows(text: str, heading: str) -> list[list[Markup]]:
    """Return the rows of the table under a heading, its head first; none if there is none."""
    return [
        [_inline(cell.strip()) for cell in line.strip().strip("|").split("|")]
        for line in _section(text, heading)
        if line.startswith("|") and not re.fullmatch(r"[|\s:-]+", line)
    ]


def _section(text: str, heading: str) -> list[str]:
    """Return the lines between a heading and the next one, lists with one line per item."""
    lines: list[str] = []
    inside = fenced = False
    for line in text.splitlines():
        if line.startswith("```") or fenced:
            fenced ^= line.startswith("```")
        elif line.startswith("#"):
            inside = line.lstrip("# ").strip() == heading
        elif inside and line.startswith("  ") and lines and lines[-1].startswith("- "):
            lines[-1] += " " + line.strip()
        elif inside:
            lines.append(line)
    return lines


def _inline(text: str) -> Markup:
    html = str(escape(text))
    for mark, replacement in _MARKS:
        html = mark.sub(replacement, html)
    return Markup(html)
