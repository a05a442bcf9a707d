"""Targets planned as `snakemake -n` plans them, for programs that look at their jobs."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snakemake.api import SnakemakeApi
from snakemake.exceptions import RuleException, WorkflowError, format_exception_to_string
from snakemake.settings.enums import Quietness, RerunTrigger
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def planned(
    targets: Collection[str],
    configfiles: Sequence[str],
    config: Mapping[str, Any],
    cores: int | None,
) -> Iterator[Any]:
    """Yield Snakemake's workflow with the graph of some targets.

    Args:
        targets: files or names of rules.
        configfiles: presets, as after ``--configfile``.
        config: what ``--config`` gives.
        cores: cores to plan with; a job gets no more threads.

    Raises:
        SystemExit: Snakemake can't plan the targets.
    """
    triggers = {RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT}  # as in the profiles
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        try:
            workflow = api.workflow(
                ResourceSettings(cores=cores),
                ConfigSettings(
                    config=dict(config), configfiles=[Path(path) for path in configfiles]
                ),
                snakefile=ROOT / "Snakefile",
            )
            settings = DAGSettings(targets=set(targets), rerun_triggers=triggers)
            workflow.dag(settings).execute_workflow("dryrun")
        except (WorkflowError, RuleException) as error:
            sys.exit(format_exception_to_string(error, {}))
        yield workflow._workflow
