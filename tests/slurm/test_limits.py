"""Limits of nodes, partitions and users on a real cluster, with the profile that users get."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from driver import Workflow

from clone import ROOT

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]

# Every job makes a file; its name stands for what else it does.
_SNAKEFILE = """
from workflow import slurm
from workflow.console import show_essentials
from workflow.supervision import growth, supervise

show_essentials(workflow)
slurm.install()
MEMORY = {"cancelled": 5000, "large": 900, "over": 9000}

onstart:
    supervise(workflow, logger, "results")

rule all:
    input: expand("made/{name}", name=str(config["names"]).split(","))
rule make:
    output: "made/{name}"
    input: lambda w: ["made/cancelled", "made/slow"] if w.name == "later" else []
    threads: lambda w: 4 if w.name == "wide" else 1
    resources:
        mem_mb=lambda wildcards, attempt, rulename: (
            MEMORY.get(wildcards.name, 700) * growth("memory", rulename, wildcards, attempt)
        ),
        runtime=lambda wildcards, attempt, rulename: (
            (2000 if wildcards.name == "long" else 1 if wildcards.name == "slow" else 5)
            * growth("time", rulename, wildcards, attempt)
        ),
        gpu=lambda wildcards: int(wildcards.name.startswith("gpu")),
        slurm_extra=lambda wildcards: config.get("extra", {}).get(wildcards.name, ""),
    params:
        does=lambda w: {
            "cancelled": "[ -e started ] || { touch started; sleep 600; }",
            "large": "python -c 'b\\"x\\" * (850 * 2**20)'",
            "slow": "[ -e slowly ] || { touch slowly; sleep 600; }",
        }.get(w.name, ":"),
    shell: "{params.does}; echo ${{CUDA_VISIBLE_DEVICES:-}} > {output}"
