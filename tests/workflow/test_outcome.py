"""What the last lines of a run say: why artifacts were not made, or where to look."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import forked
from clone import ROOT

pytestmark = pytest.mark.workflow

SNAKEFILE = """
from types import SimpleNamespace

from workflow import outcome
from workflow.supervision import supervise

plan = SimpleNamespace(
    shown=lambda scope: [("toy2020", SimpleNamespace(name="figure1"))],
    targets=lambda paper, artifact: ["r/pages/index.html"],
    resolved=str,
    not_run="r/not_run.csv",
)

rule all:
    input: "r/pages/index.html"
rule page:
    input: "r/numbers"
    output: "r/pages/index.html"
    shell: "touch {output}"
rule numbers:
    output: "r/numbers"
    log: "r/numbers.log"
    params: config.get("change", "")
    script: "count_all.py"

onstart:
    supervise(workflow, logger, "r")
onsuccess:
    outcome.report_success(workflow, plan)
onerror:
    outcome.report_failures(workflow, plan, logger)
"""
SCRIPT = """
from pathlib import Path

from workflow.job import set_up
from mbert_atlas.errors import AtlasError

with set_up(snakemake):
    if Path("wrong").exists():
        raise AtlasError("the config is wrong.")
    if Path("bug").exists():
        {}["nothing"]
    if Path("silent").exists():
        import os
        os.kill(os.getpid(), 9)
    Path(snakemake.output[0]).write_text("1")
"""


def start(folder: Path, *arguments: str) -> tuple[int, list[str]]:
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "count_all.py").write_text(SCRIPT)
    words = ["-m", "snakemake", "--cores", "1", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = forked.run(folder, words, environment, timeout=300, together=True)
    return done.returncode, done.stdout.splitlines()


def test_a_run_that_succeeds_ends_with_where_to_look(tmp_path: Path) -> None:
    code, lines = start(tmp_path)
    assert code == 0
    assert lines[-1] == "Done, 3 jobs. Look at r/pages/index.html."
    code, lines = start(tmp_path, "--force", "--", "r/numbers")
    assert code == 0
    assert lines[-1] == "Done, 1 job. Look at r/numbers."


def test_a_failure_has_the_reason_of_its_last_attempt(tmp_path: Path) -> None:
    """Also after a failure of another kind, and a success, which the log still has."""
    other = "other2020,table1,of another selection of papers"
    reasons = [
        ("bug", "KeyError: 'nothing' (traceback in r/numbers.log)"),
        ("wrong", "the config is wrong."),
        ("silent", "numbers failed, see r/numbers.log."),
        ("bug", "KeyError: 'nothing' (traceback in r/numbers.log)"),
    ]
    for number, (problem, reason) in enumerate(reasons):
        (tmp_path / problem).touch()
        code, lines = start(tmp_path, "--config", f"change={number}")
        assert code == 1
        assert [line for line in lines if line.startswith("Not made")] == [
            f"Not made: toy2020 figure1. {reason}"
        ]
        assert reason in (tmp_path / "r/not_run.csv").read_text()
        assert not [line for line in lines if "Done" in line]

        with (tmp_path / "r/not_run.csv").open("a") as listed:
            listed.write(f"{other}\n")
        (tmp_path / problem).unlink()
        assert start(tmp_path, "--config", f"change={number}.5")[0] == 0
        left = (tmp_path / "r/not_run.csv").read_text().splitlines()
        assert left == ["paper,artifact,reason", other]
