"""Wikipedia to paragraphs of plain text: dumps by WikiExtractor, or text that others extracted.

A file is a MediaWiki XML dump, plain or compressed; a ``.parquet`` of the dataset
``wikimedia/wikipedia`` of the Hugging Face hub, whose text is already plain; or ``SHA256SUMS``,
which lists such files next to it, as Wikimedia's content exports have it. See docs/wikipedia.md.
"""

import re
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib.metadata import version
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
from wikiextractor.extract import _DEFAULT_IGNORED_TAG_PATTERNS, Extractor, ignoreTag

from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import ReadingJob
from mbert_atlas.corpora.samples import Row, write_in_groups
from mbert_atlas.corpora.scripts import TEXTS, require_script
from mbert_atlas.corpora.variants import without_variants
from mbert_atlas.errors import DataError, OutOfMemoryError
from mbert_atlas.files import AGAIN, SUMS, open_bytes, read_sums, sha256_of
from mbert_atlas.languages import Language
from mbert_atlas.progress import track
from mbert_atlas.schemas import PARAGRAPHS

_BATCH = 32  # articles that a worker process extracts at a time
_QUOTE = {'"': "&quot;"}  # MediaWiki escapes it, and WikiExtractor's patterns rely on that
# WikiExtractor replaces these by the date and time of the extraction.
_NOW = re.compile(r"\{\{\s*CURRENT(?:YEAR|MONTH|DAY|HOUR|TIME)\s*\}\}", re.IGNORECASE)
_COLUMNS = ["id", "title", "text"]


class Article(NamedTuple):
    """An article of the main namespace: its markup before extraction, its text after it."""

    id: int
    title: str
    text: str  # of the newest revision
    older: int = 0  # number of older revisions
    variants: int = 0  # occurrences of -{...}-, which are resolved


def read(job: ReadingJob) -> None:
    """Extract the paragraphs of one Wikipedia, as Tanti et al. (2021) do.

    A paragraph is a line of WikiExtractor's output, or of the text of a Parquet file; lines shorter
    than ``minimum_characters`` (headings, captions, leftovers of lists) are dropped. Templates are
    not expanded: the paper's version effectively dropped them, and it saves a pass over the dump.
    Of a page that occurs several times the first counts. The table has the columns of
    ``schemas.PARAGRAPHS``.

    Raises DataError if a file is no MediaWiki export or Parquet of articles, is not what
    ``SHA256SUMS`` lists, or is in another language; OutOfMemoryError if a worker process dies.
    """
    (upstream,), minimum = job.upstreams, job.options["minimum_characters"]
    language, origins = upstream.language, job.origins(upstream)
    files = [part for path in upstream.paths for part in _parts(path)]
    pages, lines = Counter[str](), Counter[str]()
    rows = _rows(files, language, minimum, job.threads, pages, lines)
    write_in_groups(rows, PARAGRAPHS, job.output)
    card = Card("Wikipedia", language.code)
    if any(path.suffix != ".parquet" for path in files):
        card.tool = f"wikiextractor {version('wikiextractor')}"
        card.notes.append("templates are dropped, not expanded")
    card.dropped[f"line: shorter than {minimum} characters"] = lines.pop("short")
    for kind in ("older revisions", "repeated"):
        card.dropped[f"page: {kind}"] = lines.pop(kind, 0)
    card.counts.update({"pages": pages.total(), **lines})
    for kind in pages.keys() - {"articles"}:
        card.dropped[f"page: {kind}"] = pages[kind]
    card.write(job.card, [*upstream.paths, *files], origins)


