# Says at once what is wrong with a start, before Snakemake reads the config. It has no rules.

import re
import sys
from difflib import get_close_matches
from pathlib import Path

from snakemake.cli import parse_args
from snakemake.exceptions import WorkflowError

from mbert_atlas import papers
from mbert_atlas.config.reading import BASE, read_yaml
from mbert_atlas.errors import DataError, joined

GIVEN_ONCE = {"--configfile": ("--configfile", "--configfiles"), "--config": ("--config", "-C")}
"""Options that take several values, of which a second one drops what the first says."""


def command_line():
    """The options of this process, or none if it is not Snakemake's own, but uses the workflow."""
    if Path(sys.argv[0]).name in ("snakemake", "__main__.py") and workflow.is_main_process:
        return parse_args(sys.argv[1:])[1]
    return None


def check_start():
    """Refuse a start whose command line, folder or config files cannot be meant."""
    is_module = Path(workflow.basedir).resolve() != HOME.resolve()
    if not (BASE.is_file() or is_module):
        raise WorkflowError(
            f"{Path.cwd()} has no {BASE}; start Snakemake in the folder of the repository: "
            f"cd {workflow.basedir}, or add --directory {workflow.basedir}."
        )
    if not workflow.is_main_process:
        return
    if command_line():
        typed = sys.argv[1 : sys.argv.index("--") if "--" in sys.argv else None]
        for option, spellings in GIVEN_ONCE.items():
            if sum(item.partition("=")[0] in spellings for item in typed) > 1:
                raise WorkflowError(
                    f"{option} is there twice, and the second would drop what the first says; "
                    f"write it once, with all that belongs to it: {option} ONE TWO."
                )
    if workflow.resource_settings.cores == 0:
        raise WorkflowError("--cores 0 leaves no core to work with; write --cores 1 or more.")
    mistakes = []
    files = [HOME / BASE, *papers.config_files(config, HOME), *workflow.overwrite_configfiles]
    for path in files:
        try:
            read_yaml(Path(path))
        except DataError as error:
            mistakes += getattr(error, "errors", [error])
    if mistakes:
        raise WorkflowError(str(joined(mistakes)))


def check_targets():
    """Refuse targets that nothing makes, and name those that are near."""
    if not workflow.modifier.is_main_snakefile():
        return  # the targets are another workflow's
    given = command_line()
    known = [item.name for item in workflow.rules if not item.has_wildcards()]
    made = [
        str(path) for item in workflow.rules for path in item.output if not item.has_wildcards()
    ]
    for target in given.targets if given else ():
        if target in known or Path(target).exists():
            continue
        if outputs := [item.output for item in workflow.rules if item.name == target]:
            pattern = re.sub(r",[^{}]*}", "}", str(outputs[0][0]))
            raise WorkflowError(f"{target!r} makes one file of many: name it, as in {pattern}.")
        if any(item.is_producer(str(Path(target))) for item in workflow.rules):
            continue
        near = get_close_matches(target, [*known, *made], 3)
        seeds = sorted({seed for run in RUNS for seed in run.seeds})
        mend = "snakemake --list-target-rules lists the targets"
        if near:
            mend = f"did you mean {' or '.join(near)}?"
        elif "seed" in target:
            mend = f"the seeds are {', '.join(map(str, seeds))}"
        elif target.startswith("results/") and not target.startswith(f"{RESULTS}/"):
            mend = f"with this config, results are in {RESULTS}"
        raise WorkflowError(f"Nothing makes {target!r}; {mend}{'' if mend.endswith('?') else '.'}")


check_start()
