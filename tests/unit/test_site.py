"""Which partition a job goes to, and what is said about one that fits none."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.exceptions import WorkflowError
from snakemake.iocontainers import ResourceList
from snakemake_executor_plugin_slurm.partitions import Partition, PartitionLimits

from workflow import site
from workflow.site import Site, read_site

_PARTITIONS = """\
PartitionName=cpu Default=YES MaxCPUsPerNode=UNLIMITED MaxTime=00:30:00 MaxMemPerNode=UNLIMITED
PartitionName=long Default=NO MaxCPUsPerNode=UNLIMITED MaxTime=UNLIMITED MaxMemPerNode=UNLIMITED
PartitionName=gpu Default=NO MaxCPUsPerNode=6 MaxTime=1-00:00:00 MaxMemPerNode=1500
"""
_NODES = """\
NodeName=c1 CPUEfctv=4 CPUTot=4 Gres=(null) RealMemory=274 Partitions=cpu,long MemSpecLimit=24
NodeName=c2 CPUTot=2 Gres=(null) OS=Linux 6 #1 SMP RealMemory=1000 Partitions=cpu
NodeName=g1 CPUTot=8 Gres=gpu:nvidia_a100-sxm4-40gb:4(S:0-1),nvme:1 RealMemory=2000 Partitions=gpu
NodeName=g2 CPUTot=8 Gres=gpu:2 RealMemory=800 Partitions=gpu
"""


class _Job:
    threads = 1
    attempt = 1

    def __init__(self, attempt: int = 1, threads: int = 1, **resources: Any) -> None:
        self.rule = SimpleNamespace(name="finetune")
        self.name, self.attempt, self.threads = "finetune", attempt, threads
        self.wildcards_dict = {"run": "nli", "seed": "3"}
        self.resources = ResourceList(fromdict={"mem_mb": 100, "runtime": 10} | resources)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """What `scontrol show` prints."""
    answers: dict[str, str | None] = {"partition": _PARTITIONS, "node": _NODES}
    monkeypatch.setattr(site, "ask", lambda *command: answers[command[-1]])
    return answers


def _site(**partitions: dict[str, Any]) -> Site:
    stated = [Partition(name, PartitionLimits(**more)) for name, more in partitions.items()]
    return Site(stated, read_site())


def _key(job: Any) -> str:
    return "the config, key resources.finetune"


@pytest.mark.parametrize(
    ("partitions", "request_", "limits"),
    [
        ({"cpu": {}, "gpu": {"max_gpu": 4}}, {"mem_mb": 1400}, "mem_mb 1400, but cpu has 1000 MB"),
        ({"cpu": {}}, {"runtime": 60}, "runtime 60, but cpu allows 30 minutes (SLURM's MaxTime)"),
        ({"long": {"max_runtime": 20}}, {"runtime": 60}, "long allows 20 minutes (max_runtime)"),
        ({"long": {"max_mem_mb": 50}}, {}, "mem_mb 100, but long has 50 MB a node"),
        (
            {"cpu": {}, "long": {}},
            {"threads": 8},
            "threads 8, but cpu has 4 CPUs a node; long has 4 CPUs a node",
        ),
        ({"cpu": {}}, {"threads": 3, "mem_mb": 500}, "cpu has 250 MB a node (such as c1)"),
        ({"gpu": {"max_gpu": 4}}, {"threads": 7}, "threads 7, but gpu has 6 CPUs a node"),
        ({"cpu": {}}, {"gpu": 1}, "gpu 1, but cpu has max_gpu 0"),
        ({"cpu": {"max_gpu": 2}}, {"gpu": 1}, "gpu 1, but cpu has no GPU"),
        ({"gpu": {"max_gpu": 4}}, {"gpu": 1, "mem_mb": 1501}, "gpu has 1500 MB a node"),
        (
            {"long": {}, "cpu": {}},
            {"mem_mb": 400, "runtime": 60},
            "mem_mb 400, runtime 60, but long has 250 MB a node (such as c1); cpu allows 30",
        ),
        (
            {"gpu": {"max_gpu": 4}},
            {"gpu": 1, "gpu_model": "h100"},
            "gpu has no GPU of type h100, only nvidia_a100-sxm4-40gb",
        ),
    ],
)
def test_a_job_that_fits_no_partition_is_named_with_limit_and_setting(
    answers: dict[str, str | None], partitions: Any, request_: Any, limits: str
) -> None:
    with pytest.raises(WorkflowError) as caught:
        _site(**partitions).check([_Job(**request_), _Job(**request_)], _key)
    text = str(caught.value)
    assert limits in text
    assert text.startswith("finetune (run nli, seed 3) requests ")
    assert text.endswith(
        ": change the config, key resources.finetune, or the partitions in slurm/config.yaml."
    )
    assert "\n" not in text, "a line for each rule"


def test_a_partition_that_slurm_does_not_have_is_named(answers: dict[str, str | None]) -> None:
    with pytest.raises(WorkflowError, match=r"no partition nope here; it has cpu, long, gpu\."):
        _site(cpu={}, nope={}).check([], _key)


@pytest.mark.parametrize(
    ("partitions", "request_", "expected"),
    [
        ({"gpu": {"max_gpu": 4}, "long": {}, "cpu": {}}, {}, "long"),
        ({"gpu": {"max_gpu": 4}, "long": {}, "cpu": {}}, {"mem_mb": 900}, "cpu"),
        ({"cpu": {}, "long": {}}, {"runtime": 60}, "long"),
        ({"long": {"max_runtime": 100}, "cpu": {"max_runtime": 20}}, {}, "cpu"),  # the tightest
        ({"gpu": {"max_gpu": 4}}, {"threads": 6}, "gpu"),  # a site where all nodes have GPUs
        ({"cpu": {}, "gpu": {"max_gpu": 4}}, {"gpu": 1}, "gpu"),
        ({"cpu": {}, "gpu": {"max_gpu": 4}}, {"gres": "gpu:nvidia_a100-sxm4-40gb:1"}, "gpu"),
        ({"cpu": {}}, {"slurm_partition": "long"}, "long"),
        ({}, {}, None),  # SLURM's default
    ],
)
def test_a_job_goes_to_a_partition_that_can_run_it(
    answers: dict[str, str | None], partitions: Any, request_: Any, expected: str
) -> None:
    job, where = _Job(**request_), _site(**partitions)
    where.check([job], _key)
    assert where.place(job, logging.getLogger())
    assert job.resources.get("slurm_partition") == (expected or "cpu")


def test_later_attempts_request_at_most_what_the_places_of_the_first_have(
    answers: dict[str, str | None],
) -> None:
    where = _site(cpu={}, long={})
    jobs = {2: _Job(runtime=25), 60: _Job(runtime=60)}
    for minutes, job in jobs.items():
        where.check([job], _key)
        job.attempt, job.resources.runtime, job.resources.mem_mb = 2, 10 * minutes, 5000
        assert where.place(job, logging.getLogger())
    assert [(job.resources.mem_mb, job.resources.runtime) for job in jobs.values()] == [
        (1000, 20),  # c2
        (250, 600),  # c1, the only one for an hour
    ]


def test_without_an_answer_the_stated_limits_count(answers: dict[str, str | None]) -> None:
    answers.update(partition=None, node=None)
    where = _site(cpu={}, gpu={"max_gpu": 1})
    where.check([_Job(mem_mb=10**6)], _key)
    with pytest.raises(WorkflowError, match="gpu 2, but cpu has max_gpu 0; gpu has max_gpu 1"):
        where.check([_Job(gpu=2)], _key)
    assert Site([], {}).place(_Job(), logging.getLogger())


def test_what_several_seeds_request_together_may_fit_nowhere(
    answers: dict[str, str | None],
) -> None:
    where = _site(gpu={"max_gpu": 4})
    assert not where.place(_Job(gpu=1, mem_mb=4000), logging.getLogger())
