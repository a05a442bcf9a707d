"""In how many dimensions languages, their typology and their relatives can be told.

Liang et al. (2021), section 4.2. The columns of a projected space are ordered by how well they tell
languages apart (:mod:`mbert_atlas.analysis.subspaces`); a probe sees the first x of them, the next
x, a narrow window, or x at random. What differs by protocol, each probe says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from mbert_atlas.analysis.logistic import Sample, fit_windows, right_answers
from mbert_atlas.analysis.shared_regression import fit_shared
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.errors import AtlasError
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import LANGUAGE_PROBES

_logger = logging.getLogger(__name__)
Floats = npt.NDArray[np.float32]
Kind = Literal["first", "next", "window", "random"]
_TEST_SHARE = 0.2
_FOLDS = 5
_PERMUTATIONS = 20
_BONUS = 10.0
"""Points that the authors' script of Figure 2 adds to the V-measure of DensRay."""


class Window(NamedTuple):
    """Columns that a probe sees.

    Attributes:
        kind: the first x columns, the x behind them, a narrow window, or x at random.
        start: first column.
        stop: the one behind the last; of a random window start is 0.
    """

    kind: Kind
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        """Where the columns lie in their space."""
        return slice(self.start, self.stop)


def windows_of(sizes: Sequence[int], width: int, dims: int) -> tuple[list[Window], list[Window]]:
    """Return the windows of a projected space, and the random ones that they are compared with.

    Args:
        sizes: every x.
        width: of the narrow windows, which go as far as the largest x.
        dims: of the space; what goes beyond is left out.
    """
    fit = [size for size in sizes if size <= dims]
    found = [Window("first", 0, size) for size in fit]
    found += [Window("next", size, 2 * size) for size in fit if 2 * size <= dims]
    stops = range(width, min(max(sizes), dims) + 1, width)
    found += [Window("window", stop - width, stop) for stop in stops]
    return found, [Window("random", 0, size) for size in sorted({*fit, width}) if size <= dims]


class Space(NamedTuple):
    """The vectors of languages in one layer, projected.

    Attributes:
        vectors: of each language, float32, shape ``(m, dims)``.
        turned: random orthonormal columns, float32, shape ``(dims, x)``, for each random subspace.
    """

    vectors: Mapping[str, Floats]
    turned: Sequence[Floats]

    def turns(self) -> Iterator[dict[str, Floats]]:
        """Yield the vectors in each random subspace."""
        for turn in self.turned:
            yield {code: own @ turn for code, own in self.vectors.items()}


def _block(random: np.random.Generator, window: Window, dims: int) -> slice:
    """Draw as many columns next to each other, behind the first of them where there is room."""
    free = dims - window.stop
    start = int(random.integers(min(window.stop, free), free + 1))
    return slice(start, start + window.stop)


Score = tuple[Window, str, float, int]
"""A window, the metric, its value in percent, and how many test items it is of."""


# ---- language identification


def identify_languages(
    space: Space,
    windows: Sequence[Window],
    drawn: Sequence[Window],
    protocol: Protocol,
    *,
    seed: int,
    tokens: int,
    pairs: int | None,
) -> Iterator[tuple[str, Score]]:
    """Tell pairs of languages apart by logistic regression (C = 1, converged).

    A fifth of the vectors of each language tests. ``published``: random dimensions are one block of
    the projected space, its place drawn for each pair. ``corrected``: the first dimensions of
    subspaces turned at random, their mean.

    Args:
        space: the vectors.
        windows: of the projected space.
        drawn: random ones.
        protocol: see above.
        seed: decides which vectors test, which pairs there are, and what is random.
        tokens: most vectors of a language.
        pairs: how many, drawn; none: all.

    Yields:
        The kind of window, and the accuracy as mean over pairs; as ``random_last`` random windows
        of the last pair alone, which is what the authors' Figure 2 takes off.
    """
    random = generator(seed, "language identification")
    codes = sorted(space.vectors)
    every = list(combinations(codes, 2))
    chosen = random.permutation(len(every))[:pairs]
    used = [every[number] for number in chosen] if pairs else every
    tested = {code: split(random, len(space.vectors[code]), tokens) for code in codes}
    dims = space.vectors[codes[0]].shape[1]
    ordered = [window.columns for window in windows]
    last = max([window.stop for window in windows], default=0)
    blocks = _Pairs(space.vectors, tested, dims if protocol == "published" else last)
    right = np.zeros(len(windows) + len(drawn))
    counted, of_last = 0, np.zeros(len(drawn))
    for pair in track(used, "pairs of languages"):
        own = list(ordered)
        if protocol == "published":
            own += [_block(random, window, dims) for window in drawn]
        shares, count = blocks.accuracies(pair, own)
        right[: len(own)] += shares
        of_last, counted = shares[len(windows) :], count
    if protocol == "corrected":
        for turn in space.turns():
            turned = _Pairs(turn, tested, turn[codes[0]].shape[1])
            for pair in track(used, "pairs of languages, turned"):
                shares, _ = turned.accuracies(pair, [window.columns for window in drawn])
                right[len(windows) :] += shares / len(space.turned)
    n = counted * len(used)
    for window, value in zip([*windows, *drawn], right / len(used), strict=True):
        yield window.kind, (window, "accuracy", 100 * value, n)
    if protocol == "published":
        for window, value in zip(drawn, of_last, strict=True):
            yield "random_last", (window, "accuracy", 100 * value, counted)


