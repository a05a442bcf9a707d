"""Fine-tuning on a CPU with dropout from fewer random numbers against torch's dropout.

The same model (of multilingual-e5-small's shape), texts, steps and precision in one run, taking
turns. Printed are tokens per second, their ratio, and the mean loss of the steps: the masks
differ, so that the losses differ as between seeds.

    OMP_NUM_THREADS=1 python benchmarks/dropout.py
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from statistics import median
from unittest import mock

import common
import finetune
import torch
from transformers import BertConfig

from mbert_atlas.training import loop
from mbert_atlas.training.method import Method

WORDS = 8_000  # of the vocabulary that a treebank or the pairs of a task leave after trimming


class MeanLoss(Method):
    """Notes the mean loss of the last epoch."""

    def finish(self, model, log) -> None:
        """Keep it for the report."""
        self.mean = log.epoch_losses[-1]


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    for task in options.tasks:
        runs, losses = contenders(task, options)
        seconds = common.take_turns(runs, options.repeats)
        print(f"{task}, {options.precision}, {options.threads} threads:")
        for name, times in seconds.items():
            speed = options.tokens / median(time.wall for time in times)
            line = ", ".join(map(str, times))
            print(f"{name:>16}: {speed:6.0f} tokens/s, mean loss {losses[name].mean:.4f}; {line}")
        both = list(seconds.values())
        wall, processor = (common.ratio(*both, kind) for kind in ("wall", "processor"))
        print(f"ratio {wall:.2f} (of processor time {processor:.2f})", flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=finetune.TASKS, default=["nli", "tagging"])
    parser.add_argument("--examples", type=int, default=640)
    parser.add_argument("--subwords", type=int, default=6_000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    return common.parse(parser, examples=32, layers=1, hidden=24, precision="fp32", repeats=1)


def contenders(task: str, options: argparse.Namespace):
    """Return how each trains, warmed up, and where each notes its mean loss."""
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=12,
        intermediate_size=4 * options.hidden,
        num_labels=finetune.TASKS[task][1],
        attn_implementation="sdpa",
        pad_token_id=0,
    )
    with mock.patch.object(finetune, "make_config", return_value=config):
        model, rows, labels = finetune.make_data(task, options, False, WORDS)
    options.tokens = options.epochs * sum(map(len, rows))
    settings = {"precision": options.precision, "token_budget": 1024}
    training = finetune.OurTraining(task, model, rows, labels, options, False, **settings)
    losses = {"torch's dropout": MeanLoss(), "fewer numbers": MeanLoss()}

    def stock(warm_up: bool = False) -> common.Seconds:
        with mock.patch.object(loop, "fewer_draws", return_value=nullcontext()):
            return training.run(warm_up, [losses["torch's dropout"]])

    def fewer(warm_up: bool = False) -> common.Seconds:
        return training.run(warm_up, [losses["fewer numbers"]])

    for run in (stock, fewer):
        run(warm_up=True)
    return dict(zip(losses, (stock, fewer), strict=True)), losses


if __name__ == "__main__":
    main()
