"""The best dependency trees, against all trees and against networkx."""

from __future__ import annotations

from itertools import product

import networkx
import numpy as np
import pytest

from mbert_atlas.tasks.arborescences import best_trees


def random_scores(random: np.random.Generator, count: int, words: int, kind: str) -> np.ndarray:
    """Scores of few or many circles, of several roots, with ties, as probabilities or logs."""
    scores = random.normal(0, 3, (count, words + 1, words + 1))
    if kind == "roots":
        scores[:, :, 0] += 6
    elif kind == "ties":
        scores = random.integers(0, 3, scores.shape).astype(float)
    elif kind == "probabilities":
        scores = np.exp(scores - np.logaddexp.reduce(scores, axis=2, keepdims=True))
    elif kind == "chain":
        scores[:, np.arange(1, words + 1), np.arange(words)] += 12
    return scores


def value(scores: np.ndarray, heads: np.ndarray | tuple[int, ...]) -> float:
    return float(scores[np.arange(1, len(scores)), np.asarray(heads)[1:]].sum())


def is_tree(heads: np.ndarray) -> bool:
    graph = networkx.DiGraph([(head, word) for word, head in enumerate(heads.tolist()) if word])
    return networkx.is_arborescence(graph) and graph.out_degree(0) == 1


def all_trees(words: int) -> list[tuple[int, ...]]:
    """Every tree with one word below the root."""
    tails = product(range(words + 1), repeat=words)
    graphs = (np.array([0, *tail]) for tail in tails if tail.count(0) == 1)
    return [tuple(heads.tolist()) for heads in graphs if reaches_root(heads)]


def reaches_root(heads: np.ndarray) -> bool:
    above = heads
    for _ in heads:
        above = heads[above]
    return not above.any()


KINDS = ("plain", "roots", "ties", "probabilities", "chain")


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6])
def test_no_tree_is_better(words):
    # Cayley: n^(n-1) trees of n words, any of which may stand below the root.
    trees, random = np.array(all_trees(words)), np.random.default_rng(words)
    assert len(trees) == words ** (words - 1)
    for kind in KINDS:
        scores = random_scores(random, 30, words, kind)
        found = best_trees(scores, np.ones((30, words + 1), dtype=bool))
        sums = scores[:, np.arange(1, words + 1), trees[:, 1:]].sum(axis=2)
        for own, heads, best in zip(scores, found, sums.max(axis=1), strict=True):
            assert is_tree(heads)
            assert value(own, heads) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_long_sentences_of_several_lengths_equal_networkx(kind):
    random, lengths = np.random.default_rng(3), [9, 17, 1, 12, 0, 14]
    scores = random_scores(random, len(lengths), max(lengths), kind)
    inside = np.arange(max(lengths) + 1) <= np.array(lengths)[:, None]
    scores[~inside] = np.nan  # what lies outside is not looked at
    scores.transpose(0, 2, 1)[~inside] = np.nan
    found = best_trees(scores, inside)
    assert not found[~inside].any()
    for own, heads, length in zip(scores, found, lengths, strict=True):
        if length == 0:
            continue
        # One word below the root: each in turn is the only one that may be.
        nodes, sums = range(length + 1), []
        for top in nodes[1:]:
            arcs = [(h, d, own[d, h]) for d in nodes[1:] for h in nodes if h != d and h * d]
            graph = networkx.DiGraph()
            graph.add_weighted_edges_from([*arcs, (0, top, own[top, 0])])
            tree = networkx.maximum_spanning_arborescence(graph)
            sums.append(sum(own[d, h] for h, d in tree.edges))
        assert is_tree(heads[: length + 1])
        assert value(own[: length + 1], heads[: length + 1]) == pytest.approx(max(sums), abs=1e-9)


def test_docstring_example():
    scores = np.zeros((1, 3, 3))
    scores[0, 1] = [3, 0, 5]
    scores[0, 2] = [4, 5, 0]
    assert best_trees(scores, np.ones((1, 3), dtype=bool)).tolist() == [[0, 2, 0]]
