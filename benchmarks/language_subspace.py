"""How much faster are the probes of language than a loop of scikit-learn? Ratios of one run.

Identification: the grid of Figure 1 (Liang et al. 2021) for one model: pairs of languages by x = 1,
10, 20, ..., 200 dimensions, of three kinds of windows ([0:x], [x:2x], x random dimensions), 4,000
training and 1,000 test vectors per language. Typology: features of five values, five folds of
languages, 100 dimensions. The loop fits scikit-learn's logistic regression one by one, to
convergence (max_iter 1000; the default of 100 is too few), with the faster of two solvers; it is
timed on some regressions and extrapolated, and its accuracies are compared with ours.

Hidden states of 13 layers: all in one pass over batches of similar length, against one pass for
each layer over batches of eight texts as they come, as the authors' script does; the encoder is a
random BERT, and the passes of one layer are scaled up.

    OMP_NUM_THREADS=1 python benchmarks/language_subspace.py [--languages 20] [--size 256]

With OMP_NUM_THREADS=2, the default on two cores, the loop is slower than with 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import combinations

import common
import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from transformers import BertModel

from mbert_atlas.analysis.identification import pairwise_accuracies, split
from mbert_atlas.analysis.logistic import fit_regressions
from mbert_atlas.analysis.typology import TypologyProbe
from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hidden_states import iterate_hidden_states

SIZES = [1, *range(10, 201, 10)]
DIMS, FEATURES = 768, 50
SOLVERS = ("lbfgs", "newton-cholesky")
# Of the projected space: the first dimensions and the next ones; of a random one: the first.
WINDOWS = (
    [slice(0, size) for size in SIZES] + [slice(size, 2 * size) for size in SIZES],
    [slice(0, size) for size in SIZES],
)
Vectors = dict[str, np.ndarray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--languages", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=5000, help="vectors of each language")
    parser.add_argument("--timed", type=int, default=2, help="pairs that the loop is given")
    parser.add_argument("--texts", type=int, default=200, help="texts that are encoded")
    parser.add_argument("--size", type=int, default=256, help="width of the BERT that encodes")
    options = common.parse(parser, languages=4, tokens=60, timed=1, texts=4, size=64)
    identify(make_vectors(options.languages, options.tokens), options.timed)
    predict_typology(make_vectors(2 * options.languages, options.tokens // 8))
    encode(options.texts, options.size)


def make_vectors(languages: int, tokens: int) -> Vectors:
    """Return vectors of languages whose means differ in as many dimensions."""
    random = np.random.default_rng(0)
    spread = np.exp(np.linspace(1, -3, DIMS))
    means = np.zeros((languages, DIMS))
    means[:, :languages] = 0.8 * random.normal(size=(languages, languages))
    return {
        f"l{n:02}": ((mean + random.normal(size=(tokens, DIMS))) * spread).astype(np.float32)
        for n, mean in enumerate(means)
    }


def identify(vectors: Vectors, timed: int) -> None:
    """Compare the grid of identification."""
    random, pairs = np.random.default_rng(1), list(combinations(vectors, 2))
    rotation, _ = np.linalg.qr(random.normal(size=(DIMS, max(SIZES))))
    spaces = (vectors, {code: own @ rotation.astype(np.float32) for code, own in vectors.items()})
    splits = {code: split(random, len(own), len(own)) for code, own in vectors.items()}
    grid = [
        {code: own[:, window] for code, own in space.items()}
        for space, windows in zip(spaces, WINDOWS, strict=True)
        for window in windows
    ]

    def loop(solver: str) -> np.ndarray:
        accuracies = np.zeros((len(grid), timed))
        for row, window in enumerate(grid):
            for column, pair in enumerate(pairs[:timed]):
                train, test = (
                    np.concatenate([window[code][splits[code][part]] for code in pair])
                    for part in (0, 1)
                )
                gold = [np.repeat([0, 1], len(part) // 2) for part in (train, test)]
                model = LogisticRegression(solver=solver, max_iter=1000).fit(train, gold[0])
                accuracies[row, column] = model.score(test, gold[1])
        return accuracies

    ours, accuracies = common.timed(
        lambda: np.array([pairwise_accuracies(window, splits, pairs) for window in grid])
    )
    print(f"identification: {len(pairs)} pairs of languages, {len(grid)} windows")
    report(ours, accuracies[:, :timed], loop, len(pairs) / timed)


def predict_typology(vectors: Vectors) -> None:
    """Compare the regressions of typology, those of one feature in the loop."""
    random = np.random.default_rng(2)
    features = {
        f"{number}A": {code: str(random.integers(1, 6)) for code in vectors}
        for number in range(FEATURES)
    }
    probe = TypologyProbe.of(list(vectors), features, random)
    groups = [torch.from_numpy(own[:, :100].copy()) for own in vectors.values()]
    timed = sum(len(fold.columns) for fold in probe.features[0])

    def rows(number: int) -> tuple[np.ndarray, np.ndarray]:
        signs = np.repeat(probe.signs[:, number], list(map(len, groups)))
        return np.concatenate(groups)[signs != 0], signs[signs != 0] > 0

    def loop(solver: str) -> np.ndarray:
        models = [LogisticRegression(solver=solver, max_iter=1000) for _ in range(timed)]
        return np.array([model.fit(*rows(n)).score(*rows(n)) for n, model in enumerate(models)])

    ours, weights = common.timed(lambda: fit_regressions(groups, probe.signs).numpy())
    accuracies = [
        float(np.mean((samples @ weights[number, :-1] + weights[number, -1] > 0) == gold))
        for number in range(timed)
        for samples, gold in [rows(number)]
    ]
    print(f"typology: {len(weights)} regressions, {len(groups)} languages")
    report(ours, np.array(accuracies), loop, len(weights) / timed)


def report(
    ours: common.Seconds,
    accuracies: np.ndarray,
    loop: Callable[[str], np.ndarray],
    factor: float,
) -> None:
    """Print the CPU times and the differences in accuracy, the loop's time extrapolated."""
    runs = {solver: common.timed(lambda solver=solver: loop(solver)) for solver in SOLVERS}
    best = min(runs, key=lambda solver: runs[solver][0].processor)
    theirs, apart = factor * runs[best][0].processor, 100 * np.abs(accuracies - runs[best][1])
    print(f"  mbert_atlas         {ours.processor:8.2f} s CPU")
    print(f"  scikit-learn, loop  {theirs:8.2f} s CPU ({best})")
    print(f"  ratio {theirs / ours.processor:.1f}; accuracies differ by {apart.mean():.3f} points")


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
