"""What a config means, and what runs have found: ``python -m mbert_atlas --help``."""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mbert_atlas import papers
from mbert_atlas.config.model import Config
from mbert_atlas.config.reading import with_lines
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.fingerprint import Fingerprints
from mbert_atlas.languages import Languages
from mbert_atlas.plan.explain import Origins, aligned, describe, list_runs
from mbert_atlas.plan.paths import path
from mbert_atlas.plan.plan import REPORTED, Plan
from mbert_atlas.plan.runs import Run, RunTable


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command of the command line.

    Raises SystemExit if the config has mistakes, or there is no such run; the message names them.
    """
    options = _options(arguments)
    if not all(map(Path.is_dir, (Path("workflow"), Path("resources")))):
        sys.exit(f"{Path.cwd()}: not the folder of the repository; start this command there.")
    files = [Path(file) for file in getattr(options, "configfile", [])]
    try:
        if options.command == "export":
            from workflow.exports import export_run  # the config is that of the run

            export_run(options.results, options.paper, options.output)
            print(options.output / "summary.html")
            return
        if options.command == "encoder":
            from workflow.own_encoder import write_encoder_config

            print(write_encoder_config(options.source, options.output, files, options.mirror))
            return
        if options.command == "check":
            from workflow.files import check_files, requesting  # as a start does
            from workflow.needs import check_needs

        languages = Languages.read("resources/languages.csv")
        rules = requesting(Path()) if options.command == "check" else ()
        settings: dict[str, Any] = {}
        if pairs := getattr(options, "config", []):
            from workflow.rerun import settings_of

            settings = settings_of(pairs)
        config = papers.load(files, Path(), [item.code for item in languages], rules, settings)
        if options.command in ("compare", "publish", "judge"):
            _write_results(options, Plan(config, languages))
        elif options.command == "check":
            plan = Plan(config, languages)
            try:
                check_files(plan)
            except DataError as error:
                raise with_lines(error, papers.files(files)) from None
            print(*config.left_out, sep="\n", end="\n" * bool(config.left_out))
            try:
                check_needs(plan, ["all"])
            except DataError as error:  # targets that do not need it can be made
                lacks = with_lines(error, papers.files(files))
                print(f"The files are right, but not every figure and table can be made: {lacks}")
            else:
                print("No mistakes found.")
        elif options.command == "runs":
            print(aligned(list_runs(config)))
        elif options.command == "rerun":
            sys.exit(_rerun(config, RunTable(config)[options.run], options))
        else:
            origins = Origins(config, papers.files(files))
            _show(config, origins.runs[options.run], origins, options.configfile)
    except AtlasError as error:
        sys.exit(str(error))


class _Parser(argparse.ArgumentParser):
    """Takes no option by its first letters: Snakemake's --config would be read as --configfile."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, allow_abbrev=False)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="python -m mbert_atlas", description="What a config means.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="name all mistakes of config files")
    check.add_argument("configfile", nargs="*", help="files, later ones override earlier ones")
    files = _Parser(add_help=False)
    files.add_argument("--configfile", nargs="*", default=[], metavar="FILE", help="presets")
    commands.add_parser("runs", parents=[files], help="list the training runs")
    show = commands.add_parser("show", parents=[files], help="explain a training run")
    show.add_argument("run", help="its id, see `runs`")
    rerun = commands.add_parser("rerun", parents=[files], help="run one seed of a run again")
    rerun.add_argument("run", help="its id, see `runs`")
    rerun.add_argument("--seed", type=int, required=True)
    rerun.add_argument("--config", nargs="*", default=[], metavar="KEY=VALUE")
    rerun.add_argument("--profile", default="slurm", help="of Snakemake (slurm)")
    rerun.add_argument("--cores", help="as of Snakemake")
    encoder = commands.add_parser(
        "encoder", parents=[files], help="write a config with another encoder over presets"
    )
    encoder.add_argument("source", help="hub:ORGANISATION/NAME[@REVISION] or folder:DIR")
    encoder.add_argument("--output", type=Path, required=True, help="config file to write")
    encoder.add_argument("--mirror", help="folder with upstream files, as of the config")
    compare = commands.add_parser("compare", help="write a page that compares finished runs")
    compare.add_argument("results", nargs="+", type=Path, help="results folders, two or more")
    compare.add_argument("--output", type=Path, required=True, help="folder of the page")
    publish = commands.add_parser("publish", help="copy a run's pages, tables and pictures")
    publish.add_argument("results", type=Path, help="results folder")
    publish.add_argument("output", type=Path, help="folder to write, such as docs/results/small")
    publish.add_argument("--hardware", default="", help="what it ran on; none: this machine")
    export = commands.add_parser("export", help="write LaTeX, PDF, CSV and a summary of a paper")
    export.add_argument("results", type=Path, help="results folder, or a published copy")
    export.add_argument("--paper", required=True, help="paper to export")
    export.add_argument("--output", type=Path, required=True, help="folder to write")
    judge = commands.add_parser("judge", help="judge claims again from a folder's measurements")
    judge.add_argument("results", type=Path, help="results folder, or a published copy")
    judge.add_argument("--output", type=Path, help="CSV file to write the verdicts to")
    return parser.parse_args(arguments)