def _warn(converged: npt.NDArray[np.bool_], what: str) -> None:
    if not converged.all():
        _logger.warning("%s: %d regressions did not converge", what, (~converged).sum())


class _Pairs:
    """Samples of languages to train and to test on; each is made once for all its pairs."""

    def __init__(
        self, vectors: Mapping[str, Floats], tested: Mapping[str, _Split], width: int
    ) -> None:
        self._vectors, self._tested, self._width = vectors, tested, width
        self._made: dict[str, tuple[Sample, torch.Tensor]] = {}

    def accuracies(
        self, pair: tuple[str, str], windows: Sequence[slice]
    ) -> tuple[npt.NDArray[np.float64], int]:
        """Return the share that each window tells right, and how many vectors were tested."""
        if not windows:
            return np.zeros(0), 0
        (no, no_test), (yes, yes_test) = (self._of(code) for code in pair)
        weights, converged = fit_windows(no, yes, windows)
        _warn(converged, "-".join(pair))
        count = no_test.shape[1] + yes_test.shape[1]
        return right_answers(no_test, yes_test, weights, windows) / count, count

    def _of(self, code: str) -> tuple[Sample, torch.Tensor]:
        if code not in self._made:
            own, rows = self._vectors[code][:, : self._width], self._tested[code]
            test = torch.from_numpy(np.ascontiguousarray(own[rows.test].T))
            self._made[code] = Sample.of(own[rows.train]), test
        return self._made[code]


class _Split(NamedTuple):
    train: npt.NDArray[np.int64]
    test: npt.NDArray[np.int64]


def split(random: np.random.Generator, count: int, wanted: int) -> _Split:
    """Draw at most ``wanted`` of ``count`` rows, a fifth of them to test."""
    chosen = random.permutation(count)[:wanted]
    tests = round(len(chosen) * _TEST_SHARE)
    return _Split(np.sort(chosen[tests:]), np.sort(chosen[:tests]))


# ---- typology


def tell_typology(
    space: Space,
    windows: Sequence[Window],
    drawn: Sequence[Window],
    protocol: Protocol,
    *,
    seed: int,
    tokens: int,
    features: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, Score]]:
    """Tell typological features from tokens, one value against the rest (logistic, C = 1).

    ``published``: other tokens of the same languages test, so that knowing the language is enough,
    and the class of a value is the first character of its number. ``corrected``: five folds of the
    languages that have the feature, each predicted by the others; a value that only they have is a
    miss, and a feature of fewer than five languages is left out. Random windows
    as in :func:`identify_languages`.

    Args:
        space: the vectors.
        windows: of the projected space.
        drawn: random ones.
        protocol: see above.
        seed: decides which vectors test, the folds, and what is random.
        tokens: most vectors of a language.
        features: of each feature the values of languages, such as "3 SVO".

    Yields:
        The kind of window and the micro F1 (accuracy over tokens), mean over features; as kind
        ``majority`` what the commonest class of the training tokens gets.

    Raises:
        AtlasError: if no feature tells these languages apart.
    """
    random = generator(seed, "typology")
    codes = sorted(space.vectors)
    rows = {code: split(random, len(space.vectors[code]), tokens) for code in codes}
    plan = _Plan.of(codes, features, protocol, random)
    dims = space.vectors[codes[0]].shape[1]

    def score(vectors: Mapping[str, Floats], columns: slice) -> float:
        train, test = (
            [
                torch.from_numpy(
                    np.ascontiguousarray(vectors[code][getattr(rows[code], part)][:, columns])
                )
                for code in codes
            ]
            for part in ("train", "test")
        )
        weights, converged = fit_shared(train, plan.signs)
        _warn(converged, f"typology by {columns.stop - columns.start} dimensions")
        return plan.score([own @ weights[:, :-1].T + weights[:, -1] for own in test])

    for window in track(windows, "windows, typology"):
        value = score(space.vectors, window.columns)
        yield window.kind, (window, "micro_f1", value, len(plan.features))
    turns = list(space.turns()) if protocol == "corrected" else []
    for window in track(drawn, "random windows, typology"):
        if protocol == "published":
            value = score(space.vectors, _block(random, window, dims))
        else:
            value = float(np.mean([score(turn, window.columns) for turn in turns]))
        yield "random", (window, "micro_f1", value, len(plan.features))
    counts = [len(rows[code].test) for code in codes]
    value = plan.score([torch.zeros(count, plan.signs.shape[1]) for count in counts], common=True)
    yield "majority", (Window("first", 0, 0), "micro_f1", value, len(plan.features))


