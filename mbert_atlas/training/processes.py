"""One job on several GPUs of a node: a process for each, configured by environment variables.

    in_processes(4, function, name="value")

A function of a module is called in every process, with JSON values.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any

import torch

from mbert_atlas.errors import AtlasError, StoppedError, TransientError

_PATIENCE = 60.0
"""Seconds until the other processes are killed once one has failed."""


def in_processes(
    gpus: int, function: Callable[..., None], *, on_cpu: bool = False, **arguments: Any
) -> None:
    """Call a function in a process per GPU, or in this one.

    SIGTERM and SIGINT are passed on to all of them.

    Args:
        gpus: number of requested GPUs; those that do not exist are not counted.
        function: a function of a module.
        on_cpu: start as many processes, whatever GPUs exist.
        arguments: of the function.

    Raises:
        AtlasError: the first that a process raised.
        TransientError: if one ended otherwise; StoppedError, if by such a signal.
    """
    count = gpus if on_cpu else min(gpus, torch.cuda.device_count())
    if count <= 1:
        function(**arguments)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    name = f"{function.__module__}:{function.__qualname__}"
    command = [sys.executable, "-m", __name__, name, json.dumps(arguments)]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    common |= {"LOCAL_WORLD_SIZE": str(count)} | ({"ACCELERATE_USE_CPU": "1"} if on_cpu else {})
    common["PYTHONPATH"] = os.pathsep.join(sys.path)  # a job may run in another folder
    running = [
        subprocess.Popen(
            command,
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.PIPE,  # closes when this process is killed
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    errors: list[list[str]] = [[] for _ in running]
    listeners = [
        threading.Thread(target=_listen, args=(process, lines))
        for process, lines in zip(running, errors, strict=True)
    ]
    with _passing_on_termination(running) as passed_on:
        for listener in listeners:
            listener.start()
        _wait(running)
        for listener in listeners:
            listener.join()
    failed = [rank for rank, process in enumerate(running) if process.returncode]
    if failed:
        for line in (line for rank in failed for line in errors[rank]):
            kind, _, sentence = line.partition(": ")
            if kind in _KINDS:
                raise _KINDS[kind](sentence.strip())
        raise (StoppedError if passed_on else TransientError)(_end(running, failed[0]))


_KINDS = {kind.__name__: kind for kind in (AtlasError, TransientError, StoppedError)}


def _end(running: list[subprocess.Popen[str]], rank: int) -> str:
    code = running[rank].returncode
    how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
    return f"process {rank} of {len(running)} {how}; see the log above, and start again."


def _listen(process: subprocess.Popen[str], lines: list[str]) -> None:
    """Forward the standard error of a process, and keep it."""
    for line in process.stderr or ():
        sys.stderr.write(line)
        lines.append(line)


def _wait(running: list[subprocess.Popen[str]]) -> None:
    """Wait for all; once one has failed, the others cannot continue and are killed in the end."""
    deadline = None
    while any(process.poll() is None for process in running):
        if deadline is None and any(process.poll() for process in running):
            deadline = time.monotonic() + _PATIENCE
        if deadline is not None and time.monotonic() > deadline:
            for process in running:
                process.kill()
        time.sleep(0.1)


@contextmanager
def _passing_on_termination(running: list[subprocess.Popen[str]]) -> Iterator[list[int]]:
    passed_on: list[int] = []

    def pass_on(number: int, _: Any) -> None:
        passed_on.append(number)
        for process in running:
            process.send_signal(number)

    if threading.current_thread() is not threading.main_thread():
        yield passed_on
        return
    both = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, pass_on) for number in both]
    try:
        yield passed_on
    finally:
        for number, handler in zip(both, before, strict=True):
            signal.signal(number, handler)


def _end_with_parent() -> None:
    os.read(0, 1)  # returns when the parent was killed
    os._exit(1)


def _main() -> None:
    name, arguments = sys.argv[1:]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    level = logging.INFO if os.environ["RANK"] == "0" else logging.ERROR
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    backend = "gloo" if "ACCELERATE_USE_CPU" in os.environ else "cpu:gloo,cuda:nccl"
    try:
        torch.distributed.init_process_group(backend)
        resolve_name(name)(**json.loads(arguments))
    except AtlasError as error:
        kind = type(error).__name__
        kind = kind if kind in _KINDS else AtlasError.__name__
        print(f"{kind}: {error}", file=sys.stderr, flush=True)
        sys.exit(1)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    _main()
