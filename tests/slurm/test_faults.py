"""What a cluster does to a run, fault by fault; docs/cluster.md promises how each ends.

Each test begins with everything done but one training, strikes while that trains, and ends with the
plain command. Then nothing else has been done again, and the predictions have the bytes that they
have without a fault.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from driver import CONFIG, LIMIT, SCRIPT, SEED1, TARGET, Workflow

from clone import copy_repository

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.slow]

_CGROUPS = Path("/sys/fs/cgroup")
_STATE = "results/tiny/state/nli/seed1"


@dataclass
class _Site(Workflow):
    """A workflow on the site's cluster, with what a fault needs."""

    def plain(self) -> tuple[int, str]:
        """The command that a user gives again after every fault."""
        return self.run(*CONFIG, "--", TARGET)

    def train(self, *options: str) -> str:
        """Start everything; the number of the SLURM job of seed 1, once it has a checkpoint."""
        self.start(*options, *CONFIG, "--", TARGET)
        self.wait_for(self.checkpoints, "a checkpoint of seed 1")
        return self.training_job()

    def checkpoints(self) -> list[Path]:
        return sorted((self.folder / _STATE).glob("step-*"))

    def training_job(self, seed: int = 1) -> str:
        """The number of the SLURM job that trains a seed, or nothing."""
        queue = self.slurm("squeue", "-h", "-t", "running", "-o", "%i %k")
        jobs = re.findall(rf"^(\d+) rule_finetune_wildcards_nli_{seed}$", queue, re.MULTILINE)
        return str(jobs[0]) if jobs else ""

    def field(self, job: str, name: str) -> str:
        found = re.search(rf"\b{name}=(\S*)", self.slurm("scontrol", "show", "job", job))
        assert found is not None, f"{name} of job {job}"
        return found[1]

    def processes(self, job: str, words: str = "") -> list[int]:
        """The processes of a job whose command line has the words."""
        found = []
        for file in _CGROUPS.glob(f"freezer/slurm_*/uid_*/job_{job}/**/cgroup.procs"):
            for number in file.read_text().split():
                command = Path(f"/proc/{number}/cmdline")
                if command.exists() and words in command.read_bytes().decode().replace("\0", " "):
                    found.append(int(number))
        return found

    def strike(self, job: str, number: signal.Signals) -> None:
        """Send a signal to the processes of a job that train."""
        found = self.processes(job, ".snakemake/scripts/")
        assert found, "no script runs"
        for process in found:
            os.kill(process, number)

    def exhaust_memory(self, job: str) -> None:
        """Another process of a job takes all of its memory; the kernel begins with the training."""
        process = self.processes(job, ".snakemake/scripts/")[0]
        Path(f"/proc/{process}/oom_score_adj").write_text("1000")
        groups = Path(f"/proc/{process}/cgroup").read_text()
        (group,) = re.findall(r"^\d+:memory:/(\S+)$", groups, re.MULTILINE)
        hog = "input(); x = []\nwhile True: x.append(bytearray(2**22))"
        with subprocess.Popen([sys.executable, "-c", hog], stdin=subprocess.PIPE) as taker:
            (_CGROUPS / "memory" / group / "cgroup.procs").write_text(str(taker.pid))
            taker.communicate(b"\n")

    def exceed_time(self, job: str) -> None:
        """Let a job reach its time limit while it trains."""
        self.strike(job, signal.SIGSTOP)  # so that it lasts for a minute
        self.slurm("scontrol", "update", f"JobId={job}", "TimeLimit=1")
        self.wait_for(lambda: self.field(job, "RunTime") >= "00:00:50", "50 s of running time")
        self.strike(job, signal.SIGCONT)

    def run_python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python there, until it ends."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )

    def daemon(self, name: str) -> int:
        folder = Path(self.environment["DEV_CLUSTER_DIR"])
        return int((folder / f"run/{name}.pid").read_text())

    def up(self) -> None:
        """Start again what of the cluster does not run."""
        subprocess.run([SCRIPT, "up", "site"], env=self.environment, check=True)

    def forget(self, seed: int = 1) -> None:
        (self.folder / TARGET).unlink(missing_ok=True)  # else nothing needs the predictions
        for name in ("runs", "state"):
            shutil.rmtree(self.folder / f"results/tiny/{name}/nli/seed{seed}", ignore_errors=True)

    def trainings(self, printed: str) -> list[str]:
        """States of the jobs that a run submitted; only seed 1 was to be trained."""
        jobs = self.jobs(printed)
        assert {job.rule for job in jobs} <= {"finetune"}, "something was done again"
        return [job.state.partition(" ")[0] for job in jobs]

    def saved_at_the_signal(self, seed: int = 1) -> bool:
        """Whether an attempt at a seed saved its state when it was told to end."""
        log = (self.folder / f"results/tiny/logs/finetune/nli/seed{seed}.log").read_text()
        return "stopped by SIGTERM after step" in log

    def resumed(self, seed: int = 1) -> bool:
        """Whether an attempt at a seed went on from a checkpoint."""
        logs = (self.folder / "results/tiny/logs/finetune/nli").glob(f"seed{seed}.log*")
        return any(re.search(r"resumes after step [1-9]", log.read_text()) for log in logs)


