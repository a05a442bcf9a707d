"""Similarity of the vectors of parallel sentences in two languages: centred kernel alignment (CKA).

Kornblith et al. (2019), Similarity of Neural Network Representations Revisited, section 3: the
cosine of two centred n x n matrices, each with the similarities of the sentences in one language.
What depends on one language is computed once per layer; memory is 24 n² bytes per pivot and for one
more language. Vectors in half precision change values by some 0.00002.

Intervals of 95% come from the jackknife, which has a closed form here, by Fisher's z. A bootstrap
would be biased: a sentence drawn twice is perfectly similar to itself in both languages.

CKA of n sentences is above that of the whole language, the more the fewer they are and the more
dimensions vectors have. ``cka_linear_debiased`` (Song et al. 2012, Eq. 5) is not, and its interval
is about the whole language; the other intervals are about values of other n sentences, taken as
independent. ``cka_shuffled``, of sentences that do not translate each other, is a control.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.resampling import RESAMPLED, resampled_sums
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import Protocol
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.representations.reading import FeatureArrays, Vectors, read_features
from mbert_atlas.schemas import SIMILARITIES

Floats = npt.NDArray[np.float64]
WINDOWS, WINDOW = 4, 200
"""Muller et al. 2021, code: sentences 0-199, 1-200, 2-201 and 3-202."""
DEBIASED, SHUFFLED = "cka_linear_debiased", "cka_shuffled"
_FEWEST = 8
"""With fewer sentences neither windows nor intervals mean anything."""
_Z_95 = 1.959963984540054


def _not_zero(norm: Any) -> float:
    if not norm > 0:
        raise AtlasError("all vectors are the same, or some are not numbers; check the encoder.")
    return float(norm)


def _gram(x: Floats) -> Floats:
    centred = x - x.mean(0)  # distances are the same, and rounding is kept small
    return np.asarray(centred @ centred.T)


def _squares(gram: Floats) -> Floats:
    """Return squared distances, shape ``(n, n)``, those by rounding alone as 0."""
    diagonal = gram.diagonal()
    squares = diagonal[:, None] + diagonal - 2 * gram
    squares[squares < 1e-12 * max(float(squares.max()), 0.0)] = 0.0
    np.fill_diagonal(squares, 0.0)
    return squares


def _rbf(squares: Floats) -> Floats:
    """Return the RBF kernel; its bandwidth is the root of the median of the distances above 0."""
    # X = 1, 2, 6: squared distances 1, 16, 25, so sigma = 4 and K = exp(-d² / 32): 0.97, 0.61, 0.46
    # off the diagonal. Row means 0.81, 0.86, 0.69, mean 0.79: the first cell is 1 - 2(0.81) + 0.79.
    upper = squares[np.triu_indices(len(squares), 1)]  # each distance once: the same median
    sigma = float(np.sqrt(_not_zero(np.median(upper[upper > 0]) if upper.any() else 0.0)))
    return np.asarray(np.exp(squares / (-2 * sigma**2)))


def _double_centred(kernel: Floats) -> Floats:
    """Return H K H with H = I - 1/n, by means of rows instead of products of matrices."""
    means = kernel.mean(0)
    return np.asarray(kernel - means - means[:, None] + means.mean())


def _shuffled(matrix: Floats) -> Floats:
    """Return a kernel of sentences in another order, in which none has its own place."""
    order = generator(0, "shuffled pairs").permutation(len(matrix))
    place = np.empty_like(order)
    place[order] = np.roll(order, 1)
    return np.asarray(matrix[np.ix_(place, place)])


class Estimate(NamedTuple):
    """A similarity, the ends of its interval, and the number of sentences."""

    value: float
    low: float
    high: float
    n: int
    without: Floats | None = None
    """The similarity without each sentence, shape ``(n,)``, where there is a jackknife."""

    def resampled(self, ids: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return its values on resamples of the sentences, float32, shape ``(RESAMPLES,)``.

        A sentence that is drawn w times counts w times its influence: the value moves by the sum of
        (w - 1) (n - 1) (mean of ``without`` - ``without``) / n (infinitesimal jackknife).
        """
        # Influences sum to 0, so that w has the same sum as w - 1. Their variance over resamples
        # is (n - 1) / n times that of the jackknife.
        assert self.without is not None
        influence = (self.n - 1) * (self.without.mean() - self.without)
        return np.asarray(self.value + resampled_sums(influence, ids) / self.n, np.float32)


