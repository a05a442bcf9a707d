"""Dependency trees from arc scores: batches in NumPy against decoders that go one by one.

Random sentences as long as those of treebanks, with the scores of a good parser (gold arcs raised,
so that the best heads of most words form a tree) and with those of a poor one. The package's
decoder is compared with networkx's maximum arborescence and with Chu-Liu-Edmonds in plain Python,
one sentence at a time. The root's arcs are lowered equally for all, as trees have one word below
the root. All have to find trees of the same score.

    python benchmarks/parsing.py [--sentences N]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import common
import networkx
import numpy as np

from mbert_atlas.batching import micro_batches
from mbert_atlas.tasks.arborescences import best_trees

TOKEN_BUDGET = 12000  # words in one batch: training.loop.predict takes 16,384 subwords


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--networkx", type=int, default=30, help="sentences that it is given")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = common.parse(parser, sentences=20, networkx=2, rounds=1)
    random = np.random.default_rng(options.seed)
    lengths = common.text_lengths(random, 18, options.sentences, 2, 120)
    print(f"{len(lengths)} sentences of {lengths.min()} to {lengths.max()} words, one thread")
    for name, raised in (("good", 9.0), ("poor", 0.0)):
        scores = [make_scores(random, length, raised) for length in lengths]
        compare(name, scores, options)


def compare(name: str, scores: list[np.ndarray], options: argparse.Namespace) -> None:
    """Print sentences per second of all decoders; the fastest round of each counts."""
    trees = sum(is_tree_of_best(own) for own in scores)
    print(
        f"{name} scores: best heads make a tree in {100 * trees / len(scores):.0f} of 100 sentences"
    )
    some = scores[: options.networkx]
    contestants: dict[str, tuple[Callable[[list[np.ndarray]], list], list[np.ndarray]]] = {
        "mbert_atlas": (in_batches, scores),
        "plain Python": (
            lambda those: [plain_python(lowered(own).tolist()) for own in those],
            scores,
        ),
        "networkx": (lambda those: [with_networkx(lowered(own)) for own in those], some),
    }
    trees_of, rate = {}, dict.fromkeys(contestants, 0.0)
    for _ in range(options.rounds):
        for contestant, (decode, given) in contestants.items():
            run = common.timed(lambda decode=decode, given=given: decode(given))
            (wall, _), trees_of[contestant] = run
            rate[contestant] = max(rate[contestant], len(given) / wall)
    for contestant, decoded in trees_of.items():
        for score, one, other in zip(scores, trees_of["mbert_atlas"], decoded, strict=False):
            np.testing.assert_allclose(value(score, one), value(score, other), rtol=1e-9)
        ratio = rate["mbert_atlas"] / rate[contestant]
        slower = f", {ratio:.1f} times slower" if contestant != "mbert_atlas" else ""
        print(f"  {contestant:12} {rate[contestant]:8.0f} sentences per second{slower}")


def make_scores(random: np.random.Generator, words: int, raised: float) -> np.ndarray:
    """Return log-probabilities of heads (last axis) by dependent, near a random tree's arcs."""
    logits = random.normal(0, 2, (words + 1, words + 1))
    order = random.permutation(words) + 1
    for place, word in enumerate(order):
        head = random.choice(order[:place]) if place else 0
        logits[word, head] += raised
    np.fill_diagonal(logits, -np.inf)
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def in_batches(scores: list[np.ndarray]) -> list[np.ndarray]:
    """Decode with this package, in batches of similar length as in prediction."""
    lengths = np.array([len(own) for own in scores])
    trees: list[np.ndarray] = [np.empty(0)] * len(scores)
    for rows in micro_batches(np.arange(len(scores)), lengths, TOKEN_BUDGET):
        width = lengths[rows].max()
        padded = np.zeros((len(rows), width, width))
        for place, row in enumerate(rows):
            padded[place, : lengths[row], : lengths[row]] = scores[row]
        decoded = best_trees(padded, np.arange(width) < lengths[rows][:, None])
        for place, row in enumerate(rows):
            trees[row] = decoded[place, : lengths[row]]
    return trees


def lowered(score: np.ndarray) -> np.ndarray:
    """Lower the root's arcs so far that exactly one of them is in the best tree."""
    finite = score[1:][np.isfinite(score[1:])]
    result = score.copy()
    result[:, 0] -= len(score) * (finite.max() - finite.min()) + 1
    return result


def value(score: np.ndarray, heads: np.ndarray) -> float:
    """Return the sum of the scores of a tree's arcs."""
    return float(score[np.arange(1, len(score)), np.asarray(heads)[1:]].sum())


def is_tree_of_best(score: np.ndarray) -> bool:
    """Whether the best heads of all words form a tree with one word below the root."""
    heads = [0, *score[1:].argmax(axis=1).tolist()]
    return heads[1:].count(0) == 1 and find_circle(heads) is None


def with_networkx(score: np.ndarray) -> list[int]:
    """Return the heads of the best tree by networkx."""
    graph = networkx.DiGraph()
    for dependent in range(1, len(score)):
        for head in range(len(score)):
            if head != dependent:
                graph.add_edge(head, dependent, weight=score[dependent, head])
    heads = [0] * len(score)
    for head, dependent in networkx.maximum_spanning_arborescence(graph).edges:
        heads[dependent] = head
    return heads


def find_circle(heads: list[int]) -> list[int] | None:
    """Return the nodes of a circle in a graph of heads, or nothing if all reach node 0."""
    seen = [0] * len(heads)
    seen[0] = -1
    for start in range(1, len(heads)):
        node = start
        while not seen[node]:
            seen[node] = start
            node = heads[node]
        if seen[node] == start:
            circle, other = [node], heads[node]
            while other != node:
                circle.append(other)
                other = heads[other]
            return circle
    return None


def plain_python(score: list[list[float]]) -> list[int]:
    """Return the heads of the best tree by Chu-Liu-Edmonds, which contracts one circle a call."""
    nodes = range(len(score))
    heads = [0]
    for dependent in nodes[1:]:
        row, chosen, best = score[dependent], 0, float("-inf")
        for head in nodes:
            if head != dependent and row[head] > best:
                chosen, best = head, row[head]
        heads.append(chosen)
    circle = find_circle(heads)
    if circle is None:
        return heads
    inside = set(circle)
    outside = [node for node in nodes if node not in inside]
    last = len(outside)  # the circle's number in the smaller graph
    smaller = [[score[d][h] for h in outside] + [0.0] for d in outside]
    leaving, entering, into = [], [], []
    for place, dependent in enumerate(outside):
        row = score[dependent]
        head = max(circle, key=row.__getitem__)
        leaving.append(head)
        smaller[place][last] = row[head]
    for head in outside:
        node = max(circle, key=lambda d, head=head: score[d][head] - score[d][heads[d]])
        entering.append(node)
        into.append(score[node][head] - score[node][heads[node]])
    smaller.append([*into, 0.0])
    below = plain_python(smaller)
    for place, dependent in enumerate(outside[1:], 1):
        heads[dependent] = leaving[place] if below[place] == last else outside[below[place]]
    heads[entering[below[last]]] = outside[below[last]]
    return heads


if __name__ == "__main__":
    main()
