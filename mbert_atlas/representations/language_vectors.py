"""Token vectors of many languages, all layers: moments of most, a sample to probe; and means.

All vectors would not fit on a disk (104 languages x 20,000 tokens x 13 layers x 768 numbers are 42
GB in float16), and directions need only means and covariances: see
:mod:`mbert_atlas.analysis.subspaces`. So each text passes the encoder once, and vectors that are
not probed are summed on the device.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.arrays import Ragged, TokenStore, save_arrays
from mbert_atlas.config.base import Protocol
from mbert_atlas.encoders.hidden_states import iterate_hidden_states, number_of_layers
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.representations.extraction import open_both, writing_vectors

_logger = logging.getLogger(__name__)
_SEED = 0
"""Decides the order of the texts."""
_MEANS: dict[Protocol, str] = {"published": "means_of_texts", "corrected": "means_of_tokens"}
Rows = npt.NDArray[np.int64]


def collect_vectors(
    *, encoder: Path, store: Path, output: Path, languages: Sequence[str], summed: int, probed: int
) -> None:
    """Encode texts of some languages; keep moments of some tokens and the vectors of others.

    No text is in both parts. A language with too few texts gets a fraction of both. Tokens are all
    but the first and last of a text.

    The moments of each language are those of ``summed`` tokens: ``means`` (float64, ``(n, layers,
    dims)``), ``scatter`` (float64, ``(layers, dims, dims)``, about each language's mean, summed
    over languages) and ``counts`` (int64, ``(n,)``). Its sample has ``probed`` tokens: ``vectors``
    (float16, ``(layers, m, dims)``), and ``language`` of each (int32, ``(m,)``, a place in
    ``languages`` of the meta data). The encoder runs in fp32. Raises a DataError if a language has
    no text, or the store is of another tokenizer.
    """
    model, stored = open_both(encoder, store)
    layers, ids = list(range(number_of_layers(model))), stored.ragged("input_ids")
    parts, sizes = [], []
    for code in languages:
        rows = _shuffled_rows(store, stored, code)
        both, counts = divided(rows, ids.lengths[rows] - 2, summed, probed)
        if counts != (summed, probed):
            _logger.warning("%s has %d and %d tokens only", code, *counts)
        parts.append(both)
        sizes.append(counts)
    of_moments, of_sample = np.array(sizes, dtype=np.int64).T
    shape = (len(layers), int(of_sample.sum()), model.config.hidden_size)
    meta = {"languages": list(languages)}
    language = np.repeat(np.arange(len(languages), dtype=np.int32), of_sample)
    arrays: dict[str, npt.NDArray[Any]] = {"counts": of_moments, "language": language}
    means, scatters, at = [], [], 0
    with writing_vectors(output, shape, arrays, meta) as vectors:
        for (first, second), counts in zip(track(parts, "languages"), sizes, strict=True):
            mean, scatter = moments(_blocks(model, ids, first, counts[0], layers))
            for block in _blocks(model, ids, second, counts[1], layers):
                vectors[:, at : at + block.shape[1]] = block.cpu().numpy()
                at += block.shape[1]
            means.append(mean.cpu().numpy())
            scatters.append(scatter.cpu().numpy())
        arrays |= {"means": np.stack(means), "scatter": np.sum(scatters, axis=0)}


def _shuffled_rows(path: Path, store: TokenStore, language: str) -> Rows:
    """Return the texts of a language, at least one, in a random order, as rows of their store."""
    rows = np.flatnonzero(store.dense("language") == language)
    if len(rows) == 0:
        raise DataError(path, f"language {language}", "there is no text", "encode some or drop it")
    return generator(_SEED, "texts", language).permutation(rows)


def divided(
    rows: Rows, tokens: npt.NDArray[np.int64], summed: int, probed: int
) -> tuple[tuple[Rows, Rows], tuple[int, int]]:
    """Divide texts, in their order, into those for the moments and those for the sample.

    Given the tokens of each text, and those requested of each part, returns the rows of both parts
    and the tokens that each gets.
    """
    # Tokens [4, 3, 5, 4] for 6 and 5: texts 0 and 1 make the moments (6 of 7), 2 the sample; of
    # half as many texts, [4, 3], text 0 makes moments (4) and text 1 the sample (3).
    total = np.cumsum(tokens)
    fits = total[-1] >= summed + probed + tokens.max()
    target = summed if fits else total[-1] * summed / (summed + probed)
    first = max(1, int(np.searchsorted(total, target)) + 1)
    first = min(first, len(rows) - 1) if len(rows) > 1 else first
    second = first + int(np.searchsorted(total[first:] - total[first - 1], probed)) + 1
    sizes = int(min(summed, total[first - 1])), int(min(probed, tokens[first:second].sum()))
    return (rows[:first], rows[first:second]), sizes


def _blocks(
    model: Any, ids: Ragged, rows: Rows, count: int, layers: Sequence[int]
) -> Iterator[torch.Tensor]:
    """Yield the vectors of the first ``count`` tokens of some texts, ``(layers, k, dims)`` each."""
    left = count
    for batch in iterate_hidden_states(model, ids, rows=rows, layers=layers):
        places = torch.arange(batch.layers[0].shape[1], device=batch.lengths.device)
        inside = (places > 0) & (places < batch.lengths[:, None] - 1)
        block = torch.stack([state[inside] for state in batch.layers])[:, :left]
        left -= block.shape[1]
        if block.shape[1]:
            yield block


def moments(blocks: Iterable[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return mean and scatter of vectors, blocks of shape ``(layers, k, dims)``, in one pass.

    Returns:
        Float64 on the blocks' device: the mean, shape ``(layers, dims)``, and the sum of
        (x - mean) (x - mean)^T, shape ``(layers, dims, dims)``.
    """
    # Chan et al. (1983): of two parts with a and b vectors and means that differ by d,
    # scatter = scatter_1 + scatter_2 + a b / (a + b) d d^T; mean = mean_1 + b / (a + b) d.
    count, mean, scatter = 0, torch.zeros(()), torch.zeros(())
    for block in blocks:
        vectors, size = block.double(), block.shape[1]
        block_mean = vectors.mean(dim=1)
        vectors = vectors - block_mean[:, None]
        step = block_mean - mean.to(block_mean)
        share = size / (count + size)
        added = vectors.transpose(1, 2) @ vectors
        scatter = scatter.to(added) + added + count * share * step[:, :, None] * step[:, None]
        mean = mean.to(block_mean) + share * step
        count += size
    return mean, scatter


