"""The dataset card: what a Parquet file holds, where it came from and what was left out.

Rows that cannot be used are counted and left out, up to a fraction, see :class:`BadRows`.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mbert_atlas import __version__
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, sha256_of, write_json

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


STRICT = BadRows("rows", is_strict=True)  # for files in which no row may be bad

Origins = Sequence[Mapping[str, str]]


@dataclass
class Card:
    """What a reader of a dataset must know before using its numbers; filled while it is read."""

    dataset: str  # its name where its origins state none
    language: str
    counts: Counter[str] = field(default_factory=Counter)  # items by kind
    dropped: Counter[str] = field(default_factory=Counter)  # items left out, by reason
    bad: BadRows = field(default_factory=lambda: BadRows("rows"))
    notes: list[str] = field(default_factory=list)
    tool: str = ""  # a program that did the work besides this package, with its version

    def content(self, files: Iterable[Path | str], origins: Origins = ()) -> dict[str, Any]:
        """Return the card as JSON, with the checksums of the ``files`` that were read.

        ``origins``: of each upstream file, what the register of sources states (``dataset``,
        ``licence``, ``citation``) and what was really read (``read_from``).
        """

        def stated(key: str) -> list[str]:
            return list(dict.fromkeys(one[key] for one in origins if one.get(key)))

        return {
            "dataset": "; ".join(stated("dataset")) or self.dataset,
            "language": self.language,
            "read_from": stated("read_from"),
            "source_files": [
                {"path": path, "sha256": sha256_of(path)} for path in dict.fromkeys(map(str, files))
            ],
            "licence": "; ".join(stated("licence")) or "not stated",
            "citation": "; ".join(stated("citation")) or "not stated",
            "counts": dict(self.counts),
            "dropped": dict(self.dropped + self.bad.reasons),
            "first_bad_rows": self.bad.first,
            "notes": self.notes,
            "created_by": f"mbert-atlas {__version__}" + (f", {self.tool}" if self.tool else ""),
        }

    def write(self, path: Path | str, files: Iterable[Path | str], origins: Origins = ()) -> None:
        """Write :meth:`content` to a JSON file."""
        write_json(self.content(files, origins), path)


def corpora_read(folder: Path | str) -> dict[str, str]:
    """Return what datasets were read from, by name, from the cards in a run's folder ``data``."""
    corpora: dict[str, list[str]] = {}
    for path in sorted(Path(folder).rglob("*.card.json")):
        name = path.relative_to(folder).parts[0].removesuffix(".card.json")
        corpora.setdefault(name, []).extend(read_origins(path))
    return {name: "; ".join(dict.fromkeys(stated)) for name, stated in corpora.items()}


def read_origins(path: Path) -> list[str]:
    """Return the corpora of a dataset with licences, and what was read, by the file of its card."""
    content, stated = read_json(path), list[str]()
    for card in [content] if "source_files" in content else content.values():
        licence = card["licence"].replace("not stated", "licence not stated")
        stated += [f"{card['dataset']} ({licence})", *card.get("read_from", ())]
    return list(dict.fromkeys(stated))
