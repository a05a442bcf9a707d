"""Cross-lingual adjustment: word alignment regularised on English (Efimov et al. 2022, Eq. 1).

The loss is ``sum ||f(s) - f(t)||^2`` over aligned pairs, or another of
:data:`mbert_atlas.config.training.LOSSES`, plus ``sum ||f(s) - f0(s)||^2`` over the English words,
f0 being the encoder before adjustment. As f0 is fixed, its English vectors are
computed once for the sampled sentences and read from disk during training.
"""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from mbert_atlas.arrays import create_array
from mbert_atlas.config.training import LOSSES, Adjustment
from mbert_atlas.encoders.folders import weight_files
from mbert_atlas.encoders.hidden_states import Aggregation, padding_id, pool_words
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.masks import attention_mask
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoders.trimming import trim
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, read_json, sha256_of, write_json
from mbert_atlas.randomness import generator
from mbert_atlas.tasks.base import Batch, Objective, Weight
from mbert_atlas.tokenizer import require_tokenizer
from mbert_atlas.training.aligned_sentences import AlignedSentences, IntArray
from mbert_atlas.training.curve import write_curve
from mbert_atlas.training.loop import train
from mbert_atlas.training.losses import Loss
from mbert_atlas.training.trimming import restore_words
from mbert_atlas.training.word_pairs import WordPairs, open_pairs

_logger = logging.getLogger(__name__)


def alignment_terms(
    encoder: Any, batch: Batch, kind: Aggregation, loss: Loss
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both terms of Eq. 1 for a micro-batch, weighted sums.

    The loss of aligned pairs and the regulariser of English, float32 scalars, in the encoder's last
    layer; without a ``reference`` in the batch the regulariser is zero.
    """
    mask = attention_mask(encoder.config, batch["attention_mask"])
    hidden = encoder(input_ids=batch["input_ids"], attention_mask=mask).last_hidden_state.float()
    words = (
        [batch[f"{side}_{name}"] for name in ("start", "end", "row", "places")]
        for side in ("source", "target")
    )
    source, target = (
        pool_words(hidden, start, end, row, kind, places) for start, end, row, places in words
    )
    of_pairs = loss(source.index_select(0, batch["pair_source"]), target)
    distance = (of_pairs * batch["pair_weight"]).sum()
    if "reference" not in batch:
        return distance, torch.zeros_like(distance)
    moved = source - batch["reference"].float()
    return distance, (moved.square().sum(-1) * batch["token_weight"]).sum()


class AdjustmentObjective(Objective):
    """Eq. 1 as a training objective."""

    def __init__(self, specification: Adjustment) -> None:
        self._aggregation: Aggregation = specification.aggregation
        self._loss: Loss = LOSSES.load(specification.loss)
        self._per_sentence = specification.reduction == "sum"

    def weight(self, batch: Batch) -> float:
        """Return the number of sentence pairs."""
        return len(batch["input_ids"]) / 2

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the micro-batch's part of the step's loss."""
        distance, regulariser = alignment_terms(model, batch, self._aggregation, self._loss)
        return (distance + regulariser) / (step_weight if self._per_sentence else 1.0)


def sample_sentences(
    pairs: WordPairs, sentences: int, specification: Adjustment, seed: int
) -> IntArray:
    """Sample from the store's ``sentences``, without replacement; leave out those without a pair.

    Returns their numbers in random order, int64; at most ``specification.sentences``.
    """
    with_pairs = np.bincount(pairs.sentence, minlength=sentences) > 0
    pool = np.arange(sentences)
    if specification.sample_order == "filter_then_sample":
        pool = pool[with_pairs]
    if len(pool) < specification.sentences:
        message = "%d sentences are requested, but there are %d: all are used"
        _logger.warning(message, specification.sentences, len(pool))
    size = min(specification.sentences, len(pool))
    rows: IntArray = generator(seed, "adjustment", "sample").choice(pool, size=size, replace=False)
    return rows[with_pairs[rows]]


def adjust(
    *,
    encoder: Path,
    store: Path,
    specification: Adjustment,
    seed: int,
    output: Path,
    state_dir: Path,
    output_curve: Path | None = None,
) -> dict[str, int]:
    """Adjust an encoder, the f0 of Eq. 1, to one language pair and save it with its tokenizer.

    ``store`` is a token store with word pairs, see :func:`open_pairs`. ``state_dir`` holds the
    resumable state and the original's vectors; the caller removes it once the result is accepted.
    ``output_curve`` is a file for :func:`mbert_atlas.training.curve.curve_of`.

    Returns:
        Counts: sentences in the store, sampled and trained on; pairs (special tokens included);
        English tokens; steps.

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
    write_curve(log, output_curve)
    restore_words(model.cpu(), load_encoder(encoder), specification.optimisation, log)
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


class Sample(NamedTuple):
    """The training data of an adjustment: original encoder, sentences and what identifies them.

    The examples have the original's English vectors if there is a regulariser.
    """

    model: PreTrainedModel
    examples: AlignedSentences
    sentences_in_store: int
    fingerprint: str


def open_sample(
    store: Path, specification: Adjustment, seed: int, encoder: Path, folder: Path
) -> Sample:
    """Open the sentences that a run of adjustment with this seed samples.

    ``encoder`` is the original; ``folder`` holds its vectors as long as the run may be resumed.
    Raises a DataError if the store is not usable or not of this encoder's tokenizer, or the sample
    holds no pair.
    """
    model = load_encoder(encoder)
    bitext, pairs = open_pairs(store)
    require_tokenizer(store, bitext.meta.get("tokenizer_sha256"), encoder)
    total = len(bitext.ragged("source_ids"))
    rows = sample_sentences(pairs, total, specification, seed)
    if len(rows) == 0:
        raise DataError(store, "", "no sampled sentence has a word pair", "sample more sentences")
    sizes = {"hidden_size": int(model.config.hidden_size), "padding": padding_id(model)}
    examples = AlignedSentences(bitext, pairs, rows, specification, **sizes)
    trim(model, examples.subwords)
    fingerprint = examples.fingerprint(
        specification, "".join(map(sha256_of, weight_files(encoder)))
    )
    if specification.regulariser:
        path = folder / f"reference-{fingerprint[:16]}.npy"
        examples.reference = _open_reference(model, examples, specification, path)
    return Sample(model, examples, total, fingerprint)


def switch_off_dropout(model: torch.nn.Module) -> None:
    """Set every dropout of ``model`` to zero, so that training mode is deterministic."""
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0


def _open_reference(
    model: PreTrainedModel, examples: AlignedSentences, specification: Adjustment, path: Path
) -> npt.NDArray[np.floating[Any]]:
    """Open the original's English vectors, computed first unless a killed run left them."""
    checksum, is_whole = path.with_suffix(".json"), False
    with suppress(DataError, OSError, ValueError):
        is_whole = read_json(checksum) == sha256_of(path)
        if not is_whole:
            _logger.warning("%s is damaged and computed again", path)
    if not is_whole:
        model.to(default_device())
        with atomic_path(path) as temporary:
            shape = (len(examples.start.values), examples.hidden_size)
            out = create_array(temporary, "float16", shape)
            examples.compute_reference(model, specification.aggregation, out)
            out.flush()
        write_json(sha256_of(path), checksum)
    vectors: npt.NDArray[np.floating[Any]] = np.load(path, mmap_mode="r", allow_pickle=False)
    return vectors
