"""How many dimensions tell languages apart: probes of windows of a projected space.

Liang et al. (2021), section 4.2. The columns of a projected space are ordered by how well they tell
languages apart (:mod:`mbert_atlas.analysis.subspaces`); a probe sees the first x of them, the next
x, or x at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from mbert_atlas.analysis.logistic import fit_windows
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator

Floats = npt.NDArray[np.float32]
Kind = Literal["first", "next", "random"]


class Window(NamedTuple):
    """Columns that a probe sees.

    Attributes:
        kind: the first x of the projected space, the x behind them, or x at random.
        size: x.
    """

    kind: Kind
    size: int

    @property
    def columns(self) -> slice:
        """Where it lies; a random one begins a space that is turned at random."""
        return slice(self.size, 2 * self.size) if self.kind == "next" else slice(0, self.size)


def identify_pairs(
    vectors: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    basis: npt.NDArray[np.float64],
    sizes: Sequence[int],
    *,
    seed: int,
    test_share: float = 0.2,
    turns: int = 3,
) -> Iterator[tuple[tuple[str, str], Window, int, int]]:
    """Tell two languages apart by logistic regression on windows, for each pair of languages.

    Args:
        vectors: of each language, float32, shape ``(m, dims)``.
        pairs: which two.
        basis: directions as columns, shape ``(dims, width)``.
        sizes: every x.
        seed: decides which vectors test, and what is random.
        test_share: share of the vectors that test.
        turns: random subspaces of each size, each of which is reported.

    Yields:
        The pair, the window, how many test vectors are told right, and how many there are.
    """
    random = generator(seed, "language identification")
    dims, width = basis.shape
    projected = {code: (own @ basis).astype(np.float32) for code, own in vectors.items()}
    turned = [_turn(random, dims, max(sizes)) for _ in range(turns)]
    tested = {code: _sample(random, len(own), test_share) for code, own in vectors.items()}
    ordered = [Window("first", size) for size in sizes]
    ordered += [Window("next", size) for size in sizes if 2 * size <= width]
    spaces = [(ordered, projected)]
    for turn in turned:
        spaces.append(
            (
                [Window("random", size) for size in sizes],
                {code: own @ turn for code, own in vectors.items()},
            )
        )
    most = 2 * max(sizes)
    for pair in track(pairs, "pairs of languages"):
        for windows, space in spaces:
            train, test = (
                np.concatenate([space[code][tested[code] == part][:, :most] for code in pair])
                for part in (False, True)
            )
            gold_train, gold_test = (
                np.repeat([False, True], [(tested[code] == part).sum() for code in pair])
                for part in (False, True)
            )
            weights, _ = fit_windows(train, gold_train, [window.columns for window in windows])
            found = test @ weights[:-1] + weights[-1] > 0
            right = (found == gold_test[:, None]).sum(axis=0)
            for window, count in zip(windows, right, strict=True):
                yield pair, window, int(count), len(gold_test)


def _turn(random: np.random.Generator, dims: int, size: int) -> Floats:
    """Return orthonormal columns in random directions, shape ``(dims, size)``."""
    columns, _ = np.linalg.qr(random.normal(size=(dims, size)))
    return columns.astype(np.float32)


def _sample(random: np.random.Generator, count: int, share: float) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(count, dtype=bool)
    chosen[random.permutation(count)[: round(count * share)]] = True
    return chosen


def cluster_by_genus(
    centroids: npt.NDArray[np.float64], genera: Sequence[str], *, seed: int, permutations: int = 200
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
    tree = linkage(centroids, method="single", metric="cosine")
    found = fcluster(tree, len(set(genera)), criterion="maxclust")
    random = generator(seed, "permuted genera")
    chance = [v_measure_score(random.permutation(genera), found) for _ in range(permutations)]
    return {
        "v_measure": 100 * v_measure_score(genera, found),
        "chance_v_measure": 100 * float(np.mean(chance)),
        "ami": 100 * adjusted_mutual_info_score(genera, found),
    }
