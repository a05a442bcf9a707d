"""Scripts that start by a fork are as those that Snakemake starts."""

import csv
import json
import os
import subprocess
import sys

import pytest

from clone import ROOT

pytestmark = pytest.mark.workflow
SNAKEFILE = f"""
import sys

sys.path.insert(0, "{ROOT}")
from pathlib import Path
from workflow import forking

if config.get("forks"):
    forking.install(Path("scripts"), preload="torch", least_jobs=1)

rule report:
    output: "report.json"
    log: "report.log"
    benchmark: "report.tsv"
    threads: config.get("threads", 1)
    params: value=[1, dict(a=2)]
    script: "scripts/report.py"

rule end:
    output: "end.txt"
    log: "end.log"
    script: "scripts/end.py"
"""
REPORT = f"""
import sys
sys.path.insert(0, "{ROOT}")
from workflow.job import set_up

with set_up(snakemake) as options:
    import json, os, psutil, resource, signal, time
    import numpy, torch, threadpoolctl

    print("a line")
    os.system("echo of a child")
    kept = bytearray(300_000_000)
    start = time.process_time()
    while time.process_time() - start < 1.5:
        pass
    time.sleep(1)
    libraries = {{it["prefix"]: it["num_threads"] for it in threadpoolctl.threadpool_info()}}
    parents = [" ".join(it.cmdline()) for it in psutil.Process().parents()]
    report = dict(
        environment=dict(os.environ), libraries=libraries, torch=torch.get_num_threads(),
        folder=os.getcwd(), umask=os.umask(0), signal=str(signal.getsignal(signal.SIGINT)),
        limits=resource.getrlimit(resource.RLIMIT_AS), options=options, rule=snakemake.rule,
        name=__name__, is_forked=any("forkserver" in it for it in parents),
        files=sorted(os.readlink(f"/proc/self/fd/{{it}}").split(":")[0] for it in (1, 2)),
    )
    with open(snakemake.output[0], "w") as stream:
        json.dump(report, stream)
"""
END = f"""
import sys
sys.path.insert(0, "{ROOT}")
from workflow.job import set_up

with set_up(snakemake):
    import os, signal, time
    from pathlib import Path

    with open("starts", "a") as stream:
        stream.write("x")
    if Path("orphaned").exists():
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(2)
        Path("survived").touch()
    if Path("killed").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if Path("wrong").exists():
        raise ValueError("it is wrong")
    Path(snakemake.output[0]).touch()
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "scripts/report.py").write_text(REPORT)
    (tmp_path / "scripts/end.py").write_text(END)
    return tmp_path


def start(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "LIMIT": "kept"},
        capture_output=True,
        text=True,
        timeout=600,
    )


def reported(folder, *config):
    done = start(folder, "--force", "report", "--config", *config)
    assert done.returncode == 0, done.stderr
    log = (folder / "report.log").read_text()
    assert "a line\n" in log
    assert "of a child\n" in log
    assert "a line" not in done.stdout + done.stderr
    with (folder / "report.tsv").open() as stream:
        (row,) = csv.DictReader(stream, delimiter="\t")
    return json.loads((folder / "report.json").read_text()), row


def test_a_forked_script_is_as_one_that_was_started(folder):
    plain, _ = reported(folder, "plain=1")
    forked, measured = reported(folder, "forks=1")
    assert (plain.pop("is_forked"), forked.pop("is_forked")) == (False, True)
    assert forked["environment"]["OMP_NUM_THREADS"] == "1"
    for name in ("SHLVL", "_"):  # of the shell around a script
        plain["environment"].pop(name, None)
        forked["environment"].pop(name, None)
    assert forked.pop("environment") == plain.pop("environment")
    assert forked == plain
    assert {*forked["libraries"].values(), forked["torch"]} == {1}
    assert forked["options"] == {"value": [1, {"a": 2}]}
    assert float(measured["cpu_time"]) > 1
    assert float(measured["max_rss"]) > 300
    assert float(measured["s"]) > 2


def test_scripts_of_several_threads_are_started(folder):
    report, _ = reported(folder, "forks=1", "threads=2")
    assert not report["is_forked"]
    assert {*report["libraries"].values(), report["torch"]} == {2}


def test_a_script_is_waited_for_even_if_its_parent_is_killed(folder):
    (folder / "orphaned").touch()
    done = start(folder, "end", "--config", "forks=1")
    assert done.returncode != 0
    assert (folder / "survived").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("end", ["killed", "wrong"])
def test_a_forked_script_that_fails_is_a_failed_job(folder, end):
    (folder / end).touch()
    done = start(folder, "end", "--retries", "1", "--config", "forks=1")
    assert done.returncode != 0
    assert "Error in rule end" in done.stderr
    assert (folder / "starts").read_text() == "xx"
    assert not (folder / "end.txt").exists()
    if end == "wrong":
        assert "end: ValueError: it is wrong (traceback in end.log)" in done.stderr
    (folder / end).unlink()
    done = start(folder, "end", "--config", "forks=1")
    assert done.returncode == 0, done.stderr
