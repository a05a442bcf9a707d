"""Linear classifiers of words that do not see the first directions (Liang et al. 2021, Figure 4).

The encoder is frozen and its vectors are cached. A classifier sees the columns [x:] of a projected
space; Figure 4 (sections 4.3 and 5.2) shows how much F1 it lost. Vectors are not standardised, and
every subspace gets orthonormal coordinates, so that the penalty of all classifiers means the same.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mbert_atlas.arrays import load_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.f1 import SpanScorer
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.representations.reading import Features, Vectors, read_features
from mbert_atlas.schemas import SUBSPACE_SCORES

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
Basis = npt.NDArray[np.float64]
Place = tuple[str, int]
"""A method, and how many of its directions go."""

_TOLERANCE = 1e-5
"""Of the mean loss's gradient. With scikit-learn's 1e-4 it matters by a tenth of a point where a
classifier starts."""
_ITERATIONS = 1000
_VECTORS_AT_A_TIME = 8192


def classify_in_subspaces(
    *,
    train: Path,
    test: Path,
    directions: Path,
    methods: Sequence[str],
    firsts: Sequence[int],
    layer: int,
    maximum_vectors: int,
    seeds: Sequence[int],
) -> pa.Table:
    """Train classifiers of words without the first directions and score them in every language.

    Multinomial logistic regression, L2 penalty with C = 1 and free intercepts, as scikit-learn's.

    Args:
        train: features of words, see :func:`mbert_atlas.representations.extraction`.
        test: features of other words, with the same labels or more behind them.
        directions: folder with ``<method>_basis`` (float64, ``(layers, dims, dims)``), a direction
            per column.
        methods: such as ``densray`` and ``lda``.
        firsts: how many directions go. The whole space, 0, is always there.
        layer: number of the hidden state.
        maximum_vectors: most words that train; each seed draws its own.
        seeds: of the draws. Where nothing is drawn all have one result.

    Returns:
        Columns of ``schemas.SUBSPACE_SCORES``: ``span_micro_f1`` by method, number, language and
        seed, which is seqeval's F1 of all spans; of bare tags, equal ones next to each other are
        one span.

    Raises:
        DataError: if vectors are not of words or do not fit each other or the directions, nothing
            would be left of the space, or the words that train have one label.
    """
    learnt, tested = read_features(train, layer), read_features(test, layer)
    _require_alike(learnt, tested)
    dims = learnt.vectors.shape[1]
    bases = {name: orthonormal(_basis(directions, name, layer, dims)) for name in methods}
    firsts = sorted({0, *firsts})
    if firsts[0] < 0 or firsts[-1] >= dims:
        raise DataError(
            directions,
            f"firsts {firsts}",
            f"so many of {dims} directions cannot go",
            f"choose numbers from 0 to {dims - 1}",
        )
    drawn = [_drawn(learnt, maximum_vectors, seed) for seed in seeds]
    if len(drawn[0]) == len(learnt.labels):
        drawn = drawn[:1]
    found = [_scores(learnt, tested, rows, bases, firsts) for rows in drawn]
    rows = [
        {**row, "seed": seed}
        for number, seed in enumerate(seeds)
        for row in found[number % len(found)]
    ]
    return pa.Table.from_pylist(rows, schema=SUBSPACE_SCORES)


def orthonormal(basis: Basis) -> Basis:
    """Return an orthonormal basis whose last columns span what the last of another span.

    That holds for every number of columns, so that [x:] is the same space in both.

    Args:
        basis: float64, shape ``(dims, dims)``, of full rank; one that is orthonormal comes back but
            for signs.
    """
    # Gram-Schmidt from the last column on, as QR of the columns in reverse:
    # [0, 0, 2], [0, 3, 1], [1, 1, 1]     basis = [[1, 0, 0],    gives [[1, 0, 0],
    # give [0, 0, 1], then [0, 1, 0],              [1, 3, 0],           [0, 1, 0],
    # then [1, 0, 0]                               [1, 1, 2]]           [0, 0, 1]]
    columns, _ = np.linalg.qr(basis[:, ::-1])
    return np.ascontiguousarray(columns[:, ::-1])


def fit_nested(
    vectors: Floats,
    labels: npt.NDArray[np.int64],
    bases: Mapping[str, Basis],
    firsts: Sequence[int],
) -> Iterator[tuple[list[Place], npt.NDArray[np.int64], Floats, Floats]]:
    """Fit a classifier of the whole space, then of each method's subspaces, larger ones first.

    Each starts from the one before it, less what it does not see.

    Args:
        vectors: float32, shape ``(n, dims)``.
        labels: numbers, shape ``(n,)``, two different ones at least.
        bases: orthonormal, by method.
        firsts: how many columns go, rising, beginning with 0.

    Yields:
        What the classifier is of; its labels, shape ``(k,)``; its weights for vectors as they are,
        float32, shape ``(k, dims)``; and its intercepts, shape ``(k,)``.
    """
    model = LogisticRegression(tol=_TOLERANCE, max_iter=_ITERATIONS, warm_start=True)
    _fit(model, vectors, labels, "the whole space")
    yield [(method, 0) for method in bases], *_weights(model, np.eye(vectors.shape[1]))
    whole, intercepts = model.coef_, model.intercept_
    for method, basis in bases.items():
        projected = vectors @ basis.astype(np.float32)
        weights, model.intercept_ = whole @ basis, intercepts
        for first in track(firsts[1:], f"classifiers, {method}"):
            model.coef_ = weights[:, -(len(basis) - first) :]
            _fit(model, projected[:, first:], labels, f"{method} [{first}:]")
            weights = model.coef_
            yield [(method, first)], *_weights(model, basis[:, first:])


def _fit(
    model: LogisticRegression, vectors: Floats, labels: npt.NDArray[np.int64], name: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(vectors, labels)
    if model.n_iter_.max() >= _ITERATIONS:
        _logger.warning("the classifier of %s stopped at %d iterations", name, _ITERATIONS)


def _weights(
    model: LogisticRegression, basis: Basis
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """Return labels, weights for vectors as they are, and intercepts, a row for each label."""
    weights, intercepts = model.coef_ @ basis.T, model.intercept_
    if len(weights) == 1:  # one row for both labels
        weights = np.concatenate([-weights, weights])
        intercepts = np.concatenate([-intercepts, intercepts])
    return model.classes_, weights.astype(np.float32), intercepts.astype(np.float32)


def _scores(
    train: Features,
    test: Features,
    rows: npt.NDArray[np.int64],
    bases: Mapping[str, Basis],
    firsts: Sequence[int],
) -> list[dict[str, object]]:
    """Return the scores of one draw of words."""
    labels, _ = train.classes("label")
    gold, names = test.classes("label")
    known = labels.values[rows]
    if len(np.unique(known)) < 2:
        raise DataError(
            train.path, "array labels", f"{len(rows)} words have one label", "take more words"
        )
    fits = list(fit_nested(_as_float32(train.vectors[rows]), known, bases, firsts))
    predicted = _predicted(test, [fit[1:] for fit in fits])
    scorer, of_word = SpanScorer(names.tolist()), test.languages()
    found: list[dict[str, object]] = []
    for language in np.unique(test.language).tolist():
        words, lengths = of_word == language, gold.lengths[test.language == language]
        for (places, *_), codes in zip(fits, predicted, strict=True):
            value = 100 * scorer.f1(gold.values[words], codes[words], lengths)["micro"]
            for method, first in places:
                found.append(
                    {
                        "method": method,
                        "first": first,
                        "language": language,
                        "metric": "span_micro_f1",
                        "value": value,
                        "n": int(words.sum()),
                    }
                )
    return found


def _predicted(
    test: Features, fits: Sequence[tuple[npt.NDArray[np.int64], Floats, Floats]]
) -> npt.NDArray[np.int16]:
    """Return what each classifier takes each word for, shape ``(classifiers, words)``."""
    found = np.empty((len(fits), len(test.labels)), dtype=np.int16)
    for start in track(range(0, len(test.labels), _VECTORS_AT_A_TIME), "classifying words"):
        place = slice(start, start + _VECTORS_AT_A_TIME)
        block = _as_float32(test.vectors[place])
        for number, (classes, weights, intercepts) in enumerate(fits):
            found[number, place] = classes[(block @ weights.T + intercepts).argmax(axis=1)]
    return found


def _as_float32(vectors: Vectors) -> Floats:
    found: Floats = torch.from_numpy(np.array(vectors)).float().numpy()  # NumPy's cast is slow
    return found


def _drawn(train: Features, maximum: int, seed: int) -> npt.NDArray[np.int64]:
    count = len(train.labels)
    if count <= maximum:
        return np.arange(count)
    return np.sort(generator(seed, "words to classify").choice(count, maximum, replace=False))


def _basis(directions: Path, method: str, layer: int, dims: int) -> Basis:
    basis = load_arrays(directions).dense(f"{method}_basis")
    if basis.shape[1] != dims or layer >= len(basis):
        raise DataError(
            directions,
            f"array {method}_basis",
            f"{len(basis)} layers of {basis.shape[1]} dimensions do not fit layer {layer} "
            f"of {dims}",
            "take the directions of this encoder",
        )
    own: Basis = basis[layer]
    return own


def _require_alike(train: Features, test: Features) -> None:
    for features in (train, test):
        if features.unit != "word":
            raise DataError(
                features.path, "meta.json, key unit", f"a {features.unit} each", "extract words"
            )
    if test.label_names[: len(train.label_names)] != train.label_names:
        raise DataError(
            test.path,
            "meta.json, key labels",
            f"{test.label_names} do not begin with those of {train.path}",
            "encode both with the same labels",
        )
    if test.vectors.shape[1] != train.vectors.shape[1]:
        raise DataError(
            test.path,
            "array vectors",
            f"{test.vectors.shape[1]} dimensions, but {train.path} has {train.vectors.shape[1]}",
            "extract both with the same encoder",
        )
