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

    ``Published: of 5 headline claims 3 hold, 1 does not hold and 1 is undecided; of 9 others none
    is decided.`` Protocols with the same verdicts share a line. Then follow how many claims to
    doubt, and whether the paper has numbers to compare with. A paper without headline claims is
    described by all.
    """
    claims = of_paper(claims)
    is_counted = claims["id"].isin(headlines(claims)["id"])
    counted = claims[is_counted]
    kind = "headline claim" if (counted["headline"] == "yes").any() else "claim"
    kinds = f"{(total := counted['id'].nunique())} {kind}{'s' * (total > 1)}"
    if (counted["verdict"] == NOT_RUN).all():
        return f"None of {kinds} was run."
    told = claims["verdict"].where(is_counted | claims["verdict"].isin([*DECIDED, NOT_RUN]), "")
    if (told.groupby(claims["id"]).nunique() == 1).all():
        protocols = {"Under both protocols": PROTOCOLS[-1]}
    else:
        protocols = {name.capitalize(): name for name in PROTOCOLS}
    lines = []
    for title, protocol in protocols.items():
        is_here = claims["protocol"] == protocol
        others = claims["verdict"][is_here & ~is_counted]
        texts = [f"of {kinds} {_in_words(claims['verdict'][is_here & is_counted], of_all=True)}"]
        if (others != NOT_RUN).any():
            some = _in_words(others[others.isin(DECIDED)]) or "none is decided"
            texts += [f"of {len(others)} other{'s' * (len(others) > 1)} {some}"]
        run = claims["verdict"][is_here & (claims["verdict"] != NOT_RUN)]
        if run.isin(DECIDED).any() and not run.isin([DOES_NOT_HOLD, FAILS_SO_FAR]).any():
            texts += [f"none of {len(run)} that were run fails"]
        lines += [f"{title}: {'; '.join(texts)}."]
    if counted["reported"].isna().all():
        lines += [f"The paper has no number for {'any' if total > 1 else 'the'} {kind}."]
    return "\n".join([*lines, *_doubts(claims)])


def _doubts(claims: pd.DataFrame) -> list[str]:
    """Return how many claims to doubt, and why."""
    decided, kept = count_discoveries(claims)
    shared = claims["id"][claims["in_control"] != ""].nunique()
    doubts = [
        (decided - kept, "weak: chance may explain a result among so many"),
        (shared, "no evidence: a control, where there is nothing to find, shows the same"),
    ]
    kinds = f"{decided} claim{'s' * (decided > 1)} that hold{'s' * (decided == 1)} or"
    kinds += f" do{'es' * (decided == 1)} not"
    return [
        f"Of {kinds}, {number} {'are' if number > 1 else 'is'} {why}."
        for number, why in doubts
        if number
    ]


def _in_words(verdicts: "pd.Series[str]", *, of_all: bool = False) -> str:
    """Return how many there are of each; ``of_all``: "all hold" where they are the same."""
    counts = verdicts.value_counts()
    words = []
    for verdict in filter(counts.__contains__, VERDICTS):
        number = int(counts[verdict])
        one, several = _WORDS.get(verdict, (f"is {verdict}", f"are {verdict}"))
        if of_all and number == len(verdicts) > 1:
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
    """Return how many claims are decided under a protocol, and of how many all verdicts remain.

    That is, at a rate of false discoveries of :data:`FALSE_DISCOVERIES`.
    """
    claims = of_paper(claims)
    decided = claims[claims["verdict"].isin(DECIDED)]
    remain = decided["q"].le(FALSE_DISCOVERIES).groupby(decided["id"]).all()
    return len(remain), int(remain.sum())
