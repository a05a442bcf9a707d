"""Unsupervised token translation: tokens predicted from shifted hidden states.

Liu et al. (2020), section 4.2: a weighted difference of language means is added at every position
of a hidden state, and the language-model head predicts the token there; nothing is masked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.arrays import Ragged
from mbert_atlas.batching import micro_batches
from mbert_atlas.encoders.hidden_states import padding_id
from mbert_atlas.encoders.hooks import last_states, remember
from mbert_atlas.encoders.precision import autocast, fitting_tokens
from mbert_atlas.encoding.texts import inner
from mbert_atlas.progress import track
from mbert_atlas.training.pretraining import head_of

_LOGITS = 2**28
"""Most logits at once; 1 GiB in single precision."""


def predict_shifted(
    model: Any,
    rows: Ragged,
    shifts: npt.NDArray[np.float32],
    layers: Sequence[int],
    weights: Sequence[float],
) -> Mapping[tuple[int, float], Ragged]:
    """Predict the token at every position but the special ones, for each layer and weight.

    The model, in evaluation mode, has its language-model head; rows have a special token at both
    ends. Each of the ``layers`` is shifted by itself, by its vector of ``shifts``, float32, shape
    ``(layers, dims)``, times a weight.

    Returns:
        By layer and weight the most probable id of each position, int32, rows like ``rows``.
    """
    device = model.device
    added = torch.from_numpy(shifts).to(device)
    factors = torch.tensor(list(weights), device=device)
    inside = inner(rows)
    predicted = {
        (layer, weight): np.empty(len(inside.values), dtype=np.int32)
        for layer in layers
        for weight in weights
    }
    budget = fitting_tokens(device) // len(weights)
    batches = micro_batches(np.arange(len(rows), dtype=np.int64), rows.lengths, budget)
    for batch in track(batches, "shifted passes"):
        padded = torch.from_numpy(rows.padded(batch, padding_id(model))).to(device)
        lengths = torch.from_numpy(rows.lengths[batch]).to(device)[:, None]
        columns = torch.arange(padded.shape[1], device=device)
        is_inside = (columns > 0) & (columns < lengths - 1)
        places = inside.offsets[batch][:, None] + np.arange(padded.shape[1]) - 1
        places = places[is_inside.cpu().numpy()]
        with torch.inference_mode(), autocast("auto", device):  # logits are compared in it
            inputs = {"input_ids": padded, "attention_mask": (columns < lengths).long()}
            below = remember(model.base_model, inputs, layers)
            for layer in layers:
                steps = factors[:, None, None, None] * added[layer]
                states = last_states(model.base_model, below, layer, below.states[layer] + steps)
                for weight, state in zip(weights, states, strict=True):
                    tokens = _most_probable(model, state[is_inside])
                    predicted[layer, weight][places] = tokens.cpu().numpy()
    return {key: Ragged(values, inside.offsets) for key, values in predicted.items()}


def _most_probable(model: Any, states: torch.Tensor) -> torch.Tensor:
    size = max(1, _LOGITS // model.config.vocab_size)
    return torch.cat([head_of(model)(part).argmax(dim=-1) for part in torch.split(states, size)])
