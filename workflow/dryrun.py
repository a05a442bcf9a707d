"""Targets planned as `snakemake -n` plans them, for programs that look at their jobs.

    python -m workflow.dryrun results/demo/data/xnli.parquet --configfile config/demo.yaml

prints the jobs that make some files, and why Snakemake would run them now, as JSON.
"""

import argparse
import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.exceptions import RuleException, WorkflowError, format_exception_to_string
from snakemake.settings.enums import Quietness, RerunTrigger
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from mbert_atlas.config.reading import read_yaml
from mbert_atlas.errors import AtlasError
from workflow.console import sentence_of
from workflow.start import require_targets

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def planned(
    targets: Collection[str],
    configfiles: Sequence[str],
    config: Mapping[str, Any],
    cores: int | None,
) -> Iterator[Any]:
    """Yield Snakemake's workflow with the graph of some targets: files or names of rules.

    The other arguments are those after ``--configfile``, ``--config`` and ``--cores``; a job gets
    no more threads than there are cores. The program exits if Snakemake can't plan the targets.
    """
    triggers = {RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT}  # as in the profiles
    try:
        for file in configfiles:  # Snakemake ends with a traceback
            read_yaml(Path(file))
    except AtlasError as error:
        sys.exit(str(error))
    settings = ConfigSettings(config=dict(config), configfiles=list(map(Path, configfiles)))
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        try:
            workflow = api.workflow(
                ResourceSettings(cores=cores), settings, snakefile=ROOT / "Snakefile"
            )
            dag = workflow.dag(DAGSettings(targets=set(targets), rerun_triggers=triggers))
            require_targets(workflow._workflow, workflow._workflow.globals["plan"], targets)
            dag.execute_workflow("dryrun")
        except (WorkflowError, RuleException) as error:
            sys.exit(sentence_of(format_exception_to_string(error, {})))
        yield workflow._workflow


def main() -> None:
    """Print the jobs; the reason of one that is up to date is empty."""
    parser = argparse.ArgumentParser(description="Why Snakemake would run the jobs of some files.")
    parser.add_argument("targets", nargs="+", help="files")
    parser.add_argument("--configfile", action="append", default=[], help="a preset")
    options = parser.parse_args()
    with planned(options.targets, options.configfile, {}, cores=None) as workflow:
        jobs = [
            {
                "rule": job.rule.name,
                "script": Path(job.rule.script).stem,
                "input": [[name or "", str(files)] for name, files in _inputs(job)],
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


def _inputs(job: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield name and path of the files of an input, in the order of the rule."""
    for name, item in job.input._allitems():
        yield from ((name, path) for path in ([item] if isinstance(item, str) else item))


if __name__ == "__main__":
    main()
