"""The program fast_align (Dyer et al. 2013), https://github.com/clab/fast_align."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from mbert_atlas.alignment.aligner import Aligner, as_texts, in_both_directions
from mbert_atlas.alignment.links import Links, read_pharaoh
from mbert_atlas.arrays import Ragged
from mbert_atlas.errors import DataError, OutOfMemoryError, TransientError
from mbert_atlas.files import sha256_of

# Cao et al. (2020): favour the diagonal, fit its tension, variational.
_OPTIONS = ["-d", "-o", "-v"]
_DIGITS = 12  # of the program's checksum


def _find(program: str | None) -> str:
    path = shutil.which(program or "fast_align")
    if path is None:
        problem = f"{program} is no program"
        if program is None:
            problem = "fast_align is not on PATH, and `alignment.program` names no other place"
        fix = "build it (docs/alignment.md) and name it there, or use another aligner"
        raise DataError("config", "key alignment.program", problem, fix)
    return path


def _version(program: str | None) -> str:
    # The program does not state a version.
    return f"fast_align, sha256 {sha256_of(_find(program))[:_DIGITS]}"


def _align(
    source: Ragged, target: Ragged, *, program: str | None, threads: int
) -> tuple[Links, Links]:
    path = _find(program)
    with TemporaryDirectory() as name:
        text = Path(name) / "text"
        sides = zip(*(map(" ".join, as_texts(side)) for side in (source, target)), strict=True)
        text.write_text("".join(f"{one} ||| {other}\n" for one, other in sides), encoding="ascii")

        def link(reverse: bool) -> Links:
            output = Path(name) / ("reverse" if reverse else "forward")
            command = [path, "-i", str(text), *_OPTIONS, *(["-r"] if reverse else [])]
            _run(command, output)
            return read_pharaoh(output)

        both = in_both_directions(link, threads)
    for links in both:
        if links.rows != len(source):
            problem = f"{links.rows} lines of links came back for {len(source)} sentence pairs"
            raise DataError(path, "", problem, "is this fast_align?")
    return both


def _run(command: list[str], output: Path) -> None:
    # With two threads it adds up counts in another order, and links differ from run to run.
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with output.open("wb") as stream:
        done = subprocess.run(command, stdout=stream, stderr=subprocess.PIPE, env=environment)
    if done.returncode < 0:
        was_killed = -done.returncode == signal.SIGKILL  # as by a kernel without memory
        kind = OutOfMemoryError if was_killed else TransientError
        raise kind(f"{command[0]} was ended by signal {-done.returncode}.")
    if done.returncode:
        lines = done.stderr.decode(errors="replace").split("\n")
        problem = f"exit status {done.returncode}, {' '.join(lines[-3:]).strip() or 'no message'}"
        raise DataError(command[0], "", problem, "is this fast_align?")


FAST_ALIGN = Aligner(_version, _align)
