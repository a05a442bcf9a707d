"""Downloads over HTTP that go on where they broke off."""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pooch
import requests
import urllib3

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path
from mbert_atlas.progress import track

_logger = logging.getLogger(__name__)
_MEBIBYTE = 1 << 20
_TIMEOUT_SECONDS = (30, 120)  # to connect, and between two blocks
_TRY_AGAIN = {408, 425, 429, 500, 502, 503, 504}


class _BrokenOff(Exception):
    """The transfer stopped early for a reason that may pass."""


class ResumingDownloader:
    """A pooch downloader that keeps what it has in ``part`` and asks only for the rest.

    The server's ETag or date is kept beside the part and sent with the request (``If-Range``), so
    the halves of two versions are never joined; a server that ignores ranges makes it start over.

    Args:
        part: where unfinished bytes are kept between attempts and between processes.
        name: what to call the file in messages.
        attempts: failures in a row, without a byte gained, after which it gives up.
        first_wait: seconds before the second attempt, doubled before each further one.
    """

    def __init__(
        self, part: Path, name: str, *, attempts: int = 5, first_wait: float = 2.0
    ) -> None:
        self.part, self.name = part, name
        self.attempts, self.first_wait = attempts, first_wait
        self._version = part.with_name(part.name + ".version")

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Download ``url`` to ``output_file``; the signature is pooch's.

        Raises:
            DataError: if the server refuses, the transfer keeps breaking off, or what came is a
                web page although a data file was wanted.
        """
        failures, farthest = 0, self._have()
        while True:
            try:
                self._attempt(url)
                break
            except (
                _BrokenOff,
                requests.ConnectionError,
                requests.Timeout,
                urllib3.exceptions.HTTPError,
            ) as error:
                failures = 0 if self._have() > farthest else failures + 1
                farthest = max(farthest, self._have())
                if failures >= self.attempts:
                    raise DataError(
                        url,
                        "",
                        f"the download of {self.name} broke off {failures} times without getting "
                        f"farther ({error}); {self._have()} bytes of it are kept",
                        "start again later to go on, or put the file into a mirror folder",
                    ) from error
                wait = self.first_wait * 2 ** max(failures - 1, 0)
                _logger.warning(
                    "%s: broke off (%s); trying again in %.0f s", self.name, error, wait
                )
                time.sleep(wait)
            except requests.RequestException as error:
                raise DataError(url, "", f"unusable address ({error})", "correct it") from error
        self._refuse_web_page(url)
        self._version.unlink(missing_ok=True)
        os.replace(self.part, output_file)

    def _have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _attempt(self, url: str) -> None:
        have = self._have()
        headers = {"Accept-Encoding": "identity"}  # lengths and ranges are those of the file
        if have and self._version.exists():
            headers |= {"Range": f"bytes={have}-", "If-Range": self._version.read_text("utf-8")}
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT_SECONDS) as response:
            status = response.status_code
            if status in _TRY_AGAIN:
                raise _BrokenOff(f"the server answered {status} {response.reason}")
            if status == 416:  # nothing is left after `have`: either all is here or all is wrong
                if response.headers.get("Content-Range") != f"bytes */{have}":
                    self.part.unlink()
                    raise _BrokenOff("the file on the server has changed")
                return
            if status not in {200, 206}:
                raise DataError(
                    url,
                    "",
                    f"the server answered {status} {response.reason}, so {self.name} is not there",
                    "correct its entry in resources/sources.yaml or put it into a mirror folder",
                )
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise DataError(
                    url,
                    "",
                    "the server insists on sending it compressed on the way",
                    "download it by hand into a mirror folder",
                )
            total = self._expected(response, have)
            if status == 206 and "If-Range" in headers:
                self._refuse_another_version(response, headers["If-Range"])
            version = response.headers.get("ETag", "")
            if not version or version.startswith("W/"):  # If-Range wants a strong one
                version = response.headers.get("Last-Modified", "")
            self._version.unlink(missing_ok=True)
            with open(self.part, "ab" if status == 206 else "wb") as stream:
                if version:
                    self._version.write_text(version, encoding="utf-8")
                for block in self._blocks(response, total):
                    stream.write(block)
        if total is not None and self._have() != total:
            raise _BrokenOff(f"{self._have()} of {total} bytes came")

    def _expected(self, response: requests.Response, have: int) -> int | None:
        if response.status_code == 200:
            length = response.headers.get("Content-Length")
            return int(length) if length else None
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != have:
            self.part.unlink(missing_ok=True)
            raise _BrokenOff("the server sent another range than asked for")
        return None if match[2] == "*" else int(match[2])

    def _refuse_another_version(self, response: requests.Response, version: str) -> None:
        """Throw the part away if the server sent the rest of another version: some do."""
        kind = "ETag" if version.startswith('"') else "Last-Modified"
        if response.headers.get(kind, version) != version:
            self.part.unlink()
            raise _BrokenOff("the file on the server has changed")

    def _blocks(self, response: requests.Response, total: int | None) -> Iterator[bytes]:
        left = None if total is None else math.ceil((total - self._have()) / _MEBIBYTE)
        blocks = response.raw.stream(_MEBIBYTE, decode_content=False)
        return track(blocks, f"downloading {self.name} (MiB)", total=left)

    def _refuse_web_page(self, url: str) -> None:
        with open(self.part, "rb") as stream:
            start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        if start.startswith((b"<!doctype html", b"<html")):
            self.part.unlink()
            self._version.unlink(missing_ok=True)
            raise DataError(
                url,
                "",
                f"the server sent a web page (HTML) instead of {self.name}",
                "open the address in a browser, download the file by hand and put it into a "
                "mirror folder",
            )


def download(
    url: str,
    destination: Path,
    *,
    sha256: str | None,
    name: str,
    attempts: int = 5,
    first_wait: float = 2.0,
) -> None:
    """Download ``url`` to ``destination``, whole and checked or not at all.

    Bytes of a download that broke off wait in the hidden file ``.<name>.part`` beside it.

    Args:
        url: address.
        destination: file to write; an older one is replaced.
        sha256: checksum that the file must have, if one is known.
        name: what to call it in messages.
        attempts: see :class:`ResumingDownloader`.
        first_wait: see :class:`ResumingDownloader`.

    Raises:
        DataError: see :class:`ResumingDownloader`, and if the checksum is wrong (names both).
        AtlasError: if the disk is full.
    """
    part = destination.with_name(f".{destination.name}.part")
    downloader = ResumingDownloader(part, name, attempts=attempts, first_wait=first_wait)
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
        except ValueError as error:  # pooch's word for a wrong checksum
            found = set(re.findall(r"\b[0-9a-f]{64}\b", str(error))) - {sha256}
            raise DataError(
                url,
                "",
                f"the sha256 of {name} is {' '.join(found)} but the register says {sha256}",
                "start again; if it stays so, upstream has changed the file",
            ) from error
