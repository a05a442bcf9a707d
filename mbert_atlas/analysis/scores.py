"""Scores from predictions: accuracy, F1 over items, and seqeval's F1 over spans.

Every score of items (texts or words) comes from one confusion matrix. Values are percentages.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from seqeval.metrics import f1_score

from mbert_atlas.errors import AtlasError

Labels = Sequence[str] | npt.NDArray[Any]
SCORE_COLUMNS = ("dataset", "language", "metric", "value", "n")
ALL_LANGUAGES = "all"


@dataclass(frozen=True)
class Confusion:
    """How often each gold label met each predicted one.

    Attributes:
        labels: every label that is gold or predicted, sorted.
        counts: int64, shape ``(labels, labels)``; rows are gold, columns predicted.
    """

    labels: tuple[str, ...]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, gold: Labels, prediction: Labels) -> Confusion:
        """Count two label sequences of equal length."""
        codes, labels = pd.factorize(
            np.concatenate([np.asarray(gold, object), np.asarray(prediction, object)]), sort=True
        )
        return cls._of_codes(codes[: len(gold)], codes[len(gold) :], [str(x) for x in labels])

    @classmethod
    def _of_codes(
        cls, gold: npt.NDArray[Any], prediction: npt.NDArray[Any], labels: Sequence[str]
    ) -> Confusion:
        size = len(labels)
        flat = gold.astype(np.int64) * size + prediction
        counts = np.bincount(flat, minlength=size * size).reshape(size, size)
        seen = np.flatnonzero(counts.sum(0) + counts.sum(1))
        return cls(tuple(labels[int(i)] for i in seen), counts[np.ix_(seen, seen)])

    def accuracy(self) -> float:
        """Return the share of items that are right, 0 to 1."""
        return float(np.trace(self.counts) / self.counts.sum())

    def macro_f1(self, classes: Literal["present", "union"]) -> float:
        """Return the mean F1 over classes, 0 to 1.

        Args:
            classes: ``present`` takes the classes of the gold labels; ``union``, as scikit-learn
                does by default, also those that are only predicted, each of which counts 0.
        """
        right = np.diag(self.counts)
        f1 = 2 * right / (self.counts.sum(0) + self.counts.sum(1))
        return float(f1.mean() if classes == "union" else f1[self.counts.sum(1) > 0].mean())

    def micro_f1(self, outside: str | None = None) -> float:
        """Return the F1 over all items, 0 to 1; without ``outside`` it equals the accuracy.

        Args:
            outside: a label that is no class (``O`` of entities); right answers of it don't count.
        """
        kept = np.array([label != outside for label in self.labels])
        gold, predicted = self.counts.sum(1)[kept].sum(), self.counts.sum(0)[kept].sum()
        return float(2 * np.diag(self.counts)[kept].sum() / max(1, gold + predicted))


def span_f1(
    gold: Sequence[Sequence[str]],
    prediction: Sequence[Sequence[str]],
    average: Literal["macro", "micro"],
) -> float:
    """Return seqeval 1.2.2's F1 over exactly matching spans, 0 to 1.

    tanti2021's code calls this on tags without a B-/I- prefix. seqeval then takes the first letter
    for the prefix and the rest for the type, and a maximal run of equal types for one span, so the
    value is not a token score; it is here to compare with what the paper reports.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*seems not to be NE tag")
        return float(
            f1_score(
                [list(tags) for tags in gold],
                [list(tags) for tags in prediction],
                average=average,
                zero_division=0,
            )
        )


def class_scores(predictions: pa.Table) -> pd.DataFrame:
    """Score predictions of one label per example.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.CLASS_PREDICTIONS`.

    Returns:
        Columns :data:`SCORE_COLUMNS`: ``accuracy``, ``macro_f1_present``, ``macro_f1_union`` and
        ``micro_f1`` in percent for each dataset and language, and for all languages of a dataset
        pooled (language ``all``); ``n`` counts examples.

    Raises:
        AtlasError: if there are no predictions.
    """
    codes, labels = _codes(predictions["gold"], predictions["prediction"])
    rows: list[tuple[str, str, str, float, int]] = []
    for dataset, language, group in _groups(predictions):
        confusion = Confusion._of_codes(codes[0][group], codes[1][group], labels)
        values = {"accuracy": confusion.accuracy(), **_item_f1(confusion, None)}
        rows += [(dataset, language, name, 100 * v, len(group)) for name, v in values.items()]
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS))


