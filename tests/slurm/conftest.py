"""A SLURM cluster for the tests, and a copy of the repository to run in."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driver import SCRIPT

from clone import copy_repository

_NOT_POSSIBLE_HERE = 77


@contextmanager
def _up(*setup: str) -> Iterator[dict[str, str]]:
    """A cluster, and the environment in which SLURM's programs talk to it."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # sockets need a short path
    environment = {**os.environ, "DEV_CLUSTER_DIR": str(folder)}
    try:
        up = subprocess.run([SCRIPT, "up", *setup], env=environment, capture_output=True, text=True)
        said = up.stderr.strip().splitlines() or ["(nothing)"]
        if up.returncode == _NOT_POSSIBLE_HERE:
            pytest.skip(f"no SLURM cluster can be started here: {said[-1]}")
        assert up.returncode == 0, up.stderr
        yield {**environment, "SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run([SCRIPT, "down"], env=environment, check=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment of a cluster started for these tests."""
    with _up() as environment:
        yield environment


@pytest.fixture(scope="module")
def site() -> Iterator[dict[str, str]]:
    """The same for a cluster as on a site: cgroups, two GPU nodes, preemption."""
    with _up("site") as environment:
        yield environment


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the working tree, without results."""
    return copy_repository(tmp_path_factory.mktemp("repository"))
