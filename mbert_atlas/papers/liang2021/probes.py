"""Probes in windows of a projected space (section 4.2): identification, typology, similarity.

Columns are ordered by how well they identify languages (:mod:`mbert_atlas.analysis.subspaces`).
A probe sees the first x columns, the next x, a narrow window, or x random dimensions.

Random dimensions are, ``published``, x adjacent columns of the projected space, after the first x
where there are enough; ``corrected``, x columns of random rotations of the space, on average.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.clustering import linkage_agreement
from mbert_atlas.analysis.logistic import pairwise_accuracies, split
from mbert_atlas.analysis.subspaces import random_subspace
from mbert_atlas.analysis.typology import TypologyProbe
from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.errors import AtlasError
from mbert_atlas.papers.liang2021.config import Probe
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import LANGUAGE_PROBES

Floats = npt.NDArray[np.float32]
Kind = Literal["first", "next", "window", "random", "random_last", "majority"]
_BONUS = 10.0
"""Points that the authors' script of Figure 2 adds to the V-measure of DensRay."""


class Window(NamedTuple):
    """Columns ``[start:stop]``; those of a random window start at 0."""

    kind: Kind
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        """The columns in their space."""
        return slice(self.start, self.stop)


Score = tuple[Window, str, float, int]
"""The window, a metric, its value in percent, and the number of test items."""


class Space(NamedTuple):
    """A projected space as one probe sees it."""

    vectors: Mapping[str, Floats]  # of each language, (m, dims)
    rotations: Sequence[Floats]  # corrected: orthonormal random columns, (dims, x) each
    windows: Sequence[Window]  # of the projected space
    random_windows: Sequence[Window]  # what they are compared with
    protocol: Protocol  # decides what the probe does
    seed: int  # of all that is random

    def rotated(self) -> Iterator[dict[str, Floats]]:
        """Yield the vectors in each random subspace."""
        for rotation in self.rotations:
            yield {code: vectors @ rotation for code, vectors in self.vectors.items()}

    def adjacent(self, random: np.random.Generator, window: Window) -> slice:
        """Sample as many adjacent columns as a random window has."""
        free = int(next(iter(self.vectors.values())).shape[1]) - window.stop
        start = int(random.integers(min(window.stop, free), free + 1))
        return slice(start, start + window.stop)


def windows_of(sizes: Sequence[int], width: int, dims: int) -> tuple[list[Window], list[Window]]:
    """Return the windows of a projected space, and the random ones that they are compared with.

    ``sizes`` are every x; narrow windows of one width extend to the largest. Windows that exceed
    the dimensions of the space are dropped.
    """
    stops = range(width, min(max(sizes), dims) + 1, width)
    sizes = [size for size in sizes if size <= dims]
    windows = [Window("first", 0, size) for size in sizes]
    windows += [Window("next", size, 2 * size) for size in sizes if 2 * size <= dims]
    windows += [Window("window", stop - width, stop) for stop in stops]
    return windows, [Window("random", 0, size) for size in sorted({*sizes, width}) if size <= dims]


def identify_languages(space: Space, *, tokens: int, pairs: int | None) -> Iterator[Score]:
    """Identify languages in a sample of the pairs, or all, from at most ``tokens`` of a language.

    Yields accuracies, mean over pairs; as ``random_last`` those of the last pair's random
    dimensions alone, which the authors' Figure 2 subtracts.
    """
    random = generator(space.seed, "language identification")
    codes = sorted(space.vectors)
    every = list(combinations(codes, 2))
    order = random.permutation(len(every))
    used = [every[number] for number in order[:pairs]] if pairs else every
    splits = {code: split(random, len(space.vectors[code]), tokens) for code in codes}
    random_windows = space.random_windows
    count = sum(len(splits[code].test) for code in used[-1])

    def accuracies(
        vectors: Mapping[str, Floats], columns: slice, pairs: Sequence[tuple[str, str]] = used
    ) -> npt.NDArray[np.float64]:
        window = {code: own[:, columns] for code, own in vectors.items()}
        return pairwise_accuracies(window, splits, pairs)

    for window in track(space.windows, "windows, identification"):
        value = accuracies(space.vectors, window.columns).mean()
        yield window, "accuracy", 100 * value, count * len(used)
    if not random_windows:
        return
    if space.protocol == "published":
        values = [
            [
                accuracies(space.vectors, space.adjacent(random, window), [pair])[0]
                for window in random_windows
            ]
            for pair in track(used, "random windows, pairs of languages")
        ]
    else:
        each = [
            [accuracies(rotated, window.columns) for window in random_windows]
            for rotated in space.rotated()
        ]
        values = np.mean(each, axis=0).T
    for window, value in zip(random_windows, np.mean(values, axis=0), strict=True):
        yield window, "accuracy", 100 * value, count * len(used)
    if space.protocol == "published":
        for window, value in zip(random_windows, values[-1], strict=True):
            yield window._replace(kind="random_last"), "accuracy", 100 * value, count


