"""Set up one job: everything it says goes to its log, mistakes of the user to one sentence."""

import gc
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

_LOG_BYTES = 1_000_000
"""What is kept of the log of earlier attempts."""


_NOTE_SECONDS = 60.0


def note_of(log):
    """Where a job with this log notes how its attempt goes, for the Snakemake that started it."""
    return Path(log).with_suffix(".attempt.json")


def run(main, snakemake):
    """Call ``main(snakemake)`` with output, warnings and tracebacks in ``snakemake.log``.

    Snakemake has set the thread count of OpenMP and BLAS already; the tokenizers' own pool and the
    switches of the hub are set here, before ``main`` imports anything heavy.
    """
    # Imports make hundreds of thousands of lasting objects, which the collector would go through
    # again and again: a fifth of the time that torch and transformers take.
    gc.set_threshold(100_000, 20, 100)
    os.environ["RAYON_NUM_THREADS"] = str(snakemake.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    # Idle OpenMP threads that spin bring jobs on shared cores down to a fraction of their speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    fetches = "fetch" in snakemake.rule  # a module may put a prefix before it
    if not fetches:
        os.environ["HF_HUB_OFFLINE"] = "1"
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # training saves its state instead
    terminal = os.fdopen(os.dup(2), "w")
    log = _open_log(snakemake, terminal)
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)  # programs that the job starts write there too
    sys.stdout = sys.stderr = log
    logging.basicConfig(
        level=logging.INFO, stream=log, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    logging.captureWarnings(True)
    if snakemake.rule.endswith("fetch"):  # all there is to see, for hours
        logging.getLogger("mbert_atlas").addHandler(logging.StreamHandler(terminal))
    note = _Note(note_of(snakemake.log[0]))
    logging.info("rule %s, wildcards %s", snakemake.rule, dict(snakemake.wildcards))
    from mbert_atlas.errors import AtlasError, StoppedError, TransientError

    def fail(how, sentence, more=""):
        _ignore_signals()
        # The terminal first: a log on a full disk takes nothing.
        print(f"{snakemake.rule}: {sentence}", file=terminal, flush=True)
        note.write(how, sentence)
        logging.error("%s", more or sentence)
        sys.exit(1)

    try:
        if state := snakemake.params.get("state"):
            _open_state(Path(state), snakemake.params.code)
        main(snakemake)
    except (KeyboardInterrupt, StoppedError) as error:
        fail("stopped", str(error) or "stopped by a signal; start again.")
    except TransientError as error:
        fail("failed", str(error))
    except AtlasError as error:  # a network may answer at the next attempt
        fail("failed" if fetches else "final", str(error))
    except Exception as error:
        sentence = f"{type(error).__name__}: {error} (traceback in {snakemake.log[0]})"
        fail("failed", sentence, traceback.format_exc())
    _ignore_signals()  # nothing is left to be saved
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        from mbert_atlas.scorecard.cost import GPU_NOTE

        logging.info(GPU_NOTE.format(count=torch.cuda.device_count()))
    logging.info("done in %.1f s", time.monotonic() - note.started)
    note.write("done")


def _open_log(snakemake, terminal):
    """Open the log behind what earlier attempts said there; the terminal, if that can't be.

    Snakemake deletes the log before each attempt, so it is a second name of a hidden file.
    """
    path = Path(snakemake.log[0])
    whole = path.with_name(f".{path.name}")
    try:
        if whole.exists() and whole.stat().st_size > _LOG_BYTES:
            kept = whole.read_bytes()[-_LOG_BYTES:].partition(b"\n")[2]
            whole.write_bytes(b"(what came before was dropped)\n" + kept)
        log = whole.open("a", buffering=1, encoding="utf-8")
        try:
            path.unlink(missing_ok=True)
            path.hardlink_to(whole)
        except OSError:  # a file system without links: of this attempt alone
            log = path.open("w", buffering=1, encoding="utf-8")
        job = os.environ.get("SLURM_JOB_ID")
        host = f"{os.uname().nodename}{f', SLURM job {job}' if job else ''}"
        log.write(f"==== {time.strftime('%Y-%m-%d %H:%M:%S')} on {host}\n")
        return log
    except OSError as error:
        # A folder that is read-only or out of reach must not hide what the job has to say.
        reason = f"{path} cannot be written ({error.strerror}); the job speaks here instead."
        print(f"{snakemake.rule}: the log {reason}", file=terminal, flush=True)
        return terminal


def _ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


class _Note:
    """A file that says how an attempt goes, and since when; without an end, it was killed.

    It is renewed every minute, so that its ``seconds`` tell for how long a killed job has run.
    """

    def __init__(self, path):
        self.path, self.started = path, time.monotonic()
        self.ended, self.writing = threading.Event(), threading.Lock()
        self.write(None)
        threading.Thread(target=self._renew, daemon=True).start()

    def write(self, how, sentence=""):
        if how:
            self.ended.set()
        seconds = round(time.monotonic() - self.started, 1)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        with suppress(OSError), self.writing:  # it only helps
            if self.ended.is_set() and not how:
                return
            text = json.dumps({"ended": how, "sentence": sentence, "seconds": seconds})
            temporary.write_text(text, encoding="utf-8")
            os.replace(temporary, self.path)

    def _renew(self):
        while not self.ended.wait(_NOTE_SECONDS):
            self.write(None)


def _open_state(folder, code):
    """Lock the folder of a resumable state for this job; drop what another version left there."""
    from mbert_atlas.locks import take_lock

    take_lock(folder / "lock", f"{folder}, where this training keeps its state,")
    version = folder / "code"
    if not version.exists() or version.read_text(encoding="utf-8") != code:
        for path in folder.iterdir():
            if path.name != "lock":
                logging.info("%s is of another version of the code and goes", path)
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        version.write_text(code, encoding="utf-8")
