"""Language identification in isolation (Tanti et al. 2021) against the obvious implementation.

In every epoch the obvious one does what the authors' code does: it runs each minibatch, 32 texts at
a time, forwards and backwards through the frozen encoder in training mode, as its parameters still
require gradients, and lets the optimiser update only the linear layer; then it encodes the
validation texts. This project encodes every text once, in batches of similar length, keeps the
vectors in fp16 on disk, and trains the layer on these.

Both start from the same random encoder and take turns on the same texts, with equal epochs and
batch size. Both pad a batch to its longest text, and neither runs checks (the authors' code also
enables anomaly detection at every step). Texts are random subwords with frequencies by language;
lengths are distributed like those of Wikipedia paragraphs of 100 characters and more, cut at 128.
The language of whole texts is predicted from the pooler's output, that of tokens from the last
hidden state of every word-initial subword.

A backward pass costs twice a forward pass, so 5 epochs are 15 forward passes over the training
texts and 6 over the validation texts, against one over each here: 14 times as much where an eighth
of the texts validates. Any further gain comes from padding, as random minibatches are wider.

    python benchmarks/language_probe.py                     # both units
    python benchmarks/language_probe.py --unit token --layers 6 --hidden 384 --threads 2
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import common
import numpy as np
import torch
from torch import nn
from transformers import BertModel

from mbert_atlas.analysis.probing import fit_probe
from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.config.probing import Probe
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.f1 import ClassCounts
from mbert_atlas.representations.extraction import extract_features
from mbert_atlas.representations.reading import read_features
from mbert_atlas.tokenizer import tokenizer_digest

MICRO_BATCH = 32
CLS, SEP = 2, 3


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    logging.disable(logging.WARNING)
    results = []
    for unit in options.unit:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            prepare(folder, unit, options)
            describe(folder, unit, options)
            contenders = {
                "straightforward": Straightforward(folder, unit, options),
                "this project": Project(folder, unit, options),
            }
            report_equal_vectors(contenders)
            runs = {name: contender.run for name, contender in contenders.items()}
            times = common.take_turns(runs, options.repeats)
            results.append(report_speed(unit, times, contenders))
    print(json.dumps(results, indent=2))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--unit", nargs="+", choices=["text", "token"], default=["text", "token"])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--vocabulary", type=int, default=8_000)
    parser.add_argument("--languages", type=int, default=8)
    parser.add_argument("--texts", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    smallest = {"layers": 1, "hidden": 16, "vocabulary": 100, "texts": 64, "epochs": 1}
    return common.parse(parser, **smallest)


def specification(options: argparse.Namespace) -> Probe:
    return Probe(epochs=options.epochs, batch_size=options.batch_size)


def prepare(folder: Path, unit: str, options: argparse.Namespace) -> None:
    """Write a random encoder, its tokenizer, and texts: 7 of 8 train, the others validate."""
    words = options.vocabulary - len(SPECIAL_TOKENS)
    subwords = [f"##{number}" if number % 4 == 0 else f"w{number}" for number in range(words)]
    write_tokenizer([*SPECIAL_TOKENS, *subwords], folder / "tokenizer")
    torch.manual_seed(options.seed)
    config = common.bert_config(
        options.layers,
        options.hidden,
        options.vocabulary,
        initializer_range=0.1,  # large enough for vectors that depend on the language
    )
    save_encoder(BertModel(config), folder / "tokenizer", folder / "encoder")

    random = np.random.default_rng(options.seed)
    language = np.arange(options.texts) % options.languages
    lengths = common.text_lengths(random, 80, options.texts, 25, 128)
    frequencies = random.dirichlet(np.full(words, 0.1), options.languages)
    ids = [
        [CLS, *(len(SPECIAL_TOKENS) + random.choice(words, length - 2, p=frequencies[code])), SEP]
        for code, length in zip(language, lengths, strict=True)
    ]
    labels: Any = language.astype(np.int32)
    if unit == "token":
        labels = Ragged.from_rows(
            [
                [
                    NO_LABEL
                    if token in (CLS, SEP) or (token - len(SPECIAL_TOKENS)) % 4 == 0
                    else code
                    for token in row
                ]
                for row, code in zip(ids, language, strict=True)
            ],
            np.int32,
        )
    names = [f"language{code:02}" for code in range(options.languages)]
    split = np.where(np.arange(options.texts) // options.languages % 8 == 7, "validation", "train")
    save_arrays(
        folder / "store",
        {
            "input_ids": Ragged.from_rows(ids, np.int32),
            "labels": labels,
            "language": np.array(names)[language],
            "example_id": np.arange(options.texts).astype(str),
            "split": split,
        },
        {"tokenizer": tokenizer_digest(folder / "encoder"), "labels": names},
    )


class Straightforward:
    """The baseline: runs the encoder in every epoch, backwards too."""

    def __init__(self, folder: Path, unit: str, options: argparse.Namespace) -> None:
        self.unit, self.specification, self.seed = unit, specification(options), options.seed
        store = load_arrays(folder / "store")
        rows, labels = store.ragged("input_ids"), store.arrays["labels"]
        self.ids = [torch.from_numpy(rows[row].astype(np.int64)) for row in range(len(rows))]
        self.labels = [
            torch.from_numpy(np.atleast_1d(labels[n]).astype(np.int64)) for n in range(len(rows))
        ]
        self.split = {
            name: np.flatnonzero(store.dense("split") == name) for name in ("train", "validation")
        }
        self.classes = len(store.meta["labels"])
        self.encoder = load_encoder(folder / "encoder")
        self.history: list[float] = []

    def vectors(self, encoder: nn.Module, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the vectors to classify in some texts, padded to the longest, and their labels."""
        ids = nn.utils.rnn.pad_sequence([self.ids[row] for row in rows], batch_first=True)
        mask = nn.utils.rnn.pad_sequence(
            [torch.ones_like(self.ids[row]) for row in rows], batch_first=True
        )
        output = encoder(input_ids=ids, attention_mask=mask)
        if self.unit == "text":
            return output.pooler_output, torch.cat([self.labels[row] for row in rows])
        labels = nn.utils.rnn.pad_sequence(
            [self.labels[row] for row in rows], batch_first=True, padding_value=NO_LABEL
        )
        return output.last_hidden_state[labels != NO_LABEL], labels[labels != NO_LABEL]

    def run(self) -> None:
        """Train the layer for all epochs, validating before the first and after each."""
        torch.manual_seed(self.seed)
        random = np.random.default_rng(self.seed)
        encoder, options = copy.deepcopy(self.encoder), self.specification
        head = nn.Linear(encoder.config.hidden_size, self.classes)
        nn.init.normal_(head.weight, std=options.initial_stddev)
        nn.init.zeros_(head.bias)
        dropout = nn.Dropout(options.dropout)
        optimiser = torch.optim.Adam(head.parameters(), lr=options.learning_rate)
        self.history = [self.validate(encoder, head)]
        for _ in range(options.epochs):
            encoder.train()
            order = random.permutation(self.split["train"])
            for start in range(0, len(order), options.batch_size):
                batch = order[start : start + options.batch_size]
                count = sum(int((self.labels[row] != NO_LABEL).sum()) for row in batch)
                encoder.zero_grad()
                optimiser.zero_grad()
                for first in range(0, len(batch), MICRO_BATCH):
                    vectors, labels = self.vectors(encoder, batch[first : first + MICRO_BATCH])
                    logits = head(dropout(vectors))
                    loss = nn.functional.cross_entropy(logits, labels, reduction="sum") / count
                    loss.backward()
                optimiser.step()
            self.history.append(self.validate(encoder, head))

    @torch.no_grad()
    def validate(self, encoder: nn.Module, head: nn.Module) -> float:
        """Return the macro F1 on the validation texts."""
        encoder.eval()
        gold, predicted = [], []
        for first in range(0, len(self.split["validation"]), MICRO_BATCH):
            rows = self.split["validation"][first : first + MICRO_BATCH]
            vectors, labels = self.vectors(encoder, rows)
            gold.append(labels.numpy())
            predicted.append(head(vectors).argmax(1).numpy())
        counts = ClassCounts.of(np.concatenate(gold), np.concatenate(predicted))
        return float(counts.macro_f1("union"))

    @torch.no_grad()
    def first_vectors(self, count: int) -> np.ndarray:
        """Return the vectors of the first texts, without dropout."""
        rows = np.arange(count)
        return self.vectors(self.encoder.eval(), rows)[0].numpy()


