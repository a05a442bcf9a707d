"""What the jobs that are still to run will cost: hours, disk, and wall time by GPUs.

    snakemake --profile slurm predict [TARGET...]                    # of `all`, in results/<run>
    python -m workflow.predict PAPER_figure1 --configfile config/small.yaml --cores 8 --gpus 0 1

docs/cluster.md ("What will it cost?") explains the numbers. Nothing runs or is locked, so that you
can call it during a run.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import cache
from math import nan
from pathlib import Path
from typing import Any

from snakemake.cli import parse_config

from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_path
from mbert_atlas.plan.estimate import (
    SUBMISSION_SECONDS,
    Job,
    Limits,
    as_text,
    estimate,
    learn,
    rate_of,
    read_rates,
    write_rates,
)
from mbert_atlas.plan.operations import operations, speed_class, training_steps
from mbert_atlas.plan.volumes import Volumes
from mbert_atlas.scorecard.cost import gpus_used, read_benchmark
from workflow.dryrun import ROOT, planned

TABLES = ROOT / "resources/prediction"


def jobs_of(
    targets: Sequence[str], configfiles: Sequence[str], config: Mapping[str, Any]
) -> tuple[list[Job], Path]:
    """Plan targets; return their jobs, each after those it needs, and the folder of the run."""
    with planned(targets, configfiles, config, cores=10_000) as workflow:  # threads as requested
        return list(all_jobs(workflow).values()), Path(workflow.globals["plan"].results)


def all_jobs(workflow: Any) -> dict[Any, Job]:
    """Return what is known of the jobs of a planned workflow, each after those that it needs."""
    dag, plan = workflow.dag, workflow.globals["plan"]
    order = [job for level in dag.toposorted() for job in level]
    made_by = {str(path): job for job in order for path in job.output}
    volumes = Volumes(plan, TABLES / "volumes.csv", made_by)
    todo = set(dag.needrun_jobs(exclude_finished=False))
    local = {*workflow._localrules, *(rule.name for rule in workflow.rules if rule.norun)}
    stages, charged = plan.stages(workflow.rules), plan.charged()
    place = {job: number for number, job in enumerate(order)}
    return {
        job: Job(
            **described(job, volumes, stages, charged),
            is_local=job.rule.name in local,
            todo=job in todo,
            needs=tuple(place[need] for need in dag.dependencies[job]),
        )
        for job in order
    }


def expected_seconds(workflow: Any) -> dict[Any, float]:
    """Return how long each job that has still to run should take; of none if a file is damaged."""
    try:
        return _expected_seconds(workflow.dag)
    except (AtlasError, OSError, ValueError, LookupError):
        return {}


@cache  # the terminal and the executor both need them
def _expected_seconds(dag: Any) -> dict[Any, float]:
    workflow = dag.workflow
    jobs = all_jobs(workflow)
    measured, elsewhere = learn(list(jobs.values())), read_rates(TABLES / "rates.csv")
    has_gpus = not workflow.local_exec or "gpu" in workflow.global_resources
    return {
        job: rate_of(item, has_gpus, measured, elsewhere)[0].seconds(item.work)
        for job, item in jobs.items()
        if item.todo
    }


def described(
    job: Any, volumes: Volumes, stages: Mapping[str, Any], charged: Mapping[str, str]
) -> dict[str, Any]:
    """Return what its rule and its files say of a job, as keys of `Job`.

    A benchmark file has the time that it took, its log the GPUs.
    """
    work = operations(job, volumes)
    stage = stages.get(job.rule.name.removesuffix("_unsaved"), {"stage": "pages"})
    paths = [*map(str, job.output), *([str(job.benchmark)] if job.benchmark else [])]
    parts = [part for path in paths for part in Path(path).with_suffix("").parts]
    papers = [charged[part] for part in parts if part in charged]
    seconds, cpu, gpus = None, nan, job.resources.get("gpu", 0)
    if job.benchmark and Path(job.benchmark).exists():
        seconds, _, cpu = read_benchmark(Path(job.benchmark))[-1]
        gpus = gpus_used(Path(job.log[0]))
    temporary = sum(volumes.size(str(path)) for path in job.temp_output)
    return {
        "rule": speed_class(job, volumes),
        "paper": papers[0] if papers else stage.get("paper", "shared"),
        "stage": stage["stage"],
        "work": sum(volumes.size(str(path)) for path in job.input) if work is None else work,
        "computes": work is not None,
        "steps": training_steps(job, volumes),
        "limit": 60.0 * job.resources.get("runtime", 0) or None,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "gpus": gpus,
        "threads": job.threads,
        "kept": sum(volumes.size(str(path)) for path in job.output) - temporary,
        "temporary": temporary,
        "is_feature": job.resources.get("features", 0) > 0,
    }


def main() -> None:
    """Estimate the targets of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", default=["all"], help="files or rules (all)")
    lists: dict[str, Any] = {"action": "extend", "nargs": "+", "default": []}
    parser.add_argument("--configfile", **lists, metavar="FILE", help="presets")
    parser.add_argument("--config", **lists, metavar="KEY=VALUE")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N")
    parser.add_argument("--cores", type=int, default=128, help="CPU cores at once (128)")
    parser.add_argument("--jobs", type=int, default=100, help="jobs submitted at once (100)")
    parser.add_argument("--local", action="store_true", help="one machine, no cluster's queue")
    parser.add_argument("--rates", type=Path, default=TABLES / "rates.csv", help="of other runs")
    parser.add_argument("--write-rates", type=Path, metavar="FILE", help="of what was measured")
    parser.add_argument("--also", action="append", default=[], metavar="PRESET", help="and there")
    options = parser.parse_args()
    config = parse_config(options.config)
    jobs, results = jobs_of(options.targets, options.configfile, config)
    if options.write_rates:
        for preset in options.also:
            jobs += jobs_of(options.targets, [preset], config)[0]
        write_rates(learn(jobs), options.write_rates)
        return
    limits = [Limits(count, options.cores, options.jobs) for count in options.gpus]
    overhead = 0.0 if options.local else SUBMISSION_SECONDS
    tables = estimate(jobs, read_rates(options.rates), limits, overhead)
    for name, table in tables.items():
        with atomic_path(results / f"prediction/{name}.csv") as temporary:
            table.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")
    with atomic_path(results / "prediction/prediction.txt") as temporary:
        temporary.write_text(f"{as_text(tables)}\n", encoding="utf-8")
    print(f"{as_text(tables)}\nWritten to {results / 'prediction'}/.")


if __name__ == "__main__":
    main()
