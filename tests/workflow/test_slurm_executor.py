"""The SLURM executor against programs that say what SLURM's say; tests/slurm has the real ones."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

import forked
from clone import ROOT
from workflow.slurm import CHECKED_WITH, reason

pytestmark = pytest.mark.workflow

_SNAKEFILE = """
from workflow import slurm
slurm.FULL_PAUSE = 1
slurm.install()
rule all:
    input: "a", "b"
rule make:
    output: "{name}", "{name}.more"
    resources: mem_mb=lambda wildcards, attempt: 100 * attempt, runtime=1
    shell: "exit 1"
rule here:
    output: "here"
    localrule: True
    shell: "touch {output}"
"""
# Stands in for every program of SLURM. `plan.json`: for each submission what it does, and what else
# the queue holds. A submitted job "runs" by making its outputs, if it ends as COMPLETED; with the
# state "by running", sbatch runs its command, and ends with it.
_PROGRAM = """
import fcntl, json, os, re, subprocess, sys
from pathlib import Path
folder = Path(__file__).parent
name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
if name == "srun":
    command = arguments[arguments.index(sys.executable):]
    os.execv(command[0], command)
lock = (folder / "lock").open("w")
fcntl.flock(lock, fcntl.LOCK_EX)
with (folder / "calls").open("a") as calls:
    print(json.dumps([name, *arguments]), file=calls)
plan = json.loads((folder / "plan.json").read_text())
queue = folder / "queue"
if name == "sbatch":
    value = dict(zip(arguments, arguments[1:]))
    number = sum(1 for line in (folder / "calls").open() if line.startswith('["sbatch"'))
    step = plan["submissions"].get(str(number), {})
    state = step.get("state", plan["state"])
    if state == "by running":
        done = subprocess.run(arguments[-1].partition("=")[2], shell=True, capture_output=True)
        state = "FAILED" if done.returncode else "COMPLETED"
    elif state == "COMPLETED":
        made = value["--comment"].rpartition("_")[2]
        for path in (made, made + ".more"):
            Path(path).write_text("made")
    if state:
        with queue.open("a") as rows:
            print(number, state, value["--job-name"], value["--comment"], os.getcwd(),
                  step.get("reason", "None"), sep="|", file=rows)
        log = Path(value["--output"].replace("%j", str(number)))
        log.write_text(step.get("log", ""))
    if "says" in step:
        sys.exit(step["says"])
    print(number)
elif name == "squeue" and "--Format=PreemptTime" in arguments:
    number = next(item for item in arguments if item.startswith("--jobs=")).partition("=")[2]
    print(plan["submissions"].get(number, {}).get("preempted", "N/A"))
elif name == "squeue":
    asked = next(item for item in arguments if item.startswith("--format")).partition("=")[2]
    count = sum(1 for line in (folder / "calls").open() if re.match(r'..squeue.*%T"', line))
    if asked == "%i|%T" and count in plan.get("silent", []):
        sys.exit("Unable to contact slurm controller (connect failure)")
    rows = [line.split("|") for line in queue.read_text().splitlines()]
    for line in rows if asked != "%j|%T|%u|%Z" else plan["queue"]:
        print("|".join(dict(zip("iTjkZr", line), u="alice")[key[1]] for key in asked.split("|")))
    if asked == "%j|%T|%u|%Z" and plan["queue"] and plan["queue"][0][1] == "COMPLETING":
        (folder / "plan.json").write_text(json.dumps(plan | {"queue": []}))
elif name == "scontrol":
    answers = {"config": "MinJobAge = 300 sec", **plan["site"]}
    print(answers.get(arguments[-1], ""))
elif name == "sacctmgr":
    print("a")
elif name == "sacct":
    sys.exit("accounting storage is disabled")
