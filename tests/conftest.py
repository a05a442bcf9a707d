"""One copy of the repository, and one run of the demo in it, for all tests of the workflow."""

import os

import pytest

from clone import DEMO, copy_repository, snakemake


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="session")
def demo(repository):
    """Run everything once; a test that changes something changes it back."""
    cores = str(os.cpu_count() or 1)
    done = snakemake(repository, "all", "--profile", "local", "--cores", cores, *DEMO, timeout=1500)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return repository


@pytest.fixture(scope="session")
def report(demo):
    """The report of the demo, as text."""
    page = demo / "results/demo/report.html"
    done = snakemake(demo, "all", "--profile", "local", *DEMO, "--report", str(page))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return page.read_text()
