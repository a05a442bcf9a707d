"""``sources.lock`` among the downloads: what each file was when it was first fetched.

Trust on first use: a file for which nobody has published a checksum must stay what it was. The file
may be committed, so that other copies of the repository get the same bytes.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_text, sha256_of

LOCK = "sources.lock"
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
    checked: str  # when it was last seen to be so, as ISO 8601
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
        lines = read_text(self.file).splitlines() if self.file.exists() else []
        for number, line in enumerate(lines, 1):
            cells = line.split("\t")
            if line.startswith("#"):
                continue
            if len(cells) != len(fields(LockedFile)) or not cells[1].isdecimal():
                problem = f"not {', '.join(item.name for item in fields(LockedFile))} between tabs"
                raise DataError(self.file, f"line {number}", problem, "delete the line")
            path, size, *others = cells
            files[path] = LockedFile(path, int(size), *others)
        return files

    def add(self, path: str, file: Path, url: str, sha256: str | None = None) -> None:
        """Note that a file has just been seen to be as it should."""
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        seen = LockedFile(path, file.stat().st_size, sha256 or sha256_of(file), now, url)
        line = "\t".join(str(getattr(seen, item.name)) for item in fields(LockedFile)) + "\n"
        self.files[path] = seen
        if not self.is_written:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        # One write at the end of the file, since several jobs may fetch at a time.
        text = line if self.file.exists() else _HEADER + line
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def agrees(self, path: str, file: Path) -> bool:
        """Whether a file is the one that was fetched as ``path``; one without a line is.

        It is hashed only if it has changed since it was last checked.
        """
        locked = self.files.get(path)
        if locked is None:
            return True
        state = file.stat()
        if state.st_size != locked.bytes:
            return False
        if state.st_mtime <= datetime.fromisoformat(locked.checked).timestamp():
            return True
        if sha256_of(file) != locked.sha256:
            return False
        self.add(path, file, locked.url, locked.sha256)
        return True

    def require(self, paths: Collection[str]) -> None:
        """Check that existing files are those that were fetched.

        Raises DataError if some are not; names them.
        """
        changed = [
            str(file)
            for path in sorted(self.files.keys() & set(paths))
            if (file := self.folder / path).is_file() and not self.agrees(path, file)
        ]
        if changed:
            problem = f"changed since they were fetched: {', '.join(changed)}"
            fix = (
                "delete these files to fetch them again, or their lines here if the change is meant"
            )
            raise DataError(self.file, "", problem, fix)
