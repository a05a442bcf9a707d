"""Vocabulary extension: more wordpieces for one language (Wang et al. 2020, EmBERT).

Old wordpieces keep their ids and embeddings, all weights their bits; new wordpieces follow. As
WordPiece takes the longest match, a new wordpiece changes the split of every text in which it
matches, whatever the language.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

from mbert_atlas.config.training import Extension
from mbert_atlas.encoders.folders import require_encoder
from mbert_atlas.encoders.loading import copy_tokenizer, load_tokenizer
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, count_words, learn_wordpieces
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_json, write_json
from mbert_atlas.randomness import derive_seed

_logger = logging.getLogger(__name__)
_EMBEDDINGS = "embeddings.word_embeddings.weight"
_OUTPUT_EMBEDDINGS = "cls.predictions.decoder.weight"
_OUTPUT_BIASES = ("cls.predictions.bias", "cls.predictions.decoder.bias")


def extend_vocabulary(
    specification: Extension, encoder: Path, texts: Iterable[str], output: Path, *, seed: int
) -> dict[str, int]:
    """Learn wordpieces from texts and append those that an encoder's vocabulary lacks.

    The encoder has a WordPiece tokenizer, with a language-model head or without. The output has all
    its weights, with new rows after the old ones of the embeddings (and of the head), to be
    pretrained further; the seed is that of random rows. Texts are read once.

    Returns:
        Counts: ``learnt`` wordpieces (without special tokens), ``known`` of them, ``added``;
        ``words`` of the texts, and their wordpieces ``pieces_before`` and ``pieces_after``.

    Raises a DataError if the encoder cannot be extended or the texts have no new wordpiece; an
    AtlasError if there is no text or its alphabet does not fit ``vocabulary_size``.
    """
    require_encoder(encoder)
    tokenizer = _read_tokenizer(encoder)
    old: dict[str, int] = tokenizer["model"]["vocab"]
    weights = load_file(encoder / "model.safetensors")
    embeddings = _embeddings(weights, old, encoder)
    lowercase = bool((tokenizer.get("normalizer") or {}).get("lowercase", False))
    words = count_words(islice(texts, specification.texts), lowercase=lowercase)
    limits = specification.vocabulary_size, specification.alphabet_size
    learnt = learn_wordpieces(words, *limits)[len(SPECIAL_TOKENS) :]
    counts = count_wordpieces(words, learnt)
    lacking = sorted(set(learnt) - set(old), key=lambda name: (-counts[name], name))
    added = lacking[: specification.pieces]
    if not added:
        problem, fix = "the texts have no new wordpiece", "take more or other texts"
        raise DataError(encoder, "tokenizer.json", problem, fix)
    vocabulary = old | {wordpiece: number for number, wordpiece in enumerate(added, len(old))}
    new = _new_rows(specification, encoder, embeddings, added, old, seed)
    extended = {name: _extend(name, tensor, new) for name, tensor in weights.items()}
    tokenizer["model"]["vocab"] = vocabulary
    with atomic_directory(output) as folder:
        save_file(extended, folder / "model.safetensors", metadata={"format": "pt"})
        config = read_json(encoder / "config.json") | {"vocab_size": len(vocabulary)}
        write_json(config, folder / "config.json")
        _write_tokenizer(tokenizer, encoder, folder)
    load_tokenizer(output)  # fails here if it cannot be opened
    result = {
        "learnt": len(learnt),
        "known": len(learnt) - len(lacking),
        "added": len(added),
        "words": words.total(),
        "pieces_before": count_wordpieces(words, old).total(),
        "pieces_after": count_wordpieces(words, vocabulary).total(),
    }
    _logger.info("%s: %s", output, result)
    return result


def _embeddings(
    weights: Mapping[str, torch.Tensor], vocabulary: Mapping[str, int], encoder: Path
) -> torch.Tensor:
    """Return the embeddings, one row for each wordpiece."""
    tensors = [tensor for name, tensor in weights.items() if name.endswith(_EMBEDDINGS)]
    if len(tensors) != 1:
        problem, fix = f"there is no weight {_EMBEDDINGS}", "take an encoder of BERT's architecture"
        raise DataError(encoder / "model.safetensors", "", problem, fix)
    last, rows = max(vocabulary.values()), len(tensors[0])
    if {len(vocabulary), rows} != {last + 1}:
        problem = f"{len(vocabulary)} wordpieces with ids up to {last} for {rows} rows"
        fix = "take an encoder with a wordpiece for each row of its embeddings"
        raise DataError(encoder, "tokenizer.json", problem, fix)
    return tensors[0]


def count_wordpieces(words: Mapping[str, int], vocabulary: Iterable[str]) -> Counter[str]:
    """Count the wordpieces of counted words under a vocabulary."""
    numbers = {wordpiece: number for number, wordpiece in enumerate(dict.fromkeys(vocabulary))}
    numbers.setdefault("[UNK]", len(numbers))
    model = models.WordPiece(numbers, unk_token="[UNK]")
    counts: Counter[str] = Counter()
    for word, times in words.items():
        for token in model.tokenize(word):
            counts[token.value] += times
    return counts


def spell(wordpiece: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Split a new wordpiece into the longest old ones; return their ids, or none if that fails.

    A wordpiece that continues a word (``##``) is split into such ones only.
    """
    text = wordpiece.removeprefix("##")
    prefix = "##" if text != wordpiece else ""
    ids: list[int] = []
    start = 0
    while start < len(text):
        for end in range(len(text), start, -1):
            number = vocabulary.get(prefix + text[start:end])
            if number is not None:
                break
        else:
            return []
        ids.append(number)
        prefix, start = "##", end
    return ids


def _new_rows(
    specification: Extension,
    encoder: Path,
    embeddings: torch.Tensor,
    added: Sequence[str],
    old: Mapping[str, int],
    seed: int,
) -> torch.Tensor:
    """Return the embeddings of the new wordpieces, shape ``(added, dims)``, dtype of the old."""
    stddev = float(read_json(encoder / "config.json").get("initializer_range", 0.02))
    random = torch.Generator().manual_seed(derive_seed(seed, "extension"))
    rows = stddev * torch.randn((len(added), embeddings.shape[1]), generator=random)
    if specification.rows == "pieces":
        for row, wordpiece in enumerate(added):
            if ids := spell(wordpiece, old):
                rows[row] = embeddings[ids].float().mean(0)
    return rows.to(embeddings.dtype)


def _extend(name: str, tensor: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    if name.endswith(_EMBEDDINGS) or name == _OUTPUT_EMBEDDINGS:
        return torch.cat([tensor, rows.to(tensor.dtype)])
    if name in _OUTPUT_BIASES:
        return torch.cat([tensor, tensor.new_zeros(len(rows))])
    return tensor


def _read_tokenizer(encoder: Path) -> dict[str, Any]:
    tokenizer: dict[str, Any] = read_json(encoder / "tokenizer.json")
    kind = tokenizer["model"].get("type")
    if kind != "WordPiece":
        problem, fix = f"{kind} is not WordPiece", "take an encoder with BERT's tokenizer"
        raise DataError(encoder / "tokenizer.json", "key model.type", problem, fix)
    return tokenizer


def _write_tokenizer(tokenizer: dict[str, Any], encoder: Path, folder: Path) -> None:
    copy_tokenizer(encoder, folder)
    Tokenizer.from_str(json.dumps(tokenizer)).save(str(folder / "tokenizer.json"))
    vocabulary = tokenizer["model"]["vocab"]
    wordpieces = sorted(vocabulary, key=vocabulary.__getitem__)
    (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in wordpieces), "utf-8")
