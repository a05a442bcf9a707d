"""Static vectors from the token store that an encoder is pretrained on: Word2Vec, GloVe.

GloVe (Pennington et al. 2014) learns vectors whose products are logarithms of counts.
"""

import logging
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gensim.models import Word2Vec
from torch import nn

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.config.static_vectors import StaticVectors
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoding.texts import inner
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.tokenizer import open_tokenizer

_logger = logging.getLogger(__name__)
MINIMUM_COUNT = 5  # rarer subwords have a zero vector
_EXPONENT, _LARGEST_WEIGHT_AT = 0.75, 100.0
_TOKENS_AT_A_TIME = 2**21
Keys = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]


def train_static_vectors(
    spec: StaticVectors, tokenizer_dir: Path, store: Path, output: Path, *, threads: int = 1
) -> None:
    """Learn vectors of all subwords and write them as a token store.

    The output has ``vectors`` (float32, ``(vocabulary, dims)``), zeros where a subword is too rare,
    and ``counts`` of all subwords but special ones at the ends of rows (int64, ``(vocabulary,)``).
    The input is what :func:`mbert_atlas.encoding.pretraining.encode_texts` wrote with the
    tokenizer. With several threads, vectors of word2vec differ slightly between runs.
    """
    encoded = load_arrays(store)
    rows, size = encoded.ragged("input_ids"), open_tokenizer(tokenizer_dir).get_vocab_size()
    ends = np.concatenate([rows.values[rows.offsets[:-1]], rows.values[rows.offsets[1:] - 1]])
    counts = np.bincount(rows.values, minlength=size) - np.bincount(ends, minlength=size)
    if spec.method == "word2vec":
        vectors = _skip_gram(rows, size, spec, threads)
    else:
        vectors = glove(rows, size, spec, counts)
    meta = {"tokenizer": encoded.meta["tokenizer"], "method": spec.method}
    save_arrays(output, {"vectors": vectors, "counts": counts}, meta)


def _skip_gram(
    rows: Ragged, size: int, spec: StaticVectors, threads: int
) -> npt.NDArray[np.float32]:
    """Learn vectors by skip-gram with negative sampling (Mikolov et al. 2013).

    gensim's defaults: 5 negative samples, and frequent subwords sampled with the threshold .001.
    """
    model: Any = Word2Vec(
        _Sentences(rows),
        vector_size=spec.dims,
        window=spec.window,
        sg=1,
        min_count=MINIMUM_COUNT,
        alpha=spec.learning_rate,
        epochs=spec.epochs,
        seed=spec.seed,
        workers=threads,
    )
    vectors = np.zeros((size, spec.dims), dtype=np.float32)
    vectors[list(map(int, model.wv.index_to_key))] = model.wv.vectors
    return vectors


class _Sentences:
    """Rows as lists of words, iterated by gensim once per epoch."""

    def __init__(self, rows: Ragged) -> None:
        self._rows, self._passes = rows, 0

    def __iter__(self) -> Iterator[list[str]]:
        self._passes += 1
        title = f"word2vec, pass {self._passes} (the first one counts)"
        for number in track(range(len(self._rows)), title):
            yield list(map(str, self._rows[number][1:-1].tolist()))


def count_neighbours(rows: Ragged, size: int, window: int) -> tuple[Keys, Values]:
    """Count pairs of subwords at most ``window`` tokens apart in a row, weighted by 1 / distance.

    The special tokens at both ends of rows are left out. Returns keys, the smaller id times the
    ``size`` of the vocabulary plus the larger one, int64, sorted, and the counts X_ij = X_ji,
    float32; both of shape ``(n,)``. Memory: about twice that, and that of one part of the tokens.
    """
    # A row a b c with window 2: at distance 1 the pairs ab and bc count 1, at distance 2 ac counts
    # 1/2; ba, cb and ca have the same counts and are left out. In a a each is next to the other: 2.
    counts = np.zeros(0, np.int64), np.zeros(0, np.float32)
    bounds = np.searchsorted(rows.offsets, np.arange(0, rows.offsets[-1], _TOKENS_AT_A_TIME))
    bounds = np.unique([*bounds, len(rows)])
    for start, stop in track(list(pairwise(bounds)), "counting pairs"):
        part = inner(rows.take(np.arange(start, stop)))
        owner, ids = np.repeat(np.arange(len(part)), part.lengths), part.values.astype(np.int64)
        keys, values = [], []
        for distance in range(1, window + 1):
            together = owner[distance:] == owner[:-distance]
            one, two = ids[:-distance][together], ids[distance:][together]
            keys.append(np.minimum(one, two) * size + np.maximum(one, two))
            values.append(np.where(one == two, 2 / distance, 1 / distance).astype(np.float32))
        counts = _added(*counts, np.concatenate(keys), np.concatenate(values))
    return counts


