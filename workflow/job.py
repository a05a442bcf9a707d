"""Set up the script of a job: output goes to its log, and an error ends with one sentence."""

import gc
import json
import logging
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

_LOG_BYTES = 1_000_000
"""Bytes that are kept of the log of earlier attempts."""
_NOTE_SECONDS = 60.0
_NO_MEMORY = re.compile("MemoryError|(?:can't|[Cc]annot) allocate memory|bad_alloc")
"""How Python, PyTorch and C++ report a lack of memory; that of a GPU is another."""
SHARING = "MBERT_ATLAS_SHARING"
"""Variable of the environment with the number of jobs that share what SLURM allocates."""


def note_of(log: str | Path) -> Path:
    """Return the file in which a job with this log notes the state of its attempt."""
    return Path(log).with_suffix(".attempt.json")


def read_note(log: str | Path) -> dict[str, Any]:
    """Return the state of the attempt of a job with this log: `ended`, `sentence`, `seconds`.

    It is empty if the job has not started, or its state could not be written.
    """
    try:
        note: dict[str, Any] = json.loads(note_of(log).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        note = {}
    return note


def is_fetch(rule: str) -> bool:
    """Return whether the jobs of a rule need the network; a module may add a prefix to its name."""
    return "fetch" in rule or rule.endswith("check_sources")


@contextmanager
def set_up(snakemake: Any) -> Iterator[dict[str, Any]]:
    """Run the body of a script with output, warnings and tracebacks in ``snakemake.log``.

    It gets the parameters that are neither ``code`` nor ``state``, and paths as input and output.

    An error is a sentence on the terminal, a note for the main process, and the end. Imports that
    take long belong in the body: the environment that libraries read then is set up before.
    Without a log (see `debug.py`) nothing is redirected, and errors are raised.
    """
    set_environment(snakemake.threads, offline=not is_fetch(snakemake.rule))
    options = {key: it for key, it in snakemake.params.items() if key not in ("code", "state")}
    for name in ("input", "output"):
        files = getattr(snakemake, name)
        setattr(snakemake, name, type(files)(toclone=files, custom_map=Path))
    if not snakemake.log:
        yield options
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # training saves its state on it
    terminal = os.fdopen(os.dup(2), "w")
    _redirect(_open_log(snakemake, terminal))
    if snakemake.rule.endswith(("fetch", "check_sources")):  # their only output, for hours
        logging.getLogger("mbert_atlas").addHandler(logging.StreamHandler(terminal))
    note = _Note(note_of(snakemake.log[0]))
    wildcards = ", ".join(f"{key} {value}" for key, value in snakemake.wildcards.items())
    logging.info("%s: %s", snakemake.rule, wildcards or "no wildcards")
    try:
        _require_space(snakemake)
        if state := snakemake.params.get("state"):
            _open_state(Path(state), snakemake.params.code)
        yield options
    except (KeyboardInterrupt, Exception) as error:
        how, sentence, more = _explained(error, snakemake)
        _ignore_signals()
        # The terminal first: the log may be on a full disk.
        start = "\r\x1b[K" if terminal.isatty() else ""  # in place of the progress bar
        print(f"{start}{snakemake.rule}: {sentence}", file=terminal, flush=True)
        note.write(how, sentence)
        logging.error("%s", more)
        sys.exit(1)
    _ignore_signals()  # nothing is left to save
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        from mbert_atlas.scorecard.cost import GPU_NOTE

        sharing = int(os.environ.get(SHARING, 1))
        logging.info(GPU_NOTE.format(count=torch.cuda.device_count() / sharing))
    logging.info("done in %.1f s", time.monotonic() - note.started)
    note.write("done")


def _require_space(snakemake: Any) -> None:
    """Raise a FullDiskError before anything is computed that could not be written."""
    from mbert_atlas.files import require_space

    state = snakemake.params.get("state")
    folders = {Path(str(path)).parent for path in snakemake.output}
    for folder in sorted(folders | ({Path(state)} if state else set())):
        require_space(folder)


def _explained(error: BaseException, snakemake: Any) -> tuple[str, str, str]:
    """Return how an attempt ended, a sentence about it, and the text for the log."""
    from mbert_atlas.errors import AtlasError, OutOfMemoryError, StoppedError, TransientError
    from mbert_atlas.files import full_disk, is_full_disk

    sentence = str(error)
    match error:
        case KeyboardInterrupt() | StoppedError():
            how, sentence = "stopped", sentence or "stopped by a signal; start again."
        case OutOfMemoryError():
            how = "memory"
        case TransientError():
            how = "failed"
        case AtlasError():
            how = "final"
        case _ if is_full_disk(error):
            place = getattr(error, "filename", None) or Path(str(snakemake.output[0])).parent
            how, sentence = "final", str(full_disk(place, error))
        case _:
            how = "memory" if _NO_MEMORY.search(f"{type(error).__name__} {error}") else "failed"
            sentence = f"{type(error).__name__}: {error} (traceback in {snakemake.log[0]})"
            return how, sentence, traceback.format_exc()
    return how, sentence, sentence


def set_environment(threads: int, offline: bool) -> None:
    """Set what libraries read when they are imported; Snakemake set OpenMP's thread count."""
    # Imports create hundreds of thousands of lasting objects, which the collector would traverse
    # again and again: a fifth of the import time of torch and transformers.
    gc.set_threshold(100_000, 20, 100)
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    # Idle OpenMP threads that spin slow down jobs on shared cores to a fraction of their speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if offline:
        os.environ["HF_HUB_OFFLINE"] = "1"


def _redirect(log: TextIO) -> None:
    """Send the output of this process and its children to a log."""
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    sys.stdout = sys.stderr = log
    logging.basicConfig(
        level=logging.INFO, stream=log, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(True)


def _open_log(snakemake: Any, terminal: TextIO) -> TextIO:
    """Open the log for appending; return the terminal if that fails.

    Snakemake deletes the log before each attempt, so it is a hard link to a hidden file.
    """
    path = Path(snakemake.log[0])
    whole = path.with_name(f".{path.name}")
    try:
        if whole.exists() and whole.stat().st_size > _LOG_BYTES:
            kept = whole.read_bytes()[-_LOG_BYTES:].partition(b"\n")[2]
            whole.write_bytes(b"(earlier lines were dropped)\n" + kept)
        log = whole.open("a", buffering=1, encoding="utf-8")
        try:
            path.unlink(missing_ok=True)
            path.hardlink_to(whole)
        except OSError:  # a file system without links: only this attempt
            log = path.open("w", buffering=1, encoding="utf-8")
        job = os.environ.get("SLURM_JOB_ID")
        host = f"{os.uname().nodename}{f', SLURM job {job}' if job else ''}"
        log.write(f"==== {time.strftime('%Y-%m-%d %H:%M:%S')} on {host}\n")
        return log
    except OSError as error:
        # A folder that is read-only or unreachable must not hide the output of the job.
        reason = f"{path} cannot be written ({error.strerror}); the job prints here instead."
        print(f"{snakemake.rule}: the log {reason}", file=terminal, flush=True)
        return terminal


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


class _Note:
    """A file with the state of an attempt and its age; without an end, it was killed.

    It is rewritten every minute, so that ``seconds`` tells how long a killed job ran.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.started = path, time.monotonic()
        self.ended, self.writing = threading.Event(), threading.Lock()
        self.write(None)
        threading.Thread(target=self._renew, daemon=True).start()

    def write(self, how: str | None, sentence: str = "") -> None:
        if how:
            self.ended.set()
        seconds = round(time.monotonic() - self.started, 1)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        with suppress(OSError), self.writing:  # a job works without it
            if self.ended.is_set() and not how:
                return
            text = json.dumps({"ended": how, "sentence": sentence, "seconds": seconds})
            try:
                temporary.write_text(text, encoding="utf-8")
                os.replace(temporary, self.path)
            except OSError:  # a full disk still has the space of the note before
                with self.path.open("r+", encoding="utf-8") as file:
                    file.write(text)
                    file.truncate()

    def _renew(self) -> None:
        while not self.ended.wait(_NOTE_SECONDS):
            self.write(None)


def _open_state(folder: Path, code: str) -> None:
    """Lock the folder of a resumable state for this job; delete state of other code."""
    from mbert_atlas.locks import take_lock

    take_lock(folder / "lock", f"{folder}, where this training keeps its state,")
    version = folder / "code"
    if not version.exists() or version.read_text(encoding="utf-8") != code:
        for path in folder.iterdir():
            if path.name != "lock":
                logging.info("%s was written by another version of the code and is deleted", path)
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        version.write_text(code, encoding="utf-8")
