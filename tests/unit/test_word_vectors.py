"""Vectors of word types: means over subwords, then over contexts; of static vectors, too."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from tiny_models import make_encoder, make_tokenizer

from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.representations.static_word_vectors import static_word_vectors
from mbert_atlas.representations.word_contexts import find_word_contexts
from mbert_atlas.representations.word_vectors import word_vectors
from mbert_atlas.schemas import DICTIONARY
from mbert_atlas.tokenizer import open_tokenizer, tokenizer_digest

WORDS = ["cat", "unables", "the", "dogs"]
TEXTS = ["the cat sees a dog", "unables, the cat", "a cat", "the unables sees b", "b a b"]


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "dictionary.parquet"
    write_parquet(pa.table([WORDS, [word.upper() for word in WORDS]], schema=DICTIONARY), path)
    return path


def test_means_over_subwords_and_contexts(
    tmp_path: Path, dictionary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mbert_atlas.encoders.hidden_states.fitting_tokens", lambda device: 16)
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    write_parquet(pa.table({"text": TEXTS}), tmp_path / "texts.parquet")
    find_word_contexts(
        dictionaries=[dictionary],
        side="source",
        language="en",
        texts=tmp_path / "texts.parquet",
        tokenizer_dir=encoder,
        output=tmp_path / "contexts",
    )
    store, output = tmp_path / "contexts", tmp_path / "vectors"
    word_vectors(encoder=encoder, store=store, output=output)
    found = load_arrays(output)
    vectors = found.dense("vectors")
    assert (vectors.shape, vectors.dtype) == ((3, 4, 16), np.float32)
    assert found.dense("words").tolist() == WORDS
    # By hand: encode each text by itself, and look for the subwords of the word in it.
    model, tokenizer = load_encoder(encoder).eval(), open_tokenizer(encoder)

    def occurrence(word: str, text: str) -> np.ndarray:
        subwords = tokenizer.encode(word, add_special_tokens=False).ids
        ids = tokenizer.encode(text).ids
        starts = [n for n in range(len(ids)) if ids[n : n + len(subwords)] == subwords]
        with torch.inference_mode():
            states = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
        return np.stack(
            [s[0, starts[0] : starts[0] + len(subwords)].mean(0).numpy() for s in states]
        )

    for place, word in enumerate(WORDS):
        having = [text for text in TEXTS if word in text] or [word]
        expected = np.mean([occurrence(word, text) for text in having], axis=0)
        np.testing.assert_allclose(vectors[:, place], expected, atol=1e-5)
    (tmp_path / "contexts/meta.json").write_text('{"arrays": [], "tokenizer": "other"}')
    with pytest.raises(DataError, match="not made with the tokenizer"):
        word_vectors(encoder=encoder, store=store, output=output)


def test_static_vectors_of_subwords(tmp_path: Path, dictionary: Path) -> None:
    folder = make_tokenizer(tmp_path)
    tokenizer = open_tokenizer(folder)
    table = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 6))
    table = table.astype(np.float32)
    meta = {"tokenizer": tokenizer_digest(folder)}
    save_arrays(tmp_path / "static", {"vectors": table}, meta)
    options = {"tokenizer_dir": folder, "dictionaries": [dictionary], "language": "de"}
    options |= {"static": tmp_path / "static", "output": tmp_path / "words"}
    static_word_vectors(side="source", **options)
    found = load_arrays(tmp_path / "words")
    assert found.dense("words").tolist() == WORDS
    un, able, s, dog = (table[tokenizer.token_to_id(p)] for p in ("un", "##able", "##s", "dog"))
    assert found.dense("vectors").shape == (1, 4, 6)
    np.testing.assert_allclose(found.dense("vectors")[0, 1], (un + able + s) / 3, rtol=1e-6)
    np.testing.assert_allclose(found.dense("vectors")[0, 3], (dog + s) / 2, rtol=1e-6)
    static_word_vectors(side="target", **options)
    assert (load_arrays(tmp_path / "words").dense("vectors")[0] == table[1]).all()  # all [UNK]
    save_arrays(tmp_path / "static", {"vectors": table}, {"tokenizer": "other"})
    with pytest.raises(DataError, match="not made with the tokenizer"):
        static_word_vectors(side="source", **options)
