"""What version control and servers deliver in place of data is no data, for any reader."""

import bz2
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from reading import LANGUAGES, CorpusFile, read_table, tar_gzip

from mbert_atlas.corpora import (
    bitext,
    dictionaries,
    ner,
    nli,
    plain_text,
    qa,
    typology,
    universal_dependencies,
    wikipedia,
)
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.corpora.jobs import ReadingJob, Upstream
from mbert_atlas.errors import DataError

RUSSIAN = "съешь ещё этих мягких булок"
NOT_DATA = {
    "LFS": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1234567\n",
        "it is a Git LFS pointer, not the data",
    ),
    "annex": (b"/annex/objects/SHA256E-s12--4d7a.txt\n", "it is a git-annex pointer, not"),
    "annex link": (
        b"../../.git/annex/objects/Xk/m3/SHA256E-s1--4d/SHA256E-s1--4d",
        "it is a git-annex pointer, not",
    ),
    "HTML": (b"\n<!DOCTYPE html>\n<html lang=en><head>", "it is an HTML page, not the data"),
    "HTML 4": (
        b'<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://w3.org">\n<HTML><HEAD>',
        "it is an HTML page, not the data",
    ),
    "XHTML": (
        b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- x --><html xmlns="y"><head>',
        "it is an HTML page, not the data",
    ),
    "S3": (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>NoSuchKey</Code></Error>',
        "it is an error message of a server (XML), not the data",
    ),
    "404": (b"404: Not Found", "it is an error message of a server, not the data"),
    "empty": (b"", "the file is empty"),
    "blank": (b" \n\n\r\n", ""),
}


def of(module: Any, name: str, format: str = "", **more: Any) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / name).write_bytes(content)
        options = {"minimum_characters": 5} | more
        partners = [folder / name] if options.pop("twice", False) else []
        read_table(module.read, folder / name, "de", format=format, partners=partners, **options)

    return read


