"""The workflow on a real SLURM cluster, with the profile that users get."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.slurm, pytest.mark.workflow]

_TARGET = "results/tiny/measurements/efimov2022/table2.csv"
_SEED1 = "results/tiny/runs/nli/seed1/predictions.parquet"
_SEED2 = "results/tiny/runs/nli/seed2/predictions.parquet"
# Nothing on one machine is slow to appear; asking SLURM early makes the tests short.
_QUICK = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]


@dataclass
class _Job:
    """A line of sacct."""

    rule: str
    partition: str
    state: str
    resources: str
    run: str


@dataclass
class _Workflow:
    """Snakemake with the profile slurm, in a copy of the repository."""

    folder: Path
    environment: dict[str, str]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--profile", "slurm", *_QUICK, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def finish(self, process: subprocess.Popen[str], seconds: float = 400) -> str:
        """Everything it printed; interrupted, so that it cancels its jobs, if it takes too long."""
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                printed = process.communicate(timeout=60)[0]
            except subprocess.TimeoutExpired:
                process.kill()
                printed = process.communicate()[0]
            pytest.fail(f"Snakemake did not end in {seconds:.0f} s:\n{printed}")

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        printed = self.finish(process)
        return process.returncode, printed

    def planned(self, *arguments: str) -> dict[str, int]:
        """Number of jobs by rule that a dry run announces."""
        code, printed = self.run("--dry-run", *arguments)
        assert code == 0, printed
        table = printed.rpartition("Job stats:")[2].partition("\n\n")[0]
        return {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}

    def slurm(self, *command: str) -> str:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=True
        ).stdout

    def jobs(self, printed: str) -> list[_Job]:
        """What SLURM accounted for the jobs of the run that printed this."""
        run_id = re.search(r"SLURM run ID: (\S+)", printed)
        assert run_id is not None, printed
        fields = "Comment,Partition,State,AllocTRES"
        listing = self.slurm(
            "sacct", "-X", "-n", "--parsable2", "--name", run_id[1], "--format", fields
        )
        found = []
        for line in listing.splitlines():
            comment, partition, state, resources = line.split("|")
            rule = re.match(r"rule_(\w+?)(_wildcards_|$)", comment)
            assert rule is not None, line
            found.append(_Job(rule[1], partition, state, resources, run_id[1]))
        return found

    def rules_asking_for_gpus(self) -> set[str]:
        config = yaml.safe_load((self.folder / "config/config.yaml").read_text())
        return {rule for rule, asked in config["resources"].items() if asked.get("gpu")}


@pytest.fixture(scope="module")
def workflow(cluster: dict[str, str], repository: Path) -> _Workflow:
    return _Workflow(repository, cluster)


def _wait(condition: Callable[[], object], what: str, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 180
    while not condition():
        if process.poll() is not None:
            pytest.fail(f"Snakemake ended before {what}:\n{process.communicate()[0]}")
        assert time.monotonic() < end, f"no {what} after three minutes"
        time.sleep(0.2)


_CONFIG = ["--configfile", "config/demo.yaml", "tests/slurm/tiny.yaml"]


@pytest.fixture(scope="module")
def complete(workflow: _Workflow) -> str:
    """What a run of everything printed; its results lie in the copy afterwards."""
    code, printed = workflow.run(*_CONFIG, "--", _TARGET)
    assert code == 0, printed
    return printed


def test_rules_run_where_their_gpus_are(workflow: _Workflow, complete: str) -> None:
    jobs = workflow.jobs(complete)
    with_gpu = workflow.rules_asking_for_gpus()
    rules = {job.rule for job in jobs}
    assert {"miniature", "read_nli", "encode_examples", "pretrain", "finetune"} <= rules
    assert rules & with_gpu == {"pretrain", "finetune"}
    for job in jobs:
        assert job.state == "COMPLETED", job
        assert (job.partition == "gpu") == (job.rule in with_gpu), job
        assert ("gres/gpu=1" in job.resources) == (job.rule in with_gpu), job
    assert "measure_transfer" not in rules, "a job of seconds went through SLURM"
    assert (workflow.folder / _TARGET).stat().st_size > 0
    assert not workflow.planned(*_CONFIG, "--", _TARGET)


def test_cancelled_seed_is_named_and_resumed(workflow: _Workflow, complete: str) -> None:
    longer = {"optimisation": {"epochs": 60, "checkpoint_seconds": 0.5}}
    overlay = workflow.folder / "longer.yaml"
    overlay.write_text(yaml.safe_dump({"runs": {"nli": {"published": longer}}}))
    config = [*_CONFIG, "longer.yaml"]
    # One hyperparameter of one run: its two seeds and what depends on them, nothing else.
    assert workflow.planned(*config, "--", _TARGET) == {
        "finetune": 2,
        "measure_transfer": 1,
        "total": 3,
    }

    # No retries: they would submit the cancelled job again in the same run.
    process = workflow.start(*config, "--retries", "0", "--", _TARGET)
    state = workflow.folder / "results/tiny/state/nli/seed1"
    _wait(lambda: list(state.glob("step-*")), "a checkpoint of seed 1", process)
    queue = workflow.slurm("squeue", "-h", "-t", "running", "-o", "%i %k")
    (job,) = re.findall(r"^(\d+) rule_finetune\S*seed1|^(\d+) rule_finetune\S*1$", queue, re.M)
    workflow.slurm("scancel", "".join(job))
    printed = workflow.finish(process)
    assert process.returncode != 0
    failures = re.findall(r"Error in rule (\w+):.*?output: ([^\n]*)", printed, re.DOTALL)
    assert [rule for rule, _ in failures] == ["finetune"], printed
    assert _SEED1 in failures[0][1]
    assert "CANCELLED" in printed
    assert not (workflow.folder / _SEED1).exists()
    assert (workflow.folder / _SEED2).exists()
    untouched = (workflow.folder / _SEED2).stat().st_mtime_ns

    code, printed = workflow.run(*config, "--", _TARGET)
    assert code == 0, printed
    assert [job.rule for job in workflow.jobs(printed)] == ["finetune"]
    assert len(re.findall(r"^Finished jobid", printed, re.MULTILINE)) == 2, printed
    (log,) = (workflow.folder / "results/tiny/logs/finetune/nli").glob("seed1.log")
    resumed = re.search(r"goes on after step (\d+)", log.read_text())
    assert resumed is not None, log.read_text()
    assert int(resumed[1]) > 0
    assert (workflow.folder / _SEED2).stat().st_mtime_ns == untouched
