"""Language identification by a linear layer on cached vectors (tanti2021, section 3, appendix C).

The encoder is frozen, so its vectors are computed once and only the layer is trained on them. The
authors pass the data through the encoder in every epoch, with its dropout on; cached vectors have
none, only the dropout before the layer is left.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import torch
from scipy.special import entr
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch.nn import functional

from mbert_atlas.arrays import Ragged
from mbert_atlas.config.probing import Probe
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.f1 import Confusion, SpanScorer
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator
from mbert_atlas.representations.reading import Features, read_features
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Candidate = tuple[str, Floats, Floats]
"""Epoch or inverse penalty, weights and bias."""

_EXAMPLES_AT_A_TIME = 256
"""In fp32; 256 paragraphs of 128 pieces of mBERT's size take 100 MB."""


@dataclass(frozen=True)
class LinearProbe:
    """A trained linear classifier of vectors as they are, standardisation worked into it.

    Attributes:
        classes: labels in the order of the columns.
        weights: shape ``(classes, dims)``.
        bias: shape ``(classes,)``.
        history: validation score by epoch (from 0, before training) or by inverse penalty.
        chosen: the epoch or inverse penalty that was kept.
    """

    classes: list[str]
    weights: Floats
    bias: Floats
    history: dict[str, float] = field(default_factory=dict)
    chosen: str = ""

    def logits(self, vectors: Floats) -> Floats:
        """Return the classes' logits, float32, shape ``(n, classes)``."""
        return vectors @ self.weights.T + self.bias

    def probabilities(self, vectors: Floats) -> Floats:
        """Return class probabilities, float32, shape ``(n, classes)``."""
        logits = self.logits(vectors)
        shares = np.exp(logits - logits.max(1, keepdims=True))
        return np.asarray(shares / shares.sum(1, keepdims=True), dtype=np.float32)


