"""Parallel sentences: WikiMatrix, Moses archives, Tatoeba pairs and line-parallel files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import numbered_lines, parallel_lines, split_columns
from mbert_atlas.corpora.words import WordTokenizer, visible
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import BITEXT

Format = Literal["wikimatrix", "moses", "manythings", "lines"]
Filter = Literal["cao"]
ENGLISH = "en"
_ROWS_PER_GROUP = 16_384
_RANGE = "<range>"  # eBible: this verse is told in the line before
_CAO_UNWANTED = re.compile("[\\\\\u00ad=#<>]|http")


@dataclass(frozen=True)
class BitextSource:
    """One upstream bitext with English on one side.

    Attributes:
        path: the file; for ``lines`` the English one.
        format: ``wikimatrix``: margin and two texts, tab-separated, languages in the alphabetical
            order of their codes; ``moses``: a zip with one member that ends ``.en`` and one that
            ends ``.<code>``; ``manythings``: English and the other language, tab-separated, alone
            or in a zip; ``lines``: two files, line by line, where a line may be empty on one side.
        limit: most pairs to take from this source; all if none.
        target_path: ``lines`` only: the file of the other language.
        code: upstream's code of the other language, where it is not ours.
        minimum_margin: ``wikimatrix`` only: pairs below are dropped (LASER recommends 1.04).
        tokenised: whether the words are already separated by spaces.
    """

    path: Path
    format: Format
    limit: int | None = None
    target_path: Path | None = None
    code: str | None = None
    minimum_margin: float | None = None
    tokenised: bool = False

    @property
    def files(self) -> list[Path]:
        """The files of this source."""
        return [self.path, *([self.target_path] if self.target_path else [])]


@dataclass(frozen=True, slots=True)  # slots: a sample holds millions
class _Pair:
    line: int
    english: str
    other: str
    score: float | None = None


def read_bitext(
    sources: Sequence[BitextSource],
    language: str,
    output: Path | str,
    card: Path | str,
    *,
    seed: int,
    maximum_sentences: int | None = None,
    filters: Collection[Filter] = (),
    source: Source = None,
) -> None:
    """Read, filter and tokenise the bitext of English and one other language.

    A source that holds more than is wanted gives its first pairs if it is WikiMatrix, whose lines
    are sorted by falling margin, and a random sample of all its pairs otherwise. Pairs with an
    empty side, with two identical sides, and exact repetitions of a pair are dropped.

    Args:
        sources: taken in turn until ``maximum_sentences`` is reached.
        language: our code of the other language.
        output: Parquet file with the columns of ``schemas.BITEXT``, English as the source.
        card: JSON file for the dataset card.
        seed: seed of the run, for the samples.
        maximum_sentences: most pairs to keep; all if none (efimov2022: 250,000).
        filters: ``cao`` keeps what the data script of Cao et al. (2020) keeps: no backslash, soft
            hyphen, ``=``, ``#``, ``<``, ``>`` or ``http``, and between 101 and 1,999 characters in
            the tokenised line ``other ||| English``.
        source: dataset, licence and citation for the card; one mapping for each source, or one.

    Raises:
        DataError: for a wrong number of columns, a margin that is not a number, files of unequal
            length, a missing member, an unknown format, or sources without a pair; names file and
            line.
        ValueError: for an unknown filter.
    """
    if unknown := set(filters) - set(get_args(Filter)):
        raise ValueError(f"unknown bitext filters: {', '.join(sorted(unknown))}")
    counts, dropped = Counter[str](), Counter[str]()
    known: set[bytes] = set()
    rows: list[dict[str, object]] = []
    with atomic_path(output) as partial:
        with pq.ParquetWriter(partial, BITEXT, compression="zstd") as writer:
            for place, one in enumerate(sources):
                limits = [one.limit, _difference(maximum_sentences, counts["pairs"])]
                limit = min((some for some in limits if some is not None), default=None)
                for pair, english, other in _pairs(
                    one, language, limit, filters, seed, known, counts, dropped
                ):
                    counts["pairs"] += 1
                    counts[f"{one.path.name}: pairs"] += 1
                    counts["English words"] += len(english)
                    counts["other words"] += len(other)
                    rows.append(
                        {
                            "id": f"{place}-{one.format}-{pair.line}",
                            "source_tokens": english,
                            "target_tokens": other,
                            "score": pair.score,
                        }
                    )
                    if len(rows) == _ROWS_PER_GROUP:
                        writer.write_table(pa.Table.from_pylist(rows, BITEXT))
                        rows.clear()
            if rows:
                writer.write_table(pa.Table.from_pylist(rows, BITEXT))
        if not counts["pairs"]:
            raise DataError(
                ", ".join(str(one.path) for one in sources) or "no source",
                "",
                f"no pair left of {counts['lines read']} ({dict(dropped)})",
                "correct the language, the format or the filters",
            )
    write_card(
        card,
        dataset="bitext",
        language=f"{ENGLISH} {language}",
        files=[file for one in sources for file in one.files],
        counts=counts,
        dropped=dropped,
        source=source,
        notes=[f"seed {seed}", *(f"filter {name}" for name in filters)],
        tool=f"sacremoses {version('sacremoses')}",
    )


def _difference(maximum: int | None, taken: int) -> int | None:
    return None if maximum is None else maximum - taken


def _pairs(
    one: BitextSource,
    language: str,
    limit: int | None,
    filters: Collection[Filter],
    seed: int,
    known: set[bytes],
    counts: Counter[str],
    dropped: Counter[str],
) -> Iterator[tuple[_Pair, list[str], list[str]]]:
    """Yield at most ``limit`` pairs that pass, with the words of both sides."""
    if limit == 0:
        return
    taken = 0
    tokenizers = [_words if one.tokenised else WordTokenizer(code) for code in (ENGLISH, language)]
    with closing(_raw_pairs(one, language, dropped)) as raw:
        passing: Iterator[_Pair] = _different(raw, one, filters, known, counts, dropped)
        if limit is not None and one.format != "wikimatrix":
            passing = _shuffled(list(passing), generator(seed, "bitext", language, one.path.name))
        for pair in track(passing, f"pairs of {one.path.name}"):
            english, other = tokenizers[0](pair.english), tokenizers[1](pair.other)
            if not english or not other:
                dropped["empty side"] += 1
            elif "cao" in filters and not _is_length_of_cao(english, other):
                dropped["length (filter cao)"] += 1
            else:
                yield pair, english, other
                taken += 1
                if taken == limit:
                    return


def _words(text: str) -> list[str]:
    return visible(text).split()


def _is_length_of_cao(english: list[str], other: list[str]) -> bool:
    return 100 < len(f"{' '.join(other)} ||| {' '.join(english)}") < 2000


def _shuffled(pairs: list[_Pair], random: np.random.Generator) -> Iterator[_Pair]:
    return (pairs[index] for index in random.permutation(len(pairs)))


def _different(
    pairs: Iterable[_Pair],
    one: BitextSource,
    filters: Collection[Filter],
    known: set[bytes],
    counts: Counter[str],
    dropped: Counter[str],
) -> Iterator[_Pair]:
    """Yield the pairs that pass what can be decided before tokenising."""
    for pair in pairs:
        counts["lines read"] += 1
        english, other = pair.english.strip(), pair.other.strip()
        if not english or not other:
            dropped["empty side"] += 1
        elif english == other:
            dropped["identical sides"] += 1
        elif one.minimum_margin is not None and (pair.score or 0) < one.minimum_margin:
            dropped[f"margin below {one.minimum_margin}"] += 1
        elif "cao" in filters and _CAO_UNWANTED.search(f"{english}\n{other}"):
            dropped["characters (filter cao)"] += 1
        else:
            # A digest instead of the text: millions of pairs then fit into memory.
            digest = blake2b(f"{english}\t{other}".encode(), digest_size=16).digest()
            if digest in known:
                dropped["exact duplicate"] += 1
            else:
                known.add(digest)
                yield _Pair(pair.line, english, other, pair.score)


def _raw_pairs(
    one: BitextSource, language: str, dropped: Counter[str]
) -> Generator[_Pair, None, None]:
    code = one.code or language
    if one.format == "wikimatrix":
        yield from _wikimatrix(one.path, code)
    elif one.format == "moses":
        members = (one.path, rf"[^/]+\.{ENGLISH}"), (one.path, rf"[^/]+\.{re.escape(code)}")
        for number, english, other in parallel_lines(*members):
            yield _Pair(number, english, other)
    elif one.format == "manythings":
        yield from _manythings(one.path)
    elif one.format == "lines":
        if one.target_path is None:
            raise DataError(
                one.path, "target_path", "is missing", "name the file of the other language"
            )
        yield from _lines(one.path, one.target_path, dropped)
    else:
        raise DataError(
            one.path, f"format {one.format}", "unknown", f"use {', '.join(get_args(Format))}"
        )


def _wikimatrix(path: Path, code: str) -> Iterator[_Pair]:
    named = re.match(r"WikiMatrix\.([\w-]+?)-([\w]+)\.tsv", path.name)
    codes = list(named.groups()) if named else sorted((ENGLISH, code))
    if sorted(codes) != sorted((ENGLISH, code)):
        raise DataError(
            path,
            "file name",
            f"holds {'-'.join(codes)}, not {ENGLISH} and {code}",
            "correct the source's path or code",
        )
    english, other = codes.index(ENGLISH) + 1, codes.index(code) + 1
    width = 0
    for number, line in numbered_lines(path):
        width = width or max(
            3, line.count("\t") + 1
        )  # columns may follow the three documented ones
        columns = split_columns(line, width, path, number)
        try:
            margin = float(columns[0])
        except ValueError as error:
            raise DataError(
                path,
                f"line {number}",
                f"margin {columns[0]!r} is not a number",
                "check that the file is in the format wikimatrix",
            ) from error
        yield _Pair(number, columns[english], columns[other], margin)


def _manythings(path: Path) -> Iterator[_Pair]:
    member = r"(?!_about)[^/]+\.txt" if path.suffix == ".zip" else None
    width = 0
    for number, line in numbered_lines(path, member):
        width = width or min(max(line.count("\t") + 1, 2), 3)  # newer files add an attribution
        english, other, *_ = split_columns(line, width, path, number)
        yield _Pair(number, english, other)


def _lines(english_path: Path, other_path: Path, dropped: Counter[str]) -> Iterator[_Pair]:
    held: _Pair | None = None
    for number, english, other in parallel_lines((english_path, None), (other_path, None)):
        if _RANGE in (english.strip(), other.strip()):
            # One side tells this verse in an earlier line, which is then no translation either.
            dropped["verses told together on one side"] += 1 + (held is not None)
            held = None
            continue
        if held is not None:
            yield held
        held = _Pair(number, english, other)
    if held is not None:
        yield held
