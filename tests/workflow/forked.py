"""Snakemake in a process that is forked from one in which it is imported: a second less each."""

import multiprocessing
import os
import subprocess
import sys
import tempfile
import traceback

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
    sys.path[:0] = [str(folder)]
    sys.argv = ["snakemake", *arguments]
    for name, number in ((output, 1), (errors, 2)):
        os.dup2(os.open(name, os.O_WRONLY), number)
    sys.stdout, sys.stderr = (open(fd, "w", closefd=False) for fd in (1, 2))  # noqa: SIM115
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
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
