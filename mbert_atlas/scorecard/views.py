"""What pages show of a paper's claims: verdicts and effects."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import label, language, listed
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.templates import Setting, artifact_name
from mbert_atlas.scorecard.verdicts import (
    DECIDED,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    NOT_APPLICABLE,
    NOT_RUN,
    UNDECIDED,
    VERDICTS,
)

FALSE_DISCOVERIES = 0.05
_WORDS = {  # of one and of several; others are "is undecided", "are undecided", ...
    HOLDS: ("holds", "hold"),
    HOLDS_SO_FAR: ("holds so far", "hold so far"),
    DOES_NOT_HOLD: ("does not hold", "do not hold"),
    FAILS_SO_FAR: ("does not hold so far", "do not hold so far"),
    NOT_RUN: ("was not run", "were not run"),
}
_SOURCES = {"seed": "seeds", "item": "test items", "in part item": "some of the test items"}
_SO_FAR = " so far"
_NEEDS_SCALE = "it states a level, which only the paper's data and encoder can have"
_WIDTH, _EDGE, _APART = 150, 10, 26  # of a plot, and of numbers on its scale, in pixels


@dataclass(frozen=True)
class Outcome:
    """The result of a claim under one protocol; texts are empty if it was not run."""

    protocol: str
    verdict: str
    words: str  # the verdict, with the number of cases if it holds or fails so far
    effect: str = ""  # with its interval
    limiting: str = ""  # the case that decides, and the difference if the claim has several
    cases: str = ""  # how many of the paper's cases count
    n: str = ""
    seeds: str = ""
    basis: str = ""  # of the interval, and how far it is from another verdict
    unit: str = ""  # of the effect, with the metric unless the case names it
    distance: str = ""  # of the effect from that in the paper's own numbers, if it has some
    q: str = ""  # of a claim that holds or does not
    is_weak: bool = False  # the verdict does not remain at a false-discovery rate of 5%
    reasons: tuple[str, ...] = ()  # why it is not applicable, or cases do not count
    controls: tuple[tuple[str, str], ...] = ()  # ids and sentences of those that show it, too
    plot: Mapping[str, Any] | None = None
    """Pixels of its effect, interval, region, ... and ``ticks``, numbers on the scale with text."""

    @property
    def scope(self) -> str:
        """Cases, items and seeds: ``2 of 9 cases, n = 500, 2 seeds``."""
        return ", ".join(filter(None, [self.cases, self.n and f"n = {self.n}", self.seeds]))


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
        results = {
            (one.words, one.effect, one.scope, one.limiting, one.reasons, one.controls)
            for one in self.outcomes
        }
        return len(results) == 1

    @property
    def was_run(self) -> bool:
        """Whether it has a result under any protocol."""
        return any(one.verdict != NOT_RUN for one in self.outcomes)

    @property
    def is_judged(self) -> bool:
        """Whether any result of it holds, does not hold or is undecided."""
        return any(one.verdict in (*DECIDED, UNDECIDED) for one in self.outcomes)

    @property
    def rank(self) -> tuple[int, ...]:
        """Where lists have it: by verdicts, the last protocol's first, then headline claims."""
        verdicts = (VERDICTS.index(one.verdict) for one in reversed(self.outcomes))
        return (*verdicts, not self.row["headline"])

    @property
    def is_control(self) -> bool:
        """Whether it is a control of our own, which is no claim of the paper."""
        return bool(self.row["control_for"])


def claim_views(claims: pd.DataFrame, setting: Setting) -> list[ClaimView]:
    """Prepare the claims of one paper for a page; if comparable, plots show the paper's effect."""
    columns = ["effect", "low", "high", "above", "below"]
    columns += ["reported"] if setting.comparable else []
    sentences = dict(zip(claims["id"], claims["claim"], strict=True))
    views = []
    for _, rows in claims.groupby("id", sort=False):
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        first = records[0]
        reported = first["reported"]
        text = "" if math.isnan(reported) else signed(reported, 2, first["effect_of"])
        # the plots of both protocols have one scale
        numbers = [record[column] for record in records for column in columns]
        numbers = [number for number in numbers if math.isfinite(number)] or [0.0]
        size = (max(numbers) - min(numbers)) or 1.0
        if min(map(abs, numbers)) <= size:  # zero is in the scale, or near
            numbers.append(0.0)
        margin = 0.08 * ((max(numbers) - min(numbers)) or 1.0)
        scale = (min(numbers) - margin, max(numbers) + margin)
        conditions = setting.conditions.get(f"{first['paper']}/{first['artifact']}", {})
        names = {**setting.names, **conditions}
        outcomes = [_outcome(record, names, sentences, scale, columns) for record in records]
        contrasts = [
            _bracketed(_named(each, names)) for each in first["contrast"].split("; ") if each
        ]
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