def _folds(random: np.random.Generator, codes: Sequence[str]) -> list[list[str]]:
    order = random.permutation(len(codes))
    return [[codes[number] for number in order[fold::_FOLDS]] for fold in range(_FOLDS)]


class _Plan(NamedTuple):
    """All regressions of a typology probe: a column for each feature, fold and class.

    Attributes:
        signs: of languages (rows) in regressions (columns): 1 of the class, -1 of another, 0 not in
            it; int8.
        features: of each feature its folds: the languages that test, their classes, the columns
            and their classes, and the place of the commonest class of the others.
    """

    signs: npt.NDArray[np.int8]
    features: list[list[tuple[list[int], list[str], list[int], list[str], int]]]

    @classmethod
    def of(
        cls,
        codes: Sequence[str],
        features: Mapping[str, Mapping[str, str]],
        protocol: Protocol,
        random: np.random.Generator,
    ) -> _Plan:
        # Languages a, b, c of values 1, 1, 2; c tests in the second fold, where one class is left:
        # no regression, and what c is given is the commonest of the others.
        columns: list[npt.NDArray[np.int8]] = []
        planned = []
        for _, values in sorted(features.items()):
            own = {code: values[code] for code in codes if code in values}
            if protocol == "published":
                own = {code: value[:1] for code, value in own.items()}
            folds = [list(own)]
            if protocol == "corrected":
                folds = _folds(random, list(own))
            if len(set(own.values())) < 2 or not all(folds):
                continue
            parts = []
            for tested in folds:
                learnt = [c for c in own if protocol == "published" or c not in tested]
                classes = sorted({own[code] for code in learnt})
                places = []
                for value in classes if len(classes) > 1 else ():
                    sides = [(1 if own[c] == value else -1) if c in learnt else 0 for c in codes]
                    places.append(len(columns))
                    columns.append(np.array(sides, dtype=np.int8))
                counts = [sum(own[code] == value for code in learnt) for value in classes]
                rows = [codes.index(code) for code in tested]
                gold = [own[code] for code in tested]
                parts.append((rows, gold, places, classes, int(np.argmax(counts))))
            planned.append(parts)
        if not planned:
            raise AtlasError("typology: no feature tells these languages apart; take more of them.")
        return cls(np.stack(columns, axis=1), planned)

    def score(self, margins: Sequence[torch.Tensor], *, common: bool = False) -> float:
        """Return the share of tokens whose class is right, mean over features, in percent.

        Args:
            margins: of the test vectors of each language, shape ``(m, columns)``.
            common: always take the commonest class instead.
        """
        shares = []
        for parts in self.features:
            right = total = 0
            for rows, gold, places, classes, commonest in parts:
                for row, value in zip(rows, gold, strict=True):
                    own, total = margins[row], total + len(margins[row])
                    if common or not places:
                        right += len(own) * (classes[commonest] == value)
                    elif value in classes:
                        found = own[:, places].argmax(1)
                        right += int((found == classes.index(value)).sum())
            shares.append(right / total)
        return 100 * float(np.mean(shares))


# ---- similarity


