"""What all texts of a language have in common: mean hidden states (Liu et al. 2020, 4.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from accelerate import PartialState

from mbert_atlas.arrays import TokenStore, load_arrays, save_arrays
from mbert_atlas.config.base import Protocol
from mbert_atlas.encoders.hidden_states import (
    iterate_hidden_states,
    number_of_layers,
    require_tokenizer,
)
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator

MEANS: dict[Protocol, str] = {"published": "means_of_texts", "corrected": "means_of_tokens"}
"""What a protocol calls the mean of a language."""


def language_means(
    encoder: Path,
    store: Path,
    output: Path,
    *,
    languages: Sequence[str],
    texts: int,
    seed: int = 0,
    token_budget: int | None = None,
) -> None:
    """Encode texts of some languages once and write the means of all layers.

    Args:
        encoder: encoder folder; runs in fp32.
        store: token store of texts with ``language`` of each.
        output: token store to write: ``means_of_texts``, the mean over texts of their means over
            all positions, special pieces included (as the authors' later code takes it), and
            ``means_of_tokens``, the mean over all tokens but these; both float64, ``(n, layers,
            dims)``; ``texts``, how many there were, int64, ``(n,)``; and ``languages`` in the meta
            data.
        languages: which, in the order of the rows.
        texts: of each language, drawn by the seed; fewer where there are fewer.
        seed: see above.
        token_budget: most padded tokens in a batch; none: what suits the device.

    Raises:
        DataError: if a language has no text, or the store is of another tokenizer.
    """
    stored = load_arrays(store)
    require_tokenizer(store, stored.meta.get("tokenizer"), encoder)
    model = load_encoder(encoder).to(PartialState().device)
    layers = list(range(number_of_layers(model)))
    ids, of_text = stored.ragged("input_ids"), stored.dense("language")
    found: dict[str, list[np.ndarray]] = {name: [] for name in MEANS.values()}
    counts = []
    for code in track(languages, "languages"):
        rows = np.flatnonzero(of_text == code)
        if len(rows) == 0:
            raise DataError(store, f"language {code}", "there is no text", "encode some or drop it")
        rows = generator(seed, "texts", code).permutation(rows)[:texts]
        shape = (len(layers), model.config.hidden_size)
        of_texts, of_tokens = (
            torch.zeros(shape, dtype=torch.float64, device=model.device) for _ in range(2)
        )
        for batch in iterate_hidden_states(
            model, ids, layers=layers, rows=rows, token_budget=token_budget
        ):
            places = torch.arange(batch.layers[0].shape[1], device=batch.lengths.device)
            ends = batch.lengths[:, None]
            weights = (places < ends) / ends.double()
            inside = ((places > 0) & (places < ends - 1)).double()
            for layer, state in enumerate(batch.layers):
                of_texts[layer] += torch.einsum("bt,btd->d", weights, state.double())
                of_tokens[layer] += torch.einsum("bt,btd->d", inside, state.double())
        counts.append(len(rows))
        tokens = int((ids.lengths[rows] - 2).sum())
        found["means_of_texts"].append((of_texts / len(rows)).cpu().numpy())
        found["means_of_tokens"].append((of_tokens / max(tokens, 1)).cpu().numpy())
    arrays = {name: np.stack(means) for name, means in found.items()}
    save_arrays(output, {**arrays, "texts": np.array(counts)}, {"languages": list(languages)})


def mean_difference(means: TokenStore, protocol: Protocol, source: str, target: str) -> np.ndarray:
    """Return the mean of a language less that of another, float32, shape ``(layers, dims)``.

    Args:
        means: what :func:`language_means` wrote.
        protocol: whose means.
        source: the language that is taken off.
        target: the one that is added.
    """
    own, languages = means.dense(MEANS[protocol]), means.meta["languages"]
    return np.asarray(own[languages.index(target)] - own[languages.index(source)], dtype=np.float32)
