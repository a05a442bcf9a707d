"""A tiny vocabulary, encoder and data for the tests of encoders, tasks and training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import nn
from transformers import BertConfig, BertModel

from mbert_atlas.encoders.loading import save_encoder
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, tokenizer_from_vocabulary
from mbert_atlas.schemas import LID_EXAMPLES, NLI_PAIRS, SENTENCES

torch.set_num_threads(1)  # for models this small, more threads only wait for each other

WORDS = ["the", "cat", "dog", "sees", "un", "##able", "##s", "-", ",", "a", "b", "你", "好", "##x"]
NLI_LABELS = ["contradiction", "entailment", "neutral"]
TAGS = ["DET", "NOUN", "PUNCT", "VERB"]


def make_tokenizer(folder: Path) -> Path:
    vocabulary = folder / "vocabulary.txt"
    vocabulary.write_text("".join(f"{piece}\n" for piece in [*SPECIAL_TOKENS, *WORDS]), "utf-8")
    tokenizer_from_vocabulary(vocabulary, folder / "tokenizer")
    return folder / "tokenizer"


def make_encoder(
    folder: Path,
    tokenizer: Path,
    dropout: float = 0.1,
    vocabulary: int = len(SPECIAL_TOKENS) + len(WORDS),
) -> Path:
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )
    torch.manual_seed(0)
    save_encoder(BertModel(config), tokenizer, folder / "encoder")
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


def sentence_table(sentences: list[list[str]], tags: list[list[str]]) -> pa.Table:
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
            "heads": [[0] * len(words) for words in sentences],
            "deprels": [["root"] * len(words) for words in sentences],
        },
        schema=SENTENCES,
    )


def weights(model: nn.Module) -> bytes:
    return b"".join(tensor.numpy().tobytes() for tensor in model.state_dict().values())