class Project:
    """Language identification of this project."""

    def __init__(self, folder: Path, unit: str, options: argparse.Namespace) -> None:
        self.folder, self.options = folder, options
        self.specification, self.seed = specification(options), options.seed
        self.history: list[float] = []

    def extract(self) -> None:
        """Encode all texts and keep their vectors."""
        extract_features(
            encoder=self.folder / "encoder",
            store=self.folder / "store",
            output=self.folder / "features",
        )

    def run(self) -> None:
        """Encode all texts and train the layer for all epochs."""
        self.extract()
        features = read_features(self.folder / "features")
        self.history = list(fit_probe(features, self.specification, self.seed).history.values())

    def first_vectors(self, count: int) -> np.ndarray:
        """Return the vectors of the first texts."""
        self.extract()
        features = read_features(self.folder / "features")
        return features.by_example.take(np.arange(count)).values.astype(np.float32)


def describe(folder: Path, unit: str, options: argparse.Namespace) -> None:
    store, encoder = load_arrays(folder / "store"), load_encoder(folder / "encoder")
    lengths = store.ragged("input_ids").lengths
    print(
        f"{unit}: CPU, {options.threads} threads; {options.layers} layers x {options.hidden}, "
        f"{sum(p.numel() for p in encoder.parameters()) / 1e6:.1f} M parameters; {len(lengths)} "
        f"texts of {lengths.min()} to {lengths.max()} subwords (mean {lengths.mean():.1f}) in "
        f"{options.languages} languages, {options.epochs} epochs, batches of {options.batch_size}",
        flush=True,
    )


def report_equal_vectors(contenders: dict[str, Any]) -> None:
    theirs, ours = (contender.first_vectors(40) for contender in contenders.values())
    difference = np.abs(theirs - ours).max()
    print(f"greatest difference between the vectors that both classify: {difference:.1e}")
    if theirs.shape != ours.shape or difference > 5e-3:  # ours are in fp16
        sys.exit("The two do not classify the same vectors.")


def report_speed(
    unit: str, times: dict[str, list[common.Seconds]], contenders: dict[str, Any]
) -> dict[str, Any]:
    for name, seconds in times.items():
        line = ", ".join(map(str, seconds))
        best = 100 * max(contenders[name].history)
        print(f"{name:>15}: wall (processor) s: {line}; best validation macro F1 {best:.1f}%")
    theirs, ours = times.values()
    ratios = {kind: common.ratio(theirs, ours, kind) for kind in common.Seconds._fields}
    print(
        f"ratio of wall time, median over {len(ours)} turns: {ratios['wall']:.1f} "
        f"(of processor time: {ratios['processor']:.1f})",
        flush=True,
    )
    return {
        "unit": unit,
        "ratio": ratios,
        "seconds": {name: [time.wall for time in seconds] for name, seconds in times.items()},
        "validation": {name: contender.history for name, contender in contenders.items()},
    }


if __name__ == "__main__":
    main()
