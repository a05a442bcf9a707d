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

import common
import numpy as np
import torch
from transformers import BertForPreTraining

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.hooks import Hook, hooked
from mbert_atlas.representations.shifted_predictions import predict_shifted

LAYERS, WEIGHTS, BATCH = range(1, 13), (1.0, 2.0, 3.0), 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=150)
    parser.add_argument("--size", type=int, default=256, help="width of the BERT")
    parser.add_argument("--vocabulary", type=int, default=5000)
    options = common.parse(parser, sentences=4, size=64, vocabulary=50)
    random = np.random.default_rng(0)
    # XNLI: premises of some 20 words, hypotheses of half as many.
    lengths = common.text_lengths(random, 20, options.sentences, 4, 126)
    rows = [[2, *random.integers(5, options.vocabulary, n), 3] for n in lengths]
    config = common.bert_config(12, options.size, options.vocabulary)
    torch.manual_seed(0)
    model = BertForPreTraining(config).eval()
    shifts = random.normal(size=(13, options.size)).astype(np.float32)
    ids = Ragged.from_rows(rows, np.int32)
    (ours, _), predictions = common.timed(
        lambda: predict_shifted(model, ids, shifts, list(LAYERS), list(WEIGHTS))
    )
    grid = [(layer, weight) for layer in LAYERS for weight in WEIGHTS]
    (theirs, _), full = common.timed(
        lambda: {cell: full_passes(model, rows, shifts, *cell) for cell in grid}
    )
    apart = sum(
        (np.array(row) != predictions[cell][number]).sum()
        for cell in grid
        for number, row in enumerate(full[cell])
    )
    total = len(LAYERS) * len(WEIGHTS) * int((lengths).sum())
    print(f"{len(rows)} sentences, BERT of {options.size} x 12, {len(WEIGHTS)} weights, 12 layers")
    print(f"  mbert_atlas            {ours:8.1f} s")
    print(f"  full forward passes    {theirs:8.1f} s: {theirs / ours:.1f} times")
    print(f"  predictions that differ: {apart} of {total}")


def full_passes(
    model: BertForPreTraining, rows: list[list[int]], shifts: np.ndarray, layer: int, weight: float
) -> list[list[int]]:
    """Return the predicted tokens of all sentences, batch by batch."""
    predictions = []
    for first in range(0, len(rows), BATCH):
        some = rows[first : first + BATCH]
        ids = torch.zeros(len(some), max(map(len, some)), dtype=torch.long)
        for number, row in enumerate(some):
            ids[number, : len(row)] = torch.tensor(row)
        hook = Hook(layer, torch.from_numpy(weight * shifts[layer]).add)
        with torch.inference_mode(), hooked(model.base_model, [hook]):
            logits = model(ids, attention_mask=(ids > 0).long()).prediction_logits
        tokens = logits.argmax(dim=-1)
        predictions += [tokens[n, 1 : len(row) - 1].tolist() for n, row in enumerate(some)]
    return predictions


if __name__ == "__main__":
    main()
