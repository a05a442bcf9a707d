"""Language identification by a linear probe of cached vectors (Tanti et al. 2021, section 3).

The encoder is frozen, so its vectors are computed once and only the layer is trained on them. The
authors pass the data through the encoder in every epoch, with its dropout on (appendix C); of
cached vectors, only the dropout before the layer is left.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from scipy.special import entr, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler
from torch.nn import functional

from mbert_atlas.arrays import Ragged
from mbert_atlas.config.probing import Probe
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.f1 import SpanScorer
from mbert_atlas.files import write_json, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator
from mbert_atlas.representations.reading import FeatureArrays, Vectors, read_features
from mbert_atlas.schemas import CLASS_PREDICTIONS, TAG_PREDICTIONS

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Candidate = tuple[str, Floats, Floats]
"""Epoch or inverse penalty, weights and bias."""

_EXAMPLES_AT_A_TIME = 256
"""In fp32; 256 paragraphs of 128 subwords of mBERT's size take 100 MB."""


@dataclass(frozen=True)
class LinearProbe:
    """A trained linear classifier of raw vectors: its weights include the standardisation.

    ``history`` has the validation score by epoch (from 0, before training) or inverse penalty, of
    which ``chosen`` was kept.
    """

    classes: list[str]
    weights: Floats  # (classes, dims)
    bias: Floats  # (classes,)
    history: dict[str, float] = field(default_factory=dict)
    chosen: str = ""

    def logits(self, vectors: Floats) -> Floats:
        """Return the classes' logits, float32, shape ``(n, classes)``."""
        return vectors @ self.weights.T + self.bias


def probe_features(
    *,
    features: Mapping[str, Path],
    train_on: str,
    protocols: Mapping[str, Probe],
    seed: int,
    output: Mapping[str, Path],
    report: Path,
    threads: int,
) -> None:
    """Train linear classifiers of languages on one dataset and predict all.

    A classifier is trained on the train split of ``train_on``, its epoch or penalty chosen on the
    validation split; then it predicts the test split, and all of the other datasets, which may have
    languages that it was not trained on. Writes Parquet by protocol, columns
    :data:`mbert_atlas.schemas.CLASS_PREDICTIONS` for texts, else
    :data:`mbert_atlas.schemas.TAG_PREDICTIONS`, each vector a word, and a JSON report: by protocol
    ``classes``, ``validation`` (score by epoch or penalty), ``chosen`` and ``entropy`` (see
    :func:`predict`, by dataset). Raises :class:`DataError` if the test split is empty, or as
    :func:`fit_probe`.
    """
    torch.set_num_threads(threads)
    opened = {name: read_features(path) for name, path in features.items()}
    training = opened[train_on]
    examples = {name: np.arange(len(data.language)) for name, data in opened.items()}
    examples[train_on] = training.examples("test")
    facts = {}
    for name, specification in protocols.items():
        probe = fit_probe(training, specification, seed)
        tables, entropy = [], {}
        for dataset, data in opened.items():
            table, entropy[dataset] = predict(probe, data, examples[dataset], dataset)
            tables.append(table)
        write_parquet(pa.concat_tables(tables), output[name])
        facts[name] = {"classes": probe.classes, "validation": probe.history}
        facts[name] |= {"chosen": probe.chosen, "entropy": entropy}
    write_json(facts, report)


def fit_probe(features: FeatureArrays, specification: Probe, seed: int) -> LinearProbe:
    """Train a linear classifier of languages; ties on validation data go to the first candidate.

    Raises :class:`DataError` if a split is empty, the train split has only one language, or the
    sample of ``lbfgs`` lacks one, and :class:`AtlasError` if a classifier of texts is to be
    selected by spans.
    """
    spans = specification.selection == "span_macro_f1"
    if features.unit == "text" and spans:
        problem = "span_macro_f1 is a score of sequences, and texts have one class each"
        raise AtlasError(f"probe of {features.path}: {problem}; select by macro_f1.")
    validation = features.examples("validation")
    training = _Training.of(features, specification.standardise)
    gold = training.codes.take(validation)
    scorer = SpanScorer(training.names.tolist())

    def score(probe: LinearProbe) -> float:
        best = [probe.logits(block).argmax(1) for block in _blocks(features, validation)]
        predicted = training.trained[np.concatenate(best)]
        if spans:
            return scorer.f1(gold.values, predicted, gold.lengths)["macro"]
        return float(f1_score(gold.values, predicted, average="macro", zero_division=0))

    train = _train_adam if specification.solver == "adam" else _train_lbfgs
    candidates = train(training, specification, seed)
    probes = {name: training.probe(weights, bias) for name, weights, bias in candidates}
    history = {name: score(probe) for name, probe in probes.items()}
    chosen = max(history, key=history.__getitem__)
    return replace(probes[chosen], history=history, chosen=chosen)


