"""F1 of items from counts by class, and seqeval's F1 of spans, all from 0 to 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Labels = Sequence[str] | Sequence[int] | Array


@dataclass(frozen=True)
class ClassCounts:
    """Correct, gold and predicted items of each class, shape ``(..., classes, 3)``.

    Scores have shape ``(...)``; without any item they are 0.
    """

    counts: Array

    @classmethod
    def of(cls, gold: Labels, prediction: Labels) -> Self:
        """Count two label sequences of equal length; classes are the labels that occur, sorted."""
        labels, codes = np.unique(np.concatenate([gold, prediction]), return_inverse=True)
        sides = codes[: len(gold)], codes[len(gold) :]
        return cls(cls.by_sentence(*sides, np.array([len(gold)]), len(labels)).counts[0])

    @classmethod
    def by_sentence(cls, gold: Array, prediction: Array, lengths: Array, classes: int) -> Self:
        """Count labels by sentence, int64, shape ``(sentences, classes, 3)``.

        Labels are numbers below ``classes``, those of all sentences one after the other, shape
        ``(labels,)``; lengths are the labels of each sentence.
        """
        first = np.repeat(np.arange(len(lengths)), lengths) * classes
        columns = [(first + gold)[gold == prediction], first + gold, first + prediction]
        counts = [np.bincount(column, minlength=len(lengths) * classes) for column in columns]
        return cls(np.stack(counts, axis=-1).reshape(len(lengths), classes, 3))

    # Gold a a b and predicted a b b give [[1, 2, 1], [1, 1, 2]]: accuracy 2/3, F1 of a 2 / (2 + 1).

    def accuracy(self) -> Array:
        """Return the accuracy."""
        right, gold, _ = np.moveaxis(self.counts.sum(axis=-2), -1, 0)
        return _ratio(right, gold)

    def majority_accuracy(self) -> Array:
        """Return the accuracy of always predicting the most frequent gold label."""
        gold = self.counts[..., 1]
        return _ratio(gold.max(axis=-1), gold.sum(axis=-1))

    def macro_f1(self, classes: Literal["present", "union"]) -> Array:
        """Return the mean F1 over classes: those of the gold labels (``present``), or ``union``.

        The latter, scikit-learn's default, has also those that are only predicted, with an F1 of 0.
        """
        right, gold, predicted = np.moveaxis(self.counts, -1, 0)
        kept = gold > 0 if classes == "present" else gold + predicted > 0
        each = _ratio(2 * right, gold + predicted)
        return _ratio((each * kept).sum(axis=-1), kept.sum(axis=-1))

    def micro_f1(self) -> Array:
        """Return the F1 over all items, which equals the accuracy where every item has a class."""
        return micro_f1(self.counts.sum(axis=-2))


def micro_f1(sums: Array) -> Array:
    """Return F1 from sums of right, gold and predicted items, shape ``(..., 3)``; 0 without any."""
    right, gold, predicted = np.moveaxis(sums, -1, 0)
    return _ratio(2 * right, gold + predicted)


def _ratio(part: Array, whole: Array) -> Array:
    """Return a quotient, float32 of float32; 0 where the denominator is 0."""
    return np.asarray(part / np.maximum(whole, 1))


class SpanScorer:
    """Seqeval 1.2.2's F1 over exactly matching spans, for whole datasets at once.

    Of tags with B-/I- prefixes it is the usual entity F1. The code of Tanti et al. (2021) applies
    it to tags without prefixes: seqeval takes the first letter for the prefix, the rest for the
    type, and a maximal run of equal types for one span.

    Seqeval's rules are about neighbouring tags; all pairs of ``labels`` are evaluated once.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        # Imported here, as it imports scikit-learn.
        from seqeval.metrics.sequence_labeling import end_of_chunk, start_of_chunk

        parts = [(label[0], label[1:].split("-", maxsplit=1)[-1] or "_") for label in labels]
        parts.append(("O", "_"))  # after each sentence
        kinds, types = np.unique([kind for _, kind in parts], return_inverse=True)
        self._types, self._type_count = types, len(kinds)
        self._starts, self._ends = (
            np.array([[rule(p, tag, q, kind) for tag, kind in parts] for p, q in parts])
            for rule in (start_of_chunk, end_of_chunk)
        )

    def counts(self, gold: Array, prediction: Array, lengths: Array) -> npt.NDArray[np.int64]:
        """Count correct, gold and predicted spans, int64, shape ``(sentences, types, 3)``.

        Tags of all sentences are concatenated, as indices of the labels, shape ``(words,)``;
        lengths are the words of each sentence, shape ``(sentences,)``.
        """
        sides = [self._spans(codes, lengths) for codes in (gold, prediction)]
        is_right = np.isin(sides[0][0], sides[1][0])
        right = sides[0][0][is_right], sides[0][1][is_right]
        places, size = int(lengths.sum()) + len(lengths), len(lengths) * self._type_count
        past = np.cumsum(lengths + 1)  # one past each sentence, with the place after its end
        columns = []
        for keys, types in (right, *sides):
            sentences = np.searchsorted(past, keys // places % places, side="right")
            columns.append(np.bincount(sentences * self._type_count + types, minlength=size))
        return np.stack(columns, axis=-1).reshape(len(lengths), self._type_count, 3)

    def f1(self, gold: Array, prediction: Array, lengths: Array) -> dict[str, float]:
        """Return ``macro`` (mean over span types) and ``micro`` F1; see :meth:`counts`."""
        counts = self.counts(gold, prediction, lengths).sum(axis=0)
        types = ClassCounts(counts[counts.any(axis=1)])  # those that occur
        return {"macro": float(types.macro_f1("union")), "micro": float(types.micro_f1())}

    def _spans(self, codes: Array, lengths: Array) -> tuple[Array, Array]:
        """Return a unique key of each span, and its type."""
        # With one place outside after each sentence, the sentences "B-PER I-PER" and "O" are
        #     tags    B-PER I-PER out O   out    and     before  out B-PER I-PER out O
        # A span ends before place 2, where I-PER meets out, and begins at the last start, 0.
        outside, words = len(self._types) - 1, np.arange(len(codes))
        tags = np.full(len(codes) + len(lengths), outside)
        tags[words + np.repeat(np.arange(len(lengths)), lengths)] = codes
        before = np.concatenate([[outside], tags[:-1]])
        place = np.arange(len(tags))
        begin = np.maximum.accumulate(np.where(self._starts[before, tags], place, 0))
        past = np.flatnonzero(self._ends[before, tags])
        types = self._types[before[past]]
        return (types * len(tags) + begin[past - 1]) * len(tags) + past, types
