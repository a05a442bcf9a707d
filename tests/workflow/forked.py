"""Snakemake in a process that is forked from one in which it is imported: a second less each."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["snakemake.cli"])


def run(folder, arguments, environment, timeout):
    """Do what ``python -m snakemake ARGUMENTS`` does in a folder."""
    with tempfile.NamedTemporaryFile() as output, tempfile.NamedTemporaryFile() as errors:
        process = CONTEXT.Process(
            target=_main, args=(folder, arguments, environment, output.name, errors.name)
        )
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(["snakemake", *arguments], timeout)
        texts = (output.read().decode(), errors.read().decode())
        return subprocess.CompletedProcess(["snakemake", *arguments], process.exitcode, *texts)


def _main(folder, arguments, environment, output, errors):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # As in a process of its own: without the folders of the tests.
    root = str(Path(__file__).parents[2])
    installed = [path for path in sys.path if not path.startswith(root) or "site-packages" in path]
    sys.path[:] = [str(folder), *installed]
    sys.argv = ["snakemake", *arguments]
    for number, (name, mode) in enumerate(((os.devnull, "r"), (output, "w"), (errors, "w"))):
        with open(name, mode) as stream:
            os.dup2(stream.fileno(), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    status = 1
    try:
        from snakemake.cli import main

        main(list(arguments))
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
