"""Snakemake's local executor with scripts that start by a fork instead of by imports.

A job's script imports torch and transformers, which takes more CPU time than most jobs of the demo.
Here the standard library's forkserver imports them once (`preload.py`), and each script is a fork
of that process, with the environment, log, signals, exit code and benchmark of one that Snakemake
starts. Others start as usual: of several threads, which libraries read when they are loaded; those
that need the network; in other environments; and if there is a GPU, or few jobs.
"""

import logging
import os
import runpy
import signal
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import forkserver, get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Lock
from typing import Any

import psutil
from snakemake.api import ExecutorPluginRegistry
from snakemake.benchmark import BenchmarkRecord, benchmarked, write_benchmark_records
from snakemake.exceptions import SpawnedJobError, WorkflowError
from snakemake.executors.local import Executor
from snakemake.iocontainers import Snakemake

from workflow.job import is_fetch

RUNNING: set[BaseProcess] = set()
"""The scripts that run now."""
_GPUS = ("/dev/nvidiactl", "/dev/kfd")
_THREADS = (
    *("OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"),
)
"""Variables in which Snakemake passes the threads of a job to its script."""
_lock = Lock()  # the multiprocessing module polls all processes whenever one starts


def install(scripts: Path, preload: str = "workflow.preload", least_jobs: int = 8) -> None:
    """Make Snakemake start the scripts of a folder by forks where it runs jobs on this machine.

    With fewer jobs the imports of ``preload`` would take longer than those of their scripts.
    """
    context = get_context("forkserver")
    # Else each process would import the main module of this one.
    context.set_forkserver_preload(["__main__", preload])
    ForkingExecutor.scripts, ForkingExecutor.least_jobs = scripts.resolve(), least_jobs
    ForkingExecutor.context = context
    ExecutorPluginRegistry().plugins["local"].executor = ForkingExecutor


def snakemake_of(job: Any) -> Snakemake:
    """Return the object that a job's script gets."""
    return Snakemake(
        job.input._plainstrings(),
        job.output._plainstrings(),
        job.params,
        job.wildcards,
        job.threads,
        job.resources,
        job.log._plainstrings(),
        job.rule.workflow.globals["config"],
        job.rule.name,
        None,
        str(script_of(job).parent),
    )


class ForkingExecutor(Executor):  # type: ignore[misc]
    """The local executor, whose ``scripts`` are forks of a process that has imported much."""

    scripts: Path
    least_jobs: int
    context: Any

    def __init__(self, workflow: Any, logger: Any) -> None:
        super().__init__(workflow, logger)
        settings = workflow.deployment_settings.deployment_method
        jobs = sum(1 for job in workflow.dag.needrun_jobs() if job.rule.script)
        self._forks = (
            workflow.local_exec
            and workflow.is_main_process
            and not settings
            and not workflow.execution_settings.debug
            and not workflow.output_settings.benchmark_extended
            and jobs >= self.least_jobs
            and not any(map(os.path.exists, _GPUS))
        )

    def run_single_job(self, job: Any) -> Any:
        """Start a job; return its future."""
        is_ours = job.rule.script and script_of(job).is_relative_to(self.scripts)
        is_plain = job.threads == 1 and not job.shadow_dir and (job.benchmark_repeats or 1) == 1
        if not (self._forks and is_ours and is_plain and not is_fetch(job.rule.name)):
            return super().run_single_job(job)
        self.job_args_and_prepare(job)
        return self.pool.submit(self.cached_or_run, job, self._run, job)

    def _run(self, job: Any) -> None:
        """Run a job's script; raise a SpawnedJobError if it fails, whose script has said why."""
        environment = {"PWD": os.getcwd()}
        if folder := job.resources.get("tmpdir"):
            environment |= dict.fromkeys(("TMPDIR", "TMP", "TEMPDIR", "TEMP"), folder)
        arguments = (str(script_of(job)), snakemake_of(job), environment)
        process = self.context.Process(target=run_script, args=arguments)
        record = BenchmarkRecord()
        with _lock:
            _start_server()
            try:
                process.start()
            except (EOFError, OSError) as error:
                raise WorkflowError(f"No script can start by a fork: {error}.") from None
        RUNNING.add(process)
        with benchmarked(process.pid if job.benchmark else False, record):
            wait([process.sentinel])
        RUNNING.discard(process)
        with _lock:
            process.join()
        with suppress(psutil.Error):  # if what it was forked from was killed, it may still run
            psutil.Process(process.pid).wait()
        if process.exitcode:
            raise SpawnedJobError
        if job.benchmark:
            write_benchmark_records([record], str(job.benchmark), False)


def _start_server() -> None:
    """Start the process to fork from, if it does not run, as a script of one thread starts."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    forkserver.ensure_running()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def run_script(script: str, snakemake: Snakemake, environment: Mapping[str, str]) -> None:
    """Do what ``python script`` does, after a fork."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.environ.update(environment)
    logging.root.handlers.clear()
    runpy.run_path(script, {"snakemake": snakemake}, "__main__")


def script_of(job: Any) -> Path:
    """Return the script of a job."""
    return Path(job.rule.basedir.join(job.rule.script).get_path_or_uri(secret_free=True)).resolve()
