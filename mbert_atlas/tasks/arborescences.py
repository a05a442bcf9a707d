"""The best dependency tree of each of many sentences."""

from typing import Any

import numpy as np
import numpy.typing as npt

Heads = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def best_trees(scores: npt.NDArray[np.floating[Any]], inside: npt.NDArray[np.bool_]) -> Heads:
    """Find the trees of highest sum of scores with exactly one word below the root.

    Where the best head of each word gives such a tree, that is the answer: no other can be better.
    The other sentences go through Chu-Liu-Edmonds (:func:`_arborescence`) with all arcs from the
    root lowered by more than any two trees can differ. A tree with more of them then loses to every
    tree with one (which always exists), and trees with one are all lowered equally, so that the
    winner is the best among them: the shared task rejects sentences of several roots.

    ``scores`` are those of each head (last axis) for each dependent, ``(sentences, nodes, nodes)``,
    finite where both nodes are ``inside`` their sentence, as node 0, the root, always is.

    Returns:
        The head of each node, 0 for node 0 and outside; int64, shape ``(sentences, nodes)``.
    """
    nodes = np.arange(scores.shape[1])
    words = inside & (nodes > 0)
    possible = words[:, :, None] & inside[:, None, :] & (nodes[:, None] != nodes)
    allowed = np.where(possible, scores, -np.inf)
    heads = np.where(words, allowed.argmax(axis=2), 0)
    has_one_root = ((heads == 0) & words).sum(axis=1) == words.any(axis=1)
    rest = np.flatnonzero(~(has_one_root & _reach_root(heads)))
    if len(rest):
        lowered = allowed[rest].astype(np.float64, copy=False)
        highest = lowered.max(axis=(1, 2))
        lowest = np.where(possible[rest], lowered, np.inf).min(axis=(1, 2))
        lowered[:, :, 0] -= len(nodes) * (highest - lowest)[:, None] + 1
        heads[rest] = list(map(_arborescence, lowered, words[rest]))
    return heads


def _reach_root(parents: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """Return whether every node of a graph reaches node 0, by pointer jumping, ``(graphs,)``.

    ``parents`` of nodes has the shape ``(graphs, nodes)``; the parent of node 0 is itself.
    """
    # Parents 0 0 1 4 3: two steps up lie 0 0 0 3 4, four steps the same; 3 and 4 are a circle.
    for _ in range(parents.shape[1].bit_length()):
        parents = np.take_along_axis(parents, parents, axis=1)
    reached: npt.NDArray[np.bool_] = np.all(parents == 0, axis=1)
    return reached


def _arborescence(scores: Floats, words: npt.NDArray[np.bool_]) -> Heads:
    """Find one sentence's tree of the highest sum of scores: Chu-Liu-Edmonds.

    In a round every group of nodes (at first each word) takes its best head outside, and the groups
    on a circle are joined to a new one. Its gain by a head is the most that one of its members
    gains in place of the head that it took. At the end no circle is left. Backwards, each joined
    group passes its head to that member; the others keep what they took.

    Words 1 and 2 prefer each other (5 each), the root gives 3 and 4. Round 1: 2->1, 1->2, a circle.
    Round 2: the group {1, 2} gains 3 - 5 by the root at 1, or 4 - 5 at 2, takes the root, and no
    circle is left. Backwards: the root goes to 2, and 1 keeps 2.
    """
    count = len(scores)
    gains, head, nodes = list(scores), [0] * count, [[node] for node in range(count)]  # of groups
    group = list(range(count))  # of each node
    alive = new = np.flatnonzero(words).tolist()
    joins: dict[int, list[int]] = {}
    while True:
        for member in new:
            head[member] = int(gains[member].argmax())
        new = []
        for circle in _circles({member: group[head[member]] for member in alive}):
            joined = len(gains)
            row = np.max([gains[member] - gains[member][head[member]] for member in circle], axis=0)
            inside = [node for member in circle for node in nodes[member]]
            row[inside] = -np.inf
            for node in inside:
                group[node] = joined
            gains.append(row)
            head.append(0)
            nodes.append(inside)
            joins[joined] = circle
            new.append(joined)
        if not new:
            break
        inner = {member for joined in new for member in joins[joined]}
        alive = [member for member in alive if member not in inner] + new
    for joined, circle in reversed(joins.items()):
        gained = [gains[member][head[joined]] - gains[member][head[member]] for member in circle]
        head[circle[int(np.argmax(gained))]] = head[joined]  # the first of equals
    return np.array(head[:count])


def _circles(parents: dict[int, int]) -> list[list[int]]:
    """Return the groups on each circle, in order; the root has no parent."""
    seen: set[int] = set()
    circles = []
    for group in parents:
        path = []
        while group in parents and group not in seen:
            seen.add(group)
            path.append(group)
            group = parents[group]
        if group in path:
            circles.append(sorted(path[path.index(group) :]))
    return sorted(circles)
