"""Zero-shot transfer: scores by condition, language and seed, and what differs significantly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.analysis.answers import scores_by_question
from mbert_atlas.analysis.scores import right_words, tag_scores
from mbert_atlas.analysis.significance import (
    Comparison,
    Floats,
    compare_taggers,
    correct_examples,
    holm,
    paired_t_test,
)
from mbert_atlas.analysis.trees import right_arcs
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import (
    CLASS_PREDICTIONS,
    SPAN_PREDICTIONS,
    TAG_PREDICTIONS,
    TREE_PREDICTIONS,
)

_LEVEL = 0.05
_SEED = 0  # of permutations and resamples: the same for every cell
GAIN = "gain_over_original"
Examples = tuple[list[str], Floats]


def _right_texts(cell: Cell, metric: str) -> Examples:
    return correct_examples(_read(cell), dataset=cell.dataset, language=cell.language)


def _right_words(cell: Cell, metric: str) -> Examples:
    return right_words(_rows_of(cell))


def _right_arcs(cell: Cell, metric: str) -> Examples:
    return right_arcs(_rows_of(cell), labelled=metric == "las")


def _answers(cell: Cell, metric: str) -> Examples:
    contexts = "en" if cell.questions == "target" else cell.language
    return scores_by_question(
        _read(cell),
        metric="exact_match" if metric == "exact_match" else "f1",
        normalisation=cell.normalisation if cell.protocol == "corrected" else "squad",
        dataset=cell.dataset,
        language=contexts,
        question_language={"same": contexts, "target": cell.language, "english": "en"}[
            cell.questions
        ],
    )


@dataclass(frozen=True)
class Kind:
    """How the predictions of one kind of task are scored.

    Attributes:
        schema: columns of the predictions.
        metrics: what is measured; the first is the headline, by which conditions are compared.
        examples: ids and scores (0 to 1) of the examples of a cell, whose mean is a metric; none
            for F1 of named entities, which is no mean over sentences.
    """

    schema: pa.Schema
    metrics: tuple[str, ...]
    examples: Callable[[Cell, str], Examples] | None = None

    @property
    def headline(self) -> str:
        """The metric that papers report."""
        return self.metrics[0]


KINDS = {
    "nli": Kind(CLASS_PREDICTIONS, ("accuracy",), _right_texts),
    "tagging": Kind(TAG_PREDICTIONS, ("accuracy",), _right_words),
    "ner": Kind(TAG_PREDICTIONS, ("token_f1", "entity_f1", "token_level_f1")),
    "qa": Kind(SPAN_PREDICTIONS, ("f1", "exact_match"), _answers),
    "parsing": Kind(TREE_PREDICTIONS, ("las", "uas"), _right_arcs),
}
"""By the task of an encoding; a new task is one more line."""


def measure_transfer(
    cells: Sequence[Cell],
    against: Mapping[str, str] | None = None,
    gains_over: str | None = None,
) -> list[dict[str, Any]]:
    """Score predictions and test conditions against each other (Efimov et al. 2022, section 5.1).

    Scores in percent by source language and seed: accuracy; answer F1 and exact match; LAS and UAS
    of trees; and of named entities the F1 that the paper's text speaks of (tokens) under
    ``corrected`` and the one that the authors' code computes (entities) under ``published``, both
    beside it by their own names.

    Over the seeds that both have: a two-sided paired t-test on the examples' mean scores; for
    entities, whose F1 is no mean over sentences, a permutation test on the seeds' concatenated
    predictions. 1 where p < .05; under ``corrected`` where Holm's correction over all tests of the
    table leaves it so. Beside it the p-values, the ends of the 95% interval of the gain in points
    (entities: bootstrapped over sentences) and Cohen's d_z (not for entities).

    Args:
        cells: the prediction files.
        against: which condition each tested condition is compared with.
        gains_over: give ``gain_over_original``, the difference to this condition by seed, beside
            the scores of every other condition.

    Raises:
        AtlasError: if conditions were evaluated on different examples.
    """
    for cached in (scores_of, _cached_examples, _read_file):
        cached.cache_clear()  # files may have been written anew
    groups: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.task, cell.protocol, cell.source, cell.language, cell.condition].append(cell)
    rows: list[dict[str, Any]] = []
    tests: list[tuple[dict[str, Any], str, Comparison]] = []
    for (*place, condition), runs in groups.items():
        columns = dict(zip(("task", "protocol", "source", "target"), place, strict=True))
        here = {**columns, "condition": condition}
        baseline = groups.get((*place, gains_over or ""), [])
        rows += _scores_by_seed(here, runs, [] if condition == gains_over else baseline)
        if against and condition in against:
            name = against[condition]
            difference = _compare(groups[*place, name], runs)
            tests.append((here | {"metric": KINDS[runs[0].kind].headline}, name, difference))
    return [*rows, *_significances(tests)]


def _scores_by_seed(
    here: Mapping[str, Any], runs: Sequence[Cell], baseline: Sequence[Cell]
) -> Iterator[dict[str, Any]]:
    before = {run.seed: scores_of(run)[0] for run in baseline}
    for run in runs:
        scores, n = scores_of(run)
        values = dict(scores)
        if run.seed in before:
            headline = KINDS[run.kind].headline
            values = {GAIN: scores[headline] - before[run.seed][headline], **values}
        for metric, value in values.items():
            yield {**here, "metric": metric, "value": value, "seed": run.seed, "n": n}


def _significances(
    tests: Sequence[tuple[dict[str, Any], str, Comparison]],
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
def scores_of(cell: Cell) -> tuple[dict[str, float], int]:
    """Return the scores of one run in percent, the headline first, and the number of items."""
    kind = KINDS[cell.kind]
    if kind.examples is None:
        frame = tag_scores(_rows_of(cell), outside="O")
        of_language = frame[frame["language"] == cell.language].set_index("metric")
        entity, token = (
            float(of_language["value"][name]) for name in ("span_micro_f1", "token_micro_f1")
        )
        headline = entity if cell.protocol == "published" else token
        values = (headline, entity, token)
        return dict(zip(kind.metrics, values, strict=True)), int(of_language["n"].iloc[0])
    examples = {name: _examples(cell, name)[1] for name in kind.metrics}
    scores = {name: 100 * float(right.mean()) for name, right in examples.items()}
    return scores, len(examples[kind.headline])


def tag_f1(cell: Cell) -> tuple[float, int]:
    """Return seqeval's micro F1 of bare tags in percent, and of how many words.

    It takes equal tags next to each other for one span.
    """
    frame = tag_scores(_rows_of(cell), outside=None)
    (row,) = frame[
        (frame["language"] == cell.language) & (frame["metric"] == "span_micro_f1")
    ].index
    return float(frame["value"][row]), int(frame["n"][row])


def _examples(cell: Cell, metric: str) -> Examples:
    """Return the examples of a run and their scores, 0 to 1."""
    # The same file stands for several cells; what tells them apart does not change its scores.
    return _cached_examples(replace(cell, task="", source="", condition="", seed=0), metric)


@cache
def _cached_examples(cell: Cell, metric: str) -> Examples:
    examples = KINDS[cell.kind].examples
    assert examples is not None
    return examples(cell, metric)


def _compare(baseline: Sequence[Cell], system: Sequence[Cell]) -> Comparison:
    """Test a condition against another, by the seeds that both have, if there are any."""
    if common := {cell.seed for cell in baseline} & {cell.seed for cell in system}:
        baseline, system = (
            [cell for cell in cells if cell.seed in common] for cells in (baseline, system)
        )
    first = system[0]
    if KINDS[first.kind].examples is None:
        return compare_taggers(
            list(map(_read, baseline)),
            list(map(_read, system)),
            unit="entity" if first.protocol == "published" else "token",
            seed=_SEED,
            dataset=first.dataset,
            language=first.language,
        )
    before, after = (_mean_examples(cells) for cells in (baseline, system))
    if before[0] != after[0]:
        raise AtlasError(
            f"predictions of dataset {first.dataset}, language {first.language}: "
            f"{baseline[0].condition} and {first.condition} were evaluated on different examples; "
            "predict the same test set with both."
        )
    return paired_t_test(before[1], after[1])


def _mean_examples(cells: Sequence[Cell]) -> Examples:
    """Return the examples and their scores, averaged over the runs."""
    found = [_examples(cell, KINDS[cell.kind].headline) for cell in cells]
    for cell, (keys, _) in zip(cells, found, strict=True):
        if keys != found[0][0]:
            raise AtlasError(
                f"{cell.path} and {cells[0].path} hold predictions of different examples of "
                f"{cell.dataset}, language {cell.language}; predict the same test set with each."
            )
    return found[0][0], np.mean([scores for _, scores in found], axis=0)


def _rows_of(cell: Cell) -> pa.Table:
    table = _read(cell)
    kept = pc.and_(
        pc.equal(table["dataset"], cell.dataset), pc.equal(table["language"], cell.language)
    )
    return table.filter(kept)


def _read(cell: Cell) -> pa.Table:
    return _read_file(cell.path, cell.kind)


@lru_cache(maxsize=8)  # tables are large; what is computed from them is kept
def _read_file(path: str, kind: str) -> pa.Table:
    return read_parquet(path, KINDS[kind].schema)
