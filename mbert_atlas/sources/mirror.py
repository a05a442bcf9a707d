"""A mirror folder: upstream files under their paths, listed with checksums in MANIFEST.tsv."""

from __future__ import annotations

import hashlib
import lzma
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import atomic_path, damage_in_one_sentence, sha256_of
from mbert_atlas.progress import track
from mbert_atlas.sources.register import SNAPSHOT_FOLDER, HubEntry, Register, checked_path

MANIFEST = "MANIFEST.tsv"
_COLUMNS = ("path", "bytes", "sha256", "dataset", "source", "commit", "licence", "note")
_BLOCK = 1 << 20


class _Hashing:
    """A reader that hashes whatever passes through it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self._stream.read(size)
        self.digest.update(block)
        return block


@dataclass(frozen=True)
class Mirror:
    """A mirror folder whose MANIFEST.tsv has been read.

    A file that the manifest does not list is never used, since nothing vouches for it. A file may
    be stored xz-compressed, under its path with ``.xz`` added.
    """

    folder: Path
    rows: dict[str, dict[str, str]] = field(repr=False)
    """By path: the cells of its line in the manifest by column."""

    @classmethod
    def read(cls, folder: Path | str) -> Mirror:
        """Read the manifest of a mirror folder.

        Raises:
            DataError: if the folder or its manifest is missing, or a line of the manifest is
                wrong; names the line.
        """
        folder = Path(folder)
        path = folder / MANIFEST
        if not folder.is_dir():
            raise DataError(folder, "", "no such mirror folder", "correct `mirror` in the config")
        if not path.is_file():
            raise DataError(
                path, "", "the mirror has no manifest", "list its files there (see write_manifest)"
            )
        rows: dict[str, dict[str, str]] = {}
        header: list[str] = []
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            place = f"line {number}"
            try:
                cells = line.decode("utf-8-sig").split("\t")
            except UnicodeDecodeError as error:
                raise DataError(path, place, "not UTF-8", "convert the file to UTF-8") from error
            if not header:
                header = cells
                if not {"path", "sha256"} <= set(header):
                    raise DataError(
                        path, place, "no columns path and sha256", "add the header line"
                    )
                continue
            if not line.strip():
                continue
            if len(cells) > len(header):
                problem = f"{len(cells)} tab-separated cells where the header has {len(header)}"
                raise DataError(path, place, problem, "correct the line")
            row = dict.fromkeys(header, "") | dict(zip(header, cells, strict=False))
            name, digest = row["path"], row["sha256"]
            if re.fullmatch("[0-9a-f]{64}", digest) is None:
                raise DataError(path, place, f"{digest!r} is not a sha256", "correct the line")
            if name in rows:
                raise DataError(path, place, f"{name} is listed twice", "delete one line")
            rows[name] = row
        if not header:
            raise DataError(path, "line 1", "no columns path and sha256", "add the header line")
        return cls(folder, rows)

    def holder(self, path: str) -> str | None:
        """Return the name under which the mirror holds ``path``: itself, with ``.xz``, or None.

        Raises:
            DataError: if the file is there but the manifest does not list it.
        """
        for name in (checked_path(path), path + ".xz"):
            if (self.folder / name).is_file():
                if name not in self.rows:
                    raise DataError(
                        self.folder / MANIFEST,
                        name,
                        "the file is in the mirror but not in the manifest",
                        "add a line for it (see write_manifest) or take it away",
                    )
                return name
        return None

    def origin(self, path: str, file: Path) -> str | None:
        """Return what the manifest states about a file that was taken from here.

        Args:
            path: its path.
            file: where it lies now.

        Returns:
            Its source, commit and note; none if the mirror does not hold it or ``file`` is another.

        Raises:
            DataError: see :meth:`holder`; also if the mirror's own copy is damaged.
        """
        name = self.holder(path)
        if name is None:
            return None
        with damage_in_one_sentence(self.folder / name):
            if name == path:
                same = sha256_of(file) == self.rows[name]["sha256"]
            else:
                with lzma.open(self.folder / name) as stream:
                    held = hashlib.file_digest(stream, "sha256").hexdigest()
                same = sha256_of(file) == held
        if not same:
            return None
        row = self.rows[name]
        commit = f"commit {row['commit']}" if row.get("commit") else ""
        said = filter(None, (row.get("source"), commit, row.get("note")))
        return ", ".join(said) or f"the mirror {self.folder}"

    def holds_folder(self, path: str) -> bool:
        """Say whether the mirror holds at least one file under the folder ``path``."""
        return bool(_visible_files(self.folder / checked_path(path)))

    def files_under(self, path: str) -> list[str]:
        """Return the paths of the files under the folder ``path``, without any added ``.xz``.

        Hidden files are passed over, as in :func:`write_manifest`; Snakemake leaves one in every
        folder that is an output.

        Raises:
            DataError: if one of them is not in the manifest.
        """
        names = [f"{path}/{name}" for name in _visible_files(self.folder / checked_path(path))]
        for name in names:
            self.holder(name)
        return [name.removesuffix(".xz") for name in names]

    def _held(self, path: str) -> str:
        name = self.holder(path)
        if name is None:
            raise DataError(self.folder, path, "the mirror does not hold it", "add it")
        return name

    def copy(self, path: str, destination: Path) -> None:
        """Copy ``path`` to ``destination`` whole, decompressing it if it is held as ``.xz``.

        The checksum is that of the file as it lies in the mirror, computed while copying.

        Raises:
            DataError: if the mirror does not hold it, its checksum is not the manifest's, or it is
                damaged although its checksum agrees.
        """
        name = self._held(path)
        file = self.folder / name
        with atomic_path(destination) as temporary:
            with open(file, "rb") as stream, open(temporary, "wb") as target:
                reader = _Hashing(stream)
                damage: Exception | None = None
                try:
                    if name == path:
                        shutil.copyfileobj(reader, target, _BLOCK)
                    else:
                        with lzma.open(cast(BinaryIO, reader)) as source:
                            shutil.copyfileobj(source, target, _BLOCK)
                except (lzma.LZMAError, EOFError) as error:
                    damage = error
                while reader.read(_BLOCK):  # the checksum is of the whole file, damaged or not
                    pass
            if reader.digest.hexdigest() != self.rows[name]["sha256"]:
                raise DataError(
                    file,
                    "",
                    f"its sha256 is {reader.digest.hexdigest()} but {MANIFEST} says "
                    f"{self.rows[name]['sha256']}",
                    "copy the file into the mirror again",
                )
            if damage is not None:
                raise DataError(
                    file, "", f"not a whole xz file ({damage})", "compress it again"
                ) from damage


def _visible_files(folder: Path) -> list[str]:
    """Return the relative paths of the files under ``folder``, hidden ones left out, sorted."""
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return [
        file.as_posix() for file in files if not any(part.startswith(".") for part in file.parts)
    ]


def _origin(name: str, register: Register, before: Mirror | None) -> tuple[str, ...]:
    """Return dataset, source, commit, licence and note of a file in a mirror folder."""
    if name.startswith(SNAPSHOT_FOLDER + "/"):
        snapshot = name.rsplit("/", 1)[0]
        for entry in register.entries:
            if isinstance(entry, HubEntry) and snapshot == entry.path:
                return entry.id, entry.repository, entry.revision, entry.licence, entry.title
        return "", snapshot, "", "", "not in the register"
    source = register.find(name) or register.find(name.removesuffix(".xz"))
    if source is None:  # a file of one's own: what a person wrote stays
        line = before.rows.get(name) if before else None
        if line is None:
            return "own", "", "", "", "not in the register"
        return tuple(line.get(column, "") for column in _COLUMNS[3:])
    return source.dataset, source.url or source.access, "", source.licence, source.title


def write_manifest(folder: Path | str, register: Register) -> int:
    """List every file of a folder in its MANIFEST.tsv, so that it can be used as a mirror.

    A downloads folder or one filled by hand becomes a mirror this way. Hidden files and the
    README and manifest at its top are left out.

    Args:
        folder: folder with files under their paths.
        register: where dataset, address and licence of each are looked up. Of a file that it does
            not know the manifest's older line is kept but for size and checksum; without one the
            dataset is ``own``, and licence and source are left for a person to write.

    Returns:
        Number of files listed.

    Raises:
        DataError: if there is a manifest with a wrong line.
        AtlasError: if there is no file.
    """
    folder = Path(folder)
    before = Mirror.read(folder) if (folder / MANIFEST).is_file() else None
    names = [name for name in _visible_files(folder) if name not in {MANIFEST, "README.md"}]
    lines = ["\t".join(_COLUMNS)]
    for name in track(names, "hashing the mirror"):
        size = (folder / name).stat().st_size
        cells = (name, str(size), sha256_of(folder / name), *_origin(name, register, before))
        lines.append("\t".join(cells))
    if len(lines) == 1:
        raise AtlasError(f"{folder}: there are no files to list; fill the folder first.")
    with atomic_path(folder / MANIFEST) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(names)
