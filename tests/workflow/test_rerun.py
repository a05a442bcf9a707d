"""A job that is run again keeps its old outputs until the new ones exist."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import forked
from clone import DEMO, ROOT, python
from workflow.rerun import kept

pytestmark = pytest.mark.workflow

SNAKEFILE = """
rule make:
    output: "made", directory("model")
    shell: "[ ! -e broken ]; mkdir model; cat text | tee made > model/weights"
"""


def snakemake(*arguments: str) -> subprocess.CompletedProcess[str]:
    words = ["-m", "snakemake", "--cores", "1", *arguments, "--", "made"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return forked.run(Path.cwd(), words, environment, timeout=300, together=True)


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The outputs of a job, made from the text `old`; now the text is `new`."""
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").write_text(SNAKEFILE)
    Path("text").write_text("old")
    assert snakemake().returncode == 0
    Path("text").write_text("new")
    return [Path("made"), Path("model")]


def test_a_rerun_that_fails_leaves_the_old_outputs(paths: list[Path]) -> None:
    times = [path.stat().st_mtime_ns for path in paths]
    Path("broken").touch()
    with kept(paths, Path("kept")):
        assert snakemake("--force").returncode == 1
    assert Path("made").read_text() == Path("model/weights").read_text() == "old"
    assert [path.stat().st_mtime_ns for path in paths] == times
    assert not Path("kept").exists()
    assert "Nothing to be done" in snakemake("--dry-run").stdout, "Snakemake knows who made them"


def test_a_rerun_that_succeeds_replaces_them(paths: list[Path]) -> None:
    with kept(paths, Path("kept")) as drop:
        assert snakemake("--force").returncode == 0
        drop()
    assert Path("made").read_text() == Path("model/weights").read_text() == "new"
    assert not Path("kept").exists()


def test_what_a_killed_rerun_left_comes_back(paths: list[Path]) -> None:
    killed = kept(paths, Path("kept"))
    killed.__enter__()
    assert not Path("made").exists()
    with kept(paths, Path("kept")):
        assert Path("kept/made").read_text() == "old"
    assert Path("made").read_text() == "old"


def test_the_command_states_what_else_reruns(repository: Path) -> None:
    """A start that Snakemake rejects, as one at a machine without SLURM."""
    command = ["-m", "mbert_atlas", "rerun", "nli", "--seed", "1", *DEMO]
    more = ["--cores", "0", "--profile", "local", "--config", "offline=true"]
    done = python(repository, *command, *more)
    assert done.returncode != 0
    assert "--cores 0 leaves no core to work with" in done.stderr
    assert "Then `all` reruns what depends on it, " in done.stdout
    assert " judge_claims, " in done.stdout
    assert "seed1/predictions.parquet is what it was before." in done.stderr
    done = python(repository, *command[:5], "9", *DEMO)
    assert done.returncode != 0
    assert "nli has no seed 9; it has [1, 2]." in done.stderr


def test_the_command_takes_the_settings_of_the_command_line(repository: Path) -> None:
    command = ["-m", "mbert_atlas", "rerun", "nli", *DEMO, "--profile", "local", "--cores", "0"]
    done = python(repository, *command, "--seed", "9", "--config", "seeds=[9]", "run=mine")
    assert done.returncode != 0
    assert "--cores 0 leaves no core to work with" in done.stderr
    assert "results/mine/runs/nli/seed9/predictions.parquet is what it was" in done.stderr
    for setting, sentence in (
        ("seeds=[3]", "nli has no seed 9; it has [3]."),
        ("papers=[nobody2020]", "--config, key papers: 'nobody2020' is not defined"),
        ("seeds", "--config: Invalid config definition"),
    ):
        done = python(repository, *command, "--seed", "9", "--config", setting)
        assert (done.returncode, done.stderr.startswith(sentence)) == (1, True), done.stderr
