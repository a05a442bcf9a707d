"""Bilingual dictionaries in the format of MUSE: a word and its translation on each line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import ascii_words, numbered_lines, require_text
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.schemas import DICTIONARY


def read_pairs(path: Path) -> tuple[list[tuple[str, str]], BadRows]:
    """Read a dictionary of MUSE (Conneau et al. 2018): two words a line, white space between.

    Returns:
        The pairs as they stand, in their order, and the lines left out since they do not have two
        words or are not UTF-8.

    Raises:
        DataError: if the file is missing or damaged, has no pair, or has too many bad lines, see
            :class:`BadRows`; names the first.
    """
    pairs, bad = list[tuple[str, str]](), BadRows("lines")
    for number, line in numbered_lines(path, strict=False):
        try:
            require_text(line, path, number)
            words = ascii_words(line)
            if len(words) != 2:
                problem = f"{len(words)} words, not two"
                mend = "check that the file is a dictionary of MUSE"
                raise DataError(path, f"line {number}", problem, mend)
        except DataError as error:
            bad.drop(error)
        else:
            pairs.append((words[0], words[1]))
    bad.require_few(len(pairs))
    return pairs, bad


def read_dictionary(
    path: Path,
    language: str,
    output: Path | str,
    card: Path | str,
    *,
    limit: int | None = None,
    source: Source = None,
    script: str = "",
) -> None:
    """Make a dictionary of English and one other language a table.

    Args:
        path: see :func:`read_pairs`; the first word of a line is the English one.
        language: our code of the other language.
        output: Parquet file with the columns of ``schemas.DICTIONARY``, words as they stand.
        card: JSON file for the dataset card.
        limit: keep the first pairs; those of MUSE are of the most frequent English words.
        source: dataset, licence and citation for the card.
        script: what the language is written in, see :func:`require_script`.

    Raises:
        DataError: see :func:`read_pairs`.
    """
    pairs, bad = read_pairs(path)
    if script:
        mend = "are the columns exchanged? correct the source's path or language"
        require_script((word for word, _ in pairs), "Latn", path, "en", mend)
        require_script((word for _, word in pairs), script, path, language, mend)
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
        dropped={"beyond the limit": read - len(pairs)},
        bad=bad,
        notes=shortfall(limit, len(pairs), "pairs"),
        source=source,
    )
    write_parquet(table_of(pairs, DICTIONARY), output)


def words_of(dictionaries: Sequence[Path], side: Literal["source", "target"]) -> list[str]:
    """Return the words that one side of some dictionaries has, each once, the first ones first."""
    tables = [read_parquet(path, DICTIONARY) for path in dictionaries]
    found: list[str] = pc.unique(pa.concat_tables(tables).column(side)).to_pylist()
    return found
