"""A mirror folder: upstream files under their paths, listed with checksums in MANIFEST.tsv."""

import csv
import hashlib
import lzma
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import (
    SUMS,
    atomic_path,
    damage_in_one_sentence,
    read_sums,
    read_text,
    sha256_of,
)
from mbert_atlas.progress import track
from mbert_atlas.sources.lock import LOCK
from mbert_atlas.sources.register import SNAPSHOT_FOLDER, HubEntry, Register, checked_path

MANIFEST = "MANIFEST.tsv"
_COLUMNS = ("path", "bytes", "sha256", "dataset", "source", "commit", "licence", "note")


@dataclass(frozen=True)
class Mirror:
    """A mirror folder whose MANIFEST.tsv has been read.

    A file that the manifest does not list is never used, since nothing vouches for it. A file may
    be stored xz-compressed, under its path with ``.xz`` added.
    """

    folder: Path
    rows: dict[str, dict[str, str]] = field(repr=False)  # cells by column, by path

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """Read the manifest of a mirror folder.

        Raises DataError if the folder or its manifest is missing, or a line of the manifest is
        wrong; names the line.
        """
        folder = Path(folder)
        path = folder / MANIFEST
        if not folder.is_dir():
            raise DataError(folder, "", "no such mirror folder", "correct `mirror` in the config")
        if not path.is_file():
            fix = "list its files there (see write_manifest)"
            raise DataError(path, "", "the mirror has no manifest", fix)
        lines = read_text(path).replace("\r\n", "\n").split("\n")
        table = csv.DictReader(lines, delimiter="\t", restval="", quoting=csv.QUOTE_NONE)
        header, rows = table.fieldnames or [], dict[str, dict[str, str]]()
        if not {"path", "sha256"} <= set(header):
            raise DataError(path, "line 1", "no columns path and sha256", "add the header line")
        for row in table:
            problem = ""
            if more := row.pop(None, []):
                cells = len(header) + len(more)
                problem = f"{cells} tab-separated cells where the header has {len(header)}"
            elif re.fullmatch("[0-9a-f]{64}", row["sha256"]) is None:
                problem = f"{row['sha256']!r} is not a sha256"
            elif row["path"] in rows:
                problem = f"{row['path']} is listed twice"
            if problem:
                place = f"line {table.line_num}"
                raise DataError(path, place, problem, "correct or delete the line")
            rows[row["path"]] = row
        return cls(folder, rows)

    def holder(self, path: str) -> str | None:
        """Return the name under which the mirror holds ``path``: itself, with ``.xz``, or None.

        Raises DataError if the file is there but the manifest does not list it.
        """
        names = (checked_path(path), path + ".xz")
        name = next((name for name in names if (self.folder / name).is_file()), None)
        if name and name not in self.rows:
            problem = "the file is in the mirror but not in the manifest"
            fix = "add a line for it (see write_manifest) or remove it"
            raise DataError(self.folder / MANIFEST, name, problem, fix)
        return name

    def origin(self, path: str, file: Path) -> str | None:
        """Return source, commit and note that the manifest states about a file taken from here.

        None if the mirror does not hold ``path`` or the ``file`` is another.

        Raises DataError, see :meth:`holder`; also if the mirror's own copy is damaged.
        """
        name = self.holder(path)
        if name is None:
            return None
        row, held = self.rows[name], self.rows[name]["sha256"]
        if name != path:
            packed = self.folder / name
            with damage_in_one_sentence(packed), lzma.open(packed) as stream:
                held = hashlib.file_digest(stream, "sha256").hexdigest()
        if sha256_of(file) != held:
            return None
        commit = f"commit {row['commit']}" if row.get("commit") else ""
        stated = filter(None, (row.get("source"), commit, row.get("note")))
        return ", ".join(stated) or f"the mirror {self.folder}"

    def files_under(self, path: str) -> list[str]:
        """Return the paths of the files under the folder ``path``, without any added ``.xz``.

        Raises DataError if one of them is not in the manifest.
        """
        names = [f"{path}/{name}" for name in _visible_files(self.folder / checked_path(path))]
        for name in names:
            self.holder(name)
        return [name.removesuffix(".xz") for name in names]

    def parts(self, path: str) -> list[str]:
        """Return the paths of the files that a folder's list of checksums names; else nothing.

        Raises DataError if it lacks one of them.
        """
        folder, _, name = path.rpartition("/")
        sums = read_sums(self.folder / path) if name == SUMS else ()
        parts = [f"{folder}/{part}" for part in sums]
        for part in parts:
            if not self.holder(part):
                problem, fix = f"{part} is not there", "copy the file into the mirror and list it"
                raise DataError(self.folder / path, "", problem, fix)
        return parts

    def copy(self, path: str, destination: Path) -> None:
        """Copy ``path``, which it holds, to ``destination`` whole, decompressed if held as ``.xz``.

        Raises DataError if the checksum of the file as it lies in the mirror is not the manifest's,
        or it is damaged although its checksum agrees.
        """
        name = self.holder(path) or path
        file, listed = self.folder / name, self.rows[name]["sha256"]
        if (found := sha256_of(file)) != listed:
            problem = f"its sha256 is {found}, but in {MANIFEST} it is {listed}"
            raise DataError(file, "", problem, "copy the file into the mirror again")
        opener: Any = open if name == path else lzma.open
        with (
            damage_in_one_sentence(file),
            atomic_path(destination) as temporary,
            opener(file, "rb") as stream,
            open(temporary, "wb") as target,
        ):
            shutil.copyfileobj(stream, target, 1 << 20)


