"""Seeds that share a GPU against seeds that have it one after the other.

Every seed is a process that starts, makes a model of mBERT's size (on a CPU a small one) and
fine-tunes it as `finetune.py` does. For each number of processes at once, printed are the seconds
until all have ended, and how many times longer they take one after the other.

    python benchmarks/seeds_on_one_gpu.py
    python benchmarks/seeds_on_one_gpu.py --task parsing --at-once 1 4
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import common
import finetune
import numpy as np
import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=finetune.TASKS, default="tagging")
    parser.add_argument("--at-once", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--examples", type=int, default=8_192)
    parser.add_argument("--train", type=int, help="be one of the seeds")
    options = common.parse(parser, at_once=[1, 2], examples=12)
    if options.train is not None:
        train(options)
        return
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    steps = -(-options.examples // 32)
    print(f"{options.task}, {steps} steps of 32 examples a seed; {device}", flush=True)
    alone = 0.0
    for count in options.at_once:
        seconds = run(options, count)
        alone = alone or seconds / count
        print(
            f"{count} at once: {seconds:6.1f} s; one after the other {count * alone:6.1f} s, "
            f"{count * alone / seconds:.2f} times as long",
            flush=True,
        )


def run(options: argparse.Namespace, count: int) -> float:
    """Start so many seeds at once; return the seconds until the last has ended."""
    command = [sys.executable, __file__, "--task", options.task]
    command += ["--examples", str(options.examples), "--train"]
    start = time.perf_counter()
    seeds = [subprocess.Popen([*command, str(seed)]) for seed in range(count)]
    codes = [seed.wait() for seed in seeds]
    if any(codes):
        sys.exit("A seed failed.")
    return time.perf_counter() - start


def train(options: argparse.Namespace) -> None:
    """Train one seed and print what of its time was training, and the memory that it took."""
    gpu = torch.cuda.is_available()
    torch.set_num_threads(1)
    subwords, vocabulary = (30_000, 119_547) if gpu else (400, 1_000)
    values = {"epochs": 1, "batch_size": min(32, options.examples), "subwords": subwords}
    values |= {"examples": options.examples, "seed": options.train}
    settings = argparse.Namespace(**values)
    data = finetune.make_data(options.task, settings, gpu, vocabulary)
    seconds = finetune.OurTraining(options.task, *data, settings, gpu).run()
    memory = torch.cuda.max_memory_reserved() / 1e9 if gpu else np.nan
    print(f"  seed {options.train}: {seconds.wall:.1f} s of training, {memory:.1f} GB", flush=True)


if __name__ == "__main__":
    main()