@pytest.fixture(scope="module")
def world(site: dict[str, str], repository: Path) -> Iterator[tuple[_Site, bytes]]:
    """Everything done, and the predictions of seed 1 as they are without a fault."""
    workflow = _Site(repository, site)
    code, printed = workflow.plain()
    assert code == 0, printed
    yield workflow, (repository / SEED1).read_bytes()
    workflow.stop()


@pytest.fixture
def run(world: tuple[_Site, bytes]) -> Iterator[_Site]:
    """Seed 1 is to be trained again. Afterwards: the plain command, and the same bytes."""
    workflow, undisturbed = world
    workflow.up()
    workflow.forget()
    yield workflow
    workflow.stop()
    code, printed = workflow.plain()
    assert code == 0, printed
    assert set(workflow.trainings(printed)) <= {"COMPLETED"}
    assert (workflow.folder / SEED1).read_bytes() == undisturbed
    assert "Nothing to be done" in workflow.run("--dry-run", *CONFIG, "--", TARGET)[1]


def test_training_is_killed(run: _Site) -> None:
    run.strike(run.train(), signal.SIGKILL)
    code, printed = run.finish()
    assert code == 0, printed
    assert run.trainings(printed) == ["FAILED", "COMPLETED"]
    assert run.resumed()


@pytest.fixture
def sharing(run: _Site) -> Iterator[_Site]:
    """Both seeds are to be trained, in one job."""
    run.forget(2)
    for log in (run.folder / "results/tiny/logs/finetune/nli").glob(".seed*.log"):
        log.unlink()  # of all attempts
    profile = run.folder / "slurm/config.yaml"
    kept = profile.read_text()
    profile.write_text(kept.replace("  # seeds_per_job: 4", "  seeds_per_job: 2"))
    yield run
    run.stop()
    profile.write_text(kept)


def _train_both(run: _Site) -> str:
    """Start a training of two seeds in one job; return it once both have a checkpoint."""
    job = run.train()
    state = run.folder / "results/tiny/state/nli/seed2"
    run.wait_for(lambda: list(state.glob("step-*")), "a checkpoint of seed 2")
    return job


def test_one_of_two_seeds_that_share_a_job_is_killed(sharing: _Site) -> None:
    """The other one counts; it is trained again alone, from its checkpoint."""
    scripts = sharing.processes(_train_both(sharing), ".snakemake/scripts/")
    outputs = {Path(os.readlink(f"/proc/{one}/fd/1")).name: one for one in scripts}
    assert {".seed1.log", ".seed2.log"} <= outputs.keys()
    os.kill(outputs[".seed2.log"], signal.SIGKILL)
    code, printed = sharing.finish()
    assert code == 0, printed
    assert sharing.trainings(printed) == ["FAILED", "COMPLETED"]
    logs = [sharing.folder / f"results/tiny/logs/finetune/nli/seed{seed}.log" for seed in (1, 2)]
    assert [log.read_text().count("====") for log in logs] == [1, 2]
    assert sharing.resumed(2)
    assert not sharing.resumed(1)


