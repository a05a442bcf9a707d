"""CPU seconds of planning, imports, jobs and whole runs, against another checkout.

    python benchmarks/startup.py --against ../other
    python benchmarks/startup.py --against ../other --rows paper demo
    python benchmarks/startup.py --against ../other --rows slurm
    python benchmarks/startup.py --against ../other --repeats 1 --whole demo small

Checkouts are copied and take turns, with the packages of this Python. Rows are

- `imports`: what the scripts and functions of a fine-tuning import before its first step;
- `paper`, `demo`: `snakemake -n` of all targets of a preset; `quiet`: with `--quiet rules`;
- `inner`: a Snakemake inside a job of a cluster, paper scale, up to the start of the script;
- `job`: a seed of a fine-tuning of two steps, in a run of eight on this machine;
- `slurm`, only if named: the job of such a seed, as SLURM accounts for it, on a cluster that
  `tests/slurm/dev_cluster.sh` starts here;
- with `--whole`, all jobs and their planning of `make demo` or `make small` from the start.

CPU seconds, user and system, of all processes of a command; of the repeats the median, and the
median ratio of a turn. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import common

sys.path.insert(0, str(common.ROOT / "tests/workflow"))

from clone import TINY, copy_repository
from mbert_atlas import papers

# Two steps of an encoder of 4 layers.
RUN = """
run: startup
seeds: [1, 2, 3, 4, 5, 6, 7, 8]
encoders: {many: {hub: null, folder: resources/encoders/many}}
encodings: {inference: {max_length: 32}}
runs:
  short:
    kind: finetuning
    paper: PAPER
    encoder: many
    encoding: inference
    train: multinli
    evaluate: {xnli: [en]}
    published: {optimisation: {learning_rate: 1.0e-4, batch_size: 16, epochs: 1}}
"""
CLUSTER = common.ROOT / "tests/slurm/dev_cluster.sh"
PLAN = ["-n", "--profile", "local", "--cores", "2"]
SEEDS = 8
"""Enough for scripts to be forked."""
SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux: orphans become children, so that their CPU time counts."""


def main() -> None:
    options = parse()
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as name:
        checkouts = {"this": copy_repository(Path(name) / "this")}
        if options.against:
            checkouts["other"] = copy_repository(Path(name) / "other", options.against)
        for row in options.rows + [f"whole {preset}" for preset in options.whole]:
            seconds: dict[str, list[float]] = {checkout: [] for checkout in checkouts}
            for _ in range(options.repeats):
                for checkout, folder in checkouts.items():
                    seconds[checkout].append(ROWS[row](folder))
            report(row, seconds)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    rows = [row for row in ROWS if not row.startswith("whole")]
    usual = [row for row in rows if row != "slurm"]
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--rows", nargs="*", choices=rows, default=usual)
    parser.add_argument("--whole", nargs="*", choices=("demo", "small"), default=[])
    parser.add_argument("--repeats", type=int, default=3)
    return common.parse(parser, rows=["inner"], repeats=1)


def report(row: str, seconds: dict[str, list[float]]) -> None:
    medians = [f"{name} {statistics.median(spent):.2f} s" for name, spent in seconds.items()]
    if "other" in seconds:
        turns = zip(seconds["this"], seconds["other"], strict=True)
        medians.append(f"ratio {statistics.median(a / b for a, b in turns):.2f}")
    print(f"{row:>12}: {', '.join(medians)}", flush=True)


def imports(folder: Path) -> float:
    """Return what the benchmark of imports in a checkout measures of a fine-tuning."""
    command = [sys.executable, "benchmarks/imports.py", "finetune", "--repeats", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout.rpartition("finetune:")[2].split()[0])


def plan(arguments: list[str], folder: Path) -> float:
    """Return the CPU seconds of a dry run."""
    return snakemake(folder, *PLAN, *arguments)


def job(folder: Path) -> float:
    """Return the CPU seconds of a seed, in a run of some; data are made first, once a checkout."""
    return snakemake(folder, "--profile", "local", "--cores", "1", *seeds(folder)) / SEEDS


def slurm(folder: Path) -> float:
    """Return the CPU seconds of the job of a seed, by sacct."""
    start = ["--profile", "slurm", "--jobs", "2", *seeds(folder)]
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # sockets need a short path
        environment = {"DEV_CLUSTER_DIR": place, "SLURM_CONF": f"{place}/slurm.conf"}
        how: dict[str, Any] = {"check": True, "capture_output": True, "text": True}
        run = partial(subprocess.run, env=os.environ | environment, **how)
        run([CLUSTER, "up"])
        try:
            run([sys.executable, "-m", "snakemake", *start], cwd=folder)
            # Not with --allocations: SLURM 22.05 then states no CPU time.
            columns = ["--format=TotalCPU,Comment", "--parsable2", "--noheader"]
            listed = run(["sacct", *columns]).stdout
        finally:
            run([CLUSTER, "down"])
            reap()
    times = re.findall(r"^(?:(\d+):)?(\d+):([\d.]+)\|rule_finetune", listed, re.MULTILINE)
    assert len(times) == SEEDS, listed
    spent = (3600 * int(hours or 0) + 60 * int(minutes) + float(s) for hours, minutes, s in times)
    return sum(spent) / SEEDS


def seeds(folder: Path) -> list[str]:
    """Return the options that make the seeds again; make what they need, once a checkout."""
    preset = folder / "startup.yaml"
    preset.write_text(TINY + RUN.replace("PAPER", papers.names()[0]))
    start = ["--configfile", "config/demo.yaml", preset.name]
    names = [
        f"results/startup/runs/short/seed{seed + 1}/predictions.parquet" for seed in range(SEEDS)
    ]
    if not (folder / names[0]).exists():
        snakemake(folder, "--profile", "local", "--cores", "1", *start, "--", names[0])
    return [*start, "--force", "--", *names]


def whole(preset: str, folder: Path) -> float:
    """Return the CPU seconds of `make demo` or `make small` from the start."""
    subprocess.run(["rm", "-rf", folder / "results" / preset], check=True)
    target = "highlights" if preset == "demo" else "all"
    start = ["--profile", "local", "--cores", str(os.cpu_count())]
    return snakemake(folder, *start, "--configfile", f"config/{preset}.yaml", "--", target)


def snakemake(folder: Path, *arguments: str) -> float:
    """Return the CPU seconds of all processes of a Snakemake; it has to succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=True,
    )
    reap()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reap() -> None:
    """Wait for processes that outlived their parents, which are ours, see main."""
    with suppress(ChildProcessError):
        while True:
            os.wait()


DEMO = ["--configfile", "config/demo.yaml"]
# As the executor for SLURM starts it in a job; this rule has no input that had to exist.
INNER = ["--mode", "remote", "--target-jobs", "write_library:", "--allowed-rules", "write_library"]
ROWS: dict[str, Callable[[Path], float]] = {
    "imports": imports,
    "paper": partial(plan, ["--", "all"]),
    "quiet": partial(plan, ["--quiet", "rules", "--", "all"]),
    "demo": partial(plan, [*DEMO, "--", "all"]),
    "inner": partial(plan, INNER),
    "job": job,
    "slurm": slurm,
    "whole demo": partial(whole, "demo"),
    "whole small": partial(whole, "small"),
}

if __name__ == "__main__":
    main()
