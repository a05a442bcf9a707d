"""Downloads over HTTP that resume after an interruption and are checked."""

import hashlib
import logging
import math
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Semaphore
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter

from mbert_atlas import __version__
from mbert_atlas.errors import DataError, TransientError
from mbert_atlas.files import full_disk_in_one_sentence, what_it_is_instead
from mbert_atlas.progress import track
from mbert_atlas.sources.lock import LOCK
from mbert_atlas.sources.register import Address

_logger = logging.getLogger(__name__)
HEAD = 4096
"""Bytes at the start of a file that tell a web page or a pointer from data."""
_MEBIBYTE = 1 << 20
_BLOCK = 1 << 18
ENDLESS = (
    *(requests.TooManyRedirects, requests.exceptions.InvalidURL),
    *(requests.exceptions.InvalidSchema, requests.exceptions.MissingSchema),
)
"""Errors of an address that remain in every try."""
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_TRIES = 5  # without a new byte
_AT_A_TIME = 4  # requests to one host


class AnswerError(DataError):
    """A server answered with an error, or with none (``status`` is None then)."""

    def __init__(
        self, url: str, status: int | None, problem: str, fix: str, where: str = ""
    ) -> None:
        self.status = status
        super().__init__(url, where, problem, fix)


class UnreachableError(AnswerError, TransientError):
    """No answer, a busy server, or a transfer that broke off: another try may succeed."""


def answer_error(url: str, response: requests.Response, what: str, fix: str) -> AnswerError:
    """Return an error for an answer that is one; ``what`` was requested."""
    status = response.status_code
    kind, fix = (UnreachableError, "try again later") if status in _BUSY else (AnswerError, fix)
    return kind(url, status, f"the server answered {status} {response.reason}{what}", fix)


class _Patience(urllib3.Retry):
    """Waits as long as a busy server requests, and logs it."""

    def get_retry_after(self, response: Any) -> float | None:
        with suppress(urllib3.exceptions.InvalidHeader):  # as if there were none
            return super().get_retry_after(response)
        return None

    def sleep(self, response: Any = None) -> None:
        seconds = response is not None and self.get_retry_after(response)
        if seconds:
            _logger.warning("the server is busy and requests a pause of %.0f s", seconds)
        super().sleep(response)


class _Adapter(HTTPAdapter):
    """Sends a few requests at a time to each host, and none to one that never answers."""

    def __init__(self, timeout: tuple[float, float], give_up: int | None, **options: Any) -> None:
        super().__init__(**options)
        self._timeout, self._give_up = timeout, give_up
        self._slots = defaultdict[str, Semaphore](lambda: Semaphore(_AT_A_TIME))
        self._failures = Counter[str]()

    def send(self, request: Any, *_: Any, **options: Any) -> requests.Response:
        host = urlsplit(request.url).netloc
        with self._slots[host]:
            if self._give_up and self._failures[host] >= self._give_up:
                raise requests.ConnectionError(f"{host} has not answered {self._give_up} requests")
            try:
                response = super().send(request, **{**options, "timeout": self._timeout})
            except requests.RequestException:
                self._failures[host] += 1
                raise
            self._failures[host] = 0
            return response


class Session(requests.Session):
    """Requests that name their sender, wait when told to, and log redirects to other hosts.

    Threads may share it: no host gets more than four requests at a time.
    """

    def __init__(
        self,
        contact: str | None = None,
        *,
        tries: int = 5,
        longest_wait: int = 900,
        timeout: tuple[float, float] = (30, 120),
        give_up: int | None = None,
    ) -> None:
        """Give up a request after ``tries``, and a host after ``give_up`` requests in vain.

        A server may request a pause of up to ``longest_wait`` seconds. ``timeout``: seconds to
        connect, and between two blocks.
        """
        super().__init__()
        who = contact or "NLP research; contact not stated"
        self.headers["User-Agent"] = f"mbert-atlas/{__version__} ({who})"
        self.headers["Accept-Encoding"] = "identity"  # lengths and ranges are those of the file
        retry = _Patience(
            tries,
            backoff_factor=2,
            status_forcelist=_BUSY,
            raise_on_status=False,
            retry_after_max=longest_wait,
        )
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(timeout, give_up, max_retries=retry, pool_maxsize=32))
        self._reported = set[tuple[str, str]]()
        self.hooks["response"].append(self._report_redirect)

    def _report_redirect(self, response: requests.Response, *_: Any, **__: Any) -> None:
        if target := self.get_redirect_target(response):
            try:
                hosts = urlsplit(response.url).netloc, urlsplit(target).netloc
            except ValueError as error:
                raise requests.exceptions.InvalidURL(f"redirect to {target}: {error}") from error
            if hosts[1] not in ("", hosts[0]) and hosts not in self._reported:
                self._reported.add(hosts)
                _logger.info("%s redirects to %s", *hosts)