def zipped(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def member(reader: Callable[[Path, bytes], None], name: str) -> Callable[[Path, bytes], None]:
    return lambda folder, content: reader(folder, zipped({name: content}))


def gold(format: str, files: int) -> Callable[[Path, bytes], None]:
    def read(folder: Path, content: bytes) -> None:
        (folder / "x.txt").write_bytes(content)
        read_gold([folder / "x.txt"] * files, format)

    return read


def wals(folder: Path, content: bytes) -> None:
    names = ("languages", "values", "codes")
    for name in names:
        (folder / f"{name}.csv").write_bytes(content)
    path, *partners = (folder / f"{name}.csv" for name in names)
    upstream = Upstream(LANGUAGES["de"], [CorpusFile(path, "", partners)])
    typology.read(ReadingJob([upstream], {}, folder / "o.parquet", folder / "o.card.json"))


READERS = {
    "dictionary": of(dictionaries, "x.txt"),
    "lines": of(plain_text, "x.txt", "lines"),
    "vline": of(plain_text, "x.txt", "vline"),
    "wikimatrix": of(bitext, "x.tsv", "wikimatrix"),
    "manythings": of(bitext, "x.txt", "manythings"),
    "parallel": of(bitext, "x.txt", "lines", twice=True),
    "moses": member(of(bitext, "x.zip", "moses"), "x.en"),
    "panx": of(ner, "x.tsv", "panx"),
    "rahimi": of(ner, "x.tsv", "rahimi"),
    "conll2003": of(ner, "x.txt", "conll2003"),
    "multinli": of(nli, "x.jsonl", "multinli"),
    "multinli zip": member(of(nli, "x.zip", "multinli"), "multinli_1.0_test.jsonl"),
    "xnli": of(nli, "x.tsv", "xnli"),
    "xtreme": of(nli, "x.tsv", "xtreme"),
    "taxinli": of(nli, "x.tsv", "taxinli"),
    "squad": of(qa, "x.json", "squad"),
    "treebank": of(universal_dependencies, "x.conllu"),
    "xlwa": gold("xlwa", 1),
    "naacl": gold("naacl", 3),
    "wals": wals,
    "dump": of(wikipedia, "x.xml"),
    "Parquet": of(wikipedia, "x.parquet"),
    "SHA256SUMS": of(wikipedia, "SHA256SUMS"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", NOT_DATA)
def test_what_is_not_the_data_is_named(tmp_path: Path, reader: str, kind: str) -> None:
    content, message = NOT_DATA[kind]
    with pytest.raises(DataError, match=re.escape(message) or None) as caught:
        READERS[reader](tmp_path, content)
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.glob("o.*"))


def test_members_and_compressed_files(tmp_path: Path) -> None:
    pointer, message = NOT_DATA["LFS"]
    with pytest.raises(DataError, match=f"x.bz2: {message}"):
        of(dictionaries, "x.bz2")(tmp_path, bz2.compress(pointer))
    with pytest.raises(DataError, match=f"x.bz2: {message}"):
        of(dictionaries, "x.bz2")(tmp_path, pointer)  # not compressed
    with pytest.raises(DataError, match=r"x\.bz2: the file is empty"):
        of(dictionaries, "x.bz2")(tmp_path, bz2.compress(b""))
    with pytest.raises(DataError, match=rf"x\.tar\.gz:test: {message}"):
        of(ner, "x.tar.gz", "rahimi")(tmp_path, tar_gzip({"test": pointer.decode()}))
    with pytest.raises(DataError, match=r"x\.tar\.gz:test: the file is empty"):
        of(ner, "x.tar.gz", "rahimi")(tmp_path, tar_gzip({"test": ""}))
    archive = tar_gzip({"UD_German-X/de_x-ud-test.conllu": pointer.decode()})
    with pytest.raises(DataError, match=rf"de_x-ud-test\.conllu: {message}"):
        of(universal_dependencies, "x.tgz")(tmp_path, archive)


@pytest.mark.parametrize(
    "first",
    [
        "<html> is the tag with which a page begins",
        "<Error> is what the parser returned",
        "<s> a sentence </s>",
        "version https://git-lfs.github.com is a server",
        "annex/objects are a folder",
        "404: Not Found is a common answer",
        "\n\n\n",
    ],
)
def test_texts_may_begin_with_what_looks_like_it(tmp_path: Path, first: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(f"{first}\nand a second line\n")
    table, _ = read_table(plain_text.read, path, format="lines")
    assert table["text"].to_pylist() == [*filter(None, [first.strip()]), "and a second line"]


def test_gold_links_of_another_language(tmp_path: Path) -> None:
    lines = "the soft french rolls and more tea\tсъешь ещё этих мягких булок\t0-0\n"
    path = tmp_path / "test.tsv"
    path.write_text(lines)
    assert len(read_gold(path, "xlwa", LANGUAGES["ru"])) == 1
    with pytest.raises(DataError, match=r"test\.tsv, language de: 0\.0% .*100% are cyrillic"):
        read_gold(path, "xlwa", LANGUAGES["de"])
    english, russian, links = (tmp_path / name for name in ("en", "ru", "wa"))
    english.write_text("<s snum=1>the soft french rolls and more tea</s>\n")
    russian.write_text(f"<s snum=1>{RUSSIAN}</s>\n")
    links.write_text("1 1 1\n\n")  # with an empty line at the end
    assert len(read_gold([english, russian, links], "naacl", LANGUAGES["ru"])) == 1
    with pytest.raises(DataError, match=r"ru, language en: .*are the sides exchanged"):
        read_gold([russian, english, links], "naacl", LANGUAGES["ru"])


ROWS = {
    "dictionary": ("dog{0} hund{0}\n", of(dictionaries, "x.txt")),
    "wikimatrix": ("1.0\tdog {0}\thund {0}\n", of(bitext, "WikiMatrix.de-en.tsv", "wikimatrix")),
    "manythings": ("dog {0}\thund {0}\n", of(bitext, "x.txt", "manythings")),
    "xtreme": ("a {0}\tb\tneutral\n", of(nli, "x.tsv", "xtreme")),
    "multinli": (
        '{{"pairID": "{0}", "sentence1": "a", "sentence2": "b", "gold_label": "neutral", '
        '"genre": "x"}}\n',
        of(nli, "x.jsonl", "multinli"),
    ),
    "xlwa": ("a {0}\tb {0}\t0-0\n", gold("xlwa", 1)),
    "panx": ("dog{0}\tO\n", of(ner, "x.tsv", "panx")),
    "lines": ("dog {0}\n", of(plain_text, "x.txt", "lines")),
}


@pytest.mark.parametrize("end", ["\n", "\r\n", " \n", "\n\n", " "])
@pytest.mark.parametrize("kind", ROWS)
def test_an_empty_line_at_the_end_is_no_row(tmp_path: Path, kind: str, end: str) -> None:
    row, read = ROWS[kind]
    if kind == "panx" and " " in end:
        pytest.skip("a blank is a line there")
    read(tmp_path, ("".join(map(row.format, range(5))) + end).encode())


def tarred(members: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("folder", ["", "panx_dataset/"])
@pytest.mark.parametrize("name", ["panx_dataset.zip", "panx_dataset.tar"])
def test_the_content_tells_a_zip_from_a_tar(tmp_path: Path, folder: str, name: str) -> None:
    """Dropbox's copy of WikiANN is a plain tar, which may be saved as panx_dataset.zip."""
    inner, read = tar_gzip({"test": "de:x\tO\n\n"}), of(ner, name, "rahimi")
    members = {f"{folder}fr.tar.gz": b"", f"{folder}de.tar.gz": inner}
    for content in (tarred(members), zipped(members)):
        read(tmp_path, content)
        with pytest.raises(DataError, match="cut short or damaged"):
            read(tmp_path, content[: content.index(inner) + len(inner) - 9])
    with pytest.raises(DataError, match=r"member de\.tar\.gz: found no such member among x; "):
        read(tmp_path, tarred({"x": b""}))
