"""Dumps to paragraphs through the real WikiExtractor."""

import bz2
import gzip
import json
import lzma
import os
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reading import language, mirrored, needs_mirror, read_table

from mbert_atlas.corpora import wikipedia
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.errors import DataError, TransientError
from mbert_atlas.files import open_text, read_parquet, sha256_of
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


def test_no_text_depends_on_the_clock(tmp_path: Path) -> None:
    text = "Prices of {{CURRENTYEAR}}, at {{ currenttime }} on {{CURRENTDAY}} {{CURRENTMONTH}}."
    rows, _ = extract(write_dump(tmp_path / "d.xml", dump(page(1, "T", text))), minimum=5)
    assert not re.search("[0-9]", rows[0]["text"])


BROKEN = {
    "no paragraph": (dump(page(1, "T", "short")), r"no paragraph of 100 characters or more in 1"),
    "not a dump": ("<feed><entry/></feed>", r"root element is <feed>, not <mediawiki>"),
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


def history(*revisions: str) -> str:
    return dump(f"<page><title>T</title><ns>0</ns><id>1</id>{''.join(revisions)}</page>")


def revision(number: int, day: int, text: str, more: str = "") -> str:
    date = f"<timestamp>2020-01-{day:02}T00:00:00Z</timestamp>"
    return f"<revision><id>{number}</id>{date}{more}<text>{text}</text></revision>"


@pytest.mark.parametrize(
    ("revisions", "texts", "dropped"),
    [
        ([(9, 1, "the oldest"), (10, 3, "the newest"), (11, 2, "between")], ["the newest"], 1),
        ([(9, 1, "the older"), (10, 1, "the same day")], ["the same day"], 1),  # 9 < 10
        ([(9, 1, "the only one")], ["the only one"], 0),
    ],
)
def test_the_newest_revision_counts(
    tmp_path: Path, revisions: list[Any], texts: list[str], dropped: int
) -> None:
    text = history(*(revision(*one) for one in revisions))
    rows, card = extract(write_dump(tmp_path / "d.xml", text), minimum=5)
    assert [row["text"] for row in rows] == texts
    assert card["dropped"].get("page: older revisions", 0) == dropped


def test_a_history_is_not_held_in_memory(tmp_path: Path) -> None:
    text = "x" * 10_000
    path = write_dump(
        tmp_path / "d.xml", history(*(revision(n, 1 + n % 28, text) for n in range(2000)))
    )
    tracemalloc.start()
    (article,) = wikipedia.articles(path, Counter())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert article.older == 1999
    assert peak < 2_000_000  # the file has 20 million characters


def test_deleted_texts_and_other_models(tmp_path: Path) -> None:
    deleted = revision(2, 2, "").replace("<text></text>", '<text deleted="deleted" />')
    data = history(revision(1, 1, LONG, "<model>json</model>"))
    kept = page(5, "Kept", LONG).replace("<text", "<model>wikitext</model><text")
    for text, kind in (history(revision(1, 1, LONG), deleted), "empty"), (data, "not wikitext"):
        path = write_dump(tmp_path / "d.xml", text.replace("</mediawiki>", f"{kept}</mediawiki>"))
        rows, card = extract(path)
        assert [row["text"] for row in rows] == [PLAIN]
        assert card["dropped"][f"page: {kind}"] == 1


def sums(folder: Path, *names: str, form: str = "{}  {}\n") -> Path:
    lines = [form.format(sha256_of(folder / name), name) for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines) + "\n")
    return folder / "SHA256SUMS"


@pytest.mark.parametrize("form", ["{}  {}\n", "{} *{}\n", "{}  ./{}\r\n"])
def test_parts_in_the_order_of_their_pages(tmp_path: Path, form: str) -> None:
    names = [f"xxwiki-2026-08-01-p{pages}.xml.bz2" for pages in ("5p90", "100p200", "1000p1000")]
    for number, name in enumerate(names, 1):
        write_dump(tmp_path / name, dump(page(number, f"T{number}", LONG), page(1, "Again", LONG)))
    rows, card = extract(sums(tmp_path, *reversed(names), form=form))
    assert [(row["page_id"], row["title"]) for row in rows] == [(1, "T1"), (2, "T2"), (3, "T3")]
    assert card["dropped"]["page: repeated"] == 3
    paths = [Path(one["path"]).name for one in card["source_files"]]
    assert paths == ["SHA256SUMS", *names]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "a.xml").unlink(), r"a\.xml: no such file, although"),
        (lambda folder: (folder / "a.xml").write_text("x"), r"a\.xml: its SHA-256 is not that of"),
        (
            lambda folder: (folder / "SHA256SUMS").write_text(f"{'0' * 64}  ../a.xml\n"),
            r"\.\./a\.xml does not lie next to it",
        ),
    ],
)
def test_parts_that_are_not_those_listed(tmp_path: Path, change: Any, message: str) -> None:
    write_dump(tmp_path / "a.xml", dump(*PAGES))
    path = sums(tmp_path, "a.xml")
    change(tmp_path)
    with pytest.raises(DataError, match=f"{message}.*delete {path}, and the next start fetches"):
        extract(path)