def identify_languages(
    *,
    wikipedia: Path,
    others: Mapping[str, Path],
    protocols: Mapping[str, Probe],
    seed: int,
    output: Mapping[str, Path],
    report: Path,
    threads: int | None = None,
) -> None:
    """Train language classifiers on Wikipedia and identify its test split and other data.

    A classifier is trained on the train split, its epoch or penalty chosen on the validation
    split; then it predicts the language of all vectors of the test split, and of the others.

    Args:
        wikipedia: features of the Wikipedia texts, see
            :func:`mbert_atlas.representations.extraction.extract_features`.
        others: features of the same encoder by name of the data set (the target task's test set);
            gold is the example's language, which the classifier need not know.
        protocols: how to train, by protocol.
        seed: decides initial weights, order, dropout, and which vectors ``lbfgs`` samples.
        output: Parquet to write by protocol; Wikipedia is the data set ``wikipedia``. Columns
            :data:`mbert_atlas.schemas.CLASS_PREDICTIONS` for texts; for tokens
            :data:`mbert_atlas.schemas.TAG_PREDICTIONS`, each labelled piece a word.
        report: JSON to write: by protocol ``classes``, ``validation`` (score by epoch or penalty),
            ``chosen``, ``entropy`` (in nats, of the predicted distributions: ``mean``, ``min`` and
            ``max`` by data set) and ``uniform_entropy``, its upper bound.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if a split is empty, there is one language, or features do not fit together.
        AtlasError: if spans are to select a classifier of texts.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    training = read_features(wikipedia)
    datasets = {"wikipedia": (training, training.examples("test"))}
    for name, path in others.items():
        features = read_features(path)
        _require_alike(training, features)
        datasets[name] = features, np.arange(len(features.language))
    for name, specification in protocols.items():
        if training.unit == "text" and specification.selection == "span_macro_f1":
            raise AtlasError(
                f"language identification, {name}: span_macro_f1 is a score of sequences, and "
                "texts have one language each; select by macro_f1."
            )
    facts = {}
    for name, specification in protocols.items():
        probe = fit_probe(training, specification, seed)
        tables, entropy = [], {}
        for dataset, (features, examples) in datasets.items():
            table, entropy[dataset] = predict(probe, features, examples, dataset)
            tables.append(table)
        write_parquet(pa.concat_tables(tables), output[name])
        facts[name] = {
            "classes": probe.classes,
            "validation": probe.history,
            "chosen": probe.chosen,
            "entropy": entropy,
            "uniform_entropy": math.log(len(probe.classes)),
        }
    write_json(facts, report)


def fit_probe(features: Features, specification: Probe, seed: int) -> LinearProbe:
    """Train a linear classifier of languages; the first of equals on validation data wins.

    Args:
        features: vectors with the splits ``train`` and ``validation``.
        specification: the protocol.
        seed: see :func:`identify_languages`.

    Raises:
        DataError: if a split is empty, the train split has one language only, or the sample of
            ``lbfgs`` lacks one.
    """
    validation = features.examples("validation")
    training = _Training.of(features, specification.standardise)
    lengths = features.by_example.lengths[validation]
    names, numbers = np.unique(
        np.concatenate([training.classes, features.language[validation]]), return_inverse=True
    )
    known, gold = np.split(numbers, [len(training.classes)])
    gold = np.repeat(gold, lengths)
    scorer = SpanScorer(names.tolist())

    def score(probe: LinearProbe) -> float:
        best = [probe.logits(block).argmax(1) for block in _blocks(features, validation)]
        predicted = known[np.concatenate(best)]
        if specification.selection == "span_macro_f1":
            return scorer.f1(gold, predicted, lengths)["macro"]
        return Confusion.of(gold, predicted).macro_f1("union")

    train = _train_adam if specification.solver == "adam" else _train_lbfgs
    history: dict[str, float] = {}
    kept: tuple[str, LinearProbe] | None = None
    for name, weights, bias in train(training, specification, seed):
        probe = training.probe(weights, bias)
        history[name] = score(probe)
        if kept is None or history[name] > history[kept[0]]:
            kept = name, probe
    assert kept is not None  # both solvers give at least one candidate
    return replace(kept[1], history=history, chosen=kept[0])


def predict(
    probe: LinearProbe, features: Features, examples: Rows, dataset: str
) -> tuple[pa.Table, dict[str, float]]:
    """Identify the languages of some examples.

    Returns:
        Predictions, see :func:`identify_languages`, and the mean, least and greatest entropy of
        the predicted distributions over vectors, in nats.
    """
    best, entropies, probabilities = [], [], []
    for block in _blocks(features, examples, f"languages of {dataset}"):
        shares = probe.probabilities(block)
        best.append(shares.argmax(1))
        entropies.append(entr(shares).sum(1))
        if features.unit == "text":
            probabilities.append(shares)
    prediction = pa.array(probe.classes, pa.string()).take(pa.array(np.concatenate(best)))
    language = pa.array(features.language[examples], pa.string())
    columns = {
        "dataset": pa.repeat(pa.scalar(dataset), len(examples)),
        "language": language,
        "example_id": pa.array(features.example_id[examples], pa.string()),
    }
    if features.unit == "text":
        flat = np.concatenate(probabilities).ravel()
        shape = len(probe.classes)
        columns |= {
            "gold": language,
            "prediction": prediction,
            "probabilities": pa.FixedSizeListArray.from_arrays(flat, shape).cast(
                pa.list_(pa.float32())
            ),
        }
    else:
        lengths = features.by_example.lengths[examples]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        owner = np.repeat(np.arange(len(examples)), lengths)
        entries = {
            "gold": language.take(pa.array(owner)),
            "prediction": prediction,
            "words": pa.array(np.arange(len(owner)) - offsets[owner], pa.int32()),
        }
        columns |= {
            name: pa.ListArray.from_arrays(offsets, values) for name, values in entries.items()
        }
    entropy = np.concatenate(entropies)
    schema = CLASS_PREDICTIONS if features.unit == "text" else TAG_PREDICTIONS
    return pa.table(columns, schema=schema), {
        "mean": float(entropy.mean(dtype=np.float64)),
        "min": float(entropy.min()),
        "max": float(entropy.max()),
    }


@dataclass(frozen=True)
class _Training:
    """The train split.

    Attributes:
        features: all vectors.
        examples: which examples train.
        classes: their languages, sorted.
        codes: class of each example of ``features``, -1 where its language does not train.
        shift: subtracted from the vectors, shape ``(dims,)``; none where they stay as they are.
        scale: what they are then divided by, shape ``(dims,)``.
    """

    features: Features
    examples: Rows
    classes: npt.NDArray[np.str_]
    codes: Rows
    shift: Floats | None = None
    scale: Floats | None = None

    @classmethod
    def of(cls, features: Features, standardise: bool) -> _Training:
        examples = features.examples("train")
        classes = np.unique(features.language[examples])
        if len(classes) < 2:
            raise DataError(
                features.path, "split train", "it has only one language", "add another one"
            )
        codes = pd.Index(classes).get_indexer(pd.Index(features.language)).astype(np.int64)
        if not standardise:
            return cls(features, examples, classes, codes)
        scaler = StandardScaler()
        for block in _blocks(features, examples, "mean and variance of the vectors"):
            scaler.partial_fit(block)
        shift, scale = scaler.mean_.astype(np.float32), scaler.scale_.astype(np.float32)
        return cls(features, examples, classes, codes, shift, scale)

    def standardised(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the vectors as the classifier sees them; ``vectors`` may be overwritten."""
        if self.shift is None or self.scale is None:
            return vectors
        return vectors.sub_(torch.from_numpy(self.shift)).div_(torch.from_numpy(self.scale))

    def batch(self, examples: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all vectors of some examples, float32, and the class of each, int64."""
        part = self.features.by_example.take(examples)
        gold = np.repeat(self.codes[examples], part.lengths)
        return self.standardised(_as_float32(part)), torch.from_numpy(gold)

    def probe(self, weights: Floats, bias: Floats) -> LinearProbe:
        """Return the classifier of vectors as they are."""
        if self.shift is not None and self.scale is not None:
            exact = weights.astype(np.float64) / self.scale
            bias = (bias - exact @ self.shift).astype(np.float32)
            weights = exact.astype(np.float32)
        return LinearProbe(self.classes.tolist(), weights, bias)


def _train_adam(data: _Training, specification: Probe, seed: int) -> Iterator[Candidate]:
    """Yield the weights before training and after each epoch."""
    random = torch.Generator().manual_seed(derive_seed(seed, "probe"))
    weights = torch.empty(len(data.classes), data.features.vectors.shape[1])
    weights.normal_(0, specification.initial_stddev, generator=random).requires_grad_()
    bias = torch.zeros(len(data.classes), requires_grad=True)
    optimiser = torch.optim.Adam([weights, bias], lr=specification.learning_rate, fused=True)
    keep, size = 1 - specification.dropout, specification.batch_size
    yield "0", weights.detach().numpy().copy(), bias.detach().numpy().copy()
    for epoch in range(1, specification.epochs + 1):
        order = data.examples[torch.randperm(len(data.examples), generator=random).numpy()]
        starts = range(0, len(order), size)
        for start in track(starts, f"language probe, epoch {epoch} of {specification.epochs}"):
            vectors, gold = data.batch(order[start : start + size])
            if keep < 1:
                mask = torch.empty_like(vectors).bernoulli_(keep, generator=random)
                vectors *= mask.div_(keep)
            loss = functional.cross_entropy(functional.linear(vectors, weights, bias), gold)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        yield str(epoch), weights.detach().numpy().copy(), bias.detach().numpy().copy()


def _train_lbfgs(data: _Training, specification: Probe, seed: int) -> Iterator[Candidate]:
    """Yield the optimum for each penalty, the strongest first, each starting from the last."""
    rows, most = data.features.rows("train"), specification.maximum_vectors
    if most is not None and len(rows) > most:
        sample = generator(seed, "probe", "sample").choice(len(rows), most, replace=False)
        rows = rows[np.sort(sample)]
    y = data.codes[data.features.example[rows]]
    absent = np.setdiff1d(np.arange(len(data.classes)), y)
    if len(absent):
        raise DataError(
            data.features.path,
            f"language {data.classes[absent[0]]}",
            f"none of {len(rows)} sampled vectors is of it",
            "raise maximum_vectors",
        )
    x = data.standardised(torch.from_numpy(data.features.vectors[rows]).float()).numpy()
    model = LogisticRegression(max_iter=specification.maximum_iterations, warm_start=True)
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
        if len(weights) == 1:  # one row for both classes
            weights, bias = np.concatenate([-weights, weights]) / 2, np.append(-bias, bias) / 2
        yield f"{inverse:g}", weights.astype(np.float32), bias.astype(np.float32)


def _blocks(features: Features, examples: Rows, description: str = "") -> Iterator[Floats]:
    """Yield the vectors of some examples as they are, float32, some examples at a time."""
    starts: Any = range(0, len(examples), _EXAMPLES_AT_A_TIME)
    for start in track(starts, description) if description else starts:
        part = features.by_example.take(examples[start : start + _EXAMPLES_AT_A_TIME])
        yield _as_float32(part).numpy()


def _as_float32(part: Ragged) -> torch.Tensor:
    return torch.from_numpy(part.values).float()  # several times faster than NumPy from float16


def _require_alike(training: Features, other: Features) -> None:
    kinds = [(features.unit, features.vectors.shape[1]) for features in (training, other)]
    if kinds[0] != kinds[1]:
        raise DataError(
            other.path,
            "meta.json and vectors",
            f"one vector of {kinds[1][1]} dimensions per {kinds[1][0]}, but {training.path} has "
            f"{kinds[0][1]} per {kinds[0][0]}",
            "extract both with the same encoder and for the same task",
        )
