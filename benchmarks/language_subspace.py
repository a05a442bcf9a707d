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

import common
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import BertModel

from mbert_atlas.analysis.language_probes import Space, Window, identify_languages
from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hidden_states import iterate_hidden_states

SIZES = [1, *range(10, 201, 10)]
LANGUAGES, DIMS = 10, 768


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
    """Print how long the grid takes, and how far accuracies lie apart."""
    vectors, turn = make_vectors(tokens)
    windows = [Window("first", 0, size) for size in SIZES]
    windows += [Window("next", size, 2 * size) for size in SIZES]
    drawn = [Window("random", 0, size) for size in SIZES]
    # Every vector of a language trains or tests: the splits differ, the sizes do not.
    (ours, _), own = common.timed(lambda: accuracies(vectors, turn, windows, drawn))
    pairs = LANGUAGES * (LANGUAGES - 1) // 2
    codes = sorted(vectors)[:2]
    count, threads = len(windows) + len(drawn), torch.get_num_threads()
    print(f"{pairs} pairs, {count} windows, {DIMS} dims, {threads} threads")
    print(f"  mbert_atlas            {ours:8.1f} s, {own.mean():.2f} % right on average")
    loops, differences = [], []
    for number in range(timed):
        pair = {code: vectors[code] for code in (codes[0], sorted(vectors)[number + 1])}
        one = accuracies(pair, turn, windows, drawn)
        (wall, _), other = common.timed(lambda pair=pair: loop(pair, turn, windows, drawn))
        loops.append(wall)
        differences.append(np.abs(one - other))
    theirs = float(np.mean(loops)) * pairs
    apart = np.concatenate(differences)
    print(
        f"  scikit-learn, a loop   {theirs:8.1f} s (from {timed} pairs): {theirs / ours:.1f} times"
    )
    print(f"  accuracies apart: {apart.mean():.3f} points on average, {apart.max():.3f} at most")


def make_vectors(tokens: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return vectors of languages whose means differ in nine dimensions, and a random subspace."""
    random = np.random.default_rng(0)
    spread = np.exp(np.linspace(1, -3, DIMS))
    means = np.zeros((LANGUAGES, DIMS))
    means[:, : LANGUAGES - 1] = 0.8 * random.normal(size=(LANGUAGES, LANGUAGES - 1))
    vectors = {
        f"l{chr(97 + n)}": ((mean + random.normal(size=(tokens, DIMS))) * spread).astype(np.float32)
        for n, mean in enumerate(means)
    }
    turn, _ = np.linalg.qr(random.normal(size=(DIMS, max(SIZES))))
    return vectors, turn.astype(np.float32)


def accuracies(
    vectors: dict[str, np.ndarray], turn: np.ndarray, windows: list[Window], drawn: list[Window]
) -> np.ndarray:
    """Return the accuracy of each window, mean over pairs, in percent."""
    tokens, options = len(next(iter(vectors.values()))), {"seed": 1, "pairs": None}
    scores = identify_languages(
        Space(vectors, [turn]), windows, drawn, "corrected", tokens=tokens, **options
    )
    return np.array([score[2] for _, score in scores])


def loop(
    vectors: dict[str, np.ndarray], turn: np.ndarray, windows: list[Window], drawn: list[Window]
) -> np.ndarray:
    """Return the same for one pair, window by window."""
    from mbert_atlas.analysis.language_probes import split
    from mbert_atlas.randomness import generator

    random = generator(1, "language identification")
    random.permutation(1)
    rows = {code: split(random, len(vectors[code]), len(vectors[code])) for code in sorted(vectors)}
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