def cluster_languages(
    space: Space,
    windows: Sequence[Window],
    drawn: Sequence[Window],
    protocol: Protocol,
    *,
    seed: int,
    tokens: int,
    genera: Mapping[str, str],
    bonus: float,
) -> Iterator[tuple[str, Score]]:
    """Cluster languages by the means of their vectors and compare the clusters with genera.

    Languages whose genus has no other one are left out.

    Args:
        space: the vectors.
        windows: of the projected space.
        drawn: random ones, as in :func:`identify_languages`.
        protocol: ``published`` yields ``v_measure`` with the bonus; ``corrected`` ``ami``, adjusted
            for chance, and what chance gives.
        seed: decides which vectors count, and what is random.
        tokens: most vectors of a language.
        genera: genus of each language.
        bonus: points that ``v_measure`` gets.

    Yields:
        The kind of window and its metrics; ``v_measure_plain`` under both protocols.

    Raises:
        AtlasError: if no two languages have one genus.
    """
    random = generator(seed, "similarity")
    codes = sorted(space.vectors)
    of_all = [genera[code] for code in codes]
    codes = [code for code, genus in zip(codes, of_all, strict=True) if of_all.count(genus) > 1]
    if not codes:
        raise AtlasError("similarity: no two languages have one genus; take more of them.")
    own = [genera[code] for code in codes]
    centroids = np.stack(
        [
            space.vectors[code][random.permutation(len(space.vectors[code]))[:tokens]].mean(axis=0)
            for code in codes
        ]
    ).astype(np.float64)
    dims = centroids.shape[1]

    def scores(points: npt.NDArray[np.float64]) -> dict[str, float]:
        found = cluster_by_genus(points, own, seed=seed)
        plain = found["v_measure"]
        if protocol == "published":
            return {"v_measure": plain + bonus, "v_measure_plain": plain}
        chance = {name: found[name] for name in ("ami", "chance_v_measure")}
        return chance | {"v_measure_plain": plain}

    for window in track(windows, "windows, similarity"):
        for metric, value in scores(centroids[:, window.columns]).items():
            yield window.kind, (window, metric, value, len(codes))
    for window in track(drawn, "random windows, similarity"):
        if protocol == "published":
            points = [centroids[:, _block(random, window, dims)]]
        else:
            points = [centroids @ turn[:, window.columns] for turn in space.turned]
        each = [scores(some) for some in points]
        for metric in each[0]:
            mean = float(np.mean([one[metric] for one in each]))
            yield "random", (window, metric, mean, len(codes))


def cluster_by_genus(
    centroids: npt.NDArray[np.float64],
    genera: Sequence[str],
    *,
    seed: int,
    permutations: int = _PERMUTATIONS,
) -> dict[str, float]:
    """Cluster languages by their centroids and compare the clusters with their genera.

    Single linkage of cosine distances into as many clusters as genera, as the authors' code (after
    Libovicky et al. 2020).

    Args:
        centroids: of the languages in the window, shape ``(n, x)``.
        genera: of each; each has two languages or more.
        seed: of the permutations.
        permutations: of the genera, for what chance would give.

    Returns:
        In percent ``v_measure``, ``chance_v_measure`` (its mean over permuted genera), and ``ami``,
        which is 0 by chance.
    """
    # A centroid of 0 has no direction: as far from all others as a right angle.
    distances = np.nan_to_num(pdist(centroids, metric="cosine"), nan=1.0)
    tree = linkage(np.maximum(distances, 0), method="single")
    found = fcluster(tree, len(set(genera)), criterion="maxclust")
    random = generator(seed, "permuted genera")
    chance = [v_measure_score(random.permutation(genera), found) for _ in range(permutations)]
    return {
        "v_measure": 100 * v_measure_score(genera, found),
        "chance_v_measure": 100 * float(np.mean(chance)),
        "ami": 100 * adjusted_mutual_info_score(genera, found),
    }


# ---- all of a job


