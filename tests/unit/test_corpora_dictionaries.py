"""Dictionaries of MUSE: pairs unchanged, blanks or tabs, malformed lines counted or an error."""

from pathlib import Path
from typing import Any

import pytest
from reading import mirrored, needs_mirror, read_table

from mbert_atlas.corpora import dictionaries
from mbert_atlas.corpora.dictionaries import read_pairs, words_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.texts import dictionary
from mbert_atlas.schemas import DICTIONARY


def read(folder: Path, text: str, name: str = "en-de", limit: int | None = None) -> Any:
    path = folder / f"{name}.txt"
    path.write_text(text, "utf-8")
    table, card = read_table(dictionaries.read, path, "de", limit=limit)
    assert table.schema.equals(DICTIONARY)
    write_parquet(table, folder / f"{name}.parquet")
    return table.to_pylist(), card


def test_pairs_are_unchanged(tmp_path: Path) -> None:
    rows, card = read(tmp_path, "the Die\nthe\tdas\n" + "dog hund\n" * 98 + "ice cream eis\n")
    assert rows[:3] == [
        {"source": "the", "target": "Die"},
        {"source": "the", "target": "das"},
        {"source": "dog", "target": "hund"},
    ]
    assert card["language"] == "en-de"
    assert card["counts"] == {"pairs": 100, "English words": 2, "other words": 3}
    assert card["dropped"] == {"… words, not two": 1}


def test_a_limit_keeps_the_first_pairs(tmp_path: Path) -> None:
    rows, card = read(tmp_path, "the die\nthe der\ndog hund\n", limit=2)
    assert [row["target"] for row in rows] == ["die", "der"]
    assert card["dropped"]["beyond the limit"] == 1


def test_many_malformed_lines_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"txt, line 2: 1 words, not two .2 of 102 lines"):
        read(tmp_path, "the die\nthe\n\n" + "dog hund\n" * 99)


def test_words_of_several_dictionaries(tmp_path: Path) -> None:
    read(tmp_path, "the die\na ein\nthe der\n")
    read(tmp_path, "dog perro\na un\n", "en-es")
    paths = [tmp_path / "en-de.parquet", tmp_path / "en-es.parquet"]
    assert words_of(paths, "source") == ["the", "a", "dog"]
    assert words_of(paths[:1], "target") == ["die", "ein", "der"]


def test_dictionaries_of_the_synthetic_data(tmp_path: Path) -> None:
    english, other = (MINIATURE_LANGUAGES[code] for code in ("en", "ru"))
    rows, _ = read(tmp_path, "\n".join(dictionary(english, other)) + "\n")
    assert [" ".join(row.values()) for row in rows] == dictionary(english, other)


@needs_mirror
@pytest.mark.parametrize(("language", "pairs"), [("de", 101_931), ("zh", 39_334), ("th", 24_658)])
def test_real_dictionaries(language: str, pairs: int) -> None:
    found, bad = read_pairs(mirrored(f"muse/dictionaries/en-{language}.txt*"))
    assert (len(found), bad.reasons.total()) == (pairs, 0)
    assert all(english == english.lower() for english, _ in found)
