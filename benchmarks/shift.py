"""How much faster is a grid of shifts by layer and weight than full forward passes? One run.

Unsupervised token translation (Liu et al. 2020, section 4.2): every hidden state of 12 layers is
shifted by each of three weights. Ours runs the layers below a shift once, those above it for all
weights in one batch, on batches of similar length, and predicts at real tokens only. The other way
hooks the shift into a full pass for each layer and weight, over batches of 16 sentences as they
come, as the authors' script does. The encoder is a random BERT; predictions are compared.

    OMP_NUM_THREADS=1 python benchmarks/shift.py [--sentences 150] [--size 256]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch looks
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hooks import Hook, hooked, shift
from mbert_atlas.representations.shifted_predictions import predict_shifted

LAYERS, WEIGHTS, BATCH = range(1, 13), (1.0, 2.0, 3.0), 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=150)
    parser.add_argument("--size", type=int, default=256, help="width of the BERT")
    parser.add_argument("--vocabulary", type=int, default=5000)
    options = parser.parse_args()
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    random = np.random.default_rng(0)
    # XNLI: premises of some 20 words, hypotheses of half as many.
    lengths = np.clip(random.lognormal(np.log(20), 0.6, options.sentences), 4, 126).astype(int)
    rows = [[2, *random.integers(5, options.vocabulary, n), 3] for n in lengths]
    config = BertConfig(
        vocab_size=options.vocabulary,
        hidden_size=options.size,
        num_hidden_layers=12,
        num_attention_heads=options.size // 64,
        intermediate_size=4 * options.size,
    )
    torch.manual_seed(0)
    model = BertForPreTraining(config).eval()
    shifts = random.normal(size=(13, options.size)).astype(np.float32)
    ids = Ragged.from_rows(rows, np.int32)
    start = time.perf_counter()
    found = predict_shifted(model, ids, shifts, list(LAYERS), list(WEIGHTS))
    ours = time.perf_counter() - start
    start = time.perf_counter()
    apart = 0
    for layer in LAYERS:
        for weight in WEIGHTS:
            full = full_passes(model, rows, layer, shifts[layer], weight)
            apart += sum(
                (np.array(row) != found[layer, weight][number]).sum()
                for number, row in enumerate(full)
            )
    theirs = time.perf_counter() - start
    total = len(LAYERS) * len(WEIGHTS) * int((lengths).sum())
    print(f"{len(rows)} sentences, BERT of {options.size} x 12, {len(WEIGHTS)} weights, 12 layers")
    print(f"  mbert_atlas            {ours:8.1f} s")
    print(f"  full forward passes    {theirs:8.1f} s: {theirs / ours:.1f} times")
    print(f"  predictions that differ: {apart} of {total}")


def full_passes(
    model: BertForPreTraining, rows: list[list[int]], layer: int, vector: np.ndarray, weight: float
) -> list[list[int]]:
    """Return the predicted tokens of all sentences, batch by batch."""
    found = []
    for first in range(0, len(rows), BATCH):
        some = rows[first : first + BATCH]
        ids = torch.zeros(len(some), max(map(len, some)), dtype=torch.long)
        for number, row in enumerate(some):
            ids[number, : len(row)] = torch.tensor(row)
        with torch.inference_mode(), hooked(model.base_model, [Hook(layer, shift(vector, weight))]):
            logits = model(ids, attention_mask=(ids > 0).long()).prediction_logits
        tokens = logits.argmax(dim=-1)
        found += [tokens[n, 1 : len(row) - 1].tolist() for n, row in enumerate(some)]
    return found


if __name__ == "__main__":
    main()
