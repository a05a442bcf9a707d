"""What jobs will cost: hours, disk, and wall time with a number of GPUs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from mbert_atlas.plan.rates import Rate, Rates, fit

MEASURED, ELSEWHERE, OPERATIONS, FAR, LIMIT = (
    "measured in this run",
    "measured elsewhere, by work",
    "operations at an assumed speed",
    "measured elsewhere on less than a tenth of the work, a guess",
    "a fraction of the time limit, a guess",
)
"""Where the time of a job comes from, the best first."""
ASSUMED = {
    "gpu": Rate(start=60.0, per_unit=1 / 40e12),  # 40 TFLOP/s: never measured
    "cpu": Rate(start=8.0, per_unit=1 / 20e9),  # 20 GFLOP/s on one core
}
USUAL_START = {False: 0.6, True: 5.5}
"""Seconds of imports, by whether a job runs a model."""
LOCAL_SECONDS = 1.5
"""Seconds of a job that was neither measured nor has a limit: a table, a figure, a fetched file."""
FEATURES = 8
"""Jobs with the resource ``features`` at once, as in the profiles."""
SUBMISSION_SECONDS = 10.0
"""Seconds that a job takes through an empty queue of a cluster, in addition to its script."""


@dataclass(frozen=True)
class Job:
    """A job of the workflow.

    Attributes:
        rule: its rule.
        paper: paper that its cost is attributed to.
        stage: such as training.
        work: operations, or bytes that it reads.
        is_computed: whether work is a number of operations.
        runs_model: whether a model runs.
        limit: its time limit in seconds; none if it has none.
        seconds: how long it took, if it has been run.
        cpu_seconds: CPU time of that; NaN if it was not measured.
        gpus: GPUs that it used, or requests.
        threads: CPU cores that it holds.
        is_local: it runs where Snakemake does.
        todo: it has still to run.
        needs: positions of the jobs before it, among all jobs.
        kept: bytes of outputs that stay.
        temporary: bytes of outputs that are deleted when their last reader has run.
        is_feature: it holds the resource ``features``.
    """

    rule: str
    paper: str
    stage: str
    work: float
    is_computed: bool = False
    runs_model: bool = False
    limit: float | None = None
    seconds: float | None = None
    cpu_seconds: float = float("nan")
    gpus: int = 0
    threads: int = 1
    is_local: bool = False
    todo: bool = True
    needs: tuple[int, ...] = ()
    kept: float = 0.0
    temporary: float = 0.0
    is_feature: bool = False


@dataclass(frozen=True)
class Limits:
    """The resources of a run: GPUs, CPU cores, jobs submitted at once, cores for local jobs."""

    gpus: int
    cores: int
    jobs: int
    local_cores: int


@dataclass(frozen=True)
class Estimate:
    """The estimated cost.

    Attributes:
        costs: columns paper, stage, jobs, gpu_hours, cpu_hours, wall_hours, guessed_hours.
        times: columns gpus, cores, wall_hours, disk_gb.
        sources: columns source, jobs, wall_hours, rules.
    """

    costs: pd.DataFrame
    times: pd.DataFrame
    sources: pd.DataFrame


def learn(jobs: Sequence[Job], elsewhere: Rates) -> dict[tuple[str, str], Rate]:
    """Fit the rate of every rule to the jobs that were measured."""
    groups: dict[tuple[str, str], list[Job]] = {}
    for item in jobs:
        if item.seconds:
            groups.setdefault((item.rule, "gpu" if item.gpus else "cpu"), []).append(item)
    return {
        key: fit(
            [item.work for item in items],
            [item.seconds or 0.0 for item in items],
            [item.cpu_seconds for item in items],
            usual_start=USUAL_START[items[0].runs_model],
            before=elsewhere.get(key),
        )
        for key, items in groups.items()
    }


def rate_of(
    job: Job, device: str, measured: Rates, elsewhere: Rates, fraction: float = 0.5
) -> tuple[Rate, str]:
    """Return how long a job takes on a device, and the source of that number.

    Of a job of which nothing is known it is a ``fraction`` of the time limit.
    """
    key = (job.rule, device)
    if key in measured:
        return measured[key], MEASURED
    if key in elsewhere:
        rate = elsewhere[key]
        if job.work <= 10 * rate.most_work:
            return rate, ELSEWHERE
        if job.is_computed:  # most of the time of little work is overhead, which does not grow
            rate = replace(rate, per_unit=min(rate.per_unit, ASSUMED[device].per_unit))
        seconds = min(rate.seconds(job.work), job.limit or math.inf)
        return Rate(seconds, cores=rate.cores), FAR
    if job.runs_model:
        return ASSUMED[device], OPERATIONS
    return Rate(job.limit * fraction if job.limit else LOCAL_SECONDS), LIMIT


def estimate(
    jobs: Sequence[Job], elsewhere: Rates, limits: Sequence[Limits], overhead: float = 0.0
) -> Estimate:
    """Estimate the cost of the jobs that have still to run.

    Args:
        jobs: all jobs, measured ones included.
        elsewhere: rates for rules that this run has not measured.
        limits: resources; wall time and disk are estimated for each. Costs are those on GPUs, if
            one of them has GPUs.
        overhead: seconds that a submitted job takes in addition to its own time.
    """
    measured = learn(jobs, elsewhere)
    read = [(job.seconds, job.limit) for job in jobs if job.seconds and job.limit]
    fraction = sum(took for took, _ in read) / sum(most for _, most in read) if read else 0.5

    def rate(job: Job, has_gpus: bool) -> tuple[Rate, str]:
        device = "gpu" if job.gpus and has_gpus else "cpu"
        return rate_of(job, device, measured, elsewhere, fraction)

    times = []
    for limit in limits:
        seconds = [
            (rate(job, limit.gpus > 0)[0].seconds(job.work) + overhead * (not job.is_local))
            * job.todo
            for job in jobs
        ]
        wall, disk = wall_time(jobs, seconds, limit) / 3600, peak_disk(jobs, limit) / 1e9
        times.append((limit.gpus, limit.cores, wall, disk))
    has_gpus = any(limit.gpus for limit in limits)
    rows = [_cost(job, *rate(job, has_gpus), has_gpus) for job in jobs if job.todo]
    numbers = ["jobs", "gpu_hours", "cpu_hours", "wall_hours", "guessed_hours"]
    frame = pd.DataFrame(rows, columns=["paper", "stage", "rule", "source", *numbers])
    by_rule = frame.groupby(["source", "rule"], as_index=False)[["jobs", "wall_hours"]].sum()
    sources = (
        by_rule.sort_values("wall_hours", ascending=False)
        .groupby("source", as_index=False)
        .agg({"jobs": "sum", "wall_hours": "sum", "rule": " ".join})
        .rename(columns={"rule": "rules"})
    )
    return Estimate(
        frame.groupby(["paper", "stage"], as_index=False)[numbers].sum(),
        pd.DataFrame(times, columns=["gpus", "cores", "wall_hours", "disk_gb"]),
        sources.sort_values("wall_hours", ascending=False, ignore_index=True),
    )


def _cost(job: Job, rate: Rate, source: str, has_gpus: bool) -> tuple[Any, ...]:
    """Return a row: paper, stage, rule, source, jobs; hours on GPUs, CPUs, in all, guessed."""
    hours = rate.seconds(job.work) / 3600
    gpu_hours = hours * job.gpus * has_gpus
    guessed = hours * (source in (FAR, LIMIT))
    place = (job.paper, job.stage, job.rule, source)
    return (*place, 1, gpu_hours, hours * rate.cores, hours, guessed)


def wall_time(jobs: Sequence[Job], seconds: Sequence[float], limits: Limits) -> float:
    """Return the wall time in seconds: the scarcest resource, or the longest chain of jobs.

    ``max(GPU time / GPUs, core time / cores, job time / jobs at once, local time / local cores,
    longest chain)``: a lower bound that a full queue comes close to. Three jobs of 10 s on 2 cores,
    the third after the first: ``max(30 / 2, 10 + 10) = 20``.

    Args:
        jobs: in an order in which each comes after those that it needs.
        seconds: time of each job, 0 if it has been run.
        limits: the resources.
    """
    gpu = core = slots = local = 0.0
    for job, length in zip(jobs, seconds, strict=True):
        if job.is_local:
            local += length * min(job.threads, limits.local_cores)
            continue
        gpu += length * min(job.gpus, limits.gpus)
        core += length * min(job.threads, limits.cores)
        slots += length
    chains: list[float] = []
    for job, length in zip(jobs, seconds, strict=True):
        chains.append(length + max((chains[need] for need in job.needs), default=0.0))
    shared = (core / limits.cores, slots / limits.jobs, local / limits.local_cores)
    return max(gpu / limits.gpus if limits.gpus else 0.0, *shared, max(chains, default=0.0))


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


def as_text(found: Estimate) -> str:
    """Return an estimate as it is printed."""
    if not found.costs["jobs"].sum():
        return "Nothing is left to run."
    lines = [f"{'paper':12}{'stage':18}{'jobs':>7}{'GPU hours':>11}{'CPU hours':>11}"]
    total = found.costs[["jobs", "gpu_hours", "cpu_hours"]].sum()
    columns = ["paper", "stage", "jobs", "gpu_hours", "cpu_hours"]
    lines += [
        f"{paper:12}{stage:18}{jobs:7.0f}{gpu:11.2f}{cpu:11.2f}"
        for paper, stage, jobs, gpu, cpu in [*found.costs[columns].values, ("total", "", *total)]
    ]
    lines += ["", f"{'GPUs':>6}{'cores':>7}{'wall time':>14}{'peak disk usage':>19}"]
    for row in found.times.to_dict("records"):
        gpus, time = int(row["gpus"]) or "none", hours(row["wall_hours"] * 3600)
        lines.append(f"{gpus:>6}{int(row['cores']):7}{time:>14}{row['disk_gb']:16.1f} GB")
    lines += ["", "Sources of the times:"]
    all_hours = max(found.sources["wall_hours"].sum(), 1e-9)
    for row in found.sources.to_dict("records"):
        rules, share = row["rules"].split(), row["wall_hours"] / all_hours
        more = f" and {len(rules) - 6} more" if len(rules) > 6 else ""
        names = f"{', '.join(rules[:6])}{more}"
        lines.append(f"  {share:4.0%}  {row['jobs']:5} jobs  {row['source']} ({names})")
    return "\n".join(lines)


def hours(seconds: float) -> str:
    """Return a time as people write it: ``40 s``, ``12 min``, ``7.5 h``, ``12.3 days``."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            value = seconds / length
            return f"{value:.1f} {unit}" if value < 100 and unit != "min" else f"{value:.0f} {unit}"
    return f"{math.ceil(seconds)} s"
