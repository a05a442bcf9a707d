"""What is submitted to SLURM: a job, or several short trainings that share its GPU.

A training of a minute spends half of it on starting, and waits in the queue like one of a day. The
resource `seeds_per_job` of a rule lets so many seeds of a run share a job: docs/cluster.md.
"""

import copy
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

REQUEST = "seeds_per_job"
BY_CPU = "mem_per_cpu"
"""Resource of sites that accept memory only by CPU."""
LONGEST = 900.0
"""Seconds that a job may be expected to take to share one."""
_ADDED = ("mem_mb", "disk_mb", "cpus_per_task", "cpus_per_gpu")  # the processes need them together


class Submission:
    """Jobs of Snakemake as one job of SLURM, with the targets of all; usually it is one job.

    CPUs and memory add up; the GPU is one. Its resources are a copy, as the plugin reads them: what
    is changed there for SLURM does not change what Snakemake counts.
    """

    def __init__(self, members: list[Any]) -> None:
        self.members = members
        self.threads = sum(job.threads for job in members)
        self.resources = copy.copy(members[0].resources)
        for name in _ADDED:
            values = [job.resources.get(name) for job in members]
            if all(isinstance(value, int) for value in values):
                setattr(self.resources, name, sum(values))

    @property
    def is_shared(self) -> bool:
        """Whether it is several jobs."""
        return len(self.members) > 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self.members[0], name)

    def __hash__(self) -> int:
        return hash(self.members[0])

    def __eq__(self, other: object) -> bool:
        return bool(self.members[0] == other)

    def get_target_spec(self) -> list[Any]:
        """Return the targets of all."""
        return [target for job in self.members for target in job.get_target_spec()]

    def get_wait_for_files(self) -> list[Any]:
        """Return the inputs of all."""
        return [path for job in self.members for path in job.get_wait_for_files()]

    def translate(self) -> None:
        """Write what the plugin does not accept in a way that it does.

        It rejects GPU types with a hyphen, as nvml names them, in `gpu_model` and `gres`, but not
        in an option that it does not manage.
        """
        resources, threads = self.resources, self.threads
        if (memory := resources.get("mem_mb")) and resources.get(BY_CPU):
            resources.mem_mb_per_cpu = math.ceil(memory / threads)
        gres, model = str(resources.get("gres", "")), str(resources.get("gpu_model", ""))
        gpus = gres.removeprefix("gpu:") if gres else f"{model}:{resources.get('gpu', 1)}"
        if "-" in gpus and not gpus.endswith(":0"):
            resources.gpu, resources.gpu_model, resources.gres = 0, "", ""
            more = resources.get("slurm_extra", "")
            resources.slurm_extra = f"{more} --gpus-per-node={gpus}".strip()


def shared(jobs: Iterable[Any], expected: Mapping[Any, float]) -> Iterator[list[Any]]:
    """Yield jobs that share one of SLURM, others alone: short first attempts at seeds of a run.

    A job that has failed runs alone. ``expected`` are seconds; without them a job is not short.
    """
    together: dict[Hashable, list[Any]] = defaultdict(list)
    for job in jobs:
        is_short = expected.get(job, math.inf) <= LONGEST
        if is_short and job.attempt == 1 and not job.is_group() and job.resources.get(REQUEST):
            run = {name: text for name, text in job.wildcards_dict.items() if name != "seed"}
            together[job.rule.name, *sorted(run.items())].append(job)
        else:
            together[job].append(job)
    for members in together.values():
        members.sort(key=lambda job: [(len(text), text) for text in job.wildcards_dict.values()])
        size = max(int(members[0].resources.get(REQUEST) or 1), 1)
        for start in range(0, len(members), size):
            yield members[start : start + size]
