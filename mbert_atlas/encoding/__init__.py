"""Tables as token stores, one encoding per task; free of torch, as its jobs are short."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.encoding.stores import TaskEncoding
from mbert_atlas.registry import Registry

__all__ = ["ENCODINGS", "encode", "labels_of"]

ENCODINGS = Registry(
    "encoding for a task",
    {
        "nli": "encoding.classes:NLI",
        "language_identification": "encoding.languages:LANGUAGE_IDENTIFICATION",
        "tagging": "encoding.tags:TAGGING",
        "ner": "encoding.tags:NER",
        "qa": "encoding.questions:QA",
        "parsing": "encoding.trees:PARSING",
        "text": "encoding.texts:TEXT",
    },
)
"""By the name of the task's module in :mod:`mbert_atlas.config.tasks`."""


def encode(
    task: str, table: pa.Table, tokenizer_dir: Path | str, output: Path | str, **options: Any
) -> None:
    """Write a table as the token store of a task.

    Args:
        task: name of the task.
        table: examples with the task's columns.
        tokenizer_dir: folder of the tokenizer, with ``tokenizer.json``.
        output: the store's folder.
        options: ``labels``, the classes in the order of the model's outputs; ``max_length``, most
            tokens of an example, special ones included (the rest is cut); ``drop_unknown``, leave
            out examples with [UNK]; ``origin``, the source of the table, for messages; and those of
            the task's entry in :data:`ENCODINGS`.

    Raises:
        DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
    """
    encoding: TaskEncoding = ENCODINGS.load(task)
    encoding.encode(table, tokenizer_dir, output, **options)


def labels_of(task: str, table: pa.Table, languages: Collection[str]) -> Sequence[str]:
    """Return the classes of a task in the order of the model's outputs.

    Args:
        task: name of the task.
        table: its examples.
        languages: languages of their dataset.
    """
    encoding: TaskEncoding = ENCODINGS.load(task)
    return encoding.labels(table, languages)
