"""What the partitions and nodes of a cluster have, and which partition a job goes to.

SLURM is asked once, when a run starts. A job that fits nowhere is rejected then, and what a later
attempt requests grows no further than what a node and a partition have.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake_executor_plugin_slurm.partitions import (
    Partition,
    PartitionLimits,
    get_best_partition,
    get_effective_threads,
    parse_gpu_requirements,
)
from snakemake_executor_plugin_slurm.utils import parse_time_to_minutes

from workflow.squeue import PROFILE, ask

_FIELD = re.compile(r"(\w+)=(\S*)")
_GPUS = re.compile(r"gpu(?::([^:,()]+))??:(\d+)(?=[(,]|$)")
"""A type, where a site has types, and a number, as in `gpu:a100:4(S:0-1)`."""


@dataclass(frozen=True)
class Node:
    """What a node has, whether it is up or not: CPUs, MB of memory, GPUs by type."""

    name: str
    cpus: int
    mem_mb: float
    gpus: tuple[tuple[str, int], ...] = ()

    def holds(self, cpus: int, gpus: int, model: str | None) -> bool:
        """Return whether it has so many CPUs and a GPU of that type, if one is requested."""
        fits = [n for kind, n in self.gpus if not model or kind.lower() == model.lower()]
        return self.cpus >= cpus and sum(fits) >= min(gpus, 1)


@dataclass(frozen=True)
class Limits:
    """What SLURM allows in a partition: minutes, and on a node MB and CPUs."""

    nodes: tuple[Node, ...] = ()
    minutes: float = inf
    mem_mb: float = inf
    cpus: float = inf
    is_default: bool = False


def read_site() -> dict[str, Limits]:
    """Return the limits of all partitions by name; of none if SLURM does not list them."""
    show = ("scontrol", "--oneliner", "--all", "show")
    members: dict[str, list[Node]] = {}
    for row in _rows(ask(*show, "node")):
        if "RealMemory" in row:
            gpus = tuple((kind, int(count)) for kind, count in _GPUS.findall(row.get("Gres", "")))
            memory = int(row["RealMemory"]) - _number(row.get("MemSpecLimit"), 0)
            cpus = int(row.get("CPUEfctv") or row["CPUTot"])
            for name in row.get("Partitions", "").split(","):
                members.setdefault(name, []).append(Node(row["NodeName"], cpus, memory, gpus))
    return {
        row["PartitionName"]: Limits(
            tuple(members.get(row["PartitionName"], ())),
            _minutes(row.get("MaxTime", "")),
            _number(row.get("MaxMemPerNode"), inf),
            _number(row.get("MaxCPUsPerNode"), inf),
            row.get("Default") == "YES",
        )
        for row in _rows(ask(*show, "partition"))
        if "PartitionName" in row
    }


def _rows(listing: str | None) -> Iterator[dict[str, str]]:
    return (dict(_FIELD.findall(line)) for line in (listing or "").splitlines())


def _number(text: str | None, otherwise: float) -> float:
    return int(text) if text and text.isdigit() else otherwise


def _minutes(text: str) -> float:
    return float(parse_time_to_minutes(text)) if text[:1].isdigit() else inf


def _gpus(job: Any) -> tuple[int, str | None]:
    try:
        gpus: tuple[int, str | None] = parse_gpu_requirements(job)
    except ValueError:
        raise WorkflowError(
            f"{PROFILE}: gres {job.resources.gres!r} of rule {job.rule.name} lacks a number; write "
            "gpu:TYPE:1 or gpu:1."
        ) from None
    return gpus


@dataclass(frozen=True)
class Place:
    """A partition: what the profile states of it, and what SLURM does."""

    stated: Partition
    asked: Limits

    @property
    def minutes(self) -> float:
        """The longest time limit."""
        return float(min(self.stated.limits.max_runtime, self.asked.minutes))

    def largest(self, job: Any) -> Node | None:
        """Return the node with most memory of those that have a job's CPUs and GPU."""
        needs = get_effective_threads(job), *_gpus(job)
        nodes = (node for node in self.asked.nodes if node.holds(*needs))
        return max(nodes, key=lambda node: node.mem_mb, default=None)

    def mem_mb(self, job: Any) -> float:
        """Return the most memory that a job may request."""
        node = self.largest(job)
        most = min(self.stated.limits.max_mem_mb, self.asked.mem_mb)
        return float(min(most, node.mem_mb) if node else most)

    def lacks(self, job: Any, mem_mb: float, minutes: float) -> tuple[str, str]:
        """Return the resource that exceeds a limit, and the limit; two empty strings if none does.

        Memory and minutes are what the job would request here.
        """
        name, stated, nodes = self.stated.name, self.stated.limits, self.asked.nodes
        cpus, (gpus, model) = get_effective_threads(job), _gpus(job)
        most_cpus = min(stated.max_threads, stated.max_cpus_per_task, self.asked.cpus)
        most_cpus = min(most_cpus, max((node.cpus for node in nodes), default=inf))
        kinds = sorted({kind for node in nodes for kind, _ in node.gpus if kind})
        if gpus > stated.max_gpu:
            return "gpu", f"{name} has max_gpu {stated.max_gpu}"
        if nodes and not any(node.holds(0, gpus, model) for node in nodes):
            types = f" of type {model}, only {', '.join(kinds) or 'GPUs without type'}"
            return "gpu_model" if model else "gpu", f"{name} has no GPU{types if model else ''}"
        if minutes > self.minutes:
            by = "max_runtime" if stated.max_runtime <= self.asked.minutes else "SLURM's MaxTime"
            return "runtime", f"{name} allows {self.minutes:.0f} minutes ({by})"
        if cpus > most_cpus:
            return "threads", f"{name} has {most_cpus:.0f} CPUs a node"
        if mem_mb > self.mem_mb(job):
            node = self.largest(job)
            example = f" (such as {node.name})" if node else ""
            return "mem_mb", f"{name} has {self.mem_mb(job):.0f} MB a node{example}"
        return "", ""


