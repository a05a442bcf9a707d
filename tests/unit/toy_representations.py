"""Toy encoders and token stores for the tests of adjustment, representations and analysis."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from mbert_atlas.arrays import Ragged, save_arrays
from mbert_atlas.config.training import Adjustment

PAD, UNK, CLS, SEP, MASK = range(5)
WORDS = 40  # concepts; English word k has id 5 + k, its translation 5 + WORDS + k
SUFFIX = 5 + 2 * WORDS  # a continuation subword that either language may add
VOCABULARY = SUFFIX + 1
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMES += [f"en{k}" for k in range(WORDS)] + [f"xx{k}" for k in range(WORDS)] + ["##s"]


def _tokenizer() -> str:
    vocabulary = {name: number for number, name in enumerate(NAMES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return str(tokenizer.to_str())


def toy_tokenizer_digest() -> str:
    """Return what stores of the toy tokenizer say of it."""
    return hashlib.sha256(_tokenizer().encode()).hexdigest()


def toy_encoder(folder: Path, *, seed: int = 0, layers: int = 2, dims: int = 16) -> Path:
    """Write a random BERT with a word-level vocabulary as an encoder folder."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertModel(
            BertConfig(
                vocab_size=VOCABULARY,
                hidden_size=dims,
                num_hidden_layers=layers,
                num_attention_heads=2,
                intermediate_size=2 * dims,
                max_position_embeddings=64,
                initializer_range=0.5,
            )
        )
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(NAMES) + "\n")
    (folder / "tokenizer.json").write_text(_tokenizer())
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
    settings |= {"unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def toy_pairs(folder: Path, *, sentences: int = 40, seed: int = 0, without: int = 0) -> Path:
    """Write a store of sentence pairs whose word order is reversed and whose links are known.

    Some words have a second subword; the last ``without`` sentences have no word pair.
    """
    random = np.random.default_rng(seed)
    arrays: dict[str, list[list[int]]] = {
        f"{side}_{name}": []
        for side in ("source", "target")
        for name in ("ids", "word_start", "word_end", "pairs")
    }
    for number in range(sentences):
        concepts = random.choice(WORDS, size=int(random.integers(2, 9)), replace=False)
        for side, order, base in (("source", concepts, 5), ("target", concepts[::-1], 5 + WORDS)):
            ids, starts, ends = [CLS], [], []
            for concept in order:
                starts.append(len(ids))
                ids += [base + int(concept)] + [SUFFIX] * int(random.integers(0, 3))
                ends.append(len(ids))
            arrays[f"{side}_ids"].append([*ids, SEP])
            arrays[f"{side}_word_start"].append(starts)
            arrays[f"{side}_word_end"].append(ends)
        linked = sorted(random.choice(len(concepts), size=max(1, len(concepts) - 1), replace=False))
        if number >= sentences - without:
            linked = []
        arrays["source_pairs"].append([int(word) for word in linked])
        arrays["target_pairs"].append([len(concepts) - 1 - int(word) for word in linked])
    packed = {name: Ragged.from_rows(rows, np.int32) for name, rows in arrays.items()}
    save_arrays(folder, packed, {"tokenizer_sha256": toy_tokenizer_digest()})
    return folder


def corrected_adjustment(**changes: Any) -> Adjustment:
    """Return what Eq. 1 asks, as the config has it under `corrected`."""
    authors = Adjustment().optimisation.model_dump()
    corrected: dict[str, Any] = {
        "reduction": "sum",
        "sample_order": "filter_then_sample",
        "dropout_in_training": False,
        "optimisation": {**authors, "order": "bucketed", "precision": "auto"},
    }
    return Adjustment.model_validate(corrected | changes)
