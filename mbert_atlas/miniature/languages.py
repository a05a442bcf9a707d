"""The languages of the miniature: the rows of ``languages.csv``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from mbert_atlas.errors import DataError
from mbert_atlas.miniature.language import Language

TABLE = Path(__file__).with_name("languages.csv")
_NUMBERS = ("cases", "genders", "classifiers", "copula")


def _rows() -> dict[str, Language]:
    with TABLE.open(encoding="utf-8", newline="") as stream:
        rows: list[dict[str, Any]] = list(csv.DictReader(stream))
    numbers = ({name: int(row[name]) for name in _NUMBERS} for row in rows)
    return {row["code"]: Language(**row | more) for row, more in zip(rows, numbers, strict=True)}


MINIATURE_LANGUAGES: dict[str, Language] = _rows()
"""Code -> language; English first."""


def miniature_language(code: str) -> Language:
    """Return a language of the miniature.

    Raises:
        DataError: if the miniature does not speak it.
    """
    try:
        return MINIATURE_LANGUAGES[code]
    except KeyError:
        raise DataError(
            "the miniature",
            f"language {code}",
            "there is no row of it",
            f"choose from {' '.join(MINIATURE_LANGUAGES)} or add a row to {TABLE.name}",
        ) from None