def _visible_files(folder: Path) -> list[str]:
    """Return the relative paths of the files under ``folder``, sorted.

    Hidden ones are left out: Snakemake writes one into every folder that is an output.
    """
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [str(file) for file in files if not any(part.startswith(".") for part in file.parts)]


def _origin(name: str, register: Register, before: Mirror | None) -> tuple[str, ...]:
    """Return dataset, source, commit, licence and note of a file in a mirror folder."""
    if name.startswith(SNAPSHOT_FOLDER + "/"):
        snapshot = name.rsplit("/", 1)[0]
        for hub in register.entries:
            if isinstance(hub, HubEntry) and snapshot == hub.path:
                return hub.id, hub.repository, hub.revision, hub.licence, hub.title
        return "", snapshot, "", "", "not in the register"
    if source := register.find(name) or register.find(name.removesuffix(".xz")):
        entry = source.entry
        return entry.id, source.url or entry.access, "", entry.licence, entry.title
    if before and name in before.rows:  # the user's file: what they wrote about it stays
        return tuple(before.rows[name].get(column, "") for column in _COLUMNS[3:])
    return "own", "", "", "", "not in the register"


def write_manifest(folder: Path | str, register: Register) -> int:
    """List every file of a folder in its MANIFEST.tsv, so that it is a mirror; return their number.

    Hidden files, and README, manifest and lock at its top, are left out. Dataset, address and
    licence are the register's, or else those of the older manifest; without both the dataset is
    ``own``, and the user adds licence and source.

    Raises DataError if there is a manifest with a wrong line; AtlasError if there is no file.
    """
    folder = Path(folder)
    before = Mirror.read(folder) if (folder / MANIFEST).is_file() else None
    names = [name for name in _visible_files(folder) if name not in {MANIFEST, LOCK, "README.md"}]
    if not names:
        raise AtlasError(f"{folder}: there are no files to list; fill the folder first.")
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for name in track(names, "hashing the mirror"):
        size = str((folder / name).stat().st_size)
        rows.append((name, size, sha256_of(folder / name), *_origin(name, register, before)))
    with atomic_path(folder / MANIFEST) as temporary:
        temporary.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return len(names)
