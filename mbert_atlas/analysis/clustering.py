"""Agreement of clusters with labels: V-measure and AMI of k-means and of single linkage."""

import math
from collections.abc import Sequence
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

_SEEDS = range(1, 11)
_PERMUTATIONS = 20
_AGREEMENT = ("v_measure", "chance_v_measure", "ami")


def cluster_agreement(
    vectors: npt.NDArray[Any], labels: Sequence[str] | npt.NDArray[Any], k: int
) -> dict[str, float]:
    """Cluster vectors, shape ``(n, dims)``, by k-means and compare the clusters with ``labels``.

    As in Tanti et al.'s code: random initial centres, one start, at most 100 iterations of Lloyd's
    algorithm, means over the seeds 1 to 10. Returns ``k``, ``n``, and from 0 to 1 ``v_measure``
    (not adjusted for chance), ``ami`` (adjusted mutual information, 0 for chance), and
    ``v_measure_chance``, that of the same clusters and shuffled labels. Raises :class:`AtlasError`
    if there are fewer vectors than clusters.
    """
    if len(vectors) < k:
        raise AtlasError(
            f"{len(vectors)} vectors cannot make {k} clusters; sample more or lower k."
        )
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    data = np.ascontiguousarray(vectors, dtype=np.float32)
    runs = []
    for seed in _SEEDS:
        with threadpool_limits(1):  # several threads add up the centres in no fixed order
            clusters = KMeans(
                k, init="random", n_init=1, max_iter=100, algorithm="lloyd", random_state=seed
            ).fit_predict(data)
        shuffled = generator(seed, "clusters", "chance").permutation(codes)
        measures = [v_measure_score(each, clusters) for each in (codes, shuffled)]
        runs.append((*measures, adjusted_mutual_info_score(codes, clusters)))
    measure, chance, ami = (float(np.mean(values)) for values in zip(*runs, strict=True))
    return {"k": k, "n": len(data), "v_measure": measure, "ami": ami, "v_measure_chance": chance}


def linkage_agreement(
    vectors: npt.NDArray[np.float64], labels: Sequence[str], *, seed: int
) -> dict[str, float]:
    """Cluster vectors, shape ``(n, dims)``, hierarchically and compare the clusters with labels.

    Single linkage of cosine distances into as many clusters as labels, each of two vectors or more,
    as in Liang et al.'s code (after Libovicky et al. 2020). Returns ``clusters``, their number, and
    in percent ``v_measure``, ``chance_v_measure`` (mean over 20 permutations of the labels), and
    ``ami``, which is 0 by chance. Where linkages are equally far, such as all of a vector of zeros
    or those of one dimension, no cut may leave as many clusters as labels: scipy's ``maxclust``
    makes fewer, and the three are NaN.
    """
    # A vector of zeros has no direction: it is orthogonal to all others.
    distances = np.nan_to_num(pdist(vectors, metric="cosine"), nan=1.0)
    tree = linkage(np.maximum(distances, 0), method="single")
    k = len(set(labels))
    clusters = fcluster(tree, k, criterion="maxclust")
    if (count := len(np.unique(clusters))) < k:
        return {"clusters": count} | dict.fromkeys(_AGREEMENT, math.nan)
    random = generator(seed, "permuted genera")
    chance = [v_measure_score(random.permutation(labels), clusters) for _ in range(_PERMUTATIONS)]
    measures = (
        v_measure_score(labels, clusters),
        float(np.mean(chance)),
        adjusted_mutual_info_score(labels, clusters),
    )
    percent = (100 * value for value in measures)
    return {"clusters": count} | dict(zip(_AGREEMENT, percent, strict=True))