def predict(
    probe: LinearProbe, features: FeatureArrays, examples: Rows, dataset: str
) -> tuple[pa.Table, float]:
    """Return predictions, see :func:`probe_features`, and their mean entropy in nats."""
    is_text, best, entropies, probabilities = features.unit == "text", [], [], []
    for block in _blocks(features, examples, f"predicting {dataset}"):
        distribution = np.asarray(softmax(probe.logits(block), axis=1), dtype=np.float32)
        best.append(distribution.argmax(1))
        entropies.append(entr(distribution).sum(1))
        if is_text:
            probabilities.append(distribution)
    codes, names = features.classes("language")
    gold = codes.take(examples)
    vectors = {
        "gold": pa.array(names, pa.string()).take(pa.array(gold.values)),
        "prediction": pa.array(probe.classes, pa.string()).take(pa.array(np.concatenate(best))),
    }
    columns = {
        "dataset": pa.repeat(pa.scalar(dataset), len(examples)),
        "language": pa.array(features.language[examples], pa.string()),
        "example_id": pa.array(features.example_id[examples], pa.string()),
    }
    if is_text:
        flat = np.concatenate(probabilities).ravel()
        lists = pa.FixedSizeListArray.from_arrays(flat, len(probe.classes))
        columns |= vectors | {"probabilities": lists.cast(pa.list_(pa.float32()))}
    else:
        owner = np.repeat(np.arange(len(examples)), gold.lengths)
        vectors["words"] = pa.array(np.arange(len(owner)) - gold.offsets[owner], pa.int32())
        offsets = gold.offsets.astype(np.int32)
        columns |= {
            name: pa.ListArray.from_arrays(offsets, values) for name, values in vectors.items()
        }
    entropy = float(np.concatenate(entropies).mean(dtype=np.float64))
    return pa.table(columns, schema=CLASS_PREDICTIONS if is_text else TAG_PREDICTIONS), entropy


