"""Fine-tuning through this project's loop against the Hugging Face Trainer with its defaults.

Same model, weights, data, epochs, batch size, learning rate and precision, in one run, taking
turns; prints examples and tokens per second, their ratio, and the loss of the same batch in both.
Also printed is the fraction of this loop's steps spent in bare forward and backward passes, over
the same number of subwords without padding: only the rest can be saved.

    python benchmarks/finetune.py            # on a CPU: a small BERT on 2 threads
    python benchmarks/finetune.py            # where a GPU is found: a BERT of mBERT's size, bf16
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import common
import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.batching import epoch_batches
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoders.precision import autocast
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.tasks.base import CrossEntropy, EncoderWithHead
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training.loop import train

LABELS = 3
LEARNING_RATE = 5e-5


def main() -> None:
    gpu = torch.cuda.is_available()
    options = parse(gpu)
    torch.set_num_threads(options.threads)
    logging.disable(logging.WARNING)
    random = np.random.default_rng(options.seed)
    vocabulary = 119_547 if gpu else 8_000
    rows = make_rows(random, options.examples, vocabulary)
    labels = random.integers(0, LABELS, options.examples)
    torch.manual_seed(options.seed)
    model = BertForSequenceClassification(make_config(gpu, vocabulary))
    lengths = np.array([len(row) for row in rows])
    print(
        f"{torch.cuda.get_device_name() if gpu else f'CPU, {options.threads} threads'}; "
        f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters; "
        f"{options.examples} examples of {lengths.min()} to {lengths.max()} tokens "
        f"(mean {lengths.mean():.1f}), {options.epochs} epochs, batches of {options.batch_size}, "
        f"{'bf16' if gpu else 'fp32'}",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        contenders = {
            "Trainer": TheirTraining(model, rows, labels, options, gpu, Path(folder)),
            "this loop": OurTraining(model, rows, labels, options, gpu),
        }
        report_equal_loss(contenders, options.batch_size)
        runs = {name: contender.run for name, contender in contenders.items()}
        runs["bare passes"] = BarePasses(contenders["this loop"].model, lengths, options).run
        for run in runs.values():
            run(warm_up=True)
        seconds = common.take_turns(runs, options.repeats)
    report_speed(seconds, options, int(lengths.sum()))


def parse(gpu: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=16_384 if gpu else 1_024)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return common.parse(parser, examples=12, batch_size=4, repeats=1, threads=1)


def make_config(gpu: bool, vocabulary: int) -> BertConfig:
    """Return a configuration of mBERT's size for a GPU, a small one for a CPU."""
    layers, hidden = (12, 768) if gpu else (4, 256)
    kind = {"num_labels": LABELS, "attn_implementation": "sdpa"}
    return common.bert_config(layers, hidden, vocabulary, **kind)


def make_rows(random: np.random.Generator, count: int, vocabulary: int) -> list[np.ndarray]:
    """Return token ids with lengths spread like those of XNLI pairs and UD sentences, 5 to 128."""
    lengths = common.text_lengths(random, 32, count, 5, 128)
    first = len(SPECIAL_TOKENS)
    return [
        np.concatenate([[2], random.integers(first, vocabulary, length - 2), [3]])
        for length in lengths
    ]


