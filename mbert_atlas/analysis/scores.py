"""Scores of predictions in percent: accuracy and F1 of texts and words, F1 of spans, trees.

Attachment scores are those of the CoNLL 2018 shared task's script: all words count, punctuation
included, and relations are compared without their subtypes. Of the gold words they are the fraction
with the correct head (UAS), or with the correct head and relation (LAS). A word beyond the model's
input (predicted head -1) is wrong.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.analysis.resampling import RESAMPLED, resampled_sums
from mbert_atlas.arrays import offsets_of
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.f1 import ClassCounts, SpanScorer
from mbert_atlas.files import read_parquet, write_json
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS, TREE_PREDICTIONS

Ints = npt.NDArray[np.int64]
Examples = tuple[list[str], npt.NDArray[np.float64]]
"""Ids of examples, and the score of each, 0 to 1, shape ``(n,)``."""
ALL_LANGUAGES = "all"
TagUnit = Literal["word", "subword"]
TagItem = Literal["entity", "token"]
Metrics = Callable[[npt.NDArray[Any]], Mapping[str, npt.NDArray[Any]]]
"""From sums of the counts of some items, shape ``(..., counts)``: scores, 0 to 1, ``(...)``."""


def prediction_scores(
    path: Path | str, unit: str, protocol: str, *, resample: bool = False
) -> pd.DataFrame:
    """Score a file of predictions: every labelled subword (published) or word (corrected).

    Of a ``text``, ``tree`` or ``token`` it returns what :func:`class_scores`, :func:`tree_scores`
    or :func:`tag_scores` do.
    """
    if unit == "text":
        return class_scores(read_parquet(path, CLASS_PREDICTIONS), resample=resample)
    if unit == "tree":
        return tree_scores(read_parquet(path, TREE_PREDICTIONS), resample=resample)
    scored: TagUnit = "subword" if protocol == "published" else "word"
    return tag_scores(read_parquet(path, TAG_PREDICTIONS), unit=scored, resample=resample)


def choose_hyperparameters(
    draws: Sequence[Mapping[str, Any]],
    predictions: Sequence[Path],
    *,
    unit: str,
    protocol: str,
    metric: str,
    languages: Sequence[str] | None,
    output: Path,
) -> None:
    """Write the draw with the highest score on development data, of equal ones the first.

    ``draws`` are values by hyperparameter, ``predictions`` those of each draw, see
    :func:`prediction_scores`. The mean score over languages decides; without any, that of all of
    them pooled. JSON: ``values`` and ``score`` (percent) of the best draw, its number ``draw``
    (from 1), and both of all ``draws``. Raises :class:`DataError` if a language has no such score.
    """
    chosen, scores = [ALL_LANGUAGES] if languages is None else list(languages), []
    for path in predictions:
        table = prediction_scores(path, unit, protocol)
        table = table[table["language"].isin(chosen) & (table["metric"] == metric)]
        if missing := sorted(set(chosen) - set(table["language"])):
            problem = f"there is no {metric} of predictions"
            fix = "add the language to `search.evaluate` of the family, or choose by another score"
            raise DataError(path, f"language {missing[0]}", problem, fix)
        scores.append(float(table["value"].mean()))  # over development sets and languages
    best = int(np.argmax(scores))
    both = zip(draws, scores, strict=True)
    each = [{"values": dict(values), "score": score} for values, score in both]
    write_json({"draw": best + 1, **each[best], "draws": each}, output)


def class_scores(predictions: pa.Table, *, resample: bool = False) -> pd.DataFrame:
    """Score predictions of one label per example, :data:`mbert_atlas.schemas.CLASS_PREDICTIONS`.

    Returns columns dataset, language, metric, value and n: ``accuracy``, ``macro_f1_present``,
    ``macro_f1_union``, ``micro_f1`` and ``majority_accuracy`` (of the most frequent gold label) in
    percent by dataset and language, and for all languages of a dataset pooled (language ``all``);
    ``n`` counts examples. With ``resample`` also the column ``resampled``, see
    :mod:`mbert_atlas.analysis.resampling`.
    """
    codes, labels = _codes(predictions["gold"], predictions["prediction"])
    lengths = np.ones(len(predictions), dtype=np.int64)
    counts = ClassCounts.by_sentence(*codes, lengths, len(labels)).counts
    return _score_table(predictions, counts, lengths, _item_scores, resample)


def tag_scores(
    predictions: pa.Table, *, unit: TagUnit = "word", resample: bool = False
) -> pd.DataFrame:
    """Score predictions of tags, :data:`mbert_atlas.schemas.TAG_PREDICTIONS`.

    The unit ``word`` scores the first labelled subword of a word, ``subword`` all of them (code of
    Tanti et al. 2021). Returns what :func:`class_scores` does, the metrics with ``token_`` before
    them, and ``span_macro_f1`` and ``span_micro_f1`` (see :class:`SpanScorer`); ``n`` counts words
    or subwords, and resamples are of sentences.
    """
    codes, labels, lengths = _tag_codes(predictions, unit)
    tokens = ClassCounts.by_sentence(*codes, lengths, len(labels)).counts
    spans = SpanScorer(labels).counts(*codes, lengths)

    def metrics(sums: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        items, types = sums[..., : len(labels), :], ClassCounts(sums[..., len(labels) :, :])
        scores = {f"token_{name}": value for name, value in _item_scores(items).items()}
        macro, micro = types.macro_f1("union"), types.micro_f1()
        return scores | {"span_macro_f1": macro, "span_micro_f1": micro}

    counts = np.concatenate([tokens, spans], axis=1, dtype=np.int32)
    return _score_table(predictions, counts, lengths, metrics, resample)


def tree_scores(predictions: pa.Table, *, resample: bool = False) -> pd.DataFrame:
    """Score dependency trees, :data:`mbert_atlas.schemas.TREE_PREDICTIONS`.

    Returns what :func:`class_scores` does, with ``las`` and ``uas``; ``n`` counts words, and
    resamples are of sentences.
    """
    counts = attachment_counts(predictions)

    def metrics(sums: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        shares = sums[..., :2] / np.maximum(sums[..., 2:], 1)
        return {"las": shares[..., 0], "uas": shares[..., 1]}

    return _score_table(predictions, counts, counts[:, 2], metrics, resample)


def attachment_counts(predictions: pa.Table) -> Ints:
    """Count words with the correct head and relation, with the correct head, and all.

    Returns int64, shape ``(sentences, 3)``.
    """
    heads, relations, lengths = _right_arcs(predictions)
    offsets = offsets_of(lengths)
    before = [offsets_of(right)[offsets] for right in (heads & relations, heads)]
    return np.stack([*map(np.diff, before), lengths], axis=1)


def sentence_counts(predictions: pa.Table, *, unit: TagItem) -> Ints:
    """Count correct, gold and predicted items of each sentence, int64, shape ``(n, 3)``.

    ``entity`` counts exactly matching spans (see :class:`SpanScorer`), ``token`` words whose tag is
    not ``O``.
    """
    (gold, predicted), labels, lengths = _tag_codes(predictions, "word")
    if unit == "entity":
        by_class = SpanScorer(labels).counts(gold, predicted, lengths)
    else:
        inside = np.array([label != "O" for label in labels], dtype=bool)
        by_class = ClassCounts.by_sentence(gold, predicted, lengths, len(labels)).counts[:, inside]
    return np.asarray(by_class.sum(axis=1))


def f1_score(counts: npt.NDArray[Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return ``value`` and ``resampled`` of the micro F1 in percent, by sentences' counts and ids.

    Counts are those of :func:`sentence_counts`: F1 is twice the sum of the first column over the
    sum of the others.
    """
    value, again = (
        200 * sums[..., 0] / np.maximum(sums[..., 1] + sums[..., 2], 1)
        for sums in (counts.sum(axis=0), resampled_sums(counts, ids))
    )
    return {"value": float(value), RESAMPLED: again}


