"""Probes in windows of a projected space (section 4.2): identification, typology, similarity.

Columns are ordered by how well they identify languages (:mod:`mbert_atlas.analysis.subspaces`).
A probe sees the first x columns, the next x, a narrow window, or x random dimensions.

- ``published``, as in the authors' scripts: random dimensions are blocks of adjacent columns. LDA's
  directions are followed by raw neurons, and the overall mean is subtracted from the former only,
  which scikit-learn's ``transform`` does.
- ``corrected``: random dimensions are x columns of random rotations of the space, on average. The
  overall mean is subtracted from all vectors. Only clusters by cosines depend on it.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.clustering import linkage_agreement
from mbert_atlas.analysis.identification import pairwise_accuracies, split
from mbert_atlas.analysis.typology import TypologyProbe
from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.config.base import PROTOCOLS, Protocol
from mbert_atlas.errors import AtlasError
from mbert_atlas.papers.liang2021.config import Probe
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator, random_subspace
from mbert_atlas.schemas import LANGUAGE_PROBES

Floats = npt.NDArray[np.float32]
Kind = Literal["first", "next", "window", "layer", "random", "baseline", "majority"]
_BLOCKS, _NEURON_BLOCKS = 5, 10
"""Numbers of random blocks in ``LI_figure2.py`` and in ``LS_figure2.py``."""
_ADJUSTED = ("ami", "chance_v_measure")


class Window(NamedTuple):
    """Columns ``[start:stop]``; those of random windows start at 0.

    ``layer`` is the first one of Figure 3, ``random`` the dotted line of Figure 1, ``baseline``
    what the narrow windows of Figures 2 and 5 are compared with.
    """

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

    vectors: Mapping[str, Floats]  # of each language, (m, columns)
    neurons: Mapping[str, Floats]  # before projection, (m, dims)
    rotations: Sequence[Floats]  # corrected: orthonormal random columns, (columns, x) each
    windows: Sequence[Window]  # of the projected space
    random_windows: Sequence[Window]  # what they are compared with
    random_from: int  # published: first column of a baseline
    protocol: Protocol  # decides what the probe does
    seed: int  # of all that is random

    def rotated(self) -> list[dict[str, Floats]]:
        """Return the vectors in each random subspace."""
        return [
            {code: vectors @ rotation for code, vectors in self.vectors.items()}
            for rotation in self.rotations
        ]

    def blocks(
        self, random: np.random.Generator, window: Window, count: int, first: int | None = None
    ) -> list[slice]:
        """Sample blocks of as many adjacent columns as a random window has.

        They begin at ``first`` or later; by default after the first x of Figure 1, and at
        ``random_from`` for a baseline. Where there are too few columns, they begin as late as
        possible.
        """
        if first is None:
            first = self.random_from if window.kind == "baseline" else window.stop
        end = next(iter(self.neurons.values())).shape[1] - window.stop
        starts = np.arange(max(0, min(first, end - 1)), max(end, 1))
        chosen = random.choice(starts, min(count, len(starts)), replace=False)
        return [slice(start, start + window.stop) for start in chosen.tolist()]


def windows_of(
    probing: Mapping[str, Any], layer: int, dims: int
) -> tuple[list[Window], list[Window]]:
    """Return the windows of a layer, and the random ones that they are compared with.

    For ``probing`` see :func:`probe_languages`. Windows of the full layer that exceed the
    dimensions of the space are dropped; other layers have those of Figure 3 alone.
    """
    windows = [Window("layer", 0, probing["layer_size"])] if layer in probing["layers"] else []
    if layer != probing["full_layer"]:
        return windows, []
    sizes, width = [size for size in probing["sizes"] if size <= dims], probing["width"]
    starts = [start for start in probing["starts"] if start + width <= dims]
    windows += [Window("first", 0, size) for size in sizes]
    windows += [Window("next", size, 2 * size) for size in sizes if 2 * size <= dims]
    windows += [Window("window", start, start + width) for start in starts]
    random = [Window("random", 0, size) for size in sizes]
    return windows, [*random, Window("baseline", 0, width)]


def identify_languages(
    space: Space, *, tokens: int, pairs: int | None, layer_pairs: int | None
) -> Iterator[Score]:
    """Identify languages in a sample of the pairs, or all, from at most ``tokens`` of a language.

    Yields accuracies, mean over pairs; ``layer_pairs`` are those of Figure 3. ``published``: a
    random window is one block for each pair; a baseline is the mean of five blocks for the last
    pair alone, which the authors' Figures 2 and 5 subtract.
    """
    random = generator(space.seed, "language identification")
    codes = list(space.vectors)
    every = list(combinations(codes, 2))
    order = [every[number] for number in random.permutation(len(every))]
    used, of_layer = (order[:number] if number else every for number in (pairs, layer_pairs))
    splits = {code: split(random, len(space.vectors[code]), tokens) for code in codes}
    count = sum(len(splits[code].test) for code in used[-1])

    def accuracy(
        vectors: Mapping[str, Floats], columns: slice, pairs: Sequence[tuple[str, str]]
    ) -> float:
        window = {code: own[:, columns] for code, own in vectors.items()}
        return 100 * float(pairwise_accuracies(window, splits, pairs).mean())

    for window in track(space.windows, "windows, identification"):
        some = of_layer if window.kind == "layer" else used
        value = accuracy(space.vectors, window.columns, some)
        yield window, "accuracy", value, count * len(some)
    subspaces = space.rotated()
    for window in track(space.random_windows, "random windows, identification"):
        some = used
        if space.protocol == "corrected":
            values = [accuracy(rotated, window.columns, used) for rotated in subspaces]
        elif window.kind == "baseline":
            some = used[-1:]
            blocks = space.blocks(random, window, _BLOCKS)
            values = [accuracy(space.vectors, block, some) for block in blocks]
        else:
            values = [
                accuracy(space.vectors, space.blocks(random, window, 1)[0], [pair]) for pair in used
            ]
        yield window, "accuracy", float(np.mean(values)), count * len(some)


def predict_typology(
    space: Space, *, tokens: int, features: Mapping[str, Mapping[str, str]]
) -> Iterator[Score]:
    """Predict typological features, values such as "3 SVO", from at most ``tokens`` of a language.

    ``published``: test tokens are of the training languages, so that identifying the language is
    enough, and the class of a value is the first character of its number. ``corrected``: five folds
    of languages. Yields micro F1, mean over features; as ``majority`` that of the most frequent
    training class. ``published``: random windows are the mean of five blocks.
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
    subspaces = space.rotated()
    for window in track(space.random_windows, "random windows, typology"):
        if is_published:
            blocks = space.blocks(random, window, _BLOCKS)
            values = [score(space.vectors, block) for block in blocks]
        else:
            values = [score(rotated, window.columns) for rotated in subspaces]
        yield window, "micro_f1", float(np.mean(values)), n
    majority = probe.majority_f1([len(own.test) for own in rows])
    yield Window("majority", 0, 0), "micro_f1", majority, n


