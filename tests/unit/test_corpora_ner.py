"""Words with entity tags out of WikiANN's two layouts."""

import gzip
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import mirrored, needs_mirror, read_table, tar_gzip
from seqeval.metrics.sequence_labeling import get_entities

from mbert_atlas.corpora import ner
from mbert_atlas.corpora.ner import TAGS, entity_tags, parse_tagged
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import TAGGED_SENTENCES


def read(path: Path, format: Any, language: str = "en", split: str = "test", **more: Any) -> Any:
    """Rows and card of ``path``."""
    table, card = read_table(ner.read, path, language, format=format, split=split, **more)
    assert table.schema.equals(TAGGED_SENTENCES)
    return table.to_pylist(), card


RAHIMI = "en:Anna\tB-PER\nen:saw\tO\nen::\tO\n\nen:10:30\tO\nen:New\tB-LOC\nen:York\tI-LOC\n\n"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "panx_dataset.zip"
    inner = tar_gzip({"dev": "en:x\tO\n\n", "./test": RAHIMI, "train": "en:y\tO\n\n"})
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("en.tar.gz", inner)
        opened.writestr("zh-min-nan.tar.gz", tar_gzip({"test": "zh-min-nan:x\tO\n\n"}))
    return path


def test_rahimi_in_all_its_packings(tmp_path: Path, archive: Path) -> None:
    rows, card = read(archive, "rahimi")
    assert rows == [
        {
            "id": "1",
            "language": "en",
            "split": "test",
            "forms": ["Anna", "saw", ":"],
            "ner_tags": ["B-PER", "O", "O"],
        },
        {
            **rows[0],
            "id": "2",
            "forms": ["10:30", "New", "York"],
            "ner_tags": ["O", "B-LOC", "I-LOC"],
        },
    ]
    assert card["counts"] == {
        "sentences read": 2,
        "sentences": 2,
        "words": 6,
        "LOC: entities begun": 1,
        "ORG: entities begun": 0,
        "PER: entities begun": 1,
    }
    (tmp_path / "en.tar.gz").write_bytes(tar_gzip({"test": RAHIMI}))
    assert read(tmp_path / "en.tar.gz", "rahimi")[0] == rows
    (tmp_path / "test.gz").write_bytes(gzip.compress(RAHIMI.encode()))
    assert read(tmp_path / "test.gz", "rahimi")[0] == rows
    assert [row["forms"] for row in read(archive, "rahimi", split="dev")[0]] == [["x"]]


