"""The jobs that make some files, and why Snakemake would run them now: JSON for other programs.

python -m workflow.reasons results/demo/data/xnli.parquet --configfile config/demo.yaml
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from workflow.dryrun import planned


def main() -> None:
    """Print the jobs as JSON; the reason is empty if a job is up to date."""
    parser = argparse.ArgumentParser(description="Why Snakemake would run the jobs of some files.")
    parser.add_argument("targets", nargs="+", help="files")
    parser.add_argument("--configfile", action="append", default=[], help="a preset")
    options = parser.parse_args()
    with planned(options.targets, options.configfile, {}, cores=None) as workflow:
        jobs = [
            {
                "rule": job.rule.name,
                "function": job.params.job["function"],
                "input": {name: list(map(str, files)) for name, files in _named(job.input)},
                "output": list(map(str, job.output)),
                "reason": _reason(workflow.dag, job),
            }
            for job in workflow.dag.targetjobs
        ]
    print(json.dumps(jobs))


def _reason(dag: Any, job: Any) -> str:
    # The dry run has marked its jobs as finished.
    text = str(dag.reason(job)) if dag.needrun(job) else ""
    return text.removeprefix("Finished (was: ").removesuffix(")")


def _named(files: Any) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the files of an input by their names, in the order of the rule."""
    for name, item in files._allitems():
        yield name or "", [item] if isinstance(item, str) else item


if __name__ == "__main__":
    main()
