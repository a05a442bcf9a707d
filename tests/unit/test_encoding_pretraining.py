"""Texts to pretrain on: packed or not, by sentences, and by windows of other lengths."""

import logging
from pathlib import Path

import numpy as np
import pytest
from tiny_models import WORDS, make_tokenizer

from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.encoding import pretraining
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import DataError

TEXTS = {
    "en": ["the cat sees a dog", "a cat", "the dog sees", "a b"],
    "zh": ["你 好 你 好 你", "好"],
}


def rows(folder: Path, **options: object) -> list[list[str]]:
    tokenizer = make_tokenizer(folder)
    encode_texts(TEXTS, tokenizer, folder / "store", **options)  # type: ignore[arg-type]
    ids = load_arrays(folder / "store").ragged("input_ids")
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    return [[names[number] for number in ids[row]] for row in range(len(ids))]


def subwords_of(store: TokenStore) -> list[int]:
    """The subwords of each language that are not special ones at the ends of a row."""
    inside = store.ragged("input_ids").lengths - 2
    return np.bincount(store.dense("language"), weights=inside).astype(int).tolist()


def test_each_text_begins_a_row(tmp_path: Path) -> None:
    found = rows(tmp_path, max_length=5)
    assert found[:4] == [
        ["[CLS]", "the", "cat", "sees", "[SEP]"],
        ["[CLS]", "a", "dog", "[SEP]"],
        ["[CLS]", "a", "cat", "[SEP]"],
        ["[CLS]", "the", "dog", "sees", "[SEP]"],
    ]


def test_a_language_without_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="language de: there is no text"):
        encode_texts({"de": [""]}, make_tokenizer(tmp_path), tmp_path / "s", max_length=8)


def test_packed_rows_are_full_and_of_one_language(tmp_path: Path) -> None:
    found = rows(tmp_path, max_length=7, packed=True)
    assert found == [
        ["[CLS]", "the", "cat", "sees", "a", "dog", "[SEP]"],
        ["[CLS]", "a", "cat", "the", "dog", "sees", "[SEP]"],
        ["[CLS]", "a", "b", "[SEP]"],
        ["[CLS]", "你", "好", "你", "好", "你", "[SEP]"],
        ["[CLS]", "好", "[SEP]"],
    ]
    store = load_arrays(tmp_path / "store")
    assert store.dense("language").tolist() == [0, 0, 0, 1, 1]


def test_sentences_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = {"en": ["the cat. the dog! a b", "a cat. a dog"], "zh": ["你好。好！你"]}
    with caplog.at_level(logging.WARNING):
        encode_texts(
            texts,
            make_tokenizer(tmp_path),
            tmp_path / "s",
            max_length=32,
            sentences_per_language=4,
        )
    store = load_arrays(tmp_path / "s")
    assert store.meta["sentences"] == {"en": 4, "zh": 3}
    assert store.meta["pieces"] == dict(zip(["en", "zh"], subwords_of(store), strict=True))
    assert "fewer sentences than 4: {'zh': 3}" in caplog.text
    assert len(store.ragged("input_ids")[1]) == 2 + 3  # of the second text "a cat." with its stop


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("你好。你好！好", ["你好。", "你好！", "好"]),
        ("यह है। वह है।", ["यह है।", "वह है।"]),
        ("کیا؟ ہاں۔ نہیں", ["کیا؟", "ہاں۔", "نہیں"]),
        ("3.14 is not two", ["3.14 is not two"]),
        ("ภาษาไทย ไม่มี", ["ภาษาไทย ไม่มี"]),
    ],
)
def test_sentences_end_at_their_marks(text: str, sentences: list[str]) -> None:
    for wanted in range(1, len(sentences) + 1):
        counts: dict[str, int] = {}
        (kept,) = pretraining._first_sentences([text], wanted, counts, "xx")
        assert counts == {"xx": wanted}
        assert kept == (text if wanted == len(sentences) else " ".join(sentences[:wanted]))
