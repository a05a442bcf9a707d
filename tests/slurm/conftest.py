"""A SLURM cluster for the tests, and a copy of the repository to run in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clone import copy_repository

_SCRIPT = Path(__file__).parent / "dev_cluster.sh"
_NOT_POSSIBLE_HERE = 77


@pytest.fixture(scope="session")
def cluster() -> Iterator[dict[str, str]]:
    """The environment in which SLURM's programs talk to a cluster started for these tests."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # sockets need a short path
    environment = {**os.environ, "DEV_CLUSTER_DIR": str(folder)}
    try:
        up = subprocess.run([_SCRIPT, "up"], env=environment, capture_output=True, text=True)
        said = up.stderr.strip().splitlines() or ["(nothing)"]
        if up.returncode == _NOT_POSSIBLE_HERE:
            pytest.skip(f"no SLURM cluster can be started here: {said[-1]}")
        assert up.returncode == 0, up.stderr
        yield {**environment, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([_SCRIPT, "down"], env=environment, check=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the working tree, without results."""
    return copy_repository(tmp_path_factory.mktemp("repository"))
