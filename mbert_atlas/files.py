"""Reading and writing files; every output is written under a temporary name and renamed."""

import bz2
import errno
import glob
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.errors import DataError, FullDiskError

SUMS = "SHA256SUMS"
"""Name of a file that stands for a folder of files, which it lists as `sha256sum` does."""
AGAIN = "delete this file, and the next start fetches it again"
_DAY = 86400.0  # seconds
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PROBE_BYTES = 2**20


def _temporary_name(path: Path) -> Path:
    """Return the first name of ``path``; make its folder, delete what killed jobs left there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for stale in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(FileNotFoundError):  # of another job, which has just ended
            if time.time() - stale.stat().st_mtime > _DAY:
                shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def is_full_disk(error: BaseException) -> bool:
    """Return whether an error says that no space is left, or none of a quota.

    Libraries in other languages put the system's message into errors of other types.
    """
    number = getattr(error, "errno", None)
    messages = (os.strerror(code) for code in _FULL)
    return number in _FULL or any(message in str(error) for message in messages)


@contextmanager
def full_disk_in_one_sentence(path: Path) -> Iterator[None]:
    """Raise a FullDiskError if the disk is full while ``path`` is written."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FullDiskError) or not is_full_disk(error):
            raise
        raise full_disk(path, error) from error


def full_disk(path: Path | str, error: BaseException) -> FullDiskError:
    """Return the error of one sentence for an error that :func:`is_full_disk`."""
    problem = f"{path}: no space left while writing ({getattr(error, 'strerror', None) or error})"
    fix = "free space or point the run at another disk, then start again."
    return FullDiskError(f"{problem}; {fix}")


