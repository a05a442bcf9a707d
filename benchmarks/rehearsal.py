"""The whole workflow to its end with stand-ins for jobs: what Snakemake itself costs and survives.

In a copy of the repository every script of a rule is replaced by one that waits some milliseconds
and writes small files of the right kind, or, at random at the requested rate, half of them and
fails. The plan is the real one, at paper scale unless a preset is given. It runs

- locally on many cores (``--profile local``), and
- through the profile ``slurm``, with stand-ins for sbatch, squeue, scancel and others first on
  PATH. A submitted job has ended when sbatch returns, without an inner Snakemake, which on a
  cluster takes seconds on the nodes: only the main process is rehearsed.

Each is restarted until it succeeds (a job may exhaust its retries), and then once more, with
nothing left to do. Printed are the starts, the number of attempts and of failures, and CPU seconds,
peak memory, threads and wall time of the main process.

    python benchmarks/rehearsal.py    # paper scale
    python benchmarks/rehearsal.py --configfile config/demo.yaml --only slurm

Linux only. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import common
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(common.ROOT / "tests/workflow"))

from clone import copy_repository

MOST_STARTS = 10

OUTPUTS = '''
"""Write small files in place of results, or half of them and fail."""

import json
import os
import random
import shutil
import time

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "settings.json")) as stream:
    SETTINGS = json.load(stream)
with open(os.path.join(HERE, "folders.json")) as stream:
    FOLDERS = set(json.load(stream))
CONTENT = {".json": b"{}", ".csv": b"column\\n", ".svg": b"<svg/>", ".html": b"<html></html>"}


def make(outputs):
    """Write all outputs and return true, or write half of them and return false."""
    time.sleep(SETTINGS["seconds"])
    fails = random.random() < SETTINGS["rate"]
    with open(os.path.join(HERE, "attempts"), "a") as stream:
        stream.write("failed\\n" if fails else "done\\n")
    for path in outputs[: len(outputs) // 2] if fails else outputs:
        if path in FOLDERS:
            os.makedirs(path, exist_ok=True)
            path = os.path.join(path, "meta.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if path.endswith(".parquet"):
            shutil.copy(os.path.join(HERE, "empty.parquet"), path)
        else:
            with open(path, "wb") as stream:
                stream.write(CONTENT.get(os.path.splitext(path)[1], b"stand-in"))
    return not fails
'''
SCRIPT = """
import sys

sys.path.insert(0, {folder!r})
from outputs import make

