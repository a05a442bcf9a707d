"""Probes by window and layer, F1 without the first directions, and transfer with L-DAR.

Cells of Figures 1 to 3 and 5 are files of ``schemas.LANGUAGE_PROBES``.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from mbert_atlas.analysis.measurements import mean_by
from mbert_atlas.analysis.resampling import difference, mean_of
from mbert_atlas.analysis.scoring import Score, label_accuracies, scores_of, span_score
from mbert_atlas.cells import Cell
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.files import read_parquet

HEADLINES = {
    "published": {"accuracy", "micro_f1", "v_measure"},
    "corrected": {"accuracy", "micro_f1", "ami"},
}
"""Metrics named ``score``, by protocol: of identification, typology and clusters."""
SIZES = {"quarter": 1 / 4, "half": 1 / 2, "languages": 1, "double": 2}
"""Names of windows by their dimensions per language, far enough from each other in all presets."""
CENSORED = "dimensionality_censored"
BONUS = 10.0
"""Points that ``LS_figure2.py`` adds to the gain of DensRay in V-measure."""
_OTHER_FIGURES = ("window", "layer", "baseline")
"""Kinds of windows that Figure 1 does not show."""
_CLUSTERS = {"v_measure", "ami", "chance_v_measure"}
"""Metrics of clusters of languages: no shares of these, which are no sample either."""
_RESULT = ["protocol", "seed", "n", "metric", "value"]
Row = dict[str, Any]


def measure_windows(
    cells: Sequence[Cell], layer: int, languages: Mapping[str, int]
) -> Iterator[Row]:
    """Yield the probes of one layer by window: the first, the next, or random dimensions.

    The windows whose x is nearest to a multiple of the number of an encoder's ``languages`` also
    come as ``<method>_<kind>-<name>``, with a name of ``SIZES``, so that claims apply to any number
    of them. No window has two of these names: the nearer one counts.
    """
    for columns, frame in _probes(cells):
        frame = frame[(frame["layer"] == layer) & ~frame["kind"].isin(_OTHER_FIGURES)]
        sizes = set(frame[frame["kind"] == "first"]["stop"])
        aims = {name: times * languages[columns["model"]] for name, times in SIZES.items()}
        nearest = {name: _nearest(sizes, aim) or 0 for name, aim in aims.items()}
        by_distance = sorted(SIZES, key=lambda name: abs(nearest[name] - aims[name]), reverse=True)
        places = {nearest[name]: name for name in by_distance}
        for row in _rows(frame):
            yield _row(columns, row, _window(row), layer)
            size = row["start"] if row["kind"] == "next" else row["stop"]
            if place := places.get(size):
                yield _row(columns, row, f"{row['method']}_{row['kind']}-{place}", layer)


def measure_gains(cells: Sequence[Cell], layer: int) -> Iterator[Row]:
    """Yield the gain of narrow windows over as many random dimensions, in points.

    Under ``published`` that of DensRay in V-measure has the authors' bonus. ``dimensionality`` is
    the first dimension of the first window without a gain of the score. Its n is the step from one
    window to the next: so many dimensions are one value. If a curve has a gain in every window,
    there is no such row of any seed, but ``dimensionality_censored``, which is at least so large.
    """
    place = ["protocol", "seed", "method", "metric"]
    dimensions: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for columns, frame in _probes(cells):
        frame = frame[frame["layer"] == layer]
        baseline = frame[frame["kind"] == "baseline"].set_index(place)["value"].rename("random")
        gains = frame[frame["kind"] == "window"].join(baseline, place)
        with_bonus = {"protocol": "published", "metric": "v_measure", "method": "densray"}
        has_bonus = (gains[[*with_bonus]] == pd.Series(with_bonus)).all(axis=1)
        gains["value"] += BONUS * has_bonus - gains["random"]
        for row in _rows(gains):
            gain = _row(columns, row, _window(row), layer)
            yield gain | {"metric": f"{gain['metric']}_gain"}
        for _, windows in gains.sort_values("start").groupby(place):
            row = _row(columns, _rows(windows)[0], windows["method"].iloc[0], layer)
            if row["metric"] == "score":
                cell = tuple(row.get(name) for name in ("task", "model", "target", "condition"))
                dimensions[row["protocol"], *cell].append(row | _dimensionality(windows))
    for rows in dimensions.values():
        is_censored = any(row["metric"] == CENSORED for row in rows)
        yield from (row | ({"metric": CENSORED} if is_censored else {}) for row in rows)


def _dimensionality(windows: pd.DataFrame) -> Row:
    """Return metric, value and step of a curve of gains, sorted by ``start``."""
    starts = windows["start"].tolist()
    step = int(np.diff(starts).min(initial=windows["stop"].iloc[0] - starts[0]))
    for start, gain in zip(starts, windows["value"], strict=True):
        if gain <= 0:
            return {"metric": "dimensionality", "value": start, "n": step}
    return {"metric": CENSORED, "value": int(windows["stop"].max()), "n": step}


def measure_layers(cells: Sequence[Cell]) -> Iterator[Row]:
    """Yield the probes of the first dimensions of every layer.

    The layers ``lower`` and ``upper`` are means over each half of the Transformer layers, ``last``
    is the last one and ``penultimate`` the one below it, so that claims apply to encoders of any
    depth.
    """
    keys = ["method", "half", *_RESULT[:-1]]
    for columns, frame in _probes(cells):
        frame = frame[frame["kind"] == "layer"]
        last = frame["layer"].max()
        names = {last: ["last"], last - 1: ["penultimate"]}
        for row in _rows(frame):
            for name in [row["layer"], *names.get(row["layer"], [])]:
                yield _row(columns, row, row["method"], name)
        halves = frame[frame["layer"] > 0]
        is_upper = halves["layer"] > last / 2
        halves = halves.assign(half=is_upper.map({False: "lower", True: "upper"}))
        for row in _rows(halves.groupby(keys)["value"].mean().reset_index()):
            yield _row(columns, row, row["method"], row["half"])


def _probes(cells: Sequence[Cell]) -> Iterator[tuple[Row, pd.DataFrame]]:
    for cell in cells:
        yield cell.columns, read_parquet(cell.path).to_pandas()


def _rows(frame: pd.DataFrame) -> list[Row]:
    rows: list[Any] = frame.to_dict("records")
    return rows


def _nearest(numbers: Collection[int], wanted: float) -> int | None:
    return min(sorted(numbers), key=lambda number: abs(number - wanted), default=None)


def _window(row: Row) -> str:
    if row["kind"] == "majority":
        return f"{row['method']}_majority"
    if row["kind"] == "random":
        return f"{row['method']}_random-{row['stop']}"
    return f"{row['method']}_{row['start']}-{row['stop']}"


def _row(columns: Row, row: Row, condition: str, layers: int | str) -> Row:
    result = {"condition": condition, "layers": str(layers)} | {name: row[name] for name in _RESULT}
    result |= {"n": None} if row["metric"] in _CLUSTERS else {}
    is_headline = row["metric"] in HEADLINES[row["protocol"]]
    return columns | result | ({"metric": "score"} if is_headline else {})


def measure_removal(cells: Sequence[Cell], rank: int) -> Iterator[Row]:
    """Yield the drop in F1 without the first directions, ``rank`` of which identify languages.

    F1 is of bare tags under both protocols, fine-tuned as frozen. Cells of condition ``frozen`` are
    files of ``schemas.SUBSPACE_SCORES``, of both protocols where they name none; those of condition
    ``tuned`` are predictions, with ``method`` and ``first`` among the facts.
    """
    finetuned: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for cell in cells:
        if cell.condition == "frozen":
            scores = read_parquet(cell.path).to_pandas()
            yield from f1_drops(scores, "frozen", rank, **cell.columns)
        else:
            score = f1_of(replace(cell, protocol="published"))
            place = {"language": cell.language, "seed": cell.seed}
            finetuned[cell.task, cell.protocol].append({**cell.facts, **place, **score})
    for (task, protocol), rows in sorted(finetuned.items()):
        columns = {"task": task, "model": "mbert", "source": "en", "protocol": protocol}
        yield from f1_drops(pd.DataFrame(rows), "tuned", rank, **columns)


def f1_drops(scores: pd.DataFrame, training: str, rank: int, **columns: Any) -> Iterator[Row]:
    """Yield the mean F1 of the whole space less that without its first directions, in points.

    Scores have ``method``, ``first``, ``language``, ``value`` (percent), ``n``, ``seed`` and maybe
    ``resampled``; the whole space is ``first`` 0 of any method, and seeds that it lacks are left
    out. The condition is ``<training>_<method>_<first>``; the ``first`` nearest to the rank also
    comes as ``<training>_<method>_rank``, the one halfway between the rank and the last as
    ``<training>_<method>_middle``, the last as ``<training>_<method>_last``. n of a mean is that of
    the items of all languages, which are fixed and no items themselves.
    """
    means = mean_by(scores, ["method", "first", "seed"], n="sum")
    means = means.sort_values(["method", "first", "seed"])
    whole = {row["seed"]: row for row in reversed(_rows(means[means["first"] == 0]))}
    protocols = [columns["protocol"]] if "protocol" in columns else PROTOCOLS
    firsts = set(scores["first"]) - {0}
    last = max(firsts, default=0)
    aims = {"rank": rank, "middle": (rank + last) / 2, "last": last}
    places = {name: _nearest(firsts, aim) for name, aim in aims.items()}
    for row in _rows(means[(means["first"] > 0) & means["seed"].isin(whole)]):
        drop = {"target": "mean", "metric": "f1_lost", "seed": row["seed"], "n": row["n"]}
        drop |= difference(whole[row["seed"]], row)
        names = [row["first"], *(name for name, first in places.items() if first == row["first"])]
        for protocol, name in product(protocols, names):
            condition = f"{training}_{row['method']}_{name}"
            yield columns | drop | {"condition": condition, "protocol": protocol}


def measure_preservation(cells: Sequence[Cell], means: bool) -> Iterator[Row]:
    """Yield F1 by target language and ``avg``, or its means (appendix B.3).

    These are over training languages (``train``), the others (``zero_shot``) and all. The first and
    the last set of layers also come as ``bottom`` and ``top``, so that claims apply to encoders of
    any depth. Means of the baseline also come of ``accuracy``, over words, and of
    ``majority_accuracy``, that of the most frequent tag.
    """
    scores: dict[tuple[Any, ...], dict[str, Score]] = {}
    sets = list(dict.fromkeys(cell.layers for cell in cells if cell.layers))
    ends = {"bottom": sets[0], "top": sets[-1]} if sets and means else {}
    for cell in cells:
        of_cell = {"f1": f1_of(cell)}
        if means and cell.condition == "baseline":
            of_cell |= label_accuracies(cell)
        for layers in [cell.layers, *(end for end, some in ends.items() if some == cell.layers)]:
            place = (cell.task, cell.source, cell.condition, layers, cell.protocol, cell.seed)
            for metric, score in of_cell.items():
                scores.setdefault((*place, metric), {})[cell.language] = score
    names = ("task", "source", "condition", "layers", "protocol", "seed", "metric")
    for place, by_language in scores.items():
        columns: Row = dict(zip(names, place, strict=True))
        if means:
            trained, codes = columns["source"].split("+"), list(by_language)
            groups = {"train": [code for code in codes if code in trained]}
            groups |= {"zero_shot": [code for code in codes if code not in trained], "all": codes}
        else:
            groups = {"avg": list(by_language)}
            for code, score in by_language.items():
                yield columns | {"target": code} | score
        for target, codes in groups.items():
            if codes:
                mean = mean_of([by_language[code] for code in codes])
                n = sum(by_language[code]["n"] for code in codes)
                yield columns | {"target": target, "n": n} | mean


def f1_of(cell: Cell) -> Score:
    """Return the F1 of a run in a language.

    POS is scored as XTREME's script does under ``published``: seqeval on bare tags, where adjacent
    equal tags are one span. Under ``corrected`` it is accuracy over words.
    """
    if cell.kind == "tagging" and cell.protocol == "published":
        return span_score(cell)
    return scores_of(cell)["accuracy" if cell.kind == "tagging" else "entity_f1"]
