"""Natural language inference by static vectors of word pieces, which stay as they are.

Were they trained, those of English pieces alone would move, and with them away from the others'.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from accelerate import PartialState
from scipy.sparse import csr_array
from torch import nn
from torch.nn import functional

from mbert_atlas import tasks
from mbert_atlas.arrays import Ragged, TokenStore, load_arrays
from mbert_atlas.config.static_vectors import PairClassifier
from mbert_atlas.encoding.stores import open_store
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator

_TASK = "nli"
_ROWS = 4096


def classify_with_static_vectors(
    spec: PairClassifier,
    vectors: Path,
    train: Path,
    evaluate: Mapping[str, Path],
    output: Path,
    *,
    seed: int,
    languages: Mapping[str, list[str]],
) -> None:
    """Train a network of one hidden layer on mean vectors of premises and hypotheses; predict.

    It sees [u; v; |u - v|; u * v] of the mean vectors u and v, each number standardised: in
    training over its batch, in prediction by the average over all batches.

    Args:
        spec: the network and its training.
        vectors: what :func:`mbert_atlas.static_vectors.training.train_static_vectors` wrote.
        train: encoded pairs to learn from.
        evaluate: encoded pairs to predict, by name.
        output: predictions, columns of ``schemas.CLASS_PREDICTIONS``.
        seed: decides initial weights, dropout and order.
        languages: which languages of each set are predicted.

    Raises:
        DataError: if pairs were encoded by another tokenizer.
    """
    stored = load_arrays(vectors)
    table = stored.dense("vectors")
    stores = {name: _open(path, stored, vectors) for name, path in evaluate.items()}
    learnt = _open(train, stored, vectors)
    sides = mean_vectors(learnt, table)
    labels: list[str] = learnt.meta["labels"]
    device = PartialState().device
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "network"))
        dims = table.shape[1]
        network = nn.Sequential(
            nn.BatchNorm1d(4 * dims, affine=False, momentum=None),
            nn.Dropout(spec.dropout),
            nn.Linear(4 * dims, spec.hidden_size),
            nn.ReLU(),
            nn.Dropout(spec.dropout),
            nn.Linear(spec.hidden_size, len(labels)),
        ).to(device)
        _train(network, sides, learnt.dense("labels").astype(np.int64), spec, seed)
    network.eval()
    found = []
    for name, store in stores.items():
        rows = np.flatnonzero(np.isin(store.dense("language"), languages[name]))
        sides = mean_vectors(store, table)
        with torch.inference_mode():
            parts = [
                network(features(*(side[part] for side in sides)).to(device)).softmax(-1).cpu()
                for part in np.array_split(rows, max(1, len(rows) // _ROWS))
            ]
        outputs = Ragged(torch.cat(parts).numpy(), np.arange(len(rows) + 1))
        task = tasks.get(_TASK)
        found.append(task.decode(task.examples(store, rows), outputs, store.meta["labels"], name))
    write_parquet(pa.concat_tables(found), output)


def _open(path: Path, vectors: TokenStore, origin: Path) -> TokenStore:
    store = open_store(path, _TASK)
    if store.meta["tokenizer"] != vectors.meta["tokenizer"]:
        raise DataError(
            path,
            "meta.json, key tokenizer",
            f"the pairs were not encoded by the tokenizer of {origin}",
            "encode them anew",
        )
    return store


def mean_vectors(store: TokenStore, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean vectors of the pieces of each premise and of each hypothesis.

    Args:
        store: encoded pairs, [CLS] premise [SEP] hypothesis [SEP].
        table: vectors of pieces, float32, ``(vocabulary, dims)``; special ones are zeros.

    Returns:
        Float32, both of shape ``(n, dims)``.
    """
    # Row i of a matrix with 1 / count at the pieces of text i, times the table, is its mean.
    ids, start = store.ragged("input_ids"), store.dense("segment_start")
    owner = np.repeat(np.arange(len(ids)), ids.lengths)
    place = np.arange(len(owner)) - ids.offsets[:-1][owner]
    known = np.asarray(table.any(axis=1))[ids.values]
    found = []
    for side in (place < start[owner], place >= start[owner]):
        chosen = np.flatnonzero(side & known)
        counts = np.bincount(owner[chosen], minlength=len(ids))
        shares = (1 / np.maximum(counts, 1))[owner[chosen]].astype(np.float32)
        shape = (len(ids), len(table))
        matrix = csr_array((shares, (owner[chosen], ids.values[chosen])), shape=shape)
        found.append(np.asarray(matrix @ table, dtype=np.float32))
    return found[0], found[1]


def features(premises: np.ndarray, hypotheses: np.ndarray) -> torch.Tensor:
    """Return [u; v; |u - v|; u * v], float32, ``(n, 4 dims)``."""
    u, v = torch.from_numpy(premises), torch.from_numpy(hypotheses)
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def _train(
    network: nn.Module,
    sides: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
    spec: PairClassifier,
    seed: int,
) -> None:
    device = PartialState().device
    optimiser = torch.optim.Adam(network.parameters(), lr=spec.learning_rate)
    order = generator(seed, "order")
    network.train()
    for epoch in range(spec.epochs):
        shuffled = order.permutation(len(labels))
        batches = np.array_split(shuffled, max(1, len(shuffled) // spec.batch_size))
        for batch in track(batches, f"pairs, epoch {epoch + 1} of {spec.epochs}"):
            inputs = features(*(side[batch] for side in sides)).to(device)
            gold = torch.from_numpy(labels[batch]).to(device)
            loss: torch.Tensor = functional.cross_entropy(network(inputs), gold)
            torch.autograd.backward(loss)
            optimiser.step()
            optimiser.zero_grad()
