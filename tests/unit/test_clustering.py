"""Hierarchical clusters against labels."""

from __future__ import annotations

import numpy as np

from mbert_atlas.analysis.clustering import linkage_agreement


def test_linkage_finds_planted_families() -> None:
    random = np.random.default_rng(1)
    roots = {"a": [3, 0, 0, 0], "b": [0, 3, 0, 0], "c": [0, 0, 3, 0]}
    genera = [name for name in roots for _ in range(4)]
    centroids = np.array([roots[name] for name in genera]) + 0.1 * random.normal(size=(12, 4))
    found = linkage_agreement(centroids, genera, seed=1)
    assert found["v_measure"] == found["ami"] == 100
    assert 20 < found["chance_v_measure"] < 60
    zeros = np.vstack([centroids, np.zeros((2, 4))])
    found = linkage_agreement(zeros, [*genera, "d", "d"], seed=1)
    assert found["v_measure"] > found["chance_v_measure"] + 20  # zeros have no cosine
    noise = linkage_agreement(random.normal(size=(12, 4)), genera, seed=1)
    assert abs(noise["ami"]) < 30 < noise["v_measure"] + 20
