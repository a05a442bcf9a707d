"""Cross-lingual adjustment: aligned words together, English kept (Efimov et al. 2022, Eq. 1).

The loss is ``sum ||f(s) - f(t)||^2`` over aligned pairs plus ``sum ||f(s) - f0(s)||^2`` over the
English words, f0 being the encoder before adjustment. As f0 never changes, its English vectors are
computed once for the sampled sentences and read from disk during training.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState
from transformers import PreTrainedModel

from mbert_atlas.arrays import Ragged, TokenStore, create_array
from mbert_atlas.config.training import Adjustment
from mbert_atlas.encoders.hidden_states import (
    group_by,
    padding_id,
    require_tokenizer,
    span_vectors,
)
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.pooling import Aggregation, pool_words
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, read_json, sha256_of, write_json
from mbert_atlas.randomness import generator
from mbert_atlas.training.interfaces import Batch
from mbert_atlas.training.loop import train
from mbert_atlas.training.word_pairs import WordPairs, open_pairs

_logger = logging.getLogger(__name__)
IntArray = npt.NDArray[np.int64]


class AlignedSentences:
    """Sampled sentence pairs as training examples; fits :class:`training.interfaces.Examples`.

    The English tokens of an example are all its words and then [CLS] and [SEP]: the regulariser
    holds all of them, whichever are pulled (as in the authors' code).

    Args:
        store: token store of the bitext.
        pairs: its word pairs.
        rows: sampled sentences, int64, shape ``(n,)``, in the order of the sample.
        specification: what is pulled and how the terms are weighted.
        hidden_size: dimensions of a vector.
        padding: id to pad with.
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
        self._weigh(specification)

    def _list_english(self, store: TokenStore, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Fill :attr:`start` and :attr:`end`.

        Returns:
            The place of each word, [CLS] and [SEP] among the tokens of its sentence, and the
            index in that array of each sentence's first word.
        """
        # Flat arrays hold the words of all sentences, then every [CLS], then every [SEP]. One
        # sentence of 4 pieces whose second word was cut off: start [1, 2, 0, 3], end [2, 2, 1, 4],
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
        # A pair is (sentence, place of its English token, first piece, end); word k of sentence i
        # has its place at first[i] + k. To pairs of words come those of [CLS] and of [SEP].
        n = len(rows)
        count = np.arange(n)
        of_sentence = group_by(pairs.sentence, len(store.ragged("source_ids"))).take(rows)
        chosen = pairs.take(of_sentence.values if specification.words else np.empty(0, np.int64))
        sentence = np.repeat(count, of_sentence.lengths) if specification.words else count[:0]
        columns = [
            (
                sentence,
                place[first[sentence] + chosen.source_word],
                chosen.target_start,
                chosen.target_end,
            )
        ]
        specials = {"none": 0, "cls": 1, "cls_sep": 2}[specification.special_tokens]
        last = self._target_ids.lengths - 1
        cls, sep = place[len(place) - 2 * n : len(place) - n], place[len(place) - n :]
        columns += [(count, cls, 0 * count, 0 * count + 1), (count, sep, last, last + 1)][:specials]
        sentence, source, start, end = (
            np.concatenate(parts) for parts in zip(*columns, strict=True)
        )
        grouped = group_by(sentence, n)
        self._pair_source = Ragged(source[grouped.values], grouped.offsets)
        self._target_start = Ragged(start[grouped.values], grouped.offsets)
        self._target_end = Ragged(end[grouped.values], grouped.offsets)

    def _weigh(self, specification: Adjustment) -> None:
        """Set what a squared norm of each sentence counts in either term."""
        if specification.reduction == "sum":
            self._pair_weight = self._token_weight = np.ones(len(self), dtype=np.float32)
            return
        self._pair_weight, self._token_weight = (
            group_shares(counts, specification.group_size, self.hidden_size)
            for counts in (self.pair_counts, self.start.lengths)
        )

    def __len__(self) -> int:
        """Return the number of sentence pairs."""
        return len(self.source_ids)

    @property
    def pair_counts(self) -> IntArray:
        """Pairs of each sentence, special tokens included, int64, shape ``(n,)``."""
        return self._pair_source.lengths

    @property
    def pairs(self) -> int:
        """Pairs that are pulled, special tokens included."""
        return len(self._pair_source.values)

    def compute_reference(
        self, model: Any, aggregation: Aggregation, out: npt.NDArray[np.floating[Any]]
    ) -> None:
        """Write the English vectors of ``model`` (last layer, no dropout) to ``out``.

        Args:
            model: the encoder before adjustment.
            aggregation: how pieces become one vector.
            out: shape ``(tokens, hidden_size)``, tokens as in :attr:`start`.
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
        """Return the tensors of one micro-batch.

        English sentences come first in ``input_ids``, then their translations in the same order.

        Args:
            indices: sentences of the sample, int64; one may come several times.
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
            "attention_mask": mask.astype(np.int64),
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
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def fingerprint(self, specification: Adjustment, encoder: str) -> str:
        """Return a digest of the sample, the specification and the digest of the encoder.

        The optimisation is left to the training loop, which knows what of it changes the result.
        """
        settings = specification.model_dump_json(exclude={"optimisation"})
        digest = hashlib.sha256(f"{settings} {encoder}".encode())
        ragged = (self.source_ids, self._target_ids, self.start, self.end, self._pair_source)
        for rows in (*ragged, self._target_start, self._target_end):
            digest.update(np.ascontiguousarray(rows.values).tobytes())
            digest.update(rows.offsets.tobytes())
        return digest.hexdigest()


def group_shares(counts: IntArray, group_size: int, hidden_size: int) -> npt.NDArray[np.float32]:
    """Return what a squared norm counts in a mean over a group of sentences and all dimensions.

    Args:
        counts: pairs or words of each sentence, int64, shape ``(n,)``.
        group_size: sentences in one group, in their order.
        hidden_size: dimensions of a vector.

    Returns:
        The weight of each sentence's squared norms, float32, shape ``(n,)``.
    """
    # 1 / (items in the group * dims): counts [2, 1, 5], two sentences in a group, 4 dims give
    # items [3, 3, 5] and weights [1/12, 1/12, 1/20].
    group = np.arange(len(counts)) // group_size
    items = np.bincount(group, weights=counts)[group]
    return (1.0 / (np.maximum(items, 1.0) * hidden_size)).astype(np.float32)


def alignment_terms(
    encoder: Any, batch: Batch, aggregation: Aggregation
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both terms of Eq. 1 for a micro-batch, weighted squared norms summed up.

    Args:
        encoder: the encoder that is adjusted; its last layer is used.
        batch: from :meth:`AlignedSentences.collate`.
        aggregation: how pieces become one vector.

    Returns:
        The pull of aligned pairs and the regulariser of English, float32 scalars; without a
        ``reference`` in the batch the regulariser is zero.
    """
    hidden = encoder(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
    ).last_hidden_state.float()
    source = pool_words(
        hidden, batch["source_start"], batch["source_end"], batch["source_row"], aggregation
    )
    target = pool_words(
        hidden, batch["target_start"], batch["target_end"], batch["target_row"], aggregation
    )
    pulled = source.index_select(0, batch["pair_source"]) - target
    # Products and sums, not a matrix product: autocast would take that to bf16.
    pull = (pulled.square().sum(-1) * batch["pair_weight"]).sum()
    if "reference" not in batch:
        return pull, torch.zeros_like(pull)
    moved = source - batch["reference"].float()
    return pull, (moved.square().sum(-1) * batch["token_weight"]).sum()


class AdjustmentObjective:
    """Eq. 1 as a training objective; fits :class:`training.interfaces.Objective`."""

    def __init__(self, specification: Adjustment) -> None:
        self._aggregation: Aggregation = specification.aggregation
        self._per_sentence = specification.reduction == "sum"

    def weight(self, batch: Batch) -> float:
        """Return the number of sentence pairs."""
        return len(batch["input_ids"]) / 2

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the micro-batch's share of the step's loss."""
        pull, regulariser = alignment_terms(model, batch, self._aggregation)
        return (pull + regulariser) / (step_weight if self._per_sentence else 1.0)


def sample_sentences(
    pairs: WordPairs, sentences: int, specification: Adjustment, seed: int
) -> IntArray:
    """Draw sentences without replacement and leave out those without a pair.

    Args:
        pairs: pairs of the store.
        sentences: sentences in the store.
        specification: how many to draw, and whether from all sentences or from those with pairs.
        seed: decides the draw.

    Returns:
        Sentence numbers in random order, int64; at most ``specification.sentences``.
    """
    with_pairs = np.bincount(pairs.sentence, minlength=sentences) > 0
    pool = np.arange(sentences)
    if specification.sample_order == "filter_then_sample":
        pool = pool[with_pairs]
    if len(pool) < specification.sentences:
        _logger.warning(
            "%d sentences are to be drawn from %d: all are taken",
            specification.sentences,
            len(pool),
        )
    size = min(specification.sentences, len(pool))
    drawn: IntArray = generator(seed, "adjustment", "sample").choice(pool, size=size, replace=False)
    return drawn[with_pairs[drawn]]


def adjust(
    *,
    encoder: Path,
    store: Path,
    specification: Adjustment,
    seed: int,
    output: Path,
    state_dir: Path,
) -> dict[str, int]:
    """Adjust an encoder to one language pair and save it as an encoder folder.

    Args:
        encoder: folder of the encoder to start from, also the original f0 of Eq. 1.
        store: token store of the bitext with its word pairs, see :func:`open_pairs`.
        specification: the protocol.
        seed: decides the sample, the order of batches and dropout.
        output: folder to write, with the tokenizer of ``encoder``.
        state_dir: keeps the resumable state and the original's vectors; removed by whoever has
            accepted the result.

    Returns:
        Counts: sentences in the store, drawn and trained on, pairs (specials included), tokens.

    Raises:
        DataError: see :func:`open_sample`.
    """
    sample = open_sample(store, specification, seed, encoder, state_dir)
    model, examples = sample.model, sample.examples
    if not specification.dropout_in_training:
        switch_off_dropout(model)
    log = train(
        model,
        examples,
        AdjustmentObjective(specification),
        specification.optimisation,
        seed=seed,
        state_dir=state_dir,
        description=f"adjusting {encoder.name}",
        fingerprint=sample.fingerprint,
    )
    save_encoder(model, encoder, output)
    examples.reference = None  # closes the file
    return {
        "sentences_in_store": sample.sentences_in_store,
        "sentences_requested": specification.sentences,
        "sentences_trained": len(examples),
        "pairs": examples.pairs,
        "english_tokens": len(examples.start.values),
        "steps": log.steps,
    }


@dataclass(frozen=True)
class Sample:
    """What a run of adjustment trains on.

    Attributes:
        model: the original encoder.
        examples: the sentences, with the original's English vectors if there is a regulariser.
        sentences_in_store: sentences that they were drawn from.
        fingerprint: digest of sentences, specification and encoder.
    """

    model: PreTrainedModel
    examples: AlignedSentences
    sentences_in_store: int
    fingerprint: str


def open_sample(
    store: Path, specification: Adjustment, seed: int, encoder: Path, folder: Path
) -> Sample:
    """Open the sentences that a run of adjustment with this seed samples.

    Args:
        store: token store of the bitext with its word pairs, see :func:`open_pairs`.
        specification: the protocol.
        seed: the run's seed.
        encoder: folder of the original encoder.
        folder: keeps the original's vectors for as long as the run may be resumed.

    Raises:
        DataError: if the store is not usable or not of this encoder's tokenizer, or the sample
            holds no pair.
    """
    model = load_encoder(encoder)
    bitext, pairs = open_pairs(store)
    require_tokenizer(store, bitext.meta.get("tokenizer_sha256"), encoder)
    total = len(bitext.ragged("source_ids"))
    rows = sample_sentences(pairs, total, specification, seed)
    if len(rows) == 0:
        raise DataError(store, "", "no sampled sentence has a word pair", "sample more sentences")
    examples = AlignedSentences(
        bitext,
        pairs,
        rows,
        specification,
        hidden_size=int(model.config.hidden_size),
        padding=padding_id(model),
    )
    fingerprint = examples.fingerprint(specification, sha256_of(encoder / "model.safetensors"))
    if specification.regulariser:
        path = folder / f"reference-{fingerprint[:16]}.npy"
        examples.reference = _open_reference(model, examples, specification, path)
    return Sample(model, examples, total, fingerprint)


def switch_off_dropout(model: torch.nn.Module) -> None:
    """Set every dropout of ``model`` to zero, so that training mode is deterministic."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def _is_whole(path: Path, checksum: Path) -> bool:
    """Return whether a file has the checksum noted when it was made; warn if it differs."""
    with suppress(DataError, OSError, ValueError):
        if read_json(checksum) == sha256_of(path):
            return True
        _logger.warning("%s is damaged and made again", path)
    return False


def _open_reference(
    model: PreTrainedModel, examples: AlignedSentences, specification: Adjustment, path: Path
) -> npt.NDArray[np.floating[Any]]:
    """Open the original's English vectors, made first unless a killed run left them.

    Returns:
        Memory-mapped, shape ``(tokens, hidden_size)``, tokens as in the sample's ``start``.
    """
    checksum = path.with_suffix(".json")
    if not _is_whole(path, checksum):
        model.to(PartialState().device)
        with atomic_path(path) as temporary:
            shape = (len(examples.start.values), examples.hidden_size)
            out = create_array(temporary, specification.reference_dtype, shape)
            examples.compute_reference(model, specification.aggregation, out)
            out.flush()
        write_json(sha256_of(path), checksum)
    vectors: npt.NDArray[np.floating[Any]] = np.load(path, mmap_mode="r", allow_pickle=False)
    return vectors
