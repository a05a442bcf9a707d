"""Addresses that only the server knows: the date of a dump that exists, the parts of a folder."""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain

import requests
import urllib3

from mbert_atlas.files import what_it_is_instead
from mbert_atlas.sources.download import (
    ENDLESS,
    AnswerError,
    Session,
    UnreachableError,
    answer_error,
)
from mbert_atlas.sources.lock import LOCK
from mbert_atlas.sources.register import Address, SourceFile, dates_in

_MOST_LISTED = 5  # dates that are tried of those that a server lists
_ABSENT = (404, 410)
_FIX = "correct the address, or try again later"
_PART = re.compile(r"[\w-][\w.-]*\.(xml\.bz2|parquet)")


class NoDumpError(AnswerError):
    """There is no dump of a date, nor one near it."""


class OtherFilesError(AnswerError):
    """A folder has other files than when it was first fetched."""


def nearest_dump(
    source: SourceFile, session: Session, *, exact: bool = False
) -> tuple[SourceFile, Address]:
    """Return a dump on its date, or the nearest one that exists; and its address.

    Of two as near, the earlier one. ``exact``: on no other date. The dates are those that the
    server lists, or, if it does not, near ones on which dumps may begin. The Internet Archive's
    metadata, where the register names it, tell whether it has the file, with size and MD5; else the
    address itself.

    Raises NoDumpError if there is none, another AnswerError if the server cannot tell.
    """
    others = iter(()) if exact else _other_dates(source, session)
    for candidate in chain([source], map(source.at, others)):
        if address := _present(candidate, session):
            return candidate, address
    when = f"{source.date}" if exact else f"{source.date} or near it"
    fix = "set `exact: false` to take the nearest one, or " if exact else ""
    fix += "take another form of Wikipedia (docs/wikipedia.md)"
    raise NoDumpError(str(source.url), 404, f"there is no dump of {when}", fix)


def _other_dates(source: SourceFile, session: Session) -> Iterator[dt.date]:
    """Yield the dates on which there may be a dump, nearest first."""
    day, days = source.date, list[dt.date]()
    assert day is not None
    if list_of_dates := source.entry.dates:
        url = list_of_dates.format_map(source.values)
        with suppress(AnswerError), answer(session, url) as response:
            days = [other for other in dates_in(response.text) if other != day]
    nearest = sorted(days, key=lambda other: (abs(other - day), other))[:_MOST_LISTED]
    yield from nearest or source.near_dates()


def _present(source: SourceFile, session: Session) -> Address | None:
    """Return the address of a file if it exists."""
    (address,) = source.addresses
    if not (metadata := source.entry.metadata):
        try:
            with answer(session, address.url):
                return address
        except AnswerError as error:
            if error.status in _ABSENT:
                return None
            raise
    name = address.url.rpartition("/")[2]
    with answer(session, metadata.format_map(source.values)) as response, _expected(response):
        item = response.json()  # {} if there is none
        for file in item["files"] if item else ():
            if file["name"] == name:
                return replace(address, bytes=int(file["size"]), md5=file.get("md5"))
    return None


def list_parts(source: SourceFile, session: Session) -> dict[str, Address]:
    """Return the addresses of the parts that a folder's list names, by name, in its order.

    Raises AnswerError if the server has no list, or it names no part with a checksum.
    """
    (address,) = source.addresses
    with answer(session, address.url) as response, _expected(response):
        named = dict(_listed(response))
    parts = {
        name: Address(str(source.entry.parts).format_map({**source.values, "part": name}), *known)
        for name, known in named.items()
        if _PART.fullmatch(name)
    }
    if not parts:
        raise AnswerError(address.url, 404, "it lists no file with its sha256", _FIX)
    return parts


def written_sums(parts: Mapping[str, Address]) -> str:
    """Return the list of a folder's parts in the format of `sha256sum`."""
    return "".join(f"{address.sha256}  {name}\n" for name, address in parts.items())


def require_known_list(source: SourceFile, listed: Address, parts: Mapping[str, Address]) -> None:
    """Raise an OtherFilesError if a folder's list is not that of the first time."""
    sha256 = hashlib.sha256(written_sums(parts).encode()).hexdigest()
    if listed.sha256 not in (None, sha256):
        problem = f"{source.rest} lists other files than when it was first fetched"
        fix = f"delete its lines in {LOCK} to accept them"
        raise OtherFilesError(listed.url, 200, problem, fix)


def _listed(response: requests.Response) -> Iterator[tuple[str, tuple[str, int | None]]]:
    if response.headers.get("Content-Type", "").startswith("application/json"):  # of the hub
        for file in response.json():
            if lfs := file.get("lfs"):
                yield file["path"].rpartition("/")[2], (lfs["oid"], lfs["size"])
        return
    if other := what_it_is_instead(response.content[:4096]):
        raise AnswerError(response.url, 200, f"it is {other}, not a list of checksums", _FIX)
    for line in response.text.splitlines():
        if match := re.fullmatch(r"([0-9a-fA-F]{64}) [ *](?:.*/)?([^/]+)", line):
            yield match[2], (match[1].lower(), None)


@contextmanager
def _expected(response: requests.Response) -> Iterator[None]:
    """Raise an UnreachableError if an answer turns out to have another form than it should."""
    try:
        yield
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError) as error:
        problem = f"the answer is not what it should be ({type(error).__name__}: {error})"
        raise UnreachableError(response.url, None, problem, _FIX) from error


@contextmanager
def answer(session: Session, url: str, **headers: str) -> Iterator[requests.Response]:
    """Yield the answer of a server with its body unread.

    Raises AnswerError if it is an error, UnreachableError if there is none.
    """
    try:
        with session.get(url, headers=headers, stream=True) as response:
            is_empty = response.headers.get("Content-Range") == "bytes */0"
            if response.status_code not in (200, 206, 416 if is_empty else 200):
                raise answer_error(url, response, "", _FIX)
            yield response
    except ENDLESS as error:
        raise AnswerError(url, 404, f"the address leads nowhere ({error})", _FIX) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise UnreachableError(url, None, f"no answer ({error})", _FIX) from error
