"""How long jobs take: a start and a time for each unit of work, fitted to measured jobs."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text

_COLUMNS = ("rule", "device", "start_seconds", "seconds_per_unit", "cores", "jobs", "most_work")
Rates = Mapping[tuple[str, str], "Rate"]
"""By rule and device (``cpu`` or ``gpu``)."""


@dataclass(frozen=True)
class Rate:
    """How long a job of some rule takes on some device.

    Attributes:
        start: seconds before any work: imports, mostly.
        per_unit: seconds for each unit of work.
        cores: CPU seconds per second.
        jobs: number of measured jobs.
        most_work: the largest work among them.
    """

    start: float
    per_unit: float = 0.0
    cores: float = 1.0
    jobs: int = 0
    most_work: float = math.inf

    def seconds(self, work: float) -> float:
        """Return the time of a job with that work."""
        return self.start + self.per_unit * work


def fit(
    work: Sequence[float],
    seconds: Sequence[float],
    cpu: Sequence[float],
    *,
    usual_start: float,
    before: Rate | None = None,
) -> Rate:
    """Fit a rate to measured jobs; the estimates of all of them add up to the measured total.

    Args:
        work: units of each job.
        seconds: time of each job.
        cpu: its CPU seconds, NaN where they were not measured.
        usual_start: seconds that imports take. Jobs of about the same work, or whose times do not
            grow with it, don't tell start from speed: the time beyond this start counts as work.
        before: a rate from another run, whose proportions such jobs take instead.
    """
    units, times, used = (np.asarray(values, float) for values in (work, seconds, cpu))
    read = ~np.isnan(used)
    cores = used[read].sum() / times[read].sum() if read.any() else before.cores if before else 1.0
    start = min(usual_start, float(times.min()))
    per_unit = (times.mean() - start) / units.mean() if units.any() else 0.0
    if before:
        start, per_unit = before.start, before.per_unit
    if len(set(units)) > 2 and units.max() > 1.5 * units.min():
        # Relative errors count: a job of seconds must not vanish next to one of hours.
        scale = units.max()
        columns = np.stack([np.ones_like(units), units / scale], axis=1) / times[:, None]
        (constant, slope), _ = nnls(columns, np.ones_like(times))
        if slope:
            start, per_unit = constant, slope / scale
    factor = times.sum() / (start + per_unit * units).sum()
    start, per_unit = float(start * factor), float(per_unit * factor)
    return Rate(start, per_unit, float(cores), len(times), float(units.max()))


def read_rates(path: Path | str) -> dict[tuple[str, str], Rate]:
    """Read rates.

    Raises:
        DataError: if a column is missing or a value is no number; names the line.
    """
    with open_text(path) as stream:
        table = csv.DictReader(stream)
        try:
            return {
                (row["rule"], row["device"]): Rate(
                    float(row["start_seconds"]),
                    float(row["seconds_per_unit"]),
                    float(row["cores"]),
                    int(row["jobs"]),
                    float(row["most_work"]),
                )
                for row in table
            }
        except (KeyError, TypeError, ValueError) as error:
            fix = f"write the columns {', '.join(_COLUMNS)}"
            place = f"line {table.line_num}"
            raise DataError(path, place, f"not a rate ({error})", fix) from None


def write_rates(rates: Rates, path: Path | str) -> None:
    """Write rates as CSV, sorted by rule, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(_COLUMNS)
        for (rule, device), rate in sorted(rates.items()):
            numbers = (f"{value:.4g}" for value in (rate.start, rate.per_unit, rate.cores))
            table.writerow([rule, device, *numbers, rate.jobs, f"{rate.most_work:.4g}"])
