"""Programs in processes that are forked from one that has imported what takes seconds."""

import atexit
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
_NEEDED = "snakemake.cli torch transformers nbformat scipy.special smart_open snakemake.report yte"
# Found if pytest was started at the root of the repository; else programs start more slowly.
CONTEXT.set_forkserver_preload([*_NEEDED.split(), "tests.workflow.preloaded"])
ROOT = Path(__file__).parents[2]


class Program:
    """What ``python ARGUMENTS`` starts in a folder; they start with ``-m MODULE`` or a script.

    Its methods are those of ``subprocess.Popen``. It is alone in its process group.
    """

    def __init__(self, folder, arguments, environment, together=False):
        """``together``: what it writes to both streams, in the order in which it does."""
        self._arguments = [str(word) for word in arguments]
        count = 1 if together else 2
        self._files = [tempfile.NamedTemporaryFile() for _ in range(count)]  # noqa: SIM115
        names = (self._files[0].name, self._files[-1].name)
        self._process = CONTEXT.Process(
            target=_main, args=(str(folder), self._arguments, environment, *names)
        )
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        return self._process.exitcode

    returncode = property(poll)

    def send_signal(self, number):
        os.kill(self.pid, number)

    def communicate(self, timeout):
        """Wait, and return what it wrote to its output and, unless together, its errors."""
        self._process.join(timeout)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
            raise subprocess.TimeoutExpired(self._arguments, timeout)
        texts = [file.read().decode() for file in self._files]
        return texts[0], texts[1] if len(texts) > 1 else None


def run(folder, arguments, environment, timeout, together=False):
    """Run such a program to its end."""
    program = Program(folder, arguments, environment, together)
    output, errors = program.communicate(timeout)
    return subprocess.CompletedProcess(arguments, program.returncode, output, errors)


def _main(folder, arguments, environment, output, errors):
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    is_module = arguments[0] == "-m"
    # As in a process started from the shell: without the folders of the tests.
    installed = [path for path in sys.path if not _is_ours(path)]
    first = folder if is_module else str(Path(arguments[0]).parent)
    named = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [first, *named, *installed]
    sys.argv = arguments[1:] if is_module else list(arguments)
    for number, (name, mode) in enumerate(((os.devnull, "r"), (output, "a"), (errors, "a"))):
        with open(name, mode) as stream:
            os.dup2(stream.fileno(), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    status = 1
    try:
        if is_module:
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(arguments[0], run_name="__main__")
        status = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _is_ours(path):
    return Path(path).is_relative_to(ROOT) and "site-packages" not in path
