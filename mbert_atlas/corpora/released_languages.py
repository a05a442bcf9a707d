"""The language identification set that Tanti et al. (2021) released.

Nobody has described the archive. Their code writes a processed set as one CSV per split, with the
columns ``row``, ``tokens`` (word pieces between blanks) and ``language``; such files are read from
the zip, wherever in it they lie. As committed that code drops the ``##`` of pieces, without which
the text is lost; files in which no piece has it are refused.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import open_zip_member
from mbert_atlas.corpora.samples import table_of
from mbert_atlas.corpora.wikipedia import SPLITS
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import LID_EXAMPLES

_COLUMNS = ("tokens", "language")
_NAMES = {"validation": "val"}


def read_released_languages(
    archive: Path | str,
    output: Path | str,
    card: Path | str,
    *,
    languages: Collection[str],
    source: Source = None,
) -> None:
    """Read the released set in its own splits.

    Pieces are put together again, ``##`` joining what it continues, so that any tokenizer can take
    the text; where words were split at punctuation there stay blanks, which mBERT's tokenizer
    splits alike.

    Args:
        archive: the zip.
        output: Parquet file with the columns of ``schemas.LID_EXAMPLES``.
        card: JSON file for the dataset card.
        languages: which languages to keep.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if a split is missing, a file lacks a column or is damaged, no piece is marked as
            continuing a word, or a language has no example.
    """
    counts, bad = Counter[str](), BadRows("examples")
    rows: list[tuple[str, str, str, str]] = []
    marked = False
    for split in SPLITS:
        for number, pieces, language in _examples(Path(archive), split, bad):
            marked |= " ##" in pieces
            if language in languages:
                counts[f"{language}: {split}"] += 1
                rows.append((f"{split}-{number}", language, split, pieces.replace(" ##", "")))
    bad.require_few(len(rows))
    if not marked:
        raise DataError(
            archive,
            "column tokens",
            "no piece begins with ##, so that words cannot be put together again",
            "sample Wikipedia instead: give `paragraphs` and `encoder`, no `files`",
        )
    for language in languages:
        if not any(counts[f"{language}: {split}"] for split in SPLITS):
            raise DataError(
                archive,
                f"language {language}",
                "there are no examples",
                "drop it from the dataset's languages",
            )
    write_parquet(table_of(rows, LID_EXAMPLES), output)
    write_card(
        card,
        dataset="Wikipedia language identification, as released",
        language=" ".join(sorted(languages)),
        files=[Path(archive)],
        counts=counts,
        dropped={},
        bad=bad,
        source=source,
        notes=["the archive's layout is taken from the authors' code, not from a description"],
    )


def _examples(archive: Path, split: str, bad: BadRows) -> Iterator[tuple[int, str, str]]:
    """Yield line number, pieces and language of a split."""
    member = rf"dataset_{_NAMES.get(split, split)}\.csv"
    with open_zip_member(archive, member) as (name, content):
        name = name.removeprefix(f"{archive}:")
        reader = csv.DictReader(io.TextIOWrapper(content, encoding="utf-8", newline=""))
        mend = "take the archive of the authors' repository"
        try:
            missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
            if missing:
                problem = f"there is no column {missing[0]!r} (found {reader.fieldnames})"
                raise DataError(archive, f"{name}, line 1", problem, mend)
            for row in reader:
                if row["tokens"] is None or row["language"] is None:
                    place = f"{name}, line {reader.line_num}"
                    bad.drop(DataError(archive, place, "the line is cut short", mend))
                    continue
                yield reader.line_num, row["tokens"], row["language"]
        except (csv.Error, UnicodeDecodeError) as error:
            place = f"{name}, after line {reader.line_num}"
            raise DataError(archive, place, f"it cannot be read ({error})", mend) from error
