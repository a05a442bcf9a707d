"""Retrieval of translations, and language identification, from an encoder's vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from multilinguality import measure_multilinguality, precision_at_one
from safetensors.torch import load_file, save_file
from tiny_models import make_encoder

from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer

ROOT = Path(__file__).parents[2]
WORDS = [f"w{number}" for number in range(30)]


def test_precision_looks_for_the_nearest_after_centring():
    queries = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, -1.0]]) + 50
    candidates = np.array([[5.0, 1.0], [1.0, 5.0], [3.0, 3.0]])
    right = np.eye(3, dtype=bool)
    assert precision_at_one(queries, candidates, right) == pytest.approx(2 / 3)
    right[2, 0] = True  # two translations
    assert precision_at_one(queries, candidates, right) == 1.0


@pytest.fixture
def world(tmp_path):
    """A random encoder, and 40 sentences whose words have a partner in another language."""
    vocabulary = [*SPECIAL_TOKENS, *WORDS, *(f"r{word}" for word in WORDS), "ident", "##ical"]
    write_tokenizer(vocabulary, tmp_path / "tokenizer")
    encoder = make_encoder(tmp_path, tmp_path / "tokenizer", vocabulary=len(vocabulary))
    random, gold = np.random.default_rng(0), tmp_path / "ru" / "test.tsv"
    gold.parent.mkdir()
    rows = []
    for _ in range(40):
        words = list(random.choice(WORDS, 5, replace=False))
        # A word that is spelt alike, and one with two partners: neither counts.
        other = [*(f"r{word}" for word in words), "identical", "rw1"]
        links = [*(f"{place}-{place}" for place in range(6)), "6-0", "6-6"]
        rows.append(" ".join([*words, "identical", "w2\t"]) + " ".join(other))
        rows[-1] += "\t" + " ".join(links)
    gold.write_text("\n".join(rows) + "\n")
    return encoder, gold


def by_measure(encoder, gold, dictionaries=None):
    scores = measure_multilinguality(encoder, {"ru": read_gold(gold, "xlwa")}, dictionaries)
    return {
        (score.measure, score.language, score.layer): (score.value, score.chance)
        for score in scores
    }


def test_an_encoder_finds_translations_where_their_embeddings_are_alike(world):
    encoder, gold = world
    path = encoder / "model.safetensors"
    random = by_measure(encoder, gold)
    assert len(random) == 3 * (1 + 1 + 2)  # English is identified, too
    assert random["words", "ru", 0][0] < 0.3
    assert random["words", "ru", 0][1] == pytest.approx(1 / 30)
    assert random["sentences", "ru", 2][1] == 1 / 40
    assert random["languages", "en", 0] == (1.0, 0.5)
    weights = load_file(path)
    words = weights["embeddings.word_embeddings.weight"]
    words[35:65] = words[5:35] + 0.001 * torch.randn(30, words.shape[1])
    save_file(weights, path, metadata={"format": "pt"})
    alike = by_measure(encoder, gold)
    assert min(alike["words", "ru", layer][0] for layer in range(3)) > 0.9
    assert min(alike["sentences", "ru", layer][0] for layer in range(3)) > 0.9


def test_words_of_a_dictionary_are_compared_among_themselves(world):
    encoder, gold = world
    weights = load_file(encoder / "model.safetensors")
    words = weights["embeddings.word_embeddings.weight"]
    words[35:45] = words[5:15] + 0.001 * torch.randn(10, words.shape[1])
    save_file(weights, encoder / "model.safetensors", metadata={"format": "pt"})
    listed = {(word.lower(), f"r{word.lower()}") for word in WORDS[:10]}
    found = by_measure(encoder, gold, {"ru": listed | {("absent", "rabsent")}})
    assert found["dictionary", "ru", 0] == (1.0, pytest.approx(1 / 10))
    assert found["words", "ru", 0][0] < 0.6