"""
_AWAY = "sbatch: error: Unable to contact slurm controller (connect failure)"


@dataclass
class _Folder:
    path: Path

    def start(self, *arguments: str, path: str = "", outer: str = "") -> forked.Program:
        options = "--executor slurm --jobs 9 --retries 1 --slurm-jobname-prefix atlas"
        options += " --slurm-init-seconds-before-status-checks 2 --slurm-no-requeue"
        options += " --slurm-status-command squeue --latency-wait 1 --default-resources"
        programs = self.path / "programs"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": path or f"{programs}:{os.environ['PATH']}",
            **({"SLURM_JOB_ID": outer} if outer else {}),
        }
        words = ["-m", "snakemake", *options.split(), "slurm_account=a", *arguments]
        return forked.Program(self.path, words, environment, together=True)

    def run(self, *arguments: str, path: str = "", outer: str = "") -> tuple[int, str]:
        process = self.start(*arguments, path=path, outer=outer)
        printed, _ = process.communicate(timeout=300)
        return process.returncode, printed

    def plan(
        self,
        submissions: dict[str, dict[str, str]] | None = None,
        queue: list[list[str]] | None = None,
        silent: list[int] | None = None,
        state: str = "COMPLETED",
        site: dict[str, str] | None = None,
    ) -> None:
        plan = {"submissions": submissions or {}, "queue": queue or [], "silent": silent or []}
        plan |= {"state": state, "site": site or {}}
        (self.path / "programs/plan.json").write_text(json.dumps(plan))

    def calls(self, program: str) -> list[list[str]]:
        lines = (self.path / "programs/calls").read_text().splitlines()
        return [call[1:] for call in map(json.loads, lines) if call[0] == program]


@pytest.fixture
def folder(tmp_path: Path) -> _Folder:
    (tmp_path / "Snakefile").write_text(_SNAKEFILE)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("sbatch", "srun", "squeue", "sacct", "scancel", "scontrol", "sinfo", "sacctmgr"):
        (programs / name).write_text(f"#!{sys.executable}\n{_PROGRAM}")
        (programs / name).chmod(0o755)
    for name in ("calls", "queue"):
        (programs / name).touch()
    found = _Folder(tmp_path)
    found.plan()
    return found


def test_the_plugin_is_the_one_that_was_checked() -> None:
    installed = importlib.metadata.version("snakemake-executor-plugin-slurm")
    if installed != CHECKED_WITH:
        pytest.fail(
            f"snakemake-executor-plugin-slurm is {installed}, but workflow/slurm.py overrides "
            f"methods of {CHECKED_WITH}: go through docs/slurm-plugin.md, run `make test-slurm`, "
            "and set CHECKED_WITH and the pin.",
            pytrace=False,
        )


def test_without_slurm_local_rules_run_and_others_are_rejected(folder: _Folder) -> None:
    shells = folder.path / "shells"
    shells.mkdir()
    for name in ("bash", "sh", "touch", "which"):
        (shells / name).symlink_to(str(shutil.which(name)))
    code, printed = folder.run("--", "here", path=str(shells))
    assert code == 0, printed
    assert (folder.path / "here").exists()
    code, printed = folder.run("--", "here", "a", path=str(shells))
    assert code == 1
    assert "SLURM is not on this machine (sbatch and squeue not found)" in printed
    assert "does not answer" not in printed, "it does not wait for a scheduler"
    assert folder.run("--dry-run", "--", "a", path=str(shells))[0] == 0


def test_local_rules_do_not_wait_for_a_scheduler_that_is_away(folder: _Folder) -> None:
    folder.plan(queue=[["7", "PENDING", "atlas_old-run", "rule_make", str(folder.path)]])
    code, printed = folder.run("--", "here")
    assert code == 0, printed
    assert folder.calls("squeue") == []


def test_jobs_of_an_earlier_run_here_are_rejected(folder: _Folder) -> None:
    row = ["7", "PENDING", "atlas_old-run", "rule_make", str(folder.path)]
    folder.plan(queue=[row, [*row[:2], "other_run", *row[3:]], [*row[:4], "/elsewhere"]])
    code, printed = folder.run()
    assert code == 1
    assert (
        f"SLURM has 1 jobs of an earlier run in this folder ({folder.path}), of user alice"
        in printed
    )
    assert re.search(r"^ *scancel --name=atlas_old-run$", printed, re.MULTILINE)
    assert folder.calls("sbatch") == []
    assert folder.run("--dry-run")[0] == 0


def test_cancelled_jobs_that_are_ending_are_waited_for(folder: _Folder) -> None:
    folder.plan(queue=[["7", "COMPLETING", "atlas_old-run", "rule_make", str(folder.path)]])
    code, printed = folder.run()
    assert code == 0, printed
    assert "Waiting for 1 cancelled jobs of the last run to end" in printed


def test_scheduler_away(folder: _Folder) -> None:
    """One sbatch reaches no scheduler, another's answer is lost, and the first question too."""
    lost = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    folder.plan({"1": {"state": "", "says": _AWAY}, "2": {"says": lost}}, silent=[1])
    code, printed = folder.run()
    assert code == 0, printed
    comments = [call[call.index("--comment") + 1] for call in folder.calls("sbatch")]
    assert len(comments) == 3, "one again, the other is found in the queue"
    assert comments[2] == comments[0]
    assert "SLURM does not answer. A job of rule make waits" in printed
    assert "had been submitted with SLURM jobid" in printed
    assert "Error in rule" not in printed


