"""Limits of the queue, and Snakemake itself as a job, on a real cluster with the users' profile."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from driver import QUICK, Workflow

from clone import ROOT

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]

_SNAKEFILE = """
from workflow import slurm
slurm.FULL_PAUSE = 5
slurm.install()
rule all:
    input: expand("made/{number}", number=range(int(config["jobs"])))
rule make:
    output: "made/{number}"
    resources: mem_mb=500, runtime=5
    shell: "touch {output}"
"""


@pytest.fixture
def workflow(cluster: dict[str, str], tmp_path: Path) -> Iterator[Workflow]:
    """A folder in which every job makes a file."""
    (tmp_path / "Snakefile").write_text(_SNAKEFILE)
    shutil.copytree(ROOT / "slurm", tmp_path / "slurm")
    workflow = Workflow(tmp_path, {**cluster, "PYTHONPATH": str(ROOT)})
    yield workflow
    workflow.stop()


@pytest.fixture
def limit_of_five(workflow: Workflow) -> Iterator[None]:
    """SLURM accepts five jobs of the user in the queue."""

    def limit(count: int) -> None:
        change = ["modify", "user", "root", "set", f"MaxSubmitJobs={count}"]
        workflow.slurm("sacctmgr", "-i", *change)

    limit(5)
    yield
    limit(-1)


def test_jobs_wait_for_room_in_the_queue(workflow: Workflow, limit_of_five: None) -> None:
    code, printed = workflow.run("--config", "jobs=60", "--", "all")
    assert code == 0, printed
    assert "SLURM accepts no more jobs for now" in printed
    assert len(list((workflow.folder / "made").iterdir())) == 60
    # No attempt was taken: nothing failed, and each job was submitted once.
    assert "Error in rule" not in printed
    assert [job.state for job in workflow.jobs(printed)] == ["COMPLETED"] * 60


def test_snakemake_itself_is_a_job(workflow: Workflow) -> None:
    folder = workflow.folder
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/activate").write_text(f'PATH="{Path(sys.executable).parent}:$PATH"\n')
    options = ["--mem=500M", "--cpus-per-task=1", "--time=30", "--partition=cpu", "--wait"]
    script = ["slurm/head.sh", "--config", "jobs=3", *QUICK, "--", "all"]
    done = subprocess.run(
        ["sbatch", *options, *script], cwd=folder, env=workflow.environment, capture_output=True
    )
    (log,) = folder.glob("head-*.log")
    printed = log.read_text()
    assert done.returncode == 0, printed
    assert len(list((folder / "made").iterdir())) == 3
    assert re.search(r"3 of 3|100%|4 of 4 steps", printed), printed
