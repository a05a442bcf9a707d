"""The workflow on a real SLURM cluster, with the profile that users get."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.slurm, pytest.mark.workflow]

# A few minutes of one paper's Table 2, beside that paper's tests.
(_PRESET,) = Path(__file__).parents[1].glob("papers/*/slurm.yaml")
_PAPER = _PRESET.parent.name
_TARGET = f"results/tiny/measurements/{_PAPER}/table2.csv"
_SEED1 = "results/tiny/runs/nli/seed1/predictions.parquet"
_SEED2 = "results/tiny/runs/nli/seed2/predictions.parquet"
# Jobs here take 10 to 20 s: SLURM is asked after 5 s and after 20 s, so that none waits for long.
_QUICK = ["--slurm-init-seconds-before-status-checks", "5", "--latency-wait", "10"]
_LIMIT = 600.0


@dataclass
class _Job:
    """A line of sacct."""

    rule: str
    partition: str
    state: str
    resources: str


@dataclass
class _Workflow:
    """Snakemake with the profile slurm, in a copy of the repository; one start at a time."""

    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "snakemake", "--profile", "slurm", *_QUICK, *arguments]
        with (self.folder / "printed.txt").open("wb") as printed:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def printed(self) -> str:
        return (self.folder / "printed.txt").read_text()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Until the condition holds, while Snakemake runs."""
        assert self.process is not None
        end = time.monotonic() + _LIMIT
        while not condition():
            assert self.process.poll() is None, f"ended before {what}:\n{self.printed()}"
            assert time.monotonic() < end, f"no {what} in {_LIMIT} s:\n{self.printed()}"
            time.sleep(0.2)

    def finish(self) -> tuple[int, str]:
        """Exit status, and everything printed."""
        assert self.process is not None
        try:
            return self.process.wait(_LIMIT), self.printed()
        except subprocess.TimeoutExpired:
            pytest.fail(f"Snakemake did not end in {_LIMIT} s:\n{self.printed()}")

    def stop(self) -> None:
        """Interrupt it, if it still runs; it cancels its jobs then."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def run(self, *arguments: str) -> tuple[int, str]:
        self.start(*arguments)
        return self.finish()

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
            found.append(_Job(rule[1], partition, state, resources))
        return found


_CONFIG = ["--configfile", "config/demo.yaml", f"tests/papers/{_PAPER}/slurm.yaml"]


@pytest.fixture(scope="module")
def workflow(cluster: dict[str, str], repository: Path) -> Iterator[_Workflow]:
    workflow = _Workflow(repository, cluster)
    yield workflow
    workflow.stop()


@dataclass
class _Story:
    """A run in which one job is cancelled, and the next run."""

    printed: str
    returncode: int
    left: set[str]
    printed_next: str
    returncode_next: int
    log_next: str


@pytest.fixture(scope="module")
def story(workflow: _Workflow) -> _Story:
    """Everything from nothing; seed 1 is cancelled while it trains; then everything again."""
    # No retries: they would submit the cancelled job again in the same run.
    workflow.start("--retries", "0", *_CONFIG, "--", _TARGET)
    state = workflow.folder / "results/tiny/state/nli/seed1"
    workflow.wait_for(lambda: list(state.glob("step-*")), "a checkpoint of seed 1")
    queue = workflow.slurm("squeue", "-h", "-t", "running", "-o", "%i %k")
    (job,) = re.findall(r"^(\d+) rule_finetune_wildcards_nli_1$", queue, re.MULTILINE)
    workflow.slurm("scancel", job)
    code, printed = workflow.finish()
    left = {name for name in (_SEED1, _SEED2, _TARGET) if (workflow.folder / name).exists()}

    code_next, printed_next = workflow.run(*_CONFIG, "--", _TARGET)
    log = workflow.folder / "results/tiny/logs/finetune/nli/seed1.log"
    return _Story(printed, code, left, printed_next, code_next, log.read_text())


def test_cancelled_seed_is_named(story: _Story) -> None:
    assert story.returncode != 0
    failures = re.findall(r"Error in rule (\w+):.*?output: ([^\n]*)", story.printed, re.DOTALL)
    assert [rule for rule, _ in failures] == ["finetune"], story.printed
    assert _SEED1 in failures[0][1]
    assert "SLURM status is: 'CANCELLED'" in story.printed
    assert story.left == {_SEED2}, "the other seed goes on; nothing half-made stays"


def test_next_run_resumes_that_seed_only(workflow: _Workflow, story: _Story) -> None:
    assert story.returncode_next == 0, story.printed_next
    assert [job.rule for job in workflow.jobs(story.printed_next)] == ["finetune"]
    done = re.findall(r"^Finished jobid: \d+ \(Rule: (\w+)\)", story.printed_next, re.MULTILINE)
    assert done == ["finetune", "measure_transfer"]
    resumed = re.search(r"goes on after step (\d+)", story.log_next)
    assert resumed is not None, story.log_next
    assert int(resumed[1]) > 0
    assert (workflow.folder / _TARGET).stat().st_size > 0
    assert "Nothing to be done" in workflow.run("--dry-run", *_CONFIG, "--", _TARGET)[1]


def test_rules_run_where_their_gpus_are(workflow: _Workflow, story: _Story) -> None:
    jobs = workflow.jobs(story.printed) + workflow.jobs(story.printed_next)
    config = yaml.safe_load((workflow.folder / "config/config.yaml").read_text())
    with_gpu = {rule for rule, asked in config["resources"].items() if asked.get("gpu")}
    rules = {job.rule for job in jobs}
    assert {"miniature", "miniature_texts_en", "encode_examples"} <= rules - with_gpu
    assert rules & with_gpu == {"pretrain", "finetune"}
    for job in jobs:
        assert (job.partition == "gpu") == (job.rule in with_gpu), job
        assert ("gres/gpu=1" in job.resources) == (job.rule in with_gpu), job
    assert "measure_transfer" not in rules, "a job of seconds went through SLURM"
    assert sorted(job.state for job in jobs if job.state != "COMPLETED") == ["CANCELLED by 0"]
