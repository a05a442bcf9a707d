"""What SLURM's programs answer: jobs of an earlier run, why jobs wait, why they are rejected."""

import os
import re
import shutil
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

PAUSES = (10, 20, 40, 80, 160, 300, 300, 300, 300, 300)
"""Seconds between attempts of sbatch when SLURM does not answer: half an hour."""
ENDING_LIMIT = 300
"""Seconds that a new run waits for cancelled jobs of the last one to end."""
NO_ANSWER = re.compile(
    "contact slurm controller|timed out|connection|connect failure|zero bytes|standby mode"
    "|temporarily un|unexpected message|not responding",
    re.IGNORECASE,
)
"""Messages of SLURM's programs without a scheduler, or with one that accepts no jobs."""
LIMIT = re.compile(r"\b(?:QOS|Assoc)\w+")
"""Limits in such messages, e.g. QOSMaxSubmitJobPerUserLimit or QOSMaxWallDurationPerJobLimit."""
OUTER_JOB = os.environ.get("SLURM_JOB_ID", "")
"""The job that Snakemake runs in, if it does; its plugin removes the variable."""


def ask(*command: str) -> str | None:
    """Return what a program of SLURM prints; none if it fails or takes more than a minute."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def accepts_no_more(message: str) -> bool:
    """Whether sbatch rejected a job that it will accept when others have left the queue.

    Older versions of SLURM and some sites name no limit, only the policy that was violated. With
    no job of this user in the queue, apart from one that Snakemake runs in, the job itself violates
    it.
    """
    if limits := LIMIT.findall(message):
        return any("Submit" in limit for limit in limits)
    if "accounting/QOS policy" not in message:
        return False
    queue = ask("squeue", "--me", "--noheader", "--format=%i") or ""
    return bool({*queue.split()} - {OUTER_JOB})


def was_preempted(job: str) -> bool:
    """Whether a job that failed was told to end in the grace time of a preemption.

    SLURM calls it FAILED if it ends within that time.
    """
    told = ask("squeue", "--noheader", "--states=all", f"--jobs={job}", "--Format=PreemptTime")
    return (told or "").strip() not in {"", "N/A", "None"}


def require_programs() -> None:
    """Raise a WorkflowError if this machine lacks the programs that submit and list jobs."""
    if missing := [name for name in ("sbatch", "squeue") if not shutil.which(name)]:
        raise WorkflowError(
            f"SLURM is not on this machine ({' and '.join(missing)} not found): start on a login "
            "node of your cluster, or run here with --profile local --cores N."
        )


def jobs_of(folder: str, prefix: str, logger: Any) -> list[tuple[str, str, str]]:
    """Return name, state and user of queued jobs that an earlier run in the folder submitted.

    Raises a WorkflowError if SLURM does not answer for half an hour.
    """
    for pause in (*PAUSES, None):
        listing = ask("squeue", "--noheader", "--format=%j|%T|%u|%Z")  # of all users
        if listing is not None or pause is None:
            break
        logger.warning(f"SLURM does not answer squeue; next attempt in {pause} s.")
        time.sleep(pause)
    if listing is None:
        raise WorkflowError("SLURM has not answered squeue for half an hour; start again later.")
    rows = [line.split("|", 3) for line in listing.splitlines()]
    return [
        (name, state, user)
        for name, state, user, workdir in rows
        if name.startswith(prefix) and os.path.realpath(workdir) == os.path.realpath(folder)
    ]


def check_earlier_jobs(folder: str, prefix: str, logger: Any) -> None:
    """Wait for cancelled jobs of an earlier run that are ending, up to `ENDING_LIMIT` seconds.

    If other jobs of it do the work of this one, a WorkflowError names the command that cancels
    exactly these.
    """
    end = time.monotonic() + ENDING_LIMIT
    was_logged = False
    while jobs := jobs_of(folder, prefix, logger):
        if {state for _, state, _ in jobs} != {"COMPLETING"} or time.monotonic() > end:
            names = sorted({name for name, _, _ in jobs})
            cancel = " && ".join(f"scancel --name={name}" for name in names)
            users = " and ".join(sorted({user for _, _, user in jobs}))
            raise WorkflowError(
                f"SLURM has {len(jobs)} jobs of an earlier run in this folder ({folder}), of user "
                f"{users}. A new run would submit their work again. If the Snakemake that started "
                "them is still running, leave it; otherwise cancel these jobs, and no others, "
                f"with\n    {cancel}\nand start again."
            )
        if not was_logged:
            logger.info(f"Waiting for {len(jobs)} cancelled jobs of the last run to end.")
            was_logged = True
        time.sleep(2)


def reason(log: Path, rule: str) -> str:
    """Return the last error of a job, else SLURM's; empty if there is none.

    Without the name of a rule, only SLURM's: a job of several logs the errors of all.
    """
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for start in (*([f"{rule}: "] if rule else []), "slurmstepd", "srun: error: "):
        if matches := [line for line in lines if line.startswith(start)]:
            return matches[-1]
    return ""


_ENDS_ITSELF = re.compile(
    "None|Priority|Resources|Dependency|BeginTime|Cleaning|Licenses|Prolog|JobArrayTaskLimit"
    "|ReqNodeNotAvail, May be reserved.*"
)
"""Reasons of squeue for a job that waits for its turn."""
_REPEATED = 600
"""Seconds after which the reason why jobs wait is logged again."""
_FIXES = (
    (r"[Pp]artition ?name|partition specified", "correct `partitions` in {profile} (`sinfo -s`)"),
    (r"[Aa]ccount(?!ing)", "correct `slurm_account` in {profile} (`sacctmgr show user $USER -s`)"),
    (
        r"inactive or drain|PartitionDown|PartitionInactive",
        "wait until `sinfo` shows it as up, or list another under `partitions` in {profile}",
    ),
    (
        "QOS|QoS|qos|Assoc|policy",
        "`sacctmgr show qos` and `sacctmgr show associations` list limits; "
        "lower what the job requests, or choose another `slurm-qos` in {profile}",
    ),
    (
        "PartitionTimeLimit|time limit",
        "lower its `runtime` under `resources` in the config, or list "
        "a partition that allows more in {profile}",
    ),
    (
        "UnavailableNodes|DOWN, DRAINED|ReqNodeNotAvail",
        "`sinfo -R` shows since when and why; wait "
        "for the nodes, or list another partition in {profile}",
    ),
    ("^JobHeldUser", "`scontrol release` starts it, `scancel` ends it"),
    ("^JobHeldAdmin", "ask the administrators of your cluster"),
    (
        "[Rr]eservation",
        "correct `slurm-reservation` in {profile}, or wait until it begins "
        "(`scontrol show reservation`)",
    ),
    ("feature|Constraint", "correct `constraint` in {profile} (`sinfo -o '%N %f'`)"),
    (
        "node configuration|Memory spec|PartitionConfig|[Gg]res|TRES",
        "lower what its rule requests "
        "under `resources` in the config, or correct the partitions and GPU types in {profile} "
        "(`sinfo -o '%P %c %m %G'`)",
    ),
)
PROFILE = "slurm/config.yaml"
REJECTED = "SLURM rejects this job"
"""Begins the message about each job that sbatch rejects."""


def fix_of(said: str) -> str:
    """Return what a user can do about a job that SLURM rejects or does not start."""
    fixes = (fix for pattern, fix in _FIXES if re.search(pattern, said))
    return next(fixes, "correct what the job requests").format(profile=PROFILE)


def rejection(message: str) -> str:
    """Return what sbatch says, without its name and the words that say that it failed."""
    lines = (line.strip(" .'") for line in message.splitlines())
    said = (
        re.sub("^sbatch: (error|fatal): (Batch job submission failed: )?", "", it) for it in lines
    )
    return ". ".join(dict.fromkeys(filter(None, said)))


class Waiting:
    """Logs why jobs of a run wait, if that does not end by itself: a line by reason."""

    def __init__(self, run: str, logger: Any) -> None:
        self._run, self._logger = run, logger
        self._logged: dict[str, float] = {}

    def look(self) -> None:
        """Ask SLURM, and log each reason at first and then every ten minutes."""
        options = ("--noheader", "--states=PENDING,RUNNING", "--format=%T|%i|%r")
        listing = ask("squeue", *options, "--name", self._run) or ""
        rows = [row.split("|", 2) for row in listing.splitlines()]
        is_running = any(state == "RUNNING" for state, _, _ in rows)
        waiting = defaultdict(list)
        for state, number, reason in rows:
            # A limit of a user ends with jobs of that user.
            is_limit = LIMIT.match(reason) and is_running
            if state == "PENDING" and not (_ENDS_ITSELF.fullmatch(reason) or is_limit):
                waiting[fix_of(reason)].append((number, reason))  # SLURM has several words for one
        for fix, jobs in waiting.items():
            if time.monotonic() - self._logged.get(fix, -_REPEATED) >= _REPEATED:
                self._logged[fix] = time.monotonic()
                (number, reason), plural = jobs[0], "s" * (len(jobs) > 1)
                self._logger.warning(
                    f"SLURM does not start {len(jobs)} job{plural}, such as {number}, because of "
                    f"{reason}: {fix}."
                )
