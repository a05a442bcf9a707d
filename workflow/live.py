"""A page on a run that goes on: what is done, running, failed and to come."""

import atexit
import re
import threading
import time
from collections import Counter
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from mbert_atlas.scorecard.templates import Setting, render
from workflow.plan import WorkflowPlan
from workflow.supervision import REASONS, on_success

SECONDS = 30
"""Time between two versions of the page."""
_LINE = re.compile(r"^\S+ \S+ [A-Z]+ \S+: (.*)", re.MULTILINE)
_TAIL = 4096  # bytes of a log that are read


class LivePage:
    """``progress.html`` in the results of a run, rewritten every half minute by a thread.

    ``seconds`` are the expected ones by job, ``artifacts`` the files of each that the run makes. A
    page that cannot be written is left out: the run goes on.
    """

    def __init__(
        self,
        workflow: Any,
        plan: WorkflowPlan,
        seconds: dict[Any, float],
        artifacts: dict[str, list[str]],
    ) -> None:
        self.path = Path(plan.results) / "progress.html"
        self._scheduler, self._seconds, self._artifacts = workflow.scheduler, seconds, artifacts
        self._setting = Setting(plan.config.run, plan.config.comparable)
        self._finished: set[Any] = set()
        self._seen: dict[Any, float] = {}  # by running job, when it was seen first
        self._started, self._ended = time.monotonic(), threading.Event()
        self._writing = threading.Lock()
        self._numbers: dict[Any, str] = {}  # in SLURM
        on_success(workflow, self._finished.add)
        threading.Thread(target=self._renew, daemon=True).start()
        atexit.register(self._end)

    def _end(self) -> None:
        self._ended.set()
        with self._writing:
            self._write("done" if self._finished.issuperset(self._seconds) else "stopped")

    def _renew(self) -> None:
        while True:
            with self._writing:
                if self._ended.is_set():
                    return
                self._write("")
            self._ended.wait(SECONDS)

    def _write(self, end: str) -> None:
        with suppress(OSError, RuntimeError):  # a full disk; a set that changed meanwhile
            render("progress.html.j2", self.path, self._setting, end=end, **self._content())

    def _content(self) -> dict[str, Any]:
        finished, elapsed = set(self._finished), time.monotonic() - self._started
        done = sum(seconds for job, seconds in self._seconds.items() if job in finished)
        share = done / (sum(self._seconds.values()) or 1.0)
        outputs = {str(path) for job in finished for path in job.output}
        complete = {
            name: files[0] for name, files in self._artifacts.items() if outputs.issuperset(files)
        }
        rules = Counter(job.rule.name for job in self._seconds)
        by_rule = Counter(job.rule.name for job in finished)
        # Empty while the states are queried.
        for info in list(getattr(self._scheduler._executor, "active_jobs", [])):
            for job in getattr(info.job, "members", [info.job]):
                self._numbers[job] = str(info.external_jobid)
        final = set(self._scheduler.failed)
        reasons = {job: f"{job.rule.name} failed." for job in final} | dict(REASONS)
        return {
            "seconds": SECONDS,
            "now": datetime.now().astimezone(),
            "elapsed": elapsed / 3600,
            "left": elapsed * (1 - share) / share / 3600 if share else 0.0,
            "share": share,
            "done": sum(job in finished for job in self._seconds),
            "total": len(self._seconds),
            "running": [self._described(job) for job in self._running()],
            "failures": [
                {
                    "name": _name(job),
                    "sentence": sentence,
                    "is_final": job in final,
                    "log": _log(job),
                }
                for job, sentence in reasons.items()
                if job not in finished
            ],
            "made": sorted(complete.items()),
            "missing": sorted(self._artifacts.keys() - complete.keys()),
            "rules": [(rule, (by_rule[rule], count)) for rule, count in sorted(rules.items())],
        }

    def _running(self) -> list[Any]:
        jobs = [
            job
            for item in list(self._scheduler.running)
            for job in (item.jobs if item.is_group() else [item])
        ]
        now = time.monotonic()
        self._seen = {job: self._seen.get(job, now) for job in jobs}
        return sorted(jobs, key=self._seen.__getitem__)

    def _described(self, job: Any) -> dict[str, Any]:
        log = _log(job)
        return {
            "name": _name(job),
            "hours": (time.monotonic() - self._seen[job]) / 3600,
            "number": self._numbers.get(job, ""),
            "log": log,
            "line": _last_line(log) if log else "",
        }


def _name(job: Any) -> str:
    values = ", ".join(f"{key} {value}" for key, value in job.wildcards_dict.items())
    return f"{job.rule.name} ({values})" if values else str(job.rule.name)


def _log(job: Any) -> Path | None:
    return next((path for path in map(Path, map(str, job.log)) if path.exists()), None)


def _last_line(log: Path) -> str:
    """Return the last message of a log, such as loss and tokens per second."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        lines = _LINE.findall(file.read().decode(errors="replace"))
    return lines[-1] if lines else ""
