"""Unsupervised token translation: shift hidden states to another language and read what is said.

Liu et al. (2020), section 4.2: a weighted difference of language means is added at every position
of a hidden state, and the language-model head says which token stands there; nothing is masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from accelerate import PartialState

from mbert_atlas.analysis.token_translation import converted, inner, overlap, token_set
from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.batching import micro_batches
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.encoders.hidden_states import padding_id, require_tokenizer
from mbert_atlas.encoders.loading import load_masked_model
from mbert_atlas.encoders.precision import Precision, autocast
from mbert_atlas.encoders.upper_layers import last_states, remember
from mbert_atlas.progress import track
from mbert_atlas.representations.language_means import mean_difference
from mbert_atlas.schemas import TOKEN_TRANSLATIONS
from mbert_atlas.tokenizer import open_tokenizer
from mbert_atlas.training.pretraining import head_of

_LOGITS = 2**28
"""Most logits at once; 1 GiB in single precision."""


def translate_tokens(
    encoder: Path,
    sentences: Path,
    means: Path,
    *,
    source: str,
    target: str,
    layers: Sequence[int],
    weights: Sequence[float],
    shown: Sequence[int] = (),
    token_budget: int = 8192,
) -> pa.Table:
    """Shift sentences of a language to another at every layer with every weight; score the tokens.

    Args:
        encoder: encoder folder with its language-model head.
        sentences: what :func:`mbert_atlas.encoding.parallel.encode_parallel` wrote.
        means: what :func:`mbert_atlas.representations.language_means.language_means` wrote.
        source: the language that goes in.
        target: the one that shall come out.
        layers: hidden states that are shifted, each by itself, 0 for the embeddings.
        weights: what the difference of means is multiplied by.
        shown: numbers of sentences whose predicted tokens the table keeps.
        token_budget: most padded tokens in a batch, changes not counted.

    Returns:
        Columns of ``schemas.TOKEN_TRANSLATIONS``.

    Raises:
        DataError: if the sentences are not of the encoder's tokenizer, or it has no such head.
    """
    stored, found = load_arrays(sentences), load_arrays(means)
    require_tokenizer(sentences, stored.meta.get("tokenizer"), encoder)
    model: Any = load_masked_model(encoder, seed=0).to(PartialState().device).eval()
    ids, parts = stored.ragged("input_ids"), stored.dense("part")
    rows = {
        code: np.arange(len(parts)) + len(parts) * stored.meta["languages"].index(code)
        for code in (source, target)
    }
    size = model.config.vocab_size
    sets = [token_set(ids.take(own), size) for own in rows.values()]
    asked, gold = ids.take(rows[source]), inner(ids.take(rows[target]))
    pieces = open_tokenizer(encoder)
    table: list[dict[str, Any]] = []
    for protocol in PROTOCOLS:
        shifts = mean_difference(found, protocol, source, target)
        predicted = predict_shifted(model, asked, shifts, layers, weights, token_budget)
        for (layer, weight), tokens in predicted.items():
            for part in np.unique(parts):
                own = np.flatnonzero(parts == part)
                same = overlap(tokens.take(own), gold.take(own), size)
                only, counted = converted(tokens.take(own).values, *sets)
                place = {"source": source, "target": target, "protocol": protocol}
                table.append(
                    place
                    | {"part": int(part), "layer": layer, "weight": weight, "n": len(own)}
                    | {"corpus_bleu": same.corpus_bleu(), "mean_bleu": same.mean_bleu()}
                    | {"converted": only, "counted": counted}
                    | {"samples": [_text(pieces, tokens[n]) for n in shown if parts[n] == part]}
                )
    return pa.Table.from_pylist(table, schema=TOKEN_TRANSLATIONS)


def _text(pieces: Any, tokens: npt.NDArray[Any]) -> str:
    return " ".join(pieces.id_to_token(int(token)) for token in tokens).replace(" ##", "")


def predict_shifted(
    model: Any,
    rows: Ragged,
    shifts: npt.NDArray[np.float32],
    layers: Sequence[int],
    weights: Sequence[float],
    token_budget: int,
    precision: Precision = "auto",
) -> Mapping[tuple[int, float], Ragged]:
    """Predict the token at every position but the special ones, for each layer and weight.

    Args:
        model: an encoder with its language-model head, in evaluation mode.
        rows: token ids with a special piece at both ends.
        shifts: what is added at each hidden state, float32, shape ``(layers, dims)``.
        layers: which states.
        weights: multiples of it.
        token_budget: most padded tokens in a batch.
        precision: of the passes; logits are compared in it.

    Returns:
        By layer and weight the most probable id of each position, int32, rows like ``rows``.
    """
    device = model.device
    added = torch.from_numpy(shifts).to(device)
    factors = torch.tensor(list(weights), device=device)
    inside = inner(rows)
    found = {
        (layer, weight): np.empty(len(inside.values), dtype=np.int32)
        for layer in layers
        for weight in weights
    }
    everything = np.arange(len(rows), dtype=np.int64)
    for batch in track(micro_batches(everything, rows.lengths, token_budget), "shifted passes"):
        padded = torch.from_numpy(rows.padded(batch, padding_id(model))).to(device)
        lengths = torch.from_numpy(rows.lengths[batch]).to(device)[:, None]
        columns = torch.arange(padded.shape[1], device=device)
        wanted = (columns > 0) & (columns < lengths - 1)
        places = inside.offsets[batch][:, None] + np.arange(padded.shape[1]) - 1
        places = places[wanted.cpu().numpy()]
        with torch.inference_mode(), autocast(precision, device):
            inputs = {"input_ids": padded, "attention_mask": (columns < lengths).long()}
            below = remember(model.base_model, inputs, layers)
            for layer in layers:
                steps = factors[:, None, None, None] * added[layer]
                states = last_states(model.base_model, below, layer, below.states[layer] + steps)
                for weight, state in zip(weights, states, strict=True):
                    tokens = _most_probable(model, state[wanted])
                    found[layer, weight][places] = tokens.cpu().numpy()
    return {key: Ragged(values, inside.offsets) for key, values in found.items()}


def _most_probable(model: Any, states: torch.Tensor) -> torch.Tensor:
    size = max(1, _LOGITS // model.config.vocab_size)
    return torch.cat([head_of(model)(part).argmax(dim=-1) for part in torch.split(states, size)])
