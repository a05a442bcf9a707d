"""Rows of a dataset as a table, and the part of it that a config selects."""

import logging
from collections.abc import Generator, Iterable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.files import atomic_path
from mbert_atlas.randomness import generator

Row = tuple[Any, ...]
_ROWS_PER_GROUP = 16_384  # small, so that sampling from a large file decodes little at a time
_logger = logging.getLogger(__name__)


def table_of(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """Return rows, of which there must be some, as a table."""
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=schema)


def write_in_groups(parts: Generator[list[Row], None, None], schema: pa.Schema, path: Path) -> None:
    """Stream rows to zstd Parquet, atomically; each part stays in one row group."""
    with (
        closing(parts),  # and what it has open, if the disk is full
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        rows: list[Row] = []
        for part in parts:
            rows += part
            if len(rows) >= _ROWS_PER_GROUP:
                writer.write_table(table_of(rows, schema))
                rows.clear()
        if rows:
            writer.write_table(table_of(rows, schema))


def limited(
    table: pa.Table, limit: int | None, seed: int | None, notes: list[str], *names: str
) -> pa.Table:
    """Return at most ``limit`` rows, in the order of ``table``: the first, or, by seed, a sample.

    ``names``, such as the language and the split, name its stream; ``notes`` are those of a card.
    """
    if limit is None or limit >= table.num_rows:
        return table
    if seed is None:
        notes.append(f"the first {limit}")
        return table.slice(0, limit)
    notes.append(f"a random {limit}, seed {seed}")
    drawn = generator(seed, "sample", *names).permutation(table.num_rows)[:limit]
    return table.take(pa.array(sorted(drawn.tolist())))


def shortfall(requested: int | None, found: int, what: str) -> list[str]:
    """Return the note of a card, and warn, if there is less of something than requested."""
    if requested is None or found >= requested:
        return []
    note = f"{found:,} {what} although {requested:,} were requested: there are no more"
    _logger.warning("%s", note)
    return [note]


def held_out(strata: npt.NDArray[np.str_], fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    """Return which rows are a random fraction (0 to 1) of each stratum, such as a language.

    ``strata`` names that of each row; it and the result have the shape ``(n,)``. Parts are rounded
    down (Tanti et al. 2021, appendix A), and do not depend on other strata.
    """
    share = Fraction(str(fraction))  # str: 0.1 means 1/10
    marks = np.zeros(len(strata), dtype=np.bool_)
    for stratum in np.unique(strata).tolist():
        rows = np.flatnonzero(strata == stratum)
        drawn = generator(seed, "held out", stratum).permutation(len(rows))
        marks[rows[drawn[: int(len(rows) * share)]]] = True
    return marks