def of_paper(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the claims without controls, which are ours."""
    return claims[claims["control_for"] == ""]


def headlines(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the headline claims of a paper; all of its claims, if it has none."""
    claims = of_paper(claims)
    chosen = claims[claims["headline"] == "yes"]
    return claims if chosen.empty else chosen


def finding(claims: pd.DataFrame) -> str:
    """Return the verdicts on the headline claims of a paper as a sentence or two.

    ``Of 5 headline claims 3 hold, 1 does not hold and 1 is undecided, under both protocols.`` A
    paper without headline claims is described by all of its claims.
    """
    counted = headlines(claims)
    kind = "headline claim" if (counted["headline"] == "yes").any() else "claim"
    total = counted["id"].nunique()
    kinds = f"{total} {kind}{'s' if total > 1 else ''}"
    if (counted["verdict"] == NOT_RUN).all():
        return f"None of {kinds} was run."
    published, corrected = (
        _in_words(counts, total) for counts in count_verdicts(counted, once=False).values()
    )
    if (counted.groupby("id")["verdict"].nunique() == 1).all():
        text = f"Of {kinds} {corrected}, under both protocols"
    elif published == corrected:
        text = f"Of {kinds} {corrected} under each protocol, but not the same ones"
    else:
        text = f"Of {kinds} {corrected} under corrected; {published} under published"
    number = counted["id"][counted["in_control"] != ""].nunique()
    return f"{text}." + (f" {number} of them also in a control of ours." if number else "")


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


def counted_once(claims: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that count: no controls, and the same numbers under ``corrected`` only."""
    again = (claims["same_numbers"] == "yes") & (claims["protocol"] != PROTOCOLS[-1])
    return of_paper(claims[~again])


def count_verdicts(claims: pd.DataFrame, *, once: bool = True) -> dict[str, dict[str, int]]:
    """Return how many claims have which verdict, by protocol; ``once``: :func:`counted_once`."""
    counted = counted_once(claims) if once else of_paper(claims)
    counts = counted.groupby(["protocol", "verdict"]).size()
    return {
        protocol: {verdict: int(counts.get((protocol, verdict), 0)) for verdict in VERDICTS}
        for protocol in PROTOCOLS
    }


def count_discoveries(claims: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return how many claims hold or do not, and how many still do at that false-discovery rate."""
    claims = counted_once(claims)
    decided = claims[claims["verdict"].isin(DECIDED)]
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
    sentences: Mapping[str, str],
    scale: tuple[float, float],
    plotted: Sequence[str],
) -> Outcome:
    protocol, verdict = record["protocol"], record["verdict"]
    if verdict == NOT_RUN:
        return Outcome(protocol, verdict, verdict)
    run, cases, seeds = int(record["cells"]), int(record["cases"]), record["seeds"]
    words = f"{verdict} ({run} of {cases})" if verdict.endswith(_SO_FAR) else verdict
    reasons = tuple(filter(None, record["gate"].split("; ")))
    if verdict == NOT_APPLICABLE and record["cells"]:
        reasons = (_NEEDS_SCALE, *reasons)
    common = Outcome(protocol, verdict, words, reasons=reasons)
    if not math.isfinite(record["effect"]):
        return common
    text, digits = effect_and_interval(record)
    is_mean = run > 1 and not record["cell"] and not record["part"]
    basis = [_basis(record["basis"])]
    if verdict == UNDECIDED:
        basis += [_would_decide(record, digits)]
    if verdict in DECIDED:
        levels = (
            f"{name} {_level(record[name])}".replace(" ", "\N{NO-BREAK SPACE}") for name in "pq"
        )
        basis += [", ".join(levels)]
    ends = [record[column] for column in plotted]
    plot: dict[str, Any] = dict(zip(plotted, (_place(end, *scale) for end in ends), strict=True))
    plot |= {"zero": _place(0.0, *scale) if scale[0] < 0 < scale[1] else None}
    metrics = record["metric"].split()
    metric = [name for name in metrics if name in record["cell"].split()]
    return replace(
        common,
        effect=text,
        limiting=_limiting_case(record, names),
        cases=f"{'mean of ' * is_mean}{run} of {cases} case{'s' * (cases > 1)}",
        n=record["n"],
        seeds=f"{seeds or 'no'} seed{'s' * (seeds != '1')}",
        distance=_distance(record, digits),
        basis="; ".join(basis),
        unit=unit(" ".join(metric or metrics), record["effect_of"], named=bool(metric)),
        q=_level(record["q"]).removeprefix("= ") if verdict in DECIDED else "",
        is_weak=verdict in DECIDED and record["q"] > FALSE_DISCOVERIES,
        controls=tuple((name, sentences.get(name, name)) for name in record["in_control"].split()),
        plot=plot | {"ticks": _ticks(*scale)},
    )


def _limiting_case(record: Mapping[Any, Any], names: Mapping[str, str]) -> str:
    """Return names of the case that decides for a claim, each once, and the difference it is.

    What both sides of the difference share is named before it.
    """
    part = record["part"]
    case = [name for name in record["cell"].split() if name not in re.split("[ ,]", part)]
    sides = [side.split() for side in part.split(" − ")]
    shared = [*(Counter(sides[0]) & Counter(sides[-1])).elements()]
    if len(sides) == 2 and "+" not in part and len(shared) < min(map(len, sides)):
        for side, name in product(sides, shared):
            side.remove(name)
        case, part = [*case, *shared], " − ".join(map(" ".join, sides))
    texts = [
        f"layer {name}" if name.isdigit() else _named(name, names) for name in dict.fromkeys(case)
    ]
    return ": ".join(filter(None, [", ".join(texts), _bracketed(_named(part, names).strip())]))


def _bracketed(difference: str) -> str:
    """Return ``a + b − c`` as ``(a + b) − c``."""
    sides = difference.split(" − ")
    return " − ".join(f"({side})" if " + " in side and len(sides) > 1 else side for side in sides)


def _basis(text: str) -> str:
    """Return what an interval is over, of ``seed- and item-level CI, 2 seeds``."""
    sources, is_interval, _ = text.partition("-level CI")
    words = [_SOURCES.get(source, source) for source in sources.split("- and ")]
    return f"interval over {' and '.join(words)}" if is_interval else "no interval"


def _level(number: float) -> str:
    return f"= {number:.2g}" if number >= 1e-4 else "< .0001"


def _distance(record: Mapping[str, Any], digits: int) -> str:
    difference = record["effect"] - record["reported"]
    return "" if math.isnan(difference) else signed(difference, digits, "difference")


def _would_decide(record: Mapping[str, Any], digits: int) -> str:
    if math.isnan(record["detectable"]):
        return "half of the cases that were run refute the claim, half do not"
    seeds = record["seeds_to_decide"]
    text = f"{seeds:.0f} seed{'s' * (seeds > 1)} would" if seeds > 0 else "no number of seeds would"
    distance = f"{record['detectable']:.{digits}f}"
    return f"this run decides effects that lie {distance} from the border; {text} decide this one"


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return names in a text, apart by spaces and commas, as pages show them.

    A language that is source and target is named once.
    """
    spaced = re.sub(r"(?<!\S)(\S+) \1(?!\S)", r"\1", text).replace(",", ", ")
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


def _ticks(low: float, high: float) -> list[tuple[float | None, str]]:
    """Return two or three round numbers of a plot's scale, with zero if that is on it."""
    step = 10 ** math.floor(math.log10((high - low) / 5))
    step *= max(each for each in (1, 2, 5) if each * step <= (high - low) / 5)
    digits = max(0, -math.floor(math.log10(step)))
    ticks = [math.ceil(low / step) * step, math.floor(high / step) * step]
    if low < 0 < high:
        apart = _APART / _WIDTH * (high - low)
        ticks = sorted([0.0, *(tick for tick in ticks if abs(tick) > apart)])
    return [
        (_place(tick, low, high), signed(tick, digits, "level") if tick else "0") for tick in ticks
    ]
