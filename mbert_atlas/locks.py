"""A lock that is released when its holder ends, however it ends."""

import errno
import fcntl
import json
import logging
import os
import socket
import time
from pathlib import Path

from mbert_atlas.errors import AtlasError, TransientError

_logger = logging.getLogger(__name__)
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


def take_lock(path: Path, what: str) -> None:
    """Lock a file until this process ends; processes forked from it don't hold the lock.

    It is an advisory lock (flock), which NFS 4 extends to other hosts; without locks in the file
    system a warning is logged. The file names the holder, and stays; ``what`` only one process may
    use, for the message.

    Raises AtlasError if another process holds the lock; names it, and how to end it; TransientError
    if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)  # less the umask
    except OSError as error:
        problem = f"{path}: cannot be written ({error.strerror})"
        raise TransientError(f"{problem}; check the folder, its rights and its disk.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = _holder(descriptor)
        os.close(descriptor)
        raise AtlasError(f"{what} is in use by {other}, then start again.") from None
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        _logger.warning("%s: this file system has no locks (%s)", path, error.strerror)
    # A forked child would keep the lock when its parent is killed.
    os.register_at_fork(after_in_child=lambda: os.close(descriptor))
    holder = {"host": socket.gethostname(), "pid": os.getpid(), "since": time.time()}
    holder["slurm_job"] = os.environ.get("SLURM_JOB_ID")
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(holder).encode())
    os.fsync(descriptor)


def require_unlocked(path: Path, what: str) -> None:
    """Raise an AtlasError if another process holds a lock of :func:`take_lock`."""
    if path.exists():
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                other = _holder(file.fileno())
                raise AtlasError(f"{what} is in use by {other}, then start again.") from None
            except OSError:  # no locks in this file system
                return


def _holder(descriptor: int) -> str:
    """Return who holds the lock and how to end it."""
    try:
        holder = json.loads(os.pread(descriptor, 10_000, 0))
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["since"]))
        job = holder["slurm_job"]
        who = f"process {holder['pid']} on {holder['host']}{f', SLURM job {job}' if job else ''}"
        stop = f"scancel {job}" if job else f"kill {holder['pid']}"
        return f"{who}, since {since}; wait until it ends or end it ({stop})"
    except (ValueError, KeyError, TypeError):  # the file is just being written
        return "another process; wait until it ends or end it"
