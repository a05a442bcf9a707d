"""How much faster are the probes of language than a loop of scikit-learn? Ratios of one run.

The whole grid of Figure 1 (Liang et al. 2021) for one model: identification of pairs of languages
by x = 1, 10, 20, ..., 200 dimensions, of three kinds of windows ([0:x], [x:2x], x at random), 8,000
vectors of both languages to train and 2,000 to test. The loop fits scikit-learn's logistic
regression window by window, to convergence (max_iter 1000, as the default of 100 does not reach
it); it is timed on some of the pairs and scaled up, and its accuracies are compared with ours.

Hidden states of 13 layers: all in one pass over batches of similar length, against one pass for
each layer over batches of eight texts as they come, as the authors' script does; the encoder is a
random BERT, and the passes of one layer are scaled up.

    OMP_NUM_THREADS=1 python benchmarks/language_subspace.py [--timed 2] [--size 256]

With OMP_NUM_THREADS=2, what two cores give by default, the loop is slower than with 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy and torch look
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import BertConfig, BertModel

from mbert_atlas.analysis.language_probes import Space, Window, identify_languages
from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hidden_states import iterate_hidden_states

SIZES = [1, *range(10, 201, 10)]
LANGUAGES, TOKENS, DIMS = 10, 5000, 768


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timed", type=int, default=2, help="pairs that the loop is given")
    parser.add_argument("--texts", type=int, default=200, help="texts that are encoded")
    parser.add_argument("--size", type=int, default=256, help="width of the BERT that encodes")
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    probe(options.timed)
    encode(options.texts, options.size)


def probe(timed: int) -> None:
    """Print how long the grid takes, and how far accuracies lie apart."""
    vectors, turn = make_vectors()
    windows = [Window("first", 0, size) for size in SIZES]
    windows += [Window("next", size, 2 * size) for size in SIZES]
    drawn = [Window("random", 0, size) for size in SIZES]
    # Every vector of a language trains or tests: the splits differ, the sizes do not.
    start = time.perf_counter()
    own = accuracies(vectors, turn, windows, drawn)
    ours = time.perf_counter() - start
    pairs = LANGUAGES * (LANGUAGES - 1) // 2
    codes = sorted(vectors)[:2]
    count, threads = len(windows) + len(drawn), torch.get_num_threads()
    print(f"{pairs} pairs, {count} windows, {DIMS} dims, {threads} threads")
    print(f"  mbert_atlas            {ours:8.1f} s, {own.mean():.2f} % right on average")
    loops, differences = [], []
    for number in range(timed):
        pair = {code: vectors[code] for code in (codes[0], sorted(vectors)[number + 1])}
        one = accuracies(pair, turn, windows, drawn)
        start = time.perf_counter()
        other = loop(pair, turn, windows, drawn)
        loops.append(time.perf_counter() - start)
        differences.append(np.abs(one - other))
    theirs = float(np.mean(loops)) * pairs
    apart = np.concatenate(differences)
    print(
        f"  scikit-learn, a loop   {theirs:8.1f} s (from {timed} pairs): {theirs / ours:.1f} times"
    )
    print(f"  accuracies apart: {apart.mean():.3f} points on average, {apart.max():.3f} at most")


def make_vectors() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return vectors of languages whose means differ in nine dimensions, and a random subspace."""
    random = np.random.default_rng(0)
    spread = np.exp(np.linspace(1, -3, DIMS))
    means = np.zeros((LANGUAGES, DIMS))
    means[:, : LANGUAGES - 1] = 0.8 * random.normal(size=(LANGUAGES, LANGUAGES - 1))
    vectors = {
        f"l{chr(97 + n)}": ((mean + random.normal(size=(TOKENS, DIMS))) * spread).astype(np.float32)
        for n, mean in enumerate(means)
    }
    turn, _ = np.linalg.qr(random.normal(size=(DIMS, max(SIZES))))
    return vectors, turn.astype(np.float32)


def accuracies(
    vectors: dict[str, np.ndarray], turn: np.ndarray, windows: list[Window], drawn: list[Window]
) -> np.ndarray:
    """Return the accuracy of each window, mean over pairs, in percent."""
    found = identify_languages(
        Space(vectors, [turn]), windows, drawn, "corrected", seed=1, tokens=TOKENS, pairs=None
    )
    return np.array([score[2] for _, score in found])


def loop(
    vectors: dict[str, np.ndarray], turn: np.ndarray, windows: list[Window], drawn: list[Window]
) -> np.ndarray:
    """Return the same for one pair, window by window."""
    from mbert_atlas.analysis.language_probes import split
    from mbert_atlas.randomness import generator

    random = generator(1, "language identification")
    random.permutation(1)
    rows = {code: split(random, TOKENS, TOKENS) for code in sorted(vectors)}
    turned = {code: own @ turn for code, own in vectors.items()}
    found = []
    for space, some in ((vectors, windows), (turned, drawn)):
        train, test = (
            np.concatenate([space[code][getattr(rows[code], part)] for code in rows])
            for part in ("train", "test")
        )
        gold = [np.repeat([0, 1], len(part) // 2) for part in (train, test)]
        for window in some:
            judge = LogisticRegression(max_iter=1000)
            judge.fit(train[:, window.columns], gold[0])
            found.append(100 * judge.score(test[:, window.columns], gold[1]))
    return np.array(found)


def encode(count: int, size: int) -> None:
    """Print how long it takes to get the hidden states of all layers."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.lognormal(np.log(60), 0.6, count), 8, 256).astype(int)
    ids = Ragged.from_rows([random.integers(0, 1000, n).tolist() for n in lengths], np.int32)
    heads = size // 64
    config = BertConfig(
        vocab_size=1000,
        hidden_size=size,
        num_hidden_layers=12,
        num_attention_heads=heads,
        intermediate_size=4 * size,
    )
    model = BertModel(config).eval()
    start = time.perf_counter()
    for _ in iterate_hidden_states(model, ids, layers=list(range(13))):
        pass
    ours = time.perf_counter() - start
    start = time.perf_counter()
    with torch.inference_mode():
        for first in range(0, count, 8):
            rows = [ids[n] for n in range(first, min(first + 8, count))]
            longest = max(map(len, rows))
            batch = torch.zeros(len(rows), longest, dtype=torch.long)
            mask = torch.zeros_like(batch)
            for number, row in enumerate(rows):
                batch[number, : len(row)] = torch.from_numpy(np.asarray(row, dtype=np.int64))
                mask[number, : len(row)] = 1
            model(batch, attention_mask=mask, output_hidden_states=True)
    theirs = 13 * (time.perf_counter() - start)
    print(f"hidden states of 13 layers, {count} texts, BERT of {size} x 12")
    print(f"  all in one pass        {ours:8.1f} s")
    print(f"  a pass for each layer  {theirs:8.1f} s: {theirs / ours:.1f} times")


if __name__ == "__main__":
    main()
