"""Mean hidden states of the texts of a language (Liu et al. 2020, section 4.1.1)."""

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
from mbert_atlas.progress import track
from mbert_atlas.representations.language_vectors import shuffled_rows

MEANS: dict[Protocol, str] = {"published": "means_of_texts", "corrected": "means_of_tokens"}
"""Array with a protocol's means."""


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
            all positions, special tokens included (as in the authors' later code), and
            ``means_of_tokens``, the mean over all tokens but these; both float64, ``(n, layers,
            dims)``; ``texts``, their number, int64, ``(n,)``; and ``languages`` in the meta data.
        languages: in the order of the rows.
        texts: most texts of each language.
        seed: decides which texts.
        token_budget: most padded tokens in a batch; none: what suits the device.

    Raises:
        DataError: if a language has no text, or the store is of another tokenizer.
    """
    stored = load_arrays(store)
    require_tokenizer(store, stored.meta.get("tokenizer"), encoder)
    model = load_encoder(encoder).to(PartialState().device)
    layers = list(range(number_of_layers(model)))
    ids = stored.ragged("input_ids")
    means: dict[str, list[np.ndarray]] = {name: [] for name in MEANS.values()}
    counts = []
    for code in track(languages, "languages"):
        rows = shuffled_rows(store, stored, code, seed)[:texts]
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
        means["means_of_texts"].append((of_texts / len(rows)).cpu().numpy())
        means["means_of_tokens"].append((of_tokens / max(tokens, 1)).cpu().numpy())
    arrays = {name: np.stack(rows) for name, rows in means.items()}
    save_arrays(output, {**arrays, "texts": np.array(counts)}, {"languages": list(languages)})


def mean_difference(means: TokenStore, protocol: Protocol, source: str, target: str) -> np.ndarray:
    """Return the mean of a language minus that of another, float32, shape ``(layers, dims)``.

    Args:
        means: output of :func:`language_means`.
        protocol: decides which means.
        source: the language that is subtracted.
        target: the language that it is subtracted from.
    """
    vectors, languages = means.dense(MEANS[protocol]), means.meta["languages"]
    difference = vectors[languages.index(target)] - vectors[languages.index(source)]
    return np.asarray(difference, dtype=np.float32)
