"""Contexts of a dictionary's words in running text: their places and token ids."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tiny_models import make_tokenizer

from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.representations.word_contexts import find_word_contexts
from mbert_atlas.schemas import DICTIONARY
from mbert_atlas.tokenizer import open_tokenizer


def find(
    folder: Path, words: list[str], texts: list[str], language: str = "en", **options: Any
) -> TokenStore:
    write_parquet(pa.table([words, words], schema=DICTIONARY), folder / "dictionary.parquet")
    write_parquet(pa.table({"text": texts}), folder / "texts.parquet")
    find_word_contexts(
        dictionaries=[folder / "dictionary.parquet"],
        side="target",
        language=language,
        texts=folder / "texts.parquet",
        tokenizer_dir=make_tokenizer(folder),
        output=folder / "contexts",
        **options,
    )
    return load_arrays(folder / "contexts")


def shown(store: TokenStore, folder: Path) -> dict[str, list[str]]:
    """Rows by word, with brackets around its tokens."""
    name = open_tokenizer(folder / "tokenizer").id_to_token
    words = store.dense("words").tolist()
    found: dict[str, list[str]] = {word: [] for word in words}
    for word, row, start, end in zip(
        *(store.dense(key).tolist() for key in ("word", "row", "start", "end")), strict=True
    ):
        subwords = [name(number) for number in store.ragged("input_ids")[row].tolist()]
        subwords[start] = "<" + subwords[start]
        subwords[end - 1] += ">"
        found[words[word]].append(" ".join(subwords))
    return {word: sorted(rows) for word, rows in found.items()}


def test_whole_words_in_any_case(tmp_path: Path) -> None:
    texts = ["the unables sees a cat", "Dog, the cat the CAT", "cats, dog-a", "b", "a dog"]
    words = ["cat", "unables", "dog", "dog-a", "the", "the"]
    store = find(tmp_path, words, texts)
    assert store.dense("words").tolist() == ["cat", "unables", "dog", "dog-a", "the"]
    assert store.dense("contexts").tolist() == [2, 1, 3, 1, 2]
    assert shown(store, tmp_path) == {
        "cat": [
            "[CLS] [UNK] , the <cat> the [UNK] [SEP]",
            "[CLS] the un ##able ##s sees a <cat> [SEP]",
        ],
        "unables": ["[CLS] the <un ##able ##s> sees a cat [SEP]"],
        "dog": [
            "[CLS] <[UNK]> , the cat the [UNK] [SEP]",
            "[CLS] a <dog> [SEP]",
            "[CLS] cat ##s , <dog> - a [SEP]",
        ],
        "dog-a": ["[CLS] cat ##s , <dog - a> [SEP]"],
        "the": [
            "[CLS] <the> un ##able ##s sees a cat [SEP]",
            "[CLS] [UNK] , <the> cat the [UNK] [SEP]",
        ],
    }
    assert len(store.ragged("input_ids")) == 4  # each text once, and not the one without a word


def test_characters_of_chinese(tmp_path: Path) -> None:
    store = find(tmp_path, ["你好", "好", "a"], ["b你好a", "ab好"], "zh")
    assert shown(store, tmp_path) == {
        "你好": ["[CLS] b <你 好> a [SEP]"],
        "好": ["[CLS] [UNK] <好> [SEP]", "[CLS] b 你 <好> a [SEP]"],
        "a": ["[CLS] b 你 好 <a> [SEP]"],
    }
    assert find(tmp_path, ["好"], ["你好"], "en").dense("contexts").tolist() == [0]


def test_words_without_a_context_are_encoded_alone(tmp_path: Path) -> None:
    store = find(tmp_path, ["unables", "\u200b", "dog"], ["the dog"])
    assert shown(store, tmp_path)["unables"] == ["[CLS] <un ##able ##s> [SEP]"]
    assert shown(store, tmp_path)["\u200b"] == ["[CLS] <[UNK]> [SEP]"]
    assert store.dense("contexts").tolist() == [0, 0, 1]


def test_so_many_contexts_in_a_drawn_order(tmp_path: Path) -> None:
    plain = ["a", "b", "cat", "dog", "sees", "un"]
    texts = [f"the {one} {other}" for one in plain for other in plain]
    found = shown(find(tmp_path, ["the"], texts, contexts=4), tmp_path)["the"]
    assert found == shown(find(tmp_path, ["the"], texts, contexts=4), tmp_path)["the"]
    assert len(set(found)) == 4
    first = [f"[CLS] <the> {text.removeprefix('the ')} [SEP]" for text in texts[:4]]
    assert found != sorted(first)
    assert find(tmp_path, ["the"], texts, searched=3).dense("contexts").tolist() == [3]


def test_windows_around_words(tmp_path: Path) -> None:
    # Room for 8 tokens: windows begin at 0, 4, 8 and 12 of the 20.
    plain = ["b"] * 20
    plain[1], plain[10], plain[19] = "cat", "dog", "the"
    store = find(tmp_path, ["cat", "dog", "the"], [" ".join(plain)], max_length=10)
    assert shown(store, tmp_path) == {
        "cat": ["[CLS] b <cat> b b b b b b [SEP]"],
        "dog": ["[CLS] b b <dog> b b b b b [SEP]"],
        "the": ["[CLS] b b b b b b b <the> [SEP]"],
    }


def test_no_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"texts\.parquet, column text: there is no text"):
        find(tmp_path, ["cat"], [])
