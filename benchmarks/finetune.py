"""Fine-tuning through this project's loop against the Hugging Face Trainer with its defaults.

Same model, weights, data, epochs, batch size, learning rate and precision, in one run, taking
turns; prints examples and tokens per second, their ratio, and the loss of the same batch in both.
Also printed is the share of this loop's steps that is forward and backward passes alone, over the
same number of pieces without padding: all that is left to save is the rest.

    python benchmarks/finetune.py            # on a CPU: a small BERT on 2 threads
    python benchmarks/finetune.py            # where a GPU is found: a BERT of mBERT's size, bf16
"""

from __future__ import annotations

import argparse
import copy
import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # waiting threads leave a busy machine alone

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.batching import epoch_batches
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoders.precision import autocast
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, tokenizer_from_vocabulary
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
        contenders["bare passes"] = BarePasses(contenders["this loop"].model, lengths, options)
        for contender in contenders.values():
            contender.run(warm_up=True)
        seconds: dict[str, list[Seconds]] = {name: [] for name in contenders}
        for _ in range(options.repeats):
            for name, contender in contenders.items():
                seconds[name].append(contender.run())
    report_speed(seconds, options, int(lengths.sum()))


def parse(gpu: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=16_384 if gpu else 1_024)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_config(gpu: bool, vocabulary: int) -> BertConfig:
    """Return mBERT's size (the configuration's defaults) for a GPU, a small one for a CPU."""
    size: dict[str, Any] = {} if gpu else {"num_hidden_layers": 4, "num_attention_heads": 4}
    if not gpu:
        size |= {"hidden_size": 256, "intermediate_size": 1024}
    return BertConfig(vocab_size=vocabulary, num_labels=LABELS, attn_implementation="sdpa", **size)


def make_rows(random: np.random.Generator, count: int, vocabulary: int) -> list[np.ndarray]:
    """Return token ids with lengths spread like those of XNLI pairs and UD sentences, 5 to 128."""
    lengths = np.clip(random.lognormal(np.log(32), 0.6, count), 5, 128).astype(int)
    first = len(SPECIAL_TOKENS)
    return [
        np.concatenate([[2], random.integers(first, vocabulary, length - 2), [3]])
        for length in lengths
    ]


class TheirTraining:
    """Trainer and its padding collator; what does not train (logging, saving) is off."""

    def __init__(self, model, rows, labels, options, gpu, folder) -> None:
        self.model, self.options, self.gpu, self.folder = model, options, gpu, folder
        pieces = [*SPECIAL_TOKENS, *(f"w{n}" for n in range(model.config.vocab_size - 5))]
        (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", "utf-8")
        tokenizer_from_vocabulary(folder / "vocab.txt", folder / "tokenizer")
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

    def run(self, warm_up: bool = False) -> Seconds:
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

    def run(self, warm_up: bool = False) -> Seconds:
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

    def run(self, warm_up: bool = False) -> Seconds:
        """Take the passes of all epochs (of two steps to warm up); return the seconds."""
        return timed(lambda: self.passes(2 if warm_up else None))

    def passes(self, count: int | None) -> None:
        """Compute and drop the gradients of the first steps, or all."""
        for batch in self.batches[:count] * self.epochs:
            with autocast("auto", self.device):
                loss = CrossEntropy().loss(self.model, batch, len(batch["labels"]))
            loss.backward()
            self.model.zero_grad()


class Seconds(NamedTuple):
    """Wall and processor time of one run."""

    wall: float
    processor: float  # of all threads together; says more than the wall on a busy machine


def timed(action: Callable[[], Any]) -> Seconds:
    wall, processor = time.perf_counter(), time.process_time()
    action()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def report_equal_loss(contenders: dict[str, Any], count: int) -> None:
    losses = {name: contender.loss(count) for name, contender in contenders.items()}
    difference = abs(losses["Trainer"] - losses["this loop"])
    shown = ", ".join(f"{name} {loss:.7f}" for name, loss in losses.items())
    print(f"loss of the same batch: {shown}; difference {difference:.1e}", flush=True)
    if difference > 1e-6:
        sys.exit("The two do not compute the same loss.")


def report_speed(
    seconds: dict[str, list[Seconds]], options: argparse.Namespace, tokens: int
) -> None:
    for name, times in seconds.items():
        middle = statistics.median(time.wall for time in times)
        shown = ", ".join(f"{time.wall:.2f} ({time.processor:.2f})" for time in times)
        print(
            f"{name:>9}: {options.epochs * options.examples / middle:8.1f} examples/s "
            f"{options.epochs * tokens / middle:9.0f} tokens/s; wall (processor) seconds: {shown}"
        )
    turns = list(zip(seconds["Trainer"], seconds["this loop"], strict=True))
    wall = statistics.median(theirs.wall / ours.wall for theirs, ours in turns)
    processor = statistics.median(theirs.processor / ours.processor for theirs, ours in turns)
    pairs = zip(seconds["bare passes"], seconds["this loop"], strict=True)
    share = statistics.median(bare.processor / ours.processor for bare, ours in pairs)
    print(f"share of this loop's processor time that is bare passes: {share:.2f}")
    print(
        f"ratio of examples per second, median over {options.repeats} turns: {wall:.2f} "
        f"(of processor time: {processor:.2f})"
    )


if __name__ == "__main__":
    main()
