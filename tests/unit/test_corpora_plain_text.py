"""Running text, read from files and from tables."""

import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import mirrored, needs_mirror, read_table

from mbert_atlas.corpora import plain_text
from mbert_atlas.corpora.jobs import CorpusFile
from mbert_atlas.corpora.plain_text import shuffled_texts, texts_of
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import PARAGRAPHS


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.xz"
    path.write_bytes(lzma.compress(b"one\n\n  two \n<range>\n"))
    for format, expected in (("lines", ["one", "two", "<range>"]), ("vline", ["one", "two"])):
        table, _ = read_table(plain_text.read, path, format=format)
        assert table["text"].to_pylist() == expected


def test_unknown_format(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="format pdf: unknown"):
        read_table(plain_text.read, tmp_path / "x", format="pdf")


def test_table_of_running_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\nfour\n")
    files = [CorpusFile(tmp_path / f"{name}.txt", "lines") for name in "ab"]
    table, card = read_table(plain_text.read, files, limit=3)
    assert table.schema.equals(PARAGRAPHS)
    assert table["text"].to_pylist() == ["one", "two", "three"]
    assert len(set(table["id"].to_pylist())) == 3
    assert card["counts"] == {"texts": 3}
    (tmp_path / "a.txt").write_text("\n")
    with pytest.raises(DataError, match="there is no text in it"):
        read_table(plain_text.read, files[0])


@needs_mirror
def test_real_verses(tmp_path: Path) -> None:
    path = mirrored("bible/ebible-corpus/corpus/jpn-jpn1965.txt*")
    table, _ = read_table(plain_text.read, path, format="vline", folder=tmp_path)
    texts = table["text"].to_pylist()
    assert len(texts) == 7938
    assert all(text.strip() == text for text in texts)


def test_texts_in_order(tmp_path: Path) -> None:
    path, texts = tmp_path / "x.parquet", [str(number) for number in range(50)]
    pq.write_table(pa.table({"title": texts[::-1], "text": texts}), path, row_group_size=20)
    assert list(texts_of(path)) == texts


def test_texts_in_random_order(tmp_path: Path) -> None:
    path, texts = tmp_path / "x.parquet", [str(number) for number in range(50)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=20)
    found = [list(shuffled_texts(path, seed, "en")) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert sorted(found[0], key=int) == sorted(found[2], key=int) == texts