def cluster_languages(space: Space, *, tokens: int, genera: Mapping[str, str]) -> Iterator[Score]:
    """Cluster languages by the means of at most ``tokens`` and compare the clusters with genera.

    Single-language genera are dropped. Yields ``v_measure``, as ``corrected`` also ``ami`` and
    ``chance_v_measure``; nothing of a window in which there are fewer clusters than genera
    (:func:`linkage_agreement`), such as one dimension. ``published``: random windows are the mean
    of ten blocks of raw neurons. Raises :class:`AtlasError` if no two languages share a genus.
    """
    random = generator(space.seed, "similarity")
    of_all = [genera[code] for code in space.vectors]
    codes = sorted(code for code in space.vectors if of_all.count(genera[code]) > 1)
    if not codes:
        raise AtlasError("similarity: no two languages share a genus; take more of them.")
    labels = [genera[code] for code in codes]
    samples = {code: random.permutation(len(space.vectors[code]))[:tokens] for code in codes}
    metrics = ["v_measure"] if space.protocol == "published" else ["v_measure", *_ADJUSTED]

    def centroids(vectors: Mapping[str, Floats]) -> npt.NDArray[np.float64]:
        return np.stack(
            [vectors[code][samples[code]].mean(axis=0, dtype=np.float64) for code in codes]
        )

    def scores(points: Sequence[npt.NDArray[np.float64]]) -> Iterator[tuple[str, float]]:
        each = [linkage_agreement(some, labels, seed=space.seed) for some in points]
        for metric in metrics:
            value = float(np.mean([one[metric] for one in each]))
            if not np.isnan(value):
                yield metric, value

    projected, neurons = centroids(space.vectors), centroids(space.neurons)
    for window in track(space.windows, "windows, similarity"):
        for metric, value in scores([projected[:, window.columns]]):
            yield window, metric, value, len(codes)
    for window in track(space.random_windows, "random windows, similarity"):
        if space.protocol == "published":
            blocks = space.blocks(random, window, _NEURON_BLOCKS, first=0)
            points = [neurons[:, block] for block in blocks]
        else:
            points = [projected @ rotation[:, window.columns] for rotation in space.rotations]
        for metric, value in scores(points):
            yield window, metric, value, len(codes)


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

    Parts are those of :func:`mbert_atlas.representations.language_vectors.collect_vectors`; the
    languages of ``directions`` (:func:`mbert_atlas.analysis.subspaces.find_directions`) are probed.
    ``probing`` has ``methods``; ``sizes``, every x, ``starts``, the first dimensions of narrow
    windows, and their ``width``; ``full_layer``, the layer of these windows; ``layers`` and
    ``layer_size``, those of Figure 3 and the number of their first dimensions; and the fields of
    the config's section. Returns the columns of ``schemas.LANGUAGE_PROBES``. Raises
    :class:`AtlasError` if a language has no vectors, or these languages do not fit the probe.
    """

    def probe(space: Space) -> Iterator[Score]:
        if task == "identification":
            pairs, of_layer = (probing[name][space.protocol] for name in ("pairs", "layer_pairs"))
            return identify_languages(
                space, tokens=probing["tokens"], pairs=pairs, layer_pairs=of_layer
            )
        if task == "typology":
            return predict_typology(space, tokens=probing["typology_tokens"], features=features)
        return cluster_languages(space, tokens=probing["tokens"], genera=genera)

    stored = load_arrays(directions)
    rows: list[dict[str, Any]] = []
    for layer in sorted({*probing["layers"], probing["full_layer"]}):
        neurons = _read_layer(parts, layer, stored.meta["languages"])
        windows, random_windows = windows_of(probing, layer, stored.dense("mean").shape[-1])
        for method, protocol in product(probing["methods"], PROTOCOLS):
            columns, shift = _projection(stored, method, layer, protocol)
            needed = slice(None if random_windows else windows[0].stop)
            vectors = {
                code: own @ columns[:, needed] - shift[needed] for code, own in neurons.items()
            }
            turns = probing["turns"] if random_windows and protocol == "corrected" else 0
            size = max([window.stop for window in random_windows], default=0)
            for seed in seeds:
                rotations = [
                    random_subspace(generator(seed, "turned", number), len(shift), size)
                    for number in range(turns)
                ]
                space = Space(
                    *(vectors, neurons, rotations, windows, random_windows),
                    *(probing["random_from"], protocol, seed),
                )
                for window, metric, value, n in probe(space):
                    values = (protocol, method, layer, *window, metric, value, n, seed)
                    rows.append(dict(zip(LANGUAGE_PROBES.names, values, strict=True)))
    return pa.Table.from_pylist(rows, schema=LANGUAGE_PROBES)


def _projection(
    stored: TokenStore, method: str, layer: int, protocol: Protocol
) -> tuple[Floats, Floats]:
    """Return the columns of a projected space, and what is subtracted from each."""
    basis = stored.dense(f"{method}_basis")[layer]
    shift = stored.dense("mean")[layer] @ basis
    if protocol == "published" and method == "lda":
        rank = int(stored.dense("lda_rank")[layer])
        shift = np.append(shift[:rank], np.zeros(len(basis)))
        basis = np.hstack([basis[:, :rank], np.eye(len(basis))])
    elif protocol == "published":
        shift = np.zeros_like(shift)
    return basis.astype(np.float32), shift.astype(np.float32)


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
    return {code: vectors[code] for code in languages}
