"""Errors that a user can fix: one sentence that names the file, the place and the fix."""

from collections.abc import Iterable
from pathlib import Path


class AtlasError(Exception):
    """A problem whose message is meant for the user; programs print it without a traceback."""


class FullDiskError(AtlasError):
    """No space is left, or none of a quota: the next attempt would only cost time."""


class TransientError(AtlasError):
    """A problem that may be gone at the next attempt: a process that died."""


class OutOfMemoryError(TransientError):
    """A process died, or could not go on, for lack of memory: the next attempt gets more."""


class StoppedError(TransientError):
    """The process received SIGTERM or SIGINT."""


class DataError(AtlasError):
    """Input that cannot be used: a file, folder or config, or what is ``where`` in it.

    ``where`` is ``line 12`` or ``key seeds``, or empty. ``problem`` and ``fix``, what the user can
    do about it, are clauses without a full stop.
    """

    def __init__(self, path: Path | str, where: str, problem: str, fix: str) -> None:
        self.path, self.where, self.problem, self.fix = str(path), where, problem, fix
        place = f"{path}, {where}" if where else str(path)
        super().__init__(f"{place}: {problem}; {fix}{'' if fix.endswith('?') else '.'}")


class DataErrors(DataError):
    """Two or more of them, one a line, those of a file together and in their order."""

    def __init__(self, errors: Iterable[DataError]) -> None:
        self.errors = sorted(errors, key=lambda error: error.path)
        first = self.errors[0]
        super().__init__(first.path, first.where, first.problem, first.fix)
        self.args = ("\n".join([f"{len(self.errors)} mistakes:", *map(str, self.errors)]),)


def joined(errors: Iterable[DataError]) -> DataError:
    """Return one error for all of them, one or more; equal ones count once."""
    distinct = list({str(error): error for error in errors}.values())
    return distinct[0] if len(distinct) == 1 else DataErrors(distinct)
