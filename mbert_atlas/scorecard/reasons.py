"""Why artifacts are missing: the errors of a failed run, for the pages of the existing results."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from mbert_atlas.files import atomic_path

_COLUMNS = ("paper", "artifact", "reason")


def write_reasons(rows: Iterable[tuple[str, str, str]], path: Path | str) -> None:
    """Write paper, artifact and reason, one row each, as CSV, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([_COLUMNS, *rows])


def read_reasons(path: Path | str) -> dict[tuple[str, str], str]:
    """Read what :func:`write_reasons` wrote: by paper and artifact the reasons, joined."""
    reasons: dict[tuple[str, str], str] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["paper"], row["artifact"]
            reasons[key] = " ".join(filter(None, [reasons.get(key), row["reason"]]))
    return reasons
