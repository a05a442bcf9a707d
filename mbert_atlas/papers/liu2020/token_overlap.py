"""BLEU-1 and convert rate of predicted tokens (section 4.2.2)."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics.bleu import BLEU

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoding.texts import inner

Flags = npt.NDArray[np.bool_]


class Bleu1(NamedTuple):
    """BLEU-1 with brevity penalty, 0 to 100: mean over sentences, and of the whole corpus."""

    mean: float
    corpus: float


def bleu1(predicted: Ragged, references: Ragged, vocabulary_size: int) -> Bleu1:
    """Compare token ids of predicted sentences with those of as many translations."""
    # A token of a sentence is the number sentence * vocabulary + id; those of both sides count as
    # often as on the side that has fewer: [5, 5, 7] for [5, 7, 7] gives 1 + 1.
    (one, ones), (two, twos) = (
        np.unique(
            np.repeat(np.arange(len(side)), side.lengths) * vocabulary_size + side.values,
            return_counts=True,
        )
        for side in (predicted, references)
    )
    both, at_one, at_two = np.intersect1d(one, two, assume_unique=True, return_indices=True)
    shared = np.minimum(ones[at_one], twos[at_two])
    matches = np.bincount(both // vocabulary_size, weights=shared, minlength=len(predicted))
    # min(1, exp(1 - r / c)) m / c: of 3 tokens, 2 of them right, for 4: exp(-1/3) 2/3.
    lengths = np.maximum(predicted.lengths, 1)
    penalty = np.minimum(1, np.exp(1 - references.lengths / lengths))
    mean = 100 * float((penalty * matches / lengths).mean())
    total, expected = int(predicted.lengths.sum()), int(references.lengths.sum())
    counts: dict[str, Any] = {"correct": [int(matches.sum())], "total": [total]}
    counts |= {"sys_len": total, "ref_len": expected, "max_ngram_order": 1}
    return Bleu1(mean, float(BLEU.compute_bleu(**counts, smooth_method="none").score))


def converted(tokens: npt.NDArray[Any], source: Flags, target: Flags) -> tuple[int, int]:
    """Return numerator and denominator of the convert rate of predicted ids, of any shape.

    They are the tokens that only the target language has, and all tokens but those that both have;
    the flags, shape ``(vocabulary,)``, tell which ids a language has.
    """
    # With only s, only t, shared and neither: s t b n t gives 2 of 4.
    counts = np.bincount(tokens.ravel(), minlength=len(source))
    return int(counts[target & ~source].sum()), int(counts[~(source & target)].sum())


def token_set(rows: Ragged, vocabulary_size: int) -> Flags:
    """Return whether texts have each token, special ones at both ends left out (Table 3)."""
    return np.bincount(inner(rows).values, minlength=vocabulary_size) > 0
