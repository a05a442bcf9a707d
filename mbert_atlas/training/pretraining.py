"""Masked-language-model pretraining of BERT and XLM-R, from scratch or continued."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional
from transformers import BertConfig, BertForPreTraining, XLMRobertaConfig, XLMRobertaForMaskedLM

from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.config.training import MaskedTraining, Pretraining
from mbert_atlas.encoders.loading import load_masked_model, load_tokenizer, save_encoder
from mbert_atlas.encoders.masks import additive_mask
from mbert_atlas.encoding.texts import inner
from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import Batch, Objective, Weight, entropy
from mbert_atlas.tokenizer import require_tokenizer, tokenizer_digest
from mbert_atlas.training.curve import write_curve
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import TrainingLog


def pretrain(
    spec: MaskedTraining,
    origin: Path,
    store: Path,
    output_dir: Path,
    *,
    seed: int,
    state_dir: Path | None = None,
    start: Path | None = None,
    output_curve: Path | None = None,
) -> TrainingLog:
    """Train a BERT or XLM-R as a masked language model and write it as an encoder folder.

    Under :class:`Pretraining` a new encoder with the tokenizer of ``origin``; else the encoder
    ``origin`` (Wang et al. 2020), whose size, dropout, pooler and language-model head stay; a head
    that it lacks is initialised by the seed (its output embeddings are the input's).

    The output has the layout of a published checkpoint: encoder, BERT's pooler and language-model
    head. The pooler is not trained (there is no next-sentence task). The caller removes
    ``state_dir``, the resumable state, once the result is accepted. ``store`` is what
    :func:`mbert_atlas.encoding.pretraining.encode_texts` wrote with the tokenizer, and ``start``
    what :func:`mbert_atlas.encoders.aligned_start.start_embeddings` wrote: initial word embeddings
    of a new encoder; subwords that are not in it keep theirs. ``output_curve`` is a file for
    :func:`mbert_atlas.training.curve.curve_of`. Raises a DataError if the encoder
    cannot be trained further, the store or the start was made with another tokenizer, its rows are
    too long, or the start's vectors have another length than the encoder's.
    """
    tokenizer, optimisation = load_tokenizer(origin), spec.optimisation
    model, positions = _first_model(spec, origin, tokenizer, derive_seed(seed, "initial weights"))
    encoded = load_arrays(store)
    require_tokenizer(store, encoded.meta["tokenizer"], origin)
    if encoded.meta["max_length"] > positions:
        problem = f"rows of {encoded.meta['max_length']} tokens exceed the {positions} positions"
        raise DataError(store, "max_length", problem, "encode the texts again or raise positions")
    if start is not None:
        _begin_with(model.get_input_embeddings().weight, start, origin)
    if isinstance(spec, Pretraining):
        if spec.output_bias == "log_frequency":
            begin_with_frequencies(head_of(model).bias, encoded)
        if spec.pieces is not None:
            subwords = int((encoded.ragged("input_ids").lengths - 2).sum())
            passes = max(1, round(spec.pieces / subwords))
            optimisation = optimisation.model_copy(update={"epochs": passes})
    examples = MaskedExamples(encoded, spec.masking_probability, tokenizer.pad_token_id)
    log = train(
        model,
        examples,
        MaskedLanguageModel(tokenizer.mask_token_id, len(tokenizer)),
        optimisation,
        seed=seed,
        state_dir=state_dir,
        description="pretraining",
        fingerprint=sha256_of(store / "input_ids.values.npy")
        + spec.model_dump_json(exclude={"optimisation"}),
    )
    write_curve(log, output_curve, examples.guessing_loss())
    save_encoder(model.cpu(), origin, output_dir)
    return log


def _first_model(spec: MaskedTraining, origin: Path, tokenizer: Any, seed: int) -> tuple[Any, int]:
    """Return the model that training begins with, and the longest row that it takes."""
    if isinstance(spec, Pretraining):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return _new_model(spec, tokenizer), spec.positions
    model = load_masked_model(origin, seed)
    config = model.config
    # RoBERTa counts positions from after the id of the padding.
    offset = config.pad_token_id + 1 if config.model_type == "xlm-roberta" else 0
    return model, config.max_position_embeddings - offset


def _new_model(spec: Pretraining, tokenizer: Any) -> Any:
    sizes = {
        "vocab_size": len(tokenizer),
        "hidden_size": spec.hidden_size,
        "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads,
        "intermediate_size": spec.intermediate_size,
        "hidden_dropout_prob": spec.dropout,
        "attention_probs_dropout_prob": spec.dropout,
        "initializer_range": spec.initial_deviation,
        "pad_token_id": tokenizer.pad_token_id,
        "attn_implementation": "sdpa",
    }
    if spec.architecture == "bert":
        return BertForPreTraining(BertConfig(**sizes, max_position_embeddings=spec.positions))
    config = XLMRobertaConfig(
        **sizes,
        # RoBERTa counts positions from after the id of the padding.
        max_position_embeddings=spec.positions + tokenizer.pad_token_id + 1,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return XLMRobertaForMaskedLM(config)


def head_of(model: Any) -> Any:
    """Return the language-model head of a BERT or XLM-R: hidden states to logits, with a bias."""
    return model.cls.predictions if hasattr(model, "cls") else model.lm_head


def _begin_with(weight: torch.Tensor, start: Path, tokenizer_dir: Path) -> None:
    """Copy initial vectors into the word embeddings."""
    stored = load_arrays(start)
    vectors = stored.dense("vectors")
    is_other = stored.meta["tokenizer"] != tokenizer_digest(tokenizer_dir)
    if is_other or vectors.shape[1] != weight.shape[1]:
        problem = f"vectors are not of length {weight.shape[1]} or not of {tokenizer_dir}"
        raise DataError(start, "", problem, "delete the folder and start again")
    subwords = torch.from_numpy(stored.dense("pieces").astype(np.int64))
    with torch.no_grad():
        weight[subwords] = torch.from_numpy(np.array(vectors))


def begin_with_frequencies(bias: torch.Tensor, encoded: TokenStore) -> None:
    """Set the head's biases to log((count + 1) / (all counts + subwords)): none is impossible."""
    # Special tokens, at both ends of a row, are never predicted.
    counts = np.bincount(inner(encoded.ragged("input_ids")).values, minlength=len(bias)) + 1
    with torch.no_grad():
        bias.copy_(torch.from_numpy(np.log(counts / counts.sum()).astype(np.float32)))


class MaskedExamples:
    """Rows of a token store, with the number of masked tokens of each.

    As in BERT's data preparation, a row of n tokens (special ones left out) has
    ``max(1, round(masking_probability * n))`` predicted ones; the objective samples which.
    """

    def __init__(self, store: TokenStore, masking_probability: float, pad_id: int) -> None:
        self.rows, self.pad_id = store.ragged("input_ids"), pad_id
        self.lengths = self.rows.lengths
        count = np.rint(masking_probability * (self.lengths - 2))
        self.predicted = np.maximum(1, count).astype(np.int64)

    def guessing_loss(self) -> float:
        """Return the loss if subwords are as good as they are frequent; not the special ones."""
        return entropy(inner(self.rows).values)

    def collate(self, indices: npt.NDArray[np.int64]) -> Batch:
        """Return the padded rows and a slot for each token to predict.

        ``input_ids`` (int64) and ``attention_mask`` (bool) are (b, l), ``lengths`` (b,); slot k
        takes the token of row ``slot_row[k]`` that is ``slot_rank[k]``-th in a random order.
        """
        lengths, counts = self.lengths[indices], self.predicted[indices]
        input_ids = self.rows.padded(indices, self.pad_id)
        ends = np.cumsum(counts)
        ranks = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
        return {
            "input_ids": torch.from_numpy(input_ids),
            "attention_mask": torch.from_numpy(np.arange(input_ids.shape[1]) < lengths[:, None]),
            "lengths": torch.from_numpy(lengths),
            "slot_row": torch.from_numpy(np.repeat(np.arange(len(indices)), counts)),
            "slot_rank": torch.from_numpy(ranks),
        }


class MaskedLanguageModel(Objective):
    """Cross-entropy at the masked tokens (Devlin et al. 2019, section 3.1).

    Of the predicted tokens 80% become ``[MASK]``, 10% a random token and 10% are unchanged. Torch's
    generator, which the loop seeds by run and step, decides.
    """

    def __init__(self, mask_id: int, vocabulary_size: int) -> None:
        self.mask_id, self.vocabulary_size = mask_id, vocabulary_size

    def weight(self, batch: Batch) -> float:
        """Return the number of predicted tokens."""
        return float(len(batch["slot_row"]))

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``; logits at predicted tokens only."""
        logits, targets = self.predicted(model, batch)
        return functional.cross_entropy(logits, targets, reduction="sum") / step_weight

    def predicted(self, model: Any, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Mask a batch; return logits at the predicted tokens, (m, vocabulary), and their ids."""
        positions, inputs = self.mask(batch)
        states = self.states(model, inputs, batch)
        logits = head_of(model)(states.flatten(0, 1)[positions])
        return logits, batch["input_ids"].flatten()[positions]

    def states(self, model: Any, inputs: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the last hidden states of masked inputs, (b, l, dims)."""
        mask = additive_mask(batch["attention_mask"])
        output = model.base_model(inputs, attention_mask=mask)
        return cast(torch.Tensor, output.last_hidden_state)

    def mask(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """Sample the predicted positions, as numbers into the flat batch (m,), and the inputs."""
        input_ids = batch["input_ids"]
        width, device = input_ids.shape[1], input_ids.device
        columns = torch.arange(width, device=device)
        maskable = (columns > 0) & (columns < batch["lengths"][:, None] - 1)
        # The tokens in random order, those that may be masked first; a row's slots take the first.
        chances = torch.rand(input_ids.shape, device=device).masked_fill(~maskable, -1.0)
        order = chances.argsort(dim=1, descending=True)
        rows = batch["slot_row"]
        positions = rows * width + order[rows, batch["slot_rank"]]
        draw = torch.rand(positions.shape, device=device)
        random = torch.randint(self.vocabulary_size, positions.shape, device=device)
        originals = input_ids.flatten()[positions]
        replaced = torch.where(draw < 0.9, random, originals)
        replaced = torch.where(draw < 0.8, self.mask_id, replaced)
        return positions, input_ids.flatten().scatter(0, positions, replaced).view_as(input_ids)
