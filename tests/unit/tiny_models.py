"""A tiny vocabulary, encoder and data for the tests of encoders, tasks and training."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.loading import save_encoder
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.encoding import encode
from mbert_atlas.schemas import LID_EXAMPLES, NLI_PAIRS, SENTENCES
from mbert_atlas.training.finetune import finetune
from mbert_atlas.training.job import FinetuningJob
from mbert_atlas.training.method import Method, TrainingLog

torch.set_num_threads(1)  # for models this small, more threads only wait for each other

WORDS = ["the", "cat", "dog", "sees", "un", "##able", "##s", "-", ",", "a", "b", "你", "好", "##x"]
NLI_LABELS = ["contradiction", "entailment", "neutral"]
TAGS = ["DET", "NOUN", "PUNCT", "VERB"]
VOCABULARY = len(SPECIAL_TOKENS) + len(WORDS)


def make_tokenizer(folder: Path) -> Path:
    write_tokenizer([*SPECIAL_TOKENS, *WORDS], folder / "tokenizer")
    return folder / "tokenizer"


def make_config(vocabulary: int = VOCABULARY, dropout: float = 0.1) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


def make_encoder(
    folder: Path, tokenizer: Path, dropout: float = 0.1, vocabulary: int = VOCABULARY
) -> Path:
    torch.manual_seed(0)
    save_encoder(BertModel(make_config(vocabulary, dropout)), tokenizer, folder / "encoder")
    return folder / "encoder"


def nli_table(count: int, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    plain = [word for word in WORDS if not word.startswith("##")]

    def texts() -> list[str]:
        return [" ".join(random.choice(plain, random.integers(1, 9))) for _ in range(count)]

    return pa.table(
        {
            "id": [f"pair{number}" for number in range(count)],
            "language": ["en" if number % 2 else "de" for number in range(count)],
            "split": ["train"] * count,
            "premise": texts(),
            "hypothesis": texts(),
            "label": list(random.choice(NLI_LABELS, count)),
            "genre": [None] * count,
        },
        schema=NLI_PAIRS,
    )


def text_table(texts: list[str], languages: list[str]) -> pa.Table:
    ids = [str(number) for number in range(len(texts))]
    return pa.table([ids, languages, ["train"] * len(ids), texts], schema=LID_EXAMPLES)


def sentence_table(
    sentences: list[list[str]],
    tags: list[list[str]],
    heads: list[list[int]] | None = None,
    relations: list[list[str]] | None = None,
) -> pa.Table:
    count = len(sentences)
    return pa.table(
        {
            "id": [f"s{number}" for number in range(count)],
            "language": ["en"] * count,
            "treebank": ["Tiny"] * count,
            "split": ["train"] * count,
            "text": [" ".join(words) for words in sentences],
            "forms": sentences,
            "upos": tags,
            "heads": heads or [[0] * len(words) for words in sentences],
            "deprels": relations or [["root"] * len(words) for words in sentences],
        },
        schema=SENTENCES,
    )


def finetuning_job(
    folder: Path, task: str, train: str, name: str = "", **changes: Any
) -> dict[str, Any]:
    """Return a job that trains on and predicts a store, and writes to the subfolder ``name``."""
    return {
        "task": task,
        "encoder": folder / "encoder",
        "train": folder / train,
        "evaluate": {"test": folder / train},
        "seed": 1,
        "output_model": folder / name / "model",
        "output_predictions": folder / name / "predictions.parquet",
        "state_dir": folder / name / "state",
        **changes,
    }


def tagging_job(folder: Path) -> dict[str, Any]:
    """Return a fine-tuning job that learns its forty sentences by heart."""
    tokenizer = make_tokenizer(folder)
    sentences = [["the", "cat", "sees", "a", "dog", ","][: 2 + n % 5] for n in range(40)]
    tags = {"the": "DET", "a": "DET", "cat": "NOUN", "dog": "NOUN", "sees": "VERB", ",": "PUNCT"}
    table = sentence_table(sentences, [[tags[word] for word in words] for words in sentences])
    encode("tagging", table, tokenizer, folder / "train", labels=TAGS)
    make_encoder(folder, tokenizer)
    optimisation = Optimisation(learning_rate=5e-3, batch_size=8, epochs=12)
    own = {"evaluate": {"ud": folder / "train"}, "optimisation": optimisation}
    return finetuning_job(folder, "tagging", "train", **own)


def finetuned(job: Mapping[str, Any], *methods: Method, **changes: Any) -> TrainingLog:
    """Fine-tune, and delete the state, as Snakemake does once it has accepted the result."""
    whole = FinetuningJob(**{**job, **changes})
    log = finetune(whole, methods)
    if whole.state_dir.exists():
        shutil.rmtree(whole.state_dir)
    return log


def weights(model: nn.Module) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
