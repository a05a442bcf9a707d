"""Scores of predictions in percent: accuracy, F1 of texts and words, seqeval's F1 of spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.analysis.trees import attachment_counts
from mbert_atlas.errors import AtlasError
from mbert_atlas.f1 import Confusion, SpanScorer
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS, TREE_PREDICTIONS

SCORE_COLUMNS = ("dataset", "language", "metric", "value", "n")
ALL_LANGUAGES = "all"
TagUnit = Literal["word", "subword"]


def prediction_scores(path: Path | str, unit: str, protocol: str) -> pd.DataFrame:
    """Score predictions: every labelled subword (published) or word (corrected).

    Args:
        path: Parquet file of predictions.
        unit: what is predicted, ``token``, ``text`` or ``tree``.
        protocol: ``published`` or ``corrected``.

    Returns:
        As :func:`tag_scores`, :func:`class_scores` or :func:`tree_scores`.
    """
    if unit == "text":
        return class_scores(read_parquet(path, CLASS_PREDICTIONS))
    if unit == "tree":
        return tree_scores(read_parquet(path, TREE_PREDICTIONS))
    table = read_parquet(path, TAG_PREDICTIONS)
    return tag_scores(table, unit="subword" if protocol == "published" else "word")


def class_scores(predictions: pa.Table) -> pd.DataFrame:
    """Score predictions of one label per example.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.CLASS_PREDICTIONS`.

    Returns:
        Columns :data:`SCORE_COLUMNS`: ``accuracy``, ``macro_f1_present``, ``macro_f1_union`` and
        ``micro_f1`` in percent by dataset and language, and for all languages of a dataset pooled
        (language ``all``); ``n`` counts examples.

    Raises:
        AtlasError: if there are no predictions.
    """
    codes, labels = _codes(predictions["gold"], predictions["prediction"])
    scores = []
    for dataset, language, group in _groups(predictions):
        confusion = Confusion.of(codes[0][group], codes[1][group], range(len(labels)))
        scores.append((dataset, language, _item_scores(confusion, None), len(group)))
    return _score_table(scores)


def tag_scores(
    predictions: pa.Table,
    *,
    outside: str | None = None,
    unit: TagUnit = "word",
) -> pd.DataFrame:
    """Score predictions of tags.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TAG_PREDICTIONS`.
        outside: label that is no class, left out of ``token_micro_f1``; none for POS.
        unit: ``word`` scores the first labelled subword of a word; ``subword`` scores all of them,
            so that a word that the tokenizer splits counts several times (Tanti et al. 2021, code).

    Returns:
        As :func:`class_scores`, the metrics with ``token_`` before them, and ``span_macro_f1`` and
        ``span_micro_f1`` (see :class:`SpanScorer`); ``n`` counts words or subwords.

    Raises:
        AtlasError: if there are no predictions, or a sentence has more or fewer predictions
            than gold tags.
    """
    codes, labels, lengths = _tag_codes(predictions, unit)
    scorer = SpanScorer(labels)
    no_class = labels.index(outside) if outside in labels else None
    scores = []
    for dataset, language, group in _groups(predictions):
        mask = np.zeros(len(lengths), dtype=bool)
        mask[group] = True
        words = np.repeat(mask, lengths)
        confusion = Confusion.of(codes[0][words], codes[1][words], range(len(labels)))
        tokens = _item_scores(confusion, no_class)
        spans = scorer.f1(codes[0][words], codes[1][words], lengths[mask])
        values = {f"token_{name}": value for name, value in tokens.items()}
        values |= {f"span_{average}_f1": value for average, value in spans.items()}
        scores.append((dataset, language, values, int(lengths[group].sum())))
    return _score_table(scores)


def tree_scores(predictions: pa.Table) -> pd.DataFrame:
    """Score predictions of dependency trees (see :mod:`mbert_atlas.analysis.trees`).

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TREE_PREDICTIONS`.

    Returns:
        As :func:`class_scores`, with ``las`` and ``uas``; ``n`` counts words.

    Raises:
        AtlasError: if there are no predictions, or the columns of a sentence differ in length.
    """
    counts = attachment_counts(predictions)
    scores = []
    for dataset, language, group in _groups(predictions):
        labelled, unlabelled, words = counts[group].sum(axis=0).tolist()
        values = {"las": labelled / words, "uas": unlabelled / words}
        scores.append((dataset, language, values, words))
    return _score_table(scores)


def sentence_counts(
    predictions: pa.Table, *, unit: Literal["entity", "token"]
) -> npt.NDArray[np.int64]:
    """Count correct, gold and predicted items of each sentence, which micro F1 sums up.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TAG_PREDICTIONS`.
        unit: ``entity`` counts exactly matching spans (see :class:`SpanScorer`); ``token`` counts
            words whose tag is not ``O``.

    Returns:
        int64, shape ``(n, 3)``; F1 is twice the sum of the first column over the sum of the others.

    Raises:
        AtlasError: if a sentence has more or fewer predictions than gold tags.
    """
    (gold, predicted), labels, lengths = _tag_codes(predictions, "word")
    if unit == "entity":
        return SpanScorer(labels).counts(gold, predicted, lengths)
    inside = np.array([label != "O" for label in labels], dtype=bool)
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    marks = ((gold == predicted) & inside[gold], inside[gold], inside[predicted])
    columns = [np.bincount(sentence[mark], minlength=len(lengths)) for mark in marks]
    return np.stack(columns, axis=1).astype(np.int64)


def right_words(predictions: pa.Table) -> tuple[list[str], npt.NDArray[np.float64]]:
    """Return for each word whether its tag is correct.

    Args:
        predictions: columns as in :data:`mbert_atlas.schemas.TAG_PREDICTIONS`, of one language.

    Returns:
        Keys of sentence id and word number, sorted by sentence; and 1 or 0, float64, shape
        ``(words,)``.

    Raises:
        AtlasError: if a sentence has more or fewer predictions than gold tags.
    """
    table = predictions.sort_by("example_id")
    (gold, predicted), _, lengths = _tag_codes(table, "word")
    sentences = zip(table["example_id"].to_pylist(), lengths.tolist(), strict=True)
    keys = [f"{sentence}\t{word}" for sentence, count in sentences for word in range(count)]
    return keys, (gold == predicted).astype(np.float64)


def _tag_codes(
    predictions: pa.Table, unit: TagUnit
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], list[str], npt.NDArray[Any]]:
    """Return gold and predicted tags of all words (or subwords) as codes, labels, and lengths."""
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
    if unit == "subword":
        return codes, labels, lengths
    words = pc.list_flatten(predictions["words"]).to_numpy()
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    first = np.ones(len(words), dtype=bool)
    first[1:] = (sentence[1:] != sentence[:-1]) | (words[1:] != words[:-1])
    return (
        (codes[0][first], codes[1][first]),
        labels,
        np.bincount(sentence[first], minlength=len(lengths)),
    )


def select(predictions: pa.Table, **where: str) -> pa.Table:
    """Return some of the predictions, sorted by example id.

    Args:
        predictions: columns as in one of the prediction schemas.
        where: values by column, such as ``dataset`` and ``language``.

    Raises:
        AtlasError: if there are none, or an example occurs twice.
    """
    for column, value in where.items():
        predictions = predictions.filter(pc.equal(predictions[column], value))
    examples = predictions["example_id"]
    if len(examples) == 0 or pc.count_distinct(examples).as_py() < len(examples):
        kind = ", ".join(f"{column} {value}" for column, value in where.items())
        problem = "an example occurs twice" if len(examples) else "there are none"
        raise AtlasError(f"predictions of {kind}: {problem}; predict again.")
    return predictions.sort_by("example_id").combine_chunks()


def _score_table(scores: Iterable[tuple[str, str, dict[str, float], int]]) -> pd.DataFrame:
    """Return rows of dataset, language, fractions by metric, and number of items, in percent."""
    rows = [
        (dataset, language, metric, 100 * value, n)
        for dataset, language, values, n in scores
        for metric, value in values.items()
    ]
    return pd.DataFrame(rows, columns=list(SCORE_COLUMNS))


def _item_scores(confusion: Confusion, outside: int | None) -> dict[str, float]:
    return {
        "accuracy": confusion.accuracy(),
        "macro_f1_present": confusion.macro_f1("present"),
        "macro_f1_union": confusion.macro_f1("union"),
        "micro_f1": confusion.micro_f1(outside),
    }


def _codes(
    gold: pa.ChunkedArray, prediction: pa.ChunkedArray
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], list[str]]:
    """Encode the labels of both columns by one list of labels."""
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
