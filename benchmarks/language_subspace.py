"""How much faster are the probes of language than a loop of scikit-learn? Ratios of one run.

The whole grid of Figure 1 (Liang et al. 2021) for one model: identification of pairs of languages
by x = 1, 10, 20, ..., 200 dimensions, of three kinds of windows ([0:x], [x:2x], x at random), 8,000
vectors of both languages to train and 2,000 to test. The loop fits scikit-learn's logistic
regression window by window, to convergence (max_iter 1000; 100, the default, is too few); it is
timed on some of the pairs and scaled up, and its accuracies are compared with ours.

Hidden states of 13 layers: all in one pass over batches of similar length, against one pass for
each layer over batches of eight texts as they come, as the authors' script does; the encoder is a
random BERT, and the passes of one layer are scaled up.

    OMP_NUM_THREADS=1 python benchmarks/language_subspace.py [--timed 2] [--size 256]

With OMP_NUM_THREADS=2, what two cores give by default, the loop is slower than with 1.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import common
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import BertModel

from mbert_atlas.analysis.language_identification import PairwiseIdentifier, Split, split
from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hidden_states import iterate_hidden_states
from mbert_atlas.randomness import generator

SIZES = [1, *range(10, 201, 10)]
LANGUAGES, DIMS = 10, 768
# Of the projected space: the first dimensions and the next ones; of a random one: the first.
WINDOWS = (
    [slice(0, size) for size in SIZES] + [slice(size, 2 * size) for size in SIZES],
    [slice(0, size) for size in SIZES],
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timed", type=int, default=2, help="pairs that the loop is given")
    parser.add_argument("--texts", type=int, default=200, help="texts that are encoded")
    parser.add_argument("--size", type=int, default=256, help="width of the BERT that encodes")
    parser.add_argument("--tokens", type=int, default=5000, help="vectors of each language")
    options = common.parse(parser, timed=1, texts=4, size=64, tokens=250)
    probe(options.timed, options.tokens)
    encode(options.texts, options.size)


def probe(timed: int, tokens: int) -> None:
    """Print the time of the grid, and the difference between accuracies."""
    spaces = make_spaces(tokens)
    codes = sorted(spaces[0])
    pairs = list(combinations(codes, 2))
    random = generator(1, "benchmark")
    splits = {code: split(random, tokens, tokens) for code in codes}
    (ours, _), accuracies = common.timed(lambda: by_project(spaces, splits, pairs))
    count, threads = sum(map(len, WINDOWS)), torch.get_num_threads()
    print(f"{len(pairs)} pairs, {count} windows, {DIMS} dims, {threads} threads")
    print(f"  mbert_atlas            {ours:8.1f} s, {accuracies.mean():.2f} % right on average")
    (wall, _), others = common.timed(lambda: [loop(spaces, splits, pair) for pair in pairs[:timed]])
    theirs = wall / timed * len(pairs)
    apart = np.abs(accuracies[:timed] - np.array(others))
    print(
        f"  scikit-learn, a loop   {theirs:8.1f} s (from {timed} pairs): {theirs / ours:.1f} times"
    )
    print(f"  difference in accuracy: mean {apart.mean():.3f} points, maximum {apart.max():.3f}")


def make_spaces(tokens: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return vectors of languages whose means differ in nine dimensions, and a random rotation."""
    random = np.random.default_rng(0)
    spread = np.exp(np.linspace(1, -3, DIMS))
    means = np.zeros((LANGUAGES, DIMS))
    means[:, : LANGUAGES - 1] = 0.8 * random.normal(size=(LANGUAGES, LANGUAGES - 1))
    vectors = {
        f"l{chr(97 + n)}": ((mean + random.normal(size=(tokens, DIMS))) * spread).astype(np.float32)
        for n, mean in enumerate(means)
    }
    turn, _ = np.linalg.qr(random.normal(size=(DIMS, max(SIZES))))
    return vectors, {code: own @ turn.astype(np.float32) for code, own in vectors.items()}


def by_project(
    spaces: tuple[dict[str, np.ndarray], dict[str, np.ndarray]],
    splits: dict[str, Split],
    pairs: list[tuple[str, str]],
) -> np.ndarray:
    """Return the accuracy of each pair and window in percent."""
    found = []
    for vectors, windows in zip(spaces, WINDOWS, strict=True):
        judge = PairwiseIdentifier(vectors, splits, max(window.stop for window in windows))
        found.append([judge.accuracies(pair, windows)[0] for pair in pairs])
    return 100 * np.concatenate(found, axis=1)


def loop(
    spaces: tuple[dict[str, np.ndarray], dict[str, np.ndarray]],
    splits: dict[str, Split],
    pair: tuple[str, str],
) -> list[float]:
    """Return the same for one pair, window by window."""
    accuracies = []
    for vectors, windows in zip(spaces, WINDOWS, strict=True):
        train, test = (
            np.concatenate([vectors[code][getattr(splits[code], part)] for code in pair])
            for part in ("train", "test")
        )
        gold = [np.repeat([0, 1], len(part) // 2) for part in (train, test)]
        for window in windows:
            judge = LogisticRegression(max_iter=1000).fit(train[:, window], gold[0])
            accuracies.append(100 * judge.score(test[:, window], gold[1]))
    return accuracies


def encode(count: int, size: int) -> None:
    """Print how long it takes to get the hidden states of all layers."""
    random = np.random.default_rng(0)
    lengths = common.text_lengths(random, 60, count, 8, 256)
    ids = Ragged.from_rows([random.integers(0, 1000, n).tolist() for n in lengths], np.int32)
    model = BertModel(common.bert_config(12, size, 1000)).eval()
    layers = list(range(13))
    (ours, _), _ = common.timed(lambda: list(iterate_hidden_states(model, ids, layers=layers)))
    theirs = 13 * common.timed(lambda: pass_by_pass(model, ids))[0].wall
    print(f"hidden states of 13 layers, {count} texts, BERT of {size} x 12")
    print(f"  all in one pass        {ours:8.1f} s")
    print(f"  a pass for each layer  {theirs:8.1f} s: {theirs / ours:.1f} times")


def pass_by_pass(model: BertModel, ids: Ragged) -> None:
    """Encode texts in batches of eight as they come."""
    for first in range(0, len(ids), 8):
        rows = [torch.from_numpy(ids[n].astype(np.int64)) for n in range(len(ids))[first:][:8]]
        batch, mask = (
            torch.nn.utils.rnn.pad_sequence(part, batch_first=True)
            for part in (rows, [torch.ones_like(row) for row in rows])
        )
        with torch.inference_mode():
            model(batch, attention_mask=mask, output_hidden_states=True)


if __name__ == "__main__":
    main()