def test_scancel_of_two_seeds_that_share_a_job(sharing: _Site) -> None:
    """Both save their state, and go on alone."""
    sharing.slurm("scancel", _train_both(sharing))
    code, printed = sharing.finish()
    assert code == 0, printed
    assert sharing.trainings(printed) == ["CANCELLED", "COMPLETED", "COMPLETED"]
    assert sharing.saved_at_the_signal(1)
    assert sharing.saved_at_the_signal(2)
    assert sharing.resumed(1)
    assert sharing.resumed(2)


def test_scancel(run: _Site) -> None:
    run.slurm("scancel", run.train())
    code, printed = run.finish()
    assert code == 0, printed
    assert "ended as CANCELLED" in printed
    assert run.trainings(printed) == ["CANCELLED", "COMPLETED"]
    assert run.saved_at_the_signal()
    assert run.resumed()


def test_sigterm_of_the_step(run: _Site) -> None:
    """Under cgroups it reaches the inner Snakemake alone, which has to pass it on."""
    run.slurm("scancel", "--signal=TERM", run.train())
    code, printed = run.finish()
    assert code == 0, printed
    assert run.trainings(printed)[-1] == "COMPLETED"
    assert run.saved_at_the_signal()
    assert run.resumed()


def test_time_limit(run: _Site) -> None:
    run.exceed_time(run.train())
    code, printed = run.finish()
    assert code == 0, printed
    assert "ended as TIMEOUT" in printed
    assert run.trainings(printed) == ["TIMEOUT", "COMPLETED"]
    assert run.saved_at_the_signal()
    assert run.resumed()


def test_out_of_memory(run: _Site) -> None:
    run.exhaust_memory(run.train())
    code, printed = run.finish()
    assert code == 0, printed
    assert "oom" in printed.lower(), "the reason is on the console"
    assert run.trainings(printed)[0] in ("OUT_OF_MEMORY", "FAILED")
    assert run.trainings(printed)[-1] == "COMPLETED"
    assert run.resumed()


