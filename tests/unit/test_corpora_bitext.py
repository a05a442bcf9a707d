"""Parallel sentences, the words in them, gold alignments and running text."""

import gzip
import lzma
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import mirrored, needs_mirror, read_table
from sacremoses import MosesTokenizer

from mbert_atlas.corpora import bitext
from mbert_atlas.corpora.jobs import CorpusFile
from mbert_atlas.corpora.words import WordTokenizer, visible
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import BITEXT

# Words


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        (
            "en",
            'He doesn\'t know <b> & "x" [1] | 5,000...',
            'He doesn \'t know < b > & " x " [ 1 ] | 5,000 ...',
        ),
        ("en", "Mr. Smith left the U.S. in May.", "Mr. Smith left the U.S. in May ."),
        ("es", "¿Qué? El Sr. Pérez.", "¿ Qué ? El Sr. Pérez ."),
        ("fr", "L'homme d'ici.", "L' homme d' ici ."),
        ("hi", "यह क्या है? हाँ।", "यह क्या है ? हाँ ।"),
        ("ar", "ثم عاد؟", "ثم عاد ؟"),
        ("zh", "今天是2020年，Berlin很冷。", "今 天 是 2020 年 ， Berlin 很 冷 。"),
        ("zh", "他说Berlin。", "他 说 Berlin 。"),
        ("ja", "これはカメラです。", "こ れ は カ メ ラ で す 。"),
        ("th", "น้ำ Nord 11,000", "น้ำ Nord 11,000"),
        ("ko", "한국어는 어렵다.", "한국어는 어렵다 ."),
        ("ru", "За\u0301мок — это", "За\u0301мок — это"),
        ("yo", "òṣìṣẹ\u0301 ni", "òṣìṣẹ\u0301 ni"),
        ("fa", "می\u200cکنند.", "می\u200cکنند ."),
        ("en", "soft\u00adhyphen \u200e \ufeffend\x85x \u200c", "softhyphen end x"),
    ],
)
def test_words(language: str, text: str, words: str) -> None:
    assert WordTokenizer(language)(text) == words.split(" ")


ABBREVIATIONS = st.lists(
    st.sampled_from(
        ["z.", "B.", "a.b.", "U.S.", "No.", "5", "word", "Dr.", "한국.", "한.국.", "г."]
    ),
    max_size=6,
).map(" ".join)
LETTERS = st.characters(categories=["Lu", "Ll", "Nd", "Po", "Ps", "Pe", "Zs"], max_codepoint=0x24F)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["en", "es", "ru", "ko"]), st.text(LETTERS, max_size=40) | ABBREVIATIONS)
def test_words_are_those_of_moses_where_no_mark_is_involved(language: str, text: str) -> None:
    expected = MosesTokenizer(language).tokenize(text, escape=False)
    assert WordTokenizer(language)(text) == expected


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(["en", "zh", "th", "fa"]), st.text(max_size=30))
def test_no_character_is_lost_or_invented(language: str, text: str) -> None:
    words = WordTokenizer(language)(text)
    assert all(words)
    assert not any(character.isspace() for word in words for character in word)
    joiners = str.maketrans("", "", "\u200c\u200d")
    kept = "".join(visible(text).split()).translate(joiners)
    assert "".join(words).translate(joiners) == kept


@given(st.text(max_size=20))
def test_visible_text_has_only_what_a_tokenizer_of_bert_keeps(text: str) -> None:
    for character in visible(text):
        category = unicodedata.category(character)
        assert category[0] != "C" or character in "\u200c\u200d"
        assert category[0] != "Z" or character == " "


# Bitexts


def read(folder: Path, files: list[CorpusFile], language: str, **more: Any) -> tuple[Any, Any]:
    table, card = read_table(bitext.read, files, language, folder=folder, **more)
    assert table.schema.equals(BITEXT)
    return table.to_pylist(), card


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(" ".join(row["source_tokens"]), " ".join(row["target_tokens"])) for row in rows]


def wikimatrix(folder: Path, codes: str, lines: list[str]) -> CorpusFile:
    path = folder / f"WikiMatrix.{codes}.tsv.gz"
    path.write_bytes(gzip.compress("".join(line + "\n" for line in lines).encode()))
    return CorpusFile(path, "wikimatrix")


