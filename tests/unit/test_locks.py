"""A lock goes with its holder, however it ends."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mbert_atlas.errors import AtlasError
from mbert_atlas.locks import take_lock

HOLDER = """
import os, sys, time
from pathlib import Path
from mbert_atlas.locks import take_lock
take_lock(Path(sys.argv[1]), "the folder")
if os.fork() == 0:
    print("held", flush=True)
time.sleep(600)
"""


def test_the_second_is_rejected_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "folder/lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        env={**os.environ, "SLURM_JOB_ID": "17", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(AtlasError) as raised:
            take_lock(path, "the folder")
        host = os.uname().nodename
        said = str(raised.value)
        assert said.startswith(f"the folder is in use by process {holder.pid} on {host}, SLURM job")
        assert "SLURM job 17, since 20" in said
        assert said.endswith("wait until it ends or end it (scancel 17), then start again.")
        holder.kill()  # but not what it has forked
        holder.wait()
        take_lock(path, "the folder")
    finally:
        os.killpg(holder.pid, signal.SIGKILL)


def test_where_there_are_no_locks_a_warning_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    take_lock(tmp_path / "lock", "the folder")
    take_lock(tmp_path / "lock", "the folder")
    assert caplog.text.count("has no locks (Function not implemented)") == 2
