"""Vocabulary extension: more subwords for one language (Wang et al. 2020, EmBERT).

Old subwords keep their ids and embeddings, all weights their bits; new subwords follow. As
WordPiece takes the longest match, a new wordpiece changes the split of every text in which it
matches, whatever the language; :mod:`mbert_atlas.encoders.extended_unigram` has unigram models.
"""

import json
import logging
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

from mbert_atlas.config.training import Extension
from mbert_atlas.encoders.extended_unigram import NewSubwords, learn_new_unigrams
from mbert_atlas.encoders.folders import require_encoder, weight_files
from mbert_atlas.encoders.loading import copy_tokenizer, load_tokenizer
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, count_words, learn_wordpieces
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_json, write_json
from mbert_atlas.randomness import derive_seed

_logger = logging.getLogger(__name__)
_EMBEDDINGS = "embeddings.word_embeddings.weight"
_OUTPUT_EMBEDDINGS = ("cls.predictions.decoder.weight", "lm_head.decoder.weight")
_OUTPUT_BIASES = tuple(
    f"{head}.{name}" for head in ("cls.predictions", "lm_head") for name in ("bias", "decoder.bias")
)


def extend_vocabulary(
    specification: Extension, encoder: Path, texts: Iterable[str], output: Path, *, seed: int
) -> dict[str, int]:
    """Learn subwords from texts and append those that an encoder's vocabulary lacks.

    The encoder has a WordPiece or unigram tokenizer, with a language-model head or without. The
    output has all its weights, with new rows after the old ones of the embeddings (and of the
    head), to be pretrained further; the seed is that of random rows. Texts are read once.

    Returns:
        Counts: ``learnt`` subwords (without special tokens), ``known`` of them, ``added``;
        ``words`` of the texts, and their subwords ``pieces_before`` and ``pieces_after``. Of a
        unigram model those that are neither known nor added would change texts in other scripts.

    Raises a DataError if the encoder cannot be extended or the texts have no new subword; an
    AtlasError if there is no text or its alphabet does not fit ``vocabulary_size``.
    """
    require_encoder(encoder)
    tokenizer = read_json(encoder / "tokenizer.json")
    kind = tokenizer["model"].get("type")
    if kind not in _LEARN:
        problem = f"{kind} is not {' or '.join(_LEARN)}"
        raise DataError(encoder / "tokenizer.json", "key model.type", problem, "take another")
    weights = dict(ChainMap(*map(load_file, weight_files(encoder))))
    embeddings = _embeddings(weights, encoder)
    learnt = _LEARN[kind](specification, tokenizer, islice(texts, specification.texts))
    _check_rows(learnt, len(embeddings), kind, encoder)
    if not learnt.added:
        problem, fix = f"the texts have no new {_NAMES[kind]}", "take more or other texts"
        raise DataError(encoder, "tokenizer.json", problem, fix)
    new = _new_rows(specification, encoder, embeddings, learnt, seed)
    extended = {name: _extend(name, item, new, learnt.size) for name, item in weights.items()}
    with atomic_directory(output) as folder:
        save_file(extended, folder / "model.safetensors", metadata={"format": "pt"})
        config = read_json(encoder / "config.json")
        write_json(config | {"vocab_size": learnt.size + len(new)}, folder / "config.json")
        _write_tokenizer(learnt.tokenizer, encoder, folder)
    load_tokenizer(output)  # fails here if it cannot be opened
    result = {**learnt.counts, "added": len(learnt.added)}
    _logger.info("%s: %s", output, result)
    return result


