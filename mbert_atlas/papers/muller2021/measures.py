"""What layers that are drawn anew cost, and how similarity and transfer go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from mbert_atlas.analysis.transfer import Cell, scores_of

METRICS = {"parsing": "las", "pos": "accuracy", "ner": "entity_f1"}
"""By task, the score of :mod:`mbert_atlas.analysis.transfer` that the paper reports."""
REPORTED = {"parsing": "las", "pos": "accuracy", "ner": "f1"}
REFERENCE, DIFFERENCE, SCORE = "ref", "random_init_delta", "random_init"
DEPTHS = ("first", "last", "lower", "upper")


def measure_layers(cells: Sequence[tuple[Cell, str]], shown: str) -> Iterator[dict[str, Any]]:
    """Yield the scores of an encoder as it is, and of those with layers drawn anew.

    Args:
        cells: predictions, the target as the reported numbers name it in ``condition``; and the
            layers that were drawn anew, ``ref`` for none.
        shown: ``difference``, to the reference of the same seed; or ``score``.

    Yields:
        Rows with ``condition`` :data:`REFERENCE`, or :data:`DIFFERENCE` or :data:`SCORE` with
        ``layers``; in percent (points).
    """
    references: dict[tuple[Any, ...], float] = {}
    for cell, layers in cells:
        scores, n = scores_of(cell)
        value = scores[METRICS[cell.task]]
        place = (cell.task, cell.source, cell.condition, cell.protocol, cell.seed)
        row = {
            "task": cell.task,
            "source": cell.source,
            "target": cell.condition,
            "metric": REPORTED[cell.task],
            "protocol": cell.protocol,
            "seed": cell.seed,
            "n": n,
        }
        if layers == REFERENCE:
            references[place] = value
            yield row | {"condition": REFERENCE, "value": value}
        elif shown == "score":
            yield row | {"condition": SCORE, "layers": layers, "value": value}
        elif place in references:
            value -= references[place]
            yield row | {"condition": DIFFERENCE, "layers": layers, "value": value}


def mean_over_targets(frames: Sequence[pd.DataFrame], layers: Sequence[str]) -> pd.DataFrame:
    """Return Table 1: each source in its own language, and its mean over all others (``mean_x``).

    Beside the sets of layers come :data:`DEPTHS`, so that claims can be asked of encoders of any
    depth: the lowest and the highest set, and the means over the lower and the upper half of them.

    Args:
        frames: the measurements by target (Tables 6 to 8).
        layers: the sets of layers, the lowest first.
    """
    frame = pd.concat(frames)
    keys = ["task", "model", "condition", "source", "layers", "metric", "protocol", "seed"]
    same = frame[frame.source == frame.target]
    others = frame[frame.source != frame.target]
    means = others.groupby(keys, sort=False, as_index=False).agg({"value": "mean", "n": "sum"})
    table = pd.concat([same[[*keys, "target", "value", "n"]], means.assign(target="mean_x")])
    half = len(layers) // 2
    parts = zip(DEPTHS, (layers[:1], layers[-1:], layers[:half], layers[half:]), strict=True)
    deep = [key for key in keys if key != "layers"]
    found = [table]
    for name, some in parts:
        chosen = table[(table.condition == DIFFERENCE) & table.layers.isin(some)]
        mean = chosen.groupby([*deep, "target"], sort=False, as_index=False)
        found.append(mean.agg({"value": "mean", "n": "max"}).assign(layers=name))
    return pd.concat(found, ignore_index=True)


def gaps(frame: pd.DataFrame, source: str, protocol: str) -> dict[int, dict[str, float]]:
    """Return the cross-lingual gap of each target by seed: what transfer loses (section 4.3).

    That is the score in the source language less that in the target, in points. Rank correlations
    are the same for the gap relative to the source's score.

    Args:
        frame: measurements by target of one task (Table 6, 7 or 8).
        source: language of training.
        protocol: ``published`` or ``corrected``.
    """
    rows = frame[
        (frame.condition == REFERENCE) & (frame.source == source) & (frame.protocol == protocol)
    ]
    found: dict[int, dict[str, float]] = {}
    for seed, some in rows.groupby("seed"):
        values: Mapping[str, float] = dict(zip(some.target, some.value, strict=True))
        found[int(str(seed))] = {
            target: values[source] - value for target, value in values.items() if target != source
        }
    return found
