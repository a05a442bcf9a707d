"""What happens when a run starts and when it has failed."""

import atexit
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError
from snakemake.executors.dryrun import Executor as DryRun
from snakemake.settings.enums import Quietness

from mbert_atlas.errors import AtlasError
from mbert_atlas.plan.volumes import Volumes
from mbert_atlas.scorecard.cells import read_reasons, write_reasons
from mbert_atlas.sources.fetch import Sources, require_available
from mbert_atlas.sources.register import SNAPSHOT_FOLDER, Register
from workflow.plan import WorkflowPlan
from workflow.reasons import changed_inputs
from workflow.supervision import REASONS

_LISTED = 20  # downloads that a dry run names, the largest


def keep_weights_of_single_targets(workflow: Any) -> None:
    """Keep models unless `all` is made: another target may read what this one does not."""
    targets = workflow.dag_settings.targets
    if targets and "all" not in targets:
        for job in workflow.dag.jobs:
            if job.rule.name in ("adjust", "finetune"):
                for path in job.output:
                    path.flags.pop("temp", None)


def name_trained(workflow: Any, plan: WorkflowPlan, logger: Any) -> None:
    """Log why encoders that the repository ships are trained, if jobs are to train them."""
    needed = workflow.dag.needrun_jobs(exclude_finished=False)  # after a dry run all are
    jobs = [job for job in needed if job.rule.name == "pretrain"]
    for name in sorted({job.wildcards.encoder for job in jobs} & plan.why_trained.keys()):
        logger.info(f"encoders.{name} is trained: {plan.why_trained[name]}.")


def list_downloads_of_dry_runs(plan: WorkflowPlan, logger: Any) -> None:
    """Let a dry run end with what a start would fetch and train, offline with what is missing."""

    def list_downloads(executor: Any) -> None:
        name_trained(executor.workflow, plan, logger)
        for line in changed_inputs(executor.workflow):
            logger.info(line)
        paths, sources = _to_fetch(executor.workflow), _sources(plan)
        if not paths:
            return
        try:
            require_available(_names(paths, plan), sources, plan.config.downloads)
        except AtlasError as error:
            logger.warning(str(error))
            return
        if copies := sources.copies:
            held = [name for name in _names(paths, plan) if copies.holder(name)]
            held += [name for name in _names(paths, plan) if copies.files_under(name)]
            what = f"{len(held)} file{'s' * (len(held) != 1)}"
            logger.info(f"{what} would be copied from the mirror {copies.folder}.")
            paths = [path for path in paths if not {*_names([path], plan)} & {*held}]
        if not paths or plan.config.offline:
            return  # the mirror has all of them
        volumes = Volumes(plan, plan.home / "resources/prediction/volumes.csv", {})
        sizes = {path: volumes.size(path) for path in paths}
        largest = sorted(paths, key=lambda path: -sizes[path])[:_LISTED]
        listed = [f"{path} ({sizes[path] / 1e6:,.1f} MB)" for path in largest]
        listed += [f"and {more} smaller"] if (more := len(paths) - len(largest)) else []
        total, several = sum(sizes.values()) / 1e9, "s" if len(paths) > 1 else ""
        what = f"{len(paths)} download{several}, about {total:,.2f} GB"
        logger.info("\n    ".join([f"{what}, as far as sizes are known:", *listed]))

    DryRun.shutdown = list_downloads


def _to_fetch(workflow: Any) -> list[str]:
    """Return the upstream files and snapshots that jobs would fetch, or copy from the mirror."""
    rules = ("fetch_file", "fetch_encoder")
    jobs = [job for job in workflow.dag.jobs if job.rule.name in rules]
    return sorted({str(path) for job in jobs for path in job.output if not Path(path).exists()})


def _names(paths: Iterable[str], plan: WorkflowPlan) -> list[str]:
    return [str(Path(path).relative_to(plan.config.downloads)) for path in paths]


def _sources(plan: WorkflowPlan) -> Sources:
    register, config = Register.read(plan.home / "resources/sources.yaml"), plan.config
    return Sources(register, config.mirror, config.offline, config.downloads, plan.exact_dumps)


