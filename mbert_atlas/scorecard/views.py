"""What pages show of a paper's claims: verdicts and effects."""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from mbert_atlas.labels import label, language
from mbert_atlas.scorecard import rules
from mbert_atlas.scorecard.counts import FALSE_DISCOVERIES
from mbert_atlas.scorecard.plots import plot, scale_of
from mbert_atlas.scorecard.templates import Setting, artifact_name
from mbert_atlas.scorecard.verdicts import (
    DECIDED,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    JUDGED,
    NOT_APPLICABLE,
    NOT_RUN,
    TOO_FEW_SEEDS,
    UNDECIDED,
    VERDICTS,
)

_OF_CONTROL = {  # whose finding must not be seen: the verdict that it looks like, and its words
    HOLDS: (DOES_NOT_HOLD, "not passed"),
    HOLDS_SO_FAR: (FAILS_SO_FAR, "not passed so far"),
    DOES_NOT_HOLD: (HOLDS, "passed"),
    FAILS_SO_FAR: (HOLDS_SO_FAR, "passed so far"),
}
_SOURCES = {"seed": "seeds", "item": "test items", "in part item": "some of the test items"}
_SO_FAR = " so far"
_DIGITS = 2  # after the point, of numbers in the papers
_NEEDS_SCALE = "it states a level, which only the paper's data and encoder can have"


@dataclass(frozen=True)
class Outcome:
    """The result of a claim under one protocol; texts are empty if it was not run."""

    protocol: str
    verdict: str
    words: str  # the verdict, with the number of cases if it holds or fails so far
    look: str  # the verdict whose mark and colour it has: a control that does not hold is passed
    effect: str = ""  # with its interval
    limiting: str = ""  # the case that decides, and the difference if the claim has several
    cases: str = ""  # how many of the paper's cases count
    n: str = ""
    seeds: str = ""
    basis: str = ""  # of the interval unless it is over seeds and items, and what would decide
    unit: str = ""  # of the effect, with the metric unless the case names it
    reported: str = ""  # the effect in the paper's numbers of the same cells, if it has them
    apart: str = ""  # how far ours is from that, with our interval
    share: str = ""  # that ours is of it, where an effect of that sign is claimed and holds
    q: str = ""  # of a claim of the paper that holds or does not
    is_weak: bool = False  # the verdict does not remain at a false-discovery rate of 5%
    reasons: tuple[str, ...] = ()  # why it is not applicable, or cases do not count
    controls: tuple[tuple[str, str, str], ...] = ()
    """Ids, sentences and effects of those that show it, too."""
    plot: Mapping[str, Any] | None = None
    """See :func:`.plots.plot`."""

    @property
    def scope(self) -> str:
        """Cases, items and seeds: ``2 of 9 cases, 500 items, 2 seeds``."""
        items = self.n and f"{self.n} item{'s' * (self.n != '1')}"
        return ", ".join(filter(None, [self.cases, items, self.seeds]))


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
    def holds(self) -> bool:
        """Whether it holds, or holds so far, under a protocol, and fails under none."""
        looks = {one.look for one in self.outcomes}
        return not looks.isdisjoint([HOLDS, HOLDS_SO_FAR]) and not self.fails

    @property
    def fails(self) -> bool:
        """Whether it does not hold, or not so far, under any protocol."""
        return any(one.verdict in (DOES_NOT_HOLD, FAILS_SO_FAR) for one in self.outcomes)

    @property
    def has_border(self) -> bool:
        """Whether its region has an end other than zero, which papers state in words only."""
        ends = (self.row["above"], self.row["below"])
        return any(end for end in ends if math.isfinite(end))

    @property
    def is_judged(self) -> bool:
        """Whether any result of it is a judgement of an effect."""
        return any(one.verdict in JUDGED for one in self.outcomes)

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
    """Prepare the claims of one paper for a page."""
    columns = ["effect", "low", "high", "above", "below", "reported_here"]
    rows_of = claims.set_index(["id", "protocol"])
    shown_by = {key: dict(row) for key, row in rows_of.iterrows()}
    views = []
    for _, rows in claims.groupby("id", sort=False):
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        first = records[0]
        reported = first["reported"]
        text = _signed_or_none(reported, first["effect_of"])
        # the plots of both protocols have one scale
        numbers = [record[column] for record in records for column in columns]
        scale = scale_of(numbers)
        conditions = setting.conditions.get(f"{first['paper']}/{first['artifact']}", {})
        names = {**setting.names, **conditions}
        outcomes = [
            _outcome(record, names, setting.names, shown_by, scale, columns) for record in records
        ]
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
    languages: Collection[str],
    others: Mapping[Any, Mapping[str, Any]],
    scale: tuple[float, float],
    plotted: Sequence[str],
) -> Outcome:
    protocol, verdict = record["protocol"], record["verdict"]
    look, words = verdict, verdict
    if record["control_for"]:
        look, words = _OF_CONTROL.get(verdict, (verdict, verdict))
    if verdict == NOT_RUN:
        return Outcome(protocol, verdict, words, look)
    run, cases, seeds = int(record["cells"]), int(record["cases"]), record["seeds"]
    words += f" ({run} of {cases} cases tested)" * verdict.endswith(_SO_FAR)
    words += f" ({seeds or 'none'}; two needed)" * (verdict == TOO_FEW_SEEDS)
    reasons = tuple(_reason(each, names) for each in filter(None, record["gate"].split("; ")))
    if verdict == NOT_APPLICABLE and record["cells"]:
        reasons = (_NEEDS_SCALE, *reasons)
    common = Outcome(protocol, verdict, words, look, reasons=reasons)
    if not math.isfinite(record["effect"]):
        return common
    text, digits = effect_and_interval(record)
    is_mean = run > 1 and not record["cell"] and not record["part"]
    basis = [_basis(record["basis"])]
    if verdict == UNDECIDED:
        basis += [_would_decide(record, digits)]
    if verdict in DECIDED:
        levels = [
            f"{name} {_level(record[name])}".replace(" ", "\N{NO-BREAK SPACE}")
            for name in "pq"
            if math.isfinite(record[name])  # controls have no q
        ]
        basis += [", ".join(levels)]
    has_q = verdict in DECIDED and math.isfinite(record["q"])
    metrics = record["metric"].split()
    metric = [name for name in metrics if name in record["cell"].split()]
    return replace(
        common,
        effect=text,
        limiting=_limiting_case(record, names, languages),
        cases=f"{'mean of ' * is_mean}{run} of {cases} case{'s' * (cases > 1)}",
        n=record["n"],
        seeds=f"{seeds or 'no'} seed{'s' * (seeds != '1')}",
        reported=_signed_or_none(record["reported_here"], record["effect_of"]),
        apart=_apart(record, digits),
        share=_share(record),
        basis="; ".join(filter(None, basis)),
        unit=unit(" ".join(metric or metrics), record["effect_of"], named=bool(metric)),
        q=_level(record["q"]).removeprefix("= ") if has_q else "",
        is_weak=has_q and record["q"] > FALSE_DISCOVERIES,
        controls=tuple(
            (name, others[name, protocol]["claim"], _effect(others[name, protocol]))
            for name in record["in_control"].split()
        ),
        plot=plot(record, plotted, scale),
    )