def test_a_list_of_parts_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("a.xml\n")
    with pytest.raises(DataError, match=r"SHA256SUMS, line 1: not `<sha256>  <path>`"):
        extract(tmp_path / "SHA256SUMS")


def write_shard(path: Path, rows: list[tuple[str, str, str | None]]) -> Path:
    """A file in the form of the dataset wikimedia/wikipedia."""
    columns = [
        [one for one, _, _ in rows],
        [f"https://xx.wikipedia.org/wiki/{title}" for _, title, _ in rows],
        [title for _, title, _ in rows],
        [text for _, _, text in rows],
    ]
    pq.write_table(pa.table(columns, names=["id", "url", "title", "text"]), path)
    return path


def test_parquet_has_plain_text(tmp_path: Path) -> None:
    text = f"Short one\n\n{PLAIN}\n\nNames\n'''{PLAIN}''' <ref>"
    path = write_shard(tmp_path / "train-0.parquet", [("3", "Sea", text), ("4", "Void", None)])
    rows, card = extract(path)
    assert [(row["id"], row["page_id"], row["title"], row["text"]) for row in rows] == [
        ("xx-3-0", 3, "Sea", PLAIN),
        ("xx-3-1", 3, "Sea", f"'''{PLAIN}''' <ref>"),  # nothing is extracted
    ]
    counts = {"pages": 2, "articles": 1, "articles without a paragraph": 0, "paragraphs": 2}
    assert card["counts"] == counts
    assert card["dropped"] == {"line: shorter than 100 characters": 2, "page: empty": 1}
    assert (card["notes"], "wikiextractor" in card["created_by"]) == ([], False)
    dump_path = write_dump(tmp_path / "d.xml", dump(page(3, "Again", LONG), page(9, "T", LONG)))
    files = [CorpusFile(path), CorpusFile(dump_path)]
    table, card = read_table(wikipedia.read, files, "xx", minimum_characters=100)
    assert table["id"].to_pylist() == ["xx-3-0", "xx-3-1", "xx-9-0"]
    assert card["dropped"]["page: repeated"] == 1
    assert len(card["source_files"]) == 2


def test_bad_parquet_is_one_sentence(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "a.parquet", [("3", "Sea", PLAIN), ("x", "Void", PLAIN)])
    with pytest.raises(DataError, match=r"a\.parquet, row 2: not an article .*'x'"):
        extract(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"a\.parquet: not a readable Parquet file"):
        extract(path)
    pq.write_table(pa.table({"id": ["1"], "text": ["x"]}), path)
    with pytest.raises(DataError, match=r"a\.parquet: no columns of strings id, title, text"):
        extract(path)


def test_variants_become_one(tmp_path: Path) -> None:
    text = "這是-{zh-hans:计算机;zh-hant:電腦}-的文章，講述歷史和發展過程。"
    text += "-{H|zh-hans:博客;zh-hant:部落格}-\n這-{里}-是第二段，很大很大很大。"
    path = write_dump(tmp_path / "d.xml", dump(page(1, "T", text)))
    shard = write_shard(tmp_path / "a.parquet", [("1", "T", text)])
    options = {"script": "Hans", "minimum_characters": 2}
    for file in (path, shard):
        table, card = read_table(wikipedia.read, file, "zh", **options)
        assert table["text"].to_pylist() == [
            "這是计算机的文章，講述歷史和發展過程。",
            "這里是第二段，很大很大很大。",
        ]
        assert card["counts"]["markup of variants resolved"] == 3
        table, card = read_table(wikipedia.read, file, "ja", **options | {"script": "Jpan"})
        assert "-{里}-" in table["text"].to_pylist()[1]
        with pytest.raises(DataError, match=r"language en: 0\.0% of the letters.*cjk"):
            read_table(wikipedia.read, file, "en", **options | {"script": "Latn"})


@needs_mirror
def test_content_export_has_the_paragraphs_of_the_dump(tmp_path: Path) -> None:
    """Wikimedia's form since 2025: parts with all namespaces, export schema 0.11."""
    whole = mirrored("mediawiki/dumpster-dive/*")
    with open_text(whole) as stream:
        pages = re.findall("<page>.*?</page>", stream.read(), re.DOTALL)
    assert len(pages) == 2004
    names = []
    for number, start in enumerate(range(0, len(pages), 500)):
        first, last = start + 1, min(start + 500, len(pages))
        names.append(f"ltgwiki-2026-08-01-p{first}p{last}.xml.bz2")
        talk = page(10**6 + number, f"Talk:{number}", LONG, namespace=1)
        write_dump(tmp_path / names[-1], dump(*pages[start:last], talk))
    (tmp_path / "one").mkdir()
    expected, before = extract(whole, tmp_path / "one")
    rows, card = extract(sums(tmp_path, *sorted(names)))
    assert rows == expected
    assert len(rows) == 1526
    assert card["counts"]["pages"] == before["counts"]["pages"] + len(names)
    outside = "page: outside the main namespace"
    assert card["dropped"][outside] == before["dropped"][outside] + len(names)


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
