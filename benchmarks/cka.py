"""How much faster is CKA of languages by layer than the straightforward way? Ratios of one run.

Arithmetic: pairs x layers of cached vectors, one product X X' per language and layer, against n x n
kernels with products by an explicit centring matrix, recomputed for each of the three sums of every
pair and layer. The straightforward way is timed on some pairs and layers, and scaled up; both give
the same values. Our time includes the intervals, which the straightforward way lacks.

Total with encoding: a random BERT encodes every sentence of all languages in one pass over batches
of similar length, for all layers; against one sentence at a time, repeated for every layer, timed
on some sentences of one layer and scaled up. The last line adds the arithmetic of as many layers as
this BERT has.

    OMP_NUM_THREADS=1 python benchmarks/cka.py [--size 128x4] [--sentences 1000]
"""

from __future__ import annotations

import argparse
from typing import Any

import common
import numpy as np
import torch
from transformers import BertModel

from mbert_atlas.analysis.similarity import Kernel, compare, kernels
from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hidden_states import span_vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="128x4", help="of the BERT that encodes: dims x layers")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--dims", type=int, default=768, help="of the cached vectors")
    parser.add_argument("--layers", type=int, default=13, help="of the cached vectors")
    parser.add_argument("--pairs", type=int, default=16, help="one language against so many others")
    parser.add_argument("--timed", type=int, default=3, help="cells timed the straightforward way")
    smallest = {"sentences": 30, "dims": 9, "layers": 2, "pairs": 2, "timed": 1, "size": "16x1"}
    options = common.parse(parser, **smallest)
    n, dims, layers, pairs = options.sentences, options.dims, options.layers, options.pairs
    random = np.random.default_rng(0)
    # The languages of a layer share their meanings; one layer stands for all.
    meaning = random.normal(size=(n, 50)) @ random.normal(size=(50, dims)) + 3
    vectors = [
        (meaning + 3 * random.normal(size=(n, dims))).astype(np.float32) for _ in range(pairs + 1)
    ]
    cells = pairs * layers
    print(f"{pairs} pairs x {layers} layers, {n} sentences, {dims} dims")
    print("\narithmetic                 seconds    ratio")
    some = vectors[1 : options.timed + 1]
    slow = {
        name: common.timed(lambda by=by: [by(vectors[0], other) for other in some])
        for name, by in (("linear", plain_linear), ("rbf", plain_rbf))
    }
    expected = {name: values for name, (_, values) in slow.items()}
    slow_seconds = {name: time.wall / options.timed * cells for name, (time, _) in slow.items()}
    for name, took in slow_seconds.items():
        line(f"straightforward, {name}", took)
    (linear, _), of_all = common.timed(lambda: linear_of_all(vectors))
    (every, _), by_measure = common.timed(lambda: all_measures(vectors))
    assert np.allclose(of_all[: options.timed], expected["linear"], atol=1e-8)
    for name, values in expected.items():
        measured = [estimates[f"cka_{name}"].value for estimates in by_measure]
        assert np.allclose(measured[: options.timed], values, atol=1e-8)
    line("here, linear", linear * layers, slow_seconds["linear"])
    both = sum(slow_seconds.values())
    line("here, all measures", every * layers, both)
    size, depth = map(int, options.size.split("x"))
    arithmetic = linear * (depth + 1), slow_seconds["linear"] / layers * (depth + 1)
    encoding(size, depth, (pairs + 1) * n, *arithmetic)


def line(name: str, took: float, against: float | None = None) -> None:
    print(f"{name:26s} {took:7.1f}" + (f" {against / took:7.1f}x" if against else ""))


def hsic(k: np.ndarray, l: np.ndarray) -> float:  # noqa: E741
    centring = np.eye(len(k)) - 1 / len(k)
    return float(np.sum(centring @ k @ centring * (centring @ l @ centring)))


def plain_linear(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x.astype(np.float64), y.astype(np.float64)
    return hsic(x @ x.T, y @ y.T) / np.sqrt(hsic(x @ x.T, x @ x.T) * hsic(y @ y.T, y @ y.T))


def plain_rbf(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x.astype(np.float64), y.astype(np.float64)
    return hsic(rbf(x), rbf(y)) / np.sqrt(hsic(rbf(x), rbf(x)) * hsic(rbf(y), rbf(y)))


def rbf(x: np.ndarray) -> np.ndarray:
    gram = x @ x.T
    half = gram.diagonal() - gram
    squares = half + half.T
    return np.asarray(np.exp(-squares / (2 * np.median(squares[squares != 0]))))


def linear_of_all(vectors: list[np.ndarray]) -> list[float]:
    """Compare the first language with each of the others in one layer."""
    first, *others = (
        Kernel(x @ x.T, "centred")
        for x in (side - side.mean(0) for side in (v.astype(np.float64) for v in vectors))
    )
    return [first.compare(other).value for other in others]


def all_measures(vectors: list[np.ndarray]) -> list[Any]:
    """Compare them by every measure."""
    first = kernels(vectors[0])
    return [compare(first, kernels(other)) for other in vectors[1:]]


def encoding(
    size: int, depth: int, sentences: int, fast_arithmetic: float, slow_arithmetic: float
) -> None:
    torch.manual_seed(0)
    model = BertModel(common.bert_config(depth, size, 1000)).eval()
    random = np.random.default_rng(1)
    lengths = np.clip(random.gamma(4, 8, sentences).astype(int), 4, 200)
    ids = Ragged.from_rows([random.integers(5, 1000, length) for length in lengths], np.int32)
    rows, starts = np.arange(len(ids)), np.ones(len(ids), dtype=np.int64)
    every = list(range(depth + 1))
    (fast, _), _ = common.timed(
        lambda: span_vectors(
            model, ids, rows, starts, ids.lengths - 1, aggregation="mean", layers=every
        )
    )
    some = random.choice(len(ids), min(100, len(ids)), replace=False)

    def one_by_one() -> None:
        with torch.no_grad():
            for row in some:
                text = torch.from_numpy(ids[row].astype(np.int64))[None]
                model(text, output_hidden_states=True).hidden_states[-1][0, 1:-1].mean(0).numpy()

    once = common.timed(one_by_one)[0].wall / len(some) * len(ids)
    slow = once * len(every)
    print(f"\ntotal, BERT of {size} x {depth:<4}   seconds    ratio")
    line("one by one, by layer", slow)
    line("one by one, all layers", once, slow)
    line("one pass in batches", fast, slow)
    line("that and CKA, linear", fast + fast_arithmetic, slow + slow_arithmetic)


if __name__ == "__main__":
    main()
