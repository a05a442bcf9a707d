"""Token vectors of many languages, of all layers: sums of most, and a sample to probe.

All of them would not fit on a disk (104 languages x 20,000 tokens x 13 layers x 768 numbers are 42
GB in float16), and directions need no more than means and covariances: see
:mod:`mbert_atlas.analysis.subspaces`. So each text passes the encoder once, and what is not probed
is added up on the device.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from accelerate import PartialState

from mbert_atlas.arrays import Ragged, create_array, load_arrays
from mbert_atlas.encoders.hidden_states import (
    iterate_hidden_states,
    number_of_layers,
    require_tokenizer,
)
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, write_json
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator

_logger = logging.getLogger(__name__)


def collect_vectors(
    *,
    encoder: Path,
    store: Path,
    output: Path,
    languages: Sequence[str],
    summed: int,
    probed: int,
    seed: int = 0,
    token_budget: int | None = None,
) -> None:
    """Encode texts of some languages; keep moments of some tokens and the vectors of others.

    Texts are taken in an order that the seed draws, first for the moments, others for the sample,
    so that no text is in both. A language with too little text gives a share of both.

    Args:
        encoder: encoder folder; runs in fp32.
        store: token store of texts; tokens are all pieces but the first and last of a text.
        output: token store to write: ``means`` (float64, ``(n, layers, dims)``), ``scatter``
            (float64, ``(layers, dims, dims)``, about each language's own mean, added up),
            ``counts`` (int64, ``(n,)``); ``vectors`` (float16, ``(layers, m, dims)``) of the sample
            and ``language`` of each (int32, ``(m,)``, a place in ``languages`` of the meta data).
        languages: which, in the order of the rows.
        summed: tokens of each language that make the moments.
        probed: tokens of each in the sample.
        seed: decides which texts.
        token_budget: most padded tokens in a batch; none: what suits the device.

    Raises:
        DataError: if a language has no text, or the store is of another tokenizer.
    """
    stored = load_arrays(store)
    require_tokenizer(store, stored.meta.get("tokenizer"), encoder)
    model = load_encoder(encoder).to(PartialState().device)
    layers = list(range(number_of_layers(model)))
    ids, of_text = stored.ragged("input_ids"), stored.dense("language")
    parts = {}
    for code in languages:
        found = np.flatnonzero(of_text == code)
        if len(found) == 0:
            raise DataError(store, f"language {code}", "there is no text", "encode some or drop it")
        order = generator(seed, "texts", code).permutation(found)
        parts[code] = divided(order, ids.lengths[order] - 2, summed, probed)
    shape = (len(layers), sum(counts[1] for _, counts in parts.values()), model.config.hidden_size)
    options: dict[str, Any] = {"layers": layers, "token_budget": token_budget}
    means, scatters, counts, owner, at = [], [], [], [], 0
    with atomic_directory(output) as folder:
        vectors = create_array(folder / "vectors.npy", "float16", shape)
        for number, (code, (rows, sizes)) in enumerate(track(parts.items(), "languages")):
            blocks = _blocks(model, ids, rows[0], sizes[0], options)
            mean, scatter = moments(blocks)
            for block in _blocks(model, ids, rows[1], sizes[1], options):
                vectors[:, at : at + block.shape[1]] = block.cpu().numpy()
                at += block.shape[1]
            means.append(mean.cpu().numpy())
            scatters.append(scatter.cpu().numpy())
            counts.append(sizes[0])
            owner += [number] * sizes[1]
            if sizes != (summed, probed):
                _logger.warning("%s has %d and %d tokens only", code, *sizes)
        vectors.flush()
        arrays = {
            "means": np.stack(means),
            "scatter": np.sum(scatters, axis=0),
            "counts": np.array(counts, dtype=np.int64),
            "language": np.array(owner, dtype=np.int32),
        }
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        meta = {"languages": list(languages), "summed": summed, "probed": probed}
        write_json({"arrays": sorted(["vectors", *arrays]), **meta}, folder / "meta.json")


def divided(
    rows: npt.NDArray[np.int64], tokens: npt.NDArray[np.int64], summed: int, probed: int
) -> tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]], tuple[int, int]]:
    """Divide texts into those for the moments and those for the sample.

    Args:
        rows: texts, in the order in which they are taken.
        tokens: tokens of each.
        summed: tokens wanted for the moments.
        probed: tokens wanted for the sample.

    Returns:
        The rows of both, and how many tokens each gets.
    """
    # Tokens [4, 3, 5, 4] for 6 and 5: texts 0 and 1 make the moments (6 of 7), 2 the sample; of
    # half as many texts, [4, 3], text 0 makes moments (4) and text 1 the sample (3).
    total = np.cumsum(tokens)
    fits = total[-1] >= summed + probed + tokens.max()
    wanted = summed if fits else total[-1] * summed / (summed + probed)
    first = max(1, int(np.searchsorted(total, wanted)) + 1)
    first = min(first, len(rows) - 1) if len(rows) > 1 else first
    second = first + int(np.searchsorted(total[first:] - total[first - 1], probed)) + 1
    sizes = (
        int(min(summed, total[first - 1])),
        int(min(probed, tokens[first:second].sum())),
    )
    return (rows[:first], rows[first:second]), sizes


def _blocks(
    model: Any,
    ids: Ragged,
    rows: npt.NDArray[np.int64],
    wanted: int,
    options: dict[str, Any],
) -> Iterator[torch.Tensor]:
    """Yield the vectors of the tokens of some texts, ``(layers, k, dims)``, ``wanted`` in all."""
    left = wanted
    for batch in iterate_hidden_states(model, ids, rows=rows, **options):
        places = torch.arange(batch.layers[0].shape[1], device=batch.lengths.device)
        inside = (places > 0) & (places < batch.lengths[:, None] - 1)
        block = torch.stack([state[inside] for state in batch.layers])[:, :left]
        left -= block.shape[1]
        if block.shape[1]:
            yield block


def moments(blocks: Iterable[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and scatter of vectors, each of which is seen once.

    Args:
        blocks: shape ``(layers, k, dims)``, k > 0.

    Returns:
        Float64 on the blocks' device: the mean, shape ``(layers, dims)``, and the sum of
        (x - mean) (x - mean)^T, shape ``(layers, dims, dims)``.
    """
    # Chan et al. (1983): of two parts with a and b vectors and means that differ by d,
    # scatter = scatter_1 + scatter_2 + a b / (a + b) d d^T; mean = mean_1 + b / (a + b) d.
    count, mean, scatter = 0, torch.zeros(()), torch.zeros(())
    for block in blocks:
        vectors, size = block.double(), block.shape[1]
        own = vectors.mean(dim=1)
        vectors = vectors - own[:, None]
        step = own - mean.to(own)
        share = size / (count + size)
        added = vectors.transpose(1, 2) @ vectors
        scatter = scatter.to(added) + added + count * share * step[:, :, None] * step[:, None]
        mean = mean.to(own) + share * step
        count += size
    return mean, scatter