_FAILED = "sbatch: error: Batch job submission failed: "
_POLICY = (
    f"{_FAILED}Job violates accounting/QOS policy "
    "(job submit limit, user's size and/or time limits)"
)


def test_a_submit_limit_takes_no_attempt(folder: _Folder) -> None:
    """One job is in the queue; the other is rejected by one limit after another."""
    limits = "QOSMaxSubmitJobPerUserLimit", "AssocMaxSubmitJobLimit", "AssocGrpSubmitJobsLimit"
    says = [*(f"sbatch: error: {limit}\n{_POLICY}" for limit in limits), _POLICY]
    folder.plan({str(n): {"state": "", "says": text} for n, text in enumerate(says, 2)})
    code, printed = folder.run()
    assert code == 0, printed
    assert len(folder.calls("sbatch")) == 6
    assert {call[call.index("--mem") + 1] for call in folder.calls("sbatch")} == {"100"}
    assert printed.count("SLURM accepts no more jobs for now. A job of rule make waits") == 1
    assert "Error in rule" not in printed


_SHOWS = """
onstart:
    for handler in logger.handlers:
        for item in handler.filters:
            item.jobs_started = True
"""


@pytest.mark.parametrize(
    ("says", "outer"),
    [
        (f"sbatch: error: QOSMaxWallDurationPerJobLimit\n{_POLICY}", ""),
        (_POLICY, ""),  # with no job in the queue, the job itself is too large
        (_POLICY, "77"),  # one around Snakemake leaves no room by ending, as with slurm/head.sh
        (f"{_FAILED}Invalid account or account/partition", ""),
    ],
    ids=["named", "unnamed", "around", "account"],
)
def test_what_slurm_rejects_ends_at_the_first_attempt_with_one_sentence(
    folder: _Folder, says: str, outer: str
) -> None:
    beginning = "from workflow.console import show_essentials\nshow_essentials(workflow)\n"
    (folder.path / "Snakefile").write_text(beginning + _SNAKEFILE + _SHOWS)
    folder.plan({str(number): {"state": "", "says": says} for number in range(1, 9)})
    if outer:  # it is in the queue as long as Snakemake waits
        (folder.path / "programs/queue").write_text(f"{outer}|RUNNING|head|none|{folder.path}\n")
    code, printed = folder.run("--keep-going", outer=outer)
    assert code == 1
    assert "accepts no more jobs" not in printed
    assert "does not answer" not in printed
    assert len(folder.calls("sbatch")) == 2, "two jobs, each once"
    (line,) = [line for line in printed.splitlines() if "SLURM rejects" in line]
    reason = says.splitlines()[-1].removeprefix(_FAILED)
    assert line.startswith("SLURM rejects jobs of rule make: ")
    assert f"{reason}; " in line
    assert line.endswith(" in slurm/config.yaml, then start again.") or "`sacctmgr show" in line
    assert "Error in rule" not in printed
    assert "sbatch" not in printed


def test_other_errors_of_the_controller_take_no_attempt(folder: _Folder) -> None:
    says = [
        f"{_FAILED}Unexpected message received",
        f"{_FAILED}Slurm backup controller in standby mode",
        "sbatch: error: slurm_load_jobs error: controller not responding",
    ]
    folder.plan({str(n): {"state": "", "says": text} for n, text in enumerate(says, 1)})
    code, printed = folder.run()
    assert code == 0, printed
    assert len(folder.calls("sbatch")) == 5
    assert "Error in rule" not in printed


