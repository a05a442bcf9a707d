"""How the predictions of a task are scored, and two conditions compared."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas import schemas
from mbert_atlas.analysis import SCORINGS
from mbert_atlas.analysis.answers import score_answers
from mbert_atlas.analysis.resampling import RESAMPLED, resampled_mean
from mbert_atlas.analysis.scores import (
    Examples,
    TagItem,
    class_scores,
    f1_score,
    right_arcs,
    right_words,
    select,
    sentence_counts,
    tag_scores,
)
from mbert_atlas.analysis.significance import Comparison, compare_taggers, paired_t_test
from mbert_atlas.cells import Cell
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_parquet

Score = dict[str, Any]
"""``value`` in percent, ``n``, and ``resampled``, see :mod:`.resampling`."""
_SEED = 0  # of permutations: the same for every cell


@dataclass(frozen=True)
class Scoring:
    """Metrics that are means over examples, compared by a paired t-test."""

    schema: pa.Schema  # of the predictions
    metrics: tuple[str, ...]  # conditions are compared by the first
    examples: Callable[[Cell, str], Examples]  # of which a metric is the mean

    def scores(self, cell: Cell) -> dict[str, Score]:
        """Return the scores of a run by metric; ``n`` counts examples."""
        return {metric: mean_score(*_scored(cell, metric)) for metric in self.metrics}

    def compare(self, baseline: Sequence[Cell], system: Sequence[Cell]) -> Comparison:
        """Test ``system - baseline``, mean scores over runs.

        Raises :class:`AtlasError` if runs were evaluated on different examples.
        """
        examples, _ = _scored(baseline[0], self.metrics[0])
        means = []
        for cells in (baseline, system):
            runs = [_scored(cell, self.metrics[0]) for cell in cells]
            for cell, (keys, _) in zip(cells, runs, strict=True):
                if keys != examples:
                    raise AtlasError(
                        f"{cell.path} and {baseline[0].path} hold predictions of different "
                        f"examples of {cell.dataset}, language {cell.language}; predict the same "
                        "test set with each."
                    )
            means.append(np.mean([scores for _, scores in runs], axis=0))
        return paired_t_test(*means)


def _right_texts(cell: Cell, metric: str) -> Examples:
    table = rows_of(cell)
    right = pc.equal(table["gold"], table["prediction"]).to_numpy()
    return table["example_id"].to_pylist(), right.astype(np.float64)


def _right_words(cell: Cell, metric: str) -> Examples:
    return right_words(rows_of(cell))


def _right_arcs(cell: Cell, metric: str) -> Examples:
    return right_arcs(rows_of(cell), labelled=metric == "las")


def _answers(cell: Cell, metric: str) -> Examples:
    contexts = "en" if cell.questions == "target" else cell.language
    questions = {"same": contexts, "target": cell.language, "english": "en"}
    table = select(
        _read(cell.path, cell.kind),
        dataset=cell.dataset,
        language=contexts,
        question_language=questions[cell.questions],
    )
    normalisation = cell.normalisation if cell.protocol == "corrected" else "squad"
    scores = score_answers(table, normalisation=normalisation)[metric]
    return table["example_id"].to_pylist(), scores


class EntityScoring(Scoring):
    """F1 of named entities, which is no mean over sentences.

    ``token_f1`` counts tokens under ``corrected``, as in the text of Efimov et al. (2022), and
    entities under ``published``, as in the authors' code; the other two metrics are both of these.
    """

    def scores(self, cell: Cell) -> dict[str, Score]:
        """Return the scores of a run by metric; ``n`` counts words."""
        entity, token = span_score(cell), span_score(cell, "token")
        values = (entity if cell.protocol == "published" else token, entity, token)
        return dict(zip(self.metrics, values, strict=True))

    def compare(self, baseline: Sequence[Cell], system: Sequence[Cell]) -> Comparison:
        """Return a permutation test, see :func:`compare_taggers`."""
        unit: TagItem = "entity" if system[0].protocol == "published" else "token"
        runs = [[rows_of(cell) for cell in cells] for cells in (baseline, system)]
        return compare_taggers(*runs, unit=unit, seed=_SEED)


TEXTS = Scoring(schemas.CLASS_PREDICTIONS, ("accuracy",), _right_texts)
WORDS = Scoring(schemas.TAG_PREDICTIONS, ("accuracy",), _right_words)
ARCS = Scoring(schemas.TREE_PREDICTIONS, ("las", "uas"), _right_arcs)
ANSWERS = Scoring(schemas.SPAN_PREDICTIONS, ("f1", "exact_match"), _answers)
ENTITIES = EntityScoring(
    schemas.TAG_PREDICTIONS, ("token_f1", "entity_f1", "token_level_f1"), _right_words
)


def scoring_of(task: str) -> Scoring:
    """Return the scoring of a task."""
    scoring: Scoring = SCORINGS.load(task)
    return scoring


def scores_of(cell: Cell) -> dict[str, Score]:
    """Return the scores of a run by metric, the headline metric first.

    Resamples are of texts, questions, or sentences where words or spans are scored.
    """
    return _scores_of(_unnamed(cell))


def mean_score(ids: Sequence[str], values: npt.NDArray[np.float64]) -> Score:
    """Return the mean of examples' scores, 0 to 1; ids of words begin with that of the sentence."""
    items = [key.partition("\t")[0] for key in ids]
    score = {"value": 100 * float(values.mean()), "n": len(values)}
    return score | {RESAMPLED: 100 * resampled_mean(values, items)}


