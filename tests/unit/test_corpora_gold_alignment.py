"""Gold alignments in two notations."""

import logging
from pathlib import Path

import pytest
from reading import MIRROR, needs_mirror

from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.errors import DataError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_xlwa_counts_from_zero(tmp_path: Path) -> None:
    path = write(tmp_path / "dev.tsv", "the cat\tel gato\t0-0 1-1\nyes\tsí\t\n")
    first, second = read_gold(path, "xlwa")
    assert (first.source_tokens, first.target_tokens) == (["the", "cat"], ["el", "gato"])
    assert first.sure == first.possible == {(0, 0), (1, 1)}
    assert second.possible == set()


@pytest.mark.parametrize(
    ("links", "first", "pair"),
    [
        ("1-1 2-2", None, {(0, 0), (1, 1)}),  # the last word, and no 0
        ("0-1 1-0", None, {(0, 1), (1, 0)}),
        ("1-1", 0, {(1, 1)}),
        ("1-1", 1, {(0, 0)}),
        ("", None, set()),
    ],
)
def test_where_links_count_from(tmp_path: Path, links: str, first: int, pair: object) -> None:
    path = write(tmp_path / "x.tsv", f"the cat\tel gato\t{links}\n")
    assert read_gold(path, "xlwa", first_word=first)[0].sure == pair


def test_links_that_may_count_from_either_are_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", "the old cat\tel viejo gato\t1-1 2-2\n")
    with pytest.raises(DataError, match=r"x.tsv: links may count from 0 or from 1: none has a 0"):
        read_gold(path, "xlwa")


def test_pharaoh_with_possible_links(tmp_path: Path) -> None:
    text = write(tmp_path / "text", "hear , hear ! ||| bravo !\n||| non\n")
    links = write(tmp_path / "links", "4-2 1p1 3p1\n\n")
    first, second = read_gold([text, links], "pharaoh")
    assert (first.source_tokens, first.target_tokens) == (
        ["hear", ",", "hear", "!"],
        ["bravo", "!"],
    )
    assert (first.sure, first.possible) == ({(3, 1)}, {(3, 1), (0, 0), (2, 0)})
    assert (second.source_tokens, second.target_tokens) == ([], ["non"])
    with pytest.raises(DataError, match=r"line 1: link 5-1 lies outside .* here 0"):
        read_gold([text, write(links, "0-0 5-1\n\n")], "pharaoh")
    with pytest.raises(DataError, match=r"line 2: '1x1' is not a link"):
        read_gold([text, write(links, "0-0\n1x1\n")], "pharaoh")
    with pytest.raises(DataError, match=r"text, line 2: no ' \|\|\| ' between two sentences"):
        read_gold([write(text, "a ||| b\na b\n"), write(links, "0-0\n\n")], "pharaoh")


IDEOGRAPHIC_SPACE, NO_BREAK_SPACE = "\u3000", "\u00a0"


def test_blanks_of_other_scripts_are_words_or_parts_of_words(tmp_path: Path) -> None:
    """Japanese gold has U+3000 as a token; words after it keep their positions."""
    japanese = ["\u732b", IDEOGRAPHIC_SPACE, "\u3060", f"\u7530{NO_BREAK_SPACE}\u4e2d"]
    text = " ".join(japanese)
    xlwa = write(tmp_path / "dev.tsv", f"a cat\t{text}\t0-3 1-0\n")
    english = write(tmp_path / "en", "<s snum=1> a cat </s>\n")
    other = write(tmp_path / "ja", f"<s snum=1> {text} </s>\n")
    numbered = write(tmp_path / "wa", "1 1 4\n1 2 1\n")
    for (sentence,) in read_gold(xlwa, "xlwa"), read_gold([english, other, numbered], "naacl"):
        assert sentence.target_tokens == japanese
        assert sentence.sure == {(0, 3), (1, 0)}


@pytest.fixture
def naacl(tmp_path: Path) -> list[Path]:
    return [
        write(tmp_path / "en", "<s snum=7>a  b</s>\n\n<s snum=2> c </s>\n"),
        write(tmp_path / "hi", "<s snum=7> u v </s>\r\n<s snum=2> w </s>\r\n"),
        write(tmp_path / "wa", "7 1 2\n7 2 1 P\n7 0 1\n2 1 1 S 0.9\n"),
    ]


def test_naacl_never_counts_from_zero(naacl: list[Path]) -> None:
    with pytest.raises(DataError, match="links of this format count from 1; leave out `first_wo"):
        read_gold(naacl, "naacl", first_word=0)


def test_naacl(naacl: list[Path]) -> None:
    first, second = read_gold(naacl, "naacl")
    assert (first.source_tokens, first.target_tokens) == (["a", "b"], ["u", "v"])
    assert first.sure == {(0, 1)}
    assert first.possible == {(0, 1), (1, 0)}
    assert second.sure == {(0, 0)}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        (0, "<s snum=7>a b</s>\n<s snum=3>c</s>\n", "snum 2: is not in both"),
        (0, "<s snum=7>a b</s>\n<s snum=7>c</s>\n", "line 2: not a sentence"),
        (0, "a b\n", "line 1: not a sentence"),
        (2, "7 1\n", "line 1: '7 1' is not a link of a sentence of en"),
        (2, "7 1 1\n3 1 1\n", "line 2: '3 1 1' is not a link"),
        (2, "7 1 1 Q\n", "line 1: '7 1 1 Q' is not a link"),
        (2, "7 1 x\n", "line 1: '7 1 x' is not a link"),
        (2, "7 1 1\n7 1 3\n", "line 2: link 1 3 lies outside its sentence of 2 and 2 words"),
    ],
)
def test_bad_naacl(naacl: list[Path], file: int, text: str, message: str) -> None:
    write(naacl[file], text)
    with pytest.raises(DataError, match=message):
        read_gold(naacl, "naacl")


def test_one_stray_link_in_a_hundred_is_dropped(
    naacl: list[Path], caplog: pytest.LogCaptureFixture
) -> None:
    write(naacl[2], "7 1 1\n" * 100 + "7 9 9\n")
    with caplog.at_level(logging.WARNING):
        first, _ = read_gold(naacl, "naacl")
    assert first.sure == {(0, 0)}
    assert "line 101: link 9 9 lies outside" in caplog.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a b\tu\t0-1", "line 1: link 0-1 lies outside its sentence of 2 and 1 words"),
        ("a b\tu\t2-0", "line 1: link 2-0 lies outside"),
        ("a b\tu", "line 1: 2 tab-separated columns where 3"),
    ],
)
def test_bad_xlwa(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_gold(write(tmp_path / "x.tsv", line + "\n"), "xlwa")


@needs_mirror
@pytest.mark.parametrize(
    ("files", "format", "sentences", "sure", "possible"),
    [
        (["XL-WA/data/es/test.tsv"], "xlwa", 245, 4722, 4722),
        (
            ["wpt05-eng-hin/test.eng", "wpt05-eng-hin/test.hin", "wpt05-eng-hin/test.eng.hin.wa"],
            "naacl",
            90,
            1408,
            1408,
        ),
        (["awesome-align/enfr.src-tgt", "awesome-align/enfr.gold"], "pharaoh", 447, 4038, 17438),
    ],
)
def test_real_gold(files: list[str], format: str, sentences: int, sure: int, possible: int) -> None:
    folder = Path(str(MIRROR), "gold-alignments")
    gold = read_gold([folder / name for name in files], format)
    assert len(gold) == sentences
    assert sum(len(sentence.sure) for sentence in gold) == sure
    assert sum(len(sentence.possible) for sentence in gold) == possible