@pytest.mark.parametrize(
    ("language", "codes", "lines"),
    [
        ("es", "en-es", ["1.2\tA cat.\tUn gato.", "1.1\tA dog.\tUn perro."]),
        ("bg", "bg-en", ["1.2\tUn gato.\tA cat.", "1.1\tUn perro.\tA dog."]),
    ],
)
def test_wikimatrix_has_english_in_either_column(
    tmp_path: Path, language: str, codes: str, lines: list[str]
) -> None:
    rows, card = read(tmp_path, [wikimatrix(tmp_path, codes, lines)], language)
    assert pairs(rows) == [("A cat .", "Un gato ."), ("A dog .", "Un perro .")]
    assert [row["id"] for row in rows] == ["0-wikimatrix-1", "0-wikimatrix-2"]
    assert [row["score"] for row in rows] == pytest.approx([1.2, 1.1])
    assert card["language"] == f"en {language}"


def test_wikimatrix_gives_its_first_pairs(tmp_path: Path) -> None:
    lines = [f"{2 - n / 100}\tcat {n}\tgato {n}" for n in range(50)]
    source = wikimatrix(tmp_path, "en-es", lines)
    rows, card = read(tmp_path, [source], "es", limit=7)
    assert pairs(rows) == [(f"cat {n}", f"gato {n}") for n in range(7)]
    assert card["counts"]["lines read"] == 7


@pytest.mark.parametrize(("line", "found"), [("1.0\ta", 2), ("1.0\ta\tb\tc", 4)])
def test_bad_wikimatrix_names_the_line(tmp_path: Path, line: str, found: int) -> None:
    with pytest.raises(DataError, match=f"line 2: {found} tab-separated columns where 3"):
        read(tmp_path, [wikimatrix(tmp_path, "en-es", ["1.1\ta\tb", line])], "es")


def moses(folder: Path, english: str, other: str) -> CorpusFile:
    path = folder / "en-ru.txt.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README", "x")
        archive.writestr("WikiMatrix.en-ru.xml", "<x/>")
        archive.writestr("WikiMatrix.en-ru.en", english)
        archive.writestr("WikiMatrix.en-ru.ru", other)
    return CorpusFile(path, "moses")


def test_moses_archive(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, [moses(tmp_path, "A cat.\nA dog.\n", "Кот.\nПёс.\n")], "ru")
    assert pairs(rows) == [("A cat .", "Кот ."), ("A dog .", "Пёс .")]
    assert [row["score"] for row in rows] == [None, None]
    with pytest.raises(DataError, match=r"\.es: found 0 such members"):
        read(tmp_path, [CorpusFile(tmp_path / "en-ru.txt.zip", "moses")], "es")
    with pytest.raises(DataError, match=r"WikiMatrix|line 2: has no counterpart"):
        read(tmp_path, [moses(tmp_path, "A cat.\nA dog.\n", "Кот.\n")], "ru")


def test_drops_are_counted_by_reason(tmp_path: Path) -> None:
    english = ["a b", "", "a b", "a b", "same", "\u200e", "c = d"]
    other = ["u v", "w", "u v", "u w", " same ", "x", "y"]
    source = moses(tmp_path, "\n".join(english) + "\n", "\n".join(other) + "\n")
    rows, card = read(tmp_path, [source], "ru")
    assert pairs(rows) == [("a b", "u v"), ("a b", "u w"), ("c = d", "y")]
    assert card["dropped"] == {"empty side": 2, "exact duplicate": 1, "identical sides": 1}
    assert card["counts"]["lines read"] == 7 == card["counts"]["pairs"] + 4