"""


@pytest.fixture
def run(site: dict[str, str], tmp_path: Path) -> Iterator[Workflow]:
    """A folder in which every job makes a file."""
    (tmp_path / "Snakefile").write_text(_SNAKEFILE)
    shutil.copytree(ROOT / "slurm", tmp_path / "slurm")
    run = Workflow(tmp_path, {**site, "PYTHONPATH": str(ROOT)})
    yield run
    run.stop()
    for change in (["nodename=g1,g2", "state=resume"], ["partitionname=cpu", "state=up"]):
        # It fails where nothing is to be resumed.
        subprocess.run(["scontrol", "update", *change], env=site, check=False, capture_output=True)


def _names(*names: str) -> list[str]:
    return ["--config", f"names={','.join(names)}", "--", "all"]


def _attempts(run: Workflow, printed: str) -> dict[str, list[tuple[str, ...]]]:
    """State, memory and minutes of each job of a run, by the name of its file."""
    found = re.search(r"SLURM run ID: (\S+)", printed)
    assert found is not None, printed
    fields = "Comment,State,ReqMem,TimelimitRaw"
    listing = run.slurm("sacct", "-XnP", "--name", found[1], "--format", fields)
    attempts: dict[str, list[tuple[str, ...]]] = {}
    for line in listing.splitlines():
        comment, state, *requested = line.split("|")
        name = comment.rpartition("_")[2]
        attempts.setdefault(name, []).append((state.partition(" ")[0], *requested))
    return attempts


def _number(run: Workflow, name: str) -> str:
    queue = run.slurm("squeue", "-h", "-o", "%i %k")
    (number,) = re.findall(rf"^(\d+) rule_make_wildcards_{name}$", queue, re.MULTILINE)
    return str(number)


def test_faults_of_a_run_cost_an_attempt_each(run: Workflow) -> None:
    """One scancel, one out of memory, one time-out, a drained node, a partition that goes away."""
    run.slurm("scontrol", "update", "nodename=g1", "state=drain", "reason=test")
    names = _names("cancelled", "large", "slow", "gpu", "later")
    run.start(*names)
    run.wait_for((run.folder / "started").exists, "the job that will be cancelled")
    run.slurm("scancel", _number(run, "cancelled"))
    # Before Snakemake has noticed its end, after which it submits the one that needs it.
    run.wait_for((run.folder / "made/slow").exists, "the slow job")
    run.slurm("scontrol", "update", "partitionname=cpu", "state=inactive")
    code, printed = run.finish()
    assert code == 1, printed
    assert _attempts(run, printed) == {
        # More than half the memory of a node, and no more after the scancel.
        "cancelled": [("CANCELLED", "5000M", "5"), ("COMPLETED", "5000M", "5")],
        "large": [("FAILED", "900M", "5"), ("COMPLETED", "1800M", "5")],
        "slow": [("TIMEOUT", "700M", "1"), ("COMPLETED", "700M", "2")],
        "gpu": [("COMPLETED", "700M", "5")],
    }
    (line,) = [line for line in printed.splitlines() if "SLURM rejects jobs" in line]
    assert "Required partition not available (inactive or drain); wait until `sinfo`" in line
    run.slurm("scontrol", "update", "partitionname=cpu", "state=up")
    code, printed = run.run(*names)
    assert code == 0, printed
    assert list(_attempts(run, printed)) == ["later"]


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("over", "requests mem_mb 9000, but cpu has 8000 MB a node (such as c1)"),
        ("long", "requests runtime 2000, but cpu allows 1440 minutes (SLURM's MaxTime)"),
    ],
)
def test_a_request_over_what_the_cluster_has_is_rejected_at_the_start(
    run: Workflow, name: str, limit: str
) -> None:
    code, printed = run.run(*_names("small", name))
    assert code == 1
    assert f"make (name {name}) {limit}: change " in printed
    assert not (run.folder / "made").exists()


def test_submissions_that_slurm_rejects_are_one_sentence(run: Workflow) -> None:
    run.slurm("scontrol", "update", "partitionname=cpu", "state=inactive")
    code, printed = run.run(*_names(*map(str, range(30))))
    assert code == 1
    assert printed.count("SLURM rejects jobs of rule make") == 1
    assert "Trying to restart" not in printed


def test_reasons_to_wait_are_named(run: Workflow) -> None:
    """Drained nodes, a reservation that has not begun, and a limit of the user."""
    times = ["starttime=now+2hours", "duration=60", "users=root", "nodes=c1"]
    run.slurm("scontrol", "create", "reservation", "reservationname=course", *times)
    run.slurm("scontrol", "update", "nodename=g1,g2", "state=drain", "reason=test")
    user = ["sacctmgr", "-i", "modify", "user", "root", "set"]
    run.slurm(*user, "MaxTRESPerJob=cpu=2")
    try:
        extra = "extra={reserved: --reservation=course}"
        run.start("--config", extra, "names=gpu0,gpu1,reserved,wide", "--", "all")
        run.wait_for(lambda: run.printed().count("SLURM does not start") >= 3, "three reasons")
    finally:
        run.slurm(*user, "MaxTRESPerJob=cpu=-1")
        run.stop()
        run.slurm("scontrol", "delete", "reservationname=course")
    lines = [line for line in run.printed().splitlines() if "SLURM does not start" in line]
    assert len(lines) == 3, lines
    for number, reason, fix in (
        (1, "AssocMaxCpuPerJobLimit", "`sacctmgr show"),
        (1, "Reservation", "`slurm-reservation`"),
        (2, "(ReqNodeNotAvail, Unavail|Nodes required).*", "`sinfo -R`"),
    ):
        text = rf"SLURM does not start {number} jobs?, such as \d+, because of {reason}: .*{fix}"
        assert any(re.match(text, line) for line in lines), lines


def _profile(run: Workflow, **changes: object) -> None:
    path = run.folder / "slurm/config.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"gpu_model": "nvidia_a100-sxm4-40gb"}, "gpu:nvidia_a100-sxm4-40gb:1"),
        ({"constraint": "'a100'"}, "Features=a100"),
        ({"gpu": 0, "gres": "'gpu:1'"}, "gres:gpu:1"),
        ({"mem_per_cpu": 1}, "MinMemoryCPU=700M"),
    ],
)
def test_recipes_of_the_profile(run: Workflow, request_: dict[str, object], field: str) -> None:
    _profile(run, **{"set-resources": {"make": request_}})
    run.start(*_names("gpu0"))
    end = time.monotonic() + 120
    shown = ""
    while field not in shown:
        assert time.monotonic() < end, shown
        numbers = run.slurm("squeue", "-h", "-t", "all", "-o", "%i").split()
        last = sorted(numbers, key=int)[-1:]
        shown = "".join(run.slurm("scontrol", "show", "job", number) for number in last)
        time.sleep(0.5)
    code, printed = run.finish()
    assert code == 0, printed
    assert (run.folder / "made/gpu0").read_text().strip() in ("0", "1"), "it got a GPU"


def test_a_site_without_accounting_programs(run: Workflow, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for folder in map(Path, os.environ["PATH"].split(":")):
        for program in folder.glob("*"):
            link = programs / program.name
            if program.name not in ("sacct", "sacctmgr", "sshare") and not link.exists():
                link.symlink_to(program)
    run.environment["PATH"] = str(programs)
    code, printed = run.run(*_names("small"))
    assert code == 0, printed
    assert "SLURM account" not in printed


@pytest.fixture
def users(site: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Two users of one group, with accounts."""
    group, *names = "atlasgroup", "atlasone", "atlastwo"
    subprocess.run(["groupadd", "--force", group], check=True)
    try:
        for name in names:
            subprocess.run(["useradd", "--no-create-home", "--gid", group, name], check=True)
            add = ["sacctmgr", "-i", "add", "user", name, "account=atlas", "cluster=atlas"]
            subprocess.run(add, env=site, check=True, capture_output=True)
        yield names[0], names[1]
    finally:
        for name in names:
            subprocess.run(["userdel", name], check=False, capture_output=True)
        subprocess.run(["groupdel", group], check=False, capture_output=True)


