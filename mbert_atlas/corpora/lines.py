"""Lines of text from plain, compressed and zipped files, each with its number."""

import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from io import BufferedReader, RawIOBase
from itertools import zip_longest
from pathlib import Path
from typing import IO, Annotated, Any, cast, get_args

from pydantic import AfterValidator, ValidationError

from mbert_atlas.corpora.cards import STRICT, BadRows
from mbert_atlas.errors import DataError
from mbert_atlas.files import AGAIN, damage_in_one_sentence, open_bytes, require_data


def decoded_lines(
    stream: Iterable[bytes], path: Path | str, bad: BadRows | None = STRICT
) -> Iterator[tuple[int, str]]:
    r"""Yield (line number from 1, line without its ``\n`` or ``\r\n``) of a UTF-8 stream.

    Only ``\n`` ends a line: corpora hold U+2028, form feeds and the like inside sentences. ``bad``
    collects lines that are not UTF-8; with None their bytes stay in the line as lone surrogates,
    which :func:`require_text` finds.
    """
    for number, line in enumerate(stream, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        text = line.decode("utf-8", "surrogateescape").removesuffix("\n").removesuffix("\r")
        if bad is None:
            yield number, text
        else:
            with bad:
                require_text(text, path, number)
                yield number, text


def require_text(line: str, path: Path | str, number: int) -> None:
    """Raise a DataError that names the line if a line of :func:`decoded_lines` is not UTF-8."""
    if line.isascii():
        return
    try:
        line.encode()
    except UnicodeEncodeError as error:
        problem = f"not UTF-8 (byte 0x{ord(line[error.start]) & 0xFF:02x})"
        fix = f"convert it to UTF-8, or {AGAIN}"
        raise DataError(path, f"line {number}", problem, fix) from None


def ascii_words(text: str) -> list[str]:
    """Split a tokenised text at ASCII blanks only: U+3000 or U+00A0 are (parts of) tokens."""
    return re.findall(r"[^ \t\n\r\f\v]+", text)


@contextmanager
def open_member(path: Path | str, pattern: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a file, or the member of a zip or tar whose path matches a regular expression.

    ``.zip``, ``.tar``, ``.tar.gz`` and ``.tgz`` are archives, and the content decides whether one
    of the first two is a zip or a tar; for other files see :func:`open_bytes`. The
    ``pattern`` is matched with the end of the member's path, from a ``/`` or from the start. Yields
    what to call it in errors, and a stream of its bytes.

    Raises DataError if the file is missing or damaged, if it or the member is no data, see
    :func:`require_data`, or if a zip does not hold exactly one such member, resource forks of macOS
    aside, or a tar none.
    """
    with open_bytes(path) as stream:
        is_archive = str(path).endswith((".zip", ".tar"))
        is_zip = is_archive and stream.read(2) == b"PK"
        if is_archive:
            stream.seek(0)
        if is_zip:
            with zipfile.ZipFile(stream) as archive:
                names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
                members = [name for name in names if re.search(rf"(?:^|/){pattern}$", name)]
                if len(members) != 1:
                    raise _no_member(path, pattern, f"{len(members)} such members", names)
                with archive.open(members[0]) as content:
                    buffered = BufferedReader(cast(RawIOBase, content), 1 << 16)
                    require_data(buffered.peek(), f"{path}:{members[0]}")
                    yield f"{path}:{members[0]}", buffered
        elif is_archive or str(path).endswith((".tar.gz", ".tgz")):
            # What follows the member is not read, so damage there goes unnoticed.
            with closing(tar_members(stream, path, pattern)) as found:
                yield next(found)
        else:
            yield str(path), stream


def tar_members(
    archive: IO[bytes], place: Path | str, pattern: str
) -> Generator[tuple[str, IO[bytes]], None, None]:
    """Yield the files of a tar whose paths match ``pattern``; see :func:`open_member`.

    The ``archive`` is already decompressed, since the tarfile module takes a compressed one that is
    cut short for a shorter one; ``place`` is what to call it in errors.

    Raises DataError if the archive is damaged or has no such file, or if one is no data.
    """
    names, is_found = list[str](), False
    with damage_in_one_sentence(place), tarfile.open(fileobj=archive, mode="r|") as opened:
        for member in opened:
            content = opened.extractfile(member) if member.isfile() else None
            if content is not None and re.search(rf"(?:^|/){pattern}$", member.name):
                is_found = True
                # tarfile's own buffer is smaller, and peeks at one block.
                buffered = BufferedReader(cast(RawIOBase, content), 1 << 16)
                require_data(buffered.peek(), f"{place}:{member.name}")
                yield f"{place}:{member.name}", buffered
            names.append(member.name)
    if not is_found:
        raise _no_member(place, pattern, "no such member", names)


def _no_member(place: Path | str, pattern: str, found: str, names: list[str]) -> DataError:
    member, problem = pattern.replace("\\", ""), f"found {found} among {short_list(names)}"
    fix = "fetch the archive again or correct the source's format, language or split"
    return DataError(place, f"member {member}", problem, fix)


def require_format(format: str, known: Any, path: Path) -> None:
    """Raise a DataError if the format of a source is not one of a literal type."""
    if format not in get_args(known):
        raise DataError(path, f"format {format}", "unknown", f"use {', '.join(get_args(known))}")


def numbered_lines(
    path: Path | str, member: str = "", bad: BadRows | None = STRICT
) -> Generator[tuple[int, str], None, None]:
    """Yield (line number, line) of a text file or of the ``member`` of an archive.

    See :func:`open_member` for files, members and errors, :func:`decoded_lines` for ``bad``.

    Raises DataError also if all lines are blank.
    """
    with open_member(path, member) as (place, content):
        numbered = decoded_lines(content, place, bad)
        for number, line in numbered:
            yield number, line
            if line.strip():
                break
        else:
            if not (bad and bad.reasons):  # else lines were left out, which has its own error
                raise DataError(place, "", "there is no text in it", f"drop it, or {AGAIN}")
        yield from numbered


def numbered_rows(
    path: Path | str, member: str = "", bad: BadRows | None = STRICT
) -> Generator[tuple[int, str], None, None]:
    """Yield :func:`numbered_lines` without empty ones at the end, which are no rows."""
    empty: list[tuple[int, str]] = []
    with closing(numbered_lines(path, member, bad)) as numbered:
        for number, line in numbered:
            if line.strip(" "):
                yield from empty
                yield number, line
                empty.clear()
            else:
                empty.append((number, line))


def parallel_lines(
    first: tuple[Path, str], second: tuple[Path, str], bad: BadRows = STRICT
) -> Iterator[tuple[int, str, str]]:
    """Yield (line number, line of the first file, line of the second) of line-parallel files.

    Files are given with the members of archives, see :func:`numbered_lines`. ``bad`` collects pairs
    of lines that are not UTF-8; without it the first raises an error.

    Raises DataError if one file has more lines than the other, but for an empty last line.
    """
    # closing: a half-read generator would keep its archive open until it is collected.
    with (
        closing(numbered_lines(*first, bad=None)) as left,
        closing(numbered_lines(*second, bad=None)) as right,
    ):
        for one, other in zip_longest(left, right):
            if one is None or other is None:
                longer, shorter = (first, second) if other is None else (second, first)
                number, text = one or other
                rest = left if other is None else right
                if not text.strip(" ") and next(rest, None) is None:
                    return
                problem = f"has no counterpart: {_name(*shorter)} ends at line {number - 1}"
                fix = "fetch both files again; line-parallel files must have equally many lines"
                raise DataError(_name(*longer), f"line {number}", problem, fix)
            number, text = one
            with bad:
                require_text(text, first[0], number)
                require_text(other[1], second[0], number)
                yield number, text, other[1]


def _name(path: Path, member: str) -> str:
    return f"{path}:{member}" if member else str(path)


def split_columns(line: str, width: int, path: Path | str, number: int) -> list[str]:
    """Split a tab-separated line (no quoting).

    Raises DataError if it has not ``width`` columns, or is not UTF-8.
    """
    require_text(line, path, number)
    columns = line.split("\t")
    if len(columns) != width:
        problem = f"{len(columns)} tab-separated columns where {width} were expected"
        fix = "correct the line, or fetch the file again if it was cut short"
        raise DataError(path, f"line {number}", problem, fix)
    return columns


def numbered_columns(
    path: Path | str, member: str = "", *, least: int, most: int = sys.maxsize, bad: BadRows
) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, columns) of a tab-separated file, see :func:`numbered_rows`.

    The first line decides how many columns there must be, within ``least`` and ``most``. ``bad``
    collects wrong lines.
    """
    width = 0
    with closing(numbered_rows(path, member, bad)) as rows:
        for number, line in rows:
            width = width or min(max(line.count("\t") + 1, least), most)
            with bad:
                yield number, split_columns(line, width, path, number)


def parsed_json(text: str | bytes, path: Path | str, where: str = "") -> Any:
    """Return the value of JSON, in which a wrong string or number does not stop the rest.

    Bytes that are no UTF-8, and half a surrogate pair that is written as an escape, stay in the
    string, which is no :data:`JsonText` then; integers of 20 digits and more are floats.

    Raises DataError for what is not JSON, or nested deeper than Python reads.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "surrogateescape")
    try:
        return json.loads(text, parse_int=lambda digits: (int, float)[len(digits) >= 20](digits))
    except json.JSONDecodeError as error:
        where = where or f"line {error.lineno}"
        raise DataError(path, where, f"not JSON ({error.msg})", "fetch the file again") from error
    except RecursionError as error:
        problem = "the JSON is nested too deeply"
        raise DataError(path, where, problem, "correct it, or fetch the file again") from error


def _whole(text: str) -> str:
    if re.search("[\ud800-\udfff]", text):
        raise ValueError("half a surrogate pair or a byte that is not UTF-8")
    return text


JsonText = Annotated[str, AfterValidator(_whole)]
"""A string of :func:`parsed_json` in a model of pydantic."""


def json_mistake(error: ValidationError) -> tuple[list[str], str]:
    """Return keys and problem of the first mistake that pydantic reports of a JSON value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return list(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")


def short_list(names: Sequence[str]) -> str:
    """Return the first few of some names, for an error."""
    listed = ", ".join(names[:8])
    return f"{listed}, ... ({len(names)} in all)" if len(names) > 8 else listed or "nothing"