def _parts(path: Path) -> list[Path]:
    """Return the files that ``SHA256SUMS`` lists, by their first page; any other file itself."""
    if path.name != SUMS:
        return [path]
    fix, sums = f"delete {path}, and the next start fetches it again", read_sums(path)
    if elsewhere := [name for name in sums if Path(name).name != name]:
        raise DataError(path, "", f"{elsewhere[0]} does not lie next to it", fix)
    parts = [path.with_name(name) for name in sorted(sums, key=_place)]
    for part in parts:
        if not part.is_file():
            raise DataError(part, "", f"no such file, although {path} lists it", fix)
        if sha256_of(part) != sums[part.name]:
            raise DataError(part, "", f"its SHA-256 is not that of {path}", fix)
    if not parts:
        raise DataError(path, "", "it lists no file", fix)
    return parts


def _place(name: str) -> tuple[int, list[str | int]]:
    """Return the first page of a part of a wiki (5 of ``p5p700``), then its name with numbers."""
    pages = re.search(r"p([0-9]+)p[0-9]+", name)
    parts = enumerate(re.split("([0-9]+)", name))
    return int(pages[1]) if pages else 0, [int(part) if n % 2 else part for n, part in parts]


def _rows(
    files: Sequence[Path],
    language: Language,
    minimum: int,
    processes: int,
    pages: Counter[str],
    lines: Counter[str],
) -> Generator[list[Row], None, None]:
    """Yield the paragraphs of each article."""
    code, seen = language.code, set[int]()

    def paragraphs(file: Path) -> Iterator[list[Row]]:
        for article in plain_articles(file, pages, processes, code):
            if article.id in seen:
                lines["repeated"] += 1
                continue
            seen.add(article.id)  # the ids of the largest encyclopedia take half a gigabyte
            texts = [line.replace("\t", " ").strip() for line in article.text.split("\n")]
            kept = [text for text in texts if len(text) >= minimum]
            lines["short"] += sum(0 < len(text) < minimum for text in texts)
            lines["articles"] += 1
            lines["articles without a paragraph"] += not kept
            lines["paragraphs"] += len(kept)
            if article.older:
                lines["older revisions"] += 1
            if article.variants:
                lines["markup of variants resolved"] += article.variants
            yield [
                (f"{code}-{article.id}-{number}", code, article.id, article.title, text)
                for number, text in enumerate(kept)
            ]

    for file in files:
        rows_of_articles = paragraphs(file)
        first = list(islice(rows_of_articles, TEXTS))
        # Codes of variants would be Latin letters.
        texts = (re.sub(r"-\{.*?\}-", "", row[4]) for rows in first for row in rows)
        require_script(texts, language.script, file, code)
        yield from chain(first, rows_of_articles)
    if not lines["paragraphs"]:
        problem = f"no paragraph of {minimum} characters or more in {lines['articles']} articles"
        place = ", ".join(map(str, files))
        raise DataError(place, "", problem, "use a larger dump or a lower minimum")


def plain_articles(
    dump: Path, pages: Counter[str], processes: int = 1, language: str = ""
) -> Iterator[Article]:
    """Yield the :func:`articles` of a dump as plain text, one line a paragraph, in their order.

    The text of a Parquet file is plain already. The language decides whether there are variants.

    Raises DataError for a file that cannot be read; OutOfMemoryError if a worker process dies.
    """
    if dump.suffix == ".parquet":
        for article in track(_extracted_by_others(dump, pages), f"articles of {dump.name}"):
            yield _in_one_variant(article, language)
        return
    passing = track(articles(dump, pages), f"articles of {dump.name}")
    running: deque[Future[list[Article]]] = deque()
    # Forked: a process that is started afresh would run the job's script again.
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        try:
            while batch := list(islice(passing, _BATCH)):
                running.append(pool.submit(_extracted, language, batch))
                if len(running) > 4 * processes:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        except BrokenProcessPool as error:
            problem = f"{dump}: a process of WikiExtractor died, perhaps for lack of memory"
            raise OutOfMemoryError(f"{problem}; start again with more.") from error


def _extracted(language: str, batch: list[Article]) -> list[Article]:
    in_one_variant = [_in_one_variant(article, language) for article in batch]
    return [article._replace(text=_plain_text(article)) for article in in_one_variant]


