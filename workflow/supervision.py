"""What the main process does for running jobs, in addition to scheduling them.

- It forwards signals to their scripts. Snakemake only waits on SIGTERM, and SLURM with
  proctrack/cgroup signals only the first process of a step, which is a Snakemake.
- It deletes the resumable state of a training once its results are accepted, not before.
- It reads the note of a failed attempt (`job.py`): an unrecoverable error is not
  retried, and the next attempt gets more of what ran short.
- It locks the folder of results.
- It disables Snakemake's default rate limit, whose timers pile up (docs/footguns.md).
"""

import os
import shutil
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import psutil
from snakemake.exceptions import WorkflowError

from mbert_atlas.errors import AtlasError, FullDiskError
from mbert_atlas.files import require_space
from mbert_atlas.locks import take_lock
from workflow.forking import RUNNING
from workflow.job import note_of, read_note

Shortage = Literal["time", "memory", "nothing"] | None
ENDS: dict[Any, tuple[str, str]] = {}
"""By job, the state in which SLURM ended its last attempt, and what was reported."""
REASONS: dict[Any, str] = {}
"""By job, a sentence on why its last attempt failed."""
_SHORTAGES: defaultdict[tuple[str, str], list[Shortage]] = defaultdict(list)
"""By rule and wildcards, what the failed attempts of this Snakemake were short of."""
_DEFAULT_LIMIT = (100, 1)
"""Jobs, and seconds, of Snakemake's default max-jobs-per-timespan."""
_NEAR_LIMIT = 180.0
"""Seconds before the time limit (or its last tenth) in which an attempt counts as timed out."""


def supervise(workflow: Any, logger: Any, results: str) -> None:
    """Supervise jobs that are about to start; a WorkflowError if others write to the results."""
    # The rate limiter leaves one timer thread per finished job, each of which triggers the whole
    # schedule once per timespan. No option disables it. A limit that a user set stays.
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == _DEFAULT_LIMIT:
        workflow.scheduler.job_rate_limiter = None
    pass_signals(workflow)
    try:
        require_space(Path(results))
        take_lock(Path(results) / ".lock", results)
    except AtlasError as error:
        raise WorkflowError(str(error)) from None
    for job in workflow.dag.jobs:
        if job.rule.params.get("state") and not workflow.dag.needrun(job):
            _forget(job)
    on_success(workflow, _forget)
    for executor in _executors(workflow):
        executor.handle_job_error = _then(
            executor.handle_job_error, lambda job: _learn(job, results, logger)
        )


def on_success(workflow: Any, action: Callable[[Any], None]) -> None:
    """Call a function with each job whose results have been accepted."""
    for executor in _executors(workflow):
        executor.handle_job_success = _then(executor.handle_job_success, action)


def _executors(workflow: Any) -> Iterator[Any]:
    scheduler = workflow.scheduler
    return filter(None, (scheduler._executor, scheduler._local_executor))


def pass_signals(workflow: Any) -> None:
    """Forward SIGINT and SIGTERM of this process to the scripts of its jobs, as SIGTERM.

    If jobs run elsewhere, a main process that gets SIGTERM waits for all of them.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    signals = {signal.SIGINT} | ({signal.SIGTERM} if workflow.local_exec else set())
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    # The wakeup descriptor leaves Snakemake's handlers in place.
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def listen() -> None:
        while number := os.read(reader, 1):
            if number[0] in signals:
                for script in (*_scripts(), *RUNNING):
                    script.terminate()

    threading.Thread(target=listen, daemon=True).start()


def _scripts() -> Iterator[psutil.Process]:
    """Yield the running scripts of this process's jobs.

    Not the shells around them: their end would end the job before anything is saved.
    """
    for process in psutil.Process().children(recursive=True):
        try:
            if Path(*process.cmdline()[1:2]).parent.parts[-2:] == (".snakemake", "scripts"):
                yield process
        except psutil.Error:  # it has just ended
            continue


def _then(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    def both(job: Any) -> None:
        first(job)
        for member in job.jobs if job.is_group() else [job]:
            second(member)

    return both


def _forget(job: Any) -> None:
    """Delete the state and the notes of a job whose outputs were accepted."""
    if state := job.params.get("state"):
        shutil.rmtree(state, ignore_errors=True)
    for log in job.log:
        note_of(log).unlink(missing_ok=True)


def _learn(job: Any, results: str, logger: Any) -> None:
    """Record why an attempt failed; give up if another one would fail as well."""
    note = read_note(job.log[0]) if job.log else {}
    for log in job.log:
        note_of(log).unlink(missing_ok=True)
    end, why = ENDS.pop(job, ("", ""))
    attempts = _SHORTAGES[job.rule.name, str(job.wildcards)]
    attempts.append(short_of(note, job.resources.get("runtime"), end))
    is_final = note.get("ended") == "final"
    REASONS[job] = note.get("sentence") or why
    if not note:  # a full disk has no space for it
        try:
            require_space(Path(results))
        except FullDiskError as error:
            is_final, REASONS[job] = True, str(error)
    if is_final and job.restart_times >= job.attempt:
        logger.error(f"{job.rule.name}: not retried, as that would change nothing.")
        give_up(job)


def give_up(job: Any) -> None:
    """Make the current attempt of a job its last one."""
    job.attempt = job.restart_times + 1


def short_of(note: Mapping[str, Any], minutes: Any, end: str = "") -> Shortage:
    """Return what an attempt was short of; none if that is unknown.

    ``note`` is the job's, ``minutes`` its time limit, ``end`` the state in which SLURM ended it.
    """
    how = note.get("ended")
    if end == "OUT_OF_MEMORY" or how == "memory":
        return "memory"
    if end == "TIMEOUT":
        return "time"
    if not note:
        return "nothing" if end else None
    left = minutes * 60 - note["seconds"] if isinstance(minutes, int) else float("inf")
    is_late = left < max(_NEAR_LIMIT, 0.1 * (left + note["seconds"]))
    if is_late and how in (None, "stopped", "done"):
        return "time"
    # The kernel ends what takes too much memory without a word, and so do some sites.
    return "memory" if how is None and end in ("", "FAILED") else "nothing"


def growth(what: str, rule: str, wildcards: Any, attempt: int) -> int:
    """Return the factor for memory or time: 1 plus the number of attempts that were short of it."""
    # An attempt without a note counts for both.
    ends = [*_SHORTAGES[rule, str(wildcards)], *[None] * attempt][: attempt - 1]
    return 1 + sum(end in (what, None) for end in ends)
