"""Tables as token stores, one encoding per task; free of torch, as its jobs are short."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from mbert_atlas.encoding.classes import encode_classes
from mbert_atlas.encoding.languages import encode_languages
from mbert_atlas.encoding.questions import encode_questions
from mbert_atlas.encoding.tags import encode_tags
from mbert_atlas.encoding.texts import encode_unlabelled
from mbert_atlas.encoding.trees import encode_trees

__all__ = ["ENCODINGS", "encode"]

ENCODINGS: dict[str, Callable[..., None]] = {
    "nli": partial(
        encode_classes,
        task="nli",
        text_columns=("premise", "hypothesis"),
        label_column="label",
    ),
    "language_identification": encode_languages,
    "tagging": partial(encode_tags, task="tagging", tag_column="upos"),
    # By default it labels the first piece of a word, as the code of Efimov et al. (2022) does.
    "ner": partial(encode_tags, task="ner", tag_column="ner_tags"),
    "qa": encode_questions,
    "parsing": encode_trees,
    "text": encode_unlabelled,  # nothing to learn, only vectors
}


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
            pieces of an example, special ones included (the rest is cut); ``drop_unknown``, leave
            out examples with [UNK]; ``origin``, where the table comes from, for
            messages; and those of :func:`encode_classes`, :func:`encode_languages`,
            :func:`encode_tags`, :func:`encode_questions`, :func:`encode_trees` or
            :func:`encode_unlabelled`.

    Raises:
        DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
    """
    ENCODINGS[task](table, tokenizer_dir, output, **options)
