"""Programs in processes that are forked from one that has imported what takes seconds."""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["snakemake.cli", "torch", "transformers"])
ROOT = Path(__file__).parents[2]


def run(folder, arguments, environment, timeout):
    """Do what ``python ARGUMENTS`` does in a folder; they start with ``-m MODULE`` or a script."""
    with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as errors:
        process = CONTEXT.Process(
            target=_main, args=(folder, arguments, environment, output.name, errors.name)
        )
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(arguments, timeout)
        texts = (output.read().decode(), errors.read().decode())
        return subprocess.CompletedProcess(arguments, process.exitcode, *texts)


def _main(folder, arguments, environment, output, errors):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    is_module = arguments[0] == "-m"
    # As in a process started from the shell: without the folders of the tests.
    installed = [path for path in sys.path if not _is_ours(path)]
    sys.path[:] = [str(folder if is_module else Path(arguments[0]).parent), *installed]
    sys.argv = arguments[1:] if is_module else list(arguments)
    for number, (name, mode) in enumerate(((os.devnull, "r"), (output, "w"), (errors, "w"))):
        with open(name, mode) as stream:
            os.dup2(stream.fileno(), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
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
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _is_ours(path):
    return Path(path).is_relative_to(ROOT) and "site-packages" not in path
