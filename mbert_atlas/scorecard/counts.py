"""How many claims have which verdict, as numbers and as sentences."""

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
    """Return the verdicts on the claims of a paper in words, a line for each protocol.

    ``Published: of 5 headline claims 3 hold, 1 does not hold and 1 is undecided; of 9 others 4
    were run: none is decided.`` Protocols with the same verdicts share a line. The last lines state
    how many verdicts are weak, or true of a control, too. A paper without headline claims is
    described by all.
    """
    claims = of_paper(claims)
    is_counted = claims["id"].isin(headlines(claims)["id"])
    if (claims["verdict"][is_counted] == NOT_RUN).all():
        return f"None of {_kinds(claims[is_counted])} was run."
    told = claims["verdict"].where(is_counted | claims["verdict"].isin([*DECIDED, NOT_RUN]), "")
    if (told.groupby(claims["id"]).nunique() == 1).all():
        protocols = {"Under both protocols": PROTOCOLS[-1]}
    else:
        protocols = {name.capitalize(): name for name in PROTOCOLS}
    lines = []
    for title, protocol in protocols.items():
        is_here = claims["protocol"] == protocol
        headline, others = claims[is_here & is_counted], claims[is_here & ~is_counted]
        texts = [f"of {_kinds(headline)} {_in_words(headline, of_all=True)}"]
        if (was_run := others["verdict"] != NOT_RUN).any():
            some = f" {was_run.sum()} {'was' if was_run.sum() == 1 else 'were'} run:"
            kinds = f"{len(others)} other{'s' * (len(others) > 1)}{some * (not was_run.all())}"
            decided = others[others["verdict"].isin(DECIDED)]
            texts += [f"of {kinds} {_in_words(decided) or 'none is decided'}"]
        held = claims["verdict"][is_here & claims["verdict"].isin(DECIDED)]
        if len(held) and not held.isin([DOES_NOT_HOLD, FAILS_SO_FAR]).any():
            texts += ["no claim fails"]
        lines += [f"{title}: {'; '.join(texts)}."]
    return "\n".join([*lines, *_doubts(claims)])


def _kinds(claims: pd.DataFrame) -> str:
    kind = "headline claim" if (claims["headline"] == "yes").any() else "claim"
    return f"{(total := claims['id'].nunique())} {kind}{'s' * (total > 1)}"


def _doubts(claims: pd.DataFrame) -> list[str]:
    """Return how many verdicts to doubt, and why."""
    decided, kept = count_discoveries(claims)
    shared = int((counted_once(claims)["in_control"] != "").sum())
    doubts = [
        (decided - kept, "weak: with so many claims, chance may explain them"),
        (shared, "no evidence: a control, where there is nothing to find, shows the same"),
    ]
    return [
        f"{number} of {decided} verdict{'s' * (decided > 1)} {'are' if number > 1 else 'is'} {why}."
        for number, why in doubts
        if number
    ]


def _in_words(claims: pd.DataFrame, *, of_all: bool = False) -> str:
    """Return how many have which verdict; ``of_all``: "all hold" where these are all there are."""
    counts = claims["verdict"].value_counts()
    words = []
    for verdict in filter(counts.__contains__, VERDICTS):
        number = int(counts[verdict])
        one, several = _WORDS.get(verdict, (f"is {verdict}", f"are {verdict}"))
        if of_all and number == len(claims) > 1:
            text = {NOT_RUN: "none was run", DOES_NOT_HOLD: "none holds"}
            return text.get(verdict, f"all {several}")
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
