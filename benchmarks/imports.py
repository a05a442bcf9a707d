"""CPU seconds, over all threads, that the imports of a job take before its first line of work.

Each kind of job is a fresh process that imports what Snakemake and the job import, in
turns with one that imports only torch; printed are medians and ratios to torch.

    python benchmarks/imports.py
    python benchmarks/imports.py --repeats 9 finetune render_figure
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import statistics
import subprocess
import sys

import common

TORCH = "torch alone"
JOBS = [
    "finetune",
    "adjust",
    "pretrain",
    "extract_features",
    "word_pair_distances",
    "identify_languages",
    "measure",
    "render_figure",
    "scorecard",
]
# What comes before a job: the first lines of Snakemake's script, and what workflow/job.py does.
PREAMBLE = """import snakemake.logging, snakemake.iocontainers
import gc
gc.set_threshold(100_000, 20, 100)"""
LATER = {
    "finetune": "import pandas",  # by pyarrow, when predictions are written
    "measure": "import mbert_atlas.analysis.transfer",  # the function that the record names
    "render_figure": "import mbert_atlas.figures.transfer",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", nargs="*", default=JOBS, help="scripts in workflow/scripts")
    parser.add_argument("--repeats", type=int, default=5)
    options = common.parse(parser, repeats=1)
    programs = {TORCH: "import torch"} | {job: imports(job) for job in options.jobs}
    if options.smallest:
        programs = {name: programs[name] for name in (TORCH, "scorecard")}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for turn in range(options.repeats + 1):
        for name, program in programs.items():
            spent = processor_seconds(program)
            if turn > 0:  # the first warms the disk's cache
                seconds[name].append(spent)
    for name, spent in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(spent, seconds[TORCH], strict=True))
        print(f"{name:>20}: {statistics.median(spent):5.2f} s, {ratio:.2f} times torch")


def imports(job: str) -> str:
    """Return a program with all imports of a job's script."""
    script = ast.parse((common.ROOT / f"workflow/scripts/{job}.py").read_text(encoding="utf-8"))
    nodes = (node for node in ast.walk(script) if isinstance(node, ast.Import | ast.ImportFrom))
    return "\n".join([PREAMBLE, *map(ast.unparse, nodes), LATER.get(job, "")])


def processor_seconds(program: str) -> float:
    """Return the CPU seconds, user and system, of a Python process that runs a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(common.ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", program], cwd=common.ROOT, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
