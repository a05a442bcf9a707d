"""What layers that are drawn anew cost, and how similarity and transfer go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mbert_atlas.analysis.correlation import spearman
from mbert_atlas.analysis.transfer import Cell, scores_of
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import SIMILARITIES

METRICS = {"parsing": "las", "pos": "accuracy", "ner": "entity_f1"}
"""By task, the score of :mod:`mbert_atlas.analysis.transfer` that the paper reports."""
REPORTED = {"parsing": "las", "pos": "accuracy", "ner": "f1"}
REFERENCE, DIFFERENCE, SCORE = "ref", "random_init_delta", "random_init"
DEPTHS = ("first", "last", "lower", "upper")
HEADLINE = {"published": "cka_rbf", "corrected": "cka_linear"}
"""What CKA is under each protocol; the authors' code has another kernel than the paper."""
CORRELATION = "spearman_cross_lingual_gap_vs_similarity"
PRETRAINED, FINE_TUNED = "pretrained", "fine_tuned"
_SIMILARITY_KEYS = ("task", "condition", "source", "target", "protocol", "seed", "n")


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


def read_similarities(cells: Iterable[Mapping[str, Any]], paths: Iterable[Path]) -> pd.DataFrame:
    """Read the similarities of several encoders, in percent.

    Args:
        cells: task, condition, protocol and seed of each.
        paths: what :func:`mbert_atlas.analysis.similarity.measure_similarity` wrote of each.

    Returns:
        One row per encoder, protocol, target, layer and measure.
    """
    frames = [
        found[found.protocol == cell["protocol"]].assign(**cell)
        for cell, path in zip(cells, paths, strict=True)
        for found in [read_parquet(path, SIMILARITIES).to_pandas()]
    ]
    frame: pd.DataFrame = pd.concat(frames, ignore_index=True)
    for column in ("value", "low", "high"):
        frame[column] *= 100
    return frame


def measure_similarities(frame: pd.DataFrame, targets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the measurements of Figures 1, 2 and 4 to 8: similarity by layer, 0 the embeddings.

    ``cka_percent`` is the protocol's CKA, with ``_low`` and ``_high`` the ends of its band; every
    other kernel stands beside it by its own name.
    Where the layer is ``bottom``, ``top`` or ``maximum``, it is the first, the last or the largest
    value; ``cka_percent_maximum`` is the largest, in its layer.

    Args:
        frame: see :func:`read_similarities`.
        targets: languages that the figure shows.
    """
    shown = frame[frame.target.isin(targets)]
    for row in shown.to_dict("records"):
        same = {key: row[key] for key in _SIMILARITY_KEYS} | {"layers": str(row["layer"])}
        name = str(row["measure"])
        is_headline = name == HEADLINE[str(row["protocol"])]
        metric = "cka_percent" if is_headline else f"{name}_percent"
        yield same | {"metric": metric, "value": row["value"]}
        for end in ("low", "high") if is_headline else ():
            yield same | {"metric": f"cka_percent_{end}", "value": row[end]}
    shown = shown[shown.measure == shown.protocol.map(HEADLINE)].sort_values("layer")
    for key, rows in shown.groupby([*_SIMILARITY_KEYS], sort=False):
        same = dict(zip(_SIMILARITY_KEYS, key, strict=True))
        values = rows.value.to_numpy()
        depths = {"bottom": values[0], "top": values[-1], "maximum": values.max()}
        for layers, value in depths.items():
            yield same | {"layers": layers, "metric": "cka_percent", "value": value}
        most = str(rows.layer.iloc[values.argmax()])
        yield same | {"layers": most, "metric": "cka_percent_maximum", "value": values.max()}


def correlate_with_gap(
    similarities: pd.DataFrame, transfer: Mapping[str, pd.DataFrame], by_layer: bool
) -> Iterator[dict[str, Any]]:
    """Yield Table 4 (or by layer Figure 3): do languages that are more alike transfer better?

    :data:`CORRELATION` has the printed sign: that of similarity and what transfer keeps.
    ``spearman_signed`` is that of similarity and gap, as its name says; beside it stands the
    p-value.

    Args:
        similarities: see :func:`read_similarities`; of the pretrained and fine-tuned encoders.
        transfer: measurements by target of each task (Tables 6 to 8).
        by_layer: correlate in each layer, else the mean over all layers.
    """
    headline = similarities[similarities.measure == similarities.protocol.map(HEADLINE)]
    keys = ["task", "condition", "protocol", "seed", "source"]
    for key, some in headline.groupby(keys, sort=False):
        place: dict[str, Any] = dict(zip(keys, key, strict=True))
        found = gaps(transfer[place["task"]], place["source"], place["protocol"])[place["seed"]]
        by_target = some[some.target.isin(found)].pivot_table("value", "target", "layer")
        columns = by_target.items() if by_layer else [("", by_target.mean(axis=1))]
        for layer, values in columns:
            rho = spearman(values.to_numpy(), [found[target] for target in values.index])
            row = place | {"target": "all", "layers": str(layer), "n": rho.n}
            metrics = {
                CORRELATION: -rho.rho,
                f"{CORRELATION}_low": -rho.high,
                f"{CORRELATION}_high": -rho.low,
                "spearman_signed": rho.rho,
                "spearman_p_value": rho.p_value,
            }
            for metric, value in metrics.items():
                yield row | {"metric": metric, "value": value}