def _write_results(options: argparse.Namespace, plan: Plan) -> None:
    # The papers as at paper scale: titles and main curves do not depend on the config.
    if options.command == "compare":
        from mbert_atlas.scorecard.comparison import write_comparison

        reported = {name: plan.home / REPORTED.format(name) for name in plan.papers}
        named: dict[str, Any] = {"papers": plan.papers, "names": plan.language_names()}
        write_comparison(options.results, options.output, **named, reported=reported)
        print(options.output / "index.html")
        return
    from mbert_atlas.scorecard.judging import read_judging

    judging = read_judging(plan.papers, plan.language_names())
    if options.command == "publish":
        from mbert_atlas.scorecard.publishing import publish

        publish(options.results, options.output, judging=judging, hardware=options.hardware)
        print(options.output / "index.html")
    else:
        differing = judging.check(options.results, options.output)
        print("\n".join(differing) or "The same verdicts and intervals as in claims.csv.")


def _show(config: Config, run: Run, origins: Origins, presets: Sequence[str]) -> None:
    print(f"{run.id}: {run.kind}, family {run.family}, {run.paper}\n")
    print(aligned([("key", "from", "value"), *describe(run, origins)]))
    jobs = _jobs(config, run, presets)
    for seed, job in zip(run.seeds, jobs, strict=True):
        files = [("input", name, file) for name, file in job["input"]]
        files += [("output", "", file) for file in job["output"]]
        print(f"\nseed {seed}: {job['rule']}, {job['reason'] or 'up to date'}\n{aligned(files)}")
    roots = [f"workflow.scripts.{jobs[0]['script']}:"]
    roots += [f"mbert_atlas.{root}" for root in (run.code if run.kind == "finetuning" else ())]
    labels = Fingerprints().explain(*roots)
    print(f"\ncode: {' '.join(roots)}\n{aligned(list(labels.items()))}")


def _rerun(config: Config, run: Run, options: argparse.Namespace) -> int:
    """Run one seed again with Snakemake; return its exit status."""
    if options.seed not in run.seeds:
        raise AtlasError(f"{run.id} has no seed {options.seed}; it has {sorted(run.seeds)}.")
    target = _targets(config, run)[list(run.seeds).index(options.seed)]
    command = [sys.executable, "-m", "workflow.rerun", target, "--profile", options.profile]
    command += ["--cores", options.cores] if options.cores else []
    command += ["--configfile", *options.configfile] if options.configfile else []
    command += ["--config", *options.config] if options.config else []
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # Snakemake gets it, too, and ends
                continue


def _targets(config: Config, run: Run) -> list[str]:
    """Return the file that stands for a run's results, by seed."""
    kind = "counts" if run.kind == "adjustment" else "predictions"
    paths = [path(kind, run=run.id, seed=seed) for seed in run.seeds]
    return [name.replace("<results>", f"results/{config.run}") for name in paths]


def _jobs(config: Config, run: Run, presets: Sequence[str]) -> list[dict[str, Any]]:
    """Return what Snakemake plans for the jobs of a run, by seed; an AtlasError if it cannot."""
    targets = _targets(config, run)
    configfiles = [f"--configfile={preset}" for preset in presets]
    command = [sys.executable, "-m", "workflow.dryrun", *targets, *configfiles]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AtlasError(done.stderr.strip())
    jobs: list[dict[str, Any]] = json.loads(done.stdout)
    by_target = {file: job for job in jobs for file in job["output"]}
    return [by_target[target] for target in targets]


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `... runs | head` is no error
    main()