def test_every_fault_in_runs_from_nothing(
    world: tuple[_Site, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A drained node, a partition that accepts no jobs, one scancel, time-out, lack of memory."""
    first, undisturbed = world
    run = _Site(copy_repository(tmp_path_factory.mktemp("faults")), first.environment)
    run.slurm("scontrol", "update", "nodename=g1", "state=drain", "reason=test")
    run.slurm("scontrol", "update", "partitionname=gpu", "state=inactive")
    try:
        code, printed = run.plain()
        assert code == 1, printed
        assert printed.count("SLURM rejects jobs of rule") == 1, printed
        assert {job.state for job in run.jobs(printed)} == {"COMPLETED"}
        run.slurm("scontrol", "update", "partitionname=gpu", "state=up")
        run.slurm("scancel", run.train())
        second = run.folder / "results/tiny/state/nli/seed2"
        run.wait_for(lambda: list(second.glob("step-*")), "a checkpoint of seed 2")
        run.exhaust_memory(run.training_job(2))
        run.wait_for(lambda: run.training_job() and run.processes(run.training_job()), "seed 1")
        run.wait_for(run.resumed, "seed 1 to resume")
        run.exceed_time(run.training_job())
        code, printed = run.finish()
    finally:
        run.stop()
        run.slurm("scontrol", "update", "partitionname=gpu", "state=up")
        run.slurm("scontrol", "update", "nodename=g1", "state=resume")
    assert code == 0, printed
    assert "Done, " in printed.splitlines()[-1]
    states = sorted(job.state.partition(" ")[0] for job in run.jobs(printed))
    assert states == ["CANCELLED", *["COMPLETED"] * (len(states) - 3), "FAILED", "TIMEOUT"]
    rules = [job.rule for job in run.jobs(printed) if job.state == "COMPLETED"]
    assert sorted(rules) == ["finetune", "finetune", "pretrain"], "nothing was done again"
    assert (run.folder / SEED1).read_bytes() == undisturbed


def test_node_is_down(run: _Site) -> None:
    """Its daemon and all processes of its jobs vanish, as when it loses power."""
    job = run.train()
    node = run.field(job, "BatchHost")
    os.kill(run.daemon(f"slurmd-{node}"), signal.SIGKILL)
    for process in run.processes(job):
        os.kill(process, signal.SIGKILL)
    code, printed = run.finish()
    assert code == 0, printed
    assert "ended as NODE_FAIL" in printed
    assert run.trainings(printed) == ["NODE_FAIL", "COMPLETED"]
    assert run.resumed()


def test_only_node_comes_back(run: _Site) -> None:
    """The other node takes no jobs: the next attempt waits for the one that failed."""
    job = run.train()
    node = run.field(job, "BatchHost")
    other = {"g1": "g2", "g2": "g1"}[node]
    run.slurm("scontrol", "update", f"NodeName={other}", "State=DRAIN", "Reason=test")
    try:
        os.kill(run.daemon(f"slurmd-{node}"), signal.SIGKILL)
        for process in run.processes(job):
            os.kill(process, signal.SIGKILL)
        run.wait_for(lambda: "Trying to restart job" in run.printed(), "the next attempt")
        run.up()
        code, printed = run.finish()
    finally:
        run.slurm("scontrol", "update", f"NodeName={other}", "State=RESUME")
    assert code == 0, printed
    assert run.trainings(printed) == ["NODE_FAIL", "COMPLETED"]


def test_requeue(run: _Site) -> None:
    job = run.train()
    run.slurm("scontrol", "update", f"JobId={job}", "Requeue=1")
    run.slurm("scontrol", "requeue", job)
    run.wait_for(lambda: run.field(job, "JobState") == "PENDING", "the job in the queue again")
    run.slurm("scontrol", "update", f"JobId={job}", "StartTime=now")  # else after two minutes
    code, printed = run.finish()
    assert code == 0, printed
    assert run.jobs(printed)[-1].number == job, "the same job"
    assert run.resumed()


@pytest.mark.parametrize("partition", ["requeue", "cancel"])
@pytest.mark.parametrize("setting", ["--slurm-no-requeue", "--slurm-requeue"])
def test_preemption(run: _Site, partition: str, setting: str) -> None:
    profile = run.folder / "slurm/config.yaml"
    kept = profile.read_text()
    other = yaml.safe_load(kept)
    other["partitions"] = {"cpu": {}, partition: {"max_gpu": 8}}
    del other["slurm-no-requeue"]
    profile.write_text(yaml.safe_dump(other))
    try:
        job = run.train(setting)
        urgent = ["-p", "gpu", "--gpus=2", "-t", "1", "-o", "/dev/null", "--wrap", "sleep 5"]
        for _ in ("g1", "g2"):
            run.slurm("sbatch", *urgent)
        run.wait_for(lambda: run.field(job, "JobState") != "RUNNING", "the job to be preempted")
        if partition == "requeue" and setting == "--slurm-requeue":
            run.wait_for(lambda: run.field(job, "JobState") == "PENDING", "the job in the queue")
            run.slurm("scontrol", "update", f"JobId={job}", "StartTime=now")
        code, printed = run.finish()
    finally:
        profile.write_text(kept)
    assert code == 0, printed
    assert "Error in rule" not in printed, "no attempt was counted"
    assert run.resumed()


def test_snakemake_is_killed(run: _Site) -> None:
    run.train()
    assert run.process is not None
    run.process.kill()
    run.process.wait()
    code, printed = run.plain()
    assert code != 0
    assert "--unlock" in printed
    assert run.run("--unlock", *CONFIG, "--", TARGET)[0] == 0
    code, printed = run.plain()
    assert code != 0
    cancel = re.search(r"^ *scancel (--name=mbert-atlas_\S+)$", printed, re.MULTILINE)
    assert cancel is not None, printed
    run.slurm("scancel", cancel[1])
    code, printed = run.plain()
    assert code == 0, printed
    assert run.trainings(printed) == ["COMPLETED"]
    assert run.resumed()


def test_orphan_finishes(run: _Site) -> None:
    """Snakemake was killed, and its job did its work, which counts: the job has recorded it."""
    job = run.train()
    assert run.process is not None
    run.process.kill()
    run.process.wait()
    end = time.monotonic() + LIMIT
    while run.slurm("squeue", "-h", "-j", job):
        assert time.monotonic() < end, "the orphan does not end"
        time.sleep(1)
    assert run.run("--unlock", *CONFIG, "--", TARGET)[0] == 0
    code, printed = run.plain()
    assert code == 0, printed
    assert run.trainings(printed) == []


def test_sigterm_of_snakemake(run: _Site) -> None:
    """It waits for the training, and starts nothing else."""
    run.train()
    assert run.process is not None
    run.process.terminate()
    code, printed = run.finish()
    assert code != 0
    assert run.trainings(printed) == ["COMPLETED"]
    code, printed = run.plain()
    assert code == 0, printed
    assert run.trainings(printed) == [], "the training counts"


def test_sigint_of_snakemake(run: _Site) -> None:
    run.train()
    assert run.process is not None
    run.process.send_signal(signal.SIGINT)
    code, printed = run.finish()
    assert code != 0
    assert run.trainings(printed) == ["CANCELLED"]
    code, printed = run.plain()
    assert code == 0, printed
    assert run.resumed()


def test_stale_lock(run: _Site) -> None:
    """Snakemake was killed, and its jobs have ended since."""
    job = run.train()
    assert run.process is not None
    run.process.kill()
    run.process.wait()
    run.slurm("scancel", job)
    code, printed = run.plain()
    assert code != 0
    assert "--unlock" in printed
    assert run.run("--unlock", *CONFIG, "--", TARGET)[0] == 0


def test_scheduler_away_while_training(run: _Site) -> None:
    run.train()
    os.kill(run.daemon("slurmctld"), signal.SIGKILL)
    time.sleep(60)
    run.up()
    code, printed = run.finish()
    assert code == 0, printed
    assert run.trainings(printed) == ["COMPLETED"]


def test_scheduler_away_while_submitting(run: _Site, tmp_path: Path) -> None:
    """It dies as sbatch is called."""
    real = shutil.which("sbatch")
    program = tmp_path / "sbatch"
    program.write_text(
        f"#!/bin/sh\n[ -e {tmp_path}/away ] || {{ touch {tmp_path}/away;"
        f' kill -9 {run.daemon("slurmctld")}; }}\nexec {real} "$@"\n'
    )
    program.chmod(0o755)
    path = run.environment["PATH"]
    run.environment["PATH"] = f"{tmp_path}:{path}"
    try:
        run.start(*CONFIG, "--", TARGET)
        run.wait_for(lambda: "SLURM does not answer" in run.printed(), "word of the silence")
        time.sleep(60)
    finally:
        run.environment["PATH"] = path
    run.up()
    code, printed = run.finish()
    assert code == 0, printed
    assert "Error in rule" not in printed
    assert run.trainings(printed) == ["COMPLETED"]


def _mount(place: Path, options: str) -> None:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place)], check=True)


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_disk_is_full(run: _Site) -> None:
    """The job ends before it trains, with one sentence, and is not submitted again."""
    place = run.folder / _STATE
    _mount(place, "size=64k")
    try:
        code, printed = run.plain()
    finally:
        _unmount(place)
    assert code != 0
    sentence = f"{_STATE}: no space left while writing (No space left on device); free space"
    assert sentence in printed
    assert run.trainings(printed) == ["FAILED"]


def test_a_seed_is_run_again(world: tuple[_Site, bytes]) -> None:
    """Its old outputs return when SLURM rejects the job, and new ones replace them otherwise."""
    run, undisturbed = world
    run.up()
    too_much = "resources={finetune: {mem_mb: 9000}}"
    code, printed = run.run("--force", "--config", too_much, *CONFIG, "--", SEED1)
    assert code == 1
    assert (
        "finetune (run nli, seed 1) requests gpu 1, mem_mb 9000, but cpu has max_gpu 0; gpu has "
        "8000 MB a node (such as g1): change the config, key resources.finetune, or the partitions"
    ) in printed
    old = (run.folder / SEED1).stat().st_mtime_ns
    command = ["-m", "mbert_atlas", "rerun", "nli", "--seed", "1", "--configfile", *CONFIG[1:]]
    run.slurm("scontrol", "update", "partitionname=gpu", "state=inactive")
    try:
        done = run.run_python(*command)
    finally:
        run.slurm("scontrol", "update", "partitionname=gpu", "state=up")
    assert done.returncode == 1
    assert "SLURM rejects jobs of rule finetune" in done.stderr
    assert "Then `all` reruns what depends on it, " in done.stdout
    assert (run.folder / SEED1).stat().st_mtime_ns == old
    assert "Nothing to be done" in run.run("--dry-run", *CONFIG, "--", SEED1)[1]
    done = run.run_python(*command)
    assert done.returncode == 0, done.stderr
    assert (run.folder / SEED1).stat().st_mtime_ns > old
    assert (run.folder / SEED1).read_bytes() == undisturbed


def test_results_are_out_of_reach(run: _Site) -> None:
    run.train()
    _mount(run.folder / "results/tiny", "ro")
    try:
        code, printed = run.finish()
    finally:
        _unmount(run.folder / "results/tiny")
    assert code != 0, printed


def test_two_runs_at_once(run: _Site) -> None:
    run.train()
    first = run.process
    second = subprocess.run(
        [sys.executable, "-m", "snakemake", "--profile", "slurm", *CONFIG, "--", TARGET],
        cwd=run.folder,
        env=run.environment,
        capture_output=True,
        text=True,
    )
    assert second.returncode != 0
    assert run.process is first
    code, printed = run.finish()
    assert code == 0, printed
    assert run.trainings(printed) == ["COMPLETED"]


def test_checkpoint_is_damaged(run: _Site, world: tuple[_Site, bytes], tmp_path: Path) -> None:
    """Each file of the newest one truncated, and with one byte flipped."""
    run.train()
    run.stop()
    end = time.monotonic() + 120
    while run.slurm("squeue", "-h"):  # it still saves its state
        assert time.monotonic() < end, "the cancelled training does not end"
        time.sleep(0.5)
    saved = tmp_path / "state"
    shutil.copytree(run.folder / _STATE, saved)
    names = sorted(path.name for path in sorted(saved.glob("step-*"))[-1].iterdir())
    assert names
    for name in names:
        for damage in ("truncated", "flipped"):
            run.forget()
            shutil.copytree(saved, run.folder / _STATE)
            path = run.checkpoints()[-1] / name
            content = bytearray(path.read_bytes())
            middle = len(content) // 2
            content[middle] ^= 0x55
            path.write_bytes(content[:middle] if damage == "truncated" else content)
            code, printed = run.plain()
            assert code == 0, f"{name} {damage}: {printed}"
            assert run.trainings(printed) == ["COMPLETED"], f"{name} {damage}"
            assert (run.folder / SEED1).read_bytes() == world[1], f"{name} {damage}"


def test_download_is_corrupt(run: _Site, tmp_path: Path) -> None:
    """A file of the mirror has other bytes than its manifest says."""
    made = run.folder / "results/tiny/miniature"
    name = next(made.glob("*/**/*.tsv")).relative_to(made)
    mirror = tmp_path / "mirror"
    shutil.copytree(made, mirror)
    write = (
        "import sys; from pathlib import Path; from mbert_atlas.sources.mirror import *;"
        "write_manifest(Path(sys.argv[1]), Register.read('resources/sources.yaml'))"
    )
    subprocess.run([sys.executable, "-c", write, mirror], cwd=run.folder, check=True)
    good = (mirror / name).read_bytes()
    (mirror / name).write_bytes(good[:-1])
    overlay = tmp_path / "own.yaml"
    overlay.write_text(
        yaml.safe_dump({"run": "own", "miniature": None, "downloads": "own", "mirror": str(mirror)})
    )
    command = [*CONFIG, str(overlay), "--", f"own/{name}"]
    code, printed = run.run(*command)
    assert code != 0
    assert str(name) in printed
    assert not (run.folder / "own" / name).exists()
    (mirror / name).write_bytes(good)
    code, printed = run.run(*command)
    assert code == 0, printed
    assert (run.folder / "own" / name).read_bytes() == good