def download(
    address: Address, destination: Path, *, name: str, session: requests.Session | None = None
) -> str:
    """Download a file to ``destination``, whole and checked or not at all; return its SHA-256.

    A transfer that breaks off resumes at its byte while the server still sends. Unfinished bytes
    stay in the hidden file ``.<name>.part``, and the next call requests only the rest, with the
    server's ETag or date (``If-Range``), so that parts of two versions are never joined. ``name``
    is what messages call the file.

    Raises AnswerError if the server returns an error; UnreachableError if the transfer breaks off
    for good; DataError if something else came instead of a file, or size or checksum are wrong
    (names both); FullDiskError if the disk is full.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = destination.with_name(f".{destination.name}.part")
    version = part.with_name(f"{part.name}.version")
    _logger.info("downloading %s from %s", name, address.url)
    with full_disk_in_one_sentence(destination):
        _transfer_patiently(session or Session(), address.url, part, version, name)
    version.unlink(missing_ok=True)
    try:
        sha256 = _checked(part, address, name)
    except DataError:
        part.unlink()
        raise
    os.replace(part, destination)
    return sha256


def _checked(part: Path, address: Address, name: str) -> str:
    """Return the SHA-256 of a whole transfer; a DataError states what is wrong with it."""
    sums = {"md5": hashlib.md5(usedforsecurity=False), "sha256": hashlib.sha256()}
    with open(part, "rb") as stream:
        start = stream.read(HEAD)
        stream.seek(0)
        while block := stream.read(_MEBIBYTE):
            for item in sums.values():
                item.update(block)
    if other := what_it_is_instead(start) or ("" if start else "an empty file"):
        fix = "download the file in a browser and put it into a mirror folder"
        raise DataError(address.url, "", f"the server sent {other} instead of {name}", fix)
    facts = {"size": part.stat().st_size} | {kind: item.hexdigest() for kind, item in sums.items()}
    expected = {"size": address.bytes, "md5": address.md5, "sha256": address.sha256}
    for kind, fact in facts.items():
        if expected[kind] not in (None, fact):
            problem = f"the {kind} of {name} is {fact}, not {expected[kind]}"
            fix = "start again; if it fails again, upstream has changed the file: to accept it, "
            fix += f"correct resources/sources.yaml or delete its lines in {LOCK}"
            raise DataError(address.url, "", problem, fix)
    return str(facts["sha256"])


def _transfer_patiently(
    session: requests.Session, url: str, part: Path, version: Path, name: str
) -> None:
    """Download what ``part`` lacks, and again after each break while new bytes come."""
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            return _transfer(session, url, part, version, name)
        except ENDLESS as error:
            problem = f"the address leads nowhere ({error})"
            raise AnswerError(url, 404, problem, "correct it in resources/sources.yaml") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            kept = part.stat().st_size if part.exists() else 0
            tries = 1 if kept > before and version.exists() else tries + 1
            # The session has tried several times to connect; a broken transfer it does not repeat.
            if tries == _TRIES or isinstance(error, requests.RequestException):
                problem = f"the download of {name} broke off ({error}); {kept} bytes are kept"
                fix = "check network and address, then start again to resume, or put the file "
                raise UnreachableError(url, None, problem, fix + "into a mirror folder") from error
            _logger.warning("%s broke off at byte %d (%s); resuming", name, kept, error)
            time.sleep(2.0 ** (tries - 1))


def _transfer(session: requests.Session, url: str, part: Path, version: Path, name: str) -> None:
    """Download what ``part`` lacks; ``version`` names the address and version of its bytes."""
    source, _, tag = version.read_text("utf-8").partition("\n") if version.exists() else ("",) * 3
    have = part.stat().st_size if part.exists() and source == url else 0
    headers = {"Range": f"bytes={have}-", "If-Range": tag} if have else {}
    with session.get(url, headers=headers, stream=True) as response:
        status, answered = response.status_code, response.headers
        if status not in {200, 206} and not (have and status == 416):
            fix = "correct its entry in resources/sources.yaml or put it into a mirror folder"
            raise answer_error(url, response, f" for {name}", fix)
        now = answered.get("ETag", "W/")
        if now.startswith("W/"):  # If-Range wants a strong one
            now = answered.get("Last-Modified", "")
        span = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+)", answered.get("Content-Range", ""))
        if have and status == 416 and span and int(span[2]) == have:
            return  # it was whole
        is_rest = status == 206 and span is not None and span[1] == str(have) and now == tag
        if have and status != 200 and not is_rest:
            part.unlink()  # another version, or another part than was requested
            return _transfer(session, url, part, version, name)
        version.unlink(missing_ok=True)
        if "text/html" in answered.get("Content-Type", ""):
            fix = "download the file in a browser and put it into a mirror folder"
            raise DataError(url, "", f"the server sent an HTML page instead of {name}", fix)
        length = answered.get("Content-Length", "")
        total = int(span[2]) if is_rest and span else int(length) if length.isdecimal() else None
        # Some servers pack all the same; files that are packed themselves stay as they are.
        is_packed = "Content-Encoding" in answered and not url.endswith((".gz", ".tgz", ".bz2"))
        with open(part, "ab" if is_rest else "wb") as stream:
            if now and not is_packed:
                version.write_text(f"{url}\n{now}", encoding="utf-8")
            left = None if total is None else math.ceil((total - have * is_rest) / _MEBIBYTE)
            blocks = response.iter_content(_BLOCK) if is_packed else _as_they_arrive(response)
            for _ in track(_written(blocks, stream), f"downloading {name} (MiB)", left or None):
                pass
        if total not in (None, part.stat().st_size) and not is_packed:
            problem = f"{part.stat().st_size} of {total} bytes came"
            raise urllib3.exceptions.ProtocolError(problem)


def _as_they_arrive(response: requests.Response) -> Iterator[bytes]:
    """Yield bytes in blocks of any size, so that a break loses none."""
    while block := response.raw.read1(_BLOCK):
        yield block


def _written(blocks: Iterable[bytes], stream: BinaryIO) -> Iterator[None]:
    """Write blocks as they come; yield at every mebibyte."""
    received = 0
    for block in blocks:
        stream.write(block)
        received += len(block)
        for _ in range(received // _MEBIBYTE - (received - len(block)) // _MEBIBYTE):
            yield