def probe_languages(
    parts: Sequence[Path],
    directions: Path,
    task: Literal["identification", "typology", "similarity"],
    *,
    probing: Mapping[str, Any],
    seeds: Sequence[int],
    features: Mapping[str, Mapping[str, str]],
    genera: Mapping[str, str],
) -> pa.Table:
    """Run one probe on windows of one layer, and on the first dimensions of all.

    Args:
        parts: what ``collect_vectors`` wrote of groups of languages.
        directions: what :func:`mbert_atlas.analysis.directions.find_directions` wrote; its
            languages are probed.
        task: which probe.
        probing: ``methods``; ``sizes`` and ``width``, see :func:`windows_of`; ``full_layer``, the
            layer of all windows; ``layers`` and ``layer_size``, the others and how many first
            dimensions of theirs; ``tokens``, ``typology_tokens``, ``pairs`` by protocol, and
            ``turns``, random subspaces.
        seeds: one result for each.
        features: typological features of languages.
        genera: genus of each language.

    Returns:
        Columns of ``schemas.LANGUAGE_PROBES``.

    Raises:
        AtlasError: if a language has no vectors, or these languages cannot be probed so.
    """
    found = load_arrays(directions)
    rows: list[dict[str, Any]] = []
    for layer in sorted({*probing["layers"], probing["full_layer"]}):
        vectors = read_layer(parts, layer, found.meta["languages"])
        for method in probing["methods"]:
            basis = found.dense(f"{method}_basis")[layer].astype(np.float32)
            projected = {code: own @ basis for code, own in vectors.items()}
            windows, drawn = windows_of(probing["sizes"], probing["width"], len(basis))
            first = Window("first", 0, probing["layer_size"])
            if layer != probing["full_layer"]:
                windows, drawn = [first], []
            elif first not in windows:
                windows = [first, *windows]
            for protocol in PROTOCOLS:
                for seed in seeds:
                    turned = [
                        _turn(seed, turn, len(basis), max(window.stop for window in drawn))
                        for turn in range(probing["turns"])
                        if drawn and protocol == "corrected"
                    ]
                    probe = _PROBES[task](
                        probing, protocol, features, genera, _BONUS * (method == "densray")
                    )
                    space = Space(projected, turned)
                    for kind, score in probe(space, windows, drawn, protocol, seed=seed):
                        window, metric, value, n = score
                        place = (protocol, method, layer, kind, window.start, window.stop)
                        values = (*place, metric, value, n, seed)
                        rows.append(dict(zip(LANGUAGE_PROBES.names, values, strict=True)))
    return pa.Table.from_pylist(rows, schema=LANGUAGE_PROBES)


def read_layer(parts: Sequence[Path], layer: int, languages: Sequence[str]) -> dict[str, Floats]:
    """Return the probing vectors of languages in one layer, float32, shape ``(m, dims)`` each.

    Raises:
        AtlasError: if a language has none.
    """
    vectors: dict[str, Floats] = {}
    for part in parts:
        stored = load_arrays(part)
        owner, own = stored.dense("language"), stored.dense("vectors")[layer]
        for number, code in enumerate(stored.meta["languages"]):
            if code in languages:
                vectors[code] = own[owner == number].astype(np.float32)
    empty = [code for code in languages if len(vectors.get(code, ())) == 0]
    if empty:
        raise AtlasError(f"language {empty[0]}: no vectors to probe; take more text or drop it.")
    return vectors


def _turn(seed: int, turn: int, dims: int, size: int) -> Floats:
    """Return orthonormal columns in random directions, shape ``(dims, size)``."""
    random = generator(seed, "turned", turn)
    columns, _ = np.linalg.qr(random.normal(size=(dims, size)))
    return columns.astype(np.float32)


_Probe = Callable[..., Iterator[tuple[str, Score]]]


def _identification(probing: Mapping[str, Any], protocol: Protocol, *_: Any) -> _Probe:
    options = {"tokens": probing["tokens"], "pairs": probing["pairs"][protocol]}
    return lambda *place, seed: identify_languages(*place, seed=seed, **options)


def _typology(
    probing: Mapping[str, Any], _: Protocol, features: Mapping[str, Mapping[str, str]], *__: Any
) -> _Probe:
    options: dict[str, Any] = {"tokens": probing["typology_tokens"], "features": features}
    return lambda *place, seed: tell_typology(*place, seed=seed, **options)


def _similarity(
    probing: Mapping[str, Any], _: Protocol, __: Any, genera: Mapping[str, str], bonus: float
) -> _Probe:
    options: dict[str, Any] = {"tokens": probing["tokens"], "genera": genera, "bonus": bonus}
    return lambda *place, seed: cluster_languages(*place, seed=seed, **options)


_PROBES: dict[str, Callable[..., _Probe]] = {
    "identification": _identification,
    "typology": _typology,
    "similarity": _similarity,
}
