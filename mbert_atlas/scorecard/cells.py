"""The CSV files of the scorecard: reported and measured numbers, and reasons for missing ones."""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mbert_atlas.analysis.resampling import RESAMPLED, RESAMPLES
from mbert_atlas.config.base import PROTOCOLS
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text, read_parquet
from mbert_atlas.schemas import MEASUREMENT_COLUMNS, RESAMPLED_MEASUREMENTS

if TYPE_CHECKING:  # claims are checked when Snakemake starts, without pandas
    import pandas as pd

KEY = MEASUREMENT_COLUMNS[:9]
"""What names a cell: paper, artifact, task, ..., metric."""

Key = tuple[str, ...]
Floats = npt.NDArray[np.float32]


class Measured(NamedTuple):
    """What was measured of one cell under one protocol."""

    values: dict[int | None, float]  # by seed; none where a value has no seed
    n_items: int | None  # items behind one value; none if unknown
    resampled: Mapping[int | None, Any] = {}
    """By seed: the value on each resample of the items, float32, shape ``(RESAMPLES,)``, in the
    unit of the cell, paired between cells that share a test set (:mod:`.resampling`); or none."""


class CellLine(NamedTuple):
    """A line of a CSV file."""

    path: Path
    number_in_file: int  # from 1
    fields: dict[str, str]  # by column

    @property
    def key(self) -> Key:
        """The cell that the line is about."""
        return tuple(self.fields[column] for column in KEY)

    def error(self, problem: str, fix: str = "correct it or write the file again") -> DataError:
        """Return an error that names the line."""
        return DataError(self.path, f"line {self.number_in_file}", problem, fix)

    def number(self, column: str) -> float:
        """Return a finite number."""
        try:
            value = float(self.fields[column])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{self.fields[column]!r} is not a finite number ({column})")
        return value


def read_cells(
    paths: Iterable[Path], columns: Sequence[str] = (*KEY, "value")
) -> Iterator[CellLine]:
    """Yield the lines of CSV files whose headers have these columns.

    A DataError names file and line if columns are missing, a row has other fields than the header,
    or a cell (under one protocol and seed) occurs twice.
    """
    lines: dict[Key, CellLine] = {}
    for path in paths:
        with open_text(path) as stream:
            reader = csv.DictReader(stream)
            header = list(reader.fieldnames or ())
            if missing := [column for column in columns if column not in header]:
                fix = f"the header must be {','.join(columns)}"
                raise DataError(path, "line 1", f"no column {', '.join(missing)}", fix)
            for row in reader:
                line = CellLine(path, reader.line_num, row)
                if None in row or None in row.values():
                    raise line.error(f"the row has not {len(header)} fields")
                cell = (*line.key, row.get("protocol", ""), row.get("seed", ""))
                if first := lines.get(cell):
                    name = ", ".join(filter(None, cell))
                    problem = f"the cell {name} is already in {first.path}, line "
                    raise line.error(f"{problem}{first.number_in_file}", "keep one of the two rows")
                lines[cell] = line
                yield line


def measured_cells(
    paths: Iterable[Path], resamples: Iterable[Path] = ()
) -> dict[str, dict[Key, Measured]]:
    """Return the cells of measurements, by protocol; errors as :func:`read_cells`.

    Files of ``resamples`` are ``schemas.RESAMPLED_MEASUREMENTS`` of some of the cells. A DataError
    names file and line if a value is not a number, or a cell has values with a seed and one
    without.
    """
    resampled = defaultdict[Key, dict[int | None, Floats]](dict)  # by protocol and cell
    for path in resamples:
        table = read_parquet(path, RESAMPLED_MEASUREMENTS).combine_chunks()
        flat = table[RESAMPLED].combine_chunks().flatten().to_numpy()
        values = flat.reshape(len(table), RESAMPLES)
        places = (table[column].to_pylist() for column in ("seed", "protocol", *KEY))
        for (seed, *place), own in zip(zip(*places, strict=True), values, strict=True):
            resampled[tuple(place)][seed] = own
    cells: dict[str, dict[Key, Measured]] = {name: {} for name in PROTOCOLS}
    for line in read_cells(paths, MEASUREMENT_COLUMNS):
        seed, n = (int(text) if (text := line.fields[name]) else None for name in ("seed", "n"))
        protocol, key = line.fields["protocol"], line.key
        cell = cells[protocol].setdefault(key, Measured({}, n, resampled[protocol, *key]))
        if cell.values and (seed is None) != (None in cell.values):
            problem = "the same cell has values with a seed and one without"
            raise line.error(problem, "give all of them seeds, or leave one row without")
        cell.values[seed] = line.number("value")
    return cells


def write_csv(frame: "pd.DataFrame", path: Path | str, *, digits: int = 6) -> None:
    """Write a table with this many significant digits, atomically."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, float_format=f"%.{digits}g", lineterminator="\n")


def write_reasons(rows: Iterable[tuple[str, str, str]], path: Path | str) -> None:
    """Write paper, artifact and the reason why it was not run, one row each, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        header = ("paper", "artifact", "reason")
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def read_reasons(path: Path | str) -> dict[tuple[str, str], str]:
    """Read what :func:`write_reasons` wrote: by paper and artifact the reasons, joined."""
    reasons = defaultdict[tuple[str, str], list[str]](list)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            reasons[row["paper"], row["artifact"]].append(row["reason"])
    return {key: " ".join(some) for key, some in reasons.items()}
