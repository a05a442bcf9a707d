"""Snakemake on a test cluster: start it, watch it, ask SLURM about its jobs."""

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

SCRIPT = Path(__file__).parent / "dev_cluster.sh"
# A few minutes of one paper's Table 2, next to that paper's tests.
(PRESET,) = Path(__file__).parents[1].glob("papers/*/slurm.yaml")
PAPER = PRESET.parent.name
TARGET = f"results/tiny/measurements/{PAPER}/table2.csv"
SEED1 = "results/tiny/runs/nli/seed1/predictions.parquet"
SEED2 = "results/tiny/runs/nli/seed2/predictions.parquet"
# Jobs here take 10 to 20 s: SLURM is asked after 5 s and after 20 s, so that none waits for long.
QUICK = ["--slurm-init-seconds-before-status-checks", "5", "--latency-wait", "10"]
QUICK += ["--printshellcmds"]  # the tests read what Snakemake says about each job
LIMIT = 1500.0  # alongside the demo's tests everything takes twice as long


@dataclass
class Job:
    """A line of sacct."""

    number: str
    rule: str
    partition: str
    state: str
    resources: str


@dataclass
class Workflow:
    """Snakemake with the profile slurm, in a copy of the repository; one start at a time."""

    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    python: str = sys.executable
    user: str | None = None  # another one than the tests', with the group's umask

    def start(self, *arguments: str) -> None:
        command = [self.python, "-m", "snakemake", "--profile", "slurm", *QUICK, *arguments]
        with (self.folder / "printed.txt").open("wb") as printed:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user,
                group=self.user and "atlasgroup",
                umask=0o002 if self.user else -1,
            )

    def printed(self) -> str:
        return (self.folder / "printed.txt").read_text()

    def wait_for(self, condition: Callable[[], object], what: str) -> None:
        """Until the condition holds, while Snakemake runs."""
        assert self.process is not None
        end = time.monotonic() + LIMIT
        while not condition():
            assert self.process.poll() is None, f"ended before {what}:\n{self.printed()}"
            assert time.monotonic() < end, f"no {what} in {LIMIT} s:\n{self.printed()}"
            time.sleep(0.2)

    def finish(self) -> tuple[int, str]:
        """Exit status, and everything printed."""
        assert self.process is not None
        try:
            return self.process.wait(LIMIT), self.printed()
        except subprocess.TimeoutExpired:
            pytest.fail(f"Snakemake did not end in {LIMIT} s:\n{self.printed()}")

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

    def jobs(self, printed: str) -> list[Job]:
        """What SLURM accounted for the jobs of the run that printed this."""
        run_id = re.search(r"SLURM run ID: (\S+)", printed)
        assert run_id is not None, printed
        fields = "JobID,Comment,Partition,State,AllocTRES"
        command = ["sacct", "-X", "-n", "--parsable2", "--name", run_id[1], "--format", fields]
        end = time.monotonic() + 60
        # A cancelled job is RUNNING, without a comment, until its processes have ended.
        while "|RUNNING|" in (listing := self.slurm(*command)) and time.monotonic() < end:
            time.sleep(1)
        found = []
        for line in listing.splitlines():
            number, comment, partition, state, resources = line.split("|")
            rule = re.match(r"rule_(\w+?)(_wildcards_|$)", comment)
            assert rule is not None, line
            found.append(Job(number, rule[1], partition, state, resources))
        return found


CONFIG = ["--configfile", "config/demo.yaml", f"tests/papers/{PAPER}/slurm.yaml"]
