"""Stable names for notebooks and other software: the instruments of the papers on NumPy arrays.

Each calls the implementation that the workflow uses; nothing here needs Snakemake or a config.
Invalid input raises :class:`mbert_atlas.errors.AtlasError`, whose message is one sentence.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import ValidationError

from mbert_atlas.alignment import ALIGNERS
from mbert_atlas.alignment.links import Links, Symmetrisation, symmetrise
from mbert_atlas.analysis import probing, similarity, subspaces
from mbert_atlas.analysis.probing import LinearProbe
from mbert_atlas.analysis.similarity import Estimate
from mbert_atlas.analysis.subspaces import Directions
from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.config.probing import Probe
from mbert_atlas.encoding.coverage import coverage
from mbert_atlas.errors import AtlasError
from mbert_atlas.export.results import FinishedRun, load_results
from mbert_atlas.representations.reading import FeatureArrays

__all__ = [
    "Directions",
    "Estimate",
    "FinishedRun",
    "LinearProbe",
    "Links",
    "align_words",
    "cka",
    "densray",
    "fertility",
    "lda",
    "load_results",
    "probe",
]
Vectors = npt.ArrayLike
"""Numbers, shape ``(n, dims)``."""


def cka(
    x: Vectors,
    y: Vectors,
    measure: Literal["debiased", "linear", "uncentred", "rbf"] = "debiased",
) -> Estimate:
    """Return the similarity of two sets of vectors of the same n items, such as parallel sentences.

    Centred kernel alignment, at most 1 (Kornblith et al. 2019, section 3); ``debiased`` is the
    unbiased estimate (Song et al. 2012, Eq. 5), which is about 0 for unrelated vectors and may be
    below; ``rbf`` has the median distance as bandwidth. Both have n rows, of any number of dims and
    any float type; it takes some 100 n² bytes.

    Returns ``value``, the ends ``low`` and ``high`` of its 95% interval over items (jackknife), n,
    and ``without``, the value without each item, float64, shape ``(n,)``. They are NaN with fewer
    than four items, the interval with fewer than five. Raises AtlasError if numbers of rows differ,
    a value is not finite, or all vectors of a side are the same.

    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(200, 16))
    >>> y = x @ random.normal(size=(16, 16)) + random.normal(size=(200, 16))
    >>> value, low, high, n, _ = cka(x, y)
    >>> bool(low < value < high), n
    (True, 200)
    >>> round(cka(x, 3 * x).value, 6), abs(cka(x, y[::-1]).value) < 0.1
    (1.0, True)
    """
    one, other = _vectors(x, "x"), _vectors(y, "y")
    if len(one) != len(other):
        raise AtlasError(f"x has {len(one)} rows and y {len(other)}; pass the same items in both.")
    name = "cka_rbf" if measure == "rbf" else f"cka_linear_{measure}".removesuffix("_linear")
    return similarity.kernels(one)[name].compare(similarity.kernels(other)[name])


def densray(vectors: Vectors, languages: Sequence[str]) -> Directions:
    """Return the directions in which languages differ most (Liang et al. 2021, appendix A).

    ``languages`` has the language of each of the n vectors. Returns an orthonormal ``basis``,
    float64, shape ``(dims, dims)``, a direction per column, best first; its eigenvalues ``values``,
    shape ``(dims,)``; and ``rank``, how many directions identify languages. Each language counts
    once, however many vectors it has. Raises AtlasError if there are fewer than two languages, or
    as :func:`cka`.

    >>> vectors = np.array([[2.0, 0.0], [2.0, 1.0], [-2.0, 0.0], [-2.0, 1.0]])
    >>> found = densray(vectors, ["de", "de", "ru", "ru"])
    >>> found.rank, np.abs(found.basis[:, 0]).tolist()
    (1, [1.0, 0.0])
    """
    means, _, within = _by_language(vectors, languages)
    return subspaces.densray(means, within)


def lda(vectors: Vectors, languages: Sequence[str]) -> Directions:
    """Return the directions of linear discriminant analysis (Fisher 1936).

    As :func:`densray`, but relative to the covariance within languages, which the ``basis`` makes
    the identity, and with languages weighted by their vectors. Raises AtlasError if there are fewer
    vectors than dims plus languages.

    >>> random = np.random.default_rng(0)
    >>> shift = np.repeat([[0.0, 3.0]], 50, axis=0)
    >>> vectors = np.vstack([random.normal(size=(50, 2)), random.normal(size=(50, 2)) + shift])
    >>> found = lda(vectors, ["de"] * 50 + ["ru"] * 50)
    >>> found.rank, int(np.abs(found.basis[:, 0]).argmax())
    (1, 1)
    """
    means, counts, within = _by_language(vectors, languages)
    return subspaces.lda(means, counts, within)


def probe(
    train: tuple[Vectors, Sequence[str]],
    validation: tuple[Vectors, Sequence[str]],
    *,
    seed: int = 1,
    **options: Any,
) -> LinearProbe:
    """Train a linear classifier of vectors (Tanti et al. 2021, section 3).

    Both arguments are vectors and the class of each, such as its language; the epoch or penalty
    with the best macro F1 of ``validation`` is kept. ``options`` are fields of
    :class:`mbert_atlas.config.probing.Probe`: ``solver="lbfgs"``, ``epochs=10``. Arrays are read as
    float32.

    Returns ``classes``, sorted; ``weights``, float32, shape ``(classes, dims)``; ``bias``; scores
    by epoch or penalty (``history``) and the ``chosen`` one; ``logits(vectors)`` are float32, shape
    ``(n, classes)``. Raises AtlasError if an option is unknown or wrong, a side is empty, there is
    only one class, or as :func:`cka`.

    >>> random = np.random.default_rng(0)
    >>> classes = np.repeat(["de", "ru"], 50)
    >>> vectors = random.normal(size=(100, 4)) + 5 * (classes == "ru")[:, None]
    >>> trained = probe((vectors, classes), (vectors, classes), solver="lbfgs")
    >>> trained.classes, trained.history[trained.chosen]
    (['de', 'ru'], 1.0)
    """
    sides = {"train": train, "validation": validation}
    arrays = {name: _vectors(side[0], name).astype(np.float32) for name, side in sides.items()}
    classes = {name: _labels(arrays[name], side[1], name) for name, side in sides.items()}
    counts = [len(side) for side in arrays.values()]
    features = FeatureArrays(
        path=Path("probe"),
        vectors=np.concatenate(list(arrays.values())),
        example=np.arange(sum(counts), dtype=np.int32),
        labels=np.full(sum(counts), -100, np.int32),
        label_names=[],
        example_id=np.arange(sum(counts)).astype(str),
        language=np.concatenate(list(classes.values())),
        split=np.repeat(list(sides), counts),
        unit="text",
    )
    try:
        specification = Probe(**options)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise AtlasError(f"option {place}: {first['msg']}; see help({Probe.__name__}).") from None
    return probing.fit_probe(features, specification, seed)


def align_words(
    source: Sequence[Sequence[str]],
    target: Sequence[Sequence[str]],
    *,
    symmetrisation: Symmetrisation = "intersection",
    aligner: str = "builtin",
) -> Links:
    """Link the words of parallel sentences, each a list of words (Dyer et al. 2013).

    The model is estimated from these sentences alone: thousands give usable links. The aligner is
    ``builtin``, ``fast_align`` or ``eflomal`` (docs/alignment.md), and both directions are merged
    by ``intersection``, ``one_to_one`` or ``union``.

    Returns arrays of shape ``(links,)``, sorted: ``row``, int64, the sentence, ``source`` and
    ``target``, int32, its words, all from 0. Raises AtlasError if numbers of sentences differ or
    one is empty.

    >>> source = [["a", "b"], ["b", "c"], ["c", "a"]] * 20
    >>> target = [["A", "B"], ["B", "C"], ["A", "C"]] * 20
    >>> links = align_words(source, target)
    >>> [list(map(int, link)) for link in zip(links.row, links.source, links.target)][:6]
    [[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1], [2, 0, 1], [2, 1, 0]]
    """
    if len(source) != len(target) or not len(source):
        problem = f"source has {len(source)} sentences and target {len(target)}"
        raise AtlasError(f"{problem}; pass the same ones, at least one, in both.")
    for name, side in (("source", source), ("target", target)):
        for row, words in enumerate(side):
            if isinstance(words, str) or not len(words):
                raise AtlasError(f"{name}, sentence {row}: pass a list of words, at least one.")
    if aligner not in ALIGNERS:
        raise AtlasError(f"no aligner {aligner!r}; take one of {', '.join(sorted(ALIGNERS))}.")
    one, two = ALIGNERS.load(aligner).align(_ids(source), _ids(target), program=None, threads=1)
    return symmetrise(one, two, symmetrisation)


def fertility(
    texts: Mapping[str, Sequence[str]], tokenizer: Path | str
) -> dict[str, dict[str, float]]:
    """Return ``subwords_per_word`` (fertility) and ``unknown`` by language.

    Of the first 500 texts of each language: subwords divided by what blanks separate, which says
    little of Thai or Chinese, and the fraction (0 to 1) of [UNK] among subwords (Rust et al. 2021,
    section 3.2). ``tokenizer`` is an encoder's folder. Raises AtlasError if it has no tokenizer.

    >>> ratios = fertility({"en": ["a b", ""]}, "resources/encoders/many")
    >>> sorted(ratios["en"])
    ['subwords_per_word', 'unknown']
    """
    rows = [(language, text) for language, some in texts.items() for text in some]
    if not rows:
        raise AtlasError("there are no texts; pass some by language.")
    names, column = zip(*rows, strict=True)
    return coverage(pa.table({"language": list(names), "text": list(column)}), tokenizer)


def _vectors(values: Vectors, name: str) -> npt.NDArray[np.floating[Any]]:
    array = np.asarray(values)
    if array.ndim != 2 or not array.size or not np.issubdtype(array.dtype, np.number):
        shape = " x ".join(map(str, array.shape)) or "a single value"
        raise AtlasError(f"{name} is {shape} of {array.dtype}; pass numbers of shape (n, dims).")
    if not np.isfinite(array).all():
        raise AtlasError(f"{name} has values that are not finite; leave these rows out.")
    return array


def _labels(
    vectors: npt.NDArray[np.floating[Any]], labels: Sequence[str], name: str
) -> npt.NDArray[np.str_]:
    if len(labels) != len(vectors):
        problem = f"{name} has {len(vectors)} vectors and {len(labels)} classes"
        raise AtlasError(f"{problem}; pass one for each vector.")
    return np.asarray(list(labels), dtype=str)


def _by_language(
    vectors: Vectors, languages: Sequence[str]
) -> tuple[subspaces.Floats, npt.NDArray[np.int64], subspaces.Floats]:
    """Return mean and number of vectors by language, and the covariance within languages."""
    array = _vectors(vectors, "vectors").astype(np.float64)
    names, codes = np.unique(_labels(array, languages, "vectors"), return_inverse=True)
    if len(names) < 2:
        raise AtlasError(f"all vectors are of {names[0]}; pass those of two languages or more.")
    counts = np.bincount(codes)
    means = np.stack([array[codes == code].mean(0) for code in range(len(names))])
    around = array - means[codes]
    return means, counts, around.T @ around / max(len(array) - len(names), 1)


def _ids(side: Sequence[Sequence[str]]) -> Ragged:
    words = pa.array([word for sentence in side for word in sentence], pa.string())
    ids = words.dictionary_encode().indices.to_numpy()
    return Ragged(ids, offsets_of(np.array([len(sentence) for sentence in side])))
