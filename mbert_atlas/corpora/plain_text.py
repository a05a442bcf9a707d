"""Running text out of any corpus, for training tokenisers and encoders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.config.datasets import PlainTextFormat
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import manythings, numbered_lines, require_format, require_text
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.corpora.universal_dependencies import parse_conllu
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN, write_parquet
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import PARAGRAPHS

Format = PlainTextFormat
_RANGE = "<range>"


def iter_texts(
    path: Path | str, format: Format, *, language: str = "en", bad: BadRows | None = None
) -> Iterator[str]:
    """Yield the texts of a corpus file one by one, stripped, without empty ones.

    Args:
        path: the file; text files may be ``.gz``, ``.bz2`` or ``.xz``.
        format: ``paragraphs``: Parquet with a column ``text`` (paragraphs, language identification
            examples, sentences); ``lines``: a text a line; ``conllu``: the sentences of a treebank,
            without those whose words the release withholds; ``vline``: a verse a line, where
            ``<range>`` says that it is told in the line before; ``manythings``: English and another
            language, tab-separated, alone or zipped; ``moses``: a zip whose members end in language
            codes.
        language: ``moses``: the code of the wanted side; ``manythings``: ``en`` or any other.
        bad: collects what cannot be used; without it the first bad line ends it.

    Raises:
        DataError: for a missing, empty, damaged or non-UTF-8 file, or one of another format.
    """
    path = Path(path)
    require_format(format, get_args(Format), path)
    texts = _paragraphs(path) if format == "paragraphs" else _texts(path, format, language, bad)
    return (text for text in map(str.strip, texts) if text)


def _texts(path: Path, format: Format, language: str, bad: BadRows | None) -> Iterator[str]:
    strict = bad is None
    if format == "conllu":
        for sentence in parse_conllu(numbered_lines(path, strict=strict), path, bad):
            if not sentence.is_withheld:
                yield sentence.text
    elif format == "manythings":
        for _, columns in manythings(path, bad):
            yield columns[int(language != "en")]
    else:
        wanted = rf"[^/]+\.{re.escape(language)}" if format == "moses" else None
        for number, line in numbered_lines(path, wanted, strict=strict):
            if bad is not None:
                try:
                    require_text(line, path, number)
                except DataError as error:
                    bad.drop(error)
                    continue
            if format != "vline" or line.strip() != _RANGE:
                yield line


def _paragraphs(path: Path) -> Iterator[str]:
    with _parquet(path) as file:
        for batch in file.iter_batches(columns=["text"]):
            yield from batch.column("text").to_pylist()


@contextmanager
def _parquet(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, KeyError, OSError) as error:
        raise DataError(
            path, "column text", f"not a readable Parquet file with it ({error})", "remake the file"
        ) from error


def shuffled_texts(path: Path, seed: int, language: str) -> Iterator[str]:
    """Yield the texts of a Parquet file in an order that a seed draws, a row group at a time.

    Row groups come in a random order, and the texts of each, too: no more than one is in memory.

    Args:
        path: Parquet file with a column ``text``.
        seed: decides the order.
        language: name of the stream of randomness.

    Raises:
        DataError: if it is not such a file.
    """
    random = generator(seed, "texts", language)
    with _parquet(path) as file:
        for group in random.permutation(file.num_row_groups):
            texts = file.read_row_group(group, columns=["text"]).column("text")
            yield from texts.take(random.permutation(len(texts))).to_pylist()


def read_plain_text(
    files: Sequence[tuple[Path, Format]],
    language: str,
    output: Path | str,
    card: Path | str,
    *,
    limit: int | None = None,
    source: Source = None,
    script: str = "",
) -> None:
    """Collect the running text of one language, for pretraining.

    Args:
        files: files with their formats, read in turn.
        language: our language code.
        output: Parquet file with the columns of ``schemas.PARAGRAPHS``; the title is the file's
            name, the page its number.
        card: JSON file for the dataset card.
        limit: stop after this many texts.
        source: dataset, licence and citation for the card.
        script: what the language is written in, see :func:`require_script`.

    Raises:
        DataError: see :func:`iter_texts`; also if there is no text at all.
    """
    bad = BadRows("lines")
    found = (
        (f"{language}-{number}-{position}", language, number, path.name, text)
        for number, (path, format) in enumerate(files)
        for position, text in enumerate(iter_texts(path, format, language=language, bad=bad))
    )
    rows = list(islice(found, limit))
    bad.require_few(len(rows))
    if not rows:
        raise DataError(files[0][0], "", "there is no text in it", f"drop it, or {AGAIN}")
    for number, (path, _) in enumerate(files):
        require_script((row[4] for row in rows if row[2] == number), script, path, language)
    write_card(
        card,
        dataset="plain text",
        language=language,
        files=[path for path, _ in files],
        counts={"texts": len(rows)},
        dropped={},
        bad=bad,
        notes=shortfall(limit, len(rows), "texts"),
        source=source,
    )
    write_parquet(table_of(rows, PARAGRAPHS), output)
