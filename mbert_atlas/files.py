"""Whole files or none: every output is written under a temporary name and renamed."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from mbert_atlas.errors import DataError, TransientError

AGAIN = "delete this file, and the next start fetches it again"
_DAY = 86400.0  # seconds
_ROWS_PER_GROUP = 16_384  # small: a sample of a big wiki then decodes little at a time


def _temporary_name(path: Path) -> Path:
    """Return where ``path`` is written to at first; what killed jobs left there a day ago goes."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(FileNotFoundError):  # another job's, which has just ended
            if time.time() - left.stat().st_mtime > _DAY:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


@contextmanager
def full_disk_in_one_sentence(path: Path) -> Iterator[None]:
    """Turn the system's error for a full disk, while ``path`` is written, into a TransientError."""
    try:
        yield
    except OSError as error:
        if error.errno in (28, 122):  # ENOSPC, EDQUOT
            raise TransientError(
                f"{path}: no space left while writing ({error.strerror}); "
                "free space or point the run at another disk, then start again."
            ) from error
        raise


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yield a temporary sibling of ``path`` that replaces it on success and vanishes on failure.

    Raises:
        TransientError: if the disk is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary_name(path)
    try:
        with full_disk_in_one_sentence(path):
            yield temporary
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_directory(path: Path | str) -> Iterator[Path]:
    """Like :func:`atomic_path` for a folder; an older folder of that name is replaced whole.

    Raises:
        TransientError: if the disk is full.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
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

    Deleting it in place would, if the process is killed, leave a part of it under its name.
    """
    old = path.with_name(f".{path.name}.{os.getpid()}.old.partial")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        os.replace(path, old)
    os.replace(new, path)
    shutil.rmtree(old, ignore_errors=True)


def flush_to_disk(folder: Path) -> None:
    """Wait until a folder's entries and the contents of its files would survive a power failure."""
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


def write_in_groups(
    parts: Generator[list[Mapping[str, Any]], None, None], schema: pa.Schema, path: Path | str
) -> None:
    """Write rows as they come as zstd Parquet, atomically; a part stays in one row group."""
    with (
        closing(parts),  # whatever it has open, if the disk is full
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd") as writer,
    ):
        rows: list[Mapping[str, Any]] = []
        for part in parts:
            rows += part
            if len(rows) >= _ROWS_PER_GROUP:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows.clear()
        if rows:
            writer.write_table(pa.Table.from_pylist(rows, schema))


def read_parquet(path: Path | str, schema: pa.Schema | None = None) -> pa.Table:
    """Read a Parquet file and check it against ``schema``.

    Raises:
        DataError: if the file is not Parquet or its columns differ from ``schema``.
    """
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(path, "", f"not a readable Parquet file ({error})", "remake it") from error
    if schema is not None and not table.schema.equals(schema, check_metadata=False):
        raise DataError(
            path,
            "columns",
            f"found {table.schema.names}, wanted {schema.names} with the documented types",
            "delete the file so that the workflow makes it again",
        )
    return table


def write_json(value: Any, path: Path | str) -> None:
    """Write ``value`` as indented UTF-8 JSON with sorted keys, atomically."""
    text = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_json(path: Path | str) -> Any:
    """Read a JSON file.

    Raises:
        DataError: if the file is missing or not JSON; names line and column.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(path, "", "no such file", "make it or correct the path") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DataError(path, place, f"not JSON ({error.msg})", "correct or remake it") from error


def sha256_of(path: Path | str) -> str:
    """Return the SHA-256 of a file as lower-case hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_DAMAGE = (
    *(EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error),
    *(zipfile.BadZipFile, tarfile.TarError),
)


@contextmanager
def damage_in_one_sentence(place: Path | str) -> Iterator[None]:
    """Turn what the archive modules say of damage, while ``place`` is read, into a DataError."""
    try:
        yield
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, _DAMAGE) or error.errno is None:  # bz2's is a bare OSError
            problem = f"the archive is cut short or damaged ({error})"
            raise DataError(place, "", problem, AGAIN) from error
        raise


@contextmanager
def open_bytes(path: Path | str) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; ``.gz``, ``.tgz``, ``.bz2`` and ``.xz`` are decompressed.

    Raises:
        DataError: if the file is missing, empty, cut short or damaged.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(path, "", "no such file", "fetch it or correct the path")
    if path.stat().st_size == 0:
        raise DataError(path, "", "the file is empty", AGAIN)
    openers: dict[str, Callable[..., Any]] = {
        ".gz": gzip.open,
        ".tgz": gzip.open,
        ".bz2": bz2.open,
        ".xz": lzma.open,
    }
    opener = openers.get(path.suffix, open)
    with damage_in_one_sentence(path), opener(path, "rb") as stream:
        # The archive classes read lines in Python; a buffer reads them in C, several times faster.
        yield cast(BinaryIO, io.BufferedReader(stream, 1 << 16))


@contextmanager
def open_text(path: Path | str) -> Iterator[TextIO]:
    """Open a text file, plain or ``.gz``, ``.bz2``, ``.xz``, as strict UTF-8, line ends kept.

    Raises:
        DataError: if the file is missing, empty, cut short, damaged or not UTF-8.
    """
    try:
        with (
            open_bytes(path) as stream,
            io.TextIOWrapper(stream, encoding="utf-8", newline="\n") as text,
        ):
            yield text
    except UnicodeDecodeError as error:
        raise DataError(
            path,
            f"byte {error.start} of a block",
            f"not UTF-8 (byte 0x{error.object[error.start]:02x})",
            f"convert it to UTF-8, or {AGAIN}",
        ) from error
