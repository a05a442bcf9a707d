"""How far predicted tokens are a translation: BLEU-1 and convert rate (Liu et al. 2020, 4.2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.parallel import inner

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Overlap:
    """Tokens that predicted sentences share with their references.

    Attributes:
        matches: shared tokens, each no more often than in the reference, int64, shape ``(n,)``.
        predicted: tokens of each prediction, int64, shape ``(n,)``.
        wanted: tokens of each reference, int64, shape ``(n,)``.
    """

    matches: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    wanted: npt.NDArray[np.int64]

    def corpus_bleu(self) -> float:
        """Return BLEU-1 of all sentences together, 0 to 100, with brevity penalty."""
        return _bleu(self.matches.sum(), self.predicted.sum(), self.wanted.sum())

    def mean_bleu(self) -> float:
        """Return the mean over sentences of BLEU-1, 0 to 100, with brevity penalty."""
        # min(1, exp(1 - r / c)) m / c: of 3 tokens, 2 of them right, for 4: exp(-1/3) 2/3.
        penalty = np.minimum(1, np.exp(1 - self.wanted / np.maximum(self.predicted, 1)))
        return 100 * float((penalty * self.matches / np.maximum(self.predicted, 1)).mean())


def _bleu(matches: int, predicted: int, wanted: int) -> float:
    counted: dict[str, Any] = {"correct": [int(matches)], "total": [int(predicted)]}
    counted |= {"sys_len": int(predicted), "ref_len": int(wanted), "max_ngram_order": 1}
    return float(BLEU.compute_bleu(**counted, smooth_method="none").score)


def overlap(predicted: Ragged, references: Ragged, vocabulary_size: int) -> Overlap:
    """Count what predictions share with references, sentence by sentence.

    Args:
        predicted: token ids of each sentence.
        references: token ids of each translation, as many sentences.
        vocabulary_size: ids are below it.
    """
    # A token of a sentence is the number sentence * vocabulary + id; those that both have count as
    # often as in the one that has them less: [5, 5, 7] for [5, 7, 7] gives 1 + 1.
    (one, ones), (two, twos) = (
        np.unique(
            np.repeat(np.arange(len(some)), some.lengths) * vocabulary_size + some.values,
            return_counts=True,
        )
        for some in (predicted, references)
    )
    both, at_one, at_two = np.intersect1d(one, two, assume_unique=True, return_indices=True)
    shared = np.minimum(ones[at_one], twos[at_two])
    matches = np.bincount(both // vocabulary_size, weights=shared, minlength=len(predicted))
    return Overlap(matches.astype(np.int64), predicted.lengths, references.lengths)


def converted(tokens: npt.NDArray[Any], source: Flags, target: Flags) -> tuple[int, int]:
    """Count tokens that only the target language has, and those that convert rate counts.

    Args:
        tokens: predicted ids, any shape.
        source: which ids texts of the source language have, shape ``(vocabulary,)``.
        target: the same of the target language.

    Returns:
        Numerator and denominator: tokens of the target language alone, and all but those that both
        languages have.
    """
    # With only s, only t, shared and neither: s t b n t gives 2 of 4.
    counts = np.bincount(tokens.ravel(), minlength=len(source))
    return int(counts[target & ~source].sum()), int(counts[~(source & target)].sum())


def token_set(rows: Ragged, vocabulary_size: int) -> Flags:
    """Return which tokens some texts have, special pieces at both ends left out (Table 3).

    Args:
        rows: token ids with a special piece at both ends.
        vocabulary_size: ids are below it.
    """
    return np.bincount(inner(rows).values, minlength=vocabulary_size) > 0