def right_words(predictions: pa.Table) -> Examples:
    """Return for each word whether its tag is correct; ids join sentence and word number."""
    (gold, predicted), _, lengths = _tag_codes(predictions, "word")
    return _word_ids(predictions, lengths), (gold == predicted).astype(np.float64)


def right_arcs(predictions: pa.Table, *, labelled: bool) -> Examples:
    """Return for each word whether its head (``labelled``: and relation) is correct, with ids."""
    heads, relations, lengths = _right_arcs(predictions)
    right = heads & relations if labelled else heads
    return _word_ids(predictions, lengths), right.astype(np.float64)


def majority_words(predictions: pa.Table) -> Examples:
    """Return for each word whether its tag is the most frequent one of the test set, with ids."""
    (gold, _), _, lengths = _tag_codes(predictions, "word")
    return _word_ids(predictions, lengths), _most_frequent(gold)


def majority_arcs(predictions: pa.Table) -> Examples:
    """Return for each word whether its arc is the most frequent one of the test set.

    Arcs are the same if relation and distance to the head are; those from the root are, too.
    """
    lengths = pc.list_value_length(predictions["gold_heads"]).to_numpy()
    heads = pc.list_flatten(predictions["gold_heads"]).to_numpy()
    relations = _universal(pc.list_flatten(predictions["gold_relations"]))
    places = np.concatenate([np.arange(1, length + 1) for length in lengths])
    distances = np.where(heads == 0, 0, heads - places)
    arcs = pd.MultiIndex.from_arrays([distances, relations.to_pandas()])
    return _word_ids(predictions, lengths), _most_frequent(arcs.factorize()[0])


