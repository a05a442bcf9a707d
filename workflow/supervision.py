"""What a running Snakemake does for its jobs beside scheduling them; `scheduler.smk` starts it.

- It passes signals on to their scripts. Snakemake keeps SIGTERM to itself and waits, and SLURM with
  proctrack/cgroup signals nothing but the first process of a step, which is a Snakemake.
- It deletes the resumable state of a training once its results have been accepted, not before.
- It reads the note that an attempt has left (`scripts/atlas_job.py`): an error that no retry can
  mend gets none, and the next attempt gets more of what was short.
- It locks the folder of results.
- It takes Snakemake's rate limiter out, whose timers pile up (docs/footguns.md).
"""

import json
import os
import shutil
import signal
import threading
from collections import defaultdict
from pathlib import Path

import psutil
from snakemake.exceptions import WorkflowError

from mbert_atlas.errors import AtlasError
from mbert_atlas.locks import take_lock
from workflow.scripts.atlas_job import note_of

_ENDS = defaultdict(list)
"""By rule and wildcards what failed attempts of this Snakemake were short of."""
_NEAR_LIMIT = 180.0
"""Seconds: who ends so shortly before the time limit, or in its last tenth, has run into it."""


def supervise(workflow, logger, results):
    """Begin, once jobs are about to start.

    Raises:
        WorkflowError: if another Snakemake makes results in this folder.
    """
    # Its rate limiter leaves one more timer, a thread, with every job that ends, and each wakes
    # the whole schedule once a second. No option switches it off.
    workflow.scheduler.job_rate_limiter = None
    # Where jobs run elsewhere, a main process that is terminated waits for all of them.
    signals = {signal.SIGINT} | ({signal.SIGTERM} if workflow.local_exec else set())
    if threading.current_thread() is threading.main_thread():
        pass_on(signals)
    if not workflow.is_main_process:
        return
    try:
        take_lock(Path(results) / ".lock", results)
    except AtlasError as error:
        raise WorkflowError(str(error)) from None
    for job in workflow.dag.jobs:
        if job.rule.params.get("state") and not workflow.dag.needrun(job):
            _forget(job)
    scheduler = workflow.scheduler
    for executor in filter(None, (scheduler._executor, scheduler._local_executor)):
        executor.handle_job_success = _then(executor.handle_job_success, _forget)
        executor.handle_job_error = _then(
            executor.handle_job_error, lambda job: _learn(job, logger)
        )


def pass_on(signals):
    """Pass signals that this process gets on to the scripts of its jobs, as SIGTERM."""
    ears, voice = os.pipe()
    os.set_blocking(voice, False)
    signal.set_wakeup_fd(voice, warn_on_full_buffer=False)  # beside Snakemake's own handlers

    def listen():
        while number := os.read(ears, 1):
            if number[0] in signals:
                for script in _scripts():
                    script.terminate()

    threading.Thread(target=listen, daemon=True).start()


def _scripts():
    """The running scripts of this process's jobs.

    Not the shells around them, which would die, and the job be over before anything is saved.
    """
    for process in psutil.Process().children(recursive=True):
        try:
            if Path(*process.cmdline()[1:2]).parent.parts[-2:] == (".snakemake", "scripts"):
                yield process
        except psutil.Error:  # it has just ended
            continue


def _then(first, second):
    def both(job):
        first(job)
        for member in job.jobs if job.is_group() else [job]:
            second(member)

    return both


def _forget(job):
    """Delete what a job whose outputs were accepted has left in case they would not be."""
    if state := job.params.get("state"):
        shutil.rmtree(state, ignore_errors=True)
    for log in job.log:
        note_of(log).unlink(missing_ok=True)


def _learn(job, logger):
    """Note why an attempt failed; give up where another one would fail as well."""
    note = _read(job)
    what = short_of(note, job.resources.get("runtime"))
    _ENDS[job.rule.name, str(job.wildcards)].append(what)
    if note.get("ended") == "final" and job.restart_times >= job.attempt:
        logger.error(f"{job.rule.name}: it is not tried again, as that would change nothing.")
        job.attempt = job.restart_times + 1


def _read(job):
    for log in job.log:
        try:
            note = json.loads(note_of(log).read_text(encoding="utf-8"))
            note_of(log).unlink()
            return note
        except (OSError, ValueError):
            break
    return {}


def short_of(note, minutes):
    """What an attempt was short of: "time", "memory", "nothing", or None if that is not known.

    Args:
        note: what it has left, see `scripts/atlas_job.py`; empty if it has not begun.
        minutes: its time limit, or none.
    """
    if not note:
        return None
    left = minutes * 60 - note["seconds"] if isinstance(minutes, int) else float("inf")
    if note["ended"] != "failed" and left < max(_NEAR_LIMIT, 0.1 * (left + note["seconds"])):
        return "time"
    # Killed without a word, or failed: SLURM and Python tell lack of memory in many ways.
    return "nothing" if note["ended"] in ("stopped", "done", "final") else "memory"


def growth(what, rule, wildcards, attempt):
    """The factor for memory or time: one more for each attempt that ended for lack of it.

    An attempt of which nothing is known counts for both.
    """
    ends = _ENDS[rule, str(wildcards)]
    known = [*ends, *[None] * attempt][: attempt - 1]
    return 1 + sum(item in (what, None) for item in known)
