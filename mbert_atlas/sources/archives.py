"""Unpacking of zip and tar archives that does not trust them."""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory

_BLOCK = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    OSError,  # bz2 and gzip report damage as a bare OSError
)


_Member = tuple[str, bool, Callable[[], IO[bytes]]]  # name, whether regular, opener


def _zip_members(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            if not info.is_dir():
                kind = stat.S_IFMT(info.external_attr >> 16)
                encrypted = info.flag_bits & 1
                regular = kind in (0, stat.S_IFREG) and not encrypted
                yield info.filename, regular, partial(file.open, info)


def _tar_members(archive: Path, start: bytes) -> Iterator[_Member]:
    # tarfile's own decompression takes a stream that is cut short for a short archive
    opener: Callable[[Path], IO[bytes]]
    if start.startswith(b"\x1f\x8b"):
        opener = gzip.open  # type: ignore[assignment]
    elif start.startswith(b"BZh"):
        opener = bz2.open
    elif start.startswith(b"\xfd7zXZ\x00"):
        opener = lzma.open
    else:
        opener = _open_whole_tar
    with opener(archive) as stream, tarfile.open(fileobj=stream, mode="r|") as file:
        for info in file:  # one pass, for the big ones
            if not info.isdir():
                yield info.name, info.isreg(), partial(_opened, file, info)
        while stream.read(_BLOCK):  # to the end, where the checksum is
            pass


def _opened(file: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    stream = file.extractfile(info)
    assert stream is not None  # only links and devices have no content
    return stream


def _open_whole_tar(archive: Path) -> IO[bytes]:
    with open(archive, "rb") as stream:
        stream.seek(max(archive.stat().st_size - 2 * tarfile.BLOCKSIZE, 0))
        if stream.read().strip(b"\0") or stream.tell() == 0:
            raise tarfile.ReadError("no end mark")
    return open(archive, "rb")


def _write(opened: IO[bytes], target: Path, room: int) -> int:
    """Copy a member, stop when it is longer than ``room``, and return its length."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with opened, open(target, "xb") as stream:
        while block := opened.read(_BLOCK):
            size += len(block)
            if size > room:
                return size
            stream.write(block)
    return size


def extract_members(
    archive: Path | str,
    members: Collection[str] | Callable[[str], bool],
    destination: Path | str,
    *,
    maximum_bytes: int = 64 << 30,
) -> list[Path]:
    """Unpack some members of a zip or tar archive into a folder that then holds just these.

    Args:
        archive: zip, or tar that is plain or compressed with gzip, bzip2 or xz.
        members: names of the members, or a function that says for each name whether to take it.
        destination: folder to make; an older one is replaced whole.
        maximum_bytes: refuse to unpack more than this in all.

    Returns:
        The unpacked files, in the archive's order.

    Raises:
        DataError: if the archive is missing, no archive, or cut short; a member is missing, is
            there twice, is a link or device, is encrypted, or has a name that leads outside the
            folder; or they are larger than ``maximum_bytes`` together. Nothing is left behind.
    """
    archive, destination = Path(archive), Path(destination)
    if not archive.is_file():
        raise DataError(archive, "", "no such file", "fetch it or correct the path")
    wanted = members if callable(members) else set(members).__contains__
    left = None if callable(members) else set(members)
    with open(archive, "rb") as stream:  # is_zipfile also says yes to a tar that ends in a zip
        start = stream.read(6)
    is_zip = start[:4] in (b"PK\x03\x04", b"PK\x05\x06")
    seen: list[str] = []
    taken: dict[str, None] = {}  # in order
    size = 0
    with atomic_directory(destination) as folder:
        iterator = _zip_members(archive) if is_zip else _tar_members(archive, start)
        try:
            for name, regular, opener in iterator:
                seen.append(name)
                if not wanted(name):
                    continue
                parts = PurePosixPath(name).parts
                if not parts or name.startswith("/") or ".." in parts or "\\" in name:
                    problem = "its name leads outside the folder"
                    raise DataError(archive, f"member {name}", problem, "don't use this archive")
                if not regular:
                    problem = "it is a link, a device or encrypted"
                    raise DataError(archive, f"member {name}", problem, "unpack it by hand")
                if name in taken:
                    problem = "it is there twice"
                    raise DataError(archive, f"member {name}", problem, "fetch the archive again")
                size += _write(opener(), folder.joinpath(*parts), maximum_bytes - size)
                if size > maximum_bytes:
                    raise DataError(
                        archive,
                        f"member {name}",
                        f"the members are larger than {maximum_bytes} bytes together",
                        "check the archive, and raise maximum_bytes if it is right",
                    )
                taken[name] = None
                if left is not None:
                    left.discard(name)
                    if not left:
                        break
        except _DAMAGE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise DataError(
                archive, "", f"cut short, damaged or no archive ({error})", "fetch it again"
            ) from error
        if left:
            missing = sorted(left)
            near = difflib.get_close_matches(missing[0], seen, n=3)
            hint = f" (near it: {', '.join(near)})" if near else ""
            raise DataError(
                archive, f"member {missing[0]}", f"no such member{hint}", "correct the name"
            )
        if not taken:
            raise DataError(archive, "", "no member has the wanted name", "check the archive")
    return [destination.joinpath(*PurePosixPath(name).parts) for name in taken]
