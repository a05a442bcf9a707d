"""Addresses that only the server knows: the date of a dump that exists, the parts of a folder."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3

from mbert_atlas.sources.download import AnswerError, Session, UnreachableError, answer_error
from mbert_atlas.sources.register import Address, SourceFile

_ABSENT = (404, 410)
_FIX = "correct the address, or try again later"
_PART = re.compile(r"[\w-][\w.-]*\.(xml\.bz2|parquet)")


class NoDumpError(AnswerError):
    """There is no dump of a date, nor one near it."""


def nearest_dump(
    source: SourceFile, session: Session, *, exact: bool = False
) -> tuple[SourceFile, Address]:
    """Return a dump on its date, or the nearest one within a year that exists; and its address.

    Of two as near, the earlier one. ``exact``: on no other date. The Internet Archive's metadata,
    where the register names it, tell what exists, with size and MD5; else the address itself.

    Raises NoDumpError if there is none, another AnswerError if the server cannot tell.
    """
    for day in source.nearest_dates():
        candidate = source.at(day)
        if address := _present(candidate, session):
            return candidate, address
        if exact:
            break
    when = f"{source.date:%Y-%m-%d}" + ("" if exact else " or within a year of it")
    fix = "set `exact: false` to take the nearest one, or " if exact else ""
    fix += "take another form of Wikipedia (docs/sources.md)"
    raise NoDumpError(str(source.url), 404, f"there is no dump of {when}", fix)


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
    with answer(session, metadata.format_map(source.values)) as response:
        item = _json(response)  # {} if there is none
    name = address.url.rpartition("/")[2]
    for file in item.get("files", ()) if isinstance(item, dict) else ():
        if file.get("name") == name:
            size = str(file.get("size", ""))
            return Address(
                address.url, None, int(size) if size.isdecimal() else None, file.get("md5")
            )
    return None


def list_parts(source: SourceFile, session: Session) -> dict[str, Address]:
    """Return the addresses of the parts that a folder's list names, by name, in its order.

    Raises AnswerError if the server has no list, or it names no part with a checksum.
    """
    (address,) = source.addresses
    with answer(session, address.url) as response:
        named = dict(_listed(response))
    parts = {
        name: Address(str(source.entry.parts).format_map({**source.values, "part": name}), *known)
        for name, known in named.items()
        if _PART.fullmatch(name)
    }
    if not parts:
        raise AnswerError(address.url, 404, "it lists no file with its sha256", _FIX)
    return parts


def _listed(response: requests.Response) -> Iterator[tuple[str, tuple[str, int | None]]]:
    if response.headers.get("Content-Type", "").startswith("application/json"):  # of the hub
        for file in _json(response):
            if lfs := file.get("lfs"):
                yield file["path"].rpartition("/")[2], (lfs["oid"], lfs["size"])
        return
    for line in response.text.splitlines():
        if match := re.fullmatch(r"([0-9a-f]{64}) [ *](?:.*/)?([^/]+)", line):
            yield match[2], (match[1], None)


def _json(response: requests.Response) -> Any:
    try:
        return response.json()
    except json.JSONDecodeError as error:
        problem = f"the answer is not JSON ({error.msg})"
        raise UnreachableError(response.url, None, problem, _FIX) from error


@contextmanager
def answer(session: Session, url: str, **headers: str) -> Iterator[requests.Response]:
    """Yield the answer of a server with its body unread.

    Raises AnswerError if it is an error, UnreachableError if there is none.
    """
    try:
        with session.get(url, headers=headers, stream=True) as response:
            if response.status_code >= 400 and response.status_code != 416:  # of an empty file
                raise answer_error(url, response, "", _FIX)
            yield response
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise UnreachableError(url, None, f"no answer ({error})", _FIX) from error