def span_score(cell: Cell, unit: TagItem = "entity") -> Score:
    """Return the micro F1 of tags, see :func:`sentence_counts`; ``n`` counts words."""
    rows = rows_of(cell)
    counts, ids = sentence_counts(rows, unit=unit), rows["example_id"].to_pylist()
    return f1_score(counts, ids) | {"n": len(right_words(rows)[1])}


def label_accuracies(cell: Cell) -> dict[str, Score]:
    """Return the ``accuracy`` of a run's labels of texts or words, and the ``majority_accuracy``.

    The latter is that of always predicting the most frequent gold label of the cell's test set,
    which a model that learned exceeds.
    """
    return _label_accuracies(_unnamed(cell))


@cache
def _label_accuracies(cell: Cell) -> dict[str, Score]:
    rows = rows_of(cell)
    scores = tag_scores if rows.schema == schemas.TAG_PREDICTIONS else class_scores
    frame = scores(rows, resample=True).set_index("metric")
    frame = frame[frame["language"] == cell.language].rename(lambda name: name.split("token_")[-1])
    columns = ["value", "n", RESAMPLED]
    return {
        name: dict(zip(columns, frame.loc[name, columns], strict=True))
        for name in ("accuracy", "majority_accuracy")
    }


def rows_of(cell: Cell) -> pa.Table:
    """Return the predictions of a cell's dataset and language, see :func:`.scores.select`."""
    table = _read(cell.path, cell.kind)
    return select(table, dataset=cell.dataset, language=cell.language)


@lru_cache(maxsize=8)  # tables are large; what is computed from them is kept
def _read(path: str, task: str) -> pa.Table:
    return read_parquet(path, scoring_of(task).schema)


def _unnamed(cell: Cell) -> Cell:
    """Return a cell without what distinguishes cells of one file but does not change its scores."""
    return replace(cell, task="", source="", condition="", seed=0)


def _scored(cell: Cell, metric: str) -> Examples:
    return _examples(_unnamed(cell), metric)


@lru_cache(maxsize=64)  # ids of all words are large; these are the seeds that are compared
def _examples(cell: Cell, metric: str) -> Examples:
    return scoring_of(cell.kind).examples(cell, metric)


@cache
def _scores_of(cell: Cell) -> dict[str, Score]:
    return scoring_of(cell.kind).scores(cell)
