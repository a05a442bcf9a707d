"""How much faster does a BERT learn from texts here than in transformers' Trainer? One run.

Masked language modelling of the same texts by the same small BERT: our loop on packed rows, with
logits at masked tokens only; and transformers' Trainer with its data collator, one text an example,
padded to the longest of a random batch, logits everywhere. Subwords of texts are counted, neither
padding nor special tokens. The loss of a batch with the same masks is compared.

    python benchmarks/pretraining.py [--texts 3000] [--threads 2]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import common
import numpy as np
import torch
from transformers import (
    BertForMaskedLM,
    BertForPreTraining,
    BertTokenizerFast,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.config.training import Optimisation
from mbert_atlas.training.loop import train
from mbert_atlas.training.pretraining import MaskedExamples, MaskedLanguageModel

VOCABULARY, WINDOW, MASKED, ROWS = 8000, 128, 0.15, 32
CONFIG = common.bert_config(4, 256, VOCABULARY, max_position_embeddings=WINDOW)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=3000)
    parser.add_argument("--threads", type=int, default=2)
    options = common.parse(parser, texts=40, threads=1)
    torch.set_num_threads(options.threads)
    random = np.random.default_rng(0)
    # Paragraphs of Wikipedia: most are short, some long.
    lengths = common.text_lengths(random, 40, options.texts, 4, WINDOW - 2, spread=0.8)
    texts = [random.integers(5, VOCABULARY, n).tolist() for n in lengths]
    print(f"{lengths.sum()} subwords of {len(texts)} texts, {options.threads} threads")
    ours, theirs = packed(texts), line_by_line(texts)
    print(f"  mbert_atlas            {ours:8.0f} subwords per second")
    print(f"  transformers' Trainer  {theirs:8.0f} subwords per second: {ours / theirs:.2f} times")
    compare_losses(texts)


def packed(texts: list[list[int]]) -> float:
    """Return how many subwords a second our loop learns from."""
    flat = np.concatenate(texts)
    parts = np.array_split(flat, -(-len(flat) // (WINDOW - 2)))
    rows = Ragged.from_rows([[2, *part, 3] for part in parts], np.int32)
    examples = MaskedExamples(TokenStore({"input_ids": rows}, {}), MASKED, 0)
    optimisation = Optimisation(learning_rate=1e-4, batch_size=ROWS, epochs=1, clip_norm=1.0)
    spent, _ = common.timed(
        lambda: train(
            BertForPreTraining(CONFIG),
            examples,
            MaskedLanguageModel(4, VOCABULARY),
            optimisation,
            seed=1,
            state_dir=None,
            description="pretraining",
        )
    )
    return len(flat) / spent.wall


def line_by_line(texts: list[list[int]]) -> float:
    """Return how many subwords a second transformers' Trainer learns from."""
    with tempfile.TemporaryDirectory() as folder:
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        names += [f"p{number}" for number in range(5, VOCABULARY)]
        (Path(folder) / "vocab.txt").write_text("\n".join(names))
        tokenizer = BertTokenizerFast(str(Path(folder) / "vocab.txt"))
        trainer = Trainer(
            BertForMaskedLM(CONFIG),
            TrainingArguments(
                folder,
                per_device_train_batch_size=ROWS,
                num_train_epochs=1,
                learning_rate=1e-4,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
                disable_tqdm=True,
                use_cpu=True,
            ),
            DataCollatorForLanguageModeling(tokenizer, mlm_probability=MASKED),
            [{"input_ids": [2, *text, 3]} for text in texts],
        )
        return sum(map(len, texts)) / common.timed(trainer.train)[0].wall


def compare_losses(texts: list[list[int]]) -> None:
    """Print the loss of the same rows with the same masks, here and in transformers."""
    rows = Ragged.from_rows([[2, *text, 3] for text in texts[:ROWS]], np.int32)
    examples = MaskedExamples(TokenStore({"input_ids": rows}, {}), MASKED, 0)
    torch.manual_seed(0)
    model, other = BertForPreTraining(CONFIG).eval(), BertForMaskedLM(CONFIG).eval()
    other.load_state_dict(model.state_dict(), strict=False)
    objective, batch = MaskedLanguageModel(4, VOCABULARY), examples.collate(np.arange(ROWS))
    torch.manual_seed(1)
    with torch.no_grad():
        ours = float(objective.loss(model, batch, objective.weight(batch)))
        torch.manual_seed(1)
        positions, inputs = objective.mask(batch)
        labels = torch.full_like(inputs, -100)
        labels.view(-1)[positions] = batch["input_ids"].view(-1)[positions]
        theirs = float(other(inputs, attention_mask=batch["attention_mask"], labels=labels).loss)
    print(f"  loss of a batch with the same masks: {ours:.6f} and {theirs:.6f}")


if __name__ == "__main__":
    main()
