"""What the jobs that are still to be done will cost: hours, disk, and days with so many GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from mbert_atlas.plan.schedule import Job, Limits, simulate
from mbert_atlas.plan.timing import Rate, fit, hours

MEASURED, ELSEWHERE, OPERATIONS, FAR, LIMIT = (
    "measured in this run",
    "measured elsewhere, by work",
    "operations at an assumed speed",
    "measured elsewhere on less than a tenth of the work, a guess",
    "a share of the time limit, a guess",
)
"""Where the time of a job comes from, the best first."""
ASSUMED_GPU = Rate(start=60.0, per_unit=1 / 40e12, cores=1.0)
"""A GPU that sustains 40 TFLOP/s, and a minute until it computes: nobody has measured it."""
ASSUMED_CPU = Rate(start=8.0, per_unit=1 / 20e9, cores=1.0)
"""A core that sustains 20 GFLOP/s."""
USUAL_START = {False: 0.6, True: 5.5}
"""Seconds until a job does something, by whether it runs a model: what imports take."""
LOCAL_SECONDS = 1.5
"""What a job takes that has neither a reading nor a limit: a table, a figure, a file fetched."""
SUBMISSION_SECONDS = 10.0
"""What a job takes through an empty queue of a cluster beside its own time."""


@dataclass(frozen=True)
class Planned:
    """A job of the workflow.

    Attributes:
        rule: its rule.
        paper: who pays.
        stage: such as training.
        job: its place in the graph, of those that are still to be done; none if it is done.
        work: operations, or bytes that it reads.
        is_computed: whether work are operations.
        runs_model: whether a model runs.
        limit: seconds that it asks for; none if it states no limit.
        seconds: how long it took, where it is done or was; none else.
        cpu_seconds: CPU time of that, NaN where there is no reading.
        gpus: GPUs that it computed on.
    """

    rule: str
    paper: str
    stage: str
    job: Job | None
    work: float
    is_computed: bool = False
    runs_model: bool = False
    limit: float | None = None
    seconds: float | None = None
    cpu_seconds: float = float("nan")
    gpus: int = 0


def learn(
    planned: Sequence[Planned], elsewhere: Mapping[tuple[str, str], Rate]
) -> dict[tuple[str, str], Rate]:
    """Fit the rates of every rule, by device (``cpu``, ``gpu``), to the jobs that were measured."""
    read: dict[tuple[str, str], list[Planned]] = {}
    for item in planned:
        if item.seconds:
            read.setdefault((item.rule, "gpu" if item.gpus else "cpu"), []).append(item)
    return {
        key: fit(
            [item.work for item in items],
            [item.seconds or 0.0 for item in items],
            [item.cpu_seconds for item in items],
            usual_start=USUAL_START[items[0].runs_model],
            before=elsewhere.get(key),
        )
        for key, items in read.items()
    }


def rate_of(
    item: Planned,
    device: str,
    measured: Mapping[tuple[str, str], Rate],
    elsewhere: Mapping[tuple[str, str], Rate],
    share: float = 0.5,
) -> tuple[Rate, str]:
    """Return how long a job takes on a device, and where that is known from.

    Of a job that nothing is known of it is a ``share`` of the time limit.
    """
    key = (item.rule, device)
    assumed = ASSUMED_GPU if device == "gpu" else ASSUMED_CPU
    if key in measured:
        return measured[key], MEASURED
    if key in elsewhere:
        rate = elsewhere[key]
        if item.work <= 10 * rate.most_work:
            return rate, ELSEWHERE
        if item.is_computed:  # of little work most is no computing, which does not grow with it
            rate = replace(rate, per_unit=min(rate.per_unit, assumed.per_unit))
        seconds = min(rate.seconds(item.work), item.limit or math.inf)
        return Rate(seconds, cores=rate.cores), FAR
    if item.runs_model:
        return assumed, OPERATIONS
    return Rate(item.limit * share if item.limit else LOCAL_SECONDS), LIMIT


@dataclass(frozen=True)
class Prediction:
    """What is to be expected.

    Attributes:
        costs: columns paper, stage, jobs, gpu_hours, cpu_hours, wall_hours, guessed_hours.
        times: columns gpus, cores, wall_hours, disk_gb.
        sources: columns source, jobs, wall_hours, rules.
    """

    costs: pd.DataFrame
    times: pd.DataFrame
    sources: pd.DataFrame


def predict(
    planned: Sequence[Planned],
    elsewhere: Mapping[tuple[str, str], Rate],
    limits: Sequence[Limits],
    overhead: float = 0.0,
) -> Prediction:
    """Predict the cost of the jobs that are to be done.

    Args:
        planned: all jobs, the measured ones among them; ``needs`` count those with a ``job``.
        elsewhere: rates for rules that this run has not measured.
        limits: what there may be; for each the graph is scheduled. Costs are those on GPUs, if one
            of them has GPUs.
        overhead: seconds that a job which is not local takes beside its own time.
    """
    measured = learn(planned, elsewhere)
    read = [(item.seconds, item.limit) for item in planned if item.seconds and item.limit]
    share = sum(took for took, _ in read) / sum(limit for _, limit in read) if read else 0.5
    todo = [(item, item.job) for item in planned if item.job]
    rows = []
    for item, job in todo:
        device = "gpu" if job.gpus and any(limit.gpus for limit in limits) else "cpu"
        rate, source = rate_of(item, device, measured, elsewhere, share)
        seconds = rate.seconds(item.work)
        rows.append(
            {
                "paper": item.paper,
                "stage": item.stage,
                "rule": item.rule,
                "source": source,
                "jobs": 1,
                "gpu_hours": seconds / 3600 * (job.gpus if device == "gpu" else 0),
                "cpu_hours": seconds / 3600 * rate.cores,
                "wall_hours": seconds / 3600,
                "guessed_hours": seconds / 3600 * (source in (FAR, LIMIT)),
            }
        )
    numbers = ["jobs", "gpu_hours", "cpu_hours", "wall_hours", "guessed_hours"]
    frame = pd.DataFrame(rows, columns=["paper", "stage", "rule", "source", *numbers])
    times = []
    for limit in limits:
        spans = [
            rate_of(
                item, "gpu" if job.gpus and limit.gpus else "cpu", measured, elsewhere, share
            )[0].seconds(item.work)
            + (0.0 if job.is_local else overhead)
            for item, job in todo
        ]  # fmt: skip
        found = simulate([job for _, job in todo], spans, limit)
        times.append(
            {
                "gpus": limit.gpus,
                "cores": limit.cores,
                "wall_hours": found.seconds / 3600,
                "disk_gb": found.disk / 1e9,
            }
        )
    by_rule = frame.groupby(["source", "rule"], as_index=False)[["jobs", "wall_hours"]].sum()
    sources = (
        by_rule.sort_values("wall_hours", ascending=False)
        .groupby("source", as_index=False)
        .agg({"jobs": "sum", "wall_hours": "sum", "rule": " ".join})
        .rename(columns={"rule": "rules"})
    )
    return Prediction(
        frame.groupby(["paper", "stage"], as_index=False)[numbers].sum(),
        pd.DataFrame(times, columns=["gpus", "cores", "wall_hours", "disk_gb"]),
        sources.sort_values("wall_hours", ascending=False, ignore_index=True),
    )


def as_text(found: Prediction) -> str:
    """Return a prediction as it is printed."""
    if not found.costs["jobs"].sum():
        return "Nothing is left to be done."
    lines = [f"{'paper':12}{'stage':18}{'jobs':>7}{'GPU hours':>11}{'CPU hours':>11}"]
    total = found.costs[["jobs", "gpu_hours", "cpu_hours"]].sum()
    columns = ["paper", "stage", "jobs", "gpu_hours", "cpu_hours"]
    lines += [
        f"{paper:12}{stage:18}{jobs:7.0f}{gpu:11.2f}{cpu:11.2f}"
        for paper, stage, jobs, gpu, cpu in [*found.costs[columns].values, ("total", "", *total)]
    ]
    lines += ["", f"{'GPUs':>6}{'cores':>7}{'wall time':>14}{'disk at its highest':>22}"]
    lines += [
        f"{gpus or 'none':>6}{cores:7}{hours(wall * 3600):>14}{disk:19.1f} GB"
        for gpus, cores, wall, disk in zip(
            *(found.times[name].tolist() for name in found.times.columns), strict=True
        )
    ]
    lines += ["", "Times come from:"]
    shares = found.sources["wall_hours"] / max(found.sources["wall_hours"].sum(), 1e-9)
    lines += [
        f"  {share:4.0%}  {jobs:5} jobs  {source} ({_first(rules)})"
        for share, jobs, source, rules in zip(
            shares.tolist(),
            *(found.sources[name].tolist() for name in ("jobs", "source", "rules")),
            strict=True,
        )
    ]
    return "\n".join(lines)


def _first(rules: str, count: int = 6) -> str:
    """Return the first of some rules; the CSV has all."""
    names = rules.split()
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more
