"""Sentence pairs of English and another language.

Formats: ``wikimatrix``: margin and two texts, tab-separated, languages in the alphabetical order of
their codes; ``moses``: a zip with one member that ends in ``.en`` and one that ends in ``.<code>``;
``manythings``: English and the other language, tab-separated, alone or in a zip; ``lines``: two
files, English and its partner, line by line, where a line may be empty on one side.
"""

import math
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path

from mbert_atlas.config.corpora.kinds import BitextFormat
from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.corpora.lines import numbered_columns, parallel_lines, require_format
from mbert_atlas.corpora.samples import Row, shortfall, write_in_groups
from mbert_atlas.corpora.scripts import TEXTS, require_script
from mbert_atlas.corpora.words import WordTokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import BITEXT

ENGLISH = "en"
_RANGE = "<range>"  # eBible: this verse is part of the line before


@dataclass(frozen=True, slots=True)  # slots: a sample holds millions
class _Pair:
    line: int
    english: str
    other: str
    score: float | None = None


def read(job: ReadingJob) -> None:
    """Read, filter and tokenise a bitext, with the columns of ``schemas.BITEXT``, English first.

    Files are taken in turn until ``limit`` is reached. A file that holds more than is needed gives
    its first pairs if it is WikiMatrix, whose lines are sorted by falling margin, and a random
    sample of all its pairs otherwise. Pairs with an empty side, with two identical sides, and exact
    repetitions of a pair are dropped. Lines are bad whose margin is not a number.

    Raises DataError for files of unequal length.
    """
    (upstream,) = job.upstreams
    origins, limit = job.origins(upstream), job.options["limit"]
    card = Card("bitext", f"{ENGLISH} {upstream.language.code}", bad=BadRows("lines"))
    card.tool = f"sacremoses {version('sacremoses')}"
    write_in_groups(_rows(upstream, job.options["seed"], limit, card), BITEXT, job.output)
    card.notes += [f"seed {job.options['seed']}", *shortfall(limit, card.counts["pairs"], "pairs")]
    card.write(job.card, upstream.paths, origins)


def _rows(
    upstream: Upstream, seed: int, maximum: int | None, card: Card
) -> Generator[list[Row], None, None]:
    counts, language, seen = card.counts, upstream.language, set[bytes]()
    fix = "are the sides exchanged? correct the source's path, format or language"
    for place, file in enumerate(upstream.files):
        limit = None if maximum is None else maximum - counts["pairs"]
        pairs = islice(_pairs(file, language.code, limit, seed, seen, card), limit)
        first = list(islice(pairs, TEXTS))
        require_script((pair.english for pair, *_ in first), "Latn", file.path, ENGLISH, fix)
        path, others = [file.path, *file.partners][-1], (pair.other for pair, *_ in first)
        require_script(others, language.script, path, language.code, fix)
        for pair, english, other in chain(first, pairs):
            counts.update(("pairs", f"{file.path.name}: pairs"))
            counts["English words"] += len(english)
            counts["other words"] += len(other)
            yield [(f"{place}-{file.format}-{pair.line}", english, other, pair.score)]
    card.bad.require_few(counts["lines read"])
    if not counts["pairs"]:
        paths = ", ".join(str(file.path) for file in upstream.files)
        problem = f"no pair left of {counts['lines read']} ({dict(card.dropped)})"
        raise DataError(paths, "", problem, "correct the language or the format")


def _pairs(
    file: CorpusFile, language: str, limit: int | None, seed: int, seen: set[bytes], card: Card
) -> Iterator[tuple[_Pair, list[str], list[str]]]:
    """Yield the pairs that pass, with the words of both sides, in random order if that matters."""
    tokenizers = [WordTokenizer(code) for code in (ENGLISH, language)]
    with closing(_raw_pairs(file, language, card)) as raw:
        passing: Iterator[_Pair] = _different(raw, seen, card)
        if limit is not None and file.format != "wikimatrix":
            pairs = list(passing)
            order = generator(seed, "bitext", language, file.path.name).permutation(len(pairs))
            passing = (pairs[index] for index in order)
        for pair in track(passing, f"pairs of {file.path.name}"):
            english, other = tokenizers[0](pair.english), tokenizers[1](pair.other)
            if english and other:
                yield pair, english, other
            else:
                card.dropped["empty side"] += 1


def _different(pairs: Iterable[_Pair], seen: set[bytes], card: Card) -> Iterator[_Pair]:
    """Yield the pairs that pass what can be decided before tokenising."""
    for pair in pairs:
        card.counts["lines read"] += 1
        english, other = pair.english.strip(), pair.other.strip()
        # A digest instead of the text: millions of pairs then fit into memory.
        digest = blake2b(f"{english}\t{other}".encode(), digest_size=16).digest()
        if not english or not other:
            card.dropped["empty side"] += 1
        elif english == other:
            card.dropped["identical sides"] += 1
        elif digest in seen:
            card.dropped["exact duplicate"] += 1
        else:
            seen.add(digest)
            yield _Pair(pair.line, english, other, pair.score)


def _raw_pairs(file: CorpusFile, language: str, card: Card) -> Generator[_Pair, None, None]:
    path, bad = file.path, card.bad
    require_format(file.format, BitextFormat, path)
    if file.format == "wikimatrix":
        yield from _wikimatrix(path, language, bad)
    elif file.format == "moses":
        members = (path, rf"[^/]+\.{ENGLISH}"), (path, rf"[^/]+\.{re.escape(language)}")
        for number, english, other in parallel_lines(*members, bad):
            yield _Pair(number, english, other)
    elif file.format == "manythings":
        # Newer files have an attribution in a third column.
        rows = numbered_columns(path, r"(?!_about)[^/]+\.txt", least=2, most=3, bad=bad)
        for number, (english, other, *_) in rows:
            yield _Pair(number, english, other)
    elif not file.partners:
        fix = "name the file of the other language"
        raise DataError(path, "key partners", "is missing", fix)
    else:
        yield from _lines(path, file.partners[0], card)


def _wikimatrix(path: Path, language: str, bad: BadRows) -> Iterator[_Pair]:
    in_name = re.match(r"WikiMatrix\.([\w-]+?)-([\w]+)\.tsv", path.name)
    codes = list(in_name.groups()) if in_name else sorted((ENGLISH, language))
    if sorted(codes) != sorted((ENGLISH, language)):
        problem = f"holds {'-'.join(codes)}, not {ENGLISH} and {language}"
        raise DataError(path, "file name", problem, "correct the source's path")
    english, other = codes.index(ENGLISH) + 1, codes.index(language) + 1
    for number, columns in numbered_columns(path, least=3, bad=bad):
        with bad:
            try:
                margin = float(columns[0])
            except ValueError:
                margin = math.nan
            if not math.isfinite(margin):
                problem = f"margin {columns[0]!r} is not a number"
                fix = "check that the file is in the format wikimatrix"
                raise DataError(path, f"line {number}", problem, fix)
            yield _Pair(number, columns[english], columns[other], margin)


def _lines(english_path: Path, other_path: Path, card: Card) -> Iterator[_Pair]:
    held: list[_Pair] = []
    for number, english, other in parallel_lines((english_path, ""), (other_path, ""), card.bad):
        if _RANGE in (english.strip(), other.strip()):
            # One side has this verse in an earlier line, which is then no translation either.
            card.dropped["verses told together on one side"] += 1 + len(held)
            held = []
        else:
            yield from held
            held = [_Pair(number, english, other)]
    yield from held
