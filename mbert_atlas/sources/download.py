"""Downloads over HTTP that resume after an interruption; pooch verifies them."""

from __future__ import annotations

import logging
import math
import os
import re
from pathlib import Path
from typing import Any

import pooch
import requests
import urllib3
from requests.adapters import HTTPAdapter

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path
from mbert_atlas.progress import track

_logger = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_TIMEOUT_SECONDS = (30, 120)  # to connect, and between two blocks
_RETRY = urllib3.Retry(
    5,
    backoff_factor=2,
    status_forcelist=[408, 425, 429, 500, 502, 503, 504],
    raise_on_status=False,
)


class _ResumingDownloader:
    """A pooch downloader that keeps partial downloads in ``part`` and requests only the rest.

    The server's ETag or date is kept next to the part and sent with the request (``If-Range``), so
    that parts of two versions are never joined; a server that ignores ranges makes it start over.
    Busy servers are retried here; interrupted downloads resume when Snakemake runs the job again.

    Args:
        part: where unfinished bytes are kept between attempts.
        name: what to call the file in messages.
    """

    def __init__(self, part: Path, name: str) -> None:
        self.part, self.name = part, name
        self._version = part.with_name(part.name + ".version")

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Download ``url`` to ``output_file``; the signature is pooch's."""
        try:
            with requests.Session() as session:
                for scheme in ("http://", "https://"):
                    session.mount(scheme, HTTPAdapter(max_retries=_RETRY))
                self._transfer(session, url)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            problem = (
                f"the download of {self.name} broke off ({error}); {self._have()} bytes are kept"
            )
            fix = "correct the address, start again to resume, or put the file into a mirror folder"
            raise DataError(url, "", problem, fix) from error
        self._refuse_web_page(url)
        self._version.unlink(missing_ok=True)
        os.replace(self.part, output_file)

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _transfer(self, session: requests.Session, url: str) -> None:
        have = self._have()
        headers = {"Accept-Encoding": "identity"}  # lengths and ranges are those of the file
        if have and self._version.exists():
            headers |= {"Range": f"bytes={have}-", "If-Range": self._version.read_text("utf-8")}
        with session.get(url, headers=headers, stream=True, timeout=_TIMEOUT_SECONDS) as response:
            status = response.status_code
            if status == 416 and response.headers.get("Content-Range") == f"bytes */{have}":
                return  # nothing is left after `have`
            if status in {206, 416} and not _goes_on(response, have, headers["If-Range"]):
                self.part.unlink()  # the file on the server has changed
                self._transfer(session, url)
                return
            self._refuse_answer(url, response)
            version = response.headers.get("ETag", "")
            if not version or version.startswith("W/"):  # If-Range wants a strong one
                version = response.headers.get("Last-Modified", "")
            self._version.unlink(missing_ok=True)
            length = int(response.headers.get("Content-Length", 0))
            with open(self.part, "ab" if status == 206 else "wb") as stream:
                if version:
                    self._version.write_text(version, encoding="utf-8")
                for block in track(
                    response.raw.stream(_MEBIBYTE, decode_content=False),
                    f"downloading {self.name} (MiB)",
                    total=math.ceil(length / _MEBIBYTE) or None,
                ):
                    stream.write(block)

    def _refuse_answer(self, url: str, response: requests.Response) -> None:
        if response.status_code not in {200, 206}:
            problem = (
                f"the server answered {response.status_code} {response.reason} for {self.name}"
            )
            fix = "correct its entry in resources/sources.yaml or put it into a mirror folder"
            raise DataError(url, "", problem, fix)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            problem, fix = "the server compresses the transfer", "download it into a mirror folder"
            raise DataError(url, "", problem, fix)

    def _refuse_web_page(self, url: str) -> None:
        with open(self.part, "rb") as stream:
            start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith((b"<!doctype html", b"<html")):
            self.part.unlink()
            self._version.unlink(missing_ok=True)
            problem = f"the server sent a web page (HTML) instead of {self.name}"
            fix = "download the file in a browser and put it into a mirror folder"
            raise DataError(url, "", problem, fix)


def _goes_on(response: requests.Response, have: int, version: str) -> bool:
    """Return whether an answer is the rest after ``have`` bytes of that version; not all are."""
    span = re.fullmatch(r"bytes (\d+)-\d+/(?:\d+|\*)", response.headers.get("Content-Range", ""))
    kind = "ETag" if version.startswith('"') else "Last-Modified"
    same = response.headers.get(kind, version) == version
    return span is not None and int(span[1]) == have and same


def download(url: str, destination: Path, *, sha256: str | None, name: str) -> None:
    """Download ``url`` to ``destination``, whole and checked or not at all.

    Partial downloads are kept in the hidden file ``.<name>.part`` next to it.

    Args:
        url: address.
        destination: file to write; an older one is replaced.
        sha256: checksum that the file must have, if one is known.
        name: what to call it in messages.

    Raises:
        DataError: if the server returns an error, the transfer breaks off, a web page came instead
            of a file, or the checksum is wrong (names both).
        AtlasError: if the disk is full.
    """
    downloader = _ResumingDownloader(destination.with_name(f".{destination.name}.part"), name)
    pooch.get_logger().setLevel("WARNING")  # its messages name temporary files
    _logger.info("downloading %s from %s", name, url)
    with atomic_path(destination) as temporary:
        try:
            pooch.retrieve(
                url,
                known_hash=f"sha256:{sha256}" if sha256 else None,
                fname=temporary.name,
                path=temporary.parent,
                downloader=downloader,
            )
        except ValueError as error:  # a wrong checksum
            checksums = set(re.findall(r"\b[0-9a-f]{64}\b", str(error))) - {sha256}
            problem = (
                f"the sha256 of {name} is {' '.join(checksums)}, in the register it is {sha256}"
            )
            fix = "start again; if it fails again, upstream has changed the file"
            raise DataError(url, "", problem, fix) from error
