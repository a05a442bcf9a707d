"""Rows that cannot be used, in a file that otherwise can: counted, left out, up to a fraction."""

import logging
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from mbert_atlas.errors import DataError

_logger = logging.getLogger(__name__)

MOST_BAD = 0.01
"""Fraction of bad rows above which a file is an error.

Slips of annotators and of conversion are a few in 100,000 rows; a file of another format, language
or version is wrong in most of them. One in a hundred is far from both, and moves no score visibly.
"""
_LISTED = 5
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|(?<![\w-])\d+")


@dataclass
class BadRows:
    """Collects the bad rows of one corpus.

    ``with bad:`` drops a row for the :class:`DataError` that reading it raises.
    """

    unit: str  # what rows are called
    is_strict: bool = False  # whether the first bad row is an error
    reasons: Counter[str] = field(default_factory=Counter)  # problems without numbers and names
    first: list[str] = field(default_factory=list)  # a few, with their places
    _error: DataError | None = None

    def __enter__(self) -> None:
        """Start to read a row."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        """Drop the row if reading it raised a DataError."""
        if isinstance(error, DataError):
            self.drop(error)
        return isinstance(error, DataError)

    def drop(self, error: DataError) -> None:
        """Count a row that is left out because of ``error``."""
        if self.is_strict:
            raise error
        self._error = self._error or error
        self.reasons[_PARTICULAR.sub("…", error.problem)] += 1
        if len(self.first) < _LISTED:
            self.first.append(f"{error.path}, {error.where}: {error.problem}")

    def require_few(self, usable: int) -> None:
        """Raise the first DataError if ``usable`` rows are too few, see ``MOST_BAD``."""
        if (error := self._error) is None:
            return
        bad = self.reasons.total()
        share = f"{bad} of {usable + bad} {self.unit} cannot be used"
        if bad > MOST_BAD * (usable + bad):
            problem = f"{error.problem} ({share}, more than {MOST_BAD:.0%})"
            raise DataError(error.path, error.where, problem, error.fix)
        _logger.warning("%s and are left out: %s", share, "; ".join(self.first))


STRICT = BadRows("rows", is_strict=True)
"""For files in which no row may be bad."""
