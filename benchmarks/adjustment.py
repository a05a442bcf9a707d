"""The adjustment step of this project against a straightforward implementation of it.

At every step the baseline tokenises word by word, averages subwords in a loop, runs the original
encoder next to the adjusted one, pads to the longest sentence, and splits the batch into 4 sentence
pairs at a time. Both start from the same random encoder and train on the same synthetic sentence
pairs, taking turns. Printed are sentence pairs per second, the ratio, and the loss of the same
batch in both (without dropout, fp32).

The ratio depends on the size of the encoder: both have to run the same encoder forwards and
backwards over both sides (6 units of arithmetic; 7 with the baseline's second encoder), and from 4
layers of 256 on, a CPU spends most of its time there. It depends on the protocol: ``published``
keeps the order of the sample, so that batches mix sentences of all lengths, and uses dropout, which
costs both the same. Also printed is the fraction of this project's steps spent in bare forward and
backward passes, over the same number of subwords without padding: only the rest can be saved.
This project tokenises and computes the original's English vectors once, before the steps; a second
ratio includes that time.

    python benchmarks/adjustment.py                          # the demo's encoder
    python benchmarks/adjustment.py --protocol published
    python benchmarks/adjustment.py --layers 4 --hidden 256 --threads 2
"""

from __future__ import annotations

import argparse
import copy
import logging
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import common
import numpy as np
import torch
from transformers import BertModel

from mbert_atlas.alignment.bitext import align
from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs
from mbert_atlas.batching import epoch_batches
from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.config.training import Adjustment
from mbert_atlas.corpora import bitext
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer, save_encoder
from mbert_atlas.encoders.trimming import SomeWords
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.languages import Languages
from mbert_atlas.miniature.writing import write_miniature
from mbert_atlas.papers import load
from mbert_atlas.schemas import BITEXT
from mbert_atlas.training.adjustment import (
    AdjustmentObjective,
    open_sample,
    sample_sentences,
    switch_off_dropout,
)
from mbert_atlas.training.aligned_sentences import AlignedSentences
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
            "straightforward": theirs.run,
            "this project": ours.run,
            "bare passes": ours.bare_passes,
        }
        for run in contenders.values():
            run(warm_up=True)
        times = common.take_turns(contenders, options.repeats)
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
    smallest = {"sentences": 40, "hidden": 16, "layers": 1, "vocabulary": 200, "repeats": 1}
    return common.parse(parser, **smallest)


def make_specification(options: argparse.Namespace) -> Adjustment:
    """Return the protocol with the requested number of sentences and token budget."""
    published = getattr(load(root=common.ROOT).runs["adjusted"], options.protocol)
    budget = {"token_budget": options.token_budget}
    changes = {"optimisation": published.optimisation.model_copy(update=budget)}
    return published.model_copy(update={"sentences": options.sentences} | changes)


