"""How long a graph of jobs takes, and how much disk, with so many GPUs and cores."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from mbert_atlas.errors import AtlasError


@dataclass(frozen=True)
class Output:
    """What a job leaves.

    Attributes:
        size: in bytes.
        readers: positions of the jobs after which it is deleted; none: it stays.
    """

    size: float
    readers: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Job:
    """One job of a graph.

    Attributes:
        needs: positions of the jobs that come before it.
        threads: CPU cores that it holds.
        gpus: GPUs that it holds, where there are any.
        priority: of the jobs that are ready those with the highest start first.
        is_local: it runs beside the scheduler and holds one of its cores, no cluster's.
        outputs: what it leaves.
    """

    needs: tuple[int, ...] = ()
    threads: int = 1
    gpus: int = 0
    priority: int = 0
    is_local: bool = False
    outputs: tuple[Output, ...] = ()


@dataclass(frozen=True)
class Limits:
    """What there is; without GPUs the jobs that ask for one run on cores.

    Attributes:
        gpus: GPUs.
        cores: CPU cores.
        jobs: how many jobs may be submitted.
        local_cores: cores for local jobs.
    """

    gpus: int
    cores: int
    jobs: int
    local_cores: int


@dataclass(frozen=True)
class Schedule:
    """What a simulation gives.

    Attributes:
        seconds: from the first start to the last end.
        disk: bytes of outputs at the highest.
    """

    seconds: float
    disk: float


def simulate(jobs: Sequence[Job], seconds: Sequence[float], limits: Limits) -> Schedule:
    """Start every job as soon as what it needs has ended and there is room for it.

    Of the jobs that are ready those of the highest priority start first, else in the order given,
    and one that finds no room does not hold back those behind it: as Snakemake's greedy scheduler
    does it. A job that asks for more than there is gets what there is.

    Args:
        jobs: the graph.
        seconds: how long each job runs.
        limits: what there is.

    Raises:
        AtlasError: if jobs wait for each other.
    """
    waiting = [len(job.needs) for job in jobs]
    readers: list[list[int]] = [[] for _ in jobs]
    unread: dict[tuple[int, int], int] = {}  # by job and output: readers that have not ended
    deleted_after: list[list[tuple[int, int]]] = [[] for _ in jobs]
    for number, job in enumerate(jobs):
        for need in job.needs:
            readers[need].append(number)
        for place, output in enumerate(job.outputs):
            if output.readers:
                unread[number, place] = len(output.readers)
                for reader in output.readers:
                    deleted_after[reader].append((number, place))
    free = [limits.gpus, limits.cores, limits.jobs, limits.local_cores]
    asks = [_asks(job, limits) for job in jobs]
    # Those that are ready, by what they ask for: of thousands only the first of each kind count.
    ready: dict[tuple[int, ...], list[tuple[int, int]]] = {ask: [] for ask in set(asks)}
    for number, job in enumerate(jobs):
        if not job.needs:
            heapq.heappush(ready[asks[number]], (-job.priority, number))
    running: list[tuple[float, int]] = []
    now = disk = highest = 0.0
    ended = 0
    while True:
        while fitting := [
            kind
            for kind, items in ready.items()
            if items and all(left >= count for left, count in zip(free, kind, strict=True))
        ]:
            kind = min(fitting, key=lambda kind: ready[kind][0])
            _, number = heapq.heappop(ready[kind])
            free = [left - count for left, count in zip(free, kind, strict=True)]
            heapq.heappush(running, (now + seconds[number], number))
        if not running:
            break
        now, number = heapq.heappop(running)
        ended += 1
        free = [left + count for left, count in zip(free, asks[number], strict=True)]
        disk += sum(output.size for output in jobs[number].outputs)
        highest = max(highest, disk)
        disk -= sum(o.size for o in jobs[number].outputs if o.readers == ())
        for owner, place in deleted_after[number]:
            unread[owner, place] -= 1
            if not unread[owner, place]:
                disk -= jobs[owner].outputs[place].size
        for reader in readers[number]:
            waiting[reader] -= 1
            if not waiting[reader]:
                heapq.heappush(ready[asks[reader]], (-jobs[reader].priority, reader))
    if ended < len(jobs):
        raise AtlasError(f"{len(jobs) - ended} of {len(jobs)} jobs wait for each other.")
    return Schedule(now, highest)


def _asks(job: Job, limits: Limits) -> tuple[int, ...]:
    """Return what a job takes of the GPUs, the cores, the jobs submitted and the local cores."""
    if job.is_local:
        return 0, 0, 0, min(job.threads, limits.local_cores)
    return min(job.gpus, limits.gpus), min(job.threads, limits.cores), 1, 0
