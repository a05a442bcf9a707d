"""Fine-tuning through this project's loop against the Hugging Face Trainer.

Same model, weights, data, epochs, batch size, learning rate and precision, in one run, taking
turns: the Trainer with its defaults and with batches of similar length, this loop, and this loop
without CUDA graphs and with the embeddings of the whole vocabulary. transformers has no parser, so
that the Trainer trains this project's, and only with its defaults. Printed are steps and tokens
per second, their ratio, the loss of the same batch in both, and the time of a step in the second
half of this loop's steps, with the fraction of matrix products; with --widths also that of a step
of texts of so many subwords. On a CPU also how long bare forward
and backward passes take over the same number of subwords without padding: only the rest can be
saved.

    python benchmarks/finetune.py            # on a CPU: a small BERT on 2 threads
    python benchmarks/finetune.py            # where a GPU is found: a BERT of mBERT's size, bf16
"""

from __future__ import annotations

import argparse
import copy
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import common
import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForTokenClassification,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

from mbert_atlas import tasks
from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.batching import epoch_batches
from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoders.precision import autocast, default_device
from mbert_atlas.encoders.trimming import trim
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.schemas import TREE_PREDICTIONS
from mbert_atlas.tasks.base import EncodedExamples, EncoderWithHead
from mbert_atlas.training import loop
from mbert_atlas.training.method import Method

TASKS = {
    "nli": (BertForSequenceClassification, 3),
    "tagging": (BertForTokenClassification, 17),
    "parsing": (BertModel, 37),
}
LEARNING_RATE = 5e-5
MATRIX_PRODUCTS = r"gemm|nvjet|cutlass_|xmma|aten::(mm|addmm|bmm|baddbmm)$"


def main() -> None:
    gpu = torch.cuda.is_available()
    options = parse(gpu)
    torch.set_num_threads(options.threads)
    logging.disable(logging.WARNING)
    vocabulary = 119_547 if gpu else 8_000
    for task in options.tasks:
        model, rows, labels = make_data(task, options, gpu, vocabulary)
        lengths = np.array([len(row) for row in rows])
        print(
            f"{task}: {torch.cuda.get_device_name() if gpu else f'CPU, {options.threads} threads'};"
            f" {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters; "
            f"{options.examples} examples of {lengths.min()} to {lengths.max()} tokens "
            f"(mean {lengths.mean():.1f}), {options.epochs} epochs, batches of "
            f"{options.batch_size}, {'bf16' if gpu else 'fp32'}",
            flush=True,
        )
        with tempfile.TemporaryDirectory() as folder:
            data = (task, model, rows, labels, options, gpu)
            whole = OurTraining(*data, trims=False)
            if task == "parsing":
                contenders = {"Trainer": TheirTraining(*data, Path(folder), parser=whole)}
            else:
                contenders = {
                    "Trainer": TheirTraining(*data, Path(folder)),
                    "Trainer, by length": TheirTraining(
                        *data, Path(folder), train_sampling_strategy="group_by_length"
                    ),
                }
            contenders |= {"this loop, all words": whole, "this loop": OurTraining(*data)}
            if gpu:
                contenders["this loop, no graphs"] = OurTraining(*data, records=False)
            report_equal_loss(contenders, options.batch_size)
            runs = {name: contender.run for name, contender in contenders.items()}
            if not gpu:
                runs["bare passes"] = BarePasses(contenders["this loop"], lengths, options).run
            for run in runs.values():
                run(warm_up=True)
            seconds = common.take_turns(runs, options.repeats)
            report_speed(seconds, options, int(lengths.sum()))
            report_products(contenders, gpu)
        report_widths(task, options, gpu, vocabulary)


def parse(gpu: bool) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--examples", type=int, default=16_384 if gpu else 1_024)
    parser.add_argument("--subwords", type=int, default=30_000 if gpu else 4_000)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--widths", nargs="*", type=int, default=[16, 32, 64, 128] if gpu else [])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    return common.parse(parser, examples=12, batch_size=4, repeats=1, threads=1)


def make_data(
    task: str, options: argparse.Namespace, gpu: bool, vocabulary: int
) -> tuple[torch.nn.Module, list[np.ndarray], list[Any]]:
    """Return a model with random weights, token ids and labels."""
    random = np.random.default_rng(options.seed)
    rows = make_rows(random, options, vocabulary)
    kind, classes = TASKS[task]
    labels = make_labels(random, rows, classes, task)
    torch.manual_seed(options.seed)
    head = {"add_pooling_layer": False} if task == "parsing" else {}
    return kind(make_config(gpu, vocabulary, classes), **head), rows, labels


