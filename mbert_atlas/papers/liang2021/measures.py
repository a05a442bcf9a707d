"""Probes by window and layer, what is lost without directions, and transfer with L-DAR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from mbert_atlas.analysis.transfer import Cell, scores_of, tag_f1

HEADLINES = {
    "published": {"accuracy", "micro_f1", "v_measure"},
    "corrected": {"accuracy", "micro_f1", "ami"},
}
"""What is called ``score``, of pairs of languages, typology, clusters; others keep their names."""
_TABLE = ["protocol", "seed", "n", "metric", "value"]


def by_window(frame: pd.DataFrame, layer: int, **columns: Any) -> Iterator[dict[str, Any]]:
    """Yield the probes of one layer by window: the first dimensions, the next, or some at random.

    Args:
        frame: what ``probe_languages`` wrote.
        layer: which layer.
        columns: of all rows.
    """
    shown = frame[(frame["layer"] == layer) & (frame["kind"] != "window")]
    for row in _rows(shown):
        yield {**columns, "condition": _window(row), "layers": str(layer)} | _values(row)


def over_random(
    frame: pd.DataFrame, layer: int, width: int, **columns: Any
) -> Iterator[dict[str, Any]]:
    """Yield what a narrow window has beyond as many random dimensions (Figures 2 and 5).

    The published identification of languages takes off the random dimensions of its last pair
    alone.

    Args:
        frame: what ``probe_languages`` wrote.
        layer: which layer.
        width: dimensions of the windows.
        columns: of all rows.

    Yields:
        Rows whose metric ends in ``_gain``, in points.
    """
    frame = frame[frame["layer"] == layer]
    place = ["protocol", "seed", "method", "metric"]
    random = frame[frame["kind"].isin(["random", "random_last"]) & (frame["stop"] == width)]
    # `random_last` comes behind `random` and stands in its place.
    baseline = random.sort_values("kind").groupby(place)["value"].last()
    for row in _rows(frame[frame["kind"] == "window"]):
        key = tuple(row[name] for name in place)
        if key in baseline.index:
            own = {**columns, "condition": _window(row), "layers": str(layer)} | _values(row)
            gain = row["value"] - baseline[key]
            yield own | {"metric": f"{own['metric']}_gain", "value": gain}


def by_layer(frame: pd.DataFrame, size: int, **columns: Any) -> Iterator[dict[str, Any]]:
    """Yield the probes of the first ``size`` dimensions of every layer.

    Besides, as layers ``lower`` and ``upper``, the means over each half of the Transformer layers,
    so that claims hold of encoders of any depth.
    """
    shown = frame[(frame["kind"] == "first") & (frame["stop"] == size)]
    for row in _rows(shown):
        yield {**columns, "condition": row["method"], "layers": str(row["layer"])} | _values(row)
    halves = shown[shown["layer"] > 0]
    middle = halves["layer"].max() / 2
    named = halves.assign(half=(halves["layer"] > middle).map({False: "lower", True: "upper"}))
    keys = ["method", "half", *_TABLE[:-1]]
    for row in _rows(named.groupby(keys)["value"].mean().reset_index()):
        yield {**columns, "condition": row["method"], "layers": row["half"]} | _values(row)


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    rows: list[Any] = frame.to_dict("records")
    return rows


def _window(row: Mapping[str, Any]) -> str:
    if row["kind"] == "majority":
        return f"{row['method']}_majority"
    if row["kind"].startswith("random"):
        return f"{row['method']}_{row['kind'].replace('_', '-')}-{row['stop']}"
    return f"{row['method']}_{row['start']}-{row['stop']}"


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: row[name] for name in _TABLE}
    is_headline = row["metric"] in HEADLINES[row["protocol"]]
    return values | ({"metric": "score"} if is_headline else {})


def lost_without(
    scores: pd.DataFrame, way: str, protocols: Sequence[str], rank: int, **columns: Any
) -> Iterator[dict[str, Any]]:
    """Yield the F1 of the whole space less that without its first directions (Figure 4).

    Args:
        scores: with ``method``, ``first``, ``language``, ``value`` (percent), ``n``, ``seed``; the
            whole space as ``first`` 0, whichever the method.
        way: ``frozen`` or ``tuned``.
        protocols: those for which this holds.
        rank: how many directions tell languages apart.
        columns: of all rows.

    Yields:
        Means over languages, in points; ``condition`` is ``<way>_<method>_<first>``, and of the
        number that is nearest to the rank ``<way>_<method>_rank`` too.
    """
    grouped = scores.groupby(["method", "first", "seed"])["value"]
    means = grouped.agg(["mean", "size"]).reset_index()
    whole = means[means["first"] == 0].groupby("seed")["mean"].first()
    nearest = min(set(scores["first"]) - {0}, key=lambda first: abs(first - rank), default=None)
    for row in _rows(means[means["first"] > 0]):
        names = [row["first"], *(["rank"] if row["first"] == nearest else [])]
        for protocol, name in product(protocols, names):
            yield {
                **columns,
                "condition": f"{way}_{row['method']}_{name}",
                "target": "mean",
                "metric": "f1_lost",
                "value": whole[row["seed"]] - row["mean"],
                "protocol": protocol,
                "seed": row["seed"],
                "n": row["size"],
            }


def measure_preservation(
    cells: Sequence[tuple[Cell, str]], means: bool
) -> Iterator[dict[str, Any]]:
    """Yield F1 by language of test, or its means (appendix B.3).

    Tags are scored as XTREME's script does under ``published``: seqeval on bare tags, where equal
    tags next to each other are one span. Under ``corrected`` each word counts for itself.

    Args:
        cells: predictions, and the layers that are held.
        means: yield the means over the languages of training (``train``), the others
            (``zero_shot``) and all, not the languages and ``avg``. The first and the last set of
            layers are there as ``bottom`` and ``top``, too, for claims of encoders of any depth.
    """
    found: dict[tuple[Any, ...], dict[str, tuple[float, int]]] = {}
    sets = list(dict.fromkeys(layers for _, layers in cells if layers))
    ends = dict(zip(("bottom", "top"), (sets[0], sets[-1]), strict=True)) if sets else {}
    for cell, layers in cells:
        for shown in [layers, *(name for name, own in ends.items() if own == layers and means)]:
            place = (cell.task, cell.source, cell.condition, shown, cell.protocol, cell.seed)
            found.setdefault(place, {})[cell.language] = f1_of(cell)
    names = ("task", "source", "condition", "layers", "protocol", "seed")
    for place, scores in found.items():
        here: dict[str, Any] = dict(zip(names, place, strict=True)) | {"metric": "f1"}
        trained = here["source"].split("+")
        groups = {"avg": list(scores)}
        if means:
            groups = {
                "train": [code for code in scores if code in trained],
                "zero_shot": [code for code in scores if code not in trained],
                "all": list(scores),
            }
        else:
            for code, (value, n) in scores.items():
                yield here | {"target": code, "value": value, "n": n}
        for target, codes in groups.items():
            if codes:
                value = sum(scores[code][0] for code in codes) / len(codes)
                yield here | {"target": target, "value": value, "n": len(codes)}


def f1_of(cell: Cell) -> tuple[float, int]:
    """Return the F1 of a run in a language in percent, and how many items it is of."""
    if cell.kind == "tagging" and cell.protocol == "published":
        return tag_f1(cell)
    scores, n = scores_of(cell)
    return scores["accuracy" if cell.kind == "tagging" else "entity_f1"], n
