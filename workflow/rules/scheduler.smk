# What happens when a run starts and when it fails. On Snakemake's own work docs/footguns.md tells more, benchmarks/workflow.py measures it.

from mbert_atlas.scorecard.reasons import write_reasons
from mbert_atlas.sources import Register, require_available
from workflow.slurm import install
from workflow.supervision import supervise

if workflow.is_main_process:
    install()  # the SLURM executor that survives what clusters do


def keep_weights_of_single_targets():
    """Let models stay unless `all` is made: another target may read what this one does not."""
    targets = workflow.dag_settings.targets
    if targets and "all" not in targets:
        for job in workflow.dag.jobs:
            if job.rule.name in ("adjust", "finetune"):
                for path in job.output:
                    path.flags.pop("temp", None)


def require_sources():
    """Say at once what the jobs to come need and cannot get, not file by file as they fail."""
    wanted = sorted(
        str(Path(path).relative_to(CONFIG.downloads))
        for job in workflow.dag.needrun_jobs()
        if job.rule.name in ("fetch_file", "fetch_encoder")
        for path in job.output
    )
    try:
        require_available(
            wanted,
            register=Register.read(HOME / "resources/sources.yaml"),
            mirror=CONFIG.mirror,
            downloads=CONFIG.downloads,
            offline=CONFIG.offline,
        )
    except AtlasError as error:
        if not CONFIG.without_missing:
            raise WorkflowError(str(error)) from None
        logger.warning(f"{error} Going on without what needs them.")


def tell_what_was_not_made():
    """Name what failed and the artifacts that it kept from being made, there and in a file."""
    lost = {}  # by job: the jobs that failed before it
    for failed in workflow.scheduler.failed:
        behind = [failed]
        for job in behind:
            if failed not in lost.setdefault(job, []):
                lost[job].append(failed)
                behind += [one for one in workflow.dag.depending[job] if one.rule.name != "all"]
    without = {str(path): failures for job, failures in lost.items() for path in job.output}
    rows = {
        (paper, artifact, reason_of(job))
        for paper, artifacts in ARTIFACTS.items()
        for artifact, paths in artifacts.items()
        for path in paths
        for job in without.get(path.replace("<results>", RESULTS), [])
    }
    for reason in sorted({reason for *_, reason in rows}):
        names = sorted(f"{paper} {artifact}" for paper, artifact, why in rows if why == reason)
        logger.error(f"Not made: {', '.join(names)}. {reason}")
    if rows:
        write_reasons(sorted(rows), NOT_RUN)
        logger.error(f"{NOT_RUN} lists this; the target `available` makes pages of what is there.")


def reason_of(job):
    """The sentence with which a job failed, from its log."""
    log = Path(str(job.log[0])) if job.log else None
    lines = log.read_text(errors="replace").splitlines() if log and log.exists() else []
    said = [line.partition(" ERROR ")[2] for line in lines if " ERROR " in line]
    # The name of the logger comes first.
    return said[-1].partition(": ")[2] if said else f"{job.rule.name} failed, see {log}"


onstart:
    supervise(workflow, logger, RESULTS)
    keep_weights_of_single_targets()
    require_sources()


onerror:
    tell_what_was_not_made()
