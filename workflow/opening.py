"""Encoder folders are opened before any job starts, as jobs will open them."""

import json
import os
import subprocess
import sys
from pathlib import Path

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, write_json

OPENED = Path(".snakemake/opened_encoders.json")
"""Sizes and times of the files of the folders that could be opened, by folder."""


def state_of(folder: Path) -> list[list[str | int]]:
    """Return names, sizes and times of the files of a folder: whether it is as it was."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [[path.name, path.stat().st_size, path.stat().st_mtime_ns] for path in files]


def check_opening(folder: Path) -> None:
    """Open an encoder folder and its tokenizer in another process, once for each state of it.

    Headers do not show whether each weight fits ``config.json``, nor whether a tokenizer can be
    converted. Importing torch would slow every start. Raises a DataError of
    :func:`mbert_atlas.encoders.opening.require_opening`; of a process that was killed none, as it
    says nothing about the encoder.
    """
    state = state_of(folder)
    opened = read_json(OPENED) if OPENED.is_file() else {}
    if opened.get(str(folder)) == state:
        return
    command = [sys.executable, "-m", "mbert_atlas.encoders.opening", str(folder)]
    paths = filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.stdout:
        raise DataError(*json.loads(done.stdout.splitlines()[-1]))
    if done.returncode == 0:
        OPENED.parent.mkdir(exist_ok=True)
        write_json(opened | {str(folder): state}, OPENED)
