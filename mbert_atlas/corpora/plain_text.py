"""Running text out of any corpus, for training tokenisers and encoders."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.config.corpora.kinds import PlainTextFormat
from mbert_atlas.corpora.bad_rows import STRICT, BadRows
from mbert_atlas.corpora.cards import Card
from mbert_atlas.corpora.jobs import Options, ReadingJob, Upstream, read_single
from mbert_atlas.corpora.lines import manythings, numbered_lines, require_format
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.corpora.universal_dependencies import parse_conllu
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import PARAGRAPHS

_RANGE = "<range>"


def iter_texts(
    path: Path | str, format: str, *, language: str = "en", bad: BadRows = STRICT
) -> Iterator[str]:
    """Yield the texts of a corpus file one by one, stripped, without empty ones.

    Formats: ``paragraphs``: Parquet with a column ``text`` (paragraphs, language identification
    examples, sentences); ``lines``: a text a line; ``conllu``: the sentences of a treebank, without
    those whose words the release withholds; ``vline``: a verse a line, where ``<range>`` means that
    it is part of the line before; ``manythings``: English and another language, tab-separated,
    alone or zipped; ``moses``: a zip whose members end in language codes. Text files may be
    ``.gz``, ``.bz2`` or ``.xz``.

    ``language`` is the side of a bitext, for ``manythings`` ``en`` or any other. ``bad`` collects
    what cannot be used; without it the first bad line raises an error.

    Raises DataError for a missing, empty, damaged or non-UTF-8 file, or one of another format.
    """
    path = Path(path)
    require_format(format, PlainTextFormat, path)
    return (text for text in map(str.strip, _texts(path, format, language, bad)) if text)


def _texts(path: Path, format: str, language: str, bad: BadRows) -> Iterator[str]:
    if format == "paragraphs":
        with _parquet(path) as file:
            for batch in file.iter_batches(columns=["text"]):
                yield from batch.column("text").to_pylist()
    elif format == "conllu":
        for sentence in parse_conllu(numbered_lines(path, bad=None), path, bad):
            if not sentence.is_withheld:
                yield sentence.text
    elif format == "manythings":
        for _, columns in manythings(path, bad):
            yield columns[int(language != "en")]
    else:
        for _, line in numbered_lines(path, rf"[^/]+\.{re.escape(language)}", bad):
            if format != "vline" or line.strip() != _RANGE:
                yield line


@contextmanager
def _parquet(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, KeyError, OSError) as error:
        problem = f"not a readable Parquet file with it ({error})"
        raise DataError(path, "column text", problem, "remake the file") from error


def shuffled_texts(path: Path, seed: int, language: str) -> Iterator[str]:
    """Yield the column ``text`` of a Parquet file in random order, a row group at a time.

    Row groups are shuffled, and the texts of each, so that no more than one is in memory. Seed and
    language decide the order.

    Raises DataError if it is not such a file.
    """
    random = generator(seed, "texts", language)
    with _parquet(path) as file:
        for group in random.permutation(file.num_row_groups):
            texts = file.read_row_group(group, columns=["text"]).column("text")
            yield from texts.take(random.permutation(len(texts))).to_pylist()


def read(job: ReadingJob) -> None:
    """Read the running text of one language, for pretraining, with the columns of ``PARAGRAPHS``.

    Files are read in turn, up to ``limit`` texts; the title is the file's name, the page its
    number.

    Raises DataError, see :func:`iter_texts`; also if there is no text at all.
    """
    read_single(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    files, code, limit = upstream.files, upstream.language.code, options["limit"]
    card = Card("plain text", code, bad=BadRows("lines"))
    texts = (
        (f"{code}-{number}-{position}", code, number, file.path.name, text)
        for number, file in enumerate(files)
        for position, text in enumerate(
            iter_texts(file.path, file.format, language=code, bad=card.bad)
        )
    )
    rows = list(islice(texts, limit))
    card.bad.require_few(len(rows))
    if not rows:
        raise DataError(files[0].path, "", "there is no text in it", f"drop it, or {AGAIN}")
    for number, file in enumerate(files):
        texts_of_file = (row[4] for row in rows if row[2] == number)
        require_script(texts_of_file, upstream.language.script, file.path, code)
    card.counts["texts"] = len(rows)
    card.notes += shortfall(limit, len(rows), "texts")
    return table_of(rows, PARAGRAPHS), card