def tag_scores(
    predictions: pa.Table, *, outside: str | None = None, spans: bool = True
) -> pd.DataFrame:
    """Score predictions of one tag per word.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TAG_PREDICTIONS`.
        outside: label that is no class, left out of ``token_micro_f1``; none for parts of speech.
        spans: also give ``span_macro_f1`` and ``span_micro_f1``, see :func:`span_f1`.

    Returns:
        As :func:`class_scores`, with ``token_accuracy``, ``token_macro_f1_present``,
        ``token_macro_f1_union`` and ``token_micro_f1``; ``n`` counts words.

    Raises:
        AtlasError: if there are no predictions, or a sentence has more or fewer predictions
            than gold tags.
    """
    lengths = pc.list_value_length(predictions["gold"]).to_numpy()
    other = pc.list_value_length(predictions["prediction"]).to_numpy()
    if not np.array_equal(lengths, other):
        example = predictions["example_id"][int(np.argmax(lengths != other))]
        raise AtlasError(
            f"predictions of sentence {example}: gold and prediction differ in length; "
            "predict with the words that were encoded."
        )
    codes, labels = _codes(
        pc.list_flatten(predictions["gold"]), pc.list_flatten(predictions["prediction"])
    )
    ends = np.cumsum(lengths)
    rows: list[tuple[str, str, str, float, int]] = []
    for dataset, language, group in _groups(predictions):
        mask = np.zeros(len(lengths), dtype=bool)
        mask[group] = True
        words = np.repeat(mask, lengths)
        confusion = Confusion._of_codes(codes[0][words], codes[1][words], labels)
        values = {"accuracy": confusion.accuracy(), **_item_f1(confusion, outside)}
        values = {f"token_{name}": value for name, value in values.items()}
        if spans:
            lists = _strings(codes, labels, group, ends, lengths)
            values["span_macro_f1"] = span_f1(*lists, "macro")
            values["span_micro_f1"] = span_f1(*lists, "micro")
        n = int(lengths[group].sum())
        rows += [(dataset, language, name, 100 * v, n) for name, v in values.items()]
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS))


def _item_f1(confusion: Confusion, outside: str | None) -> dict[str, float]:
    return {
        "macro_f1_present": confusion.macro_f1("present"),
        "macro_f1_union": confusion.macro_f1("union"),
        "micro_f1": confusion.micro_f1(outside),
    }


def _codes(
    gold: pa.ChunkedArray, prediction: pa.ChunkedArray
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], list[str]]:
    """Number the labels of both columns alike."""
    both = pa.chunked_array([*gold.chunks, *prediction.chunks], pa.string())
    encoded = both.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    return (codes[: len(gold)], codes[len(gold) :]), encoded.dictionary.to_pylist()


def _groups(predictions: pa.Table) -> Iterator[tuple[str, str, npt.NDArray[np.int64]]]:
    """Yield the rows of each dataset and language, then of each dataset."""
    if predictions.num_rows == 0:
        raise AtlasError("there are no predictions to score; predict first.")
    frame = predictions.select(["dataset", "language"]).to_pandas()
    for (dataset, language), rows in frame.groupby(["dataset", "language"]).indices.items():
        yield str(dataset), str(language), rows
    for dataset, rows in frame.groupby("dataset").indices.items():
        yield str(dataset), ALL_LANGUAGES, rows


def _strings(
    codes: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    labels: list[str],
    group: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    lengths: npt.NDArray[Any],
) -> tuple[list[list[str]], list[list[str]]]:
    names = np.array(labels, dtype=object)
    bounds = np.stack([ends[group] - lengths[group], ends[group]], axis=1).tolist()
    gold, prediction = ([names[part[a:b]].tolist() for a, b in bounds] for part in codes)
    return gold, prediction
