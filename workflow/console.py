"""What the terminal shows: the progress of a run, each finished artifact, errors as sentences.

Snakemake's log file keeps everything. Dry runs, ``--verbose``, ``--quiet``, ``--printshellcmds``
and ``--show-failed-logs`` show jobs as Snakemake does. docs/decisions.md compares with a plugin.
"""

import atexit
import logging
import re
import threading
import time
from pathlib import Path
from typing import Any

from snakemake.logging import DefaultFormatter, get_event, logger
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from workflow.plan import WorkflowPlan
from workflow.squeue import REJECTED
from workflow.supervision import on_success

_PLACE = re.compile(r'\AWorkflowError( in file "[^"\n]*", line \d+)?:\n')
_CODE = re.compile(r'\n +File "[^"\n]*", line \d+, in [^\n]*')
_SCRIPT_FAILED = re.compile(r"\ARuleException:\nCalledProcessError ")
_BEFORE = re.compile(
    "Config file .* is extended|Assuming unrestricted|Building DAG|Using shell|Provided remote"
    "|Conda environments: ignored|Group jobs: inactive"
)
"""Messages of Snakemake about itself, before it starts jobs."""
_DURING = re.compile(
    "Trying to restart|Complete log|Elapsed time|Terminating|Shutting down|Will exit"
)
"""Messages of Snakemake, below warnings, that are shown once jobs have started."""
_REPEATED = re.compile("Exiting because a job execution failed|Removing output files of failed job")
"""Messages that add nothing to the line about a failed job."""
_ERRORS = (LogEvent.ERROR, LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR)
_BAR = "{percentage:3.0f}% |{bar:24}| {desc}, {elapsed} so far, about {remaining} left"


def sentence_of(text: str) -> str:
    """Return what Snakemake prints about a WorkflowError without the lines of code behind it."""
    return _CODE.sub("", _PLACE.sub("", text))


