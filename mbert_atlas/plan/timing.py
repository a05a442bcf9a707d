"""How long jobs take: a start and a time for each unit of work, fitted to what was measured."""

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


@dataclass(frozen=True)
class Rate:
    """How long a job of some rule takes on some device.

    Attributes:
        start: seconds before any work: imports, mostly.
        per_unit: seconds for each unit of work.
        cores: CPU seconds for each second.
        jobs: how many readings stand behind it.
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
    """Fit a rate to readings; predictions of all of them add up to what was read.

    Args:
        work: units of each job.
        seconds: time of each job.
        cpu: its CPU seconds, NaN where there is no reading.
        usual_start: seconds that imports take. Readings of much the same work do not tell its
            share in the time: what is beyond that start is then taken for work, and so it is if
            times do not grow with the work, which is then too little to be seen.
        before: a rate from elsewhere, whose shares such readings take instead.
    """
    units, times, used = (np.asarray(values, float) for values in (work, seconds, cpu))
    read = ~np.isnan(used)
    cores = used[read].sum() / times[read].sum() if read.any() else before.cores if before else 1.0
    start = min(usual_start, float(times.min()))
    per_unit = (times.mean() - start) / units.mean() if units.any() else 0.0
    if before:
        start, per_unit = before.start, before.per_unit
    if len(set(units)) > 2 and units.max() > 1.5 * units.min():
        # Relative errors count: a job of seconds must not vanish beside one of hours.
        scale = units.max()
        columns = np.stack([np.ones_like(units), units / scale], axis=1) / times[:, None]
        (constant, slope), _ = nnls(columns, np.ones_like(times))
        if slope:
            start, per_unit = constant, slope / scale
    factor = times.sum() / (start + per_unit * units).sum()
    start, per_unit = float(start * factor), float(per_unit * factor)
    return Rate(start, per_unit, float(cores), len(times), float(units.max()))


def read_rates(path: Path | str) -> dict[tuple[str, str], Rate]:
    """Read rates by rule and device (``cpu`` or ``gpu``).

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
            raise DataError(
                path,
                f"line {table.line_num}",
                f"not a rate ({error})",
                f"write the columns {', '.join(_COLUMNS)} anew",
            ) from None


def write_rates(rates: Mapping[tuple[str, str], Rate], path: Path | str) -> None:
    """Write rates as CSV, sorted by rule, atomically."""
    with (
        atomic_path(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as stream,
    ):
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(_COLUMNS)
        for (rule, device), rate in sorted(rates.items()):
            numbers = (f"{value:.4g}" for value in (rate.start, rate.per_unit, rate.cores))
            table.writerow([rule, device, *numbers, rate.jobs, f"{rate.most_work:.4g}"])


def hours(seconds: float) -> str:
    """Return a time as people say it: ``40 s``, ``12 min``, ``7.5 h``, ``12.3 days``."""
    for unit, length, least in (("days", 86400, 2), ("h", 3600, 2), ("min", 60, 2)):
        if seconds >= least * length:
            value = seconds / length
            return f"{value:.1f} {unit}" if value < 100 and unit != "min" else f"{value:.0f} {unit}"
    return f"{math.ceil(seconds)} s"
