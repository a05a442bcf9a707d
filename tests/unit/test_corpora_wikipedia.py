"""Dumps to paragraphs through the real WikiExtractor, and the language identification sample."""

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from mbert_atlas.corpora import dumps
from mbert_atlas.corpora.wikipedia import (
    SPLITS,
    _Paragraphs,
    _split_sizes,
    extract_paragraphs,
    sample_language_identification,
)
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import open_text, read_json, write_parquet
from mbert_atlas.schemas import LID_EXAMPLES, PARAGRAPHS

MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
needs_mirror = pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")

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


def extract(path: Path, language: str = "xx", **more: Any) -> tuple[list[dict[str, Any]], Any]:
    output, card = path.parent / "o.parquet", path.parent / "o.card.json"
    try:
        extract_paragraphs(path, language, output, card, **more)
    except AtlasError:
        assert sorted(path.parent.iterdir()) == [path]  # nothing half-written, no leftovers
        raise
    table = pq.read_table(output)
    assert table.schema.equals(PARAGRAPHS)
    return table.to_pylist(), read_json(card)


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
    many = [page(n, f"Page {n}", f"{LONG} Number {n}.\nünïcödé şçğ भाषा {n}") for n in range(1, 60)]
    plain, _ = extract(write_dump(tmp_path / "d.xml", dump(*many)), processes=3)
    assert [row["page_id"] for row in plain] == list(range(1, 60))
    wide = tmp_path / "d.xml.bz2"
    wide.write_bytes(bz2.compress(dump(*many).encode("utf-16")))
    again, _ = extract(wide)
    assert again == plain


def test_minimum_is_counted_in_characters(tmp_path: Path) -> None:
    text = "\n".join(["я" * 9, "я" * 10, "a\tb" + "я" * 7])
    rows, _ = extract(
        write_dump(tmp_path / "d.xml", dump(page(1, "T", text))), minimum_characters=10
    )
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


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz"])
def test_truncated_dump(tmp_path: Path, suffix: str) -> None:
    path = write_dump(tmp_path / f"d.xml{suffix}", dump(*PAGES * 50))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"cut short or damaged .*fetches it again"):
        extract(path)


