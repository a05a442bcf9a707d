"""F1 of items, from a confusion matrix, and seqeval's F1 of spans; shares from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Labels = Sequence[str] | Sequence[int] | npt.NDArray[Any]


@dataclass(frozen=True)
class Confusion:
    """How often each gold label met each predicted one.

    Attributes:
        counts: int64, shape ``(labels, labels)``; rows are gold, columns predicted.
    """

    counts: npt.NDArray[np.int64]

    @classmethod
    def of(cls, gold: Labels, prediction: Labels, labels: Labels | None = None) -> Confusion:
        """Count two label sequences of equal length; ``labels``: all of them, none: as met."""
        # Here, as scikit-learn would cost every training job a second.
        from sklearn.metrics import confusion_matrix

        return cls(confusion_matrix(gold, prediction, labels=labels))

    # Gold a a b and predicted a b b give the counts [[1, 1], [0, 1]]: accuracy 2/3, and F1 of a is
    # 2 * 1 / (2 + 1), twice its place on the diagonal over the sums of its row and its column.

    def accuracy(self) -> float:
        """Return the share of items that are right, 0 to 1."""
        return float(np.trace(self.counts) / self.counts.sum())

    def macro_f1(self, classes: Literal["present", "union"]) -> float:
        """Return the mean F1 over classes, 0 to 1.

        Args:
            classes: ``present`` takes the classes of the gold labels; ``union``, as scikit-learn
                does by default, also those that are only predicted, each of which counts 0.
        """
        gold, predicted = self.counts.sum(1), self.counts.sum(0)
        kept = gold > 0 if classes == "present" else gold + predicted > 0
        return float((2 * np.diag(self.counts)[kept] / (gold + predicted)[kept]).mean())

    def micro_f1(self, outside: int | None = None) -> float:
        """Return the F1 over all items, 0 to 1; without ``outside`` it equals the accuracy.

        Args:
            outside: place of a label that is no class (``O`` of entities); right answers of it
                don't count.
        """
        kept = np.arange(len(self.counts)) != outside
        gold, predicted = self.counts.sum(1)[kept].sum(), self.counts.sum(0)[kept].sum()
        return float(2 * np.diag(self.counts)[kept].sum() / max(1, gold + predicted))


class SpanScorer:
    """Seqeval 1.2.2's F1 over exactly matching spans, for whole data sets at once.

    The code of Tanti et al. (2021) scores tags without a B-/I- prefix this way. Seqeval then takes
    the first letter for the prefix and the rest for the type, and a maximal run of equal types for
    one span, so the value is not a token score; it is here to compare with what the paper reports.
    On tags with prefixes it is the usual entity F1.

    Where spans begin and end depends on pairs of neighbouring tags only. Seqeval's own rules fill
    a table of all pairs, and the data are looked up in it.

    Args:
        labels: all tags that occur.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        # Here for the same reason as above.
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
        """Return ``macro`` (mean over span types) and ``micro`` F1, 0 to 1.

        Args:
            gold: tags of all sentences in a row, as numbers of ``labels``, shape ``(words,)``.
            prediction: the same for the predicted tags.
            lengths: words of each sentence, shape ``(sentences,)``.
        """
        spans = [self._spans(codes, lengths) for codes in (gold, prediction)]
        right = np.isin(spans[0][0], spans[1][0])
        totals = [np.bincount(types, minlength=self._type_count) for _, types in spans]
        hits = np.bincount(spans[0][1][right], minlength=self._type_count)
        found = totals[0] + totals[1]
        if not found.any():
            return {"macro": 0.0, "micro": 0.0}
        return {
            "macro": float((2 * hits[found > 0] / found[found > 0]).mean()),
            "micro": float(2 * hits.sum() / found.sum()),
        }

    def counts(
        self, gold: npt.NDArray[Any], prediction: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> npt.NDArray[np.int64]:
        """Count spans by sentence: right, gold and predicted ones; arguments as :meth:`f1`.

        Returns:
            int64, shape ``(sentences, 3)``; micro F1 is twice the first sum over the others'.
        """
        spans = [self._spans(codes, lengths)[0] for codes in (gold, prediction)]
        right = spans[0][np.isin(spans[0], spans[1])]
        places = int(lengths.sum()) + len(lengths)
        past = np.cumsum(lengths + 1)  # one past each sentence, the place after its end included
        sentences = [
            np.searchsorted(past, keys // places % places, side="right") for keys in (right, *spans)
        ]
        columns = [np.bincount(sentence, minlength=len(lengths)) for sentence in sentences]
        return np.stack(columns, axis=1).astype(np.int64)

    def _spans(
        self, codes: npt.NDArray[Any], lengths: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return one number per span that tells it from all others, and its type."""
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
