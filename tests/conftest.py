"""One copy of the repository for dry runs, and one in which the demo runs for all tests of it."""

import os
import signal
import time
from pathlib import Path

import pytest
from internet import internet as internet

from clone import DEMO, copy_repository, snakemake, succeeded

# Processes started in the background of a shell ignore Ctrl-C, and tests would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

MINUTES = pytest.StashKey[dict[str, float]]()


def pytest_collection_modifyitems(items):
    """Mark the tests of the demo by what they need of it."""
    for item in items:
        if "demo" in item.fixturenames:
            item.add_marker("demo_all")
        elif "highlights" in item.fixturenames:
            item.add_marker("demo")


def pytest_terminal_summary(terminalreporter, config):
    for target, minutes in config.stash.get(MINUTES, {}).items():
        terminalreporter.write_line(f"demo, target {target}: {minutes:.1f} minutes")


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("clone"))


@pytest.fixture(scope="session")
def highlights(tmp_path_factory, pytestconfig):
    """Folder in which `highlights` has run; a test that changes something there undoes it.

    With MBERT_ATLAS_DEMO it is that folder, and results of an earlier session are reused.
    """
    kept = os.environ.get("MBERT_ATLAS_DEMO")
    folder = copy_repository(Path(kept) if kept else tmp_path_factory.mktemp("demo"))
    return _made(folder, "highlights", pytestconfig)


@pytest.fixture(scope="session")
def demo(highlights, pytestconfig):
    """The same folder with everything in it."""
    return _made(highlights, "all", pytestconfig)


@pytest.fixture(scope="session")
def report(demo):
    """The report of the demo, as text."""
    page = demo / "results/demo/report.html"
    succeeded(snakemake(demo, "all", "--profile", "local", *DEMO, "--report", str(page)))
    return page.read_text()


def _made(folder, target, pytestconfig):
    started = time.monotonic()
    options = ["--profile", "local", "--cores", str(os.cpu_count() or 1), *DEMO]
    printed = succeeded(snakemake(folder, target, *options, timeout=3000))
    assert target == "all" or len(printed.splitlines()) < 60, printed
    minutes = pytestconfig.stash.setdefault(MINUTES, {})
    minutes[target] = (time.monotonic() - started) / 60
    return folder
