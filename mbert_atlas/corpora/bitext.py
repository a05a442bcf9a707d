"""Parallel sentences: WikiMatrix, Moses archives, Tatoeba pairs and line-parallel files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any, get_args

from mbert_atlas.config.datasets import BitextFormat
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import (
    manythings,
    numbered_columns,
    parallel_lines,
    require_format,
)
from mbert_atlas.corpora.samples import shortfall
from mbert_atlas.corpora.scripts import TEXTS, require_script
from mbert_atlas.corpora.words import WordTokenizer
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_in_groups
from mbert_atlas.progress import track
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import BITEXT

Format = BitextFormat
ENGLISH = "en"
_RANGE = "<range>"  # eBible: this verse is told in the line before


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
    """

    path: Path
    format: Format
    limit: int | None = None
    target_path: Path | None = None

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
    source: Source = None,
    script: str = "",
) -> None:
    """Read, filter and tokenise the bitext of English and one other language.

    A source that holds more than is wanted gives its first pairs if it is WikiMatrix, whose lines
    are sorted by falling margin, and a random sample of all its pairs otherwise. Pairs with an
    empty side, with two identical sides, and exact repetitions of a pair are dropped; so are bad
    lines (not UTF-8, a wrong number of columns, a margin that is not a number) while they are few,
    see :class:`BadRows`.

    Args:
        sources: taken in turn until ``maximum_sentences`` is reached.
        language: our code of the other language.
        output: Parquet file with the columns of ``schemas.BITEXT``, English as the source.
        card: JSON file for the dataset card.
        seed: seed of the run, for the samples.
        maximum_sentences: most pairs to keep; all if none (Efimov et al. 2022: 250,000).
        source: dataset, licence and citation for the card; one mapping for each source, or one.
        script: what the other language is written in; the beginnings of both sides are then held
            against their scripts, see :func:`require_script`.

    Raises:
        DataError: for too many bad lines, files of unequal length, a missing member, an unknown
            format, sources without a pair, or a side in another script, as when the two are
            exchanged; names file and line.
    """
    counts, dropped, bad = Counter[str](), Counter[str](), BadRows("lines")
    rows = _rows(sources, language, script, seed, maximum_sentences, counts, dropped, bad)
    write_in_groups(rows, BITEXT, output)
    write_card(
        card,
        dataset="bitext",
        language=f"{ENGLISH} {language}",
        files=[file for one in sources for file in one.files],
        counts=counts,
        dropped=dropped,
        bad=bad,
        source=source,
        notes=[f"seed {seed}", *shortfall(maximum_sentences, counts["pairs"], "pairs")],
        tool=f"sacremoses {version('sacremoses')}",
    )


def _rows(
    sources: Sequence[BitextSource],
    language: str,
    script: str,
    seed: int,
    maximum: int | None,
    counts: Counter[str],
    dropped: Counter[str],
    bad: BadRows,
) -> Generator[list[Mapping[str, Any]], None, None]:
    known: set[bytes] = set()
    for place, one in enumerate(sources):
        left = None if maximum is None else maximum - counts["pairs"]
        limit = min((most for most in (one.limit, left) if most is not None), default=None)
        pairs = _pairs(one, language, limit, seed, known, counts, dropped, bad)
        for pair, english, other in _in_script(pairs, one, language, script):
            counts["pairs"] += 1
            counts[f"{one.path.name}: pairs"] += 1
            counts["English words"] += len(english)
            counts["other words"] += len(other)
            row = {
                "id": f"{place}-{one.format}-{pair.line}",
                "source_tokens": english,
                "target_tokens": other,
                "score": pair.score,
            }
            yield [row]
    bad.require_few(counts["lines read"])
    if not counts["pairs"]:
        raise DataError(
            ", ".join(str(one.path) for one in sources) or "no source",
            "",
            f"no pair left of {counts['lines read']} ({dict(dropped)})",
            "correct the language or the format",
        )


