"""What jobs will cost: hours, disk, and wall time with a number of GPUs."""

import csv
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text


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
_RATES = ("rule", "device", "start_seconds", "seconds_per_unit", "cores", "jobs", "most_work")
MEASURED, ELSEWHERE, OPERATIONS, FAR, LIMIT = (
    "measured in this run, under its load",
    "measured elsewhere, by work",
    "operations and steps at an assumed speed",
    "measured elsewhere on less than a tenth of the work, a guess",
    "half of the time limit, a guess",
)
"""Where the time of a job comes from, the best first."""
ASSUMED = {
    "gpu": Rate(start=30.0, per_unit=1 / 200e12),  # of steps on an H200; the start is a guess
    "cpu": Rate(start=8.0, per_unit=1 / 20e9),  # 20 GFLOP/s on one core
}
GPU_STEP_SECONDS = 0.008
"""What a training step takes in addition to its operations, likewise: launches and optimiser."""
USUAL_START = {False: 0.6, True: 5.5}
"""Seconds of imports, by whether a job computes, with a model for the most part."""
LOCAL_SECONDS = 1.5
"""Seconds of a job that was neither measured nor has a limit: a table, a figure, a fetched file."""
FEATURES = 8
"""Jobs with the resource ``features`` at once, as in the profiles."""
SUBMISSION_SECONDS = 10.0
"""Seconds that a job takes through an empty queue of a cluster, in addition to its script."""


@dataclass(frozen=True)
class Job:
    """A job of the workflow."""

    rule: str  # and what else decides its speed
    paper: str  # that its cost is attributed to
    stage: str  # such as training
    work: float  # operations, or bytes that it reads
    computes: bool = False  # work is a number of operations
    steps: float = 0.0  # of training
    limit: float | None = None  # its time limit in seconds
    seconds: float | None = None  # how long it took, if it has been run
    cpu_seconds: float = math.nan  # CPU time of that; NaN if it was not measured
    gpus: float = 0  # that it used, or requests
    threads: int = 1  # CPU cores that it holds
    is_local: bool = False  # it runs where Snakemake does
    todo: bool = True  # it has still to run
    needs: tuple[int, ...] = ()  # positions of the jobs before it, among all jobs
    kept: float = 0.0  # bytes of outputs that stay
    temporary: float = 0.0  # bytes of outputs that are deleted after their last reader
    is_feature: bool = False  # it holds the resource `features`


@dataclass(frozen=True)
class Limits:
    """The resources of a run: GPUs, CPU cores, jobs submitted at once."""

    gpus: int
    cores: int
    jobs: int


def learn(jobs: Sequence[Job]) -> dict[tuple[str, str], Rate]:
    """Fit the rate of every rule to its measured jobs; it estimates their total as it was.

    A job starts as others do that compute, or don't; the time beyond that counts as work.
    """
    groups = defaultdict[tuple[str, str], list[Job]](list)
    for job in jobs:
        if job.seconds:
            groups[job.rule, "gpu" if job.gpus else "cpu"].append(job)
    rates = {}
    for key, group in groups.items():
        work, seconds, cpu = np.array([(it.work, it.seconds, it.cpu_seconds) for it in group]).T
        read = ~np.isnan(cpu)
        cores = cpu[read].sum() / seconds[read].sum() if read.any() else 1.0
        usual = min(USUAL_START[group[0].computes], seconds.min())
        start = usual if work.any() else seconds.mean()
        per_unit = (seconds.mean() - start) / (work.mean() or 1.0)
        rates[key] = Rate(*map(float, (start, per_unit, cores, len(group), work.max())))
    return rates


def read_rates(path: Path | str) -> dict[tuple[str, str], Rate]:
    """Read rates; raise a ``DataError`` as :func:`read_numbers` does."""
    return {key: Rate(*numbers) for key, numbers in read_numbers(path, _RATES).items()}


def read_numbers(path: Path | str, columns: Sequence[str]) -> dict[tuple[str, str], list[float]]:
    """Read a CSV file whose first two ``columns`` are the key of the numbers in the others.

    A ``DataError`` names the line where a column is missing or a value is no number.
    """
    with open_text(path) as stream:
        table = csv.DictReader(stream)
        try:
            rows = [[row[name] for name in columns] for row in table]
            return {(first, second): list(map(float, rest)) for first, second, *rest in rows}
        except (KeyError, TypeError, ValueError) as error:
            place, fix = f"line {table.line_num}", f"write the columns {', '.join(columns)}"
            raise DataError(path, place, f"a number is missing or wrong ({error})", fix) from None