def test_preemption_takes_no_attempt(folder: _Folder) -> None:
    folder.plan({str(number): {"state": "PREEMPTED"} for number in range(1, 6)})
    code, printed = folder.run()
    assert code == 0, printed
    assert len(folder.calls("sbatch")) == 7, "more often than retries allow"
    assert {call[call.index("--mem") + 1] for call in folder.calls("sbatch")} == {"100"}


def test_job_that_fails_in_the_grace_time_of_a_preemption_takes_no_attempt(
    folder: _Folder,
) -> None:
    once = {"state": "FAILED", "preempted": "2026-11-28T08:41:45"}
    folder.plan({str(number): once for number in range(1, 6)})
    code, printed = folder.run()
    assert code == 0, printed
    assert len(folder.calls("sbatch")) == 7, "more often than retries allow"
    assert "Error in rule" not in printed


def test_failure_has_its_reason_and_excludes_no_node(folder: _Folder) -> None:
    said = "make: config, key a: it is wrong; correct it"
    folder.plan({"1": {"state": "FAILED", "log": f"x\n{said}\n"}, "2": {"state": "NODE_FAIL"}})
    code, printed = folder.run()
    assert code == 0, printed
    assert re.search(rf"SLURM job \d+ ended as FAILED\. {said}", printed)
    assert re.search(r"SLURM job \d+ ended as NODE_FAIL", printed)
    assert not [word for call in folder.calls("sbatch") for word in call if "--exclude" in word]


def test_a_failed_attempt_is_one_line_on_the_terminal(folder: _Folder) -> None:
    beginning = "from workflow.console import show_essentials\nshow_essentials(workflow)\n"
    (folder.path / "Snakefile").write_text(beginning + _SNAKEFILE)
    said = "make: config, key a: it is wrong; correct it"
    folder.plan({"1": {"state": "FAILED", "log": f"x\n{said}\n"}})
    code, printed = folder.run()
    assert code == 0, printed
    line = rf"^Error in rule make, see \S+/1\.log: SLURM job 1 ended as FAILED\. {said}\nTrying to"
    assert re.search(line, printed, re.MULTILINE), printed


def test_interrupt_cancels_by_name(folder: _Folder) -> None:
    folder.plan({"1": {"state": "RUNNING"}, "2": {"state": "", "says": _AWAY}})
    process = folder.start()
    while len(folder.calls("sbatch")) < 2:
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 1, printed
    assert time.monotonic() - started < 60, "it waits for no question and no submission"
    (name,) = {call[call.index("--job-name") + 1] for call in folder.calls("sbatch")}
    assert folder.calls("scancel") == [[f"--name={name}"]]


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("make: first\nmake: own sentence\nslurmstepd: error: CANCELLED", "make: own sentence"),
        (
            "a\nslurmstepd-c1: error: DUE TO TIME LIMIT\nb",
            "slurmstepd-c1: error: DUE TO TIME LIMIT",
        ),
        ("srun: error: c1: task 0: Out Of Memory", "srun: error: c1: task 0: Out Of Memory"),
        ("nothing", ""),
    ],
)
def test_reason(log: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "1.log").write_text(log)
    assert reason(tmp_path / "1.log", "make") == expected
    assert reason(tmp_path / "none.log", "make") == ""


def test_a_first_attempt_requests_the_time_that_it_should_need(folder: _Folder) -> None:
    (folder.path / "Snakefile").write_text(
        _SNAKEFILE.replace("runtime=1", "runtime=480") + "from workflow import predict\n"
        "predict.expected_seconds = lambda workflow: {\n"
        "    job: 100.0 if 'a' in job.output else 9e4 for job in workflow.dag.jobs\n"
        "    if job.rule.name == 'make'\n"
        "}\n"
    )
    folder.plan({"1": {"state": "TIMEOUT"}, "2": {"state": "TIMEOUT"}})
    code, printed = folder.run()
    assert code == 0, printed
    limits = [
        (call[call.index("--comment") + 1][-1], call[call.index("-t") + 1])
        for call in folder.calls("sbatch")
    ]
    assert sorted(limits[:2]) == [("a", "37"), ("b", "480")]  # 30 min and four times 100 s
    assert sorted(limits[2:]) == [("a", "480"), ("b", "480")]


