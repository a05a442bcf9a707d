"""Downloads over HTTP that resume after an interruption and are checked."""

import logging
import math
import os
from pathlib import Path

import requests
import urllib3
from requests.adapters import HTTPAdapter

from mbert_atlas.errors import DataError
from mbert_atlas.files import full_disk_in_one_sentence, sha256_of
from mbert_atlas.progress import track

_logger = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_TIMEOUT_SECONDS = (30, 120)  # to connect, and between two blocks
_RETRY = urllib3.Retry(
    5, backoff_factor=2, status_forcelist=[408, 425, 429, 500, 502, 503, 504], raise_on_status=False
)


def download(url: str, destination: Path, *, sha256: str | None, name: str) -> None:
    """Download ``url`` to ``destination``, whole and checked or not at all.

    Unfinished bytes stay in the hidden file ``.<name>.part``, and the next call requests only the
    rest, with the server's ETag or date (``If-Range``), so that parts of two versions are never
    joined. ``name`` is what messages call the file.

    Raises DataError if the server returns an error, the transfer breaks off, a web page came
    instead of a file, or the checksum is wrong (names both); TransientError if the disk is full.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = destination.with_name(f".{destination.name}.part")
    version = part.with_name(f"{part.name}.version")
    _logger.info("downloading %s from %s", name, url)
    with full_disk_in_one_sentence(destination), requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=_RETRY))
        try:
            _transfer(session, url, part, version, name)
        except requests.RequestException as error:
            kept = part.stat().st_size if part.exists() else 0
            problem = f"the download of {name} broke off ({error}); {kept} bytes are kept"
            fix = "correct the address, start again to resume, or put the file into a mirror folder"
            raise DataError(url, "", problem, fix) from error
    version.unlink(missing_ok=True)
    with open(part, "rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        problem = f"the server sent a web page (HTML) instead of {name}"
        fix = "download the file in a browser and put it into a mirror folder"
    elif sha256 and (found := sha256_of(part)) != sha256:
        problem = f"the sha256 of {name} is {found}, in the register it is {sha256}"
        fix = "start again; if it fails again, upstream has changed the file"
    else:
        os.replace(part, destination)
        return
    part.unlink()
    raise DataError(url, "", problem, fix)


def _transfer(session: requests.Session, url: str, part: Path, version: Path, name: str) -> None:
    """Download what ``part`` lacks; ``version`` names the version of the bytes it has."""
    have = part.stat().st_size if part.exists() and version.exists() else 0
    headers = {"Accept-Encoding": "identity"}  # lengths and ranges are those of the file
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": version.read_text("utf-8")}
    with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_SECONDS) as response:
        status, answered = response.status_code, response.headers
        if have and status == 416:  # the part is whole or too long
            if answered.get("Content-Range") != f"bytes */{have}":
                part.unlink()
                _transfer(session, url, part, version, name)
            return
        if status not in {200, 206}:
            problem = f"the server answered {status} {response.reason} for {name}"
            fix = "correct its entry in resources/sources.yaml or put it into a mirror folder"
            raise DataError(url, "", problem, fix)
        now = answered.get("ETag", "W/")
        if now.startswith("W/"):  # If-Range wants a strong one
            now = answered.get("Last-Modified", "")
        version.unlink(missing_ok=True)
        length = int(answered.get("Content-Length", 0))
        with open(part, "ab" if status == 206 else "wb") as stream:
            if now:
                version.write_text(now, encoding="utf-8")
            total = math.ceil(length / _MEBIBYTE) or None
            blocks = response.iter_content(_MEBIBYTE)
            for block in track(blocks, f"downloading {name} (MiB)", total):
                stream.write(block)
