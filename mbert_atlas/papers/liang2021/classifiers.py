"""Linear classifiers of words without the first directions (Figure 4; sections 4.3 and 5.2).

The encoder is frozen. A classifier sees the columns [x:] of a projected space. Vectors are not
standardised, and every subspace has orthonormal coordinates, so that the penalty of all classifiers
is the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.linear_model import LogisticRegression

from mbert_atlas.analysis.probing import as_float32, fit_quietly
from mbert_atlas.analysis.scores import f1_score
from mbert_atlas.arrays import load_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.f1 import SpanScorer
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.representations.reading import FeatureArrays, read_features
from mbert_atlas.schemas import SUBSPACE_SCORES

Floats = npt.NDArray[np.float32]
Basis = npt.NDArray[np.float64]
Place = tuple[str, int]
"""A method, and the number of its directions that are removed."""

_TOLERANCE = 1e-5
"""Of the mean loss's gradient. At scikit-learn's 1e-4 the starting point matters by 0.1 points."""
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

    Multinomial logistic regression, L2 penalty with C = 1 and free intercepts. ``train`` and
    ``test`` are features of words (:mod:`mbert_atlas.representations.extraction`); the labels of
    the latter begin with those of training. ``directions`` has a ``<method>_basis``, float64,
    ``(layers, dims, dims)``, a direction per column. ``firsts`` are the numbers of removed
    directions; 0, the whole space, is added. Each seed samples at most ``maximum_vectors`` training
    words. Returns columns of ``schemas.SUBSPACE_SCORES``: ``span_micro_f1`` is seqeval's F1 of all
    spans, where adjacent equal bare tags are one span. Raises :class:`DataError` if labels do not
    fit, no direction would remain, or the training words have one label.
    """
    trained, tested = read_features(train, layer), read_features(test, layer)
    if tested.label_names[: len(trained.label_names)] != trained.label_names:
        problem = f"{tested.label_names} do not begin with those of {train}"
        fix = "encode both with the same labels"
        raise DataError(test, "meta.json, key labels", problem, fix)
    stored = load_arrays(directions)
    bases = {name: orthonormal(stored.dense(f"{name}_basis")[layer]) for name in methods}
    dims, firsts = trained.vectors.shape[1], sorted({0, *firsts})
    if firsts[0] < 0 or firsts[-1] >= dims:
        problem = f"cannot remove so many of {dims} directions"
        fix = f"choose numbers from 0 to {dims - 1}"
        raise DataError(directions, f"firsts {firsts}", problem, fix)
    count = len(trained.labels)
    if count <= maximum_vectors:
        scores = [_scores(trained, tested, np.arange(count), bases, firsts)] * len(seeds)
    else:
        draws = [generator(seed, "words to classify") for seed in seeds]
        samples = [np.sort(draw.choice(count, maximum_vectors, replace=False)) for draw in draws]
        scores = [_scores(trained, tested, sample, bases, firsts) for sample in samples]
    rows = [{**row, "seed": seed} for seed, own in zip(seeds, scores, strict=True) for row in own]
    return pa.Table.from_pylist(rows, schema=SUBSPACE_SCORES)


def orthonormal(basis: Basis) -> Basis:
    """Return an orthonormal basis whose columns [x:] span the same space as another's, for every x.

    Both are float64, shape ``(dims, dims)``; the given one has full rank.
    """
    # Gram-Schmidt from the last column backwards, as QR of the reversed columns:
    # [0, 0, 2], [0, 3, 1], [1, 1, 1]     basis = [[1, 0, 0],    gives [[1, 0, 0],
    # give [0, 0, 1], then [0, 1, 0],              [1, 3, 0],           [0, 1, 0],
    # then [1, 0, 0]                               [1, 1, 2]]           [0, 0, 1]]
    columns, _ = np.linalg.qr(basis[:, ::-1])
    return np.ascontiguousarray(columns[:, ::-1])


