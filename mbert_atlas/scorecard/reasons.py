"""Why artifacts have not been made: what a run that failed says, for the pages of what is there."""

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
    found: dict[tuple[str, str], str] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["paper"], row["artifact"]
            found[key] = f"{found[key]} {row['reason']}" if key in found else row["reason"]
    return found
