"""Errors that a user can mend: one sentence that names the file, the place and the mend."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any


class AtlasError(Exception):
    """A problem whose message is meant for the user; programs print it without a traceback."""


class TransientError(AtlasError):
    """A problem that may be gone at the next attempt: a full disk, a process that died."""


class StoppedError(TransientError):
    """The process was asked to end (SIGTERM, SIGINT)."""


class DataError(AtlasError):
    """Input that cannot be used.

    Args:
        path: file, folder or config in which the problem sits.
        where: the place inside it (``line 12``, ``key seeds``); empty if it is the whole file.
        problem: what is wrong, as a clause without a full stop.
        mend: what the user can do about it, as a clause without a full stop.
    """

    def __init__(self, path: Path | str, where: str, problem: str, mend: str) -> None:
        self.path, self.where, self.problem, self.mend = str(path), where, problem, mend
        place = f"{path}, {where}" if where else str(path)
        super().__init__(f"{place}: {problem}; {mend}{'' if mend.endswith('?') else '.'}")

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, str, str]]:
        """Survive the trip back from a worker process."""
        return type(self), (self.path, self.where, self.problem, self.mend)


class DataErrors(DataError):
    """Several of them, each in a line of its own, those of a file together.

    Args:
        errors: two or more; those of a file stay in their order.
    """

    def __init__(self, errors: Iterable[DataError]) -> None:
        self.errors = sorted(errors, key=lambda error: error.path)
        first = self.errors[0]
        super().__init__(first.path, first.where, first.problem, first.mend)
        self.args = ("\n".join([f"{len(self.errors)} mistakes:", *map(str, self.errors)]),)

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive the trip back from a worker process."""
        return type(self), (self.errors,)


def joined(errors: Iterable[DataError]) -> DataError:
    """Return one error for all of them, one or more; the same ones count once."""
    found = list({str(error): error for error in errors}.values())
    return found[0] if len(found) == 1 else DataErrors(found)