def predict_typology(
    space: Space, *, tokens: int, features: Mapping[str, Mapping[str, str]]
) -> Iterator[Score]:
    """Predict typological features, values such as "3 SVO", from at most ``tokens`` of a language.

    ``published``: test tokens are of the training languages, so that identifying the language is
    enough, and the class of a value is the first character of its number. ``corrected``: five folds
    of languages. Yields micro F1, mean over features; as ``majority`` that of the most frequent
    training class.
    """
    random = generator(space.seed, "typology")
    codes = sorted(space.vectors)
    rows = [split(random, len(space.vectors[code]), tokens) for code in codes]
    is_published = space.protocol == "published"
    if is_published:
        features = {
            name: {code: value[:1] for code, value in values.items()}
            for name, values in features.items()
        }
    probe = TypologyProbe.of(codes, features, None if is_published else random)

    def score(vectors: Mapping[str, Floats], columns: slice) -> float:
        train, test = (
            [vectors[code][own[part]][:, columns] for code, own in zip(codes, rows, strict=True)]
            for part in (0, 1)
        )
        return probe.micro_f1(train, test)

    n = len(probe.features)
    for window in track(space.windows, "windows, typology"):
        yield window, "micro_f1", score(space.vectors, window.columns), n
    subspaces = [] if is_published else list(space.rotated())
    for window in track(space.random_windows, "random windows, typology"):
        if is_published:
            value = score(space.vectors, space.adjacent(random, window))
        else:
            value = float(np.mean([score(vectors, window.columns) for vectors in subspaces]))
        yield window, "micro_f1", value, n
    majority = probe.majority_f1([len(own.test) for own in rows])
    yield Window("majority", 0, 0), "micro_f1", majority, n


def cluster_languages(
    space: Space, *, tokens: int, genera: Mapping[str, str], bonus: float
) -> Iterator[Score]:
    """Cluster languages by the means of at most ``tokens`` and compare the clusters with genera.

    Single-language genera are dropped. Yields ``v_measure`` plus the bonus as ``published``,
    ``ami`` and ``chance_v_measure`` as ``corrected``, and ``v_measure_plain``. Raises
    :class:`AtlasError` if no two languages share a genus.
    """
    random = generator(space.seed, "similarity")
    of_all = [genera[code] for code in space.vectors]
    codes = sorted(code for code in space.vectors if of_all.count(genera[code]) > 1)
    if not codes:
        raise AtlasError("similarity: no two languages share a genus; take more of them.")
    labels = [genera[code] for code in codes]
    samples = (
        space.vectors[code][random.permutation(len(space.vectors[code]))[:tokens]] for code in codes
    )
    centroids = np.stack([sample.mean(axis=0) for sample in samples]).astype(np.float64)

    def scores(points: npt.NDArray[np.float64]) -> dict[str, float]:
        agreement = linkage_agreement(points, labels, seed=space.seed)
        plain = agreement["v_measure"]
        if space.protocol == "published":
            return {"v_measure": plain + bonus, "v_measure_plain": plain}
        adjusted = {name: agreement[name] for name in ("ami", "chance_v_measure")}
        return adjusted | {"v_measure_plain": plain}

    for window in track(space.windows, "windows, similarity"):
        for metric, value in scores(centroids[:, window.columns]).items():
            yield window, metric, value, len(codes)
    for window in track(space.random_windows, "random windows, similarity"):
        if space.protocol == "published":
            points = [centroids[:, space.adjacent(random, window)]]
        else:
            points = [centroids @ rotation[:, window.columns] for rotation in space.rotations]
        each = list(map(scores, points))
        for metric in each[0]:
            yield window, metric, float(np.mean([one[metric] for one in each])), len(codes)


