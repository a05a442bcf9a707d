"""Probes of windows of a projected space: languages told apart, and their families."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest

from mbert_atlas.analysis.language_probes import Window, cluster_by_genus, identify_pairs

CODES = ["en", "de", "ru", "bg"]


def toy() -> dict[str, np.ndarray]:
    """Four languages that differ in the first three of twelve dimensions."""
    random = np.random.default_rng(0)
    means = np.zeros((4, 12))
    means[:, :3] = 1.5 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 1], [0, -1, 1]])
    return {
        code: (mean + random.normal(size=(500, 12))).astype(np.float32)
        for code, mean in zip(CODES, means, strict=True)
    }


def test_windows_see_what_they_hold() -> None:
    pairs = list(combinations(CODES, 2))
    found: dict[Window, list[float]] = defaultdict(list)
    for _, window, right, count in identify_pairs(toy(), pairs, np.eye(12), [1, 3, 6], seed=1):
        assert count == 200
        found[window].append(right / count)
    mean = {window: float(np.mean(shares)) for window, shares in found.items()}
    assert mean[Window("first", 1)] < mean[Window("first", 3)] > 0.9
    assert mean[Window("first", 6)] == pytest.approx(mean[Window("first", 3)], abs=0.02)
    assert mean[Window("next", 3)] == pytest.approx(0.5, abs=0.05)
    assert Window("next", 6) in mean
    assert mean[Window("next", 3)] < mean[Window("random", 3)] < mean[Window("first", 3)]
    assert len(found[Window("random", 1)]) == 3 * len(pairs)


def test_the_seed_decides() -> None:
    def run(seed: int) -> list[int]:
        pairs = identify_pairs(toy(), [("en", "ru")], np.eye(12), [2], seed=seed)
        return [right for *_, right, _ in pairs]

    assert run(1) == run(1) != run(2)


def test_planted_families_are_found() -> None:
    random = np.random.default_rng(1)
    roots = {"a": [3, 0, 0, 0], "b": [0, 3, 0, 0], "c": [0, 0, 3, 0]}
    genera = [name for name in roots for _ in range(4)]
    centroids = np.array([roots[name] for name in genera]) + 0.1 * random.normal(size=(12, 4))
    found = cluster_by_genus(centroids, genera, seed=1)
    assert found["v_measure"] == found["ami"] == 100
    assert 20 < found["chance_v_measure"] < 60
    noise = cluster_by_genus(random.normal(size=(12, 4)), genera, seed=1)
    assert abs(noise["ami"]) < 30 < noise["v_measure"] + 20
