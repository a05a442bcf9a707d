"""Run one job by hand: its ``snakemake`` object in a notebook, its script in a debugger.

CONTRIBUTING.md has examples; they start in the root of the repository. Snakemake plans the job, so
paths, parameters and resources are the real ones, whether or not the target exists. The script
prints here instead of to its log, and Snakemake does not record the run.
"""

import argparse
import os
import pdb
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from snakemake.cli import parse_config
from snakemake.iocontainers import Snakemake

from workflow.dryrun import planned
from workflow.forking import script_of, snakemake_of


def job(
    target: str, *configfiles: str, config: Sequence[str] = (), cores: int | None = None
) -> Snakemake:
    """Plan one job; return what its script gets, or exit if there is no such job.

    The target is a file that the job makes, or the name of a rule without wildcards; the others
    are what follows ``--configfile``, ``--config`` (``["mirror=DIR"]``) and ``--cores``, by default
    all of the machine.
    """
    with planned([target], configfiles, parse_config(config), cores or os.cpu_count()) as workflow:
        job, *others = workflow.dag.targetjobs
        if others or not job.rule.script:
            sys.exit(f"{target}: no script makes it. Name a file that a rule with a script makes.")
        snakemake = pickle.loads(pickle.dumps(snakemake_of(job)))  # as in a script
    snakemake.log = type(snakemake.log)()  # so that it prints here
    snakemake.script = script_of(job)
    return snakemake


def run(snakemake: Snakemake, call: Callable[[Any, dict[str, Any]], Any] = exec) -> None:
    """Run the job's script, by ``call(code, globals)``; exit if an input is missing."""
    if missing := [path for path in snakemake.input if not Path(path).exists()]:
        sys.exit(f"{snakemake.rule}: {missing[0]} is missing. Let Snakemake make it first.")
    for path in map(Path, snakemake.output):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    os.environ["OMP_NUM_THREADS"] = str(snakemake.threads)  # as in a job
    code = compile(snakemake.script.read_text(encoding="utf-8"), snakemake.script, "exec")
    call(code, {"__name__": "__main__", "snakemake": snakemake})
    if state := snakemake.params.get("state"):  # else the next call would resume at the end
        shutil.rmtree(state, ignore_errors=True)


def main() -> None:
    """Plan the target of the command line and run its job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", help="a file that the job makes")
    parser.add_argument("--configfile", action="append", default=[], help="a preset")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--cores", type=int, help="the job gets no more threads")
    parser.add_argument("--pdb", action="store_true", help="stop at the first line of its script")
    options = parser.parse_args()
    snakemake = job(options.target, *options.configfile, config=options.config, cores=options.cores)
    run(snakemake, *([pdb.run] if options.pdb else []))


if __name__ == "__main__":
    main()
