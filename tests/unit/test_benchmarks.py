"""Every benchmark runs in its smallest form; it compares the results of its contestants itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import forked

ROOT = Path(__file__).parents[2]
BENCHMARKS = sorted({path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"common"})


@pytest.mark.benchmark
@pytest.mark.parametrize("name", BENCHMARKS)
def test_it_runs_in_its_smallest_form(repository: Path, name: str) -> None:
    command = [str(ROOT / f"benchmarks/{name}.py"), "--smallest"]
    done = forked.run(repository, command, dict(os.environ), timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    assert any(character.isdigit() for character in done.stdout)
