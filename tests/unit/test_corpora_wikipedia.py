"""Dumps to paragraphs through the real WikiExtractor."""

import bz2
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

import pytest
from reading import language, mirrored, needs_mirror, read_table

from mbert_atlas.corpora import wikipedia
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.errors import DataError, TransientError
from mbert_atlas.files import open_text, read_parquet
from mbert_atlas.schemas import PARAGRAPHS

LONG = (
    "The '''sea''' is a [[body of water|large body]] of salt &amp; water"
    "&lt;ref&gt;cited&lt;/ref&gt; that {{convert|1|km}} covers more than two thirds "
    "of the [[Earth]] and feeds many people."
)
PLAIN = (
    "The sea is a large body of salt & water that covers more than two thirds of the Earth and "
    "feeds many people."
)
SIGNS = (
    "If a &amp;lt; b and c &amp;gt; d then the signs stay what they are on the page, and the "
    "&quot;quotes&quot; of this one do too."
)


def page(number: int, title: str, text: str, namespace: int = 0, more: str = "") -> str:
    return (
        f"<page><title>{title}</title><ns>{namespace}</ns><id>{number}</id>{more}\n<revision>"
        f'<id>{number}0</id><text xml:space="preserve">{text}</text></revision></page>\n'
    )


def dump(*pages: str) -> str:
    return (
        '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11">\n<siteinfo>'
        "<sitename>Wiki</sitename><base>https://xx.wikipedia.org/wiki/Main</base><namespaces>\n"
        '<namespace key="0" />\n<namespace key="10">Template</namespace>\n</namespaces>'
        "</siteinfo>\n" + "".join(pages) + "</mediawiki>\n"
    )


PAGES = [
    page(
        3, "Sea", f"{{{{Infobox|a={{{{b}}}}}}}}\n{LONG}\n\n== Names ==\nshort line\n* item\n{LONG}"
    ),
    page(5, "Ocean", "#REDIRECT [[Sea]]", more='<redirect title="Sea" />'),
    page(6, "Template:Convert", "text of a template that is long enough " * 4, namespace=10),
    page(8, "Template metaprogramming", LONG),
    page(9, "Kill Bill: Volume &quot;1&quot; &amp; 2", f"{{|\n| table\n|}}\n{SIGNS}"),
    page(10, "Void", "  "),
    page(11, "List", "* one\n* two"),
]


