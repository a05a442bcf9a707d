"""Costs of re-initialised layers, and correlations of similarity with transfer."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mbert_atlas.analysis.correlation import spearman
from mbert_atlas.analysis.measurements import mean_by, read_measurements
from mbert_atlas.analysis.resampling import RESAMPLED, RESAMPLES, difference
from mbert_atlas.analysis.scores import majority_arcs, majority_words
from mbert_atlas.analysis.scoring import Score, mean_score, rows_of, scores_of
from mbert_atlas.analysis.similarity import DEBIASED, SHUFFLED
from mbert_atlas.cells import Cell
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.papers.muller2021.config import (
    CKA,
    CORRELATION,
    DIFFERENCE,
    MAJORITY,
    PRETRAINED,
    REFERENCE,
)
from mbert_atlas.schemas import SIMILARITIES

_METRICS = {"parsing": ("las", "las"), "pos": ("accuracy", "accuracy"), "ner": ("entity_f1", "f1")}
"""By task: the score of :mod:`mbert_atlas.analysis.scoring`, and its name in the paper."""
_BEST_LAYER, _MEAN = "best_layer", "mean_x"
"""The layer of the largest similarity or correlation; the mean over all targets but the source."""
_DEPTHS = ("first", "last", "lower", "upper")
_HEADLINE = {"published": "cka_rbf", "corrected": DEBIASED}
"""The CKA of each protocol; the authors' code has another kernel than the paper."""
_SIMILARITY_KEYS = ("task", "condition", "source", "target", "protocol", "seed", "n")
_PAIR = ["source", "target", "protocol"]