def _fit_nested(
    vectors: Floats,
    labels: npt.NDArray[np.int64],
    bases: Mapping[str, Basis],
    firsts: Sequence[int],
) -> Iterator[tuple[list[Place], npt.NDArray[np.int64], Floats, Floats]]:
    """Fit a classifier of the whole space, then of each method's subspaces, larger ones first.

    Each starts from the weights of the one before it. Yields the subspaces that share the
    classifier; its labels, shape ``(k,)``; its weights for unprojected vectors, float32, shape
    ``(k, dims)``; and its intercepts, shape ``(k,)``.
    """
    model = LogisticRegression(tol=_TOLERANCE, max_iter=_ITERATIONS, warm_start=True)
    fit_quietly(model, vectors, labels, "the classifier of the whole space")
    yield [(method, 0) for method in bases], *_weights(model, np.eye(vectors.shape[1]))
    whole, intercepts = model.coef_, model.intercept_
    for method, basis in bases.items():
        projected = vectors @ basis.astype(np.float32)
        weights, model.intercept_ = whole @ basis, intercepts
        for first in track(firsts[1:], f"classifiers, {method}"):
            model.coef_ = weights[:, -(len(basis) - first) :]
            name = f"the classifier of {method} [{first}:]"
            fit_quietly(model, projected[:, first:], labels, name)
            weights = model.coef_
            yield [(method, first)], *_weights(model, basis[:, first:])


def _weights(
    model: LogisticRegression, basis: Basis
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    weights, intercepts = model.coef_ @ basis.T, model.intercept_
    if len(weights) == 1:  # one row for both labels
        weights = np.concatenate([-weights, weights])
        intercepts = np.concatenate([-intercepts, intercepts])
    return model.classes_, weights.astype(np.float32), intercepts.astype(np.float32)


def _scores(
    train: FeatureArrays,
    test: FeatureArrays,
    rows: npt.NDArray[np.int64],
    bases: Mapping[str, Basis],
    firsts: Sequence[int],
) -> list[dict[str, object]]:
    """Return the scores of one sample of training words."""
    labels, _ = train.classes("label")
    gold, names = test.classes("label")
    codes = labels.values[rows]
    if len(np.unique(codes)) < 2:
        problem = f"{len(rows)} words have one label"
        raise DataError(train.path, "array labels", problem, "take more words")
    fits = list(_fit_nested(as_float32(train.vectors[rows]).numpy(), codes, bases, firsts))
    predictions = _predict(test, [fit[1:] for fit in fits])
    scorer, of_word = SpanScorer(names.tolist()), test.languages()
    scores: list[dict[str, object]] = []
    for language in np.unique(test.language).tolist():
        words, sentences = of_word == language, test.language == language
        lengths, ids = gold.lengths[sentences], test.example_id[sentences].tolist()
        for (places, *_), predicted in zip(fits, predictions, strict=True):
            counts = scorer.counts(gold.values[words], predicted[words], lengths).sum(axis=1)
            common = {"language": language, "metric": "span_micro_f1", "n": int(words.sum())}
            common |= f1_score(counts, ids)
            scores += [{"method": method, "first": first, **common} for method, first in places]
    return scores


def _predict(
    test: FeatureArrays, fits: Sequence[tuple[npt.NDArray[np.int64], Floats, Floats]]
) -> npt.NDArray[np.int16]:
    """Return the predictions of each classifier, shape ``(classifiers, words)``."""
    predictions = np.empty((len(fits), len(test.labels)), dtype=np.int16)
    for start in track(range(0, len(test.labels), _VECTORS_AT_A_TIME), "classifying words"):
        place = slice(start, start + _VECTORS_AT_A_TIME)
        block = as_float32(np.array(test.vectors[place])).numpy()
        for number, (classes, weights, intercepts) in enumerate(fits):
            predictions[number, place] = classes[(block @ weights.T + intercepts).argmax(axis=1)]
    return predictions
