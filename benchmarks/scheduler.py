"""What Snakemake's own process costs, with this project's settings and with Snakemake's defaults.

A generated workflow of many jobs without inputs, each of which sleeps a second and touches a file,
runs twice from scratch: with Snakemake's defaults, and with the profile `local` and
`workflow/supervision.py`, as in this project. It prints the cost of the scheduling process without
the jobs that it starts: CPU seconds (user and system), the maximum number of threads, and wall time
from start to exit, next to the wall time of the jobs' sleep alone. CPU seconds of its children, the
jobs' shells and the solver, are a separate column.

    python benchmarks/scheduler.py                      # 3,000 jobs on 32 cores, about five minutes
    python benchmarks/scheduler.py --jobs 300 --cores 4  # few at a time: longer, fewer ready jobs

Linux only. The jobs sleep, so that more cores can be given than there are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import common

SHOWN = ("cpu", "children", "threads", "wall")
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

sys.path.insert(0, "{common.ROOT}")
from workflow.supervision import supervise

onstart:
    supervise(workflow, logger, "results")
"""


def main() -> None:
    options = parse()
    least = -(-options.jobs // options.cores) * options.seconds
    print(f"{options.jobs} jobs on {options.cores} cores; their sleep alone takes {least:.0f} s")
    print(f"{'':20}{'CPU s':>10}{'children':>10}{'threads':>10}{'wall s':>10}")
    default = run(options, [], WORKFLOW)
    report("Snakemake's default", default)
    ours = run(options, ["--profile", str(common.ROOT / "local")], SCHEDULER + WORKFLOW)
    report("this project", ours)
    ratios = [getattr(default, name) / getattr(ours, name) for name in SHOWN]
    print(f"{'ratio':20}" + "".join(f"{ratio:10.2f}" for ratio in ratios))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=3_000)
    parser.add_argument("--cores", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a job sleeps")
    return common.parse(parser, jobs=6, cores=2, seconds=0.1)


def run(options: argparse.Namespace, arguments: list[str], workflow: str) -> common.Cost:
    """Run a workflow in an empty folder; every output has to exist afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = workflow.format(jobs=options.jobs, seconds=options.seconds)
        (folder / "Snakefile").write_text(text)
        command = [sys.executable, "-m", "snakemake", "--cores", str(options.cores), *arguments]
        cost = common.watch(command, folder, folder / "log")
        if cost.status != 0 or len(list((folder / "out").iterdir())) != options.jobs:
            sys.exit((folder / "log").read_text()[-3_000:])
    return cost


def report(name: str, cost: common.Cost) -> None:
    print(f"{name:20}{cost.cpu:10.1f}{cost.children:10.1f}{cost.threads:10}{cost.wall:10.1f}")


if __name__ == "__main__":
    main()
