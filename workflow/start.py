"""Checks of a start: the command line before the config, the targets after the rules."""

import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from snakemake.cli import parse_args
from snakemake.exceptions import WorkflowError

from mbert_atlas import papers
from mbert_atlas.config.reading import BASE, read_yaml, with_lines
from mbert_atlas.errors import AtlasError, DataError, joined
from workflow.aligners import check_aligners
from workflow.console import show_essentials
from workflow.needs import check_needs
from workflow.plan import WorkflowPlan, lines_of_config
from workflow.sizes import check_sizes

_GIVEN_ONCE = {"--configfile": ("--configfile", "--configfiles"), "--config": ("--config", "-C")}
"""Options that take several values; a second one drops the values of the first."""


def check_start(workflow: Any, config: dict[str, Any], home: Path) -> None:
    """Reject a start whose command line, folder or config files cannot be meant.

    A WorkflowError names the mistake and the right start.
    """
    is_module = Path(workflow.basedir).resolve() != home.resolve()
    if workflow.is_main_process and not is_module:
        show_essentials(workflow)
    if not (BASE.is_file() or is_module):
        raise WorkflowError(
            f"{Path.cwd()} has no {BASE}; start Snakemake in the folder of the repository: "
            f"cd {workflow.basedir}, or add --directory {workflow.basedir}."
        )
    if not workflow.is_main_process:
        return
    if _command_line(workflow):
        typed = sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
        for option, spellings in _GIVEN_ONCE.items():
            if sum(item.partition("=")[0] in spellings for item in typed) > 1:
                raise WorkflowError(
                    f"{option} is given twice, and the second drops the values of the first; "
                    f"write it once, with all its values: {option} ONE TWO."
                )
    if workflow.resource_settings.cores == 0:
        raise WorkflowError("--cores 0 leaves no core to work with; write --cores 1 or more.")
    mistakes: list[DataError] = []
    presets = [home / BASE, *map(Path, workflow.overwrite_configfiles)]
    for path in presets:
        try:
            read_yaml(path)
        except DataError as error:
            mistakes += getattr(error, "errors", [error])
    if not mistakes:
        try:
            for path in papers.config_files(config, home):
                read_yaml(path)
        except DataError as error:
            typed = workflow.config_settings.config
            mistakes += getattr(error, "errors", [with_lines(error, presets, typed)])
    if mistakes:
        raise WorkflowError(str(joined(mistakes)))


def check_targets(workflow: Any, plan: WorkflowPlan) -> None:
    """Reject a target that no rule makes, or whose encoder or bitext lacks what it needs.

    The WorkflowError suggests similar targets, or what to change.
    """
    if not workflow.modifier.is_main_snakefile():
        return  # the targets are another workflow's
    options = _command_line(workflow)
    if options is None:
        return
    require_targets(workflow, plan, options.targets)
    if "predict" in options.targets:
        plan.predicted = sorted(set(options.targets) - {"predict"})
        prepare = workflow._prepare_dag

        def prepare_prediction(*arguments: Any, **settings: Any) -> Any:
            workflow.dag_settings.targets = frozenset(["predict"])
            return prepare(*arguments, **settings)

        workflow._prepare_dag = prepare_prediction
    try:
        with lines_of_config(workflow, plan.config.model_dump(), plan.home):
            check_needs(plan, options.targets)
            check_aligners(plan, options.targets)
            check_sizes(plan, options.targets)
    except AtlasError as error:
        raise WorkflowError(str(error)) from None


def require_targets(workflow: Any, plan: WorkflowPlan, targets: Iterable[str]) -> None:
    """Raise a WorkflowError for a target that no rule makes; it suggests others."""
    for target in targets:
        rule = next((item for item in workflow.rules if item.name == target), None)
        if Path(target).exists() or (rule and not rule.has_wildcards()):
            continue
        if rule:
            pattern = re.sub(r",[^{}]*}", "}", str(rule.output[0]))
            raise WorkflowError(f"{target!r} makes one file of many: name it, as in {pattern}.")
        fix = _right_run(plan, target)
        if fix or not any(item.is_producer(str(Path(target))) for item in workflow.rules):
            fix = fix or _right_target(workflow, plan, target)
            raise WorkflowError(f"Nothing makes {target!r}; {fix}")


def _right_run(plan: WorkflowPlan, target: str) -> str:
    """Return what is right where a file has a run or a seed that is not planned; else nothing."""
    match = re.match(rf"{re.escape(plan.results)}/runs/([^/]+)/seed(\d+)/", str(Path(target)))
    if not match:
        return ""
    name, seed = match[1], int(match[2])
    try:
        seeds = plan.runs[name].seeds
    except AtlasError as error:
        if other := plan.runs.same.get(name):
            return f"{name!r} has the same settings as the run {other!r}, and is that run."
        return str(error).replace("There", "there", 1)
    few = f"the seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}"
    return "" if seed in seeds else f"the run {name!r} has {few}."


def _right_target(workflow: Any, plan: WorkflowPlan, target: str) -> str:
    """Return what to request instead of a target, or to change in the config."""
    paper = target.partition("_")[0]
    if paper in papers.names() and paper not in plan.papers:
        return f"add {paper} to the key `papers` of the config, which leaves it out."
    rules = [item for item in workflow.rules if not item.has_wildcards()]
    outputs = [str(path) for item in rules for path in item.output]
    if near := get_close_matches(target, [*(item.name for item in rules), *outputs], 3):
        return f"did you mean {' or '.join(near)}?"
    if "seed" in target:
        return f"the seeds are {', '.join(map(str, sorted(plan.seeds)))}."
    if target.startswith("results/") and not target.startswith(f"{plan.results}/"):
        return f"with this config, results are in {plan.results}."
    return "snakemake --list-target-rules lists the targets."


def _command_line(workflow: Any) -> Any:
    """Return the options of this process, or none if it is not Snakemake but uses the workflow."""
    if Path(sys.argv[0]).name in ("snakemake", "__main__.py") and workflow.is_main_process:
        return parse_args(sys.argv[1:])[1]
    return None