@dataclass(frozen=True)
class Kernel:
    """Similarities of the sentences of one language to each other, float64, shape ``(n, n)``.

    Rows sum to 0 for CKA (``centred``) and for its unbiased estimate from the same matrix
    (``debiased``), not without centring (``plain``).
    """

    matrix: Floats
    kind: Literal["centred", "debiased", "plain"]

    @cached_property
    def own(self) -> Floats:
        """Its sums with itself; see :meth:`sums`."""
        return self.sums(self)

    def sums(self, other: Self) -> Floats:
        """Return the sum of products of two kernels of a kind, and that without each sentence.

        Shape ``(n + 1,)``; of debiased kernels n (n - 3) times Song et al. (2012), Eq. 5.
        """
        # This kernel is K, the other L.
        # Without sentence i go row and column i of K and L, and the rest is centred again. As rows
        # of K sum to 0, those of the rest sum to -K_ri, and all of it to K_ii. So with m = n - 1
        #   K_rs + (K_ri + K_si) / m + K_ii / m²
        # is centred, and summing its products with L gives, with a_i = sum over r of K_ri L_ri,
        #   sum of a - 2 (n / m) a_i + (n / m)² K_ii L_ii;   not centred: n / m becomes 1.
        # Three sentences, K = L = x x' with x = -2, -1, 3: a = 56, 14, 126, sum 196. Without the
        # last: 196 - 3 · 126 + 2.25 · 81 = 0.25, and -2, -1 centred is -0.5, 0.5: (2 · 0.25)².
        rows: Floats = np.einsum("ij,ij->i", self.matrix, other.matrix)
        k, l = self.matrix.diagonal(), other.matrix.diagonal()  # noqa: E741
        n, total = len(rows), rows.sum()
        if self.kind != "debiased":
            grown = n / (n - 1) if self.kind == "centred" else 1.0
            without = total - 2 * grown * rows + grown**2 * k * l
            return np.concatenate([[total], without])
        # Eq. 5 wants the diagonals of K and L to be 0; then their rows sum to -K_ii and -L_ii, and
        #   t + (sum of K) (sum of L) / ((n - 1) (n - 2)) - 2 q / (n - 2),
        # with t the sum of products and q that of (K's row sum) (L's row sum). Without sentence i
        # row r of K sums to K_ri less, so q loses both of i's, and gains the product.
        rows = rows - k * l
        lost = self.matrix @ l - k * l + other.matrix @ k - k * l
        product = np.concatenate([[rows.sum()], rows.sum() - 2 * rows])
        q = np.concatenate([[k @ l], k @ l - k * l + lost + rows])
        whole = np.concatenate([[k.sum()], k.sum() - 2 * k])
        whole *= np.concatenate([[l.sum()], l.sum() - 2 * l])
        size = np.full(n + 1, n - 1)
        size[0] = n
        return np.asarray(product + whole / ((size - 1) * (size - 2)) - 2 * q / (size - 2))

    def compare(self, other: Self) -> Estimate:
        """Return CKA with a 95% interval from the jackknife; NaN where a norm is not positive.

        The debiased estimate is defined from four sentences on. The jackknife needs one more than
        three, or than four if debiased: two centred sentences always have a CKA of 1.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            values = self.sums(other) / np.sqrt(self.own * other.own)
        least = 4 if self.kind == "debiased" else 3  # a sum of zeros may round to anything
        values[:1] = values[:1] if len(values) - 1 >= least else np.nan
        values[1:] = values[1:] if len(values) - 1 > least else np.nan
        z = np.arctanh(np.clip(values, -1 + 1e-12, 1 - 1e-12))
        n = len(z) - 1
        error = np.sqrt((n - 1) / n * ((z[1:] - z[1:].mean()) ** 2).sum())
        low, high = np.tanh(z[0] - _Z_95 * error), np.tanh(z[0] + _Z_95 * error)
        return Estimate(float(values[0]), float(low), float(high), n, values[1:])


def kernels(vectors: Vectors) -> dict[str, Kernel]:
    """Return the kernels of one language and layer, by measure.

    Vectors have the shape ``(n, dims)`` and any float type. ``cka_linear`` and
    ``cka_linear_debiased`` are centred, ``cka_linear_uncentred`` is not, and ``cka_rbf`` has an RBF
    kernel, whose bandwidth the jackknife keeps. Raises :class:`AtlasError` if all vectors are the
    same.
    """
    x = vectors.astype(np.float64)
    mean = x.mean(0)
    gram = _gram(x)
    _not_zero(gram.trace())
    shift = (x - mean) @ mean  # X X' = (Xc + 1 m') (Xc + 1 m')' = Xc Xc' + s 1' + 1 s' + |m|²
    return {
        "cka_linear": Kernel(gram, "centred"),
        "cka_linear_debiased": Kernel(gram, "debiased"),
        "cka_linear_uncentred": Kernel(gram + shift + shift[:, None] + mean @ mean, "plain"),
        "cka_rbf": Kernel(_double_centred(_rbf(_squares(gram))), "centred"),
    }


def compare(x: Mapping[str, Kernel], y: Mapping[str, Kernel]) -> dict[str, Estimate]:
    """Compare two languages by every measure of :func:`kernels`, and shuffled (the control)."""
    estimates = {measure: kernel.compare(y[measure]) for measure, kernel in x.items()}
    kernel = y[DEBIASED]
    shuffled = replace(kernel, matrix=_shuffled(kernel.matrix))
    return estimates | {SHUFFLED: x[DEBIASED].compare(shuffled)}


def window_kernels(vectors: Vectors) -> list[Floats]:
    """Return the centred RBF kernels of four windows, each shifted by one sentence.

    Windows hold 200 sentences, or n - 3 where there are fewer than 203. Vectors and errors as for
    :func:`kernels`.
    """
    size = min(WINDOW, len(vectors) - WINDOWS + 1)
    squares = _squares(_gram(vectors[: size + WINDOWS - 1].astype(np.float64)))
    places = (slice(start, start + size) for start in range(WINDOWS))
    return [_double_centred(_rbf(squares[place, place])) for place in places]


def compare_windows(x: Sequence[Floats], y: Sequence[Floats]) -> dict[str, Estimate]:
    """Return mean RBF CKA over windows, and shuffled; intervals are one (population) deviation.

    They are far narrower than those over sentences: the windows share nearly all of theirs.
    """
    estimates = {}
    for measure, others in (("cka_rbf", y), (SHUFFLED, [_shuffled(kernel) for kernel in y])):
        values = [
            float(np.vdot(a, b) / _not_zero(np.linalg.norm(a) * np.linalg.norm(b)))
            for a, b in zip(x, others, strict=True)
        ]
        mean, deviation = float(np.mean(values)), float(np.std(values))
        estimates[measure] = Estimate(mean, mean - deviation, mean + deviation, len(x[0]))
    return estimates


def parallel_sentences(features: FeatureArrays) -> dict[str, npt.NDArray[np.int64]]:
    """Return the rows of each language's sentences in one order.

    The ids of parallel sentences are the same after the first dash (``en_pud-n01001011`` and
    ``ru_pud-n01001011``). Raises :class:`DataError` if they are fewer than 8, or the sentences of
    two languages differ in number or order.
    """
    names = np.array(_sentence_ids(features))
    languages = list(dict.fromkeys(features.language.tolist()))
    rows = {language: np.flatnonzero(features.language == language) for language in languages}
    first = rows[languages[0]]
    for language, others in rows.items():
        place, problem = f"languages {languages[0]} and {language}", ""
        if len(others) != len(first):
            problem = f"{len(first)} and {len(others)} sentences"
        elif (differ := names[others] != names[first]).any():
            number = int(np.argmax(differ))
            one, other = (features.example_id[side[number]] for side in (first, others))
            place += f", sentence {number + 1}"
            problem = f"{one} and {other} are not the same sentence"
        if problem:
            fix = "take treebanks that are translations of each other, or leave a language out"
            raise DataError(features.path, place, problem, fix)
    if len(first) < _FEWEST:
        problem = f"{len(first)} sentences are too few to compare languages"
        raise DataError(features.path, "", problem, f"take at least {_FEWEST}")
    return rows


def _sentence_ids(features: FeatureArrays) -> list[str]:
    """Return the ids that translations share, of all rows."""
    return [name.partition("-")[2] or name for name in features.example_id.tolist()]


def measure_similarity(
    features: Mapping[Protocol, Path], pivots: Sequence[str], output: Path
) -> None:
    """Compare pivots with all other languages, under one model, and write ``SIMILARITIES``.

    ``published`` is :func:`compare_windows` (code of Muller et al. 2021), ``corrected`` every
    measure of :func:`compare` on all sentences, of which :data:`DEBIASED` and :data:`SHUFFLED` have
    values on resamples by the sentences' common ids, so that languages and models are paired.
    Features by protocol are vectors of parallel texts, any layers, see
    :func:`mbert_atlas.representations.extraction.extract_features`. Raises :class:`DataError` as
    :func:`parallel_sentences`, and :class:`AtlasError` if all vectors of a layer are the same.
    """
    rows = chain(*(_similarities(path, pivots, name) for name, path in features.items()))
    write_parquet(pa.Table.from_pylist([*rows], SIMILARITIES), output)


def _similarities(
    path: Path, pivots: Sequence[str], protocol: Protocol
) -> Iterator[dict[str, Any]]:
    features = read_features(path)
    rows, names = parallel_sentences(features), _sentence_ids(features)
    kernels_of: Any = window_kernels if protocol == "published" else kernels
    compare_kernels: Any = compare_windows if protocol == "published" else compare
    for layer in track(load_arrays(path).meta["layers"], f"layers, {protocol}"):
        vectors = read_features(path, layer).vectors
        of_pivots = {pivot: kernels_of(vectors[rows[pivot]]) for pivot in pivots}
        for target, sentences in rows.items():
            of_target = of_pivots.get(target) or kernels_of(vectors[sentences])
            for source, of_source in of_pivots.items():
                if source == target:
                    continue
                place = {"protocol": protocol, "source": source, "target": target, "layer": layer}
                for measure, estimate in compare_kernels(of_source, of_target).items():
                    row = place | {"measure": measure, **estimate._asdict()}
                    del row["without"]
                    if measure in (DEBIASED, SHUFFLED) and estimate.without is not None:
                        row[RESAMPLED] = estimate.resampled([names[item] for item in sentences])
                    yield row
