"""A server on the loopback interface that plays the hosts of upstream files, and their faults."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Answer:
    """What is sent for a path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    size: int | None = None  # to which the body is padded
    delay: float = 0  # seconds before it comes


@dataclass
class Internet:
    """What the server serves, how it misbehaves, and what it was asked."""

    files: dict[str, bytes | Answer] = field(default_factory=dict)
    others: Callable[[str, dict[str, str]], Answer | None] = lambda path, headers: None
    break_off: int = 0  # how many answers stop half-way
    statuses: list[int | tuple[int, str]] = field(default_factory=list)  # first, with Retry-After
    ranges: bool = True
    etag: str | None = '"one"'
    latency: float = 0  # seconds
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, range
    agents: set[str] = field(default_factory=set)
    at_once: int = 0  # the most requests at a time
    url: str = ""

    def redirect(self, register: str) -> str:
        """Return a register whose addresses lead here, where each host is a folder."""
        return re.sub(r"\bhttps?://", f"{self.url}/", register)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: Internet
    running = 0
    counting = threading.Lock()

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        kind = type(self)
        with kind.counting:
            kind.running += 1
            self.state.at_once = max(self.state.at_once, kind.running)
        try:
            time.sleep(self.state.latency)
            self._answer()
        finally:
            with kind.counting:
                kind.running -= 1

    def _send(self, status: int, headers: dict[str, str], body: bytes, sent: int) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:sent])
        self.close_connection = sent < len(body)

    def _answer(self) -> None:
        state, wanted = self.state, self.headers.get("Range")
        state.asked.append((self.path, wanted))
        state.agents.add(self.headers["User-Agent"])
        if state.statuses:
            status, wait = _status(state.statuses.pop(0))
            headers = {"Content-Length": "0"} | ({"Retry-After": wait} if wait else {})
            self._send(status, headers, b"", 0)
            return
        found = state.files.get(self.path) or state.others(self.path, dict(self.headers))
        found = found if found is not None else Answer(b"<html>gone", 404)
        answer = found if isinstance(found, Answer) else Answer(found)
        threading.Event().wait(answer.delay)
        body, status, headers = answer.body, answer.status, {**answer.headers}
        if state.etag:
            headers.setdefault("ETag", state.etag)
        total = len(body) if answer.size is None else answer.size
        is_fresh = self.headers.get("If-Range") in (None, state.etag)
        if status == 200 and state.ranges and wanted and is_fresh:
            start, end = re.fullmatch(r"bytes=(\d+)-(\d*)", wanted).groups()  # type: ignore[union-attr]
            if int(start) >= total:
                length = {"Content-Range": f"bytes */{total}", "Content-Length": "0"}
                self._send(416, length, b"", 0)
                return
            last = min(int(end or total - 1), total - 1)
            status, body = 206, body[int(start) : last + 1]
            headers["Content-Range"] = f"bytes {start}-{last}/{total}"
            body = body.ljust(last + 1 - int(start), b"x")
        elif status == 200:
            body = body.ljust(total, b"x")
        headers["Content-Length"] = str(len(body))
        sent = len(body)
        if state.break_off and status in (200, 206):
            state.break_off -= 1
            sent //= 2
        self._send(status, headers, body, sent)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that have read enough."""


def _status(item: int | tuple[int, str]) -> tuple[int, str]:
    return item if isinstance(item, tuple) else (item, "")


@pytest.fixture
def internet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Internet]:
    """The server, which starts without files."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with served() as state:
        yield state


@contextmanager
def served() -> Iterator[Internet]:
    """Serve on a free port; yield what decides the answers."""
    state = Internet()
    handler = type("Handler", (_Handler,), {"state": state})
    server = _Server(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