def _added(keys: Keys, values: Values, more: Keys, added: Values) -> tuple[Keys, Values]:
    """Add values to sorted keys; ``more`` are in any order, each may come several times."""
    order = np.argsort(more, kind="stable")
    more, added = more[order], added[order]
    first = np.flatnonzero(np.diff(more, prepend=-1))
    more, added = more[first], np.add.reduceat(added, first)
    # Only new keys are sorted. Of 2 and 5, both at place 1 of 1 5 7, the 5 exists and grows;
    # the 2 is inserted before it.
    places = np.searchsorted(keys, more)
    exists = places < len(keys)
    exists[exists] = keys[places[exists]] == more[exists]
    values[places[exists]] += added[exists]
    keys = np.insert(keys, places[~exists], more[~exists])
    return keys, np.insert(values, places[~exists], added[~exists])


def both_directions(keys: Keys, values: Values, size: int) -> tuple[npt.NDArray[np.int32], Values]:
    """Return the pairs that Eq. 8 sums over, i j and j i, of what :func:`count_neighbours` returns.

    Pairs are int32, since there may be a billion, ``(m, 2)``, their counts float32, ``(m,)``.
    """
    pairs = np.empty((len(keys), 2), dtype=np.int32)
    np.divmod(keys, size, out=(pairs[:, 0], pairs[:, 1]), casting="unsafe")
    different = pairs[:, 0] < pairs[:, 1]
    mirrored = np.concatenate([pairs, pairs[different, ::-1]])
    return mirrored, np.concatenate([values, values[different]])


def glove(
    rows: Ragged, size: int, spec: StaticVectors, token_counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Learn subword vectors by weighted least squares on logarithms of counts, with AdaGrad.

    A subword's vector is w + u, see :func:`loss`; float32, shape ``(size, dims)``, zeros where
    ``token_counts``, shape ``(size,)``, are too small. Special tokens at both ends of rows are left
    out. Uses a GPU if there is one, with 12 bytes per count.
    """
    keys, values = count_neighbours(rows, size, spec.window)
    common = token_counts >= MINIMUM_COUNT
    kept = common[keys // size] & common[keys % size]
    device = default_device()
    pairs, counts = (
        torch.from_numpy(array).to(device)
        for array in both_directions(keys[kept], values[kept], size)
    )
    model = Factors(size, spec.dims, spec.seed).to(device)
    # Accumulators start at 1, as in the authors' program: early steps are at most the rate.
    optimiser = torch.optim.Adagrad(
        model.parameters(), lr=spec.learning_rate, initial_accumulator_value=1.0
    )
    order = torch.Generator().manual_seed(derive_seed(spec.seed, "order"))
    for epoch in range(spec.epochs):
        shuffled = torch.randperm(len(pairs), generator=order)
        total = torch.zeros((), dtype=torch.float64, device=device)
        title = f"GloVe, pass {epoch + 1} of {spec.epochs}"
        for batch in track(torch.split(shuffled, spec.batch_size), title):
            batch = batch.to(device)
            error = loss(model(pairs[batch].long()), counts[batch])
            torch.autograd.backward(error)
            optimiser.step()
            optimiser.zero_grad()
            total += error.detach()
        _logger.info("%s: mean loss %.4f", title, total / len(pairs))
    vectors = (model.words.weight + model.contexts.weight)[:, :-1].detach().cpu().numpy()
    vectors[~common] = 0
    return np.asarray(vectors, dtype=np.float32)


def loss(products: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Return J = sum_ij min(1, (X_ij / x_max)^.75) (w_i u_j + b_i + c_j - log X_ij)^2 (Eq. 8).

    ``products`` of :class:`Factors` and ``counts`` X are float32, shape ``(n,)``; x_max is 100.
    """
    weights = (counts / _LARGEST_WEIGHT_AT).clamp(max=1) ** _EXPONENT
    return (weights * (products - counts.log()) ** 2).sum()


class Factors(nn.Module):
    """Vectors w and u of subwords with their biases in the last column."""

    def __init__(self, size: int, dims: int, seed: int) -> None:
        super().__init__()
        random = torch.Generator().manual_seed(derive_seed(seed, "initial vectors"))
        starts = ((torch.rand(2, size, dims + 1, generator=random) - 0.5) / (dims + 1)).unbind()
        self.words, self.contexts = (
            nn.Embedding(size, dims + 1, sparse=True, _weight=start) for start in starts
        )

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        """Return w_i u_j + b_i + c_j for pairs (int64, shape ``(n, 2)``), shape ``(n,)``."""
        one, two = self.words(pairs[:, 0]), self.contexts(pairs[:, 1])
        products: torch.Tensor = (one[:, :-1] * two[:, :-1]).sum(1) + one[:, -1] + two[:, -1]
        return products