_SEEDS = """
from workflow import predict, slurm
slurm.install()
predict.expected_seconds = lambda workflow: {
    job: 1e4 if job.wildcards.get("run") == "long" else 60.0 for job in workflow.dag.jobs
}
rule all:
    input: "long/1", "long/2", "short/1", "short/2", "short/3"
rule train:
    output: "{run}/{seed}"
    log: "logs/{run}/{seed}.log"
    threads: 2
    resources: mem_mb=100, runtime=480, gpu=1, attempt=lambda wildcards, attempt: attempt
    shell:
        "echo {wildcards.run} {wildcards.seed} >> started;"
        " [ {wildcards.run}{wildcards.seed}{resources.attempt} != short21 ];"
        " touch {output};"
        " echo '{{\\"ended\\": \\"done\\"}}' > logs/{wildcards.run}/{wildcards.seed}.attempt.json"
"""


def test_short_seeds_share_a_job_and_one_that_fails_runs_alone(folder: _Folder) -> None:
    (folder.path / "Snakefile").write_text(_SEEDS)
    folder.plan(state="by running")
    code, printed = folder.run("seeds_per_job=2", "--keep-going", "--printshellcmds")
    assert code == 0, printed
    calls = [
        (
            " ".join(map("".join, re.findall(r"train:run=(\w+),seed=(\d)", call[-1]))),
            *(call[call.index(option) + 1] for option in ("-t", "--mem")),
            *re.findall(r"--cores (\S+)", call[-1]),
            # One Snakemake, in a step with the CPUs of all.
            *re.findall(r"srun .*--cpus-per-task=(\d).* -m snakemake .*--executor local", call[-1]),
        )
        for call in folder.calls("sbatch")
    ]
    # Half an hour and four times what both should take; memory and CPUs of both.
    assert sorted(calls) == [
        ("long1", "480", "100", "'all'", "2"),
        ("long2", "480", "100", "'all'", "2"),
        ("short1 short2", "38", "200", "4", "4"),
        ("short2", "480", "100", "'all'", "2"),
        ("short3", "34", "100", "'all'", "2"),
    ]
    assert all("--gpus=1" in call for call in folder.calls("sbatch"))
    started = sorted((folder.path / "started").read_text().splitlines())
    assert started == ["long 1", "long 2", "short 1", "short 2", "short 2", "short 3"]


def test_seeds_whose_job_fits_no_node_are_submitted_alone(folder: _Folder) -> None:
    (folder.path / "Snakefile").write_text(_SEEDS)
    rejected = {"says": "sbatch: error: Memory specification can not be satisfied", "state": ""}
    folder.plan({"1": rejected}, state="by running")
    code, printed = folder.run("seeds_per_job=2", "--retries=0", "--", "short/1", "short/3")
    assert code == 0, printed
    assert "SLURM rejects a job of 2 seeds of rule train, which are submitted alone" in printed
    assert "Memory specification can not be satisfied" in printed
    memory = [call[call.index("--mem") + 1] for call in folder.calls("sbatch")]
    assert memory == ["200", "100", "100"]


_RULE = """
rule {name}:
    output: "{name}"
    resources: {gpu} mem_mb=100, runtime=1
    shell: "exit 1"
"""
_PROFILE = (ROOT / "slurm/config.yaml").read_text()
_RECIPES = re.findall(r"^#   (\{.*\}) +(-[^,]+|no GPU)", _PROFILE, re.MULTILINE)


def test_the_profile_has_recipes() -> None:
    assert [becomes for _, becomes in _RECIPES] == [
        "--gpus=a100:1",
        "-C 'a100|h100'",
        "--gres=gpu:a100:1",
        "no GPU",
    ]