def _in_one_variant(article: Article, language: str) -> Article:
    text, variants = without_variants(article.text, language)
    return article._replace(text=text, variants=variants)


def _plain_text(article: Article) -> str:
    """Return the text of an article; templates are not expanded, entities not escaped."""
    title, markup = escape(article.title, _QUOTE), escape(_NOW.sub("", article.text), _QUOTE)
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

    The dump is a MediaWiki XML export, plain or compressed, in any encoding of XML. Of several
    revisions of a page the newest counts. ``pages`` counts ``articles`` and, by the reason, the
    other pages as they pass.

    Raises DataError if the dump is damaged, not well-formed, or not a MediaWiki export.
    """
    root: ElementTree.Element | None = None
    page, revisions, newest = ElementTree.Element("page"), 0, ("", "", "", "")
    try:
        with open_bytes(dump) as stream:
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
                if root is None:
                    root = element
                    if _name(element) != "mediawiki":
                        problem = f"its root element is <{_name(element)}>, not <mediawiki>"
                        raise DataError(dump, "", problem, "use a pages-articles dump")
                elif event == "start" and _name(element) == "page":
                    page, revisions, newest = element, 0, ("", "", "", "")
                elif event == "end" and _name(element) == "revision" and len(page):
                    revisions, newest = revisions + 1, max(newest, _revision(element))
                    del page[-1]  # a history would not fit into memory
                elif event == "end" and _name(element) == "page":
                    article, kind = _page(dump, element, pages.total() + 1, newest)
                    root.clear()  # it would keep every page of the dump
                    pages[kind] += 1
                    if kind == "articles":
                        yield article._replace(older=max(revisions - 1, 0))
    except ElementTree.ParseError as error:
        line, column = error.position
        problem = f"not well-formed XML ({str(error).split(':')[0]})"
        place = f"line {line}, column {column}"
        raise DataError(dump, place, problem, "fetch the dump again") from error


_Revision = tuple[str, str, str, str]


def _revision(element: ElementTree.Element) -> _Revision:
    """Return timestamp, id, content model and text of a revision; newer ones are greater."""
    timestamp, number, model, text = (
        element.findtext(f"{{*}}{name}", "") for name in ("timestamp", "id", "model", "text")
    )
    return timestamp, number.zfill(20), model, text


def _page(
    dump: Path, page: ElementTree.Element, number: int, newest: _Revision
) -> tuple[Article, str]:
    values = {_name(child): child.text or "" for child in page}
    *_, model, text = newest
    try:
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
    if model not in ("", "wikitext"):
        return article, "not wikitext"
    return article, "articles" if article.text.strip() else "empty"


def _extracted_by_others(path: Path, pages: Counter[str]) -> Iterator[Article]:
    """Yield the articles of a Parquet file, counted like those of :func:`articles`."""
    place, problem = "", "not a readable Parquet file"
    try:
        with open_bytes(path) as stream, pq.ParquetFile(stream) as file:
            types = {field.name: field.type for field in file.schema_arrow}
            if any(types.get(name) not in (pa.string(), pa.large_string()) for name in _COLUMNS):
                problem = f"no columns of strings {', '.join(_COLUMNS)} (it has {', '.join(types)})"
                fix = "use a file of the dataset wikimedia/wikipedia"
                raise DataError(path, "", problem, fix)
            for batch in file.iter_batches(_BATCH * 32, columns=_COLUMNS):
                for row in batch.to_pylist():
                    place, problem = f"row {pages.total() + 1}", "not an article"
                    article = Article(int(row["id"]), row["title"] or "", row["text"] or "")
                    pages["articles" if article.text.strip() else "empty"] += 1
                    if article.text.strip():
                        yield article
    except (pa.ArrowInvalid, TypeError, ValueError) as error:
        raise DataError(path, place, f"{problem} ({error})", AGAIN) from error


def _name(element: ElementTree.Element) -> str:
    """Tag without the XML namespace, which carries the export version."""
    return str(element.tag).rpartition("}")[2]
