"""Lines of plain, compressed and zipped files, and the dataset card."""

import bz2
import gzip
import lzma
import zipfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.lines import decoded_lines, numbered_lines, parallel_lines, split_columns
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, sha256_of

COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
TEXT = "first\u2028still first\r\nमानव\n\nlast"


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_same_lines_however_compressed(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"text.txt{suffix}"
    path.write_bytes(COMPRESSORS[suffix](TEXT.encode()))
    expected = [(1, "first\u2028still first"), (2, "मानव"), (3, ""), (4, "last")]
    assert list(numbered_lines(path)) == expected


@settings(max_examples=40)
@given(st.lists(st.text(st.characters(exclude_characters="\r\n\ufeff", exclude_categories=["Cs"]))))
def test_lines_come_back_as_written(lines: list[str]) -> None:
    stream = [line.encode() + b"\n" for line in lines]
    assert list(decoded_lines(stream, "x")) == list(enumerate(lines, 1))


def test_byte_order_mark_is_not_text() -> None:
    assert list(decoded_lines([b"\xef\xbb\xbfa\n"], "x")) == [(1, "a")]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
@pytest.mark.parametrize("keep", [0.5, 0.95, None])
def test_damaged_archive_is_one_sentence(tmp_path: Path, suffix: str, keep: float | None) -> None:
    path = tmp_path / f"text.txt{suffix}"
    data = COMPRESSORS[suffix]("".join(f"{n * n} lines\n" for n in range(5_000)).encode())
    middle, message = len(data) // 2, "cut short or damaged.*fetches it again"
    if keep:
        path.write_bytes(data[: int(len(data) * keep)])
    else:  # the damage may give other letters
        path.write_bytes(data[:middle] + bytes(64) + data[middle + 64 :])
        message = "damaged|not UTF-8"
    with pytest.raises(DataError, match=rf"text\.txt.*({message})"):
        list(numbered_lines(path))


def test_bad_bytes_name_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine\nfa\xe7ade\n")
    with pytest.raises(DataError, match=r"latin\.txt, line 2: not UTF-8 \(byte 0xe7\)"):
        list(numbered_lines(path))


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(numbered_lines(tmp_path / "none.txt"))
    (tmp_path / "empty.txt").touch()
    with pytest.raises(DataError, match="the file is empty"):
        list(numbered_lines(tmp_path / "empty.txt"))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("folder/text.txt", "".join(f"line {n}\n" for n in range(5000)))
        opened.writestr("__MACOSX/folder/._text.txt", b"\x00\x05\x16\x07")
        opened.writestr("other.md", "x")
    return path


def test_zip_member(archive: Path) -> None:
    lines = list(numbered_lines(archive, r"text\.txt"))
    assert lines[0] == (1, "line 0")
    assert len(lines) == 5000


@pytest.mark.parametrize("pattern", [r"absent\.txt", r"(?:text\.txt|other\.md)"])
def test_zip_must_hold_exactly_one_such_member(archive: Path, pattern: str) -> None:
    with pytest.raises(DataError, match=r"archive\.zip, member .*found [02] such members"):
        list(numbered_lines(archive, pattern))


@pytest.mark.parametrize("damage", [slice(-30, None), slice(200, 260)])
def test_damaged_zip(archive: Path, damage: slice) -> None:
    data = bytearray(archive.read_bytes())
    data[damage] = b"" if damage.stop is None else bytes(60)
    archive.write_bytes(data)
    with pytest.raises(DataError, match="cut short or damaged"):
        list(numbered_lines(archive, r"text\.txt"))


@pytest.mark.parametrize(("left", "right", "longer"), [(3, 2, "left"), (2, 3, "right")])
def test_parallel_files_must_have_equal_length(
    tmp_path: Path, left: int, right: int, longer: str
) -> None:
    for name, length in (("left", left), ("right", right)):
        (tmp_path / name).write_text("x\n" * length)
    pairs = parallel_lines((tmp_path / "left", ""), (tmp_path / "right", ""))
    with pytest.raises(DataError, match=rf"{longer}, line 3: has no counterpart"):
        list(pairs)


@pytest.mark.parametrize(
    ("left", "right", "pairs"),
    [
        ("a\nb\n\n", "c\nd\n", [("a", "c"), ("b", "d")]),  # an empty last line on one side
        ("a\nb\n", "c\nd\n \r\n", [("a", "c"), ("b", "d")]),
        ("a\n\n", "c\nd\n", [("a", "c"), ("", "d")]),  # as long, and empty on one side
        ("a\n\n\n", "c\nd\n", [("a", "c"), ("", "d")]),
        ("a\n\nb\n", "c\n", None),
        ("a\n\nb\n", "c\nd\n", None),
    ],
)
def test_an_empty_last_line_of_one_side(
    tmp_path: Path, left: str, right: str, pairs: list[tuple[str, str]] | None
) -> None:
    files = [(tmp_path / "left", ""), (tmp_path / "right", "")]
    for (path, _), text in zip(files, (left, right), strict=True):
        path.write_text(text, newline="")
    if pairs is None:
        with pytest.raises(DataError, match="has no counterpart"):
            list(parallel_lines(*files))
    else:
        assert [pair for _, *pair in parallel_lines(*files)] == [list(pair) for pair in pairs]


@given(st.text(st.sampled_from("ab\t"), max_size=12), st.integers(1, 4))
def test_columns_are_all_or_nothing(line: str, width: int) -> None:
    if line.count("\t") + 1 == width:
        assert "\t".join(split_columns(line, width, "x", 7)) == line
    else:
        with pytest.raises(DataError, match=r"x, line 7: \d+ tab-separated columns where"):
            split_columns(line, width, "x", 7)


def test_card_states_origin_and_leaves_out_empty_reasons(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("x")
    dropped = Counter({"too short": 2, "never": 0})
    card = Card("unused", "es", Counter(kept=3), dropped, tool="tool 1.0")
    origins = [
        {"dataset": "one", "licence": "CC0", "citation": "A"},
        {"dataset": "two", "licence": "CC0", "citation": "B"},
    ]
    card.write(tmp_path / "card.json", [tmp_path / "in.txt"], origins)
    content = read_json(tmp_path / "card.json")
    assert content["dataset"] == "one; two"
    assert content["licence"] == "CC0"
    assert content["citation"] == "A; B"
    assert content["dropped"] == {"too short": 2}
    assert content["source_files"] == [
        {"path": str(tmp_path / "in.txt"), "sha256": sha256_of(tmp_path / "in.txt")}
    ]
    assert content["created_by"].endswith("tool 1.0")


def test_card_without_origin_says_so() -> None:
    card = Card("d", "es").content([])
    assert [card[key] for key in ("dataset", "licence", "citation")] == ["d", *["not stated"] * 2]
