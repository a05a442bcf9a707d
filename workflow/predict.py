"""What the jobs that are still to run will cost: hours, disk, and wall time by GPUs.

    snakemake --profile slurm predict                                # of `all`, in results/<run>
    python workflow/predict.py PAPER_figure1 --configfile config/small.yaml --cores 8 --gpus 0 1

docs/cluster.md ("What will it cost?") explains the numbers. Nothing runs or is locked, so that you
can call it during a run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from snakemake.cli import parse_config

from mbert_atlas.files import atomic_path
from mbert_atlas.plan.estimate import (
    SUBMISSION_SECONDS,
    Estimate,
    Job,
    Limits,
    as_text,
    estimate,
    learn,
)
from mbert_atlas.plan.operations import (
    JobInputs,
    matrix_operations,
    model_operations,
    speed_class,
)
from mbert_atlas.plan.rates import read_rates, write_rates
from mbert_atlas.plan.volumes import Volumes
from mbert_atlas.scorecard.cost import gpus_used, read_benchmark
from workflow.dryrun import ROOT, planned

TABLES = ROOT / "resources/prediction"


def jobs_of(
    target: str, configfiles: Sequence[str], config: Mapping[str, Any], *, is_local: bool
) -> tuple[list[Job], Path]:
    """Plan a target; return its jobs, each after those that it needs, and the folder of the run.

    Args:
        target: a file or the name of a rule.
        configfiles: presets, as after ``--configfile``.
        config: what ``--config`` gives.
        is_local: whether all jobs run on one machine; else local rules hold no core of a cluster's.
    """
    with planned([target], configfiles, config, cores=10_000) as workflow:  # threads as requested
        dag, plan = workflow.dag, workflow.globals["plan"]
        results = Path(plan.results)
        made_from = {
            str(path): list(map(str, job.input)) for job in dag.jobs for path in job.output
        }
        volumes = Volumes(plan, TABLES / "volumes.csv", made_from)
        todo = set(dag.needrun_jobs(exclude_finished=False))
        local = {
            rule.name for rule in workflow.rules if rule.name in workflow._localrules or rule.norun
        }
        stages, charged = plan.stages(workflow.rules), plan.charged()
        order = [job for level in dag.toposorted() for job in level]
        place = {job: number for number, job in enumerate(order)}
        jobs = [
            Job(
                **described(job, volumes, stages, charged),
                **measured(job),
                is_local=not is_local and job.rule.name in local,
                todo=job in todo,
                needs=tuple(place[need] for need in dag.dependencies[job]),
            )
            for job in order
        ]
    return jobs, results


def described(
    job: Any, volumes: Volumes, stages: Mapping[str, Any], charged: Mapping[str, str]
) -> dict[str, Any]:
    """Return what is known of a job before it runs, as keys of `Job`."""
    # The folder of a tokenizer is no model that runs.
    read = [str(path) for path in job.input if path != job.input.get("tokenizer")]
    inputs = JobInputs(job.rule.name, job.wildcards_dict, read, job.params)
    operations = model_operations(inputs, volumes)
    work = operations or matrix_operations(inputs, volumes)
    stage = stages.get(job.rule.name.removesuffix("_draw"), {"stage": "pages"})
    paths = [*map(str, job.output), *([str(job.benchmark)] if job.benchmark else [])]
    parts = [part for path in paths for part in Path(path).with_suffix("").parts]
    papers = [charged[part] for part in parts if part in charged]
    sizes = {str(path): size_of(job, str(path), volumes) for path in job.output}
    temporary = sum(sizes[str(path)] for path in job.temp_output)
    return {
        "rule": speed_class(inputs, volumes),
        "paper": papers[0] if papers else stage.get("paper", "shared"),
        "stage": stage["stage"],
        "work": sum(volumes.size(str(path)) for path in job.input) if work is None else work,
        "is_computed": work is not None,
        "runs_model": operations is not None,
        "limit": 60.0 * job.resources.get("runtime", 0) or None,
        "threads": job.threads,
        "kept": sum(sizes.values()) - temporary,
        "temporary": temporary,
        "is_feature": job.resources.get("features", 0) > 0,
    }


def size_of(job: Any, path: str, volumes: Volumes) -> float:
    """Return the bytes of an output of a job; vectors are counted from what is encoded."""
    if job.rule.name == "extract_features":
        params = job.params
        stores = map(str, job.input.stores)
        return volumes.features(job.wildcards.model, stores, params.pooling, params.layers)
    return volumes.size(path)


def measured(job: Any) -> dict[str, Any]:
    """Return the time that a job took, if it has a benchmark file, and its GPUs."""
    if not job.benchmark or not Path(job.benchmark).exists():
        return {"gpus": job.resources.get("gpu", 0)}
    seconds, _, cpu = read_benchmark(Path(job.benchmark))[-1]
    return {"seconds": seconds, "cpu_seconds": cpu, "gpus": gpus_used(Path(job.log[0]))}


def check(jobs: Sequence[Job]) -> str:
    """Estimate half of the measured jobs of each rule from the other half; return both sums."""
    count: dict[str, int] = {}
    estimated: list[Job] = []
    others: list[Job] = []
    for job in (job for job in jobs if job.seconds):
        count[job.rule] = count.get(job.rule, 0) + 1
        (estimated if count[job.rule] % 2 == 0 else others).append(
            replace(job, todo=False, needs=())
        )
    if not estimated:
        return "No rule of this run has two measured jobs."
    lines = [f"{'stage':18}{'jobs':>6}{'measured h':>12}{'estimated h':>13}{'ratio':>8}"]
    for stage in [*sorted({job.stage for job in estimated}), "total"]:
        chosen = [job for job in estimated if stage in (job.stage, "total")]
        real = sum(job.seconds or 0 for job in chosen) / 3600
        todo = [replace(job, todo=True, seconds=None) for job in chosen]
        costs = estimate([*others, *todo], {}, [Limits(1, 1, 1, 1)]).costs
        hours = costs["wall_hours"].sum()
        lines.append(f"{stage:18}{len(todo):6}{real:12.3f}{hours:13.3f}{hours / real:8.2f}")
    return "\n".join(lines)


def write(result: Estimate, text: str, folder: Path) -> None:
    """Write the text and the tables of an estimate."""
    tables = {"cost": result.costs, "wall_time": result.times, "sources": result.sources}
    for name, table in tables.items():
        with atomic_path(folder / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")
    with atomic_path(folder / "prediction.txt") as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Estimate the target of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", nargs="?", default="all", help="a file or a rule (all)")
    parser.add_argument("--configfile", action="append", default=[], help="a preset")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N")
    parser.add_argument("--cores", type=int, default=128, help="CPU cores at once (128)")
    parser.add_argument("--jobs", type=int, default=100, help="jobs submitted at once (100)")
    parser.add_argument("--local", action="store_true", help="one machine, no cluster's queue")
    parser.add_argument("--rates", type=Path, default=TABLES / "rates.csv", help="of other runs")
    parser.add_argument("--check", action="store_true", help="estimate what was measured")
    parser.add_argument("--write-rates", type=Path, metavar="FILE", help="of what was measured")
    parser.add_argument("--also", action="append", default=[], metavar="PRESET", help="and there")
    options = parser.parse_args()
    config = parse_config(options.config)
    is_measured = options.check or options.write_rates
    is_local = options.local or is_measured
    jobs, results = jobs_of(options.target, options.configfile, config, is_local=is_local)
    for preset in options.also:
        jobs += jobs_of(options.target, [preset], config, is_local=True)[0]
    if options.write_rates:
        write_rates(learn(jobs, {}), options.write_rates)
    if options.check:
        print(check(jobs))
    if is_measured:
        return
    local_cores = os.cpu_count() or 1
    limits = [Limits(count, options.cores, options.jobs, local_cores) for count in options.gpus]
    overhead = 0.0 if options.local else SUBMISSION_SECONDS
    result = estimate(jobs, read_rates(options.rates), limits, overhead)
    write(result, text := as_text(result), results / "prediction")
    print(f"{text}\nWritten to {results / 'prediction'}/.")


if __name__ == "__main__":
    main()
