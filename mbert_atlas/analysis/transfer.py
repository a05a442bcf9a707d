"""Zero-shot transfer: scores by condition, language and seed, and what differs significantly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.analysis.measurements import write_measurements
from mbert_atlas.analysis.question_answering import scores_by_question
from mbert_atlas.analysis.scores import tag_scores
from mbert_atlas.analysis.significance import (
    Floats,
    compare_taggers,
    correct_examples,
    holm,
    paired_t_test,
)
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS, SPAN_PREDICTIONS, TAG_PREDICTIONS

_LEVEL = 0.05
_SEED = 0  # of permutations and resamples: the same for every cell
_GAIN = "gain_over_original"
HEADLINES = {"nli": "accuracy", "named_entities": "token_f1", "question_answering": "f1"}
"""The metric that the papers report, by kind of corpus."""


@dataclass(frozen=True)
class Cell:
    """One prediction file and the cell of the table that it belongs to.

    Attributes:
        task: test set as the reported numbers name it.
        corpus: kind of corpus: nli, named_entities or question_answering.
        dataset: entry of the predictions' ``dataset``.
        language: target language.
        condition: condition of the table.
        protocol: published or corrected.
        seed: the run's seed.
        path: Parquet file of predictions.
        questions: question_answering: ``same`` language as the contexts; ``target`` asks in the
            target language about English; ``english`` the other way round.
        normalisation: question_answering, corrected: how answers are compared.
    """

    task: str
    corpus: Literal["nli", "named_entities", "question_answering"]
    dataset: str
    language: str
    condition: str
    protocol: Literal["published", "corrected"]
    seed: int
    path: str
    questions: Literal["same", "target", "english"] = "same"
    normalisation: Literal["squad", "mlqa"] = "squad"


@dataclass(frozen=True)
class _Difference:
    """Of two conditions: the p-value, the ends of the 95% interval of the gain, and Cohen's d."""

    p_value: float
    low: float
    high: float
    n: int
    effect_size: float | None


def measure_transfer(
    cells: Sequence[Cell],
    output: Path | str,
    *,
    against: Mapping[str, str] | None = None,
    gains_over: str | None = None,
    **common: Any,
) -> pd.DataFrame:
    """Score predictions and test conditions against each other (efimov2022, section 5.1).

    Scores in percent by seed: accuracy; answer F1 and exact match; and of named entities the F1
    that the paper's text speaks of (tokens) under ``corrected`` and the one that the authors' code
    computes (entities) under ``published``, both beside it by their own names.

    Over seeds: a two-sided paired t-test on the examples' mean scores; for entities, whose F1 is no
    mean over sentences, a permutation test on the seeds' concatenated predictions. 1 where
    p < .05; under ``corrected`` where Holm's correction over all tests of the table leaves it so.
    Beside it the p-values, the ends of the 95% interval of the gain in points (entities:
    bootstrapped over sentences) and Cohen's d_z (not for entities).

    Args:
        cells: the prediction files.
        output: CSV file for the scorecard.
        against: which condition each tested condition is compared with.
        gains_over: give ``gain_over_original``, the difference to this condition by seed, beside
            the scores of every other condition.
        common: columns of all rows: paper, artifact, model, source.

    Raises:
        AtlasError: if conditions were evaluated on different examples.
    """
    for cached in (_scores, _cached_examples, _read):
        cached.cache_clear()  # files may have been written anew
    groups: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.task, cell.protocol, cell.language, cell.condition].append(cell)
    rows: list[dict[str, Any]] = []
    tests: list[tuple[dict[str, Any], str, _Difference]] = []
    for (task, protocol, language, condition), runs in groups.items():
        here = {"task": task, "protocol": protocol, "target": language, "condition": condition}
        baseline = groups.get((task, protocol, language, gains_over or ""), [])
        before = {run.seed: _scores(run)[0] for run in baseline}
        for run in runs:
            scores, n = _scores(run)
            values = dict(scores)
            if run.seed in before and condition != gains_over:
                headline = HEADLINES[run.corpus]
                values = {_GAIN: scores[headline] - before[run.seed][headline], **values}
            rows += (
                {**here, "metric": m, "value": v, "seed": run.seed, "n": n}
                for m, v in values.items()
            )
        if against and condition in against:
            name = against[condition]
            difference = _compare(groups[task, protocol, language, name], runs)
            tests.append((here | {"metric": HEADLINES[runs[0].corpus]}, name, difference))
    rows += _significances(tests)
    return write_measurements(rows, output, **common)


