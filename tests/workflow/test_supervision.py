"""Signals, locks, resumable state and retries, with real processes and a workflow of one job."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

import forked
from clone import ROOT
from workflow import supervision
from workflow.supervision import growth, short_of

pytestmark = pytest.mark.workflow
SNAKEFILE = f"""
import sys

sys.path.insert(0, "{ROOT}")
from pathlib import Path
from workflow.supervision import pass_signals, supervise

if not workflow.is_main_process:
    pass_signals(workflow)

onstart:
    supervise(workflow, logger, "results")
if config.get("forks"):
    from workflow import forking
    forking.install(Path("."), preload="json", least_jobs=1)
from workflow.supervision import growth

rule job:
    output: "done.txt"
    log: "logs/job.log"
    params: state="results/state", code=config.get("code", "1")
    resources:
        mem_mb=lambda wildcards, attempt, rulename: (
            100 * growth("memory", rulename, wildcards, attempt)
        ),
        runtime=lambda wildcards, attempt, rulename: (
            10 * growth("time", rulename, wildcards, attempt)
        ),
    script: "job.py"
"""
SCRIPT = f"""
import os, sys, time
from pathlib import Path

sys.path.insert(0, "{ROOT}")
from workflow.job import set_up
from mbert_atlas.errors import AtlasError, TransientError

with set_up(snakemake):
    state = Path(snakemake.params.state, "step-1")
    print("mem_mb", snakemake.resources.mem_mb, "runtime", snakemake.resources.runtime)
    if Path("wrong").exists():
        raise AtlasError("the config is wrong.")
    if Path("away").exists():
        raise TransientError("a server is away.")
    if Path("large").exists():
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
    if Path("full").exists():
        raise OSError(28, "No space left on device", "results/there")
    if not state.exists():
        try:
            Path("began").touch()
            time.sleep(Path("patience").exists() and 600)
        finally:
            state.mkdir()
    Path(snakemake.output[0]).write_text("whole")
"""


class Start:
    """Snakemake in a folder, alone in its process group."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        words = ["-m", "snakemake", "--cores", "1", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        self.process = forked.Program(folder, words, environment, together=True)

    def end(self) -> tuple[int, str]:
        said, _ = self.process.communicate(timeout=300)
        return self.process.returncode, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "job.py").write_text(SCRIPT)
    return tmp_path


def wait_for(path: Path) -> None:
    end = time.monotonic() + 300
    while not path.exists():
        assert time.monotonic() < end, f"no {path}"
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("number", "mode"),
    [
        (signal.SIGTERM, "default"),
        (signal.SIGINT, "default"),
        (signal.SIGTERM, "remote"),
        (signal.SIGTERM, "forks"),
        (signal.SIGINT, "forks"),
    ],
)
def test_a_signal_to_snakemake_reaches_the_script(folder, number, mode) -> None:
    """``remote`` is the Snakemake that SLURM starts, the only process that a step's signal gets."""
    (folder / "patience").touch()
    forks = ["--config", "forks=1"] if mode == "forks" else []
    mode = "default" if forks else mode
    hooks = [] if mode == "default" else ["--no-hooks"]
    start = Start(folder, "--mode", mode, *hooks, *forks)
    wait_for(folder / "began")
    os.kill(start.process.pid, number)
    code, said = start.end()
    assert code != 0
    assert "job: stopped by a signal" in said
    assert (folder / "results/state/step-1").is_dir()
    assert not (folder / "done.txt").exists()
    if mode == "default":
        code, said = Start(folder).end()
        assert code == 0, said
        assert not (folder / "results/state").exists()
        assert (folder / "logs/job.log").read_text().count("==== ") == 2


def test_state_goes_when_its_results_have_been_accepted(folder) -> None:
    code, said = Start(folder, "--mode", "remote", "--no-hooks").end()
    assert code == 0, said
    assert (folder / "results/state/step-1").is_dir()  # the main process may think otherwise
    (folder / "done.txt").unlink()
    code, said = Start(folder, "--config", "code=new").end()
    assert code == 0, said
    log = (folder / "logs/job.log").read_text()
    assert "step-1 was written by another version of the code and is deleted" in log
    assert not (folder / "results/state").exists()


@pytest.mark.parametrize(
    ("problem", "memory", "sentence"),
    [
        ("wrong", [100], "the config is wrong."),
        ("full", [100], "results/there: no space left while writing (No space left on device);"),
        ("away", [100, 100, 100], "a server is away."),
        ("large", [100, 200, 300], "can't allocate memory"),
    ],
)
def test_only_what_a_retry_may_fix_is_tried_again(folder, problem, memory, sentence) -> None:
    (folder / problem).touch()
    code, said = Start(folder, "--retries", "2").end()
    assert code != 0
    assert said.count(sentence) == len(memory)
    assert ("not retried" in said) == (len(memory) == 1)
    log = (folder / "logs/job.log").read_text()
    asked = [line for line in log.splitlines() if line.startswith("mem_mb")]
    assert asked == [f"mem_mb {one} runtime 10" for one in memory]