@dataclass
class Site:
    """The partitions that jobs of a run may use."""

    stated: list[Partition]
    asked: Mapping[str, Limits]
    _first: dict[Any, set[str]] = field(default_factory=dict)
    """By job, the names of those that fit its first attempt."""

    def check(self, jobs: Iterable[Any], setting: Callable[[Any], str]) -> None:
        """Raise a WorkflowError that names each rule with jobs that fit no partition.

        ``setting`` returns the key of the config that decides what a job requests.
        """
        missing = [item.name for item in self.stated if item.name not in self.asked]
        if missing and self.asked:
            raise WorkflowError(
                f"{PROFILE}, key partitions: SLURM has no partition {' or '.join(missing)} here; "
                f"it has {', '.join(self.asked)}."
            )
        problems: dict[str, str] = {}
        for job in jobs:
            lacks = {it.stated.name: it.lacks(job, *_request(job)) for it in self._places(job)}
            self._first[job] = {name for name, (resource, _) in lacks.items() if not resource}
            if lacks and not self._first[job] and job.rule.name not in problems:
                resources = sorted({resource for resource, _ in lacks.values()})
                limits = "; ".join(text for _, text in lacks.values())
                values = ", ".join(f"{key} {_value(job, key)}" for key in resources)
                which = ", ".join(f"{key} {value}" for key, value in job.wildcards_dict.items())
                problems[job.rule.name] = (
                    f"{job.rule.name}{f' ({which})' if which else ''} requests {values}, but "
                    f"{limits}: change {setting(job)}, or the partitions in {PROFILE}."
                )
        if problems:
            raise WorkflowError("\n".join(problems.values()))

    def place(self, job: Any, logger: Any) -> bool:
        """Choose the partition of a submission; return whether it fits one.

        A later attempt requests at most what the largest place of the first one has.
        """
        places = self._places(job)
        first = self._first.get(job, {item.stated.name for item in places})
        places = [item for item in places if item.stated.name in first]
        mem_mb, minutes = _request(job)
        if job.attempt > 1 and all(item.lacks(job, mem_mb, minutes)[0] for item in places):
            lowered = [
                (min(mem_mb, item.mem_mb(job)), min(minutes, item.minutes)) for item in places
            ]
            mem_mb, minutes = max(lowered, default=(mem_mb, minutes))
            job.resources.mem_mb, job.resources.runtime = int(mem_mb), int(minutes)
        fitting = [item.stated for item in places if not item.lacks(job, mem_mb, minutes)[0]]
        if fitting and not job.resources.get("slurm_partition"):
            job.resources.slurm_partition = get_best_partition(fitting, job, logger)
        return bool(fitting) or not places

    def _places(self, job: Any) -> list[Place]:
        """Return the partitions that a job may use: without GPUs, if it requests none.

        One that the job names comes before those of the profile. If neither names one, it is
        SLURM's default partition.
        """
        name, stated = job.resources.get("slurm_partition"), self.stated
        if name or not stated:
            names = [name] if name else [key for key, it in self.asked.items() if it.is_default]
            unlimited = {key: Partition(key, PartitionLimits(max_gpu=sys.maxsize)) for key in names}
            stated = [item for item in self.stated if item.name == name] or [*unlimited.values()]
        elif not _gpus(job)[0]:
            stated = [item for item in stated if not item.limits.max_gpu] or stated
        return [Place(item, self.asked.get(item.name, Limits())) for item in stated]


def _request(job: Any) -> tuple[float, float]:
    memory, minutes = (job.resources.get(name, 0) for name in ("mem_mb", "runtime"))
    return (
        memory if isinstance(memory, int) else 0,
        minutes if isinstance(minutes, int) else 0,
    )


def _value(job: Any, resource: str) -> Any:
    return job.threads if resource == "threads" else job.resources.get(resource)