def _significances(
    tests: Sequence[tuple[dict[str, Any], str, _Difference]],
) -> Iterator[dict[str, Any]]:
    corrected = [n for n, (here, _, _) in enumerate(tests) if here["protocol"] == "corrected"]
    adjusted = dict(zip(corrected, holm([tests[n][2].p_value for n in corrected]), strict=True))
    for number, (here, name, test) in enumerate(tests):
        p_value = adjusted.get(number, test.p_value)
        values = {"significant_vs": int(p_value < _LEVEL), "p_value_vs": test.p_value}
        if number in adjusted:
            values["holm_p_value_vs"] = p_value
        for end in ("low", "high"):
            values[f"gain_{end}_vs"] = 100 * getattr(test, end)
        if test.effect_size is not None and math.isfinite(test.effect_size):
            values["effect_size_vs"] = test.effect_size
        for what, value in values.items():
            metric = f"{here['metric']}_{what}_{name}"
            yield {**here, "metric": metric, "value": value, "n": test.n}


@cache
def _scores(cell: Cell) -> tuple[dict[str, float], int]:
    """Return the scores of one run in percent, the headline first, and the number of items."""
    if cell.corpus == "named_entities":
        frame = tag_scores(_rows_of(cell), outside="O")
        of_language = frame[frame["language"] == cell.language].set_index("metric")
        entity, token = (float(of_language["value"][name]) for name in _TAG_METRICS)
        headline = entity if cell.protocol == "published" else token
        scores = {"token_f1": headline, "entity_f1": entity, "token_level_f1": token}
        return scores, int(of_language["n"].iloc[0])
    names = {"nli": ["accuracy"], "question_answering": ["f1", "exact_match"]}[cell.corpus]
    examples = {name: _examples(cell, name)[1] for name in names}
    return {name: 100 * float(right.mean()) for name, right in examples.items()}, len(
        examples[names[0]]
    )


_TAG_METRICS = ("span_micro_f1", "token_micro_f1")


def _examples(cell: Cell, metric: str) -> tuple[list[str], Floats]:
    """Return the examples of a run and their scores, 0 to 1."""
    # The same file stands for several cells; what tells them apart does not change its scores.
    return _cached_examples(replace(cell, task="", condition="", seed=0), metric)


@cache
def _cached_examples(cell: Cell, metric: str) -> tuple[list[str], Floats]:
    if cell.corpus == "nli":
        run = _read(cell.path, "nli")
        return correct_examples(run, dataset=cell.dataset, language=cell.language)
    contexts = "en" if cell.questions == "target" else cell.language
    return scores_by_question(
        _read(cell.path, "question_answering"),
        metric="exact_match" if metric == "exact_match" else "f1",
        normalisation=cell.normalisation if cell.protocol == "corrected" else "squad",
        dataset=cell.dataset,
        language=contexts,
        question_language={"same": contexts, "target": cell.language, "english": "en"}[
            cell.questions
        ],
    )


def _compare(baseline: Sequence[Cell], system: Sequence[Cell]) -> _Difference:
    first = system[0]
    if first.corpus == "named_entities":
        test = compare_taggers(
            [_read(cell.path, cell.corpus) for cell in baseline],
            [_read(cell.path, cell.corpus) for cell in system],
            unit="entity" if first.protocol == "published" else "token",
            seed=_SEED,
            dataset=first.dataset,
            language=first.language,
        )
        return _Difference(test.p_value, test.low, test.high, test.n, None)
    before, after = (_mean_examples(cells) for cells in (baseline, system))
    if before[0] != after[0]:
        raise AtlasError(
            f"predictions of dataset {first.dataset}, language {first.language}: "
            f"{baseline[0].condition} and {first.condition} were evaluated on different examples; "
            "predict the same test set with both."
        )
    paired = paired_t_test(before[1], after[1])
    return _Difference(paired.p_value, paired.low, paired.high, paired.n, paired.effect_size)


def _mean_examples(cells: Sequence[Cell]) -> tuple[list[str], Floats]:
    """Return the examples and their scores, averaged over the runs."""
    found = [_examples(cell, HEADLINES[cell.corpus]) for cell in cells]
    for cell, (keys, _) in zip(cells, found, strict=True):
        if keys != found[0][0]:
            raise AtlasError(
                f"{cell.path} and {cells[0].path} hold predictions of different examples of "
                f"{cell.dataset}, language {cell.language}; predict the same test set with each."
            )
    return found[0][0], np.mean([scores for _, scores in found], axis=0)


def _rows_of(cell: Cell) -> pa.Table:
    table = _read(cell.path, cell.corpus)
    kept = pc.and_(
        pc.equal(table["dataset"], cell.dataset), pc.equal(table["language"], cell.language)
    )
    return table.filter(kept)


@lru_cache(maxsize=8)  # tables are large; what is computed from them is kept
def _read(path: str, corpus: str) -> pa.Table:
    schema = {
        "nli": CLASS_PREDICTIONS,
        "named_entities": TAG_PREDICTIONS,
        "question_answering": SPAN_PREDICTIONS,
    }[corpus]
    return read_parquet(path, schema)
