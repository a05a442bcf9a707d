"""How many claims have which verdict, as numbers and as sentences."""

import math

import pandas as pd

from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.labels import listed
from mbert_atlas.scorecard.verdicts import (
    DECIDED,
    DOES_NOT_HOLD,
    FAILS_SO_FAR,
    HOLDS,
    HOLDS_SO_FAR,
    IN_CONTROL,
    JUDGED,
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
    IN_CONTROL: ("is also seen in a control", "are also seen in a control"),
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
    is decided.`` Protocols with the same verdicts share a line. Another one states how large the
    effects are next to the paper's, or that it has no numbers to compare with. A paper without
    headline claims is described by all.
    """
    claims = of_paper(claims)
    is_counted = claims["id"].isin(headlines(claims)["id"])
    counted = claims[is_counted]
    kind = "headline claim" if (counted["headline"] == "yes").any() else "claim"
    kinds = f"{(total := counted['id'].nunique())} {kind}{'s' * (total > 1)}"
    if (counted["verdict"] == NOT_RUN).all():
        return f"None of {kinds} was run."
    is_weak = claims["verdict"].isin(DECIDED) & (claims["q"] > FALSE_DISCOVERIES)
    told = claims["verdict"] + is_weak.map(str)
    if (told.groupby(claims["id"]).nunique() == 1).all():
        protocols = {"Under both protocols": PROTOCOLS[-1]}
    else:
        protocols = {name.capitalize(): name for name in PROTOCOLS}
    lines = []
    for title, protocol in protocols.items():
        is_here = claims["protocol"] == protocol
        others = claims[is_here & ~is_counted]
        texts = [f"of {kinds} {_in_words(claims[is_here & is_counted], of_all=True)}"]
        if (others["verdict"] != NOT_RUN).any():
            some = _in_words(others) if others["verdict"].isin(DECIDED).any() else "none is decided"
            texts += [f"of {len(others)} other{'s' * (len(others) > 1)} {some}"]
        run = claims["verdict"][is_here & (claims["verdict"] != NOT_RUN)]
        if len(run) and not run.isin(DECIDED).any():
            texts += ["nothing holds or fails here"]
        elif len(run) and not run.isin([DOES_NOT_HOLD, FAILS_SO_FAR]).any():
            texts += ["none fails"]
        lines += [f"{title}: {'; '.join(texts)}."]
    lines += [_sizes(claims[claims["protocol"] == PROTOCOLS[-1]])]
    if counted["reported"].isna().all():
        lines += [f"The paper has no number for {'any' if total > 1 else 'the'} {kind}."]
    return "\n".join(filter(None, lines))


def _sizes(claims: pd.DataFrame) -> str:
    """Return how judged effects compare with the paper's of the same cells, in words."""
    has_interval = (claims["high"] - claims["low"]).between(0, math.inf, inclusive="neither")
    claims = claims[has_interval & claims["verdict"].isin(JUDGED)]
    paper, low, high = (claims[name] for name in ("reported_here", "low", "high"))
    total = int(paper.notna().sum())
    if not total:
        return ""
    is_in, has_zero = paper.between(low, high), (low < 0) & (high > 0)
    is_opposite = (claims["effect"] * paper < 0) & ~has_zero
    is_larger = claims["effect"].abs() > paper.abs()
    kinds = {
        "agree within our interval": is_in & ~has_zero,
        "uncertain (zero lies in the interval, too)": is_in & has_zero,
        "larger": paper.notna() & ~is_in & is_larger & ~is_opposite,
        "smaller": paper.notna() & ~is_in & ~is_larger & ~is_opposite,
        "of the other sign": paper.notna() & ~is_in & is_opposite,
    }
    numbers = {name: int(kind.sum()) for name, kind in kinds.items()}
    texts = []
    for name, number in numbers.items():
        verb = "" if name.startswith("agree") else "are " if number > 1 else "is "
        words = name if number > 1 else name.replace("agree", "agrees")
        texts += [f"{number} {verb}{words}"] * bool(number)
    have = "has" if total == 1 else "have"
    where = (
        f"{total} of {len(claims)} judged effects {have} a number in the paper for the same case"
    )
    return f"Size ({claims['protocol'].iloc[0]}): {where}; {listed(texts)}."


def _in_words(claims: pd.DataFrame, *, of_all: bool = False) -> str:
    """Return how many have which verdict, how many of them weak.

    With ``of_all`` "all hold" where they have the same.
    """
    words = []
    for verdict in VERDICTS:
        some = claims[claims["verdict"] == verdict]
        one, several = _WORDS.get(verdict, (f"is {verdict}", f"are {verdict}"))
        weak = int((some["verdict"].isin(DECIDED) & (some["q"] > FALSE_DISCOVERIES)).sum())
        if of_all and len(some) == len(claims) > 1 and not weak:
            none = {NOT_RUN: "none was run", DOES_NOT_HOLD: "none holds"}
            return none.get(verdict, f"all {several}")
        if len(some):
            text = several if len(some) > 1 else one
            words.append(f"{len(some)} {text}{f' ({weak} weak)' if weak else ''}")
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
