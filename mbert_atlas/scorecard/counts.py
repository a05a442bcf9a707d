"""How many claims have which verdict, as numbers and as sentences."""

from collections.abc import Mapping

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import listed
from mbert_atlas.scorecard.verdicts import (
    DECIDED,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    NOT_RUN,
    TOO_FEW_SEEDS,
    VERDICTS,
)

FALSE_DISCOVERIES = 0.05
_WORDS = {  # of one and of several; others are "is undecided", "are undecided", ...
    HOLDS: ("holds", "hold"),
    HOLDS_SO_FAR: ("holds so far", "hold so far"),
    DOES_NOT_HOLD: ("does not hold", "do not hold"),
    FAILS_SO_FAR: ("does not hold so far", "do not hold so far"),
    TOO_FEW_SEEDS: ("has too few seeds", "have too few seeds"),
    NOT_RUN: ("was not run", "were not run"),
}


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

    ``Of 5 headline claims 3 hold, 1 does not hold and 1 is undecided, under both protocols.`` What
    else holds or does not follows, and how many verdicts are weak, or true of a control, too. A
    paper without headline claims is described by all.
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
    return " ".join(filter(None, [f"{text}.", _of_others(of_paper(claims), counted), _but(claims)]))


def _but(claims: pd.DataFrame) -> str:
    """Return how many verdicts to doubt."""
    decided, kept = count_discoveries(claims)
    weak, shared = decided - kept, int((counted_once(claims)["in_control"] != "").sum())
    texts = [f"{weak} {'are' if weak > 1 else 'is'} weak"] if weak else []
    texts += [f"{shared} {'are' if shared > 1 else 'is'} shown by a control, too"] if shared else []
    return f"Of {decided} verdict{'s' * (decided > 1)} {listed(texts)}." if texts else ""


def _of_others(claims: pd.DataFrame, counted: pd.DataFrame) -> str:
    """Return how many claims other than those counted hold or do not, by protocol."""
    others = claims[~claims["id"].isin(counted["id"])]
    decided = count_verdicts(others[others["verdict"].isin(DECIDED)], once=False)
    texts = {name: _in_words(counts, 0) for name, counts in decided.items()}
    total, run = (some["id"].nunique() for some in (others, others[others["verdict"] != NOT_RUN]))
    if not run:
        return ""
    kinds = f"{total} other{'s' * (total > 1)}"
    kinds += f" {run} {'were' if run > 1 else 'was'} run:" if run < total else ""
    if not any(texts.values()):
        return f"Of {kinds} none is decided."
    published, corrected = (texts[name] or "none is decided" for name in PROTOCOLS)
    if published == corrected:
        by_claim = others.assign(verdict=others["verdict"].where(others["verdict"].isin(DECIDED)))
        is_same = (by_claim.groupby("id")["verdict"].nunique(dropna=False) == 1).all()
        both = "under both protocols" if is_same else "under each protocol, but not the same ones"
        return f"Of {kinds} {corrected} {both}."
    return f"Of {kinds} {corrected} under corrected; {published} under published."


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


def count_discoveries(claims: pd.DataFrame) -> tuple[int, int]:
    """Return how many verdicts are decided, and how many remain at that false-discovery rate."""
    claims = counted_once(claims)
    q = claims["q"][claims["verdict"].isin(DECIDED)]
    return len(q), int((q <= FALSE_DISCOVERIES).sum())
