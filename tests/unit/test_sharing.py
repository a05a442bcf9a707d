"""Which jobs share one of SLURM, and what that requests."""

from types import SimpleNamespace
from typing import Any

import pytest
from snakemake.iocontainers import ResourceList

from workflow.sharing import LONGEST, Submission, shared


class _Job:
    def __init__(self, run: str, seed: str = "", attempt: int = 1, size: int = 2) -> None:
        self.rule = SimpleNamespace(name="finetune")
        self.wildcards_dict = {"run": run} | ({"seed": seed} if seed else {})
        self.attempt, self.threads = attempt, 2
        requests = {"mem_mb": 3000, "gpu": 1, "runtime": 480, "seeds_per_job": size}
        self.resources = ResourceList(fromdict=requests)

    def is_group(self) -> bool:
        return False

    def get_target_spec(self) -> list[Any]:
        return [self.wildcards_dict]

    def get_wait_for_files(self) -> list[str]:
        return [f"{self.wildcards_dict}"]


def _names(jobs: list[_Job], seconds: float = 60) -> list[list[str]]:
    groups = shared(jobs, dict.fromkeys(jobs, seconds))
    return sorted([" ".join(job.wildcards_dict.values()) for job in group] for group in groups)


def test_seeds_of_a_run_share_jobs_of_that_size() -> None:
    jobs = [_Job(run, seed) for seed in ("10", "2", "1") for run in ("nli", "pos")]
    assert _names(jobs) == [["nli 1", "nli 2"], ["nli 10"], ["pos 1", "pos 2"], ["pos 10"]]


@pytest.mark.parametrize(
    ("jobs", "seconds"),
    [
        ([_Job("nli", "1"), _Job("nli", "2")], LONGEST + 1),
        ([_Job("nli", "1", attempt=2), _Job("nli", "2", attempt=2)], 60),
        ([_Job("nli", "1", size=1), _Job("nli", "2", size=1)], 60),
        ([_Job("nli"), _Job("pos")], 60),  # no seeds
    ],
)
def test_others_run_alone(jobs: list[_Job], seconds: float) -> None:
    assert [len(group) for group in _names(jobs, seconds)] == [1, 1]


def test_without_an_estimate_jobs_run_alone() -> None:
    jobs = [_Job("nli", "1"), _Job("nli", "2")]
    assert [len(group) for group in shared(jobs, {})] == [1, 1]


def test_memory_and_cpus_add_up_and_the_gpu_is_one() -> None:
    jobs = [_Job("nli", "1"), _Job("nli", "2")]
    job = Submission(jobs)
    requests = {name: job.resources.get(name) for name in ("mem_mb", "gpu", "runtime")}
    assert requests == {"mem_mb": 6000, "gpu": 1, "runtime": 480}
    assert job.threads == 4
    assert job.get_target_spec() == [{"run": "nli", "seed": "1"}, {"run": "nli", "seed": "2"}]
    assert len(job.get_wait_for_files()) == 2
    assert {job: "as the first one"}[jobs[0]]
    assert [one.resources.mem_mb for one in jobs] == [3000, 3000]