def make_config(gpu: bool, vocabulary: int, classes: int) -> BertConfig:
    """Return a configuration of mBERT's size for a GPU, a small one for a CPU."""
    layers, hidden = (12, 768) if gpu else (4, 256)
    kind = {"num_labels": classes, "attn_implementation": "sdpa", "pad_token_id": 0}
    return common.bert_config(layers, hidden, vocabulary, **kind)


def make_rows(
    random: np.random.Generator, options: argparse.Namespace, vocabulary: int
) -> list[np.ndarray]:
    """Return token ids with lengths spread like those of XNLI pairs and UD sentences, 5 to 128."""
    lengths = common.text_lengths(random, 32, options.examples, 5, 128)
    first = len(SPECIAL_TOKENS)
    used = random.choice(np.arange(first, vocabulary), options.subwords, replace=False)
    return [np.concatenate([[2], random.choice(used, length - 2), [3]]) for length in lengths]


def make_labels(
    random: np.random.Generator, rows: list[np.ndarray], classes: int, task: str
) -> list[Any]:
    """Return a label of each row, or of two in three of its subwords; of words in parsing."""
    if task == "nli":
        return list(random.integers(0, classes, len(rows)))
    if task == "parsing":  # two in three subwords are a word's first
        return [random.integers(0, classes, (len(row) - 2) * 2 // 3 + 1) for row in rows]
    labels = [random.integers(0, classes, len(row)) for row in rows]
    for each in labels:
        each[random.random(len(each)) < 1 / 3] = NO_LABEL
        each[[0, -1]] = NO_LABEL
    return labels


class TheirTraining:
    """Trainer and its padding collator; what does not train (logging, saving) is off."""

    def __init__(
        self, task, model, rows, labels, options, gpu, folder, parser=None, **arguments
    ) -> None:
        self.model, self.options, self.gpu, self.folder = model, options, gpu, folder
        self.arguments, self.tokenizer = arguments, None
        if parser:
            examples = parser.examples()
            self.model, self.data = WithLoss(parser), range(len(rows))
            self.collator = lambda numbers: {"batch": examples.collate(np.array(numbers))}
            return
        subwords = [*SPECIAL_TOKENS, *(f"w{n}" for n in range(model.config.vocab_size - 5))]
        write_tokenizer(subwords, folder / "tokenizer")
        self.tokenizer = load_tokenizer(folder / "tokenizer")
        is_tagging = task == "tagging"
        self.collator = DataCollatorForTokenClassification(self.tokenizer) if is_tagging else None
        self.data = [
            {"input_ids": row.tolist(), "attention_mask": [1] * len(row), "labels": label.tolist()}
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
            **self.arguments,
        )
        trainer = Trainer(
            copy.deepcopy(self.model),
            arguments,
            data_collator=self.collator,
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


class WithLoss(torch.nn.Module):
    """A model of this project as the Trainer wants it: it returns its loss."""

    def __init__(self, ours: OurTraining) -> None:
        super().__init__()
        self.model, self.objective = copy.deepcopy(ours.model), ours.task.objective()

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Return the mean loss of the batch."""
        return {"loss": self.objective.loss(self.model, batch, self.objective.weight(batch))}


class OurTraining:
    """The loop of this project."""

    def __init__(
        self, task, model, rows, labels, options, gpu, *, trims=True, records=True, **settings
    ) -> None:
        self.options, self.gpu, self.records, self.settings = options, gpu, records, settings
        self.task = tasks.get(task)
        classes = model.config.num_labels
        encoder = copy.deepcopy(getattr(model, "bert", model))
        self.model = EncoderWithHead(encoder, classes, self.task, self.task.head_options())
        if hasattr(model, "classifier"):
            self.model.head.load_state_dict(model.classifier.state_dict())
        if trims:
            trim(self.model.encoder, rows)
        self.rows, self.labels = rows, labels

    def examples(self, count: int | None = None) -> EncodedExamples:
        """Return the first examples, or all."""
        labels = self.labels[:count]
        arrays = {
            "input_ids": Ragged.from_rows(self.rows[:count], np.int32),
            "labels": np.array(labels, np.int32)
            if self.task.unit == "text"
            else Ragged.from_rows(labels, np.int32),
        }
        if self.task.prediction_schema is TREE_PREDICTIONS:
            words = arrays["labels"].lengths
            arrays["first_pieces"] = Ragged.from_rows([1 + np.arange(n) for n in words], np.int32)
            # The first word is the root's child, the others hang on the word before.
            arrays["heads"] = Ragged.from_rows([np.arange(n) for n in words], np.int32)
        padding = {"pad_multiple": 8, "fixed_shapes": True} if self.gpu else {}
        return self.task.examples(TokenStore(arrays, {"pad_id": 0}), **padding)

    def run(self, warm_up: bool = False, methods: Sequence[Method] = ()) -> common.Seconds:
        """Train a copy of the model (on two batches to warm up); return the seconds."""
        model = copy.deepcopy(self.model)
        examples = self.examples(2 * self.options.batch_size if warm_up else None)
        optimisation = Optimisation(
            learning_rate=LEARNING_RATE,
            batch_size=self.options.batch_size,
            epochs=self.options.epochs,
            clip_norm=1.0,  # the Trainer's default
            **self.settings,
        )
        graphs = loop.graphs_on if self.records else lambda _: None
        with mock.patch.object(loop, "graphs_on", graphs):
            return timed(
                lambda: loop.train(
                    model,
                    examples,
                    self.task.objective(),
                    optimisation,
                    seed=self.options.seed,
                    state_dir=None,
                    description="this loop",
                    methods=methods,
                )
            )

    def loss(self, count: int) -> float:
        """Return the loss of the first examples as one batch, without dropout."""
        examples, objective = self.examples(count), self.task.objective()
        batch = examples.collate(np.arange(count))
        with torch.no_grad():
            model = copy.deepcopy(self.model).eval()
            return objective.loss(model, batch, objective.weight(batch)).item()


class BarePasses:
    """Forward and backward passes of the same steps, each over rows of equal length."""

    def __init__(self, ours: OurTraining, lengths: np.ndarray, options: Any) -> None:
        self.model, self.epochs = copy.deepcopy(ours.model).train(), options.epochs
        self.objective = ours.task.objective()
        self.batches = []
        for rows in epoch_batches(lengths, options.batch_size, "bucketed", options.seed, 0):
            shape = (len(rows), round(lengths[rows].mean()))
            count = shape[0] * (1 if ours.task.unit == "text" else shape[1])
            batch = {
                "input_ids": torch.from_numpy(np.resize(ours.rows[0], shape)),
                "attention_mask": torch.ones(shape, dtype=torch.bool),
                "labels": torch.zeros(count, dtype=torch.int64),
                "positions": torch.arange(count),
            }
            if ours.task.prediction_schema is TREE_PREDICTIONS:
                nodes = torch.arange(shape[0] * shape[1]).view(shape)
                scored = nodes[:, 1:].flatten()
                batch |= {"positions": nodes, "inside": torch.ones(shape, dtype=torch.bool)}
                batch |= {"scored": scored, "heads": 0 * scored, "labels": 0 * scored}
            self.batches.append(batch)

    def run(self, warm_up: bool = False) -> common.Seconds:
        """Take the passes of all epochs (of two steps to warm up); return the seconds."""
        return timed(lambda: self.passes(2 if warm_up else None))

    def passes(self, count: int | None) -> None:
        """Compute and drop the gradients of the first steps, or all."""
        common.passes(self.model, self.batches[:count] * self.epochs, self.loss)

    def loss(self, model: EncoderWithHead, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """Return the loss of a batch in the precision of the device."""
        with autocast("auto", default_device()):
            return self.objective.loss(model, batch, len(batch["labels"]))


def timed(action: Callable[[], Any]) -> common.Seconds:
    """Return the time of an action, to the end of what it started on a GPU."""

    def whole() -> None:
        action()
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return common.timed(whole)[0]


def report_equal_loss(contenders: dict[str, Any], count: int) -> None:
    losses = {name: contender.loss(count) for name, contender in contenders.items()}
    difference = max(losses.values()) - min(losses.values())
    line = ", ".join(f"{name} {loss:.7f}" for name, loss in losses.items())
    print(f"loss of the same batch: {line}; difference {difference:.1e}", flush=True)
    if difference > 1e-5:
        sys.exit("They do not compute the same loss.")


def report_speed(
    seconds: dict[str, list[common.Seconds]], options: argparse.Namespace, tokens: int
) -> None:
    steps = options.epochs * -(-options.examples // options.batch_size)
    for name, times in seconds.items():
        middle = median(time.wall for time in times)
        line = ", ".join(map(str, times))
        print(
            f"{name:>20}: {steps / middle:7.1f} steps/s {options.epochs * tokens / middle:9.0f} "
            f"tokens/s; wall (processor) seconds: {line}"
        )
    ours = seconds["this loop"]
    for name in (name for name in seconds if name != "this loop"):
        print(
            f"time of '{name}' over that of this loop, median over {options.repeats} turns: "
            f"{common.ratio(seconds[name], ours):.2f} "
            f"(of processor time: {common.ratio(seconds[name], ours, 'processor'):.2f})"
        )


class Timed(Method):
    """Times the second half of the steps, up to 30."""

    def __init__(self, steps: int, gpu: bool) -> None:
        self.first, self.gpu = steps // 2, gpu
        self.last = self.first + min(30, steps - self.first - 1)
        self.seconds = 0.0

    def add_gradients(self, model: Any, step: int) -> None:
        """Begin or end; add nothing."""
        if step in (self.first, self.last) and self.gpu:
            torch.cuda.synchronize()
        if step == self.first:
            self.begin()
            self.started = time.perf_counter()
        elif step == self.last:
            self.seconds = time.perf_counter() - self.started
            self.end()

    def begin(self) -> None:
        """Come before the first step that is timed."""

    def end(self) -> None:
        """Come after the last."""

    @property
    def step(self) -> float:
        """The milliseconds of a step."""
        return 1e3 * self.seconds / (self.last - self.first)


class Profiled(Timed):
    """Profiles these steps; the others run with the profiler off."""

    def __init__(self, steps: int, gpu: bool) -> None:
        super().__init__(steps, gpu)
        kind = ProfilerActivity.CUDA if gpu else ProfilerActivity.CPU
        self.profiler = profile(activities=[kind])
        self.begin, self.end = self.profiler.start, self.profiler.stop

    def milliseconds(self, of: str) -> float:
        """Return the time of a step in kernels (on a CPU: operators) whose name matches."""
        return sum(
            event.self_device_time_total if self.gpu else event.self_cpu_time_total
            for event in self.profiler.key_averages()
            if re.search(of, event.key) and not event.key.startswith("Optimizer.")
        ) / (1e3 * (self.last - self.first))


def report_products(contenders: dict[str, Any], gpu: bool) -> None:
    """Print the time of a step of this loop in its second half, and where it is spent."""
    for name, contender in contenders.items():
        if isinstance(contender, OurTraining):
            options = contender.options
            profiled = Profiled(options.examples // options.batch_size, gpu)
            contender.run(methods=[profiled])
            whole, products = (profiled.milliseconds(of) for of in ("", MATRIX_PRODUCTS))
            print(
                f"{name}: {profiled.step:.2f} ms a step while profiled, {whole:.2f} in "
                f"{'kernels' if gpu else 'operators'}, {products:.2f} in matrix products "
                f"({products / profiled.step:.0%})"
            )
    print(flush=True)


def report_widths(task: str, options: argparse.Namespace, gpu: bool, vocabulary: int) -> None:
    """Print the time of a step by the number of subwords of its texts."""
    model, rows, _ = make_data(task, options, gpu, vocabulary)
    used = np.concatenate([row[1:-1] for row in rows])
    for width in options.widths:
        random = np.random.default_rng(width)
        steps = 40 if gpu else 4
        rows = [
            np.concatenate([[2], random.choice(used, width - 2), [3]])
            for _ in range(steps * options.batch_size)
        ]
        labels = make_labels(random, rows, TASKS[task][1], task)
        line = f"{task}, a step of {options.batch_size} texts of {width} subwords:"
        for kind, records in {"graphs": True, "no graphs": False}.items():
            if gpu or not records:
                timer = Timed(steps, gpu)
                ours = OurTraining(task, model, rows, labels, options, gpu, records=records)
                ours.run(methods=[timer])
                line += f" {timer.step:.1f} ms ({kind})"
        print(line, flush=True)


if __name__ == "__main__":
    main()
