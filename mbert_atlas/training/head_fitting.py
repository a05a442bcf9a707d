"""A language-model head for an encoder that has none, fitted over the frozen encoder."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.batching import micro_batches
from mbert_atlas.config.training import MaskedTraining
from mbert_atlas.encoders.hidden_states import padding_id
from mbert_atlas.encoders.loading import load_masked_model, load_tokenizer
from mbert_atlas.encoders.precision import autocast
from mbert_atlas.files import atomic_directory, sha256_of
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tasks.base import Batch
from mbert_atlas.tokenizer import require_tokenizer
from mbert_atlas.training.curve import write_curve
from mbert_atlas.training.loop import train
from mbert_atlas.training.pretraining import (
    MaskedExamples,
    MaskedLanguageModel,
    begin_with_frequencies,
    head_of,
)

HELD_OUT = 20
"""Every such row measures the accuracy and is not trained on."""
_FILE = "head.safetensors"


class HeadObjective(MaskedLanguageModel):
    """The masked language model of a frozen encoder, without dropout."""

    def states(self, model: Any, inputs: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the last hidden states, ``(b, l, dims)``."""
        model.base_model.eval()
        with torch.no_grad():
            return super().states(model, inputs, batch)


def fit_head(
    spec: MaskedTraining,
    encoder: Path,
    store: Path,
    output: Path,
    *,
    seed: int,
    state_dir: Path | None = None,
    output_curve: Path | None = None,
) -> dict[str, Any]:
    """Train transform and biases of a BERT's or XLM-R's language-model head; write their folder.

    The output embeddings are the encoder's word embeddings, which stay as they are. Biases start at
    the log frequency of the subwords, the transform at the identity, which learns faster.

    Args:
        spec: the masked language modelling.
        encoder: folder of the encoder; a head that it has is replaced.
        store: rows of :func:`mbert_atlas.encoding.pretraining.encode_texts` with its tokenizer.
        output: folder for ``head.safetensors``, see :func:`add_head`.
        seed: decides initial weights, masks and batches.
        state_dir: the resumable state, which the caller removes.
        output_curve: file for :func:`mbert_atlas.training.curve.curve_of`.

    Returns a card: ``masked_accuracy`` in percent at ``n`` masked subwords of every twentieth row,
    all and ``by_language``, and ``most_frequent``, that of always predicting the most frequent one.
    Raises a DataError if the store is of another tokenizer or the encoder is of another kind.
    """
    tokenizer, encoded = load_tokenizer(encoder), load_arrays(store)
    require_tokenizer(store, encoded.meta["tokenizer"], encoder)
    model: Any = load_masked_model(encoder, derive_seed(seed, "initial weights"))
    rows = np.arange(len(encoded.ragged("input_ids")))
    held_out = rows % HELD_OUT == 0
    seen = _rows(encoded, rows[~held_out])
    model.requires_grad_(False)
    for _, parameter in _of_head(model):
        parameter.requires_grad_(True)
    head = head_of(model)
    begin_with_frequencies(head.bias, seen)
    torch.nn.init.eye_(getattr(head, "transform", head).dense.weight)
    padding, masking = padding_id(model), spec.masking_probability
    objective = HeadObjective(tokenizer.mask_token_id, len(tokenizer))
    examples = MaskedExamples(seen, masking, padding)
    log = train(
        model,
        examples,
        objective,
        spec.optimisation,
        seed=seed,
        state_dir=state_dir,
        description="fitting the head",
        fingerprint=sha256_of(store / "input_ids.values.npy") + str(masking),
    )
    write_curve(log, output_curve, examples.guessing_loss())
    card = _accuracy(model, objective, _rows(encoded, rows[held_out]), spec, seed)
    with atomic_directory(output) as folder:
        tensors = {name: item.detach().cpu().contiguous() for name, item in _of_head(model)}
        save_file(tensors, folder / _FILE)
    return card | {"steps": log.steps, "training_rows": len(rows) - int(held_out.sum())}


def add_head(model: Any, folder: Path) -> Any:
    """Give a model the language-model head that :func:`fit_head` wrote; return the model."""
    fitted = load_file(folder / _FILE)
    with torch.no_grad():
        for name, parameter in _of_head(model):
            parameter.copy_(fitted[name])
    return model


def _of_head(model: Any) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield the parameters of a head but for its output embeddings, which are the input's."""
    tied = model.get_input_embeddings().weight
    for name, parameter in head_of(model).named_parameters():
        if parameter is not tied:
            yield name, parameter


def _rows(encoded: TokenStore, rows: Any) -> TokenStore:
    arrays = {
        "input_ids": encoded.ragged("input_ids").take(rows),
        "language": encoded.dense("language")[rows],
    }
    return replace(encoded, arrays=arrays)


@torch.no_grad()
def _accuracy(
    model: Any, objective: HeadObjective, rows: TokenStore, spec: MaskedTraining, seed: int
) -> dict[str, Any]:
    """Return the accuracy at masked subwords of some rows, which a seed masks."""
    examples = MaskedExamples(rows, spec.masking_probability, padding_id(model))
    device, languages = model.device, rows.dense("language")
    targets, correct, spoken = list[Any](), list[Any](), list[Any]()
    budget = spec.optimisation.token_budget
    batches = micro_batches(np.arange(len(examples.lengths)), examples.lengths, budget)
    for number, numbers in enumerate(track(batches, "masked accuracy")):
        torch.manual_seed(derive_seed(seed, "masked accuracy", number))
        batch = {key: item.to(device) for key, item in examples.collate(numbers).items()}
        with autocast("auto", device):
            logits, expected = objective.predicted(model, batch)
        targets.append(expected.cpu().numpy())
        correct.append((logits.argmax(-1) == expected).cpu().numpy())
        spoken.append(languages[numbers][batch["slot_row"].cpu().numpy()])
    right, language = np.concatenate(correct), np.concatenate(spoken)
    names = rows.meta["languages"]
    return {
        "masked_accuracy": 100 * float(right.mean()),
        "by_language": {
            names[code]: 100 * float(right[language == code].mean()) for code in np.unique(language)
        },
        "most_frequent": 100 * float(np.bincount(np.concatenate(targets)).max() / len(right)),
        "n": len(right),
    }
