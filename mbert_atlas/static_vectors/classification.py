"""Natural language inference by frozen static vectors of subwords.

Training them on English would move English vectors only, away from those of other languages.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from scipy.sparse import csr_array
from torch import nn
from torch.nn import functional

from mbert_atlas import tasks
from mbert_atlas.arrays import Ragged, TokenStore, load_arrays
from mbert_atlas.config.static_vectors import PairClassifier
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.files import write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator

_ROWS = 4096
_Sides = tuple[np.ndarray, np.ndarray]


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

    Its input is [u; v; |u - v|; u * v] of the mean vectors u and v, each number standardised: in
    training over its batch, in prediction by the average over all batches.

    ``vectors`` are a store of ``train_static_vectors``, pairs to learn from and sets to
    ``evaluate``, by name, token stores of the same tokenizer; the ``languages`` of each set are
    predicted, with columns of ``schemas.CLASS_PREDICTIONS``.
    """
    table = load_arrays(vectors).dense("vectors")
    training = load_arrays(train)
    tests = {name: load_arrays(path) for name, path in evaluate.items()}
    with torch.random.fork_rng():
        torch.manual_seed(derive_seed(seed, "network"))
        network = nn.Sequential(
            nn.BatchNorm1d(4 * table.shape[1], affine=False, momentum=None),
            nn.Dropout(spec.dropout),
            nn.Linear(4 * table.shape[1], spec.hidden_size),
            nn.ReLU(),
            nn.Dropout(spec.dropout),
            nn.Linear(spec.hidden_size, len(training.meta["labels"])),
        ).to(default_device())
        labels = training.dense("labels").astype(np.int64)
        _train(network, mean_vectors(training, table), labels, spec, seed)
    network.eval()
    task = tasks.get("nli")
    predictions = []
    for name, store in tests.items():
        rows = np.flatnonzero(np.isin(store.dense("language"), languages[name]))
        outputs = _probabilities(network, mean_vectors(store, table), rows)
        examples = task.examples(store, rows)
        predictions.append(task.decode(examples, outputs, name))
    write_parquet(pa.concat_tables(predictions), output)


@torch.inference_mode()
def _probabilities(network: nn.Module, sides: _Sides, rows: npt.NDArray[np.int64]) -> Ragged:
    device = default_device()
    parts = [
        network(features(*(side[part] for side in sides)).to(device)).softmax(-1).cpu()
        for part in np.array_split(rows, max(1, len(rows) // _ROWS))
    ]
    return Ragged(torch.cat(parts).numpy(), np.arange(len(rows) + 1))


def mean_vectors(store: TokenStore, table: np.ndarray) -> _Sides:
    """Return the mean subword vector of each premise and of each hypothesis, ``(n, dims)``.

    Pairs are [CLS] premise [SEP] hypothesis [SEP]. The vectors of subwords in ``table``, float32,
    ``(vocabulary, dims)``, are zeros for special ones.
    """
    # Row i of a matrix with 1 / count at the subwords of text i, times the table, is its mean.
    ids, start = store.ragged("input_ids"), store.dense("segment_start")
    text = np.repeat(np.arange(len(ids)), ids.lengths)
    place = np.arange(len(text)) - ids.offsets[:-1][text]
    has_vector = np.asarray(table.any(axis=1))[ids.values]
    means = []
    for side in (place < start[text], place >= start[text]):
        chosen = np.flatnonzero(side & has_vector)
        counts = np.bincount(text[chosen], minlength=len(ids))
        weights = (1 / np.maximum(counts, 1))[text[chosen]].astype(np.float32)
        shape = (len(ids), len(table))
        matrix = csr_array((weights, (text[chosen], ids.values[chosen])), shape=shape)
        means.append(np.asarray(matrix @ table, dtype=np.float32))
    return means[0], means[1]


def features(premises: np.ndarray, hypotheses: np.ndarray) -> torch.Tensor:
    """Return [u; v; |u - v|; u * v], float32, ``(n, 4 dims)``."""
    u, v = torch.from_numpy(premises), torch.from_numpy(hypotheses)
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def _train(
    network: nn.Module, sides: _Sides, labels: np.ndarray, spec: PairClassifier, seed: int
) -> None:
    device = default_device()
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