def test_sample_is_uniform_and_seeded(tmp_path: Path) -> None:
    lines = [f"cat {n}" for n in range(200)]
    source = moses(tmp_path, "\n".join(lines) + "\n", "\n".join(lines).replace("cat", "кот") + "\n")
    first, _ = read(tmp_path, [source], "ru", limit=50)
    again, _ = read(tmp_path, [source], "ru", limit=50)
    other, _ = read(tmp_path, [source], "ru", limit=50, seed=2)
    assert first == again
    assert first != other
    numbers = [int(row["source_tokens"][1]) for row in first]
    assert len(set(numbers)) == 50
    assert max(numbers) > 150
    assert min(numbers) < 50
    assert all(row["target_tokens"] == ["кот", row["source_tokens"][1]] for row in first)


def test_sources_are_taken_in_turn_and_share_their_duplicates(tmp_path: Path) -> None:
    first = moses(tmp_path, "a\nb\n", "x\ny\n")
    second = tmp_path / "eng.tsv"
    second.write_text("a\tx\tCC-BY\nd\tw\tCC-BY\nb\ty\tCC-BY\nc\tz\tCC-BY\ne\tv\tCC-BY\n")
    sources = [first, CorpusFile(second, "manythings")]
    rows, card = read(tmp_path, sources, "ru", limit=4)
    assert len(rows) == 4 == len(set(pairs(rows)))
    assert [row["id"][0] for row in rows] == ["0", "0", "1", "1"]
    assert card["dropped"] == {"exact duplicate": 2}
    assert len(card["source_files"]) == 2
    nothing_more, _ = read(tmp_path, sources, "ru", limit=2)
    assert [row["id"][0] for row in nothing_more] == ["0", "0"]


def test_manythings_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "spa-eng.zip", "w") as archive:
        archive.writestr("_about.txt", "about")
        archive.writestr("spa.txt", "Go.\tVe.\nRun!\t¡Corre!\n")
    source = CorpusFile(tmp_path / "spa-eng.zip", "manythings")
    assert pairs(read(tmp_path, [source], "es")[0]) == [("Go .", "Ve ."), ("Run !", "¡ Corre !")]


def test_line_parallel_files_with_gaps_and_joined_verses(tmp_path: Path) -> None:
    (tmp_path / "eng.txt").write_text("one\n\nthree\nfour\nfive\nsix\n")
    other = "uno\ndos\ntres y cuatro\n<range>\ncinco\nseis\n"
    (tmp_path / "spa.txt.xz").write_bytes(lzma.compress(other.encode()))
    source = CorpusFile(tmp_path / "eng.txt", "lines", partners=[tmp_path / "spa.txt.xz"])
    rows, card = read(tmp_path, [source], "es")
    assert pairs(rows) == [("one", "uno"), ("five", "cinco"), ("six", "seis")]
    assert card["dropped"] == {"empty side": 1, "verses told together on one side": 2}
    assert [Path(file["path"]).name for file in card["source_files"]] == ["eng.txt", "spa.txt.xz"]


def test_sources_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("same\tsame\n")
    with pytest.raises(DataError, match=r"no pair left of 1 \(\{'identical sides': 1\}\)"):
        read(tmp_path, [CorpusFile(path, "manythings")], "es")
    with pytest.raises(DataError, match="key partners: is missing"):
        read(tmp_path, [CorpusFile(path, "lines")], "es")
    with pytest.raises(DataError, match="format tmx: unknown; use wikimatrix"):
        read(tmp_path, [CorpusFile(path, "tmx")], "es")


@needs_mirror
@pytest.mark.parametrize(
    ("path", "target", "format", "language", "expected"),
    [
        ("opus-moses/en-ru.txt.zip", None, "moses", "ru", 4071),
        ("tatoeba-manythings/hin.txt", None, "manythings", "hi", 3117),
        (
            "ntrex-128/NTREX-128/newstest2019-src.eng.txt*",
            "ntrex-128/NTREX-128/newstest2019-ref.hin.txt*",
            "lines",
            "hi",
            1996,
        ),
    ],
)
def test_real_bitexts(
    tmp_path: Path, path: str, target: str | None, format: Any, language: str, expected: int
) -> None:
    partners = [mirrored(target)] if target else []
    rows, card = read(tmp_path, [CorpusFile(mirrored(path), format, partners)], language)
    assert len(rows) == card["counts"]["pairs"] == expected
    if language == "hi":
        assert not any("।" in word and word != "।" for row in rows for word in row["target_tokens"])