def write_dump(path: Path, text: str) -> Path:
    encode: Any = {".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}
    data = text.encode()
    path.write_bytes(encode.get(path.suffix, bytes)(data))
    return path


def extract(path: Path, folder: Path | None = None, minimum: int = 100) -> tuple[list[Any], Any]:
    table, card = read_table(wikipedia.read, path, "xx", folder=folder, minimum_characters=minimum)
    assert table.schema.equals(PARAGRAPHS)
    return table.to_pylist(), card


@pytest.mark.parametrize("name", ["d.xml", "d.xml.bz2", "d.xml.gz", "d.xml.xz"])
def test_paragraphs_of_articles(tmp_path: Path, name: str) -> None:
    rows, card = extract(write_dump(tmp_path / name, dump(*PAGES)))
    found = [(row["id"], row["page_id"], row["title"], row["text"]) for row in rows]
    signs = SIGNS.replace("&amp;lt;", "<").replace("&amp;gt;", ">").replace("&quot;", '"')
    assert found == [
        ("xx-3-0", 3, "Sea", PLAIN),
        ("xx-3-1", 3, "Sea", PLAIN),
        ("xx-8-0", 8, "Template metaprogramming", PLAIN),
        ("xx-9-0", 9, 'Kill Bill: Volume "1" & 2', signs),
    ]
    assert {row["language"] for row in rows} == {"xx"}
    assert card["counts"] == {
        "pages": 7,
        "articles": 4,
        "articles without a paragraph": 1,
        "paragraphs": 4,
    }
    assert card["dropped"] == {
        "page: redirect": 1,
        "page: outside the main namespace": 1,
        "page: empty": 1,
        "line: shorter than 100 characters": 2,  # the heading and the short line
    }
    assert "wikiextractor 3.1.0" in card["created_by"]


def test_processes_and_encoding_change_nothing(tmp_path: Path) -> None:
    many = [
        page(n, f"Page {n}", f"{LONG} Number {n}.\nünïcödé şçğ भाषा {n}") for n in range(1, 200)
    ]
    path, output = write_dump(tmp_path / "d.xml", dump(*many)), tmp_path / "3.parquet"
    upstreams, options = [Upstream(language("xx"), [CorpusFile(path)])], {"minimum_characters": 100}
    wikipedia.read(ReadingJob(upstreams, options, output, tmp_path / "3.json", threads=3))
    plain = read_parquet(output).to_pylist()
    assert [row["page_id"] for row in plain] == list(range(1, 200))
    wide = tmp_path / "d.xml.bz2"
    wide.write_bytes(bz2.compress(dump(*many).encode("utf-16")))
    assert extract(wide)[0] == plain


def test_minimum_is_counted_in_characters(tmp_path: Path) -> None:
    text = "\n".join(["я" * 9, "я" * 10, "a\tb" + "я" * 7])
    rows, _ = extract(write_dump(tmp_path / "d.xml", dump(page(1, "T", text))), minimum=10)
    assert [row["text"] for row in rows] == ["я" * 10, "a b" + "я" * 7]


BROKEN = {
    "no paragraph": (dump(page(1, "T", "short")), r"no paragraph of 100 characters or more in 1"),
    "not a dump": ("<html><body/></html>", r"root element is <html>, not <mediawiki>"),
    "malformed": (dump(page(1, "T", LONG + "<")), r"line \d+, column \d+: not well-formed XML"),
    "ends early": (dump(*PAGES)[:-40], r"line \d+, column \d+: not well-formed XML"),
    "not UTF-8": (
        dump(page(1, "T", LONG + "\udcff")),
        r"line \d+, column \d+: not well-formed XML",
    ),
    "no namespace": (
        dump(page(1, "T", LONG).replace("<ns>0</ns>", "")),
        r"page 1 \(T\): title, ns and id are not those of a dump made since 2012",
    ),
    "bad page id": (
        dump(page(7, "A", LONG), page(1, "T", LONG).replace("<id>1<", "<id>one<")),
        r"page 2 \(T\): .*'one'",
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_bad_dump_is_one_sentence(tmp_path: Path, kind: str) -> None:
    text, message = BROKEN[kind]
    path = tmp_path / "d.xml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=r"d\.xml.*" + message):
        extract(path)


def test_truncated_dump(tmp_path: Path) -> None:
    path = write_dump(tmp_path / "d.xml.bz2", dump(*PAGES * 50))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"cut short or damaged .*fetches it again"):
        extract(path)


def test_a_process_that_dies_may_be_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikipedia, "_plain_text", lambda article: os._exit(1))
    path = write_dump(tmp_path / "d.xml", dump(*PAGES))
    with pytest.raises(TransientError, match=r"d\.xml: a process of WikiExtractor died"):
        extract(path)


def test_a_dump_is_read_no_further_than_its_reader_goes(tmp_path: Path) -> None:
    path = write_dump(tmp_path / "d.xml", dump(*PAGES * 300))
    pages = Counter[str]()
    articles = wikipedia.plain_articles(path, pages)
    next(articles)
    articles.close()
    assert 0 < pages["articles"] < 300


@needs_mirror
@pytest.mark.parametrize(
    ("path", "pages", "articles", "paragraphs"),
    [
        ("gensim/bgwiki-latest-pages-articles-shortened.xml.bz2", 3, 1, 16),  # UTF-16
        ("gensim/enwiki-latest-pages-articles1*", 206, 106, 4813),
        ("dbpedia-minidumps/zh/wiki.xml.bz2", 1, 1, 28),
        ("dbpedia-minidumps/ur/wiki.xml.bz2", 4, 4, 85),
    ],
)
def test_real_dumps(tmp_path: Path, path: str, pages: int, articles: int, paragraphs: int) -> None:
    _, card = extract(mirrored(f"mediawiki/{path}"), tmp_path)
    counts = [card["counts"][name] for name in ("pages", "articles", "paragraphs")]
    assert counts == [pages, articles, paragraphs]


@needs_mirror
def test_same_text_as_wikiextractor_run_by_hand(tmp_path: Path) -> None:
    found = mirrored("mediawiki/dumpster-dive/*")
    with open_text(found) as stream:
        (tmp_path / "dump.xml").write_text(stream.read(), encoding="utf-8")
    program = [sys.executable, "-m", "wikiextractor.WikiExtractor", "dump.xml"]
    options = ["-o", "-", "--json", "-q", "--no-templates", "--html-safe", "", "--processes", "1"]
    done = subprocess.run([*program, *options], cwd=tmp_path, capture_output=True, check=True)
    by_hand = [json.loads(line) for line in done.stdout.splitlines()]
    pages = Counter[str]()
    articles = list(wikipedia.plain_articles(found, pages))
    assert (pages.total(), len(articles)) == (2004, 903)
    assert [(article.id, article.title, article.text) for article in articles] == [
        (int(one["id"]), unescape(one["title"], {"&quot;": '"'}), one["text"]) for one in by_hand
    ]
