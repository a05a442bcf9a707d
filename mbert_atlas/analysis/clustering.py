"""Agreement of clusters with labels: V-measure and AMI of k-means and of single linkage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score
from threadpoolctl import threadpool_limits

from mbert_atlas.errors import AtlasError
from mbert_atlas.randomness import generator

SEEDS = tuple(range(1, 11))


@dataclass(frozen=True)
class ClusterAgreement:
    """Agreement of k-means clusters with labels, means over runs; 0 to 1.

    Attributes:
        k: clusters.
        n: vectors.
        v_measure: harmonic mean of homogeneity and completeness; not adjusted for chance.
        v_measure_stddev: its standard deviation over runs.
        ami: adjusted mutual information, 0 for chance.
        v_measure_chance: V-measure of the same clusters against shuffled labels.
    """

    k: int
    n: int
    v_measure: float
    v_measure_stddev: float
    ami: float
    v_measure_chance: float


def cluster_agreement(
    vectors: npt.NDArray[Any],
    labels: Sequence[str] | npt.NDArray[Any],
    k: int | None = None,
    seeds: Sequence[int] = SEEDS,
) -> ClusterAgreement:
    """Cluster vectors by k-means and compare the clusters with ``labels``.

    As in Tanti et al.'s code: random initial centres, one start, at most 100 iterations of Lloyd's
    algorithm, seeds 1 to 10, means over the runs.

    Args:
        vectors: shape ``(n, dims)``.
        labels: shape ``(n,)``.
        k: clusters; none: as many as there are different labels.
        seeds: one run each.

    Raises:
        AtlasError: if there are fewer vectors than clusters.
    """
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    k = int(codes.max()) + 1 if k is None else k
    if len(vectors) < k:
        raise AtlasError(
            f"{len(vectors)} vectors cannot make {k} clusters; sample more or lower k."
        )
    data = np.ascontiguousarray(vectors, dtype=np.float32)
    measures, amis, chances = [], [], []
    for seed in seeds:
        with threadpool_limits(1):  # several threads add up the centres in no fixed order
            clusters = KMeans(
                k, init="random", n_init=1, max_iter=100, algorithm="lloyd", random_state=seed
            ).fit_predict(data)
        measures.append(v_measure_score(codes, clusters))
        amis.append(adjusted_mutual_info_score(codes, clusters))
        shuffled = generator(seed, "clusters", "chance").permutation(codes)
        chances.append(v_measure_score(shuffled, clusters))
    return ClusterAgreement(
        k=k,
        n=len(data),
        v_measure=float(np.mean(measures)),
        v_measure_stddev=float(np.std(measures)),
        ami=float(np.mean(amis)),
        v_measure_chance=float(np.mean(chances)),
    )


def linkage_agreement(
    vectors: npt.NDArray[np.float64],
    labels: Sequence[str],
    *,
    seed: int,
    permutations: int = 20,
) -> dict[str, float]:
    """Cluster vectors hierarchically and compare the clusters with ``labels``.

    Single linkage of cosine distances into as many clusters as labels, as in Liang et al.'s code
    (after Libovicky et al. 2020).

    Args:
        vectors: such as language means, shape ``(n, dims)``.
        labels: such as genera; each of two vectors or more.
        seed: of the permutations.
        permutations: of the labels, for the V-measure by chance.

    Returns:
        In percent ``v_measure``, ``chance_v_measure`` (mean over permuted labels), and ``ami``,
        which is 0 by chance.
    """
    # A vector of zeros has no direction: it is orthogonal to all others.
    distances = np.nan_to_num(pdist(vectors, metric="cosine"), nan=1.0)
    tree = linkage(np.maximum(distances, 0), method="single")
    clusters = fcluster(tree, len(set(labels)), criterion="maxclust")
    random = generator(seed, "permuted genera")
    chance = [v_measure_score(random.permutation(labels), clusters) for _ in range(permutations)]
    return {
        "v_measure": 100 * v_measure_score(labels, clusters),
        "chance_v_measure": 100 * float(np.mean(chance)),
        "ami": 100 * adjusted_mutual_info_score(labels, clusters),
    }
