"""F1 of items from a confusion matrix, and seqeval's F1 of spans, all from 0 to 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

Labels = Sequence[str] | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix, int64, shape ``(labels, labels)``; rows are gold, columns predicted."""

    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, gold: Labels, prediction: Labels, labels: Labels | None = None) -> Self:
        """Count two label sequences of equal length; ``labels`` defaults to those that occur."""
        # Imported here, as scikit-learn would cost every training job a second.
        from sklearn.metrics import confusion_matrix

        return cls(confusion_matrix(gold, prediction, labels=labels))

    # Gold a a b and predicted a b b give the counts [[1, 1], [0, 1]]: accuracy 2/3, and F1 of a is
    # 2 * 1 / (2 + 1), twice its diagonal cell over the sums of its row and its column.

    def accuracy(self) -> float:
        """Return the accuracy."""
        return float(np.trace(self.counts) / self.counts.sum())

    def macro_f1(self, classes: Literal["present", "union"]) -> float:
        """Return the mean F1 over classes: those of the gold labels (``present``), or ``union``.

        The latter, scikit-learn's default, has also those that are only predicted, with an F1 of 0.
        """
        gold, predicted = self.counts.sum(1), self.counts.sum(0)
        kept = gold > 0 if classes == "present" else gold + predicted > 0
        return float((2 * np.diag(self.counts)[kept] / (gold + predicted)[kept]).mean())

    def micro_f1(self, outside: int | None = None) -> float:
        """Return the F1 over all items; without ``outside`` it equals the accuracy.

        True positives of ``outside``, a label that is no class (``O`` of NER), don't count.
        """
        kept = np.arange(len(self.counts)) != outside
        gold, predicted = self.counts.sum(1)[kept].sum(), self.counts.sum(0)[kept].sum()
        return float(2 * np.diag(self.counts)[kept].sum() / max(1, gold + predicted))


class SpanScorer:
    """Seqeval 1.2.2's F1 over exactly matching spans, for whole datasets at once.

    Of tags with B-/I- prefixes it is the usual entity F1. The code of Tanti et al. (2021) applies
    it to tags without prefixes: seqeval takes the first letter for the prefix, the rest for the
    type, and a maximal run of equal types for one span.

    Where spans begin and end depends on pairs of neighbouring tags only, so that seqeval's rules
    are evaluated once for all pairs of the tags that occur, ``labels``.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        # Imported here for the same reason as above.
        from seqeval.metrics.sequence_labeling import end_of_chunk, start_of_chunk

        parts = [(label[0], label[1:].split("-", maxsplit=1)[-1] or "_") for label in labels]
        parts.append(("O", "_"))  # after each sentence
        kinds, types = np.unique([kind for _, kind in parts], return_inverse=True)
        self._types, self._type_count = types, len(kinds)
        self._starts, self._ends = (
            np.array([[rule(p, tag, q, kind) for tag, kind in parts] for p, q in parts])
            for rule in (start_of_chunk, end_of_chunk)
        )

    def f1(
        self, gold: npt.NDArray[Any], prediction: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> dict[str, float]:
        """Return ``macro`` (mean over span types) and ``micro`` F1.

        Tags of all sentences are concatenated, as indices of the labels, shape ``(words,)``;
        lengths are the words of each sentence, shape ``(sentences,)``.
        """
        spans = [self._spans(codes, lengths) for codes in (gold, prediction)]
        right = np.isin(spans[0][0], spans[1][0])
        totals = [np.bincount(types, minlength=self._type_count) for _, types in spans]
        hits = np.bincount(spans[0][1][right], minlength=self._type_count)
        both = totals[0] + totals[1]
        kept = both > 0
        if not kept.any():
            return {"macro": 0.0, "micro": 0.0}
        macro = float((2 * hits[kept] / both[kept]).mean())
        return {"macro": macro, "micro": float(2 * hits.sum() / both.sum())}

    def counts(
        self, gold: npt.NDArray[Any], prediction: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> npt.NDArray[np.int64]:
        """Count correct, gold and predicted spans by sentence, int64, shape ``(sentences, 3)``.

        Micro F1 is twice the first sum over the others'; arguments as for :meth:`f1`.
        """
        spans = [self._spans(codes, lengths)[0] for codes in (gold, prediction)]
        right = spans[0][np.isin(spans[0], spans[1])]
        places = int(lengths.sum()) + len(lengths)
        past = np.cumsum(lengths + 1)  # one past each sentence, with the place after its end
        sentences = [
            np.searchsorted(past, keys // places % places, side="right") for keys in (right, *spans)
        ]
        columns = [np.bincount(sentence, minlength=len(lengths)) for sentence in sentences]
        return np.stack(columns, axis=1).astype(np.int64)

    def _spans(
        self, codes: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
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
