"""Bilingual dictionaries in the format of MUSE: a word and its translation on each line."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import Options, ReadingJob, Upstream, read_single
from mbert_atlas.corpora.lines import ascii_words, numbered_rows
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import DICTIONARY


def read_pairs(path: Path) -> tuple[list[tuple[str, str]], BadRows]:
    """Return the pairs of a dictionary of MUSE (Conneau et al. 2018), and the lines left out.

    A line is two words with white space between.
    """
    pairs, bad = list[tuple[str, str]](), BadRows("lines")
    for number, line in numbered_rows(path, bad=bad):
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

    English is first on a line. ``limit`` keeps the first pairs, of MUSE's most frequent words.
    """
    read_single(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    (file,), language, limit = upstream.files, upstream.language, options["limit"]
    pairs, bad = read_pairs(file.path)
    fix = "are the columns exchanged? correct the source's path or language"
    require_script((word for word, _ in pairs), "Latn", file.path, "en", fix)
    require_script((word for _, word in pairs), language.script, file.path, language.code, fix)
    kept = pairs[:limit]
    english, other = map(set, zip(*kept, strict=True))
    card = Card("dictionary", f"en-{language.code}", bad=bad)
    counts = {"pairs": len(kept), "English words": len(english), "other words": len(other)}
    card.counts.update(counts)
    card.dropped["beyond the limit"] = len(pairs) - len(kept)
    card.notes += shortfall(limit, len(kept), "pairs")
    return table_of(kept, DICTIONARY), card


def words_of(dictionaries: Sequence[Path], side: Literal["source", "target"]) -> list[str]:
    """Return the words of one side of some dictionaries, each once, in their order."""
    tables = [read_parquet(path, DICTIONARY) for path in dictionaries]
    words: list[str] = pc.unique(pa.concat_tables(tables).column(side)).to_pylist()
    return words
