"""Snakemake's SLURM executor for clusters that preempt, fail and pause.

Checked with snakemake-executor-plugin-slurm 2.8.0 (`CHECKED_WITH`; a test compares). The plugin's
loop loses its running jobs when SLURM does not answer, waits forever for preempted ones and for
ones that squeue no longer lists, and excludes a node that failed once, even when it has recovered
and is the only one that fits. docs/cluster.md describes what happens instead.
"""

import asyncio
import math
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from snakemake.api import ExecutorPluginRegistry
from snakemake.exceptions import WorkflowError
from snakemake_executor_plugin_slurm import Executor, SubmittedJobInfo
from snakemake_executor_plugin_slurm.job_status_query import (
    query_job_status,
    query_job_status_sacct,
    query_job_status_squeue,
)
from snakemake_executor_plugin_slurm.utils import get_job_wildcards

from workflow.job import SHARING, note_of, read_note
from workflow.sharing import SharedJob, members_of, shared

CHECKED_WITH = "2.8.0"
PAUSES = (10, 20, 40, 80, 160, 300, 300, 300, 300, 300)
"""Seconds between attempts of sbatch when SLURM does not answer: half an hour."""
FULL_PAUSE = 30
"""Seconds between attempts of sbatch when SLURM accepts no more jobs of this user."""
SLACK, LEAST_MINUTES = 4, 30
"""A first attempt requests so many times what it should take, and so many minutes in addition."""
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
FAILED = {
    *("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "REVOKED", "TIMEOUT"),
}
_ENDS = {*FAILED, "PREEMPTED"}
_Outcome = Literal["ended", "unanswered", "full"]
"""How an attempt to submit a job went: submitted or reported as an error, no answer, no room."""


def install() -> None:
    """Make Snakemake use :class:`PatientExecutor` for ``executor: slurm``."""
    ExecutorPluginRegistry().plugins["slurm"].executor = PatientExecutor


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


def require_programs() -> None:
    """Raise a WorkflowError if this machine lacks the programs that submit and list jobs."""
    if missing := [name for name in ("sbatch", "squeue") if not shutil.which(name)]:
        raise WorkflowError(
            f"SLURM is not on this machine ({' and '.join(missing)} not found): start on a login "
            "node of your cluster, or run here with --profile local --cores N."
        )


def jobs_of(folder: str, prefix: str, logger: Any) -> list[tuple[str, str]]:
    """Return name and state of queued jobs that an earlier run in the folder submitted.

    Raises a WorkflowError if SLURM does not answer for half an hour.
    """
    for pause in (*PAUSES, None):
        listing = ask("squeue", "--me", "--noheader", "--format=%j|%T|%Z")
        if listing is not None or pause is None:
            break
        logger.warning(f"SLURM does not answer squeue; next attempt in {pause} s.")
        time.sleep(pause)
    if listing is None:
        raise WorkflowError("SLURM has not answered squeue for half an hour; start again later.")
    rows = [line.split("|", 2) for line in listing.splitlines()]
    return [
        (name, state)
        for name, state, workdir in rows
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
        if {state for _, state in jobs} != {"COMPLETING"} or time.monotonic() > end:
            cancel = " && ".join(f"scancel --name={name}" for name in sorted({*dict(jobs)}))
            raise WorkflowError(
                f"SLURM has {len(jobs)} jobs of an earlier run in this folder ({folder}). A new "
                "run would submit their work again. If the Snakemake that started them is still "
                "running, leave it; otherwise cancel these jobs, and no others, with\n"
                f"    {cancel}\nand start again."
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


class PatientExecutor(Executor):  # type: ignore[misc]
    """Keeps a job until SLURM reports its end, and submits it whenever SLURM takes it."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        # Jobs of local rules need no scheduler, and no machine that has one.
        if not all(job.is_local for job in workflow.dag.needrun_jobs()):
            require_programs()
            prefix = workflow.executor_settings.jobname_prefix
            check_earlier_jobs(str(workflow.workdir_init), f"{prefix}_" if prefix else "", logger)
        from workflow.predict import expected_seconds  # imports pandas

        self._ending = threading.Event()
        self._submission = threading.local()
        self._submitted: set[str] = set()
        self._shared: set[str] = set()  # among these
        self._missed: dict[str, int] = {}
        self._silent = False
        self._expected = expected_seconds(workflow)
        super().__init__(workflow, logger)

    def run_jobs(self, jobs: Sequence[Any]) -> None:
        """Submit jobs, some of them as one job of SLURM."""
        alone = []
        for members in shared(jobs, self._expected):
            if len(members) == 1:
                alone += members
                continue
            for job in members:
                note_of(job.log[0]).unlink(missing_ok=True)  # of a run that was killed
                self.run_job_pre(job)
            self._job_submission_executor.submit(self.run_job, SharedJob(members))
        super().run_jobs(alone)

    @property
    def cores(self) -> Any:
        """CPUs of the Snakemake inside a job."""
        return getattr(self._submission, "cores", None) or super().cores

    def additional_general_args(self) -> str:
        """Return how the Snakemake inside a job runs: by srun, or several jobs as processes."""
        if getattr(self._submission, "cores", None):
            return "--executor local"
        arguments: str = super().additional_general_args()
        return arguments

    def get_job_exec_prefix(self, job: Any) -> str:
        """Return what precedes the Snakemake inside a job."""
        number = len(members_of(job))
        return f"export {SHARING}={number}" if number > 1 else ""

    def run_job(self, job: Any) -> None:
        """Submit a job; retry while no scheduler answers, or while it accepts no more jobs."""
        pauses = iter(PAUSES)
        pause: float | None = next(pauses)
        has_been_full = False
        outcome = self._submit(job, is_last=False)
        while outcome != "ended":
            is_full = outcome == "full"
            if is_full and not has_been_full:
                self.logger.info(
                    f"SLURM accepts no more jobs for now. A job of rule {job.name} waits; a lower "
                    "`jobs` in the profile leaves room for others."
                )
            elif not is_full:
                self.logger.warning(
                    f"SLURM does not answer. A job of rule {job.name} waits; next attempt in "
                    f"{pause} s, then at longer intervals, for half an hour in all."
                )
            has_been_full |= is_full
            if self._ending.wait(FULL_PAUSE if is_full else pause):
                return
            if not is_full:
                pause = next(pauses, None)
            outcome = self._submit(job, is_last=pause is None, again=True)

    def _shorten(self, job: Any) -> None:
        """Lower the time limit of a first attempt to what it should need: SLURM starts it sooner.

        An attempt that was too short is noted, resumes from its last checkpoint, and gets all.
        """
        members = members_of(job)
        if job.attempt == 1 and not job.is_group() and job in self._expected:
            seconds = sum(self._expected[member] for member in members)
            minutes = LEAST_MINUTES + math.ceil(SLACK * seconds / 60)
            for each in (job, *members):
                each.resources.runtime = min(each.resources.runtime, minutes)

    def _submit(self, job: Any, *, is_last: bool, again: bool = False) -> _Outcome:
        """Submit a job, unless an earlier attempt had succeeded; return how that went."""
        self._shorten(job)
        options = ("--noheader", "--states=all", "--format=%i|%k", "--name", self.run_uuid)
        listing = ask("squeue", *options) if again else ""  # id and comment, by line
        if listing is None and not is_last:
            return "unanswered"
        if accepted := self._accepted(job, listing or ""):
            self._report_job_submission_threadsafe(accepted)
            return "ended"
        self._submission.is_last, self._submission.outcome = is_last, "ended"
        self._submission.cores = job.threads if isinstance(job, SharedJob) else None
        super().run_job(job)
        outcome: _Outcome = self._submission.outcome
        return outcome

    def _report_job_error_threadsafe(self, job_info: SubmittedJobInfo, msg: str) -> None:
        """Report that a job was not submitted, unless it will be."""
        said = msg.partition("sbatch call:")[0]
        if accepts_no_more(said):
            self._submission.outcome = "full"
        elif NO_ANSWER.search(said) and not getattr(self._submission, "is_last", True):
            self._submission.outcome = "unanswered"
        elif isinstance(job_info.job, SharedJob) and not NO_ANSWER.search(said):
            # No node may have the memory of all: that takes no attempt of any.
            members = job_info.job.members
            self.logger.warning(
                f"SLURM rejects a job of {len(members)} seeds of rule {job_info.job.name}, which "
                f"are submitted alone. {said.strip()}"
            )
            for member in members:
                self._job_submission_executor.submit(self.run_job, member)
        else:
            for member in members_of(job_info.job):
                super()._report_job_error_threadsafe(replace(job_info, job=member), msg)

    def _report_job_submission_threadsafe(self, job_info: SubmittedJobInfo) -> None:
        self._submitted.add(job_info.external_jobid)
        if isinstance(job_info.job, SharedJob):
            self._shared.add(job_info.external_jobid)
        for member in members_of(job_info.job):
            super()._report_job_submission_threadsafe(replace(job_info, job=member))

    def _accepted(self, job: Any, listing: str) -> SubmittedJobInfo | None:
        """Return the job in SLURM if sbatch submitted it and only its answer was lost."""
        kind = f"{'group' if job.is_group() else 'rule'}_{job.name}"
        wildcards = get_job_wildcards(job)
        comment = f"{kind}_wildcards_{wildcards}" if wildcards else kind
        for line in listing.splitlines():
            number, _, text = line.partition("|")
            if text == comment and number not in self._submitted:
                log = self.slurm_logdir / kind / wildcards / f"{number}.log"
                self.logger.info(
                    f"Job {job.jobid} had been submitted with SLURM jobid {number} (log: {log})."
                )
                return SubmittedJobInfo(job, external_jobid=number, aux={"slurm_logfile": log})
        return None

    async def check_active_jobs(
        self, active_jobs: Sequence[SubmittedJobInfo]
    ) -> AsyncIterator[SubmittedJobInfo]:
        """Report the jobs that have ended; yield the others."""
        first = self.workflow.executor_settings.init_seconds_before_status_checks
        states = await self._states(active_jobs) if active_jobs else {}
        has_ended = False
        for job in active_jobs:
            state = states.get(job.external_jobid, "")
            is_shared = job.external_jobid in self._shared
            note = read_note(job.job.log[0]) if is_shared and state in _ENDS else {}
            if state == "COMPLETED" or note.get("ended") == "done":
                self.report_job_success(job)
            elif state == "PREEMPTED":
                # The attempt does not count. It resumes from its last checkpoint.
                self.logger.info(
                    f"SLURM job {job.external_jobid} of rule {job.job.name} was preempted; it is "
                    "resubmitted."
                )
                self._job_submission_executor.submit(self.run_job, job.job)
            elif state in FAILED:
                log = job.aux["slurm_logfile"]
                why = note.get("sentence") or reason(log, "" if is_shared else job.job.name)
                why = why or "It left no reason in its log."
                said = f"SLURM job {job.external_jobid} ended as {state}. {why}\n"
                self.report_job_error(job, msg=said, aux_logs=[str(log)])
            else:
                yield job
                continue
            has_ended = True
        pause = first
        if active_jobs and not has_ended:
            pause = min(self.next_seconds_between_status_checks + 10, 180)
        self.next_seconds_between_status_checks: float = pause

    async def _states(self, active_jobs: Sequence[SubmittedJobInfo]) -> dict[str, str]:
        """Return the states of this run's jobs by id, "CANCELLED by 0" as "CANCELLED".

        squeue lists a job only for some time after its end, so sacct is queried for the others. A
        job that neither lists, three times in a row, is FAILED.
        """
        uses_squeue = self.get_status_command() == "squeue"
        query = query_job_status_squeue if uses_squeue else query_job_status_sacct
        async with self.status_rate_limiter:
            states, _ = await query_job_status(query(self.run_uuid), self.logger)
        if self._silent != (states is None):
            self._silent = states is None
            self.logger.warning(
                "SLURM does not answer; its jobs continue, and it is queried again."
                if self._silent
                else "SLURM answers again."
            )
        if states is None:
            return {}
        missing = {job.external_jobid for job in active_jobs} - states.keys()
        if missing and uses_squeue:
            kept, _ = await query_job_status(query_job_status_sacct(self.run_uuid), self.logger)
            states = (kept or {}) | states
        missing -= states.keys()
        if uses_squeue:
            self._missed = {job: self._missed.get(job, 0) + 1 for job in missing}
            states |= {job: "FAILED" for job, times in self._missed.items() if times > 2}
        return {job: state.partition(" ")[0] for job, state in states.items()}

    async def sleep(self) -> None:
        """Pause between two status checks, or until the run ends."""
        end = time.monotonic() + self.next_seconds_between_status_checks
        while self.wait and time.monotonic() < end:
            await asyncio.sleep(0.5)

    def cancel(self) -> None:
        """Cancel all jobs of this run, including those that wait for submission."""
        self._ending.set()
        self._job_submission_executor.shutdown(cancel_futures=True)
        super().cancel()

    def cancel_jobs(self, active_jobs: Sequence[SubmittedJobInfo]) -> None:
        """Cancel by the name of the run: the list lacks jobs whose states are being queried."""
        if ask("scancel", f"--name={self.run_uuid}") is None:
            self.logger.error(
                "The jobs could not be cancelled. When SLURM answers again: "
                f"scancel --name={self.run_uuid}"
            )