def language_means(
    encoder: Path, store: Path, output: Path, *, languages: Sequence[str], texts: int
) -> None:
    """Encode at most ``texts`` texts of each language once, in fp32; write the means of all layers.

    The means of Liu et al. (2020), section 4.1.1. The token store has ``means_of_texts``, the mean
    over texts of their means over all positions, special tokens included (as in the authors' later
    code), and ``means_of_tokens``, the mean over all tokens but these; both float64, ``(n, layers,
    dims)``; and ``languages`` in the meta data. Raises a DataError if a language has no text, or
    the store is of another tokenizer.
    """
    model, stored = open_both(encoder, store)
    layers, ids = list(range(number_of_layers(model))), stored.ragged("input_ids")
    means: dict[str, list[np.ndarray]] = {name: [] for name in _MEANS.values()}
    for code in track(languages, "languages"):
        rows = _shuffled_rows(store, stored, code)[:texts]
        shape = (len(layers), model.config.hidden_size)
        of_texts, of_tokens = (
            torch.zeros(shape, dtype=torch.float64, device=model.device) for _ in range(2)
        )
        for batch in iterate_hidden_states(model, ids, layers=layers, rows=rows):
            places = torch.arange(batch.layers[0].shape[1], device=batch.lengths.device)
            ends = batch.lengths[:, None]
            weights = (places < ends) / ends.double()
            inside = ((places > 0) & (places < ends - 1)).double()
            for layer, state in enumerate(batch.layers):
                of_texts[layer] += torch.einsum("bt,btd->d", weights, state.double())
                of_tokens[layer] += torch.einsum("bt,btd->d", inside, state.double())
        tokens = int((ids.lengths[rows] - 2).sum())
        means["means_of_texts"].append((of_texts / len(rows)).cpu().numpy())
        means["means_of_tokens"].append((of_tokens / max(tokens, 1)).cpu().numpy())
    arrays = {name: np.stack(rows) for name, rows in means.items()}
    save_arrays(output, arrays, {"languages": list(languages)})


def mean_difference(means: TokenStore, protocol: Protocol, source: str, target: str) -> np.ndarray:
    """Return the mean of ``target`` minus that of ``source``, float32, shape ``(layers, dims)``.

    ``means`` is the output of :func:`language_means`; the protocol decides which ones.
    """
    vectors, languages = means.dense(_MEANS[protocol]), means.meta["languages"]
    difference = vectors[languages.index(target)] - vectors[languages.index(source)]
    return np.asarray(difference, dtype=np.float32)


def random_vectors(vectors: np.ndarray, seed: int, *names: str) -> np.ndarray:
    """Return vectors of random directions, each as long as that of ``vectors``.

    Float32, shape ``(n, dims)`` as that of ``vectors``. Directions are uniform on the sphere and
    depend on seed and names alone. A control for shifts: whether any vector of this length does.
    """
    directions = generator(seed, "random vectors", *names).normal(size=vectors.shape)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit = directions / np.linalg.norm(directions, axis=-1, keepdims=True)
    return np.asarray(lengths * unit, dtype=np.float32)
