"""Running text out of every kind of corpus."""

import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import mirrored, needs_mirror, read_table

from mbert_atlas.corpora import plain_text
from mbert_atlas.corpora.jobs import CorpusFile
from mbert_atlas.corpora.plain_text import iter_texts, shuffled_texts
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import PARAGRAPHS


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.txt.xz"
    path.write_bytes(lzma.compress(b"one\n\n  two \n<range>\n"))
    assert list(iter_texts(path, "lines")) == ["one", "two", "<range>"]
    assert list(iter_texts(path, "vline")) == ["one", "two"]


def test_paragraphs(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    write_parquet(pa.table({"text": ["one", " ", "two"]}), path)
    assert list(iter_texts(path, "paragraphs")) == ["one", "two"]
    write_parquet(pa.table({"title": ["one"]}), path)
    with pytest.raises(DataError, match="column text: not a readable Parquet file with it"):
        list(iter_texts(path, "paragraphs"))


def test_conllu(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    withheld = "1\t_\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    path.write_text("# text = Go on!\n1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n" + withheld)
    assert list(iter_texts(path, "conllu")) == ["Go on!"]


def test_sides_of_bitexts(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.en-es.en", "one\n")
        archive.writestr("a.en-es.es", "uno\n")
        archive.writestr("spa.txt", "Go.\tVe.\n")
    assert list(iter_texts(path, "moses", language="es")) == ["uno"]
    assert list(iter_texts(path, "moses")) == ["one"]
    assert list(iter_texts(path, "manythings", language="es")) == ["Ve."]
    assert list(iter_texts(path, "manythings")) == ["Go."]


def test_unknown_format_at_once(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="format pdf: unknown"):
        iter_texts(tmp_path / "x", "pdf")


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
@pytest.mark.parametrize(
    ("path", "format", "language", "expected"),
    [
        ("bible/ebible-corpus/corpus/jpn-jpn1965.txt*", "vline", "ja", 7938),
        ("universal-dependencies/UD_Hindi-PUD/hi_pud-ud-test.conllu*", "conllu", "hi", 1000),
        ("tatoeba-manythings/vie-eng.zip", "manythings", "vi", 8050),
        ("opus-moses/en-ru.txt.zip", "moses", "ru", 4072),
    ],
)
def test_real_texts(path: str, format: str, language: str, expected: int) -> None:
    texts = list(iter_texts(mirrored(path), format, language=language))
    assert len(texts) == expected
    assert all(text.strip() == text for text in texts)


def test_texts_in_random_order(tmp_path: Path) -> None:
    path, texts = tmp_path / "x.parquet", [str(number) for number in range(50)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=20)
    found = [list(shuffled_texts(path, seed, "en")) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert sorted(found[0], key=int) == sorted(found[2], key=int) == texts
