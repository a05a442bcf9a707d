"""Snakemake's SLURM executor for clusters that preempt, fail and pause.

Checked with snakemake-executor-plugin-slurm 2.8.0 (`CHECKED_WITH`; a test compares). The plugin's
loop loses its running jobs when SLURM does not answer, waits forever for preempted ones and for
ones that squeue no longer lists, and excludes a node that failed once, even when it has recovered
and is the only one that fits. docs/cluster.md describes what happens instead.
"""

import asyncio
import math
import re
import threading
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
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
from snakemake_executor_plugin_slurm_jobstep import get_cpu_setting

from workflow.job import SHARING, note_of, read_note
from workflow.sharing import Submission, shared
from workflow.site import Site, read_site
from workflow.squeue import (
    NO_ANSWER,
    PAUSES,
    PROFILE,
    REJECTED,
    Waiting,
    accepts_no_more,
    ask,
    check_earlier_jobs,
    fix_of,
    reason,
    rejection,
    require_programs,
    was_preempted,
)
from workflow.supervision import ENDS, give_up

CHECKED_WITH = "2.8.0"
FULL_PAUSE = 30
"""Seconds between attempts of sbatch when SLURM accepts no more jobs of this user."""
SLACK, LEAST_MINUTES = 4, 30
"""A first attempt requests so many times what it should take, and so many minutes in addition."""
FAILED = {
    *("BOOT_FAIL", "CANCELLED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "REVOKED", "TIMEOUT"),
}
OUT_OF_MEMORY = re.compile("oom|out of memory|exceeded .*memory", re.IGNORECASE)
"""How slurmstepd and srun report a job that had too little memory; its state is often FAILED."""
_Outcome = Literal["ended", "unanswered", "full"]
"""How an attempt to submit a job went: submitted or reported as an error, no answer, no room."""


def install() -> None:
    """Make Snakemake use :class:`PatientExecutor` for ``executor: slurm``."""
    ExecutorPluginRegistry().plugins["slurm"].executor = PatientExecutor


class PatientExecutor(Executor):  # type: ignore[misc]
    """Keeps a job until SLURM reports its end, and submits it whenever SLURM takes it."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        jobs = [job for job in workflow.dag.needrun_jobs() if not job.is_local]
        if jobs:  # local ones need no scheduler, and no machine that has one
            require_programs()
            prefix = workflow.executor_settings.jobname_prefix
            check_earlier_jobs(str(workflow.workdir_init), f"{prefix}_" if prefix else "", logger)
        from workflow.predict import expected_seconds  # imports pandas

        self._ending = threading.Event()
        self._submission = threading.local()
        self._submitted: set[str] = set()
        self._shared: set[str] = set()  # among these
        self._missed: dict[str, int] = {}
        self._rejections: set[str] = set()
        self._silent = False
        self._expected = expected_seconds(workflow)
        super().__init__(workflow, logger)
        self._waiting = Waiting(self.run_uuid, logger)
        # Else the plugin guesses an account from jobs of the past and warns three times. SLURM has
        # a default account for those that name none.
        self._fallback_account_arg = ""
        self._site = Site(self._partitions or [], read_site() if jobs else {})
        self._check(jobs)

    def _check(self, jobs: Sequence[Any]) -> None:
        """Raise a WorkflowError about an account or a request that SLURM would reject."""
        plan = self.workflow.globals.get("plan")
        self._site.check(jobs, plan.request_key if plan else lambda job: f"rule {job.rule.name}")
        for job in {job.resources.get("slurm_account"): job for job in jobs}.values():
            try:
                next(self.get_account_arg(job))
            except WorkflowError as error:
                said = " ".join(str(error).split())
                raise WorkflowError(f"{PROFILE}, key slurm_account: {said}") from None

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
            self._job_submission_executor.submit(self.run_job, Submission(members))
        super().run_jobs(alone)

    @property
    def cores(self) -> Any:
        """CPUs of the Snakemake inside a job."""
        job = self._submission.job
        return job.threads if job.is_shared else super().cores

    def additional_general_args(self) -> str:
        """Return that the Snakemake inside a job runs its scripts itself.

        The plugin has it start a step with a second Snakemake, which plans all once more.
        """
        return "--executor local"

    def get_python_executable(self) -> str:
        """Return what the batch script of a job starts: a step, not only Python.

        A step gets signals when they are sent, and so at the start of a grace time. A batch script
        gets them at its end, and its shell does not forward them.
        """
        job, python = self._submission.job, super().get_python_executable()
        if job.resources.get("mpi"):  # of another workflow; it starts its own steps
            return str(python)
        cpus = get_cpu_setting(job, bool(job.resources.get("gpu")))
        return f"srun --ntasks=1 --nodes=1 --cpu-bind=quiet {cpus} {python}"

    def get_job_exec_prefix(self, job: Any) -> str:
        """Return what precedes the Snakemake inside a job."""
        number = len(job.members)
        return f"export {SHARING}={number}" if number > 1 else ""

    def run_job(self, job: Any) -> None:
        """Submit a job; retry while no scheduler answers, or while it accepts no more jobs."""
        job = job if isinstance(job, Submission) else Submission([job])
        self._shorten(job)
        if not self._site.place(job, self.logger) and job.is_shared:
            self.logger.info(
                f"No node has what {len(job.members)} seeds of rule {job.name} request together; "
                "they are submitted alone."
            )
            for member in job.members:
                self._job_submission_executor.submit(self.run_job, member)
            return
        job.translate()
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

    def _shorten(self, job: Submission) -> None:
        """Lower the time limit of a first attempt to what it should need: SLURM starts it sooner.

        An attempt that was too short is noted, resumes from its last checkpoint, and gets all.
        """
        if job.attempt == 1 and not job.is_group() and job in self._expected:
            seconds = sum(self._expected[member] for member in job.members)
            minutes = LEAST_MINUTES + math.ceil(SLACK * seconds / 60)
            for each in (job, *job.members):
                each.resources.runtime = min(each.resources.runtime, minutes)

    def _submit(self, job: Submission, *, is_last: bool, again: bool = False) -> _Outcome:
        """Submit a job, unless an earlier attempt had succeeded; return how that went."""
        options = ("--noheader", "--states=all", "--format=%i|%k", "--name", self.run_uuid)
        listing = ask("squeue", *options) if again else ""  # id and comment, by line
        if listing is None and not is_last:
            return "unanswered"
        if accepted := self._accepted(job, listing or ""):
            self._report_job_submission_threadsafe(accepted)
            return "ended"
        self._submission.is_last, self._submission.outcome = is_last, "ended"
        self._submission.job = job
        super().run_job(job)
        outcome: _Outcome = self._submission.outcome
        return outcome

    def _report_job_error_threadsafe(self, job_info: SubmittedJobInfo, msg: str) -> None:
        """Report that a job was not submitted, unless it will be.

        What SLURM rejects once it would reject again: that job gets no other attempt.
        """
        job, said = job_info.job, msg.partition("sbatch call:")[0]
        if accepts_no_more(said):
            self._submission.outcome = "full"
            return
        is_silent = NO_ANSWER.search(said)
        if is_silent and not getattr(self._submission, "is_last", True):
            self._submission.outcome = "unanswered"
            return
        why = rejection(said.partition("The error message was ")[2] or said)
        if job.is_shared and not is_silent:
            # No node may have the memory of all: that takes no attempt of any.
            self.logger.warning(
                f"SLURM rejects a job of {len(job.members)} seeds of rule {job.name}, which are "
                f"submitted alone. {why}"
            )
            for member in job.members:
                self._job_submission_executor.submit(self.run_job, member)
            return
        sentence = f"SLURM rejects jobs of rule {job.name}: {why}; {fix_of(why)}, then start again."
        if not is_silent and sentence not in self._rejections:
            self._rejections.add(sentence)
            self.logger.error(sentence)
        for member in job.members:
            if not is_silent:
                ENDS[member] = ("REJECTED", sentence)
                give_up(member)
            text = f"{REJECTED}: {why}\n" if not is_silent else f"{said}\n"
            super()._report_job_error_threadsafe(replace(job_info, job=member), text)

    def _report_job_submission_threadsafe(self, job_info: SubmittedJobInfo) -> None:
        self._submitted.add(job_info.external_jobid)
        if job_info.job.is_shared:
            self._shared.add(job_info.external_jobid)
        for member in job_info.job.members:
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
        if "PENDING" in states.values():
            self._waiting.look()
        has_ended = False
        for job in active_jobs:
            state = states.get(job.external_jobid, "")
            is_shared = job.external_jobid in self._shared
            note = (
                read_note(job.job.log[0]) if is_shared and state in {*FAILED, "PREEMPTED"} else {}
            )
            if state == "FAILED" and was_preempted(job.external_jobid):
                state = "PREEMPTED"
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
                if OUT_OF_MEMORY.search(reason(log, "")):
                    state = "OUT_OF_MEMORY"
                ENDS[job.job] = (state, said.strip())
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
