"""One finished job run again; its old outputs stay until the new ones exist.

    python -m mbert_atlas rerun nli --seed 3            # with the profile slurm
    python -m mbert_atlas rerun nli --seed 3 --configfile config/demo.yaml --profile local --cores 2

``snakemake --force`` deletes the outputs before SLURM has accepted the new job.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from snakemake.cli import parse_config
from snakemake.persistence.file import FilePersistence

from mbert_atlas.errors import AtlasError
from mbert_atlas.locks import require_unlocked
from workflow.dryrun import planned


def main() -> None:
    """Run the job of a file again; the program ends with Snakemake's exit status."""
    parser = argparse.ArgumentParser(description="Run a finished job again.")
    parser.add_argument("target", help="a file that it makes")
    parser.add_argument("--configfile", nargs="*", default=[], help="presets")
    parser.add_argument("--config", nargs="*", default=[])
    parser.add_argument("--profile", default="slurm")
    options, more = parser.parse_known_args()
    config = parse_config(options.config)
    with planned(["all", options.target], options.configfile, config, cores=None) as workflow:
        dag, plan = workflow.dag, workflow.globals["plan"]
        job = next(job for job in dag.jobs if options.target in map(str, job.output))
        outputs = [Path(path) for path in job.output]
        later = [one for one in dag.bfs(dag.depending, job) if one not in (job, *dag.targetjobs)]
        folder = Path(plan.results) / "kept"
    try:
        require_unlocked(folder.with_name(".lock"), str(folder.parent))
    except AtlasError as error:
        sys.exit(str(error))
    rules = Counter(one.rule.name for one in later)
    counts = ", ".join(f"{count} {rule}" for rule, count in sorted(rules.items()))
    print(f"Then `all` reruns what depends on it, {len(later)} jobs: {counts}.", flush=True)
    files = ["--configfile", *options.configfile] if options.configfile else []
    files += ["--config", *options.config] if options.config else []
    command = [sys.executable, "-m", "snakemake", "--profile", options.profile, *files, *more]
    with kept(outputs, folder) as drop:
        code = _wait([*command, "--force", "--", options.target])
        if code == 0:
            drop()
    if code:
        print(f"{options.target} is what it was before.", file=sys.stderr)
    sys.exit(code)


def settings_of(pairs: Sequence[str]) -> dict[str, Any]:
    """Return what ``--config`` sets, as Snakemake reads it; an AtlasError for what it cannot be."""
    try:
        return dict(parse_config(pairs))
    except ValueError as error:
        raise AtlasError(f"--config: {error}") from None


@contextmanager
def kept(paths: Sequence[Path], folder: Path) -> Iterator[Callable[[], None]]:
    """Move outputs and Snakemake's records of them away, and back when the block ends.

    It yields a function that deletes them instead: new ones exist. What a process that was killed
    left in the folder is moved back first.
    """
    records = FilePersistence(nolock=True, path=Path(".snakemake"))
    places = {path: folder / path for path in paths}

    def restore() -> None:
        for path, place in places.items():
            if place.exists():
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                path.parent.mkdir(parents=True, exist_ok=True)
                os.replace(place, path)
                if record := noted[path]:
                    records._write_record(str(path), record)
                records._unmark_incomplete(str(path))
        shutil.rmtree(folder, ignore_errors=True)

    noted = {path: records._read_record(str(path)) for path in paths}
    restore()
    for path, place in places.items():
        if path.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
    try:
        yield lambda: shutil.rmtree(folder, ignore_errors=True)
    finally:
        restore()


def _wait(command: Sequence[str]) -> int:
    """Return the exit status of a program, which also gets the terminal's Ctrl-C."""
    with subprocess.Popen(command) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # it cancels its jobs and ends
                continue


if __name__ == "__main__":
    main()