def test_a_recipe_of_the_profile_reaches_jobs_with_a_gpu(folder: _Folder) -> None:
    gpus = {"count": "", **{f"train{number}": "gpu=1," for number in range(len(_RECIPES))}}
    rules = "".join(_RULE.format(name=name, gpu=gpu) for name, gpu in gpus.items())
    (folder.path / "Snakefile").write_text(f"from workflow import slurm\nslurm.install()\n{rules}")
    (folder.path / "profile").mkdir()
    recipes = [f"  train{number}: {recipe}\n" for number, (recipe, _) in enumerate(_RECIPES)]
    profile = f"slurm-qos: long\nslurm-reservation: course\nset-resources:\n{''.join(recipes)}"
    (folder.path / "profile/config.yaml").write_text(profile)
    code, printed = folder.run("--profile", "profile", "--", *gpus)
    assert code == 0, printed
    calls = {re.findall(r"rule_(\w+)", " ".join(call))[0]: call for call in folder.calls("sbatch")}
    assert calls.keys() == gpus.keys()
    for number, (_, becomes) in enumerate(_RECIPES):
        call = calls[f"train{number}"]
        option = "" if becomes == "no GPU" else becomes.replace("'", "")
        assert len(_gpu_options(call)) == bool(option)
        assert option in " ".join(call)
    assert not [*_gpu_options(calls["count"]), *({"-C"} & {*calls["count"]})]
    for call in calls.values():
        assert {"--qos=long", "--reservation=course"} <= set(call)


def _gpu_options(call: list[str]) -> list[str]:
    return [word for word in call if word.startswith(("--gpus", "--gres"))]


def test_the_profile_names_every_rule_with_a_gpu() -> None:
    block = re.search(r"^# (set-resources:\n(?:#   .*\n)+)", _PROFILE, re.MULTILINE)
    assert block is not None
    named = yaml.safe_load(block[1].replace("\n# ", "\n"))["set-resources"]
    files = [ROOT / "config/config.yaml", *ROOT.glob("config/papers/*.yaml")]
    requests = [yaml.safe_load(path.read_text()).get("resources") or {} for path in files]
    with_gpu = {rule for by_rule in requests for rule, asked in by_rule.items() if asked.get("gpu")}
    asks: dict[str, str] = {}  # a rule's key of the config; that of the rule that it changes
    for path in sorted(ROOT.glob("workflow/rules/*.smk")):
        head = r"^(?:use rule (\w+) as|rule) (\w+)(?: with)?:\n((?:    .*\n|\n)+)"
        for old, rule, block in re.findall(head, path.read_text(), re.MULTILINE):
            key = re.search(r'plan\.resources\("(\w+)"\)', block)
            asks[rule] = key[1] if key else asks.get(old, "")
    assert with_gpu <= set(asks.values())
    assert named.keys() == {rule for rule, key in asks.items() if key in with_gpu}


_PARTITION = (
    "PartitionName={} Default={} MaxTime={} MaxMemPerNode=UNLIMITED MaxCPUsPerNode=UNLIMITED"
)
_NODE = "NodeName={} CPUEfctv={} CPUTot={} RealMemory={} MemSpecLimit=24 Gres={} Partitions={}"
_SITE = {
    "partition": "\n".join(
        [
            _PARTITION.format("cpu", "YES", "00:30:00"),
            _PARTITION.format("long", "NO", "UNLIMITED"),
            _PARTITION.format("gpu", "NO", "1-00:00:00"),
        ]
    ),
    "node": "\n".join(
        [
            _NODE.format("c1", 4, 4, 274, "(null)", "cpu,long"),
            _NODE.format("c2", 2, 2, 1024, "(null)", "cpu"),
            _NODE.format("g1", 8, 8, 2024, "gpu:nvidia_a100-sxm4-40gb:4(S:0-1)", "gpu"),
        ]
    ),
}
_FITS = """
import os
from workflow import slurm
slurm.install()
rule make:
    output: "{name}"
    resources:
        mem_mb=lambda wildcards, attempt: config.get("mem", 100) * attempt,
        runtime=lambda wildcards, attempt: config.get("minutes", 10) * attempt,
        gpu=lambda wildcards: config.get("gpu", 0),
    threads: config.get("threads", 1)
    shell: "exit 1"
"""


def _with_site(folder: _Folder, partitions: str, **plan: object) -> list[str]:
    """Options for a profile with these partitions, at a cluster with those above."""
    (folder.path / "Snakefile").write_text(_FITS)
    (folder.path / "partitions.yaml").write_text(f"partitions: {partitions}\n")
    folder.plan(site=_SITE, **plan)  # type: ignore[arg-type]
    return ["--slurm-partition-config", "partitions.yaml", "--cores", "64"]


