"""How long jobs take: a start and a time for each unit of work, fitted to measured jobs."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text

_COLUMNS = ("rule", "device", "start_seconds", "seconds_per_unit", "cores", "jobs", "most_work")


@dataclass(frozen=True)
class Rate:
    """How long a job of some rule takes on some device."""

    start: float  # seconds before any work: imports, mostly
    per_unit: float = 0.0  # seconds for each unit of work
    cores: float = 1.0  # CPU seconds per second
    jobs: float = 0  # number of measured jobs
    most_work: float = math.inf  # the largest work among them

    def seconds(self, work: float) -> float:
        """Return the time of a job with that work."""
        return self.start + self.per_unit * work


Rates = Mapping[tuple[str, str], Rate]
"""By rule and device (``cpu`` or ``gpu``)."""


def fit(
    work: Sequence[float], seconds: Sequence[float], cpu: Sequence[float], usual_start: float
) -> Rate:
    """Fit a rate to measured jobs; the estimates of all of them add up to the measured total.

    Args:
        work: units of each job.
        seconds: time of each job.
        cpu: its CPU seconds, NaN where they were not measured.
        usual_start: seconds of imports; the time beyond them counts as work.
    """
    units, times, used = (np.asarray(values, float) for values in (work, seconds, cpu))
    read = ~np.isnan(used)
    cores = used[read].sum() / times[read].sum() if read.any() else 1.0
    start = min(usual_start, times.min()) if units.any() else times.mean()
    per_unit = (times.mean() - start) / units.mean() if units.any() else 0.0
    return Rate(float(start), float(per_unit), float(cores), len(times), float(units.max()))


def read_rates(path: Path | str) -> dict[tuple[str, str], Rate]:
    """Read rates; raise a ``DataError`` as :func:`read_numbers` does."""
    return {key: Rate(*numbers) for key, numbers in read_numbers(path, _COLUMNS).items()}


def read_numbers(path: Path | str, columns: Sequence[str]) -> dict[tuple[str, str], list[float]]:
    """Read a CSV file whose first two ``columns`` are the key of the numbers in the others.

    Raises:
        DataError: if a column is missing or a value is no number; names the line.
    """
    first, second, *others = columns
    with open_text(path) as stream:
        table = csv.DictReader(stream)
        try:
            return {
                (row[first], row[second]): [float(row[name]) for name in others] for row in table
            }
        except (KeyError, TypeError, ValueError) as error:
            place, fix = f"line {table.line_num}", f"write the columns {', '.join(columns)}"
            raise DataError(path, place, f"a number is missing or wrong ({error})", fix) from None


def write_rates(rates: Rates, path: Path | str) -> None:
    """Write rates as CSV, sorted by rule, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(_COLUMNS)
        for key, rate in sorted(rates.items()):
            numbers = (rate.start, rate.per_unit, rate.cores, rate.jobs, rate.most_work)
            table.writerow([*key, *(f"{value:.4g}" for value in numbers)])