def prepare(folder: Path, options: argparse.Namespace) -> None:
    """Write a synthetic bitext, its word pairs, a tokenizer and a random encoder."""
    sizes = {name: 4 for name, field in MiniatureSizes.model_fields.items() if field.default > 1}
    sizes["bitext_sentences"] = 2 * options.sentences
    code = options.language
    write_miniature(
        folder / "miniature",
        languages=["en", code],
        seed=options.seed,
        sizes=MiniatureSizes(**sizes),
    )
    (path,) = (folder / "miniature/wikimatrix").iterdir()
    languages = Languages.read(common.ROOT / "resources/languages.csv")
    upstream = Upstream(languages[code], [CorpusFile(path, "wikimatrix")])
    section = {"limit": None, "seed": options.seed}
    bitext.read(ReadingJob([upstream], section, folder / "bitext", folder / "bitext.json"))
    align(folder / "bitext", folder / "links", threads=options.threads)
    files = folder / "bitext", folder / "links", folder / "pairs.json"
    pairs, _ = word_pairs(*files, held_out=0, seed=options.seed, language=code)
    write_parquet(pairs, folder / "pairs")
    table = read_parquet(folder / "bitext", BITEXT)
    words = [row for side in ("source", "target") for row in table[f"{side}_tokens"].to_pylist()]
    train_wordpiece(map(" ".join, words), folder / "tokenizer", options.vocabulary)
    torch.manual_seed(options.seed)
    dropout = options.dropout if options.protocol == "published" else 0.0
    config = common.bert_config(
        options.layers,
        options.hidden,
        len(load_tokenizer(folder / "tokenizer")),
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
                subwords = self.tokenizer.convert_tokens_to_ids(self.tokenizer.tokenize(word))
                places.append((len(ids), len(ids) + len(subwords)))
                ids += subwords
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
    """The baseline: recomputes everything at every step."""

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
        """Return the loss of the first sentence pairs at slightly different weights."""
        model = WordVectors(self.folder / "encoder").eval()
        perturb(model.encoder)
        with torch.no_grad():
            return self.batch_loss(model, self.examples[:count], learn=False)

    def run(self, warm_up: bool = False) -> common.Seconds:
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

        return common.timed(steps)[0]


class Project:
    """The adjustment of this project."""

    def __init__(
        self, folder: Path, specification: Adjustment, options: argparse.Namespace
    ) -> None:
        self.specification, self.options = specification, options

        def tokenise() -> None:
            pairs = read_parquet(folder / "pairs")
            encode_word_pairs(pairs, folder / "encoder", folder / "store")

        def reference() -> None:
            arguments = (folder / "store", specification, options.seed, folder / "encoder")
            sample = open_sample(*arguments, folder)
            self.model, self.examples = sample.model, sample.examples

        self.preparation = {
            "tokenising": common.timed(tokenise)[0].wall,
            "vectors of the original": common.timed(reference)[0].wall,
        }

    def loss(self, count: int) -> float:
        """Return the loss of the first sentence pairs at slightly different weights."""
        model, objective = copy.deepcopy(self.model).eval(), AdjustmentObjective(self.specification)
        perturb(model)
        batch = self.examples.collate(np.arange(count))
        with torch.no_grad():
            return objective.loss(model, batch, objective.weight(batch)).item()

    def run(self, warm_up: bool = False) -> common.Seconds:
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

    def bare_passes(self, warm_up: bool = False) -> common.Seconds:
        """Take forward and backward passes of the same steps, over rows of equal length."""
        model, settings = copy.deepcopy(self.model).train(), self.specification.optimisation
        if not self.specification.dropout_in_training:
            switch_off_dropout(model)
        words = model.get_input_embeddings()
        ids = words.kept if isinstance(words, SomeWords) else torch.arange(words.num_embeddings)
        sides = (self.examples.source_ids.lengths, self.examples._target_ids.lengths)
        batches = []
        for rows in epoch_batches(
            self.examples.lengths, settings.batch_size, settings.order, self.options.seed, 0
        ):
            length = round(sum(lengths[rows].sum() for lengths in sides) / (2 * len(rows)))
            shape = (2 * len(rows), length)
            batches.append(ids[torch.randint(len(ids), shape)])

        def loss(model: Any, ids: torch.Tensor) -> torch.Tensor:
            return model(input_ids=ids).last_hidden_state.square().mean()

        some = batches[:2] if warm_up else batches
        return common.timed(lambda: common.passes(model, some, loss))[0]


class Clock(Method):
    """Examples that take the time from their first batch on."""

    def __init__(self, examples: AlignedSentences) -> None:
        self.examples, self.lengths = examples, examples.lengths
        self.begin: common.Seconds | None = None
        self.seconds = common.Seconds(0.0, 0.0)

    def collate(self, indices: np.ndarray) -> Any:
        """Return the batch."""
        self.begin = self.begin or common.now()
        return self.examples.collate(indices)

    def end_epoch(self, epoch: int, model: Any) -> None:
        """Take the time since the first batch."""
        self.seconds = common.now().since(self.begin)


def sampled(folder: Path, specification: Adjustment, seed: int) -> np.ndarray:
    """Return the rows that both train on, in order."""
    store, pairs = open_pairs(folder / "store")
    return sample_sentences(pairs, len(store.ragged("source_ids")), specification, seed)


def perturb(encoder: torch.nn.Module) -> None:
    """Change the weights a little, so that the regulariser is not zero.

    A subword's vector changes alike whether the encoder holds all of them or some.
    """
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        words = encoder.get_input_embeddings()
        for parameter in encoder.parameters():
            if isinstance(words, SomeWords) and parameter is words.weight:
                whole = torch.randn(len(words.places), words.embedding_dim, generator=random)
                noise = whole[words.kept]
            else:
                noise = torch.randn(parameter.shape, generator=random)
            parameter.add_(0.01 * noise)


def describe(ours: Project, options: argparse.Namespace) -> None:
    subwords = ours.examples.lengths / 2
    parameters = sum(p.numel() for p in ours.model.parameters()) / 1e6
    print(
        f"CPU, {options.threads} threads; {options.layers} layers x {options.hidden}, "
        f"{parameters:.1f} M parameters; {len(ours.examples)} sentence pairs "
        f"en-{options.language}, {ours.examples.pairs} word pairs, "
        f"{subwords.mean():.1f} subwords in the longer sentence of a pair",
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
    times: dict[str, list[common.Seconds]], preparation: dict[str, float], pairs: int
) -> None:
    for name, seconds in times.items():
        middle = median(time.wall for time in seconds)
        line = ", ".join(map(str, seconds))
        print(f"{name:>15}: {pairs / middle:8.1f} sentence pairs/s; wall (processor) s: {line}")
    once_by_name = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in preparation.items())
    print(f"once, before the steps of this project: {once_by_name}")
    theirs, ours = times["straightforward"], times["this project"]
    share = common.ratio(times["bare passes"], ours, "processor")
    print(f"bare passes as a fraction of this project's processor time: {share:.2f}")
    once = sum(preparation.values())
    whole = [time._replace(wall=time.wall + once) for time in ours]
    for title, ratio in {
        "sentence pairs per second of the steps": common.ratio(theirs, ours),
        "processor time of the steps": common.ratio(theirs, ours, "processor"),
        "sentence pairs per second, preparation included": common.ratio(theirs, whole),
    }.items():
        print(f"ratio, {title}: {ratio:.2f}")


if __name__ == "__main__":
    main()
