"""Language identification by a linear layer on cached vectors (tanti2021, section 3, appendix C).

The encoder is frozen, so its vectors are computed once and only the layer is trained on them. The
authors pass the data through the encoder in every epoch, with its dropout on; cached vectors have
none, only the dropout before the layer is left.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mbert_atlas.analysis.scores import Confusion
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed
from mbert_atlas.representations.reading import read_labelled_vectors
from mbert_atlas.schemas import CLASS_PREDICTIONS
from mbert_atlas.specifications import Probe

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LinearProbe:
    """A trained linear classifier.

    Attributes:
        classes: labels in the order of the columns.
        weights: shape ``(classes, dims)``, on standardised vectors where ``scale`` says so.
        bias: shape ``(classes,)``.
        shift: subtracted from the vectors, shape ``(dims,)``.
        scale: what they are then divided by, shape ``(dims,)``.
        history: validation macro F1 by epoch (from 0, before training) or by inverse penalty.
        chosen: the epoch or inverse penalty that was kept.
    """

    classes: list[str]
    weights: Floats
    bias: Floats
    shift: Floats
    scale: Floats
    history: dict[str, float] = field(default_factory=dict)
    chosen: str = ""

    def probabilities(self, vectors: npt.NDArray[Any]) -> Floats:
        """Return class probabilities, float32, shape ``(n, classes)``."""
        logits = ((vectors - self.shift) / self.scale) @ self.weights.T + self.bias
        logits = np.exp(logits - logits.max(1, keepdims=True))
        return np.asarray(logits / logits.sum(1, keepdims=True), dtype=np.float32)


def probe_language_identification(
    *,
    vectors: Path,
    examples: Path,
    specification: Probe,
    seed: int,
    output: Path,
    dataset: str = "language_identification",
    report: Path | None = None,
    layer: int = -1,
    others: Mapping[str, tuple[Path, Path]] | None = None,
    threads: int | None = None,
) -> None:
    """Train the probe on the train split and write predictions for the test split.

    Args:
        vectors: cached vectors, row i for row i of ``examples``.
        examples: Parquet with columns ``id``, ``language`` and ``split``.
        specification: the protocol.
        seed: decides initial weights, order and dropout (nothing under ``lbfgs``).
        output: Parquet to write, columns :data:`mbert_atlas.schemas.CLASS_PREDICTIONS`.
        dataset: name of the examples in the predictions.
        report: JSON to write: classes, validation macro F1 by epoch or penalty, the choice.
        layer: hidden state to probe; -1 for the last one kept.
        others: further data sets to identify with the same probe (the target task's test set):
            vectors and table by name; rows with a ``split`` other than ``test`` are left out.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if vectors and examples don't fit, a split is empty or there is one language.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    matrix, table = read_labelled_vectors(vectors, examples, layer)
    rows = {name: _rows_of(examples, table, name) for name in ("train", "validation", "test")}
    languages = np.asarray(table["language"].to_pylist(), dtype=object)
    if len(set(languages[rows["train"]])) < 2:
        raise DataError(examples, "column language", "only one language", "add another one")
    probe = fit_probe(
        matrix[rows["train"]],
        languages[rows["train"]],
        matrix[rows["validation"]],
        languages[rows["validation"]],
        specification,
        seed,
    )
    parts = [predictions(probe, matrix[rows["test"]], table.take(rows["test"]), dataset)]
    for name, (folder, path) in (others or {}).items():
        matrix, table = read_labelled_vectors(folder, path, layer)
        kept = np.arange(table.num_rows)
        if "split" in table.column_names:
            kept = _rows_of(path, table, "test")
        parts.append(predictions(probe, matrix[kept], table.take(kept), name))
    if report is not None:
        facts = {"classes": probe.classes, "validation": probe.history, "chosen": probe.chosen}
        write_json(facts, report)
    write_parquet(pa.concat_tables(parts), output)


def fit_probe(
    vectors: npt.NDArray[Any],
    labels: npt.NDArray[np.object_],
    validation_vectors: npt.NDArray[Any],
    validation_labels: npt.NDArray[np.object_],
    specification: Probe,
    seed: int,
) -> LinearProbe:
    """Train a linear classifier and choose its epoch or penalty on validation data.

    The choice goes by macro F1 over the union of gold and predicted classes, as the authors' does;
    the first of equals wins.

    Args:
        vectors: training data, shape ``(n, dims)``.
        labels: shape ``(n,)``.
        validation_vectors: shape ``(m, dims)``.
        validation_labels: shape ``(m,)``.
        specification: the protocol.
        seed: see :func:`probe_language_identification`.
    """
    classes, codes = np.unique(labels.astype(str), return_inverse=True)
    x = vectors.astype(np.float32)
    shift, scale = np.zeros(x.shape[1], np.float32), np.ones(x.shape[1], np.float32)
    if specification.standardise:
        shift, spread = x.mean(0, dtype=np.float64), x.std(0, dtype=np.float64)
        shift = shift.astype(np.float32)
        scale = np.where(spread > 0, spread, 1.0).astype(np.float32)
    x = (x - shift) / scale
    validation = (validation_vectors.astype(np.float32) - shift) / scale
    gold = validation_labels.astype(str)

    def score(weights: Floats, bias: Floats) -> float:
        best = (validation @ weights.T + bias).argmax(1)
        return Confusion.of(gold, classes[best]).macro_f1("union")

    candidates = (_train_adam if specification.solver == "adam" else _train_lbfgs)(
        x, codes, len(classes), specification, seed
    )
    history: dict[str, float] = {}
    kept: tuple[str, Floats, Floats] | None = None
    for name, weights, bias in candidates:
        history[name] = score(weights, bias)
        if kept is None or history[name] > history[kept[0]]:
            kept = name, weights, bias
    assert kept is not None  # both solvers give at least one candidate
    return LinearProbe(
        classes=classes.tolist(),
        weights=kept[1],
        bias=kept[2],
        shift=shift,
        scale=scale,
        history=history,
        chosen=kept[0],
    )


def predictions(
    probe: LinearProbe, vectors: npt.NDArray[Any], table: pa.Table, dataset: str
) -> pa.Table:
    """Return the predicted language of each row of ``table``, as ``CLASS_PREDICTIONS``."""
    probabilities = probe.probabilities(vectors)
    names = pa.array(probe.classes, pa.string())
    return pa.table(
        {
            "dataset": pa.repeat(pa.scalar(dataset), table.num_rows),
            "language": table["language"],
            "example_id": table["id"],
            "gold": table["language"],
            "prediction": names.take(pa.array(probabilities.argmax(1))),
            "probabilities": pa.FixedSizeListArray.from_arrays(
                probabilities.ravel(), len(probe.classes)
            ).cast(pa.list_(pa.float32())),
        },
        schema=CLASS_PREDICTIONS,
    )


def _train_adam(
    x: Floats, y: Labels, classes: int, specification: Probe, seed: int
) -> list[tuple[str, Floats, Floats]]:
    """Return the weights before training and after each epoch."""
    random = torch.Generator().manual_seed(derive_seed(seed, "probe"))
    data, gold = torch.from_numpy(x), torch.from_numpy(y)
    weights = torch.empty(classes, x.shape[1]).normal_(
        0, specification.initial_stddev, generator=random
    )
    bias = torch.zeros(classes)
    weights.requires_grad_()
    bias.requires_grad_()
    optimiser = torch.optim.Adam([weights, bias], lr=specification.learning_rate, fused=True)
    keep = 1 - specification.dropout
    snapshots = [("0", weights.detach().numpy().copy(), bias.detach().numpy().copy())]
    for epoch in range(1, specification.epochs + 1):
        order = torch.randperm(len(data), generator=random)
        batches = torch.split(order, specification.batch_size)
        for rows in track(batches, f"language probe, epoch {epoch} of {specification.epochs}"):
            batch = data[rows]
            if keep < 1:
                batch = batch * torch.empty_like(batch).bernoulli_(keep, generator=random) / keep
            logits = torch.nn.functional.linear(batch, weights, bias)
            loss = torch.nn.functional.cross_entropy(logits, gold[rows])
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        snapshots.append(
            (str(epoch), weights.detach().numpy().copy(), bias.detach().numpy().copy())
        )
    return snapshots


def _train_lbfgs(
    x: Floats, y: Labels, classes: int, specification: Probe, seed: int
) -> list[tuple[str, Floats, Floats]]:
    """Return the optimum for each penalty, the strongest first, each starting from the last."""
    model = LogisticRegression(max_iter=specification.maximum_iterations, warm_start=True)
    optima = []
    for inverse in track(sorted(specification.inverse_penalties), "language probe, penalties"):
        model.set_params(C=inverse)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(x, y)
        if model.n_iter_.max() >= specification.maximum_iterations:
            _logger.warning(
                "logistic regression with inverse penalty %g stopped at %d iterations",
                inverse,
                specification.maximum_iterations,
            )
        weights, bias = model.coef_, model.intercept_
        if classes == 2:  # one row for both classes
            weights, bias = np.concatenate([-weights, weights]) / 2, np.append(-bias, bias) / 2
        optima.append((f"{inverse:g}", weights.astype(np.float32), bias.astype(np.float32)))
    return optima


def _rows_of(path: Path, table: pa.Table, split: str) -> Labels:
    rows = np.flatnonzero(pc.equal(table["split"], split).to_numpy())
    if len(rows) == 0:
        raise DataError(path, f"split {split}", "it has no examples", "sample more paragraphs")
    return rows
