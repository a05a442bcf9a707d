"""One job on several GPUs of a node: a process for each, configured by environment variables.

    in_processes(4, function, name="value")

A function of a module is called in every process, with JSON values.
"""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pkgutil import resolve_name
from typing import Any

import torch

from mbert_atlas.errors import AtlasError, StoppedError, TransientError
from mbert_atlas.training.loop import termination_signals

_PATIENCE = 60.0
"""Seconds until the other processes are killed once one has failed."""
_KINDS = {kind.__name__: kind for kind in (AtlasError, TransientError, StoppedError)}


def in_processes(
    gpus: int, function: Callable[..., None], *, on_cpu: bool = False, **arguments: Any
) -> None:
    """Call a function of a module in a process per GPU that exists, or in this one.

    SIGTERM and SIGINT are passed on to all of them. ``on_cpu`` starts ``gpus`` processes, whatever
    GPUs exist.

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
    with ExitStack() as stack, termination_signals() as signals:
        files = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(count)]
        running = [
            subprocess.Popen(
                command,
                env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.PIPE,  # closes when this process is killed
                stdout=file,  # has the error
            )
            for rank, file in enumerate(files)
        ]
        _wait(running, signals)
        failed = [rank for rank, process in enumerate(running) if process.returncode]
        for rank in failed:
            files[rank].seek(0)
            for line in files[rank]:
                kind, _, sentence = line.partition(": ")
                if kind in _KINDS:
                    raise _KINDS[kind](sentence.strip())
        if failed:
            code = running[failed[0]].returncode
            how = f"was killed by signal {-code}" if code < 0 else f"exited with {code}"
            problem = f"process {failed[0]} of {count} {how}; see the log above, and start again."
            raise (StoppedError if signals else TransientError)(problem)


def _wait(running: list[subprocess.Popen[bytes]], signals: list[str]) -> None:
    """Wait for all; once one has failed, the others cannot continue and are killed in the end."""
    deadline, passed_on = None, 0
    while any(process.poll() is None for process in running):
        for name in signals[passed_on:]:
            passed_on += 1
            for process in running:
                process.send_signal(signal.Signals[name])
        if deadline is None and any(process.poll() for process in running):
            deadline = time.monotonic() + _PATIENCE
        if deadline is not None and time.monotonic() > deadline:
            for process in running:
                process.kill()
        time.sleep(0.1)


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
        print(f"{kind if kind in _KINDS else AtlasError.__name__}: {error}", flush=True)
        sys.exit(1)
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


if __name__ == "__main__":
    _main()