def write_rates(rates: Rates, path: Path | str) -> None:
    """Write rates as CSV, sorted by rule, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(_RATES)
        for key, rate in sorted(rates.items()):
            table.writerow([*key, *(f"{value:.4g}" for value in astuple(rate))])


def rate_of(job: Job, has_gpus: bool, measured: Rates, elsewhere: Rates) -> tuple[Rate, str]:
    """Return how long a job takes, and the source of that number."""
    device = "gpu" if job.gpus and has_gpus else "cpu"
    key = (job.rule, device)
    if key in measured:
        return measured[key], MEASURED
    if key in elsewhere:
        rate = elsewhere[key]
        if job.work <= 10 * rate.most_work:
            return rate, ELSEWHERE
        if job.computes:  # most of the time of little work is overhead, which does not grow
            rate = replace(rate, per_unit=min(rate.per_unit, ASSUMED[device].per_unit))
        return Rate(min(rate.seconds(job.work), job.limit or math.inf), cores=rate.cores), FAR
    if job.computes:
        seconds = ASSUMED[device].seconds(job.work)
        return Rate(seconds + GPU_STEP_SECONDS * job.steps * (device == "gpu")), OPERATIONS
    return Rate(job.limit / 2 if job.limit else LOCAL_SECONDS), LIMIT


def estimate(
    jobs: Sequence[Job], elsewhere: Rates, limits: Sequence[Limits], overhead: float = 0.0
) -> dict[str, pd.DataFrame]:
    """Estimate the cost of the jobs that have still to run, by the measured ones and other rates.

    ``jobs`` are all, measured ones included; ``overhead`` are the seconds that a submitted job
    takes in addition to its own time. Returns ``cost``, with GPUs if one of the limits has some
    (columns paper, stage, jobs, gpu_hours, cpu_hours), ``wall_time`` under each of the limits
    (gpus, cores, wall_hours, disk_gb), and ``sources`` of the times (source, jobs, hours, rules).
    """
    measured = learn(jobs)

    def seconds(job: Job, limit: Limits) -> float:
        rate, _ = rate_of(job, limit.gpus > 0, measured, elsewhere)
        return rate.seconds(job.work) + overhead * (not job.is_local) if job.todo else 0.0

    times = []
    for limit in limits:
        wall = wall_time(jobs, [seconds(job, limit) for job in jobs], limit) / 3600
        times.append((limit.gpus, limit.cores, wall, peak_disk(jobs, limit) / 1e9))
    has_gpus, rows = any(limit.gpus for limit in limits), []
    for job in (job for job in jobs if job.todo):
        rate, source = rate_of(job, has_gpus, measured, elsewhere)
        hours = rate.seconds(job.work) / 3600
        place = (job.paper, job.stage, job.rule, source)
        rows.append((*place, 1, hours * job.gpus * has_gpus, hours * rate.cores, hours))
    numbers = ["jobs", "gpu_hours", "cpu_hours"]
    frame = pd.DataFrame(rows, columns=["paper", "stage", "rules", "source", *numbers, "hours"])
    by_rule = frame.groupby(["source", "rules"], as_index=False)[["jobs", "hours"]].sum()
    sources = by_rule.sort_values("hours", ascending=False).groupby("source", as_index=False)
    return {
        "cost": frame.groupby(["paper", "stage"], as_index=False)[numbers].sum(),
        "wall_time": pd.DataFrame(times, columns=["gpus", "cores", "wall_hours", "disk_gb"]),
        "sources": sources.agg({"jobs": "sum", "hours": "sum", "rules": " ".join}),
    }


def wall_time(jobs: Sequence[Job], seconds: Sequence[float], limits: Limits) -> float:
    """Return the wall time in seconds: the scarcest resource, or the longest chain of jobs.

    ``max(GPU time / GPUs, core time / cores, job time / jobs at once, longest chain)``: a lower
    bound that a full queue comes close to. Three jobs of 10 s on 2 cores, the third after the
    first: ``max(30 / 2, 10 + 10) = 20``. Each job comes after those that it needs.
    """
    gpu = core = 0.0
    chains = [0.0]
    for job, length in zip(jobs, seconds, strict=True):
        gpu += length * min(job.gpus, limits.gpus)
        core += length * min(job.threads, limits.cores)
        chains.append(length + max((chains[need + 1] for need in job.needs), default=0.0))
    return max(gpu / max(limits.gpus, 1), core / limits.cores, sum(seconds) / limits.jobs, *chains)


def peak_disk(jobs: Sequence[Job], limits: Limits) -> float:
    """Return the peak of bytes on disk: all that stays, and temporary outputs at once.

    At once exist about two temporary outputs for each job that runs: one being written, one read;
    of features, whose jobs share a resource, as many as the profiles allow.
    """
    todo = [job for job in jobs if job.todo]
    parallel = min(limits.gpus or limits.cores, limits.jobs)
    total = sum(job.kept for job in todo)
    for is_feature, most in ((False, 2 * parallel), (True, min(parallel, FEATURES))):
        sizes = (job.temporary for job in todo if job.is_feature == is_feature)
        total += sum(sorted(sizes, reverse=True)[:most])
    return total


def as_text(tables: dict[str, pd.DataFrame]) -> str:
    """Return an estimate as it is printed."""
    cost, times, sources = tables.values()
    if cost.empty:
        return "Nothing is left to run."
    total = pd.DataFrame([{"paper": "total", "stage": "", **cost.sum(numeric_only=True)}])
    cost = pd.concat([cost, total.astype({"jobs": int})])
    return "\n\n".join(
        table.to_string(index=False, float_format="{:.2f}".format, max_colwidth=70)
        for table in (cost, times, sources)
    )
