"""The best dependency tree of each of many sentences: Chu-Liu-Edmonds, all sentences at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Heads = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def best_trees(scores: npt.NDArray[np.floating[Any]], inside: npt.NDArray[np.bool_]) -> Heads:
    """Find the trees of highest sum of scores with exactly one word below the root.

    Where the best head of each word gives such a tree, that is the answer: no other can be better.
    The other sentences go through Chu-Liu-Edmonds (:func:`_arborescences`) with all arcs from the
    root lowered by more than any two trees can differ. A tree with more of them then loses to every
    tree with one (which always exists), and trees with one are all lowered equally, so that the
    winner is the best among them: the shared task rejects sentences of several roots.

    Args:
        scores: of each head (last axis) for each dependent, finite where both are inside; node 0 is
            the root, whose own heads do not matter; shape ``(sentences, nodes, nodes)``.
        inside: which nodes there are; shape ``(sentences, nodes)``. Node 0 always is.

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
        heads[rest] = _arborescences(lowered, words[rest])
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


def _arborescences(scores: Floats, words: npt.NDArray[np.bool_]) -> Heads:
    """Find the trees of highest sum of scores: Chu-Liu-Edmonds, all sentences in step.

    In a round every group of nodes (at first each word) takes its best head outside, and the groups
    on a circle are joined to a new one. Its gain by a head is the most that one of its members
    gains in place of the head that it took. At the end no circle is left. Backwards, each joined
    group passes its head to that member; the others keep what they took. A join costs a row of
    gains for each member: time and memory of order nodes squared in all.

    Words 1 and 2 prefer each other (5 each), the root gives 3 and 4. Round 1: 2->1, 1->2, a circle.
    Round 2: the group {1, 2} gains 3 - 5 by the root at 1, or 4 - 5 at 2, takes the root, and no
    circle is left. Backwards: the root goes to 2, and 1 keeps 2.
    """
    count, nodes = words.shape
    total = used = count * nodes  # groups: nodes of all sentences, then those that are joined
    sentence = np.repeat(np.arange(count), nodes * 2)
    sentence[:total] = sentence[::2]
    gains = np.empty((2 * total, nodes))
    gains[:total] = scores.reshape(-1, nodes)
    best, head, place = np.empty(2 * total), *(np.zeros(2 * total, np.int64) for _ in range(2))
    roots = np.arange(0, total, nodes)
    alive = new = np.flatnonzero(words)
    groups = np.repeat(roots, nodes)  # of each node; padding is in the root's
    groups[alive] = alive
    joins: list[tuple[Heads, Heads, Heads]] = []
    while True:
        head[new] = gains[new].argmax(axis=1)
        best[new] = gains[new, head[new]]
        # Groups by their places in `alive`; all roots have the one place behind.
        place[alive], place[roots] = np.arange(len(alive)), len(alive)
        parents = place[groups[roots[sentence[alive]] + head[alive]]]
        circle, lowest = _circles(np.append(parents, len(alive)), nodes)
        if len(circle) == 0:
            break
        order = np.argsort(lowest, kind="stable")
        member, first = alive[circle[order]], np.flatnonzero(np.diff(lowest[order], prepend=-1))
        new = np.arange(used, used + len(first))
        used += len(first)
        into = np.repeat(new, np.diff(first, append=len(member)))
        sentence[new] = sentence[member[first]]
        gained = gains[member]
        gained -= best[member][:, None]
        np.maximum.reduceat(gained, first, axis=0, out=gains[new[0] : used])
        joins.append((member, first, into))
        joined = np.arange(used)
        joined[member] = into
        groups = joined[groups]
        is_inside = groups.reshape(count, nodes)[sentence[new]] == new[:, None]
        gains[new[0] : used][is_inside] = -np.inf
        is_left = np.zeros(count, dtype=np.bool_)
        is_left[sentence[new]] = True
        alive = np.append(alive[is_left[sentence[alive]] & (joined[alive] == alive)], new)
    for member, first, into in reversed(joins):
        gained = gains[member, head[into]] - best[member]
        most = np.maximum.reduceat(gained, first)
        (at,) = np.nonzero(gained == most[into - into[0]])
        at = at[np.unique(into[at], return_index=True)[1]]  # the first of equals
        head[member[at]] = head[into[at]]
    return np.where(words, head[:total].reshape(count, nodes), 0)


def _circles(parents: Heads, nodes: int) -> tuple[Heads, Heads]:
    """Return the groups on circles, and for each the first of them on its circle.

    Args:
        parents: place of the parent of each group, and last the root, its own parent.
        nodes: most groups of a sentence.
    """
    above = parents
    for _ in range(nodes.bit_length()):
        above = above[above]  # twice as many steps up: in the end a root or on a circle
    on_circle = np.zeros(len(parents), dtype=np.bool_)
    on_circle[above] = True
    circle = np.flatnonzero(on_circle[:-1])
    step, lowest = np.searchsorted(circle, parents[circle]), np.arange(len(circle))
    for _ in range(nodes.bit_length()):
        lowest, step = np.minimum(lowest, lowest[step]), step[step]
    return circle, lowest