def measure_layers(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield scores with and without re-initialised layers, in percent.

    Each cell has predictions and, in its facts, the ``target`` as the reported numbers name it. Its
    condition is ``ref``, which comes before all others; or ``random_init``, the score; or
    ``random_init_delta``, its difference to the reference of the same seed, in points, left out
    where that has no such seed. ``majority`` is the score of the most frequent tag, or relation and
    distance to the head, for all words: without a seed, and 0 for entities.
    """
    references: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in cells:
        score, metric = _METRICS[cell.task]
        target = cell.facts["target"]
        row = cell.columns | {"target": target, "metric": metric} | scores_of(cell)[score]
        place = (cell.task, cell.source, target, cell.protocol, cell.seed)
        if cell.condition == REFERENCE:
            if place[:-1] not in {other[:-1] for other in references}:
                yield {key: row[key] for key in row if key != "seed"} | _majority(cell)
            references[place] = row
        elif cell.condition == DIFFERENCE:
            if not (reference := references.get(place)):
                continue
            row |= difference(row, reference)
        yield row


def _majority(cell: Cell) -> dict[str, Any]:
    right = {"parsing": majority_arcs, "pos": majority_words}.get(cell.task)
    score: Score = {"value": 0.0, RESAMPLED: np.zeros(RESAMPLES, np.float32)}
    return {"condition": MAJORITY} | (mean_score(*right(rows_of(cell))) if right else score)


def measure_means(cells: Sequence[Cell], *, layers: Sequence[str]) -> list[dict[str, Any]]:
    """Return Table 1: scores in the source language, and means over all others (``mean_x``).

    Cells are the measurements by target (Tables 6 to 8). In addition to the sets of ``layers``, the
    lowest first, there are depths, so that claims fit encoders of any depth: the lowest and the
    highest set, and the means over the lower and the upper half of the sets, for tasks that have
    all sets of that half.
    """
    frame = pd.concat([read_measurements(cell.path, resamples=True) for cell in cells])
    keys = ["task", "model", "condition", "source", "layers", "metric", "protocol", "seed"]
    is_source = frame.source == frame.target
    means = mean_by(frame[~is_source], keys, n="sum").assign(target=_MEAN)
    table = pd.concat([frame[is_source][means.columns], means])
    half = len(layers) // 2
    sets = zip(_DEPTHS, (layers[:1], layers[-1:], layers[:half], layers[half:]), strict=True)
    by = [*(key for key in keys if key != "layers"), "target"]
    tables = [table]
    for depth, some in sets:
        changes = table[(table.condition == DIFFERENCE) & table.layers.isin(some)]
        changes = changes[changes.groupby(by).layers.transform("nunique") == len(some)]
        tables.append(mean_by(changes, by, n="max").assign(layers=depth))
    rows: list[Any] = pd.concat(tables, ignore_index=True).to_dict("records")
    return rows


def measure_mean_lines(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Return the lines of Tables 6 to 8 for the mean over all targets but the source.

    The cell is the measurement by target of one of these tables.
    """
    return [row for row in measure_means(cells, layers=()) if row["target"] == _MEAN]


def list_hyperparameters(cells: Sequence[Cell]) -> Iterator[dict[str, Any]]:
    """Yield Table 3: hyperparameters by task, the number of draws, and the best score.

    Each cell has the choice of the grid search, and in its facts the ``epochs`` of a run, unless
    the search varies them. Of what it varies, numbers are listed.
    """
    for cell in cells:
        choice = read_json(cell.path)
        values = {key.rpartition(".")[2]: value for key, value in choice["values"].items()}
        values["epochs_best"] = values.pop("epochs", cell.facts["epochs"])
        values |= {"n_draws": len(choice["draws"]), "dev_score": choice["score"]}
        for metric, value in values.items():
            if type(value) in (int, float):
                yield cell.columns | {"metric": metric, "value": value}


def gaps(frame: pd.DataFrame, task: str, source: str, protocol: str) -> dict[int, dict[str, float]]:
    """Return the cross-lingual gap by seed and target (section 4.3), in points.

    The gap is the score in the source language minus that in the target language, from the
    measurements by target (Table 6, 7 or 8). Divided by the source's score it has the same ranks.
    """
    place = {"task": task, "source": source, "protocol": protocol, "condition": REFERENCE}
    rows = frame[(frame[[*place]] == pd.Series(place)).all(axis=1)]
    scores = rows.astype({"seed": int}).set_index("target").groupby("seed")["value"]
    return {int(str(seed)): (some[source] - some.drop(source)).to_dict() for seed, some in scores}


def read_similarities(cells: Sequence[Cell]) -> pd.DataFrame:
    """Return a row per encoder, protocol, target, layer and measure, in percent.

    Cells have files of :func:`mbert_atlas.analysis.similarity.measure_similarity`; where they have
    no seed, it is NaN.
    """
    frames = []
    for cell in cells:
        frame = read_parquet(cell.path, SIMILARITIES).to_pandas()
        columns = {"seed": np.nan, **cell.columns}
        frames.append(frame[frame.protocol == cell.protocol].assign(**columns))
    table: pd.DataFrame = pd.concat(frames, ignore_index=True)
    table[["value", "low", "high"]] *= 100
    table[RESAMPLED] = [None if some is None else 100 * some for some in table[RESAMPLED]]
    return table


def measure_similarities(
    cells: Sequence[Cell], *, targets: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the measurements of Figures 1, 2 and 4 to 8: similarity by layer, 0 the embeddings.

    ``cka_percent`` is the protocol's CKA, with ``_low`` and ``_high`` the ends of its interval, and
    ``cka_shuffled_percent`` its control. The layers ``bottom``, ``top`` and ``maximum`` have the
    first, the last and the largest value, ``peak`` the one of the layer where the pretrained
    encoder (condition ``pretrained``) has the largest. ``cka_percent_maximum`` is the largest, too,
    as Figure 1's text reports it, and ``best_layer`` its layer, of equal ones the lowest. None of
    these is the embeddings': they lie below all re-initialised layers. Cells are those of
    :func:`read_similarities`.
    """
    frame = read_similarities(cells)
    frame = frame[frame.target.isin(targets)].sort_values("layer", kind="stable")
    is_headline = frame.measure == frame.protocol.map(_HEADLINE)
    metrics = (frame.measure + "_percent").mask(is_headline, CKA)
    frame = frame.assign(metric=metrics)
    above = frame[is_headline & (frame.layer > 0) & (frame.condition == PRETRAINED)]
    best = above.groupby(_PAIR).value.idxmax()
    peaks: dict[Any, int] = dict(zip(best.index, frame.layer.loc[best], strict=True))
    for row in frame.to_dict("records"):
        place = {key: row[key] for key in _SIMILARITY_KEYS} | {"layers": str(row["layer"])}
        yield place | {name: row[name] for name in ("metric", "value", RESAMPLED)}
        for end in ("low", "high") if row["metric"] == CKA else ():
            yield place | {"metric": f"{CKA}_{end}", "value": row[end]}
    judged = frame[frame.metric.isin([CKA, f"{SHUFFLED}_percent"])]
    keys = [*_SIMILARITY_KEYS, "metric"]
    for key, rows in judged.groupby(keys, sort=False, dropna=False):
        place = dict(zip(keys, key, strict=True))
        numbers = rows[["layer", "value", RESAMPLED]].to_dict("records")
        by_layer = {row["layer"]: row for row in numbers}
        bottom, *others = by_layer
        largest = max(others, key=lambda layer: by_layer[layer]["value"])
        depths = {"bottom": bottom, "top": others[-1], "maximum": largest}
        if (peak := peaks.get(tuple(place[name] for name in _PAIR))) is not None:
            depths["peak"] = peak
        for depth, layer in depths.items():
            number = {name: by_layer[layer][name] for name in ("value", RESAMPLED)}
            yield place | {"layers": depth, **number}
        if place["metric"] == CKA:
            most = {f"{CKA}_maximum": by_layer[largest]["value"], _BEST_LAYER: largest}
            yield from (place | {"metric": name, "value": value} for name, value in most.items())


def correlate_with_gap(cells: Sequence[Cell], *, by_layer: bool) -> Iterator[dict[str, Any]]:
    """Yield Table 4 (or by layer Figure 3): do more similar languages transfer better?

    The paper prints the correlation of similarity with what transfer keeps;
    ``spearman_signed``, with its p-value, is that of similarity and gap. Without ``by_layer`` the
    similarity is the mean over all layers; with it, ``best_layer`` has the largest printed
    correlation. Cells are those of :func:`read_similarities`, and have in the role ``transfer`` the
    measurements by target of the task (Table 6, 7 or 8).
    """
    similarities = read_similarities(cells)
    transfer = {cell.task: cell.paths["transfer"] for cell in cells}
    tables = {task: read_measurements(path) for task, path in transfer.items()}
    headline = similarities[similarities.measure == similarities.protocol.map(_HEADLINE)]
    keys = ["task", "condition", "protocol", "seed", "source"]
    for key, some in headline.groupby(keys, sort=False):
        place: dict[str, Any] = dict(zip(keys, key, strict=True))
        task, source, protocol = (place[name] for name in ("task", "source", "protocol"))
        gap = gaps(tables[task], task, source, protocol)[place["seed"]]
        by_target = some[some.target.isin(gap)].pivot_table("value", "target", "layer")
        columns = by_target.items() if by_layer else [("", by_target.mean(axis=1))]
        printed: dict[Any, float] = {}
        for layer, values in columns:
            rho = spearman(values.to_numpy(), [gap[target] for target in values.index])
            row = place | {"target": "all", "layers": str(layer), "n": rho.n}
            printed[layer] = -rho.rho
            metrics = {
                CORRELATION: -rho.rho,
                f"{CORRELATION}_low": -rho.high,
                f"{CORRELATION}_high": -rho.low,
                "spearman_signed": rho.rho,
                "spearman_p_value": rho.p_value,
            }
            yield from (row | {"metric": name, "value": value} for name, value in metrics.items())
        if by_layer:
            best = max(printed, key=printed.__getitem__)
            yield place | {"target": "all", "metric": _BEST_LAYER, "value": best}
