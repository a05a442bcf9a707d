"""Aligned sentence pairs as training examples (Efimov et al. 2022, Eq. 1)."""

import hashlib
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.config.training import Adjustment
from mbert_atlas.encoders.hidden_states import Aggregation, group_by, span_vectors, subword_places
from mbert_atlas.tasks.base import Batch
from mbert_atlas.training.word_pairs import WordPairs

IntArray = npt.NDArray[np.int64]


class AlignedSentences:
    """Sampled sentence pairs as training examples; fits :class:`tasks.base.Examples`.

    The English tokens of an example are all its words and then [CLS] and [SEP]: the regulariser
    covers all of them, whichever are aligned (as in the authors' code). ``rows`` are the sampled
    sentences of the token store, int64, shape ``(n,)``, in the order of the sample; ``pairs`` all
    word pairs of the store; ``padding`` is the id to pad with.
    """

    def __init__(
        self,
        store: TokenStore,
        pairs: WordPairs,
        rows: IntArray,
        specification: Adjustment,
        *,
        hidden_size: int,
        padding: int,
    ) -> None:
        self._padding, self.hidden_size = padding, hidden_size
        self.source_ids = store.ragged("source_ids").take(rows)
        self._target_ids = store.ragged("target_ids").take(rows)
        self.lengths: IntArray = 2 * np.maximum(self.source_ids.lengths, self._target_ids.lengths)
        self.reference: npt.NDArray[np.floating[Any]] | None = None
        place, first = self._list_english(store, rows)
        self._list_pairs(store, pairs, rows, specification, place, first)
        # Of the squared norms of each sentence in both terms.
        self._pair_weight = self._token_weight = np.ones(len(self), dtype=np.float32)
        if specification.reduction == "mean":
            self._pair_weight, self._token_weight = (
                group_shares(counts, specification.group_size, hidden_size)
                for counts in (self.pair_counts, self.start.lengths)
            )

    def _list_english(self, store: TokenStore, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Fill :attr:`start` and :attr:`end`; return places of all tokens in their sentence.

        The second array has the index, in the first one, of each sentence's first word.
        """
        # Flat arrays hold the words of all sentences, then every [CLS], then every [SEP]. One
        # sentence of 4 tokens whose second word was cut off: start [1, 2, 0, 3], end [2, 2, 1, 4],
        # of which words 0, 2 and 3 are kept, so place [0, -1, 1, 2].
        starts = store.ragged("source_word_start").take(rows)
        ends = store.ragged("source_word_end").take(rows)
        count = np.arange(len(rows))
        last = self.source_ids.lengths - 1
        sentence = np.concatenate([np.repeat(count, starts.lengths), count, count])
        start = np.concatenate([starts.values, 0 * count, last]).astype(np.int64)
        end = np.concatenate([ends.values, 0 * count + 1, last + 1]).astype(np.int64)
        kept = np.flatnonzero(end > start)
        tokens = group_by(sentence[kept], len(rows))
        order = kept[tokens.values]
        self.start = Ragged(start[order], tokens.offsets)
        self.end = Ragged(end[order], tokens.offsets)
        place = np.full(len(sentence), -1, dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(tokens.offsets[:-1], tokens.lengths)
        return place, starts.offsets[:-1]

    def _list_pairs(
        self,
        store: TokenStore,
        pairs: WordPairs,
        rows: IntArray,
        specification: Adjustment,
        place: IntArray,
        first: IntArray,
    ) -> None:
        # A pair is (sentence, place of its English token, first subword, end); word k of sentence i
        # has its place at first[i] + k. Pairs of words are followed by those of [CLS] and of [SEP].
        count = np.arange(len(rows))
        of_sentence = group_by(pairs.sentence, len(store.ragged("source_ids"))).take(rows)
        aligned = pairs.take(of_sentence.values)
        sentence = np.repeat(count, of_sentence.lengths)
        source = place[first[sentence] + aligned.source_word]
        cls, sep = np.split(place[len(place) - 2 * len(rows) :], 2)
        last, specials = self._target_ids.lengths - 1, specification.special_tokens
        columns = [
            (sentence, source, aligned.target_start, aligned.target_end),
            (count, cls, 0 * count, 0 * count + 1),
            (count, sep, last, last + 1),
        ]
        kept = compress(columns, (specification.words, specials != "none", specials == "cls_sep"))
        sentence, source, start, end = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        grouped = group_by(sentence, len(rows))
        self._pair_source = Ragged(source[grouped.values], grouped.offsets)
        self._target_start = Ragged(start[grouped.values], grouped.offsets)
        self._target_end = Ragged(end[grouped.values], grouped.offsets)

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.source_ids)

    @property
    def subwords(self) -> list[IntArray]:
        """All token ids of each language, one after the other, and that of the padding."""
        return [self.source_ids.values, self._target_ids.values, np.array([self._padding])]

    @property
    def pair_counts(self) -> IntArray:
        """Pairs of each sentence, special tokens included, int64, shape ``(n,)``."""
        return self._pair_source.lengths

    @property
    def pairs(self) -> int:
        """Pairs that are aligned, special tokens included."""
        return len(self._pair_source.values)

    def compute_reference(
        self, model: Any, aggregation: Aggregation, out: npt.NDArray[np.floating[Any]]
    ) -> None:
        """Write the English vectors of ``model`` (last layer, no dropout) to ``out``.

        Its shape is ``(tokens, hidden_size)``, tokens as in :attr:`start`.
        """
        sentence = np.repeat(np.arange(len(self)), self.start.lengths)
        span_vectors(
            model,
            self.source_ids,
            sentence,
            self.start.values,
            self.end.values,
            aggregation=aggregation,
            layers=[-1],
            out=out[None],
            description="vectors of the original encoder",
        )

    def collate(self, indices: IntArray) -> Batch:
        """Return the tensors of sentences of the sample; one may come several times.

        English sentences come first in ``input_ids``, then their translations in the same order.
        """
        n = len(indices)
        source, target = self.source_ids.take(indices), self._target_ids.take(indices)
        offsets = np.concatenate([source.offsets, source.offsets[-1] + target.offsets[1:]])
        both = Ragged(np.concatenate([source.values, target.values]), offsets)
        ids = both.padded(np.arange(2 * n), self._padding)
        mask = np.arange(ids.shape[1]) < both.lengths[:, None]
        starts, ends = self.start.take(indices), self.end.take(indices)
        pair_source = self._pair_source.take(indices)
        rows = np.arange(n)
        arrays = {
            "input_ids": ids,
            "attention_mask": mask,
            "source_start": starts.values,
            "source_end": ends.values,
            "source_row": np.repeat(rows, starts.lengths),
            "target_start": self._target_start.take(indices).values,
            "target_end": self._target_end.take(indices).values,
            "target_row": np.repeat(n + rows, pair_source.lengths),
            "pair_source": pair_source.values + np.repeat(starts.offsets[:-1], pair_source.lengths),
            "pair_weight": np.repeat(self._pair_weight[indices], pair_source.lengths),
            "token_weight": np.repeat(self._token_weight[indices], starts.lengths),
        }
        if self.reference is not None:
            arrays["reference"] = Ragged(self.reference, self.start.offsets).take(indices).values
        batch = {name: torch.from_numpy(array) for name, array in arrays.items()}
        for side in ("source", "target"):
            start, end, row = (batch[f"{side}_{name}"] for name in ("start", "end", "row"))
            batch[f"{side}_places"] = subword_places(start, end, row, ids.shape[1])
        return batch

    def fingerprint(self, specification: Adjustment, encoder: str) -> str:
        """Return a digest of sample, specification (less the optimisation) and encoder's digest."""
        settings = specification.model_dump_json(exclude={"optimisation"})
        digest = hashlib.sha256(f"{settings} {encoder}".encode())
        ragged = (self.source_ids, self._target_ids, self.start, self.end, self._pair_source)
        for rows in (*ragged, self._target_start, self._target_end):
            digest.update(np.ascontiguousarray(rows.values).tobytes())
            digest.update(rows.offsets.tobytes())
        return digest.hexdigest()


def group_shares(counts: IntArray, group_size: int, hidden_size: int) -> npt.NDArray[np.float32]:
    """Return the weight of a squared norm in a mean over a group of sentences and all dimensions.

    ``counts`` are the pairs or words of each sentence, int64, ``(n,)``, as is the result, float32.
    """
    # 1 / (items in the group * dims): counts [2, 1, 5], two sentences in a group, 4 dims give
    # items [3, 3, 5] and weights [1/12, 1/12, 1/20].
    group = np.arange(len(counts)) // group_size
    items = np.bincount(group, weights=counts)[group]
    return (1.0 / (np.maximum(items, 1.0) * hidden_size)).astype(np.float32)
