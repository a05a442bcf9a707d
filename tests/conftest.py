"""One copy of the repository, and one run of the demo in it, for all tests of the workflow."""

import os
import signal
import time

import pytest

from clone import DEMO, copy_repository, snakemake

# What a shell starts in the background ignores Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

MINUTES = pytest.StashKey[dict[str, float]]()


def pytest_collection_modifyitems(items):
    """Mark what takes all cores by itself, so that the rest can run side by side."""
    for item in items:
        if "demo" in item.fixturenames or item.get_closest_marker("slurm"):
            item.add_marker("alone")


def pytest_terminal_summary(terminalreporter, config):
    for target, minutes in config.stash.get(MINUTES, {}).items():
        terminalreporter.write_line(f"demo, target {target}: {minutes:.1f} minutes")


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="session")
def demo(repository, pytestconfig):
    """Run everything once, the highlights first; a test that changes something changes it back."""
    cores = str(os.cpu_count() or 1)
    minutes = pytestconfig.stash.setdefault(MINUTES, {})
    for target in ("highlights", "all"):
        started = time.monotonic()
        options = ["--profile", "local", "--cores", cores, *DEMO]
        done = snakemake(repository, target, *options, timeout=3000)
        assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
        minutes[target] = (time.monotonic() - started) / 60
    return repository


@pytest.fixture(scope="session")
def report(demo):
    """The report of the demo, as text."""
    page = demo / "results/demo/report.html"
    done = snakemake(demo, "all", "--profile", "local", *DEMO, "--report", str(page))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return page.read_text()