def _most_frequent(codes: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.asarray(codes == np.bincount(codes).argmax(), np.float64)


def select(predictions: pa.Table, **where: str) -> pa.Table:
    """Return the predictions with some values by column, such as ``dataset``, sorted by example id.

    Raises :class:`AtlasError` if there are none, or an example occurs twice.
    """
    for column, value in where.items():
        predictions = predictions.filter(pc.equal(predictions[column], value))
    examples = predictions["example_id"]
    if len(examples) == 0 or pc.count_distinct(examples).as_py() < len(examples):
        kind = ", ".join(f"{column} {value}" for column, value in where.items())
        problem = "an example occurs twice" if len(examples) else "there are none"
        raise AtlasError(f"predictions of {kind}: {problem}; predict again.")
    return predictions.sort_by("example_id").combine_chunks()


def _word_ids(table: pa.Table, lengths: npt.NDArray[Any]) -> list[str]:
    sentences = zip(table["example_id"].to_pylist(), lengths.tolist(), strict=True)
    return [f"{sentence}\t{word}" for sentence, count in sentences for word in range(count)]


def _tag_codes(
    predictions: pa.Table, unit: TagUnit
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], list[str], npt.NDArray[Any]]:
    """Return gold and predicted tags of all words (or subwords) as codes, labels, and lengths."""
    lengths = pc.list_value_length(predictions["gold"]).to_numpy()
    codes, labels = _codes(
        pc.list_flatten(predictions["gold"]), pc.list_flatten(predictions["prediction"])
    )
    if unit == "subword":
        return codes, labels, lengths
    words = pc.list_flatten(predictions["words"]).to_numpy()
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    first = np.append(True, (np.diff(sentence) != 0) | (np.diff(words) != 0))[: len(words)]
    lengths = np.bincount(sentence[first], minlength=len(lengths))
    return (codes[0][first], codes[1][first]), labels, lengths


def _right_arcs(
    predictions: pa.Table,
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], npt.NDArray[Any]]:
    """Return which heads and which relations are correct, and the words by sentence."""
    lengths = pc.list_value_length(predictions["gold_heads"]).to_numpy()
    heads, relations = (
        [pc.list_flatten(predictions[f"{side}_{what}"]) for side in ("gold", "predicted")]
        for what in ("heads", "relations")
    )
    universal = map(_universal, relations)
    return pc.equal(*heads).to_numpy(), pc.equal(*universal).to_numpy(), lengths


def _universal(relations: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return relations without their subtypes."""
    return pc.replace_substring_regex(relations, ":.*", "")


def _score_table(
    predictions: pa.Table,
    counts: npt.NDArray[Any],
    lengths: npt.NDArray[Any],
    metrics: Metrics,
    resample: bool,
) -> pd.DataFrame:
    """Score the rows of each dataset and language, then of each dataset, from counts by row."""
    frame = predictions.select(["dataset", "language"]).to_pandas()
    ids = predictions["example_id"].to_numpy()
    groups = list(frame.groupby(["dataset", "language"]).indices.items())
    pooled = frame.groupby("dataset").indices.items()
    rows = []
    for place, group in [*groups, *(((name, ALL_LANGUAGES), group) for name, group in pooled)]:
        some, n = counts[group], int(lengths[group].sum())
        again = metrics(resampled_sums(some, ids[group].tolist())) if resample else {}
        for metric, value in metrics(some.sum(axis=0)).items():
            more = {RESAMPLED: 100 * again[metric]} if resample else {}
            score = {"metric": metric, "value": 100 * float(value), "n": n}
            rows.append({"dataset": place[0], "language": place[1], **score, **more})
    columns = ["dataset", "language", "metric", "value", "n", *([RESAMPLED] if resample else [])]
    return pd.DataFrame(rows, columns=columns)


def _item_scores(counts: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    classes = ClassCounts(counts)
    return {
        "accuracy": classes.accuracy(),
        "macro_f1_present": classes.macro_f1("present"),
        "macro_f1_union": classes.macro_f1("union"),
        "micro_f1": classes.micro_f1(),
        "majority_accuracy": classes.majority_accuracy(),
    }


def _codes(
    gold: pa.ChunkedArray, prediction: pa.ChunkedArray
) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], list[str]]:
    """Encode the labels of both columns by one list of labels."""
    both = pa.chunked_array([*gold.chunks, *prediction.chunks], pa.string())
    encoded = both.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    return (codes[: len(gold)], codes[len(gold) :]), encoded.dictionary.to_pylist()
