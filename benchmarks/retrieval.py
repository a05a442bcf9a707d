"""How much faster are ranks in blocks than a ranking for each word? One run, equal results.

Word retrieval (Liu et al. 2020, section 3.1.1) among 20,000 words of each of two languages, 768
dims, some words with several translations, in both directions. The ranking sorts the cosines of
each word and looks for its translations from the top; it is timed on some words of each side and
scaled up, and its ranks are compared with ours.

    OMP_NUM_THREADS=1 python benchmarks/retrieval.py [--words 20000] [--timed 200]
"""

from __future__ import annotations

import argparse

import common
import numpy as np

from mbert_atlas.analysis.retrieval import translation_ranks

DIMS = 768


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=20_000, help="words of each language")
    parser.add_argument("--timed", type=int, default=200, help="words of each that are ranked")
    options = common.parse(parser, words=50, timed=20)
    random = np.random.default_rng(0)
    count = options.words
    one = random.normal(size=(count, DIMS)).astype(np.float32)
    other = (0.1 * one + random.normal(size=(count, DIMS))).astype(np.float32)
    more = random.integers(count, size=(count // 2, 2))
    pairs = np.concatenate([np.stack([np.arange(count)] * 2, axis=1), more])
    (ours, _), found = common.timed(lambda: translation_ranks(one, other, pairs))
    some = random.choice(count, options.timed, replace=False)
    (wall, _), ranked = common.timed(
        lambda: (ranking(one, other, pairs, some), ranking(other, one, pairs[:, ::-1], some))
    )
    theirs = wall * count / options.timed
    mrr = [float((1 / ranks).mean()) for ranks in found]
    apart = np.abs(np.stack([ranks[some] for ranks in found]) - np.array(ranked))
    print(f"{count} x {count} words, {DIMS} dims, both directions, MRR {mrr[0]:.3f} {mrr[1]:.3f}")
    print(f"  mbert_atlas            {ours:8.1f} s")
    print(
        f"  a ranking for each     {theirs:8.1f} s (from {options.timed} words of each side): "
        f"{theirs / ours:.1f} times"
    )
    print(
        f"  ranks apart: {(apart > 0).sum()} of {apart.size}, by {apart.max()} at most "
        "(cosines within 1e-6 are equal, which counts half)"
    )


def ranking(
    one: np.ndarray, other: np.ndarray, pairs: np.ndarray, words: np.ndarray
) -> list[float]:
    """Return the rank of the best translation of some words."""
    lengths = np.linalg.norm(other, axis=1)
    ranks = []
    for word in words:
        cosines = other @ one[word] / (lengths * np.linalg.norm(one[word]))
        order = np.argsort(-cosines)
        golds = pairs[pairs[:, 0] == word, 1]
        ranks.append(float(np.flatnonzero(np.isin(order, golds))[0] + 1))
    return ranks


if __name__ == "__main__":
    main()