@pytest.mark.parametrize("place", ["results/state", "results", "logs"])
def test_on_a_full_disk_nothing_is_computed_and_nothing_retried(folder, place) -> None:
    """The disk is full before the job begins; the last one has its log and its note, too."""
    if place == "logs":
        snakefile = SNAKEFILE.replace("results/state", "logs/state").replace('"results"', '"logs"')
        (folder / "Snakefile").write_text(snakefile)
    disk = folder / place
    disk.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk needs root")
    try:
        with suppress(OSError), (disk / "large").open("wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        code, said = Start(folder, "--retries", "2").end()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
    assert code != 0
    assert said.count("no space left while writing (No space left on device); free space") == 1
    assert not (folder / "began").exists()


def test_one_snakemake_at_a_time_makes_results(folder) -> None:
    (folder / "patience").touch()
    first = Start(folder)
    wait_for(folder / "began")
    # As if another run that ended had removed Snakemake's own lock.
    code, said = Start(folder, "--nolock", "--force").end()
    assert code != 0
    assert f"results is in use by process {first.process.pid} on" in said
    assert f"(kill {first.process.pid}), then start again." in said
    os.killpg(first.process.pid, signal.SIGKILL)
    first.end()
    (folder / "patience").unlink()
    code, said = Start(folder, "--nolock", "--rerun-incomplete").end()
    assert code == 0, said


def test_a_job_whose_log_cannot_be_written_speaks_on_the_terminal(folder) -> None:
    (folder / "logs/.job.log").mkdir(parents=True)
    (folder / "wrong").touch()
    code, said = Start(folder).end()
    assert code != 0
    assert "the log logs/job.log cannot be written (Is a directory)" in said
    assert "job: the config is wrong." in said


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ({}, None),
        ({"ended": None, "seconds": 1000.0}, "memory"),  # killed
        ({"ended": None, "seconds": 3500.0}, "time"),
        ({"ended": "stopped", "seconds": 3500.0}, "time"),
        ({"ended": "stopped", "seconds": 30.0}, "nothing"),  # preempted
        ({"ended": "done", "seconds": 3500.0}, "time"),  # too late for Snakemake
        ({"ended": "failed", "seconds": 3500.0}, "nothing"),
        ({"ended": "failed", "seconds": 3.0}, "nothing"),
        ({"ended": "memory", "seconds": 3.0}, "memory"),
    ],
)
def test_what_an_attempt_was_short_of(note, expected) -> None:
    assert short_of(note, 60) == expected


@pytest.mark.parametrize(
    ("end", "ended", "expected"),
    [
        ("CANCELLED", None, "nothing"),  # before the script had begun, or while it saved
        ("NODE_FAIL", None, "nothing"),
        ("FAILED", None, "memory"),
        ("OUT_OF_MEMORY", "failed", "memory"),
        ("TIMEOUT", None, "time"),
    ],
)
def test_slurm_says_what_an_attempt_was_short_of(end, ended, expected) -> None:
    assert short_of({"ended": ended, "seconds": 30.0}, 60, end) == expected
    # Without a note nothing of it has run: a cause that SLURM does not name is none of the two.
    assert short_of({}, 60, end) == (expected if end in ("OUT_OF_MEMORY", "TIMEOUT") else "nothing")


def test_an_attempt_asks_for_what_the_ones_before_were_short_of(monkeypatch) -> None:
    monkeypatch.setattr(supervision, "_SHORTAGES", defaultdict(list))
    supervision._SHORTAGES["job", "a"] = ["time", "memory", "nothing", None]
    asked = [
        (growth("time", "job", "a", attempt), growth("memory", "job", "a", attempt))
        for attempt in range(1, 6)
    ]
    assert asked == [(1, 1), (2, 1), (2, 2), (2, 2), (3, 3)]
    assert growth("time", "job", "b", 3) == 3  # inside a job nothing is known of those before


@pytest.mark.parametrize("option", [[], ["--max-jobs-per-timespan", "9/2s"]])
def test_ended_jobs_leave_no_timers_of_the_default_rate_limit(tmp_path, option) -> None:
    rules = """
import threading

onsuccess:
    print("timers", sum(isinstance(thread, threading.Timer) for thread in threading.enumerate()))
    print("is limited:", workflow.scheduler.job_rate_limiter is not None)

rule all:
    input: [f"{number}" for number in range(9)]

rule make:
    output: "{number}"
    shell: ": > {output}"
"""
    beginning, _, _ = SNAKEFILE.partition("from workflow.supervision import growth")
    (tmp_path / "Snakefile").write_text(beginning + rules)
    code, said = Start(tmp_path, *option).end()
    assert code == 0, said
    assert option or "timers 0" in said
    assert f"is limited: {bool(option)}" in said