def require_sources(workflow: Any, plan: WorkflowPlan, logger: Any) -> None:
    """Check at once that all upstream files that jobs need can be fetched.

    Existing files must be what they were when they were fetched. A WorkflowError names those
    that are not, or cannot be fetched, unless the config allows running without them.
    """
    downloads = plan.config.downloads
    needed = sorted(
        str(Path(path).relative_to(downloads))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("fetch_file", "fetch_encoder")
        for path in job.output
    )
    config, sources = plan.config, _sources(plan)
    try:
        fetches = any(job.rule.name in ("fetch", "check_sources") for job in workflow.dag.jobs)
        if sources.lock and not (config.miniature or fetches):
            snapshots = sources.lock.folder.glob(f"{SNAPSHOT_FOLDER}/*/*")
            hub = [str(file.relative_to(downloads)) for file in snapshots]
            copies = sources.copies
            paths = [path for path in plan.upstream_files if not (copies and copies.holder(path))]
            sources.lock.require({*paths, *hub})
            sources.require_exact(paths)
    except AtlasError as error:  # whatever may be missing, nothing else may take its place
        raise WorkflowError(str(error)) from None
    try:
        require_available(needed, sources, downloads)
    except AtlasError as error:
        if not plan.config.without_missing:
            raise WorkflowError(str(error)) from None
        logger.warning(f"{error} Running without what needs them.")


def report_failures(workflow: Any, plan: WorkflowPlan, logger: Any) -> None:
    """Log which artifacts failed jobs have prevented, and why, and list them in a file."""
    causes: dict[Any, list[Any]] = {}  # by job: the failed jobs that it depends on
    for failed in workflow.scheduler.failed:
        behind = [failed]
        for job in behind:
            if failed not in causes.setdefault(job, []):
                causes[job].append(failed)
                behind += [one for one in workflow.dag.depending[job] if one.rule.name != "all"]
    missing = {str(path): failures for job, failures in causes.items() for path in job.output}
    rows = {
        (paper, artifact.name, _reason(job))
        for paper, artifact in plan.shown("")
        for path in plan.targets(paper, artifact)
        for job in missing.get(plan.resolved(path), [])
    }
    for reason in sorted({reason for *_, reason in rows}):
        names = sorted(f"{paper} {artifact}" for paper, artifact, why in rows if why == reason)
        logger.error(f"Not made: {', '.join(names)}. {reason}")
    if rows:
        write_reasons(sorted(rows), plan.not_run)
        logger.error(f"{plan.not_run} lists this; the target `available` makes pages of the rest.")


def _reason(job: Any) -> str:
    """Return the sentence with which the last attempt at a job ended."""
    logs = [str(log) for log in job.log if Path(str(log)).exists()]
    return REASONS.get(job) or f"{job.rule.name} failed{f', see {logs[0]}' if logs else ''}."


def report_success(workflow: Any, plan: WorkflowPlan) -> None:
    """End a run with a line that it is done, and the page or file to look at first."""
    if not workflow.is_main_process or Quietness.ALL in (workflow.output_settings.quiet or ()):
        return
    _forget_made(plan)
    targets = workflow.dag.targetjobs
    files = sorted(str(path) for job in targets for path in (job.output or job.input))
    pages = sorted((path for path in files if path.endswith("index.html")), key=len)
    first, *others = pages[:1] or files or [""]
    more = f" and {len(others)} more" if others else ""
    count = len(list(workflow.dag.needrun_jobs(exclude_finished=False)))
    where = f" Look at {first}{more}." if first else ""
    # Snakemake logs its log file and the elapsed time after this.
    atexit.register(
        print, f"Done, {count} job{'s' * (count != 1)}.{where}", file=sys.stderr, flush=True
    )


def _forget_made(plan: WorkflowPlan) -> None:
    """Drop from the list of an earlier failure the artifacts that exist now."""
    if not Path(plan.not_run).is_file():
        return
    reasons = read_reasons(plan.not_run)
    targets = {(paper, it.name): plan.targets(paper, it) for paper, it in plan.shown("")}
    left = [
        (*key, reason)
        for key, reason in reasons.items()
        if key not in targets
        or not all(Path(plan.resolved(path)).exists() for path in targets[key])
    ]
    if not left:
        Path(plan.not_run).unlink()
    elif len(left) < len(reasons):
        write_reasons(left, plan.not_run)