def _requested(call: list[str]) -> tuple[str, ...]:
    return tuple(call[call.index(option) + 1] for option in ("-p", "--mem", "-t"))


def test_what_a_retry_requests_grows_up_to_what_a_node_and_a_partition_have(
    folder: _Folder,
) -> None:
    options = _with_site(folder, "{cpu: {}, long: {}}", state="FAILED")
    code, printed = folder.run(*options, "--retries=3", "--config", "mem=400", "--", "a")
    assert code == 1, printed
    # c1 has less than the first attempt needs, and c2 is only in `cpu`.
    assert [_requested(call) for call in folder.calls("sbatch")] == [
        ("cpu", "400", "10"),
        ("cpu", "800", "20"),
        ("cpu", "1000", "30"),
        ("cpu", "1000", "30"),
    ]


def test_a_job_that_fits_no_partition_is_rejected_before_anything_runs(folder: _Folder) -> None:
    """tests/unit/test_site.py has the limits one by one."""
    options = _with_site(folder, "{cpu: {}, gpu: {max_gpu: 4}}")
    code, printed = folder.run(*options, "--config", "minutes=60", "--", "a", "b")
    assert code == 1
    assert re.search(
        r"^make \(name [ab]\) requests runtime 60, but cpu allows 30 minutes \(SLURM's MaxTime\): "
        r"change rule make, or the partitions in slurm/config.yaml.$",
        printed,
        re.MULTILINE,
    )
    assert folder.calls("sbatch") == []


def test_a_reason_to_wait_that_does_not_end_by_itself_is_named(folder: _Folder) -> None:
    """By reason with the number of jobs, and again; a job that waits for its turn is no reason."""
    (folder.path / "Snakefile").write_text(
        _SNAKEFILE.replace('"a", "b"', '"a", "b", "c"')
        + "from workflow import squeue\nsqueue._REPEATED = 1\n"
    )
    waits = {"state": "PENDING", "reason": "ReqNodeNotAvail, UnavailableNodes:g[1-2]"}
    turn = {"state": "PENDING", "reason": "Priority"}
    folder.plan({"1": waits, "2": waits, "3": turn})
    process = folder.start()
    end = time.monotonic() + 120
    while len([call for call in folder.calls("squeue") if "%r" in " ".join(call)]) < 2:
        assert time.monotonic() < end
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    lines = [line for line in printed.splitlines() if "SLURM does not start" in line]
    assert len(lines) == 2, printed
    assert lines[0] == lines[1]
    assert lines[0].startswith(
        "SLURM does not start 2 jobs, such as 1, because of ReqNodeNotAvail, "
        "UnavailableNodes:g[1-2]: `sinfo -R` shows"
    )
    assert "Priority" not in printed


@pytest.mark.parametrize(
    "recipe",
    [
        "{gpu_model: nvidia_a100-sxm4-40gb}",
        "{gpu: 0, gres: \"'gpu:nvidia_a100-sxm4-40gb:1'\"}",
        "{mem_per_cpu: 1}",
    ],
)
def test_settings_that_the_plugin_lacks(folder: _Folder, recipe: str) -> None:
    options = _with_site(folder, "{cpu: {}, gpu: {max_gpu: 4}}", state="FAILED")
    (folder.path / "profile").mkdir()
    (folder.path / "profile/config.yaml").write_text(f"set-resources: {{make: {recipe}}}\n")
    more = ["--profile", "profile", "--retries=0", "--config", "gpu=1", "threads=3", "mem=1000"]
    folder.run(*options, *more, "--", "a")
    (call,) = folder.calls("sbatch")
    assert call[call.index("-p") + 1] == "gpu"
    if "a100" in recipe:
        assert "--gpus-per-node=nvidia_a100-sxm4-40gb:1" in call
        assert not [word for word in call if word.startswith(("--gpus=", "--gres"))]
    else:
        assert call[call.index("--mem-per-cpu") + 1] == "334"
        assert "--mem" not in call


def test_an_unknown_account_is_one_sentence_before_anything_runs(folder: _Folder) -> None:
    folder.plan()
    code, printed = folder.run("slurm_account=b")
    assert code == 1
    assert "slurm/config.yaml, key slurm_account: The given account b appears" in printed
    assert "Traceback" not in printed
    assert folder.calls("sbatch") == []