def probe_languages(
    parts: Sequence[Path],
    directions: Path,
    task: Probe,
    *,
    probing: Mapping[str, Any],
    seeds: Sequence[int],
    features: Mapping[str, Mapping[str, str]],
    genera: Mapping[str, str],
) -> pa.Table:
    """Run one probe on all windows of one layer, and on the first dimensions of the others.

    Vectors of groups of languages are those of
    :func:`mbert_atlas.representations.language_vectors.collect_vectors`; the languages of
    ``directions`` (:func:`mbert_atlas.analysis.subspaces.find_directions`) are probed. ``probing``
    has ``methods``; ``sizes`` and ``width``, see :func:`windows_of`; ``full_layer``, the layer of
    all windows; ``layers`` and ``layer_size``, the others and the number of their first dimensions;
    ``tokens``, ``typology_tokens``, ``pairs`` by protocol, and ``turns``, the number of random
    rotations. Returns the columns of ``schemas.LANGUAGE_PROBES``. Raises :class:`AtlasError` if a
    language has no vectors, or these languages do not fit the probe.
    """

    def probe(space: Space, method: str) -> Iterator[Score]:
        if task == "identification":
            pairs = probing["pairs"][space.protocol]
            return identify_languages(space, tokens=probing["tokens"], pairs=pairs)
        if task == "typology":
            return predict_typology(space, tokens=probing["typology_tokens"], features=features)
        bonus = _BONUS * (method == "densray")
        return cluster_languages(space, tokens=probing["tokens"], genera=genera, bonus=bonus)

    stored = load_arrays(directions)
    rows: list[dict[str, Any]] = []
    for layer in sorted({*probing["layers"], probing["full_layer"]}):
        vectors = _read_layer(parts, layer, stored.meta["languages"])
        for method in probing["methods"]:
            basis = stored.dense(f"{method}_basis")[layer].astype(np.float32)
            projected = {code: own @ basis for code, own in vectors.items()}
            windows, random_windows = windows_of(probing["sizes"], probing["width"], len(basis))
            first = Window("first", 0, probing["layer_size"])
            if layer != probing["full_layer"]:
                windows, random_windows = [first], []
            elif first not in windows:
                windows = [first, *windows]
            for protocol, seed in product(PROTOCOLS, seeds):
                turns = probing["turns"] if random_windows and protocol == "corrected" else 0
                size = max([window.stop for window in random_windows], default=0)
                rotations = [
                    random_subspace(generator(seed, "turned", number), len(basis), size)
                    for number in range(turns)
                ]
                space = Space(projected, rotations, windows, random_windows, protocol, seed)
                for window, metric, value, n in probe(space, method):
                    values = (protocol, method, layer, *window, metric, value, n, seed)
                    rows.append(dict(zip(LANGUAGE_PROBES.names, values, strict=True)))
    return pa.Table.from_pylist(rows, schema=LANGUAGE_PROBES)


def _read_layer(parts: Sequence[Path], layer: int, languages: Sequence[str]) -> dict[str, Floats]:
    vectors: dict[str, Floats] = {}
    for part in parts:
        stored = load_arrays(part)
        owner, states = stored.dense("language"), stored.dense("vectors")[layer]
        for number, code in enumerate(stored.meta["languages"]):
            if code in languages:
                vectors[code] = states[owner == number].astype(np.float32)
    empty = [code for code in languages if len(vectors.get(code, ())) == 0]
    if empty:
        raise AtlasError(f"language {empty[0]}: no vectors to probe; take more text or drop it.")
    return vectors
