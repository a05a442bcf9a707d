"""What figures draw and say of the uncertainty of their numbers."""

from collections.abc import Mapping

import pandas as pd

from mbert_atlas.figures.reported import reported_note
from mbert_atlas.labels import label, listed

_PLACE = ("task", "model", "condition", "source", "target", "layers", "metric", "protocol")
_RULE = (
    "by the rule that judges the claims (docs/verdicts.md); the spread over seeds is pooled over "
    "the numbers of this figure"
)
_WITHOUT_ITEMS = (
    "There are no resamples of the test items; verdicts add the error of n items "
    "(docs/verdicts.md)."
)
_ONE_SEED = "; with one seed of everything, the spread over seeds is not known here"
_PAIRED = (
    "Verdicts pair conditions on items and seeds, so intervals may overlap where a difference is "
    "certain."
)
_SOURCES = {"seeds": "seeds", "items": "test items", "seeds and items": "seeds and test items"}
_MOST_GROUPS = 4


def with_intervals(measured: pd.DataFrame, intervals: pd.DataFrame | None) -> pd.DataFrame:
    """Add the 95% intervals of numbers to measurements: columns ``low``, ``high``, ``over``.

    ``intervals`` has these columns and those that name a number; none adds nothing. ``over`` is
    ``seeds``, ``items``, ``seeds and items``, or empty for a number without an interval.
    """
    if intervals is None:
        return measured
    joined = measured.merge(intervals, how="left")
    return joined.assign(over=joined["over"].fillna(""))


def interval_name(rows: pd.DataFrame, band: str = "") -> str:
    """Return what bars or bands are, for a legend; empty if there are none.

    Rows may have ``low`` and ``high``, and then ``over``, or what they are in ``band``; without
    them bands go from the lowest to the highest seed.
    """
    if "over" in rows:
        sources = set(rows["over"]) - {""}
        over = f" over {_SOURCES[sources.pop()]}" if len(sources) == 1 else ""
        return f"95% interval{over}" if over or sources else ""
    seeds = rows["seed"].nunique()
    return band or (f"range of {seeds} seeds" if seeds > 1 else "")


def describe(
    rows: pd.DataFrame,
    mark: str,
    *,
    by: str,
    of: str,
    items: str = "test items",
    band: str = "",
    names: Mapping[str, str] | None = None,
) -> str:
    """Return n, seeds, what ``mark`` (bars, bands) are, and the paper's numbers, as sentences.

    Rows drawn have ``n`` and ``seed``, and what :func:`interval_name` and :func:`.reported_note`
    read. ``by`` is the column of
    panels, ``of`` that of conditions, whose labels ``names`` may override; n counts ``items``.
    """
    sentences = [_count(rows, by, items), _seeds(rows), _intervals(rows, mark, of, band, names)]
    return " ".join(filter(None, [*sentences, reported_note(rows)]))


def _count(rows: pd.DataFrame, by: str, items: str) -> str:
    if "n" not in rows or rows["n"].isna().all():
        return ""
    counts = rows.dropna(subset="n").groupby(by, sort=False)["n"].agg(["min", "max"]).astype(int)
    texts = {label(str(name)): _range(low, high) for name, low, high in counts.itertuples()}
    if len(set(texts.values())) == 1 or len(texts) > _MOST_GROUPS:
        every = _range(counts["min"].min(), counts["max"].max())
        return f"n = {every} {items} behind a number."
    each = "; ".join(f"{' '.join(name.split())} {text}" for name, text in texts.items())
    return f"n ({items} behind a number): {each}."


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _seeds(rows: pd.DataFrame) -> str:
    if rows["seed"].isna().all():
        return "These numbers were measured once, without seeds."
    place = [name for name in (*_PLACE, "panel", "line", "along") if name in rows]
    counts = rows.dropna(subset="seed").groupby(place, dropna=False)["seed"].nunique()
    few, many = int(counts.min()), int(counts.max())
    text = f"{few} or {many}" if many == few + 1 else _range(few, many)
    return f"{text} seed{'' if many == 1 else 's'}."


def _intervals(
    rows: pd.DataFrame, mark: str, of: str, band: str, names: Mapping[str, str] | None
) -> str:
    if "over" not in rows:
        name = interval_name(rows, band)
        text = f"{mark}: {name}." if name else "One seed: no interval can be given."
        return text if band else f"{text} {_WITHOUT_ITEMS}"
    groups = {
        str(over): [label(str(name), names) for name in some.unique()]
        for over, some in rows.groupby("over")[of]
    }
    sources = sorted(filter(None, groups), key=len, reverse=True)
    if not sources:
        return "No interval can be given: there is one seed, and no resamples of the test items."
    text = f"{mark}: 95% interval over {_SOURCES[sources[0]]}"
    for over in sources[1:]:
        text += f", of some numbers only over {_SOURCES[over]}"
    if any("seeds" in over for over in sources):
        text += f", {_RULE}."
    else:
        is_open = rows["seed"].notna().any()
        text += f" (docs/verdicts.md){_ONE_SEED if is_open else ''}."
    with_interval = {name for over in sources for name in groups[over]}
    if without := [name for name in groups.get("", ()) if name not in with_interval]:
        text += f" No interval can be given for {listed(without)}."
    elif "" in groups:
        text += " No interval can be given for some numbers."
    return f"{text} {_PAIRED}"
