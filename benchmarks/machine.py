"""How fast is this machine? A fixed little training loop, to be named beside every timing.

200 steps of AdamW on a Transformer of the demo's size (4 layers of 96, 32 rows of 24 pieces, 9,000
pieces), on one thread, by itself and then on every core at once. A time of another machine is
comparable after division by these seconds.

    python benchmarks/machine.py
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch counts the cores

import torch
from torch import nn

STEPS, ROWS, LENGTH, SIZE, LAYERS, VOCABULARY = 200, 32, 24, 96, 4, 9000


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    cores = len(os.sched_getaffinity(0))
    print(f"{platform.machine()}, {cores} cores, torch {torch.__version__}, {STEPS} steps")
    print(f"one process          {seconds(0):6.1f} s")
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        found = pool.map(seconds, range(cores), chunksize=1)
    print(f"{cores} at once (slowest) {max(found):6.1f} s")


def seconds(seed: int) -> float:
    """Return how long the training loop takes."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    layer = nn.TransformerEncoderLayer(SIZE, 4, 4 * SIZE, 0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    words, head = nn.Embedding(VOCABULARY, SIZE), nn.Linear(SIZE, VOCABULARY)
    model = nn.ModuleList([words, encoder, head])
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    pieces = torch.randint(VOCABULARY, (STEPS + 10, ROWS, LENGTH))
    for step, batch in enumerate(pieces):
        if step == 10:  # what is done only once is over
            started = time.perf_counter()
        loss = nn.functional.cross_entropy(
            head(encoder(words(batch))).flatten(0, 1), batch.flatten()
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