def _pairs(
    one: BitextSource,
    language: str,
    limit: int | None,
    seed: int,
    known: set[bytes],
    counts: Counter[str],
    dropped: Counter[str],
    bad: BadRows,
) -> Iterator[tuple[_Pair, list[str], list[str]]]:
    """Yield at most ``limit`` pairs that pass, with the words of both sides."""
    if limit == 0:
        return
    taken = 0
    tokenizers = [WordTokenizer(code) for code in (ENGLISH, language)]
    with closing(_raw_pairs(one, language, dropped, bad)) as raw:
        passing: Iterator[_Pair] = _different(raw, known, counts, dropped)
        if limit is not None and one.format != "wikimatrix":
            pairs = list(passing)
            order = generator(seed, "bitext", language, one.path.name).permutation(len(pairs))
            passing = (pairs[index] for index in order)
        for pair in track(passing, f"pairs of {one.path.name}"):
            english, other = tokenizers[0](pair.english), tokenizers[1](pair.other)
            if not english or not other:
                dropped["empty side"] += 1
            else:
                yield pair, english, other
                taken += 1
                if taken == limit:
                    return


def _in_script(
    pairs: Iterator[tuple[_Pair, list[str], list[str]]],
    one: BitextSource,
    language: str,
    script: str,
) -> Iterator[tuple[_Pair, list[str], list[str]]]:
    """Yield all pairs once the first of them are known to be in the scripts of their languages."""
    first = list(islice(pairs, TEXTS if script else 0))
    mend = "are the sides exchanged? correct the source's path, format or language"
    if script:
        require_script((pair.english for pair, *_ in first), "Latn", one.path, ENGLISH, mend)
        other = one.target_path or one.path
        require_script((pair.other for pair, *_ in first), script, other, language, mend)
    return chain(first, pairs)


def _different(
    pairs: Iterable[_Pair], known: set[bytes], counts: Counter[str], dropped: Counter[str]
) -> Iterator[_Pair]:
    """Yield the pairs that pass what can be decided before tokenising."""
    for pair in pairs:
        counts["lines read"] += 1
        english, other = pair.english.strip(), pair.other.strip()
        # A digest instead of the text: millions of pairs then fit into memory.
        digest = blake2b(f"{english}\t{other}".encode(), digest_size=16).digest()
        if not english or not other:
            dropped["empty side"] += 1
        elif english == other:
            dropped["identical sides"] += 1
        elif digest in known:
            dropped["exact duplicate"] += 1
        else:
            known.add(digest)
            yield _Pair(pair.line, english, other, pair.score)


def _raw_pairs(
    one: BitextSource, language: str, dropped: Counter[str], bad: BadRows
) -> Generator[_Pair, None, None]:
    require_format(one.format, get_args(Format), one.path)
    if one.format == "wikimatrix":
        yield from _wikimatrix(one.path, language, bad)
    elif one.format == "moses":
        members = (one.path, rf"[^/]+\.{ENGLISH}"), (one.path, rf"[^/]+\.{re.escape(language)}")
        for number, english, other in parallel_lines(*members, bad):
            yield _Pair(number, english, other)
    elif one.format == "manythings":
        for number, (english, other, *_) in manythings(one.path, bad):
            yield _Pair(number, english, other)
    elif one.target_path is None:
        mend = "name the file of the other language"
        raise DataError(one.path, "target_path", "is missing", mend)
    else:
        yield from _lines(one.path, one.target_path, dropped, bad)


def _wikimatrix(path: Path, language: str, bad: BadRows) -> Iterator[_Pair]:
    in_name = re.match(r"WikiMatrix\.([\w-]+?)-([\w]+)\.tsv", path.name)
    codes = list(in_name.groups()) if in_name else sorted((ENGLISH, language))
    if sorted(codes) != sorted((ENGLISH, language)):
        raise DataError(
            path,
            "file name",
            f"holds {'-'.join(codes)}, not {ENGLISH} and {language}",
            "correct the source's path",
        )
    english, other = codes.index(ENGLISH) + 1, codes.index(language) + 1
    for number, columns in numbered_columns(path, least=3, bad=bad):
        try:
            margin = float(columns[0])
        except ValueError:
            margin = math.nan
        if not math.isfinite(margin):
            problem = f"margin {columns[0]!r} is not a number"
            mend = "check that the file is in the format wikimatrix"
            bad.drop(DataError(path, f"line {number}", problem, mend))
            continue
        yield _Pair(number, columns[english], columns[other], margin)


def _lines(
    english_path: Path, other_path: Path, dropped: Counter[str], bad: BadRows
) -> Iterator[_Pair]:
    held: _Pair | None = None
    for number, english, other in parallel_lines((english_path, None), (other_path, None), bad):
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
