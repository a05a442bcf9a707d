"""MediaWiki dumps to plain text, article by article, by WikiExtractor run as a program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape, unescape

from mbert_atlas.errors import AtlasError, DataError, TransientError
from mbert_atlas.files import open_bytes
from mbert_atlas.progress import track

STALL_SECONDS = 600.0

_QUOTE = {'"': "&quot;"}  # MediaWiki escapes it, and WikiExtractor's patterns rely on that
_UNQUOTE = {"&quot;": '"'}
# WikiExtractor drops every article whose title begins with the wiki's name for templates
# ("Template metaprogramming" on the English wiki), and every article of a dump without that name.
# Only articles reach it from here, so the name is one with which no title can begin.
_HEAD = (
    "<mediawiki>\n<siteinfo>\n<base>https://wiki.invalid/wiki/Main_Page</base>\n"
    '<namespaces>\n<namespace key="10">|</namespace>\n</namespaces>\n</siteinfo>\n'
)
_TAIL = "</mediawiki>\n"


@dataclass(frozen=True)
class Article:
    """An article of the main namespace: its markup before extraction, its text after it."""

    id: int
    title: str
    text: str


def wikiextractor_version() -> str:
    """Return the version of the WikiExtractor that is installed.

    Raises:
        AtlasError: if none is.
    """
    try:
        return version("wikiextractor")
    except PackageNotFoundError as error:
        raise AtlasError("wikiextractor is not installed; install the pinned packages.") from error


def articles(dump: Path, pages: Counter[str]) -> Iterator[Article]:
    """Yield the markup of the articles of a dump: main namespace, no redirects, not empty.

    Args:
        dump: ``pages-articles.xml``, plain or compressed, in any encoding that XML knows.
        pages: counts ``articles``, ``redirects``, ``other namespaces`` and ``empty`` as they pass.

    Raises:
        DataError: if the dump is damaged, not well-formed, or not a MediaWiki export.
    """
    try:
        with open_bytes(dump) as stream:
            root: ElementTree.Element | None = None
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if root is None:
                    root = element
                    if _name(element) != "mediawiki":
                        raise DataError(
                            dump,
                            "",
                            f"its root element is <{_name(element)}>, not <mediawiki>",
                            "use a pages-articles dump",
                        )
                if event == "end" and _name(element) == "page":
                    article, kind = _page(dump, element, pages.total() + 1)
                    root.clear()  # it would keep every page of the dump
                    pages[kind] += 1
                    if kind == "articles":
                        yield article
    except ElementTree.ParseError as error:
        line, column = error.position
        raise DataError(
            dump,
            f"line {line}, column {column}",
            f"not well-formed XML ({str(error).split(':')[0]})",
            "fetch the dump again",
        ) from error


def _page(dump: Path, page: ElementTree.Element, number: int) -> tuple[Article, str]:
    parts = {_name(child): child for child in page}
    revision = {_name(child): child for child in parts.get("revision", ())}
    values = {name: parts[name].text or "" for name in ("title", "ns", "id") if name in parts}
    try:
        article = Article(
            id=int(values["id"]),
            title=values["title"],
            text=(revision["text"].text or "") if "text" in revision else "",
        )
        in_main_namespace = int(values["ns"]) == 0
    except (KeyError, ValueError) as error:
        raise DataError(
            dump,
            f"page {number} ({values.get('title', 'no title')})",
            f"title, ns and id are not those of a dump made since 2012 ({error})",
            "use a pages-articles dump of export version 0.6 or later",
        ) from error
    if not in_main_namespace:
        return article, "other namespaces"
    if "redirect" in parts:
        return article, "redirects"
    return article, "articles" if article.text.strip() else "empty"


def _name(element: ElementTree.Element) -> str:
    """Tag without the XML namespace, which carries the export version."""
    return str(element.tag).rpartition("}")[2]


@contextmanager
def plain_articles(
    dump: Path, pages: Counter[str], processes: int = 1
) -> Iterator[Iterator[Article]]:
    """Yield an iterator over the articles of a dump as plain text, one line a paragraph.

    The articles are streamed to WikiExtractor and back: nothing is unpacked on disk. Templates are
    not expanded, and ``&``, ``<`` and ``>`` are not turned into HTML entities. The program is
    killed if the block is left early.

    Args:
        dump: as in :func:`articles`.
        pages: as in :func:`articles`; complete when the iterator is exhausted.
        processes: worker processes of WikiExtractor.

    Raises:
        DataError: as in :func:`articles`.
        AtlasError: if WikiExtractor fails, stands still, or loses articles.
    """
    wikiextractor_version()
    with tempfile.TemporaryFile() as complaints:
        run = _Run(dump, pages, processes, complaints.fileno())
        try:
            yield run.documents()
        finally:
            run.close()


def _command(processes: int) -> list[str]:
    return [
        sys.executable,
        "-P",  # a folder called wikiextractor in the working directory must not be run instead
        *("-m", "wikiextractor.WikiExtractor", "/dev/stdin", "--output", "-", "--json", "--quiet"),
        *("--no-templates", "--html-safe", "", "--processes", str(processes)),
    ]


class _Run:
    """One run of the program, with a thread that feeds it and one that guards it."""

    def __init__(self, dump: Path, pages: Counter[str], processes: int, complaints: int) -> None:
        self._dump, self._pages, self._complaints = dump, pages, complaints
        self._failures: list[Exception] = []  # the first is raised in the main thread
        self._last_sign_of_life = time.monotonic()
        self._over = threading.Event()
        self._program = subprocess.Popen(
            _command(processes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, "PYTHONUTF8": "1"},
            start_new_session=True,  # so that its workers can be killed with it
        )
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._guard = threading.Thread(target=self._watch, daemon=True)
        self._feeder.start()
        self._guard.start()

    def documents(self) -> Iterator[Article]:
        assert self._program.stdout is not None
        received = 0
        for line in self._program.stdout:
            self._last_sign_of_life = time.monotonic()
            try:
                document = json.loads(line)
            except json.JSONDecodeError:
                break  # cut short by a failure, reported below
            received += 1
            title = unescape(document["title"], _UNQUOTE)
            yield Article(int(document["id"]), title, document["text"])
        self._feeder.join()
        code = self._program.wait()
        if self._failures:
            raise self._failures[0]
        if code != 0:
            raise TransientError(
                f"{self._dump}: wikiextractor ended with {code}: {self._complaint()}."
            )
        if received != self._pages["articles"]:
            raise TransientError(
                f"{self._dump}: wikiextractor returned {received} of {self._pages['articles']} "
                f"articles ({self._complaint()}); run it again with more memory."
            )

    def close(self) -> None:
        self._over.set()
        if self._program.returncode != 0:  # None while it runs
            self._kill()
        self._feeder.join()
        self._guard.join()
        if self._program.stdout is not None:
            self._program.stdout.close()

    def _feed(self) -> None:
        """Write the articles to the program, as a dump of its own."""
        stream = self._program.stdin
        assert stream is not None
        try:
            with suppress(BrokenPipeError), stream:  # the reader reports a program that died
                stream.write(_HEAD.encode())
                found = articles(self._dump, self._pages)
                for article in track(found, f"articles of {self._dump.name}"):
                    stream.write(_as_xml(article).encode())
                    self._last_sign_of_life = time.monotonic()
                stream.write(_TAIL.encode())
        except Exception as error:
            self._failures.append(error)
            self._kill()

    def _watch(self) -> None:
        """Kill the program when it hangs: it waits for ever for a worker that died."""
        while not self._over.wait(1.0):
            silence = time.monotonic() - self._last_sign_of_life
            if b"Traceback (most recent call last)" in self._said():
                problem = f"wikiextractor failed: {self._complaint()}"
            elif silence > STALL_SECONDS:
                problem = (
                    f"wikiextractor took and gave nothing for {STALL_SECONDS:.0f} seconds; "
                    "if a worker was killed for lack of memory, give the job more"
                )
            else:
                continue
            self._failures.append(TransientError(f"{self._dump}: {problem}."))
            self._kill()
            return

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._program.pid, signal.SIGKILL)
        self._program.wait()

    def _said(self) -> bytes:
        # pread, because the program writes to the same open file and its position must not move.
        size = os.fstat(self._complaints).st_size
        start = max(0, size - 65_536)
        return os.pread(self._complaints, size - start, start)

    def _complaint(self) -> str:
        lines = self._said().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].rstrip(".") if lines else "it gave no reason"


def _as_xml(article: Article) -> str:
    title, text = escape(article.title, _QUOTE), escape(article.text, _QUOTE)
    return (
        f"<page>\n<title>{title}</title>\n<ns>0</ns>\n<id>{article.id}</id>\n"
        f"<revision>\n<id>0</id>\n<text>{text}</text>\n</revision>\n</page>\n"
    )
