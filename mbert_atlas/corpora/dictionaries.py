"""Bilingual dictionaries in the format of MUSE: a word and its translation on each line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import ascii_words, numbered_lines
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.schemas import DICTIONARY

_MOST_MALFORMED = 0.01
"""Share of malformed lines above which a file is not a dictionary."""


def read_pairs(path: Path) -> tuple[list[tuple[str, str]], int]:
    """Read a dictionary of MUSE (Conneau et al. 2018): two words a line, white space between.

    Returns:
        The pairs as they stand, in their order, and how many lines were left out since they do not
        have two words.

    Raises:
        DataError: if the file is missing or damaged, or more than one line in a hundred is
            malformed; names the first.
    """
    rows = [(number, ascii_words(line)) for number, line in numbered_lines(path)]
    pairs = [(row[0], row[1]) for _, row in rows if len(row) == 2]
    malformed = [(number, row) for number, row in rows if len(row) != 2]
    if malformed and len(malformed) > _MOST_MALFORMED * len(rows):
        number, row = malformed[0]
        raise DataError(
            path,
            f"line {number}",
            f"{len(row)} words, not two; so are {len(malformed)} of {len(rows)} lines",
            "check that the file is a dictionary of MUSE",
        )
    return pairs, len(malformed)


def read_dictionary(
    path: Path,
    language: str,
    output: Path | str,
    card: Path | str,
    *,
    limit: int | None = None,
    source: Source = None,
) -> None:
    """Make a dictionary of English and one other language a table.

    Args:
        path: see :func:`read_pairs`; the first word of a line is the English one.
        language: our code of the other language.
        output: Parquet file with the columns of ``schemas.DICTIONARY``, words as they stand.
        card: JSON file for the dataset card.
        limit: keep the first pairs; those of MUSE are of the most frequent English words.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: see :func:`read_pairs`.
    """
    pairs, malformed = read_pairs(path)
    read, pairs = len(pairs), pairs[:limit]
    english, other = zip(*pairs, strict=True)
    write_card(
        card,
        dataset="dictionary",
        language=f"en-{language}",
        files=[path],
        counts={
            "pairs": len(pairs),
            "English words": len(set(english)),
            "other words": len(set(other)),
        },
        dropped={"not two words on a line": malformed, "beyond the limit": read - len(pairs)},
        source=source,
    )
    write_parquet(table_of(pairs, DICTIONARY), output)


def words_of(dictionaries: Sequence[Path], side: Literal["source", "target"]) -> list[str]:
    """Return the words that one side of some dictionaries has, each once, the first ones first."""
    tables = [read_parquet(path, DICTIONARY) for path in dictionaries]
    found: list[str] = pc.unique(pa.concat_tables(tables).column(side)).to_pylist()
    return found