def learn_new_wordpieces(
    specification: Extension, tokenizer: dict[str, Any], texts: Iterable[str]
) -> NewSubwords:
    """Learn wordpieces from texts; take the most frequent ones that a tokenizer lacks."""
    old: dict[str, int] = tokenizer["model"]["vocab"]
    lowercase = bool((tokenizer.get("normalizer") or {}).get("lowercase", False))
    words = count_words(texts, lowercase=lowercase)
    limits = specification.vocabulary_size, specification.alphabet_size
    learnt = learn_wordpieces(words, *limits)[len(SPECIAL_TOKENS) :]
    counts = count_wordpieces(words, learnt)
    lacking = sorted(set(learnt) - set(old), key=lambda name: (-counts[name], name))
    added = lacking[: specification.pieces]
    vocabulary = old | {wordpiece: number for number, wordpiece in enumerate(added, len(old))}
    tokenizer["model"]["vocab"] = vocabulary
    return NewSubwords(
        added=added,
        size=len(old),
        last=max(old.values()),
        tokenizer=tokenizer,
        spellings=[spell(wordpiece, old) for wordpiece in added],
        counts={
            "learnt": len(learnt),
            "known": len(learnt) - len(lacking),
            "words": words.total(),
            "pieces_before": count_wordpieces(words, old).total(),
            "pieces_after": count_wordpieces(words, vocabulary).total(),
        },
    )


_LEARN: Mapping[str, Any] = {"WordPiece": learn_new_wordpieces, "Unigram": learn_new_unigrams}
_NAMES = {"WordPiece": "wordpiece", "Unigram": "subword"}


def _embeddings(weights: Mapping[str, torch.Tensor], encoder: Path) -> torch.Tensor:
    """Return the embeddings, one row for each subword."""
    tensors = [tensor for name, tensor in weights.items() if name.endswith(_EMBEDDINGS)]
    if len(tensors) != 1:
        problem, fix = f"there is no weight {_EMBEDDINGS}", "take an encoder of BERT's architecture"
        raise DataError(encoder / "model.safetensors", "", problem, fix)
    return tensors[0]


def _check_rows(learnt: NewSubwords, rows: int, kind: str, encoder: Path) -> None:
    """Check that subwords and rows of the embeddings belong together.

    Encoders with XLM-R's vocabulary may have unused rows at the end, which new subwords take.
    """
    fits = rows >= learnt.size if kind == "Unigram" else rows == learnt.size
    if not fits or learnt.last != learnt.size - 1:
        problem = f"{learnt.size} {_NAMES[kind]}s with ids up to {learnt.last} for {rows} rows"
        fix = f"take an encoder with a {_NAMES[kind]} for each row of its embeddings"
        raise DataError(encoder, "tokenizer.json", problem, fix)


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
    learnt: NewSubwords,
    seed: int,
) -> torch.Tensor:
    """Return the embeddings of the new subwords, shape ``(added, dims)``, dtype of the old."""
    stddev = float(read_json(encoder / "config.json").get("initializer_range", 0.02))
    random = torch.Generator().manual_seed(derive_seed(seed, "extension"))
    rows = stddev * torch.randn((len(learnt.added), embeddings.shape[1]), generator=random)
    if specification.rows == "pieces":
        for row, ids in enumerate(learnt.spellings):
            if ids:
                rows[row] = embeddings[ids].float().mean(0)
    return rows.to(embeddings.dtype)


def _extend(name: str, tensor: torch.Tensor, rows: torch.Tensor, size: int) -> torch.Tensor:
    if name.endswith(_EMBEDDINGS) or name in _OUTPUT_EMBEDDINGS:
        return torch.cat([tensor[:size], rows.to(tensor.dtype)])
    if name in _OUTPUT_BIASES:
        return torch.cat([tensor[:size], tensor.new_zeros(len(rows))])
    return tensor


def _write_tokenizer(tokenizer: dict[str, Any], encoder: Path, folder: Path) -> None:
    copy_tokenizer(encoder, folder)
    (folder / "sentencepiece.bpe.model").unlink(missing_ok=True)  # it lacks the new subwords
    vocabulary, path = tokenizer["model"]["vocab"], folder / "tokenizer.json"
    if isinstance(vocabulary, dict):
        Tokenizer.from_str(json.dumps(tokenizer)).save(str(path))
        wordpieces = sorted(vocabulary, key=vocabulary.__getitem__)
        (folder / "vocab.txt").write_text("".join(f"{name}\n" for name in wordpieces), "utf-8")
    else:  # the library would round the old scores
        path.write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
