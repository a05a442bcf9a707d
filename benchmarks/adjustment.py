"""The adjustment step of this project against a straightforward implementation of it.

The baseline does, at every step, what comes to mind first: it tokenises each word on its own,
averages the pieces word by word in a loop, runs the original encoder beside the adjusted one, pads
to the longest sentence, and works through the batch by 4 sentence pairs. Both start from the same
random encoder and take the same sentence pairs of the miniature, in one run, taking turns. Printed
are sentence pairs per second, the ratio, and the loss of the same batch in both (without dropout,
fp32).

The ratio depends on the encoder's size: both must run the same encoder forwards and backwards over
both sides (6 parts of arithmetic; the baseline's second encoder makes it 7), so that only what is
beside the arithmetic can be saved, and from 4 layers of 256 on a CPU spends most of its time in it.
It depends on the protocol: ``published`` keeps the order of the sample, so that sentences of all
lengths meet, and has dropout, which costs both the same.
Also printed is the share of this project's steps that is forward and backward passes alone, over
the same number of pieces without padding: all that is left to save is the rest.
This project's tokenising and the original's English vectors come before the steps, once; their
time is shown apart, and a second ratio counts it in.

    python benchmarks/adjustment.py                          # the demo's encoder
    python benchmarks/adjustment.py --protocol published
    python benchmarks/adjustment.py --layers 4 --hidden 256 --threads 2
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
from transformers import BertConfig, BertModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mbert_atlas.alignment import align, encode_word_pairs, word_pairs
from mbert_atlas.batching import epoch_batches
from mbert_atlas.config.training import Adjustment
from mbert_atlas.corpora.bitext import BitextSource, read_bitext
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer, save_encoder
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.files import read_parquet
from mbert_atlas.miniature import MiniatureSizes, write_miniature
from mbert_atlas.papers import load
from mbert_atlas.schemas import BITEXT
from mbert_atlas.training.adjustment import (
    AdjustmentObjective,
    AlignedSentences,
    open_sample,
    sample_sentences,
    switch_off_dropout,
)
from mbert_atlas.training.loop import train
from mbert_atlas.training.method import Method
from mbert_atlas.training.word_pairs import open_pairs

MICRO_BATCH = 4


def main() -> None:
    options = parse()
    torch.set_num_threads(options.threads)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, options)
        specification = make_specification(options)
        ours = Project(folder, specification, options)
        theirs = Straightforward(folder, specification, options)
        describe(ours, options)
        report_equal_loss(theirs, ours, specification)
        contenders = {
            "straightforward": theirs,
            "this project": ours,
            "bare passes": BarePasses(ours),
        }
        for contender in contenders.values():
            contender.run(warm_up=True)
        times: dict[str, list[Seconds]] = {name: [] for name in contenders}
        for _ in range(options.repeats):
            for name, contender in contenders.items():
                times[name].append(contender.run())
        report_speed(times, ours.preparation, len(ours.examples))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--protocol", choices=["published", "corrected"], default="corrected")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--vocabulary", type=int, default=2_000)
    parser.add_argument("--language", default="hi")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--token-budget", type=int, default=8192)
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def make_specification(options: argparse.Namespace) -> Adjustment:
    """Return the asked protocol with the asked number of sentences and token budget."""
    own = getattr(load(root=Path(__file__).parents[1]).runs["adjusted"], options.protocol)
    budget = {"token_budget": options.token_budget}
    changes = {"optimisation": own.optimisation.model_copy(update=budget)}
    return own.model_copy(update={"sentences": options.sentences} | changes)


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Make the bitext of the miniature, its word pairs, a tokenizer and a random encoder."""
    sizes = dict.fromkeys(MiniatureSizes.model_fields, 4)
    sizes["bitext_sentences"] = 2 * options.sentences
    code = options.language
    write_miniature(
        folder / "miniature",
        languages=["en", code],
        seed=options.seed,
        sizes=MiniatureSizes(**sizes),
    )
    (path,) = (folder / "miniature/wikimatrix").iterdir()
    read_bitext(
        [BitextSource(path, "wikimatrix")],
        code,
        folder / "bitext",
        folder / "bitext.json",
        seed=options.seed,
    )
    align(folder / "bitext", folder / "links", threads=options.threads)
    word_pairs(
        *(folder / name for name in ("bitext", "links", "pairs", "heldout", "pairs.json")),
        held_out=0,
        seed=options.seed,
        language=code,
    )
    table = read_parquet(folder / "bitext", BITEXT)
    words = [row for side in ("source", "target") for row in table[f"{side}_tokens"].to_pylist()]
    train_wordpiece(map(" ".join, words), folder / "tokenizer", options.vocabulary)
    torch.manual_seed(options.seed)
    dropout = options.dropout if options.protocol == "published" else 0.0
    config = BertConfig(
        vocab_size=len(load_tokenizer(folder / "tokenizer")),
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=max(1, options.hidden // 64),
        intermediate_size=4 * options.hidden,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    save_encoder(BertModel(config), folder / "tokenizer", folder / "encoder")


class WordVectors(torch.nn.Module):
    """Sentences as lists of words in, one vector per word, [CLS] and [SEP] out."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder, self.tokenizer = load_encoder(folder), load_tokenizer(folder)

    def forward(self, sentences: list[list[str]]) -> list[torch.Tensor]:
        """Return a (words + 2, dims) tensor per sentence, [CLS] and [SEP] last."""
        rows, spans = [], []
        for words in sentences:
            ids, places = [self.tokenizer.cls_token_id], []
            for word in words:
                pieces = self.tokenizer.convert_tokens_to_ids(self.tokenizer.tokenize(word))
                places.append((len(ids), len(ids) + len(pieces)))
                ids += pieces
            rows.append([*ids, self.tokenizer.sep_token_id])
            spans.append([*places, (0, 1), (len(ids), len(ids) + 1)])
        longest = max(len(row) for row in rows)
        input_ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        hidden = self.encoder(input_ids=input_ids, attention_mask=mask).last_hidden_state
        return [
            torch.stack([hidden[row, start:end].mean(0) for start, end in places])
            for row, places in enumerate(spans)
        ]


class Straightforward:
    """The baseline: everything again at every step."""

    def __init__(
        self, folder: Path, specification: Adjustment, options: argparse.Namespace
    ) -> None:
        self.folder, self.options = folder, options
        self.optimisation, self.reduction = specification.optimisation, specification.reduction
        table = read_parquet(folder / "pairs").to_pylist()
        self.examples = [table[int(row)] for row in sampled(folder, specification, options.seed)]
        self.original = WordVectors(folder / "encoder").eval()

    def micro_batch_loss(self, model: WordVectors, rows: list[dict[str, Any]]) -> torch.Tensor:
        """Return the squared differences of pairs, and of English to the original.

        Means over pairs and dims (``published``), or sums, as Eq. 1 has it.
        """
        english = model([row["source_tokens"] for row in rows])
        other = model([row["target_tokens"] for row in rows])
        with torch.no_grad():
            before = self.original([row["source_tokens"] for row in rows])
        first, second = [], []
        for row, source, target in zip(rows, english, other, strict=True):
            for i, j in zip(row["source_index"], row["target_index"], strict=True):
                first.append(source[i])
                second.append(target[j])
            first += [source[-2], source[-1]]
            second += [target[-2], target[-1]]
        return sum(
            torch.nn.functional.mse_loss(one, other, reduction=self.reduction)
            for one, other in (
                (torch.stack(first), torch.stack(second)),
                (torch.cat(english), torch.cat(before)),
            )
        )

    def batch_loss(self, model: WordVectors, rows: list[dict[str, Any]], learn: bool) -> float:
        """Return the loss of a batch, with its gradients if the model is to learn."""
        total = 0.0
        for start in range(0, len(rows), MICRO_BATCH):
            loss = self.micro_batch_loss(model, rows[start : start + MICRO_BATCH])
            if self.reduction == "sum":
                loss = loss / len(rows)
            if learn:
                loss.backward()
            total += loss.item()
        return total

    def loss(self, count: int) -> float:
        """Return the loss of the first sentence pairs, not at the original but beside it."""
        model = WordVectors(self.folder / "encoder").eval()
        beside(model.encoder)
        with torch.no_grad():
            return self.batch_loss(model, self.examples[:count], learn=False)

    def run(self, warm_up: bool = False) -> Seconds:
        """Train for one epoch (on two batches to warm up); return the time of the steps."""
        size, model = self.optimisation.batch_size, WordVectors(self.folder / "encoder").train()
        optimiser = torch.optim.Adam(
            model.parameters(),
            lr=self.optimisation.learning_rate,
            betas=self.optimisation.betas,
            eps=self.optimisation.epsilon,
        )
        examples = self.examples[: 2 * size] if warm_up else self.examples

        def steps() -> None:
            for start in range(0, len(examples), size):
                self.batch_loss(model, examples[start : start + size], learn=True)
                optimiser.step()
                optimiser.zero_grad()

        return timed(steps)


class Project:
    """The adjustment of this project."""

    def __init__(
        self, folder: Path, specification: Adjustment, options: argparse.Namespace
    ) -> None:
        self.specification, self.options = specification, options

        def tokenise() -> None:
            encode_word_pairs(folder / "pairs", folder / "encoder", folder / "store")

        def reference() -> None:
            arguments = (folder / "store", specification, options.seed, folder / "encoder")
            sample = open_sample(*arguments, folder)
            self.model, self.examples = sample.model, sample.examples

        self.preparation = {
            "tokenising": timed(tokenise).wall,
            "vectors of the original": timed(reference).wall,
        }

    def loss(self, count: int) -> float:
        """Return the loss of the first sentence pairs, not at the original but beside it."""
        model, objective = copy.deepcopy(self.model).eval(), AdjustmentObjective(self.specification)
        beside(model)
        batch = self.examples.collate(np.arange(count))
        with torch.no_grad():
            return objective.loss(model, batch, objective.weight(batch)).item()

    def run(self, warm_up: bool = False) -> Seconds:
        """Train for one epoch (however short); return the time of the steps.

        That is from the first batch to the end of the epoch, without what the loop does once.
        """
        del warm_up
        clock = Clock(self.examples)
        train(
            copy.deepcopy(self.model),
            clock,
            AdjustmentObjective(self.specification),
            self.specification.optimisation,
            seed=self.options.seed,
            state_dir=None,
            description="this project",
            methods=[clock],
        )
        return clock.seconds


class BarePasses:
    """Forward and backward passes of the same steps, each over rows of equal length."""

    def __init__(self, ours: Project) -> None:
        self.model, settings = copy.deepcopy(ours.model).train(), ours.specification.optimisation
        if not ours.specification.dropout_in_training:
            switch_off_dropout(self.model)
        sides = (ours.examples.source_ids.lengths, ours.examples.target_ids.lengths)
        self.batches = []
        for rows in epoch_batches(
            ours.examples.lengths, settings.batch_size, settings.order, ours.options.seed, 0
        ):
            length = round(sum(lengths[rows].sum() for lengths in sides) / (2 * len(rows)))
            shape = (2 * len(rows), length)
            self.batches.append(torch.randint(5, ours.model.config.vocab_size, shape))

    def run(self, warm_up: bool = False) -> Seconds:
        """Take the passes of one epoch (of two steps to warm up); return their time."""
        return timed(lambda: self.passes(2 if warm_up else None))

    def passes(self, count: int | None) -> None:
        """Compute and drop the gradients of the first steps, or all."""
        for input_ids in self.batches[:count]:
            self.model(input_ids=input_ids).last_hidden_state.square().mean().backward()
            self.model.zero_grad()


class Clock(Method):
    """Examples that take the time from their first batch on."""

    def __init__(self, examples: AlignedSentences) -> None:
        self.examples, self.lengths = examples, examples.lengths
        self.begin: Seconds | None = None
        self.seconds = Seconds(0.0, 0.0)

    def collate(self, indices: np.ndarray) -> Any:
        """Return the batch."""
        self.begin = self.begin or now()
        return self.examples.collate(indices)

    def end_epoch(self, epoch: int, model: Any) -> None:
        """Take the time since the first batch."""
        end = now()
        self.seconds = Seconds(end.wall - self.begin.wall, end.processor - self.begin.processor)


def sampled(folder: Path, specification: Adjustment, seed: int) -> np.ndarray:
    """Return the rows that both train on, in order."""
    store, pairs = open_pairs(folder / "store")
    return sample_sentences(pairs, len(store.ragged("source_ids")), specification, seed)


def beside(encoder: torch.nn.Module) -> None:
    """Move an encoder a little, so that the regulariser is not zero."""
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.01 * torch.randn(parameter.shape, generator=random))


class Seconds(NamedTuple):
    """Wall and processor time of one run."""

    wall: float
    processor: float  # of all threads together; says more than the wall on a busy machine


def now() -> Seconds:
    return Seconds(time.perf_counter(), time.process_time())


def timed(action: Callable[[], Any]) -> Seconds:
    start = now()
    action()
    end = now()
    return Seconds(end.wall - start.wall, end.processor - start.processor)


def describe(ours: Project, options: argparse.Namespace) -> None:
    pieces = ours.examples.lengths / 2
    parameters = sum(p.numel() for p in ours.model.parameters()) / 1e6
    print(
        f"CPU, {options.threads} threads; {options.layers} layers x {options.hidden}, "
        f"{parameters:.1f} M parameters; {len(ours.examples)} sentence pairs "
        f"en-{options.language}, {ours.examples.pairs} word pairs, "
        f"{pieces.mean():.1f} pieces in the longer sentence of a pair",
        flush=True,
    )


def report_equal_loss(theirs: Straightforward, ours: Project, specification: Adjustment) -> None:
    count = specification.optimisation.batch_size
    losses = theirs.loss(count), ours.loss(count)
    difference = abs(losses[0] - losses[1]) / losses[0]
    print(
        f"loss of the same batch: straightforward {losses[0]:.7f}, this project {losses[1]:.7f}; "
        f"relative difference {difference:.1e}",
        flush=True,
    )
    if difference > 1e-4:
        sys.exit("The two do not compute the same loss.")


def report_speed(
    times: dict[str, list[Seconds]], preparation: dict[str, float], pairs: int
) -> None:
    for name, seconds in times.items():
        middle = statistics.median(time.wall for time in seconds)
        shown = ", ".join(f"{time.wall:.2f} ({time.processor:.2f})" for time in seconds)
        print(f"{name:>15}: {pairs / middle:8.1f} sentence pairs/s; wall (processor) s: {shown}")
    shown = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in preparation.items())
    print(f"once, before the steps of this project: {shown}")
    steps = zip(times["bare passes"], times["this project"], strict=True)
    share = statistics.median(bare.processor / ours.processor for bare, ours in steps)
    print(f"share of this project's processor time that is bare passes: {share:.2f}")
    turns = list(zip(times["straightforward"], times["this project"], strict=True))
    once = sum(preparation.values())
    for title, ratios in {
        "sentence pairs per second of the steps": [a.wall / b.wall for a, b in turns],
        "processor time of the steps": [a.processor / b.processor for a, b in turns],
        "sentence pairs per second, preparation counted in": [
            a.wall / (b.wall + once) for a, b in turns
        ],
    }.items():
        print(f"ratio, {title}: {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
