"""What Snakemake's own process costs, with this project's settings and with Snakemake's defaults.

A generated workflow of many jobs without inputs, each of which sleeps a second and touches a file,
runs twice, from scratch: as Snakemake does it unasked, and with the profile `local` and
`workflow/supervision.py`, as in this project. Printed are, for the process that schedules and
without the jobs that it starts: its CPU seconds (user and system, from /proc, when it has ended),
the most threads it held (looked at ten times a second), and the wall time from its start to its
exit, beside the wall time that the jobs' sleep alone takes. CPU seconds of its children, that is
of the jobs' shells and of the solver, stand apart.

    python benchmarks/workflow.py                       # 3,000 jobs on 32 cores, about five minutes
    python benchmarks/workflow.py --jobs 300 --cores 4  # few at a time: longer, fewer ready jobs

Linux only. The jobs sleep, so that more cores can be given than there are.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = """
rule all:
    input:
        [f"out/{{number}}" for number in range({jobs})],


rule job:
    output:
        "out/{{number}}",
    shell:
        "sleep {seconds}; : > {{output}}"
"""
SCHEDULER = f"""
import sys

sys.path.insert(0, "{ROOT}")
from workflow.supervision import supervise

onstart:
    supervise(workflow, logger, "results")
"""
# Fields of /proc/<pid>/stat after the name of the program, which may hold blanks.
USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM, THREADS = 11, 12, 13, 14, 17


class Cost(NamedTuple):
    """What one run cost: CPU and wall time in seconds."""

    cpu: float
    children: float
    threads: int
    wall: float


def main() -> None:
    options = parse()
    least = -(-options.jobs // options.cores) * options.seconds
    print(f"{options.jobs} jobs on {options.cores} cores; their sleep alone takes {least:.0f} s")
    print(f"{'':20}{'CPU s':>10}{'children':>10}{'threads':>10}{'wall s':>10}")
    default = run(options, [], WORKFLOW)
    report("Snakemake's default", default)
    ours = run(options, ["--profile", str(ROOT / "local")], SCHEDULER + WORKFLOW)
    report("this project", ours)
    ratios = [before / after for before, after in zip(default, ours, strict=True)]
    print(f"{'ratio':20}" + "".join(f"{ratio:10.2f}" for ratio in ratios))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=3_000)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a job sleeps")
    return parser.parse_args()


def run(options: argparse.Namespace, arguments: list[str], workflow: str) -> Cost:
    """Run a workflow in an empty folder; every output must be there afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = workflow.format(jobs=options.jobs, seconds=options.seconds)
        (folder / "Snakefile").write_text(text)
        command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores), *arguments]
        started = time.monotonic()
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
        threads = 0
        # A process that has ended keeps its times in /proc until it is waited for.
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            threads = max(threads, statistics_of(process.pid)[THREADS])
            time.sleep(0.1)
        wall, numbers = time.monotonic() - started, statistics_of(process.pid)
        if process.wait() != 0 or len(list((folder / "out").iterdir())) != options.jobs:
            sys.exit((folder / "log").read_text()[-3_000:])
    tick = os.sysconf("SC_CLK_TCK")
    return Cost(
        cpu=(numbers[USER] + numbers[SYSTEM]) / tick,
        children=(numbers[CHILDREN_USER] + numbers[CHILDREN_SYSTEM]) / tick,
        threads=threads,
        wall=wall,
    )


def statistics_of(pid: int) -> list[int]:
    """Return the numbers of /proc/<pid>/stat, without state at their start (as 0)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, fields[1:])]


def report(name: str, cost: Cost) -> None:
    print(f"{name:20}{cost.cpu:10.1f}{cost.children:10.1f}{cost.threads:10}{cost.wall:10.1f}")


if __name__ == "__main__":
    main()
