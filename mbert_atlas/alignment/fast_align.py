"""Word alignment by the binary fast_align, built from https://github.com/clab/fast_align."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mbert_atlas.alignment.pharaoh import Links, read_pharaoh
from mbert_atlas.arrays import Ragged
from mbert_atlas.errors import AtlasError


def align_both(
    source: Ragged, target: Ragged, threads: int, program: Path | str = "fast_align"
) -> tuple[Links, Links]:
    """Return the links of both directions, forward and reverse.

    Args:
        source: source word ids of each sentence.
        target: target word ids of each sentence.
        threads: CPU threads.
        program: name on PATH, or path, of the binary.

    Raises:
        AtlasError: if the binary is missing or fails.
    """
    binary = shutil.which(program)
    if binary is None:
        raise AtlasError(
            f"{program}: no such program; no conda package of fast_align exists, so build it from "
            "https://github.com/clab/fast_align and put it on PATH, or use the default back end "
            "(alignment.backend)."
        )
    rows = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
    directions = []
    with tempfile.TemporaryDirectory(prefix="fast-align-") as folder:
        text, output = Path(folder, "text"), Path(folder, "links")
        write_ids(source, target, rows, text)
        for flags in ([], ["-r"]):
            run_program([binary, "-i", text, "-d", "-o", "-v", *flags], threads, output)
            links = read_pharaoh(output, len(rows))
            directions.append(Links(rows[links.row], links.source, links.target, len(source)))
    return directions[0], directions[1]


def write_ids(source: Ragged, target: Ragged, rows: npt.NDArray[np.int64], path: Path) -> None:
    """Write ``1 2 ||| 3 4`` lines of word ids, as words may look like separators."""
    with open(path, "w", encoding="ascii") as stream:
        stream.writelines(
            f"{' '.join(map(str, source[row].tolist()))} ||| "
            f"{' '.join(map(str, target[row].tolist()))}\n"
            for row in rows.tolist()
        )


def run_program(command: Sequence[Path | str], threads: int, output: Path | None = None) -> str:
    """Run a program with ``threads`` OpenMP threads and return its stderr.

    Raises:
        AtlasError: if it fails; quotes the last line.
    """
    environment = os.environ | {"OMP_NUM_THREADS": str(threads)}
    with open(output or os.devnull, "wb") as stream:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=stream,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    messages = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        last = (messages.strip().splitlines() or ["no message"])[-1]
        raise AtlasError(
            f"{Path(command[0]).name} ended with status {done.returncode} ({last}); "
            "use the back end numpy (alignment.backend) or fix the program."
        )
    return messages
