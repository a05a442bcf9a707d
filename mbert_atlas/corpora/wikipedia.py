"""Wikipedia dumps to paragraphs of plain text, by WikiExtractor."""

from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from wikiextractor.extract import _DEFAULT_IGNORED_TAG_PATTERNS, Extractor, ignoreTag

from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import ReadingJob
from mbert_atlas.corpora.samples import Row, write_in_groups
from mbert_atlas.errors import DataError, TransientError
from mbert_atlas.files import open_bytes
from mbert_atlas.progress import track
from mbert_atlas.schemas import PARAGRAPHS

_BATCH = 32  # articles that a worker process extracts at a time
_QUOTE = {'"': "&quot;"}  # MediaWiki escapes it, and WikiExtractor's patterns rely on that


class Article(NamedTuple):
    """An article of the main namespace: its markup before extraction, its text after it."""

    id: int
    title: str
    text: str


def read(job: ReadingJob) -> None:
    """Extract the paragraphs of a ``pages-articles`` dump, as Tanti et al. (2021) do.

    A paragraph is a line of WikiExtractor's output; lines shorter than ``minimum_characters``
    (headings, captions, leftovers of lists) are dropped. Templates are not expanded: the paper's
    version effectively dropped them, and it saves a pass over the dump. The table has the columns
    of ``schemas.PARAGRAPHS``.

    Raises DataError if the dump is no MediaWiki export; TransientError if a worker process dies.
    """
    (upstream,), minimum = job.upstreams, job.options["minimum_characters"]
    (file,), code = upstream.files, upstream.language.code
    origins, pages, lines = job.origins(upstream), Counter[str](), Counter[str]()
    articles = plain_articles(file.path, pages, job.threads)
    write_in_groups(_paragraphs(articles, file.path, code, minimum, lines), PARAGRAPHS, job.output)
    card = Card("Wikipedia", code, tool=f"wikiextractor {version('wikiextractor')}")
    card.notes.append("templates are dropped, not expanded")
    card.dropped[f"line: shorter than {minimum} characters"] = lines.pop("short")
    card.counts.update({"pages": pages.total(), **lines})
    for kind in pages.keys() - {"articles"}:
        card.dropped[f"page: {kind}"] = pages[kind]
    card.write(job.card, upstream.paths, origins)


def _paragraphs(
    articles: Iterable[Article], dump: Path, language: str, minimum: int, lines: Counter[str]
) -> Generator[list[Row], None, None]:
    for article in articles:
        texts = [line.replace("\t", " ").strip() for line in article.text.split("\n")]
        kept = [text for text in texts if len(text) >= minimum]
        lines["short"] += sum(0 < len(text) < minimum for text in texts)
        lines["articles"] += 1
        lines["articles without a paragraph"] += not kept
        lines["paragraphs"] += len(kept)
        yield [
            (f"{language}-{article.id}-{number}", language, article.id, article.title, text)
            for number, text in enumerate(kept)
        ]
    if not lines["paragraphs"]:
        problem = f"no paragraph of {minimum} characters or more in {lines['articles']} articles"
        raise DataError(dump, "", problem, "use a larger dump or a lower minimum")


def plain_articles(dump: Path, pages: Counter[str], processes: int = 1) -> Iterator[Article]:
    """Yield the :func:`articles` of a dump as plain text, one line a paragraph, in their order.

    Raises TransientError if a worker process dies.
    """
    passing = track(articles(dump, pages), f"articles of {dump.name}")
    running: deque[Future[list[Article]]] = deque()
    # Forked: a process that is started afresh would run the job's script again.
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        try:
            while batch := list(islice(passing, _BATCH)):
                running.append(pool.submit(_extracted, batch))
                if len(running) > 4 * processes:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        except BrokenProcessPool as error:
            problem = f"{dump}: a process of WikiExtractor died, perhaps for lack of memory"
            raise TransientError(f"{problem}; start again with more.") from error


def _extracted(batch: list[Article]) -> list[Article]:
    return [article._replace(text=_plain_text(article)) for article in batch]


def _plain_text(article: Article) -> str:
    """Return the text of an article; templates are not expanded, entities not escaped."""
    title, markup = escape(article.title, _QUOTE), escape(article.text, _QUOTE)
    extractor = Extractor(
        *(str(article.id), "", "", title, [markup]),
        # A name with which no title can begin, lest an article be taken for a template.
        templatePrefix="|:",
        knownNamespaces={"Template", "|"},
        ignored_tag_patterns=[*_DEFAULT_IGNORED_TAG_PATTERNS, ignoreTag("a")],
    )
    return "\n".join(extractor.clean_text(markup, html_safe=False))


def articles(dump: Path, pages: Counter[str]) -> Iterator[Article]:
    """Yield the markup of the articles of a dump: main namespace, no redirects, not empty.

    The dump is ``pages-articles.xml``, plain or compressed, in any encoding of XML. ``pages``
    counts ``articles`` and, by the reason, the other pages as they pass.

    Raises DataError if the dump is damaged, not well-formed, or not a MediaWiki export.
    """
    try:
        with open_bytes(dump) as stream:
            root: ElementTree.Element | None = None
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if root is None:
                    root = element
                    if _name(element) != "mediawiki":
                        problem = f"its root element is <{_name(element)}>, not <mediawiki>"
                        raise DataError(dump, "", problem, "use a pages-articles dump")
                if event == "end" and _name(element) == "page":
                    article, kind = _page(dump, element, pages.total() + 1)
                    root.clear()  # it would keep every page of the dump
                    pages[kind] += 1
                    if kind == "articles":
                        yield article
    except ElementTree.ParseError as error:
        line, column = error.position
        problem = f"not well-formed XML ({str(error).split(':')[0]})"
        place = f"line {line}, column {column}"
        raise DataError(dump, place, problem, "fetch the dump again") from error


def _page(dump: Path, page: ElementTree.Element, number: int) -> tuple[Article, str]:
    values = {_name(child): child.text or "" for child in page}
    try:
        text = page.findtext("{*}revision/{*}text", "")
        article = Article(int(values["id"]), values["title"], text)
        in_main_namespace = int(values["ns"]) == 0
    except (KeyError, ValueError) as error:
        place = f"page {number} ({values.get('title', 'no title')})"
        problem = f"title, ns and id are not those of a dump made since 2012 ({error})"
        fix = "use a pages-articles dump of export version 0.6 or later"
        raise DataError(dump, place, problem, fix) from error
    if not in_main_namespace:
        return article, "outside the main namespace"
    if "redirect" in values:
        return article, "redirect"
    return article, "articles" if article.text.strip() else "empty"


def _name(element: ElementTree.Element) -> str:
    """Tag without the XML namespace, which carries the export version."""
    return str(element.tag).rpartition("}")[2]