def _reason(text: str, names: Mapping[str, str]) -> str:
    """Return why a case does not count, with the names of the case before its numbers."""
    return re.sub(r"(?<=: )(\D+?)(?= −?\d)", lambda place: _named(place[0], names), text)


def _limiting_case(
    record: Mapping[Any, Any], names: Mapping[str, str], languages: Collection[str]
) -> str:
    """Return names of the case that decides for a claim, each once, and the difference it is.

    An arrow is between source and target. What both sides of the difference share is named before
    it.
    """
    part = record["part"]
    cell = [name for name in record["cell"].split() if name not in re.split("[ ,]", part)]
    case: list[str] = []
    for name in dict.fromkeys(cell):
        if case and name in languages and case[-1] in languages:
            name = f"{case.pop()} → {name}"
        case.append(name)
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
    """Return what an interval is over, of ``item-level CI``; nothing if over seeds and items."""
    sources, is_interval, _ = text.partition("-level CI")
    words = [_SOURCES.get(source, source) for source in sources.split("- and ")]
    if words == ["seeds", "test items"]:  # as of most effects
        return ""
    return f"interval over {' and '.join(words)} only" if is_interval else "no interval"


def _level(number: float) -> str:
    return f"= {number:.2g}" if number >= 1e-4 else "< .0001"


def _signed_or_none(number: float, effect_of: str) -> str:
    return "" if math.isnan(number) else signed(number, _DIGITS, effect_of)


def _apart(record: Mapping[str, Any], digits: int) -> str:
    """Return how far our effect is from the paper's, as the numbers next to it are rounded."""
    digits = min(digits, _DIGITS)
    numbers = (round(record[name], digits) for name in ("effect", "low", "high"))
    effect, *ends = (number - record["reported_here"] for number in numbers)
    if math.isnan(effect):
        return ""
    texts = [signed(number, digits, "difference") for number in (effect, *ends)]
    return f"{texts[0]} [{', '.join(texts[1:])}]" if all(map(math.isfinite, ends)) else texts[0]


def _share(record: Mapping[str, Any]) -> str:
    """Return what share of the paper's effect ours is, if the claim is about its sign and holds."""
    is_of_sign = record["above"] >= 0 or record["below"] <= 0
    holds = record["verdict"] in (HOLDS, HOLDS_SO_FAR) and record["effect_of"] == "difference"
    ratio = record["effect"] / (record["reported_here"] or math.nan)
    return f"{ratio:.0%}" if is_of_sign and holds and ratio > 0 else ""


def _effect(record: Mapping[str, Any]) -> str:
    return effect_and_interval(record)[0].partition(" ")[0]


def _would_decide(record: Mapping[str, Any], digits: int) -> str:
    if math.isnan(record["detectable"]):
        return "half of the cases that were run refute the claim, half do not"
    seeds = record["seeds_to_decide"]
    others = f"{seeds:.0f} seed{'s' * (seeds > 1)}" if seeds > 0 else ""
    if math.isinf(record["detectable"]):
        return f"no effect is large enough for this run; to decide it: {others or 'more items'}"
    ends = (record["above"], record["below"])
    now = min(abs(record["effect"] - end) for end in ends if math.isfinite(end))
    apart = f"{record['detectable']:.{digits}f} from the region's border (now {now:.{digits}f})"
    distance = f"an effect {apart}"
    if others:
        return f"to decide it: {others}, or {distance}"
    return f"to decide it: {distance}, or more items{' and seeds' * bool(record['seeds'])}"


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return names in a text, apart by spaces and commas, as pages show them.

    A language that is source and target is named once.
    """
    spaced = re.sub(r"(?<!\S)(\S+) \1(?!\S)", r"\1", text).replace(",", ", ")
    return re.sub(r"[^\s,]*[^\s,+−][^\s,]*", lambda part: _name(part[0], names), spaced)


def _name(part: str, names: Mapping[str, str]) -> str:
    is_artifact = part.startswith(("figure", "table"))
    return artifact_name(part) if is_artifact else language(part, names)
