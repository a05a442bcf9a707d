"""Tables as corpora and runs write them, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import (
    BITEXT,
    CLASS_PREDICTIONS,
    SPAN_PREDICTIONS,
    TAG_PREDICTIONS,
    WORD_PAIRS,
)

Words = Sequence[str]


def write_bitext(path: Path, rows: Iterable[Sequence[Any]], score: float | None = None) -> Path:
    """Write sentence pairs, the first two items of each row: words of the source and the target."""
    sides = [list(column) for column in zip(*rows, strict=True)][:2]
    scores = [score] * len(sides[0])
    write_parquet(pa.table([_ids(sides[0]), *sides, scores], schema=BITEXT), path)
    return path


def pairs_table(rows: Sequence[tuple[Words, Words, Sequence[tuple[int, int]]]]) -> pa.Table:
    """Return sentence pairs with the links between their words."""
    source, target, links = zip(*rows, strict=True)
    indices = [[[link[side] for link in own] for own in links] for side in (0, 1)]
    return pa.table([_ids(rows), list(source), list(target), *indices], schema=WORD_PAIRS)


def class_predictions(rows: Sequence[tuple[str, str, str, str, str]]) -> pa.Table:
    """Return rows of dataset, language, id, gold and predicted class."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table([*columns, [[1.0]] * len(rows)], schema=CLASS_PREDICTIONS)


def tag_predictions(
    dataset: str,
    languages: str | Sequence[str],
    gold: Sequence[Words],
    predicted: Sequence[Words],
    words: Any = None,
) -> pa.Table:
    """Return tags of sentences, all in one language or each in its own; of whole words."""
    count = len(gold)
    languages = [languages] * count if isinstance(languages, str) else languages
    ids = [f"{number:03}" for number in range(count)]
    words = words or [range(len(tags)) for tags in gold]
    columns = [[dataset] * count, languages, ids, gold, predicted, words]
    return pa.table(columns, schema=TAG_PREDICTIONS)


def span_predictions(
    dataset: str, language: str, asked: str, gold: Sequence[Words], predicted: Words
) -> pa.Table:
    """Return answers to questions ``asked`` in a language, each with some gold answers."""
    count = len(gold)
    names = [[dataset] * count, [language] * count, [asked] * count]
    return pa.table([*names, _ids(gold), gold, predicted], schema=SPAN_PREDICTIONS)


def _ids(rows: Sequence[Any]) -> list[str]:
    return [f"s{number}" for number in range(len(rows))]