def test_missing_and_empty_dump(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        extract_paragraphs(tmp_path / "d.xml", "xx", tmp_path / "o", tmp_path / "c")
    (tmp_path / "d.xml").touch()
    with pytest.raises(DataError, match="the file is empty"):
        extract(tmp_path / "d.xml")


PROGRAMS = {
    "fails": ("import sys; sys.exit('out of luck')", "wikiextractor ended with 1: out of luck"),
    "loses": ("import sys; sys.stdin.buffer.read()", r"returned 0 of 4 articles"),
    "hangs after a traceback": (
        "import sys, time; print('Traceback (most recent call last):\\nValueError: x', "
        "file=sys.stderr, flush=True); time.sleep(600)",
        "wikiextractor failed: ValueError: x",
    ),
    "hangs in silence": ("import time; time.sleep(600)", "took and gave nothing for 0 seconds"),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_program_that_misbehaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    code, message = PROGRAMS[kind]
    monkeypatch.setattr(dumps, "_command", lambda processes: [sys.executable, "-c", code])
    if kind == "hangs in silence":
        monkeypatch.setattr(dumps, "STALL_SECONDS", 0.0)
    path = write_dump(tmp_path / "d.xml", dump(*PAGES))
    with pytest.raises(AtlasError, match=message):
        extract(path)


def test_program_is_killed_when_its_reader_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(dumps.subprocess, "Popen", Recorded)
    path = write_dump(tmp_path / "d.xml", dump(*PAGES * 3000))
    pages = Counter[str]()
    with dumps.plain_articles(path, pages) as found:
        next(found)
    assert started[0].returncode == -signal.SIGKILL
    assert 0 < pages["articles"] < 12_000


def test_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise dumps.PackageNotFoundError(name)

    monkeypatch.setattr(dumps, "version", missing)
    with pytest.raises(AtlasError, match="wikiextractor is not installed"):
        extract(write_dump(tmp_path / "d.xml", dump(*PAGES)))


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
    (found,) = Path(str(MIRROR), "mediawiki").glob(path)
    extract_paragraphs(found, "xx", tmp_path / "o.parquet", tmp_path / "c.json")
    counts = read_json(tmp_path / "c.json")["counts"]
    assert (counts["pages"], counts["articles"], counts["paragraphs"]) == (
        pages,
        articles,
        paragraphs,
    )


@needs_mirror
def test_same_text_as_wikiextractor_run_by_hand(tmp_path: Path) -> None:
    """The dump that is streamed to the program loses nothing of the dump on disk."""
    (found,) = Path(str(MIRROR), "mediawiki/dumpster-dive").glob("*")
    with open_text(found) as stream:
        (tmp_path / "dump.xml").write_text(stream.read(), encoding="utf-8")
    program = [sys.executable, "-m", "wikiextractor.WikiExtractor", "dump.xml"]
    options = ["-o", "-", "--json", "-q", "--no-templates", "--html-safe", "", "--processes", "1"]
    done = subprocess.run([*program, *options], cwd=tmp_path, capture_output=True, check=True)
    by_hand = [dumps.json.loads(line) for line in done.stdout.splitlines()]
    pages = Counter[str]()
    with dumps.plain_articles(found, pages) as articles:
        ours = [(article.id, article.title, article.text) for article in articles]
    assert (pages.total(), len(ours)) == (2004, 903)
    assert ours == [
        (int(one["id"]), dumps.unescape(one["title"], {"&quot;": '"'}), one["text"])
        for one in by_hand
    ]


# Language identification


@pytest.fixture(scope="module")
def tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    vocabulary = {"[UNK]": 0, "word": 1, "##s": 2} | {str(n): n + 3 for n in range(10)}
    vocabulary |= {f"##{n}": n + 13 for n in range(10)}
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.enable_truncation(2)  # must not hide an unknown piece further on
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def paragraphs(path: Path, texts: list[str], language: str = "xx", group: int = 7) -> Path:
    rows = [
        {"id": f"{language}-{n}", "language": language, "page_id": n, "title": "T", "text": text}
        for n, text in enumerate(texts)
    ]
    table = pa.Table.from_pylist(rows, PARAGRAPHS)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)
    return path


def sample(
    folder: Path, tokenizer_dir: Path | None, files: dict[str, Path], **more: Any
) -> tuple[pa.Table, Any]:
    output, card = folder / "lid.parquet", folder / "lid.card.json"
    more = {"seed": 1, "per_language": 20} | more
    sample_language_identification(files, tokenizer_dir, output, card, **more)
    table = pq.read_table(output)
    assert table.schema.equals(LID_EXAMPLES)
    return table, read_json(card)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    return {
        "xx": paragraphs(
            tmp_path / "xx.parquet",
            [f"word words {n}" for n in range(100)]
            + [f"word words {n} ж" for n in range(100)]
            + ["word word word"] * 100,
        ),
        "yy": paragraphs(tmp_path / "yy.parquet", [f"words {n}" for n in range(13)], "yy"),
    }


def test_sample_is_stratified_and_free_of_unknown_pieces(
    tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    table, card = sample(tmp_path, tokenizer_dir, files)
    rows = table.to_pylist()
    sizes = Counter((row["language"], row["split"]) for row in rows)
    expected = {"xx": (14, 2, 2, 2), "yy": (9, 2, 1, 1)}
    assert sizes == {
        (language, split): size
        for language, wanted in expected.items()
        for split, size in zip(SPLITS, wanted, strict=True)
    }
    texts = [row["text"] for row in rows]
    assert len(set(texts)) == len(texts)
    assert not any("ж" in text for text in texts)
    assert len({row["id"] for row in rows}) == 33
    counts, dropped = card["counts"], card["dropped"]
    assert counts["yy: shortfall"] == 7
    assert "xx: shortfall" not in counts
    assert counts["xx: examples"] == 20
    met = counts["xx: examples"] + dropped["xx: unknown piece"] + dropped["xx: exact duplicate"]
    assert counts["xx: paragraphs looked at"] == met < counts["xx: paragraphs"] == 300
    assert (counts["train"], counts["test"]) == (23, 3)


def test_unknown_pieces_stay_where_there_is_no_vocabulary(
    tmp_path: Path, files: dict[str, Path]
) -> None:
    table, card = sample(tmp_path, None, files, per_language=150)
    texts = table["text"].to_pylist()
    assert sum("ж" in text for text in texts) > 50
    assert len(set(texts)) == len(texts)
    assert "xx: unknown piece" not in card["dropped"]


def test_all_that_pass_when_more_are_wanted(
    tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    table, card = sample(tmp_path, tokenizer_dir, {"xx": files["xx"]}, per_language=5000)
    expected = {f"word words {n}" for n in range(100)} | {"word word word"}
    assert set(table["text"].to_pylist()) == expected
    assert table.num_rows == 101
    assert card["dropped"] == {"xx: unknown piece": 100, "xx: exact duplicate": 99}


def test_seed_decides_and_languages_do_not_disturb_each_other(
    tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    both, _ = sample(tmp_path, tokenizer_dir, files)
    again, _ = sample(tmp_path, tokenizer_dir, dict(reversed(files.items())))
    alone, _ = sample(tmp_path, tokenizer_dir, {"xx": files["xx"]})
    other, _ = sample(tmp_path, tokenizer_dir, files, seed=2)
    assert both.equals(again)
    assert both.slice(0, 20).equals(alone)
    assert both["id"].to_pylist() != other["id"].to_pylist()


def test_too_few_paragraphs(tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]) -> None:
    with pytest.raises(DataError, match=r"yy\.parquet, language yy: 13 of 13 paragraphs pass, 14"):
        sample(tmp_path, tokenizer_dir, files, minimum_per_language=14)
    assert not (tmp_path / "lid.parquet").exists()


def test_bad_inputs_of_the_sample(
    tmp_path: Path, tokenizer_dir: Path, files: dict[str, Path]
) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
        sample(tmp_path, tmp_path, files)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer"):
        sample(tmp_path, tmp_path, files)
    Tokenizer(WordPiece({"a": 0}, unk_token="?")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match=r"has neither \[UNK\] nor <unk>"):
        sample(tmp_path, tmp_path, files)
    (tmp_path / "junk").write_text("junk")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        sample(tmp_path, tokenizer_dir, {"xx": tmp_path / "junk"})
    write_parquet(pa.table({"text": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(DataError, match=r"columns: found \['text'\]"):
        sample(tmp_path, tokenizer_dir, {"xx": tmp_path / "other.parquet"})


def test_rows_come_in_the_order_asked_for(tmp_path: Path) -> None:
    reader = _Paragraphs(paragraphs(tmp_path / "p.parquet", [str(n) for n in range(50)], group=8))
    wanted = [49, 0, 7, 8, 31, 9]
    ids, texts = reader.rows(pa.array(wanted).to_numpy())
    assert texts == [str(n) for n in wanted]
    assert ids == [f"xx-{n}" for n in wanted]


shares = (
    st.lists(st.integers(0, 100), min_size=3, max_size=3)
    .map(sorted)
    .map(
        lambda cuts: [
            n / 100 for n in (cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1], 100 - cuts[2])
        ]
    )
)


@given(st.integers(0, 6000), shares)
def test_split_sizes_keep_the_shares(items: int, fractions: list[float]) -> None:
    sizes = _split_sizes(items, fractions)
    assert sum(sizes) == items
    for size, fraction in zip(sizes, fractions, strict=True):
        assert abs(size - items * fraction) < 1 + 1e-9
        if fraction == 0:
            assert size == 0


def test_split_sizes_of_the_paper() -> None:
    assert _split_sizes(5000, [0.7, 0.1, 0.1, 0.1]) == [3500, 500, 500, 500]