class TheirTraining:
    """Trainer and its padding collator; what does not train (logging, saving) is off."""

    def __init__(self, model, rows, labels, options, gpu, folder) -> None:
        self.model, self.options, self.gpu, self.folder = model, options, gpu, folder
        subwords = [*SPECIAL_TOKENS, *(f"w{n}" for n in range(model.config.vocab_size - 5))]
        write_tokenizer(subwords, folder / "tokenizer")
        self.tokenizer = load_tokenizer(folder / "tokenizer")
        self.data = [
            {"input_ids": row.tolist(), "attention_mask": [1] * len(row), "labels": int(label)}
            for row, label in zip(rows, labels, strict=True)
        ]

    def trainer(self, data: list[dict[str, Any]]) -> Trainer:
        """Return a Trainer of a copy of the model."""
        arguments = TrainingArguments(
            output_dir=str(self.folder / "trainer"),
            num_train_epochs=self.options.epochs,
            per_device_train_batch_size=self.options.batch_size,
            learning_rate=LEARNING_RATE,
            bf16=self.gpu,
            seed=self.options.seed,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        )
        trainer = Trainer(
            copy.deepcopy(self.model),
            arguments,
            train_dataset=data,
            processing_class=self.tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        return trainer

    def run(self, warm_up: bool = False) -> common.Seconds:
        """Train a copy of the model (on two batches to warm up); return the seconds."""
        trainer = self.trainer(self.data[: 2 * self.options.batch_size] if warm_up else self.data)
        return timed(trainer.train)

    def loss(self, count: int) -> float:
        """Return the loss of the first examples as one batch, without dropout."""
        trainer = self.trainer(self.data[:count])
        batch = trainer._prepare_inputs(trainer.data_collator(self.data[:count]))
        with torch.no_grad():
            return trainer.compute_loss(trainer.model.eval(), batch).item()


class OurTraining:
    """The loop of this project."""

    def __init__(self, model, rows, labels, options, gpu) -> None:
        self.options, self.gpu = options, gpu
        self.model = EncoderWithHead(model.bert, LABELS, "text", HeadOptions())
        self.model.head.load_state_dict(model.classifier.state_dict())
        self.rows, self.labels = rows, labels

    def examples(self, count: int | None = None) -> TextExamples:
        """Return the first examples, or all."""
        arrays = {
            "input_ids": Ragged.from_rows(self.rows[:count], np.int32),
            "labels": self.labels[:count].astype(np.int32),
        }
        return TextExamples(TokenStore(arrays, {"pad_id": 0}), pad_multiple=8 if self.gpu else 1)

    def run(self, warm_up: bool = False) -> common.Seconds:
        """Train a copy of the model (on two batches to warm up); return the seconds."""
        model = copy.deepcopy(self.model)
        examples = self.examples(2 * self.options.batch_size if warm_up else None)
        optimisation = Optimisation(
            learning_rate=LEARNING_RATE,
            batch_size=self.options.batch_size,
            epochs=self.options.epochs,
            clip_norm=1.0,  # the Trainer's default
        )
        return timed(
            lambda: train(
                model,
                examples,
                CrossEntropy(),
                optimisation,
                seed=self.options.seed,
                state_dir=None,
                description="this loop",
            )
        )

    def loss(self, count: int) -> float:
        """Return the loss of the first examples as one batch, without dropout."""
        examples, objective = self.examples(count), CrossEntropy()
        batch = examples.collate(np.arange(count))
        with torch.no_grad():
            model = copy.deepcopy(self.model).eval()
            return objective.loss(model, batch, objective.weight(batch)).item()


class BarePasses:
    """Forward and backward passes of the same steps, each over rows of equal length."""

    def __init__(self, model: EncoderWithHead, lengths: np.ndarray, options: Any) -> None:
        self.model, self.epochs = copy.deepcopy(model).train(), options.epochs
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(self.device)
        self.batches = []
        for rows in epoch_batches(lengths, options.batch_size, "bucketed", options.seed, 0):
            shape = (len(rows), round(lengths[rows].mean()))
            ids = torch.randint(len(SPECIAL_TOKENS), model.encoder.config.vocab_size, shape)
            labels = torch.randint(LABELS, (len(rows),))
            self.batches.append(
                {"input_ids": ids.to(self.device), "labels": labels.to(self.device)}
            )

    def run(self, warm_up: bool = False) -> common.Seconds:
        """Take the passes of all epochs (of two steps to warm up); return the seconds."""
        return timed(lambda: self.passes(2 if warm_up else None))

    def passes(self, count: int | None) -> None:
        """Compute and drop the gradients of the first steps, or all."""
        common.passes(self.model, self.batches[:count] * self.epochs, self.loss)

    def loss(self, model: EncoderWithHead, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of a batch in the precision of the device."""
        with autocast("auto", self.device):
            return CrossEntropy().loss(model, batch, len(batch["labels"]))


def timed(action: Callable[[], Any]) -> common.Seconds:
    """Return the time of an action, to the end of what it started on a GPU."""

    def whole() -> None:
        action()
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return common.timed(whole)[0]


def report_equal_loss(contenders: dict[str, Any], count: int) -> None:
    losses = {name: contender.loss(count) for name, contender in contenders.items()}
    difference = abs(losses["Trainer"] - losses["this loop"])
    line = ", ".join(f"{name} {loss:.7f}" for name, loss in losses.items())
    print(f"loss of the same batch: {line}; difference {difference:.1e}", flush=True)
    if difference > 1e-6:
        sys.exit("The two do not compute the same loss.")


def report_speed(
    seconds: dict[str, list[common.Seconds]], options: argparse.Namespace, tokens: int
) -> None:
    for name, times in seconds.items():
        middle = median(time.wall for time in times)
        line = ", ".join(map(str, times))
        print(
            f"{name:>9}: {options.epochs * options.examples / middle:8.1f} examples/s "
            f"{options.epochs * tokens / middle:9.0f} tokens/s; wall (processor) seconds: {line}"
        )
    theirs, ours = seconds["Trainer"], seconds["this loop"]
    share = common.ratio(seconds["bare passes"], ours, "processor")
    print(f"bare passes as a fraction of this loop's processor time: {share:.2f}")
    print(
        f"ratio of examples per second, median over {options.repeats} turns: "
        f"{common.ratio(theirs, ours):.2f} "
        f"(of processor time: {common.ratio(theirs, ours, 'processor'):.2f})"
    )


if __name__ == "__main__":
    main()