@dataclass(frozen=True)
class _Training:
    """The train split, and how its vectors are standardised."""

    features: FeatureArrays  # all vectors
    examples: Rows  # those that train
    names: npt.NDArray[np.str_]  # all languages
    trained: Rows  # those of the train split, ascending
    codes: Ragged  # language of each vector, by example
    shift: Floats  # subtracted from the vectors
    scale: Floats  # divisor of the vectors

    @classmethod
    def of(cls, features: FeatureArrays, standardise: bool) -> Self:
        examples = features.examples("train")
        codes, names = features.classes("language")
        trained = np.unique(codes.take(examples).values)
        if len(trained) < 2:
            problem = "it has only one language"
            raise DataError(features.path, "split train", problem, "add another one")
        dims = features.vectors.shape[1]
        shift, scale = np.zeros(dims, np.float32), np.ones(dims, np.float32)
        if standardise:
            scaler = StandardScaler()
            for block in _blocks(features, examples, "mean and variance of the vectors"):
                scaler.partial_fit(block)
            shift, scale = scaler.mean_.astype(np.float32), scaler.scale_.astype(np.float32)
        return cls(features, examples, names, trained, codes, shift, scale)

    def standardised(self, vectors: torch.Tensor) -> torch.Tensor:
        """Standardise the vectors in place."""
        return vectors.sub_(torch.from_numpy(self.shift)).div_(torch.from_numpy(self.scale))

    def batch(self, examples: Rows) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all vectors of some examples, float32, and the language of each, int64."""
        part = self.features.by_example.take(examples)
        gold = np.searchsorted(self.trained, self.codes.take(examples).values)
        return self.standardised(as_float32(part.values)), torch.from_numpy(gold)

    def probe(self, weights: Floats, bias: Floats) -> LinearProbe:
        """Return the classifier of raw vectors."""
        exact = weights.astype(np.float64) / self.scale
        bias = (bias - exact @ self.shift).astype(np.float32)
        return LinearProbe(self.names[self.trained].tolist(), exact.astype(np.float32), bias)


def _train_adam(data: _Training, specification: Probe, seed: int) -> Iterator[Candidate]:
    """Yield the weights before training and after each epoch."""
    random = torch.Generator().manual_seed(derive_seed(seed, "probe"))
    weights = torch.empty(len(data.trained), data.features.vectors.shape[1])
    weights.normal_(0, specification.initial_stddev, generator=random).requires_grad_()
    bias = torch.zeros(len(data.trained), requires_grad=True)
    optimiser = torch.optim.Adam([weights, bias], lr=specification.learning_rate, fused=True)
    keep, size = 1 - specification.dropout, specification.batch_size

    def candidate(epoch: int) -> Candidate:
        return str(epoch), weights.detach().numpy().copy(), bias.detach().numpy().copy()

    yield candidate(0)
    for epoch in range(1, specification.epochs + 1):
        order = data.examples[torch.randperm(len(data.examples), generator=random).numpy()]
        starts = range(0, len(order), size)
        for start in track(starts, f"probe, epoch {epoch} of {specification.epochs}"):
            vectors, gold = data.batch(order[start : start + size])
            if keep < 1:
                mask = torch.empty_like(vectors).bernoulli_(keep, generator=random)
                vectors *= mask.div_(keep)
            loss = functional.cross_entropy(functional.linear(vectors, weights, bias), gold)
            optimiser.zero_grad()
            torch.autograd.backward(loss)
            optimiser.step()
        yield candidate(epoch)


def _train_lbfgs(data: _Training, specification: Probe, seed: int) -> Iterator[Candidate]:
    """Yield the optimum for each penalty, strongest first, each starting from the previous one."""
    rows, most = data.features.rows("train"), specification.maximum_vectors
    if most is not None and len(rows) > most:
        sample = generator(seed, "probe", "sample").choice(len(rows), most, replace=False)
        rows = rows[np.sort(sample)]
    y = data.codes.values[rows]
    for absent in np.setdiff1d(data.trained, y):
        problem = f"none of the {len(rows)} sampled vectors is in it"
        place = f"language {data.names[absent]}"
        raise DataError(data.features.path, place, problem, "raise maximum_vectors")
    x = data.standardised(as_float32(data.features.vectors[rows])).numpy()
    model = LogisticRegression(max_iter=1000, warm_start=True)
    for inverse in track(sorted(specification.inverse_penalties), "probe, penalties"):
        model.set_params(C=inverse)
        fit_quietly(model, x, y, f"logistic regression with inverse penalty {inverse:g}")
        weights, bias = model.coef_, model.intercept_
        if len(weights) == 1:  # one row for both classes
            weights, bias = np.concatenate([-weights, weights]) / 2, np.append(-bias, bias) / 2
        yield f"{inverse:g}", weights.astype(np.float32), bias.astype(np.float32)


def fit_quietly(model: LogisticRegression, x: Floats, y: Rows, name: str) -> None:
    """Fit a model; where it stops at its limit of iterations, log one line with its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(x, y)
    if model.n_iter_.max() >= model.max_iter:
        _logger.warning("%s stopped at %d iterations", name, model.max_iter)


def _blocks(features: FeatureArrays, examples: Rows, description: str = "") -> Iterator[Floats]:
    """Yield the vectors of some examples, float32, some examples at a time."""
    starts: Any = range(0, len(examples), _EXAMPLES_AT_A_TIME)
    for start in track(starts, description) if description else starts:
        part = features.by_example.take(examples[start : start + _EXAMPLES_AT_A_TIME])
        yield as_float32(part.values).numpy()


def as_float32(vectors: Vectors) -> torch.Tensor:
    """Convert vectors, several times faster than NumPy does from float16."""
    return torch.from_numpy(vectors).float()
