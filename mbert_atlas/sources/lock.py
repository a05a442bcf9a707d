"""``sources.lock`` among the downloads: what each file was when it was first fetched.

Trust on first use: a file for which nobody has published a checksum must stay what it was. The file
may be committed, so that other copies of the repository get the same bytes.
"""

import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import astuple, dataclass, fields
from functools import cached_property
from pathlib import Path

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_text, sha256_of
from mbert_atlas.progress import track

_logger = logging.getLogger(__name__)
LOCK = "sources.lock"
_HASHED = ".sources.hashed"
_HEADER = (
    "# Checksums of the files here when they were first fetched, and where they came from; later "
    "lines count.\n# Commit it to get the same bytes elsewhere. Delete a file's lines to accept "
    "another version of it.\n"
)


@dataclass(frozen=True)
class LockedFile:
    """One line: a file as it was fetched."""

    path: str
    bytes: int
    sha256: str
    url: str  # empty: it was there already


@dataclass(frozen=True)
class Lock:
    """The lines of a folder's ``sources.lock``; without the file there are none."""

    folder: Path
    is_written: bool = True  # whether new lines go into the file

    @property
    def file(self) -> Path:
        """The file itself."""
        return self.folder / LOCK

    @cached_property
    def files(self) -> dict[str, LockedFile]:
        """What is known of files, by path.

        Raises DataError for a wrong line; names it.
        """
        files = {}
        for number, line in self._lines(self.file):
            path, size, sha256, url, *more = [*line.split("\t"), "", "", ""]
            sha256 = sha256.lower()
            is_sum = re.fullmatch("[0-9a-f]{64}", sha256) and size.isdecimal()
            if not is_sum or len(more) != 3:
                names = ", ".join(item.name for item in fields(LockedFile))
                problem = f"not {names} between tabs"
                raise DataError(self.file, f"line {number}", problem, "correct or delete the line")
            files[path] = LockedFile(path, int(size), sha256, url)
        return files

    @cached_property
    def _hashed(self) -> dict[str, str]:
        """The checksums of files, by path, size and time of change, so that none is read twice."""
        lines = (line.rpartition("\t") for _, line in self._lines(self.folder / _HASHED))
        return {state: sha256 for state, _, sha256 in lines}

    @staticmethod
    def _lines(file: Path) -> Iterator[tuple[int, str]]:
        lines = read_text(file).splitlines() if file.exists() else []
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                yield number, line

    def add(self, path: str, file: Path, url: str, sha256: str | None = None) -> None:
        """Note what a file is that has been fetched from an address, or was there (no address).

        A ``sha256`` has been computed already.
        """
        if sha256:
            self._hashed[self._state(file)] = sha256
            self._append(self.folder / _HASHED, f"{self._state(file)}\t{sha256}")
        locked = LockedFile(path, file.stat().st_size, self.sha256_of(file), url)
        if locked != self.files.get(path):
            self.files[path] = locked
            self._append(self.file, "\t".join(map(str, astuple(locked))))

    def sha256_of(self, file: Path) -> str:
        """Return the checksum of a file, which is read only if it has changed since."""
        state = self._state(file)
        if state not in self._hashed:
            self._hashed[state] = sha256_of(file)
            self._append(self.folder / _HASHED, f"{state}\t{self._hashed[state]}")
        return self._hashed[state]

    def _state(self, file: Path) -> str:
        name = file.relative_to(self.folder) if file.is_relative_to(self.folder) else file
        return f"{name}\t{file.stat().st_size}\t{file.stat().st_mtime_ns}"

    def _append(self, file: Path, line: str) -> None:
        if not self.is_written:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_bytes() if file.exists() else b""
        before = "" if text or file.name != LOCK else _HEADER
        before += "\n" if text and not text.endswith(b"\n") else ""  # written by hand
        # One write at the end of the file, since several jobs may fetch at a time.
        try:
            with open(file, "ab", buffering=0) as stream:
                stream.write(f"{before}{line}\n".encode())
        except PermissionError as error:  # a folder that others keep
            _logger.warning("%s: cannot be written (%s)", file, error.strerror)

    def require(self, paths: Collection[str]) -> None:
        """Check that existing files are those that were fetched.

        Raises DataError if some are not; names them.
        """
        changed = [
            str(file)
            for path in track(sorted(self.files.keys() & set(paths)), "checking downloads")
            if (file := self.folder / path).is_file()
            if file.stat().st_size != self.files[path].bytes
            or self.sha256_of(file) != self.files[path].sha256
        ]
        if changed:
            problem = f"changed since they were fetched: {', '.join(changed)}"
            fix = "delete these files to fetch them again, or their lines here to accept them"
            raise DataError(self.file, "", problem, fix)