def require_space(folder: Path) -> None:
    """Raise a FullDiskError if not even a megabyte can be written to a folder; make the folder.

    The free space of the disk does not say so where a quota ends first.
    """
    probe = folder / f".space.{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(_PROBE_BYTES))
    except OSError as error:
        if is_full_disk(error):
            raise full_disk(folder, error) from error
    finally:
        with suppress(OSError):
            probe.unlink()


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary sibling of ``path`` that replaces it on success, and is deleted on failure.

    Raises FullDiskError if the disk is full.
    """
    path = Path(path)
    temporary = _temporary_name(path)
    try:
        with full_disk_in_one_sentence(path):
            yield temporary
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Like :func:`atomic_path` for a folder, which replaces an older one of that name."""
    path = Path(path)
    temporary = _temporary_name(path)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        with full_disk_in_one_sentence(path):
            yield temporary
            replace_directory(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replace_directory(new: Path, path: Path) -> None:
    """Rename the folder ``new`` to ``path``; an older folder there is moved away, then deleted.

    If it were deleted in place and the process killed, a part of it would be left under its name.
    """
    old = path.with_name(f".{path.name}.{os.getpid()}.old.partial")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    shutil.rmtree(old, ignore_errors=True)


def flush_to_disk(folder: Path) -> None:
    """Flush a folder's entries and the contents of its files (``fsync``)."""
    for path in [*(file for file in folder.iterdir() if file.is_file()), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_parquet(table: pa.Table, path: Path | str) -> None:
    """Write ``table`` as zstd Parquet, atomically."""
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_parquet(path: Path | str, schema: pa.Schema | None = None) -> pa.Table:
    """Read a Parquet file and check it against ``schema``.

    Raises DataError if the file is not Parquet or its columns differ from ``schema``.
    """
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        problem = f"not a readable Parquet file ({error})"
        raise DataError(path, "", problem, "make it again") from error
    if schema is not None and not table.schema.equals(schema, check_metadata=False):
        problem = f"{table.schema.names} instead of {schema.names} with the documented types"
        fix = "delete the file so that the workflow makes it again"
        raise DataError(path, "columns", problem, fix)
    return table


def read_text(path: Path) -> str:
    """Return the content of a UTF-8 file, without a byte order mark.

    Raises DataError if the file cannot be read or is not UTF-8; names the line.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise DataError(path, "", "no such file", "correct the path") from error
    except OSError as error:
        raise DataError(path, "", f"cannot be read ({error.strerror})", "name a file") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(path, f"line {line}", "not UTF-8", "save it in this encoding") from error


def write_json(value: Any, path: Path | str) -> None:
    """Write ``value`` as indented UTF-8 JSON with sorted keys, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_json(path: Path | str) -> Any:
    """Read a JSON file.

    Raises DataError if the file is missing, not UTF-8 or not JSON; names line and column.
    """
    try:
        return json.loads(read_text(Path(path)))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DataError(path, place, f"not JSON ({error.msg})", "correct it") from error


def sha256_of(path: Path | str) -> str:
    """Return the SHA-256 of a file as lower-case hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


DAMAGE = (EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile, tarfile.TarError, OSError)
_OPENERS: dict[str, Any] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


_PROLOGUE = rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?>.*?-->)\s*)*"
_NOT_DATA = {  # what servers and version control deliver in place of a file -> how it begins
    "a Git LFS pointer": rb"version https://git-lfs\.github\.com/spec/",
    "a git-annex pointer": rb"(?:[./\\]*\.git)?[/\\]annex[/\\]objects[/\\]\S+\s",
    # A line of a corpus may begin with <html>, but no second tag follows there.
    "an HTML page": _PROLOGUE + rb"<(?:!doctype\s+)?html\b[^>]*>\s*<",
    "an error message of a server (XML)": _PROLOGUE + rb"<Error\b[^>]*>\s*<",
    "an error message of a server": rb"(?:404: )?(?:Not Found|Entry not found)\s*\Z",
}


def what_it_is_instead(start: bytes) -> str:
    """Return what a file is if it begins like no data; else nothing.

    That is a pointer of Git LFS or git-annex, an HTML page, or an error message of a server.
    """
    start = start.removeprefix(b"\xef\xbb\xbf") + b" "
    kinds = _NOT_DATA.items()
    flags = re.IGNORECASE | re.DOTALL
    return next((name for name, pattern in kinds if re.match(pattern, start, flags)), "")


def require_data(start: bytes, place: Path | str) -> None:
    """Raise a DataError if a file that begins like this is empty or :func:`what_it_is_instead`.

    ``place`` is what to call the file.
    """
    if not start.removeprefix(b"\xef\xbb\xbf"):
        raise DataError(place, "", "the file is empty", AGAIN)
    if name := what_it_is_instead(start):
        raise DataError(place, "", f"it is {name}, not the data", AGAIN)


@contextmanager
def damage_in_one_sentence(place: Path | str) -> Iterator[None]:
    """Raise a DataError if the archive ``place`` turns out to be damaged while it is read."""
    try:
        yield
    except DAMAGE as error:
        if getattr(error, "errno", None) is not None:  # gzip's and bz2's OSErrors have none
            raise
        problem = f"the archive is cut short or damaged ({error})"
        raise DataError(place, "", problem, AGAIN) from error


@contextmanager
def open_bytes(path: Path | str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; ``.gz``, ``.tgz``, ``.bz2`` and ``.xz`` are decompressed.

    Raises DataError if the file is missing, empty, cut short, damaged, or no data, see
    :func:`require_data`.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(path, "", "no such file", "fetch it or correct the path")
    with path.open("rb") as stream:  # a pointer or page keeps the suffix of an archive
        require_data(stream.read(4096), path)
    opener = _OPENERS.get(path.suffix, open)
    with damage_in_one_sentence(path), opener(path, "rb") as stream:
        # The archive classes split lines in Python; a buffer does so in C, several times faster.
        buffered = io.BufferedReader(stream, 1 << 16)
        require_data(buffered.peek(), path)
        yield cast(BinaryIO, buffered)


@contextmanager
def open_text(path: Path | str) -> Iterator[TextIO]:
    """Open a text file, see :func:`open_bytes`, as strict UTF-8 with its line ends.

    Raises DataError if the file is missing, empty, cut short, damaged or not UTF-8.
    """
    try:
        with (
            open_bytes(path) as stream,
            io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as text,
        ):
            yield text
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 (byte 0x{error.object[error.start]:02x})"
        fix = f"convert it to UTF-8, or {AGAIN}"
        raise DataError(path, f"byte {error.start} of a block", problem, fix) from error


def read_sums(path: Path) -> dict[str, str]:
    """Return SHA-256 checksums by name from a file that `sha256sum` may have written.

    Raises DataError as :func:`open_text`, and for a wrong line or one that repeats a name.
    """
    sums: dict[str, str] = {}
    with open_text(path) as stream:
        lines = stream.read().rstrip().splitlines()
    for number, line in enumerate(lines, start=1):
        match = re.fullmatch(r"([0-9a-f]{64}) [ *](?:\./)?(\S.*)", line)
        if match is None or match[2] in sums:
            problem = "not `<sha256>  <path>`" if match is None else f"{match[2]} is repeated"
            raise DataError(path, f"line {number}", problem, "correct the line")
        sums[match[2]] = match[1]
    return sums
