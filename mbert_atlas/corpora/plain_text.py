"""Running text, for training tokenisers and encoders.

Formats: ``lines``: a text a line; ``vline``: a verse a line, where ``<range>`` means that it is
part of the line before. Files may be ``.gz``, ``.bz2`` or ``.xz``.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.config.corpora.kinds import PlainTextFormat
from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import CorpusFile, Options, ReadingJob, Upstream, read_single
from mbert_atlas.corpora.lines import numbered_lines, require_format
from mbert_atlas.corpora.samples import shortfall, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN
from mbert_atlas.randomness import generator
from mbert_atlas.schemas import PARAGRAPHS

_RANGE = "<range>"


def texts_of(path: Path) -> Iterator[str]:
    """Yield the column ``text`` of a Parquet file."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["text"]):
            yield from batch.column("text").to_pylist()


def texts_by_language(paths: Iterable[str | Path]) -> dict[str, Iterator[str]]:
    """Return an iterator over the texts of each language, whose code names its Parquet files."""
    texts: dict[str, Iterator[str]] = {}
    for path in map(Path, paths):
        texts[path.stem] = chain(texts.get(path.stem, ()), texts_of(path))
    return texts


def shuffled_texts(path: Path, seed: int, language: str) -> Iterator[str]:
    """Yield the column ``text`` of a Parquet file in random order, with one row group in memory.

    Row groups are shuffled, and the texts of each; seed and language decide the order.
    """
    random = generator(seed, "texts", language)
    with pq.ParquetFile(path) as file:
        for group in random.permutation(file.num_row_groups):
            texts = file.read_row_group(group, columns=["text"]).column("text")
            yield from texts.take(random.permutation(len(texts))).to_pylist()


def read(job: ReadingJob) -> None:
    """Read the running text of one language, for pretraining, with the columns of ``PARAGRAPHS``.

    Files are read in turn, up to ``limit`` texts; a text's page is the number of its file.
    """
    read_single(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    files, code, limit = upstream.files, upstream.language.code, options["limit"]
    card = Card("plain text", code, bad=BadRows("lines"))
    texts = (
        (f"{code}-{number}-{position}", code, number, file.path.name, text)
        for number, file in enumerate(files)
        for position, text in enumerate(_texts(file, card.bad))
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


def _texts(file: CorpusFile, bad: BadRows) -> Iterator[str]:
    """Yield the texts of a file, stripped, without empty ones."""
    require_format(file.format, PlainTextFormat, file.path)
    for _, line in numbered_lines(file.path, bad=bad):
        text = line.strip()
        if text and (file.format != "vline" or text != _RANGE):
            yield text
