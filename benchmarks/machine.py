"""How fast is this machine? A small, fixed training loop to report next to timings.

200 steps of AdamW on a Transformer of the demo's size (4 layers, hidden size 96, batches of 32 x 24
subwords, vocabulary of 9,000), on one thread, first alone and then on every core at once. Divide
timings by these seconds to compare machines.

    python benchmarks/machine.py
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform

import common
import torch
from torch import nn

ROWS, LENGTH, SIZE, LAYERS, VOCABULARY = 32, 24, 96, 4, 9000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)))
    options = common.parse(parser, steps=2, cores=1)
    steps, cores = options.steps, options.cores
    print(f"{platform.machine()}, {cores} cores, torch {torch.__version__}, {steps} steps")
    print(f"one process          {seconds(0, steps):6.1f} s")
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        times = pool.starmap(seconds, ((core, steps) for core in range(cores)), chunksize=1)
    print(f"{cores} at once (slowest) {max(times):6.1f} s")


def seconds(seed: int, steps: int) -> float:
    """Return how long the training loop takes after ten steps of warm-up."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(SIZE, 4, 4 * SIZE, 0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    words, head = nn.Embedding(VOCABULARY, SIZE), nn.Linear(SIZE, VOCABULARY)
    model = nn.ModuleList([words, encoder, head])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    tokens = torch.randint(VOCABULARY, (steps + 10, ROWS, LENGTH))

    def learn(batches: torch.Tensor) -> None:
        for batch in batches:
            logits = head(encoder(words(batch))).flatten(0, 1)
            loss = nn.functional.cross_entropy(logits, batch.flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    learn(tokens[:10])
    return common.timed(lambda: learn(tokens[10:]))[0].wall


if __name__ == "__main__":
    main()
