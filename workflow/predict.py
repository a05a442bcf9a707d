"""What the jobs that are still to be done will cost: hours, disk, and wall time by GPUs.

    snakemake --profile slurm predict                                # of `all`, in results/<run>
    python workflow/predict.py PAPER_figure1 --configfile config/small.yaml --cores 8 --gpus 0 1

docs/cluster.md ("What will it cost?") says what the numbers are made of. Nothing is run or locked,
so that it may be asked while a run goes on.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

from snakemake.api import SnakemakeApi
from snakemake.cli import parse_config
from snakemake.exceptions import RuleException, WorkflowError, format_exception_to_string
from snakemake.settings.enums import Quietness, RerunTrigger
from snakemake.settings.types import ConfigSettings, DAGSettings, OutputSettings, ResourceSettings

from mbert_atlas.files import atomic_path
from mbert_atlas.plan.prediction import (
    SUBMISSION_SECONDS,
    Planned,
    Prediction,
    as_text,
    learn,
    predict,
)
from mbert_atlas.plan.schedule import Job, Limits, Output
from mbert_atlas.plan.timing import read_rates, write_rates
from mbert_atlas.plan.volumes import Volumes
from mbert_atlas.scorecard.cost import gpus_used, read_benchmark

ROOT = Path(__file__).resolve().parents[1]
TABLES = ROOT / "resources/prediction"


def plan(
    target: str, configfiles: Sequence[str], config: Mapping[str, Any], *, is_local: bool
) -> tuple[list[Planned], Path]:
    """Plan a target as ``snakemake -n`` does; return its jobs and the folder of the run.

    Args:
        target: a file or the name of a rule.
        configfiles: presets, as after ``--configfile``.
        config: what ``--config`` gives.
        is_local: whether all jobs run on one machine; else local rules hold no core of a cluster's.

    Raises:
        SystemExit: Snakemake can't plan the target.
    """
    triggers = {RerunTrigger.MTIME, RerunTrigger.PARAMS, RerunTrigger.INPUT}  # as in the profiles
    with SnakemakeApi(OutputSettings(quiet={Quietness.ALL})) as api:
        try:
            workflow = api.workflow(
                ResourceSettings(cores=10_000),  # a job is to ask for what it wants
                ConfigSettings(
                    config=dict(config), configfiles=[Path(path) for path in configfiles]
                ),
                snakefile=ROOT / "Snakefile",
            )
            settings = DAGSettings(targets={target}, rerun_triggers=triggers)
            workflow.dag(settings).execute_workflow("dryrun")
        except (WorkflowError, RuleException) as error:
            sys.exit(format_exception_to_string(error, {}))
        inner = workflow._workflow
        names = inner.globals
        results = Path(names["RESULTS"])
        volumes = Volumes(
            names["CONFIG"], names["RUNS"], names["LANGUAGES"], results, TABLES / "volumes.csv"
        )
        dag = inner.dag
        volumes.learn_makers(
            (map(str, job.output), map(str, job.input), job.params) for job in dag.jobs
        )
        # Of jobs that are ready at once those of no rule come first, and the same in every process.
        order = sorted(dag.needrun_jobs(exclude_finished=False), key=shuffled)
        todo = {job: number for number, job in enumerate(order)}
        local = {rule.name for rule in inner.rules if rule.name in inner._localrules or rule.norun}
        stages, payers = names["stages"](), names["payers"]()
        found = []
        for job in [*todo, *(job for job in dag.jobs if job not in todo)]:
            rule = job.rule.name.removesuffix("_draw")  # draws of a search train as other runs do
            booking = stages.get(rule, {"stage": "pages"})
            paths = [*map(str, job.output), *([str(job.benchmark)] if job.benchmark else [])]
            parts = [part for path in paths for part in Path(path).with_suffix("").parts]
            # A folder that is there for its tokenizer alone says nothing of a model that runs.
            spelt = job.input.get("tokenizer")
            read = [str(path) for path in job.input if path != spelt]
            operations = volumes.operations(rule, job.wildcards_dict, read, job.params)
            work = operations or volumes.products(rule, job.wildcards_dict, job.params)
            read_bytes = sum(volumes.size(str(path)) for path in job.input)
            place = None
            if job in todo:
                place = Job(
                    needs=tuple(todo[need] for need in dag.dependencies[job] if need in todo),
                    threads=job.threads,
                    gpus=job.resources.get("gpu", 0),
                    priority=int(job.rule.priority),
                    is_local=not is_local and job.rule.name in local,
                    outputs=tuple(
                        Output(
                            size_of(job, str(path), volumes),
                            tuple(
                                todo[reader]
                                for reader, files in dag.depending[job].items()
                                if reader in todo and path in files
                            )
                            if path in job.temp_output
                            else None,
                        )
                        for path in job.output
                    ),
                )
            found.append(
                Planned(
                    rule=volumes.kind(rule, job.wildcards_dict),
                    paper=next(
                        (payers[part] for part in parts if part in payers),
                        booking.get("paper", "shared"),
                    ),
                    stage=booking["stage"],
                    job=place,
                    work=read_bytes if work is None else work,
                    is_computed=work is not None,
                    runs_model=operations is not None,
                    limit=60.0 * job.resources.get("runtime", 0) or None,
                    **reading(job, results),
                )
            )
    return found, results


def shuffled(job: Any) -> int:
    """Return a number that goes by what a job is and orders jobs as if at random."""
    return crc32(f"{job.rule.name} {sorted(job.wildcards_dict.items())}".encode())


def size_of(job: Any, path: str, volumes: Volumes) -> float:
    """Return the bytes of an output of a job; vectors are counted from what is encoded."""
    if job.rule.name == "extract_features":
        params = job.params
        stores = map(str, job.input.stores)
        return volumes.features(job.wildcards.model, stores, params.pooling, params.layers)
    return volumes.size(path)


def reading(job: Any, results: Path) -> dict[str, Any]:
    """Return how long a job took, if its benchmark file is there, as keys of `Planned`."""
    if not job.benchmark or not Path(job.benchmark).exists():
        return {}
    seconds, _, cpu = read_benchmark(Path(job.benchmark))[-1]
    return {"seconds": seconds, "cpu_seconds": cpu, "gpus": gpus_used(Path(job.log[0]))}


def limits_of(gpus: Sequence[int], cores: int, jobs: int) -> list[Limits]:
    """Return what there may be, by number of GPUs."""
    return [Limits(count, cores, jobs, local_cores=os.cpu_count() or 1) for count in gpus]


def checked(planned: Sequence[Planned], elsewhere: Mapping[tuple[str, str], Any]) -> str:
    """Predict half of the measured jobs of each rule from the other half; return both sums."""
    seen: dict[str, int] = {}
    asked, shown = [], []
    for item in planned:
        if item.seconds:
            seen[item.rule] = seen.get(item.rule, 0) + 1
            if seen[item.rule] % 2 == 0:
                asked.append(item)
                continue
        shown.append(replace(item, job=None))
    lines = [f"{'stage':18}{'jobs':>6}{'measured h':>12}{'predicted h':>13}{'ratio':>8}"]
    todo = [replace(item, job=Job(gpus=item.gpus), seconds=None) for item in asked]
    for stage in [*sorted({item.stage for item in asked}), "total"]:
        ours = [item for item in todo if stage in (item.stage, "total")]
        real = sum(item.seconds or 0 for item in asked if stage in (item.stage, "total")) / 3600
        found = predict([*shown, *ours], elsewhere, limits_of([1], 1, 1)).costs["wall_hours"].sum()
        lines.append(f"{stage:18}{len(ours):6}{real:12.3f}{found:13.3f}{found / real:8.2f}")
    return "\n".join(lines)


def write(found: Prediction, text: str, folder: Path) -> None:
    """Write the text and the tables of a prediction."""
    tables = {"cost": found.costs, "wall_time": found.times, "sources": found.sources}
    for name, table in tables.items():
        with atomic_path(folder / f"{name}.csv") as temporary:
            table.to_csv(temporary, index=False, float_format="%.6g", lineterminator="\n")
    with atomic_path(folder / "prediction.txt") as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def run(
    target: str,
    configfiles: Sequence[str],
    config: Mapping[str, Any],
    *,
    gpus: Sequence[int],
    cores: int,
    jobs: int,
    is_local: bool,
    rates: Path = TABLES / "rates.csv",
) -> str:
    """Predict a target, write ``results/<run>/prediction/``, return the text."""
    planned, results = plan(target, configfiles, config, is_local=is_local)
    found = predict(
        planned,
        read_rates(rates),
        limits_of(gpus, cores, jobs),
        overhead=0.0 if is_local else SUBMISSION_SECONDS,
    )
    text = as_text(found)
    write(found, text, results / "prediction")
    return f"{text}\nWritten to {results / 'prediction'}/."


def main() -> None:
    """Predict the target of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", default="all", help="a file or a rule (all)")
    parser.add_argument("--configfile", action="append", default=[], help="a preset")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N")
    parser.add_argument("--cores", type=int, default=128, help="CPU cores at once (128)")
    parser.add_argument("--jobs", type=int, default=100, help="jobs submitted at once (100)")
    parser.add_argument("--local", action="store_true", help="one machine, no cluster's queue")
    parser.add_argument("--rates", type=Path, default=TABLES / "rates.csv", help="of other runs")
    parser.add_argument("--check", action="store_true", help="predict what was measured")
    parser.add_argument("--write-rates", type=Path, metavar="FILE", help="of what was measured")
    parser.add_argument("--also", action="append", default=[], metavar="PRESET", help="and there")
    options = parser.parse_args()
    config = parse_config(options.config)
    if options.check or options.write_rates:
        presets = [options.configfile, *([preset] for preset in options.also)]
        planned = [
            item for own in presets for item in plan(options.target, own, config, is_local=True)[0]
        ]
        if options.write_rates:
            write_rates(learn(planned, {}), options.write_rates)
        if options.check:
            print(checked(planned, {}))
        return
    print(
        run(
            options.target,
            options.configfile,
            config,
            gpus=options.gpus,
            cores=options.cores,
            jobs=options.jobs,
            is_local=options.local,
            rates=options.rates,
        )
    )


if __name__ == "__main__":
    main()