def _is_for_all(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", ""], user="nobody").returncode == 0
    except OSError:
        return False


@pytest.fixture
def shared(users: tuple[str, str], site: dict[str, str]) -> Iterator[tuple[Workflow, Workflow]]:
    """Both in one folder, prepared as docs/faq.md says."""
    python = next(filter(_is_for_all, (sys.executable, "/usr/bin/python3.11")), None)
    if python is None:
        pytest.skip(f"other users cannot run {sys.executable}")
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        folder = Path(place) / "checkout"
        shutil.copytree(ROOT / "slurm", folder / "slurm")
        shutil.copytree(ROOT / "workflow", folder / "workflow")
        (folder / "Snakefile").write_text(_SNAKEFILE)
        os.chmod(place, 0o755)
        Path(site["DEV_CLUSTER_DIR"]).chmod(0o755)
        for command in (["chgrp", "-R", "atlasgroup"], ["chmod", "-R", "g+rwXs"]):
            subprocess.run([*command, str(folder)], check=True)
        runs = []
        for name in users:
            home = Path(place) / name
            home.mkdir()
            shutil.chown(home, name, "atlasgroup")
            path = f"{ROOT}:{sysconfig.get_paths()['purelib']}"
            environment = {**site, "PYTHONPATH": path, "HOME": str(home)}
            environment |= {"XDG_CACHE_HOME": str(home), "USER": name, "LOGNAME": name}
            runs.append(Workflow(folder, environment, user=name, python=python))
        yield runs[0], runs[1]
        for run in runs:
            run.stop()


def test_two_users_of_a_group_in_one_folder(shared: tuple[Workflow, Workflow]) -> None:
    """With umask 002 and a folder of the group they take turns, and see each other."""
    one, two = shared
    code, printed = one.run(*_names("small"))
    assert code == 0, printed
    code, printed = two.run(*_names("small", "other"))
    assert code == 0, printed
    assert list(_attempts(two, printed)) == ["other"], "the first one's results count"
    one.start(*_names("cancelled"))
    one.wait_for((one.folder / "started").exists, "a running job")
    code, printed = two.run("--nolock", *_names("more"))
    assert code == 1
    assert "SLURM has 1 jobs of an earlier run in this folder" in printed
    assert "of user atlasone" in printed
    one.stop()
    code, printed = two.run(*_names("cancelled"))
    assert code == 0, printed
