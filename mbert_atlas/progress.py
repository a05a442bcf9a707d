"""Progress: a bar on a terminal, a line about every half minute in a log file."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")
_LOG_INTERVAL_SECONDS = 30.0
_logger = logging.getLogger(__name__)


def track(items: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield ``items`` while showing how far the loop is; ``total`` if they have no length."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    if sys.stderr.isatty():
        yield from tqdm(items, desc=description, total=total)
        return
    started = last = time.monotonic()
    for count, item in enumerate(items):
        now = time.monotonic()
        if now - last >= _LOG_INTERVAL_SECONDS:
            last = now
            rate = count / (now - started)
            _logger.info("%s: %d of %s (%.1f per second)", description, count, total or "?", rate)
        yield item
