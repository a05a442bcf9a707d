"""One copy of the repository, and one run of the demo in it, for all tests of the workflow."""

import os
import signal
import time

import pytest

from clone import DEMO, copy_repository, snakemake

# What a shell starts in the background ignores Ctrl-C, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

MINUTES = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items):
    """Mark what takes all cores by itself, so that the rest can run side by side.

    A cluster mostly waits, so its tests run beside those of the demo, which share one run of it.
    """
    for item in items:
        for what in ("demo", "slurm"):
            if what in item.fixturenames or item.get_closest_marker(what):
                item.add_marker("alone")
                item.add_marker(pytest.mark.xdist_group(what))


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):  # a process of its own, whose stash stays there
        session.config.workeroutput["minutes"] = session.config.stash.get(MINUTES, {})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    minutes = getattr(node, "workeroutput", {}).get("minutes", {})
    node.config.stash.setdefault(MINUTES, {}).update(minutes)


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