class Sentences(DefaultFormatter):  # type: ignore[misc]
    """Formats errors that the workflow reports without the lines of code that raised them."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        text: str = super().format(record)
        is_reported = getattr(record, "exception", None) == "WorkflowError"
        return sentence_of(text) if is_reported else text


class _RunSentences(Sentences):
    """Formats also a failed job as one line; its script has printed the reason before."""

    def format(self, record: logging.LogRecord) -> str:
        if get_event(record) != LogEvent.JOB_ERROR:
            return super().format(record)
        job: dict[str, Any] = record.__dict__
        logs = f", see {' and '.join(job['log'])}" if job["log"] else ""
        reason = (job["rule_msg"] or "").partition("For further error details")[0].strip()
        return f"Error in rule {job['rule_name']}{logs}{reason and ': '}{reason}"


class Essentials(logging.Filter):
    """Hides what Snakemake says about itself and about single jobs, except errors."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs_started = False

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the terminal shows a record."""
        event, text = get_event(record), str(record.msg)
        if event:
            # What SLURM rejects was one line for all jobs that it concerns.
            is_repeated = REJECTED in str(getattr(record, "rule_msg", ""))
            return event in _ERRORS and not (_SCRIPT_FAILED.match(text) or is_repeated)
        if not self.jobs_started:
            return not _BEFORE.match(text)
        is_ours = Path(record.pathname).parent == Path(__file__).parent
        is_shown = record.levelno >= logging.WARNING and not _REPEATED.match(text)
        return is_ours or is_shown or bool(_DURING.match(text))


class _AboveBar:
    """A terminal whose lines appear above a progress bar."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if text.strip():
            tqdm.write(text.strip("\n"), file=self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def show_essentials(workflow: Any) -> None:
    """Let the terminal show errors as sentences, and of a run no single jobs."""
    settings = workflow.output_settings
    handler = _terminal()
    if handler is None or settings.verbose:
        return
    handler.setFormatter(Sentences(settings.quiet, settings.show_failed_logs))
    asked = (settings.printshellcmds, settings.quiet, settings.show_failed_logs, settings.debug_dag)
    if not (settings.dryrun or any(asked)):
        handler.setFormatter(_RunSentences())
        handler.addFilter(Essentials())


def show_progress(workflow: Any, plan: WorkflowPlan, log: list[str]) -> None:
    """Show the progress of a run that starts on a page, and on a terminal without single jobs."""
    handler = _terminal()
    filters = [item for item in handler.filters if isinstance(item, Essentials)] if handler else []
    for item in filters:
        item.jobs_started = True
    jobs = list(workflow.dag.needrun_jobs())
    if len(jobs) <= 1:
        return
    from workflow.live import LivePage  # imports jinja2
    from workflow.predict import expected_seconds  # imports pandas

    expected = expected_seconds(workflow)
    seconds = {job: expected.get(job, 1.0) for job in jobs}
    artifacts = _artifacts(plan, jobs)
    page = LivePage(workflow, plan, seconds, artifacts)
    if handler and filters:
        where = f"progress: {page.path}; Snakemake's log: {', '.join(map(_shown, log))}"
        logger.info(f"{len(jobs)} jobs; {where}")
        on_success(workflow, Progress(seconds, artifacts, handler).finish)


class Progress:
    """The finished share of a run's jobs, weighted by their expected seconds.

    On a terminal it is a bar with the remaining time, elsewhere a line at each tenth. Each artifact
    that is finished is a line; ``artifacts`` has the files that are still to be made.
    """

    def __init__(
        self, seconds: dict[Any, float], artifacts: dict[str, list[str]], handler: Any
    ) -> None:
        self._seconds, self._artifacts = dict(seconds), artifacts
        self._missing = {name: set(files) for name, files in artifacts.items()}
        self._jobs, self._total = len(seconds), sum(seconds.values())
        self._done, self._tenths, self._started = 0.0, 0, time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None
        if handler.stream.isatty():
            self._bar = tqdm(
                total=self._total,
                desc=self._counts(),
                file=handler.stream,
                bar_format=_BAR,
                smoothing=0,
                leave=False,
                dynamic_ncols=True,
            )
            handler.setStream(_AboveBar(handler.stream))
            self._ended = threading.Event()
            threading.Thread(target=self._renew, daemon=True).start()
            atexit.register(self._end)

    def finish(self, job: Any) -> None:
        """Count a finished job."""
        with self._lock:
            seconds = self._seconds.pop(job, 0.0)
            self._done += seconds
            if self._bar is not None:
                self._bar.set_description_str(self._counts(), refresh=False)
                self._bar.update(seconds)
            share = self._done / self._total
            paths = set(map(str, job.output))
            for name, missing in list(self._missing.items()):
                missing -= paths
                if not missing:
                    del self._missing[name]
                    first, *others = self._artifacts[name]
                    more = f" and {len(others)} more" if others else ""
                    logger.info(f"{share:4.0%}  {name}: {first}{more}")
            if self._bar is None and self._seconds and int(10 * share) > self._tenths:
                self._tenths = int(10 * share)
                left = (time.monotonic() - self._started) * (1 - share) / share
                left_text = tqdm.format_interval(left)
                logger.info(f"{share:4.0%}  {self._counts()}, about {left_text} left")

    def _counts(self) -> str:
        return f"{self._jobs - len(self._seconds)} of {self._jobs} jobs"

    def _renew(self) -> None:
        while not self._ended.wait(1):
            self._bar.refresh()

    def _end(self) -> None:
        self._ended.set()
        self._bar.close()


def _terminal() -> Any:
    """Return Snakemake's handler of the terminal; none if a logger plugin replaces it."""
    return next((item for item in logger.handlers if item.name == "DefaultStreamHandler"), None)


def _shown(path: str) -> str:
    """Return a path as seen from the current folder, if it is below."""
    here = Path.cwd()
    return str(Path(path).relative_to(here)) if Path(path).is_relative_to(here) else path


def _artifacts(plan: WorkflowPlan, jobs: list[Any]) -> dict[str, list[str]]:
    """Return the files of each artifact that these jobs make, by paper and name."""
    outputs = {str(path) for job in jobs for path in job.output}
    files = {
        f"{paper} {artifact.name}": [plan.resolved(path) for path in plan.targets(paper, artifact)]
        for paper, artifact in plan.shown("")
    }
    mine = {name: [path for path in paths if path in outputs] for name, paths in files.items()}
    # The first one is shown: a figure of a figure, which may have tables, too.
    return {
        name: sorted(paths, key=lambda path: ("/figures/" in path) != (" figure" in name))
        for name, paths in mine.items()
        if paths
    }
