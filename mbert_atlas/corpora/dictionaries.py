"""Bilingual dictionaries in the format of MUSE: a word and its translation on each line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import Options, ReadingJob, Upstream, read_single
from mbert_atlas.corpora.lines import ascii_words, numbered_lines
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import DICTIONARY


def read_pairs(path: Path) -> tuple[list[tuple[str, str]], BadRows]:
    """Read a dictionary of MUSE (Conneau et al. 2018): two words a line, white space between.

    Returns the pairs in their order, and the lines left out, without two words or not UTF-8.

    Raises DataError if the file is missing or damaged, has no pair, or has too many bad lines, see
    :class:`BadRows`; names the first.
    """
    pairs, bad = list[tuple[str, str]](), BadRows("lines")
    for number, line in numbered_lines(path, bad=bad):
        words = ascii_words(line)
        if len(words) == 2:
            pairs.append((words[0], words[1]))
        else:
            fix = "check that the file is a dictionary of MUSE"
            bad.drop(DataError(path, f"line {number}", f"{len(words)} words, not two", fix))
    bad.require_few(len(pairs))
    return pairs, bad


def read(job: ReadingJob) -> None:
    """Read a dictionary of English and one other language, with the columns of ``DICTIONARY``.

    The first word of a line is the English one. ``limit`` keeps the first pairs; those of MUSE are
    of the most frequent English words.

    Raises DataError, see :func:`read_pairs`, or if a side is in another script.
    """
    read_single(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    (file,), language, limit = upstream.files, upstream.language, options["limit"]
    pairs, bad = read_pairs(file.path)
    fix = "are the columns exchanged? correct the source's path or language"
    require_script((word for word, _ in pairs), "Latn", file.path, "en", fix)
    require_script((word for _, word in pairs), language.script, file.path, language.code, fix)
    card = Card("dictionary", f"en-{language.code}", bad=bad)
    card.dropped["beyond the limit"] = len(pairs) - len(pairs[:limit])
    pairs = pairs[:limit]
    english, other = zip(*pairs, strict=True)
    card.counts.update({"pairs": len(pairs), "English words": len(set(english))})
    card.counts["other words"] = len(set(other))
    card.notes += shortfall(limit, len(pairs), "pairs")
    return table_of(pairs, DICTIONARY), card


def words_of(dictionaries: Sequence[Path], side: Literal["source", "target"]) -> list[str]:
    """Return the words of one side of some dictionaries, each once, in their order."""
    tables = [read_parquet(path, DICTIONARY) for path in dictionaries]
    words: list[str] = pc.unique(pa.concat_tables(tables).column(side)).to_pylist()
    return words