open(snakemake.log[0], "w").close()
sys.exit(not make(list(snakemake.output)))
"""
SLURM = '''#!{python} -SE
"""Stand-in for the programs of SLURM: a job ends when it is submitted."""

import json
import os
import re
import sys

sys.path.insert(0, {folder!r})
from outputs import HERE, make

name, jobs = os.path.basename(sys.argv[0]), os.path.join(HERE, "jobs")
if name == "sbatch":
    wrapped = next(word for word in sys.argv if word.startswith("--wrap"))
    target = re.search(r"--target-jobs '?([^' ]+)'?", wrapped)[1]
    with open(os.path.join(HERE, "table", target.replace("/", "|"))) as stream:
        outputs = json.load(stream)
    state = "COMPLETED" if make(outputs) else "FAILED"
    with open(jobs, "a") as stream:
        stream.write(state + "\\n")
        number = stream.tell()
    print(number)
    run = sys.argv[sys.argv.index("--job-name") + 1]
    with open(jobs + "." + run, "a") as stream:
        stream.write(f"{{number}}|{{state}}\\n")
elif name in ("squeue", "sacct"):
    run = sys.argv[sys.argv.index("--name") + 1] if "--name" in sys.argv else ""
    if os.path.exists(jobs + "." + run):
        sys.stdout.write(open(jobs + "." + run).read())
elif name == "scontrol":
    print("MinJobAge = 300 sec")
'''
SLURM_PROGRAMS = ("sbatch", "squeue", "sacct", "scancel", "scontrol", "sinfo")


def main() -> None:
    options = parse()
    for name in ("local", "slurm") if options.only is None else (options.only,):
        with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
            rehearse(name, options, Path(folder))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configfile", help="a preset; without one paper scale")
    parser.add_argument("--target", default="all")
    parser.add_argument("--rate", type=float, default=0.02, help="fraction of attempts that fail")
    parser.add_argument("--seconds", type=float, default=0.01, help="how long a job waits")
    parser.add_argument("--cores", type=int, default=64, help="of the local run")
    parser.add_argument("--only", choices=("local", "slurm"), help="one of the two runs")
    one = "results/demo/data/xnli.parquet"
    smallest = {"configfile": "config/demo.yaml", "target": one, "only": "slurm", "rate": 0.0}
    return common.parse(parser, **smallest)


def rehearse(name: str, options: argparse.Namespace, folder: Path) -> None:
    """Run the workflow in an empty folder until nothing is missing; print the cost."""
    copy = folder / "copy"
    stand_ins = folder / "stand-ins"
    prepare(copy, stand_ins, options)
    preset = ["--configfile", options.configfile] if options.configfile else []
    arguments = ["--profile", name, *preset]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    write_table(copy, stand_ins, options, environment)
    if name == "slurm":
        environment["PATH"] = f"{stand_ins}:{environment['PATH']}"
        arguments += ["--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5"]
    else:
        arguments += ["--cores", str(options.cores), "--retries", "2"]
    command = [sys.executable, "-m", "snakemake", *arguments, "--", options.target]
    print(f"{name}: {' '.join(command[2:])}")
    print(f"{'start':>6}{'exit':>6}{'attempts':>10}{'failed':>8}{'CPU s':>9}{'MB':>7}", end="")
    print(f"{'threads':>9}{'wall s':>9}")
    for start in range(1, MOST_STARTS + 1):
        before = attempts(stand_ins)
        cost = common.watch(command, copy, folder / "printed", env=environment)
        done, failed = (after - old for after, old in zip(attempts(stand_ins), before, strict=True))
        print(
            f"{start:6}{cost.status:6}{done + failed:10}{failed:8}{cost.cpu:9.1f}"
            f"{cost.memory:7.0f}{cost.threads:9}{cost.wall:9.1f}",
            flush=True,
        )
        if cost.status == 0 and not done + failed:
            print("nothing is missing, and the last start had nothing to do\n")
            return
    sys.exit(
        f"not finished after {MOST_STARTS} starts:\n{(folder / 'printed').read_text()[-3_000:]}"
    )


def prepare(copy: Path, stand_ins: Path, options: argparse.Namespace) -> None:
    """Copy the repository with stand-ins for the scripts of its rules."""
    copy_repository(copy)
    stand_ins.mkdir()
    settings = {"seconds": options.seconds, "rate": options.rate}
    (stand_ins / "settings.json").write_text(json.dumps(settings))
    (stand_ins / "outputs.py").write_text(OUTPUTS)
    pq.write_table(pa.table({"column": pa.array([], pa.int32())}), stand_ins / "empty.parquet")
    for script in (copy / "workflow/scripts").rglob("*.py"):
        script.write_text(SCRIPT.format(folder=str(stand_ins)))
    program = stand_ins / "slurm.py"
    program.write_text(SLURM.format(python=sys.executable, folder=str(stand_ins)))
    program.chmod(0o755)
    for name in SLURM_PROGRAMS:
        (stand_ins / name).symlink_to(program)


def write_table(
    copy: Path, stand_ins: Path, options: argparse.Namespace, environment: dict[str, str]
) -> None:
    """Write which outputs are folders, and the outputs of each target, which sbatch looks up."""
    code = f"""
import json, sys
sys.path.insert(0, {str(copy)!r})
from pathlib import Path
from snakemake.api import SnakemakeApi
from snakemake.settings.enums import Quietness
from snakemake.settings.types import *
from snakemake_interface_executor_plugins.utils import encode_target_jobs_cli_args as name
with SnakemakeApi(OutputSettings(quiet={{Quietness.ALL}})) as api:
    workflow = api.workflow(
        ResourceSettings(cores=1),
        ConfigSettings(configfiles=[Path(path) for path in {[options.configfile]!r} if path]),
        snakefile=Path("Snakefile"),
    )
    workflow.dag(DAGSettings(targets={{{options.target!r}}})).execute_workflow("dryrun")
    folder, folders = Path({str(stand_ins)!r}), []
    for job in workflow._workflow.dag.jobs:
        (target,) = name(job.get_target_spec())
        outputs = [*map(str, job.output), *([str(job.benchmark)] if job.benchmark else [])]
        (folder / "table" / target.replace("/", "|")).write_text(json.dumps(outputs))
        folders += [str(path) for path in job.output if path.is_directory]
    (folder / "folders.json").write_text(json.dumps(folders))
"""
    (stand_ins / "table").mkdir()
    subprocess.run([sys.executable, "-c", code], cwd=copy, env=environment, check=True)


def attempts(stand_ins: Path) -> tuple[int, int]:
    """Return how many attempts succeeded and how many failed so far."""
    path = stand_ins / "attempts"
    text = path.read_text() if path.exists() else ""
    return text.count("done"), text.count("failed")


if __name__ == "__main__":
    main()