def test_missing_members(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(DataError, match=r"member ru\.tar\.gz: found 0 such members"):
        read(archive, "rahimi", language="ru")
    with pytest.raises(DataError, match=r"en\.tar\.gz, member extra: found no such member among"):
        read(archive, "rahimi", split="extra")
    whole = tar_gzip({"dev": "x" * 10_000, "test": RAHIMI})
    (tmp_path / "en.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"en\.tar\.gz: the archive is cut short or damaged"):
        read(tmp_path / "en.tar.gz", "rahimi")


def test_panx(tmp_path: Path) -> None:
    path = tmp_path / "dev-zh.tsv.xz"
    text = "里\tI-LOC\n里\tI-LOC\n\n\na\tB-PER\nb\tI-ORG\nc\tI-ORG"
    path.write_bytes(lzma.compress(text.encode()))
    rows, card = read(path, "panx", "zh")
    assert [row["ner_tags"] for row in rows] == [["I-LOC", "I-LOC"], ["B-PER", "I-ORG", "I-ORG"]]
    assert card["counts"]["I- tags that continue no entity"] == 2
    assert "seqeval begins an entity there" in card["notes"][0]


CONLL = """\
-DOCSTART- -X- -X- O

Anna NNP I-NP I-PER
Lee NNP I-NP I-PER
Bob NNP I-NP B-PER
saw VBD I-VP O
Bonn NNP I-NP I-LOC


-DOCSTART- -X- O O

Swiss JJ I-NP I-MISC
"""


def test_conll_becomes_iob2_with_one_more_type(tmp_path: Path) -> None:
    path = tmp_path / "conll2003.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for member in ("train.txt", "valid.txt", "test.txt"):
            opened.writestr(member, CONLL if member == "test.txt" else "x NN O O\n")
    rows, card = read(path, "conll2003")
    tags = [row["ner_tags"] for row in rows]
    assert tags == [["B-PER", "I-PER", "B-PER", "O", "B-LOC"], ["B-MISC"]]
    assert [row["forms"] for row in rows] == [["Anna", "Lee", "Bob", "saw", "Bonn"], ["Swiss"]]
    assert (card["dataset"], card["counts"]["MISC: entities begun"]) == ("CoNLL-2003", 1)
    again = "".join(f"{word} X X {tag}\n" for word, tag in zip("abcde", tags[0], strict=True))
    (tmp_path / "iob2.txt").write_text(again)
    assert read(tmp_path / "iob2.txt", "conll2003")[0][0]["ner_tags"] == tags[0]
    assert [row["forms"] for row in read(path, "conll2003", split="dev")[0]] == [["x"]]
    table = pa.Table.from_pylist(rows, TAGGED_SENTENCES)
    assert entity_tags(table) == (*TAGS, "B-MISC", "I-MISC")
    assert entity_tags(table.slice(0, 1)) == TAGS


@pytest.mark.parametrize(
    ("text", "format", "message"),
    [
        ("a NN O O\n\nb NN O I-TIME\n", "conll2003", "line 3: 'I-TIME' is not one of"),
        ("a\tO\n \n", "panx", "line 2: 1 tab-separated columns"),
        ("a\tO\n\nb\tB-MISC\n", "panx", "line 3: 'B-MISC' is not one of O, B-LOC"),
        ("en:a\tO\nru:b\tO\n", "rahimi", "line 2: 'ru:b.tO' does not begin with en:"),
        ("en:a\tO\nb\tO\n", "rahimi", "line 2: .* does not begin with en:"),
        ("en:\tO\n", "rahimi", "line 1: an empty word"),
        ("a\tO\n", "conll", "format conll: unknown"),
    ],
)
def test_bad_files_name_the_line(tmp_path: Path, text: str, format: Any, message: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read(path, format)


def test_limits(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("".join(f"w{n}\tO\n\n" for n in range(50)))
    first, card = read(path, "panx", limit=5)
    assert [row["id"] for row in first] == ["1", "2", "3", "4", "5"]
    assert card["counts"]["sentences"] == 5
    assert card["counts"]["sentences read"] == 50
    drawn = [
        [row["id"] for row in read(path, "panx", limit=5, sample_seed=s)[0]] for s in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] == sorted(drawn[0], key=int)
    assert len(read(path, "panx", limit=99, sample_seed=1)[0]) == 50


words = st.text(st.characters(exclude_categories=("Cc", "Cs", "Z")), min_size=1, max_size=5)
tagged = st.lists(
    st.lists(st.tuples(words, st.sampled_from(TAGS)), min_size=1, max_size=6), min_size=1
)


@given(tagged, st.sampled_from(["", "en:", "zh-yue:"]))
def test_what_is_written_is_read(sentences: list[list[tuple[str, str]]], prefix: str) -> None:
    text = "".join("".join(f"{prefix}{w}\t{t}\n" for w, t in s) + "\n" for s in sentences)
    lines = list(enumerate(text.split("\n"), 1))
    format = "rahimi" if prefix else "panx"
    read_back = parse_tagged(lines, "x", format, prefix.removesuffix(":"))
    assert [list(zip(s.forms, s.tags, strict=True)) for s in read_back] == sentences


@given(st.lists(st.sampled_from(TAGS), min_size=1, max_size=8))
def test_strays_are_what_seqeval_begins_without_b(tags: list[str]) -> None:
    (sentence,) = parse_tagged([(n, f"w\t{tag}") for n, tag in enumerate(tags, 1)], "x")
    begun = [start for _, start, _ in get_entities(tags) if tags[start].startswith("I-")]
    assert sentence.stray == begun


@needs_mirror
@pytest.mark.parametrize(
    ("name", "sentences", "words", "strays"),
    [
        ("train-en", 20_000, 160_394, 0),
        ("train-hi", 5_000, 29_443, 0),
        ("dev-es", 10_000, 64_329, 0),
        ("dev-ru", 10_000, 70_279, 0),
        ("dev-vi", 10_000, 64_222, 0),
        ("dev-ja", 10_000, 300_844, 501),
        ("dev-zh", 10_000, 213_682, 476),
        ("dev-yo", 100, 489, 0),
    ],
)
def test_real_files(tmp_path: Path, name: str, sentences: int, words: int, strays: int) -> None:
    split, language = name.split("-")
    path = mirrored(f"wikiann/panx/{name}.tsv*")
    rows, card = read(path, "panx", language, split, folder=tmp_path)
    counts = card["counts"]
    assert (counts["sentences"], counts["words"]) == (sentences, words)
    assert counts.get("I- tags that continue no entity", 0) == strays
    assert len(rows) == sentences
