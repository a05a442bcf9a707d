"""Tables as token stores, one encoding per task; free of torch, as its jobs are short."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.encoding.stores import Examples, TaskEncoding, write_store
from mbert_atlas.registry import Registry

ENCODINGS = Registry(
    {
        "nli": "encoding.classes:NLI",
        "language_identification": "encoding.classes:LANGUAGE_IDENTIFICATION",
        "tagging": "encoding.tags:TAGGING",
        "ner": "encoding.tags:NER",
        "qa": "encoding.questions:QA",
        "parsing": "encoding.tags:PARSING",
        "text": "encoding.texts:TEXT",
    },
)
"""By the name of the task's module in :mod:`mbert_atlas.config.tasks`."""


def encode(
    task: str,
    table: pa.Table,
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str] | None = None,
    max_length: int = 128,
    drop_unknown: bool = False,
    origin: Path | str = "examples",
    allow_unknown: bool = True,
    **options: Any,
) -> None:
    """Write a table with ``id``, ``language`` and a task's columns as the task's token store.

    Examples of more than ``max_length`` tokens, special ones included, are cut, with
    ``drop_unknown`` those with [UNK] left out. ``labels`` are the classes in the order of the
    model's outputs (None: the task's), ``origin`` the source of the table, for messages, and
    ``options`` those of the task's entry in :data:`ENCODINGS`.

    The store's ``meta.json`` has the ``coverage`` by language. Above 5% of [UNK] are a warning, or
    without ``allow_unknown`` and ``drop_unknown`` a DataError.

    Raises a DataError if a column is missing, a label is not in ``labels`` or nothing is left.
    """
    encoding: TaskEncoding = ENCODINGS.load(task)
    labels = encoding.labels(table, ()) if labels is None else labels
    title = f"encoding {Path(output).name}"
    examples = Examples(
        table, tokenizer_dir, labels, max_length, drop_unknown, origin, title, allow_unknown
    )
    write_store(task, examples, encoding.encode(examples, **options), output)


def labels_of(task: str, table: pa.Table, languages: Collection[str]) -> Sequence[str]:
    """Return the classes of a task's examples in the order of the model's outputs."""
    encoding: TaskEncoding = ENCODINGS.load(task)
    return encoding.labels(table, languages)
