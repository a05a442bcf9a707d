"""Alignment of subwords instead of words."""

import os
from pathlib import Path

import numpy as np
import pytest
from toy_representations import toy_encoder
from toy_tables import pairs_table, write_bitext

from mbert_atlas.alignment.pairs import derive_subwords, encode_word_pairs
from mbert_atlas.arrays import load_arrays
from mbert_atlas.corpora.jobs import DerivingJob
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoders.wordpiece import write_tokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import BITEXT


def _split(folder: Path, encoder: Path) -> None:
    output, card = folder / "subwords", folder / "card"
    derive_subwords(DerivingJob([folder / "words"], encoder, {}, output, card))


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return toy_encoder(tmp_path / "encoder")


def test_subwords_are_those_of_the_tokenizer(tmp_path: Path, encoder: Path) -> None:
    source = [["en1s", "en2"], [], ["what", "en3ss"]]
    target = [["xx2s", "xx1"], ["xx4"], ["xx3"]]
    write_bitext(tmp_path / "words", zip(source, target, strict=True), 1.1)
    _split(tmp_path, encoder)
    table = read_parquet(tmp_path / "subwords", BITEXT)
    assert table["source_tokens"].to_pylist() == [
        ["en1", "##s", "en2"],
        [],
        ["[UNK]", "en3", "##s", "##s"],
    ]
    assert table["target_tokens"].to_pylist() == [["xx2", "##s", "xx1"], ["xx4"], ["xx3"]]
    assert table["id"].to_pylist() == ["s0", "s1", "s2"]
    assert table["score"].to_pylist() == pytest.approx([1.1] * 3)


def test_ids_equal_those_of_the_words(tmp_path: Path, encoder: Path) -> None:
    """A sentence's ids are the same, whether it comes as words or as their subwords."""
    random = np.random.default_rng(0)

    def sentences(prefix: str) -> list[list[str]]:
        return [
            [f"{prefix}{k}{'s' * random.integers(0, 3)}" for k in random.integers(0, 40, size)]
            for size in random.integers(1, 9, 30)
        ]

    write_bitext(tmp_path / "words", zip(sentences("en"), sentences("xx"), strict=True))
    _split(tmp_path, encoder)
    for name, units in (("words", "words"), ("subwords", "subwords")):
        table = read_parquet(tmp_path / name)
        sides = [table[f"{side}_tokens"].to_pylist() for side in ("source", "target")]
        pairs = pairs_table([(*both, [(0, 0)]) for both in zip(*sides, strict=True)])
        encode_word_pairs(
            pairs, encoder, tmp_path / f"store-{name}", maximum_length=12, units=units
        )
    words, subwords = (load_arrays(tmp_path / f"store-{name}") for name in ("words", "subwords"))
    assert (words.meta["units"], subwords.meta["units"]) == ("words", "subwords")
    for side in ("source", "target"):
        assert np.array_equal(
            words.ragged(f"{side}_ids").values, subwords.ragged(f"{side}_ids").values
        )
        ids, start, end = (
            subwords.ragged(f"{side}_{n}") for n in ("ids", "word_start", "word_end")
        )
        assert max(ids.lengths) == 12
        for row in range(30):
            inside = end[row] > 0  # subwords that the cut left
            assert start[row][inside].tolist() == list(range(1, len(ids[row]) - 1))
            assert (end[row] - start[row])[inside].tolist() == [1] * int(inside.sum())


def test_foreign_subwords_raise_an_error(tmp_path: Path, encoder: Path) -> None:
    pairs = pairs_table([(["en1", "##zz"], ["xx1"], [(0, 0)])])
    with pytest.raises(DataError, match=r"subword '##zz'.*no such subword"):
        encode_word_pairs(pairs, encoder, tmp_path / "store", units="subwords")


@pytest.mark.skipif("MBERT_ATLAS_MIRROR" not in os.environ, reason="no mirror of real data")
def test_subwords_of_multilingual_bert(tmp_path: Path) -> None:
    folder = Path(os.environ["MBERT_ATLAS_MIRROR"]) / "mbert-vocab"
    vocabulary = next(folder.glob("*vocab.txt"))
    write_tokenizer(vocabulary.read_text("utf-8").rstrip("\n").split("\n"), tmp_path / "t")
    words = ["अंतर्राष्ट्रीय", "don't", "U.S.", "naïveté", "你好", "##hash"]
    write_bitext(tmp_path / "words", [(words, words[::-1])])
    _split(tmp_path, tmp_path / "t")
    tokenizer = load_tokenizer(tmp_path / "t")
    found = read_parquet(tmp_path / "subwords")["source_tokens"].to_pylist()[0]
    assert found == [token for word in words for token in tokenizer.tokenize(word)]
