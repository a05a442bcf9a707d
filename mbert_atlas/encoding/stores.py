"""What the encodings of all tasks share: checks of tables, and their token stores."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mbert_atlas.arrays import Ragged, TokenStore, load_arrays, save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest

_logger = logging.getLogger(__name__)
_EXAMPLES_AT_A_TIME = 2048
FEW = 100
"""Examples of a language below which its scores mean little: an accuracy on 100 has a standard
error of up to five points."""


class TaskEncoding(NamedTuple):
    """How the examples of a task are encoded.

    Attributes:
        encode: writes a table as a token store, see :func:`mbert_atlas.encoding.encode`.
        labels: returns the classes, given the table and the languages of its dataset.
    """

    encode: Callable[..., None]
    labels: Callable[[pa.Table, Collection[str]], Sequence[str]]


def open_store(path: Path | str, task: str) -> TokenStore:
    """Open the encoded examples of a task.

    Raises:
        DataError: if the folder holds something else.
    """
    store = load_arrays(path)
    if store.meta.get("task") != task:
        other = store.meta.get("task", "no task")
        raise DataError(
            path, "meta.json, key task", f"encoded for {other}, not for {task}", "encode it again"
        )
    return store


def write_store(
    task: str,
    table: pa.Table,
    rows: Sequence[int],
    arrays: Mapping[str, npt.NDArray[Any] | Ragged],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str],
    options: Mapping[str, Any],
    dropped: Mapping[str, int],
) -> None:
    """Write the token store of a task's examples.

    Args:
        task: name of the task.
        table: the examples; ``id`` and ``language`` are kept as arrays of strings.
        rows: rows of the table that were encoded, in the order of the arrays; one may come several
            times (the windows of a long text).
        arrays: ``input_ids`` (ragged int32, special tokens included) and those of the task.
        tokenizer_dir: folder of the tokenizer.
        output: the store's folder.
        labels: the classes.
        options: how examples were encoded.
        dropped: what was left out, by reason.

    Raises:
        DataError: if no example is left, of all languages or of one.
    """
    counts = {reason: count for reason, count in dropped.items() if count}
    if not rows:
        raise DataError(
            output,
            "",
            f"none of {table.num_rows} examples is left to encode; left out: {counts or 'nothing'}",
            "check the data and its filters",
        )
    _logger.info("%s: %d examples; left out: %s", output, len(rows), counts or "nothing")
    kept = table.select(["id", "language"]).take(list(rows))
    examples = _of_languages(table, rows, counts, output)
    save_arrays(
        output,
        {
            **arrays,
            "example_id": np.array(kept.column("id").to_pylist(), dtype=np.str_),
            "language": np.array(kept.column("language").to_pylist(), dtype=np.str_),
        },
        {
            "task": task,
            "labels": list(labels),
            "tokenizer": tokenizer_digest(tokenizer_dir),
            "pad_id": special_id(open_tokenizer(tokenizer_dir), "[PAD]", tokenizer_dir),
            "options": dict(options),
            "dropped": counts,
            "examples": examples,
        },
    )


def _of_languages(
    table: pa.Table, rows: Sequence[int], dropped: Mapping[str, int], output: Path | str
) -> dict[str, dict[str, int]]:
    """Return by language how many examples were read and how many are left; warn of few.

    Raises:
        DataError: if a language has none left, so that it would be missing silently.
    """
    languages = table.column("language")
    read = Counter(languages.to_pylist())
    left = Counter(languages.take(sorted(set(rows))).to_pylist())
    for language, number in read.items():
        if not left[language]:
            problem = f"none of {number} examples is left to encode; left out in all: {dropped}"
            fix = "drop the language, give it more data, or change the filters of the encoding"
            raise DataError(output, f"language {language}", problem, fix)
    few = {language: number for language, number in left.items() if number < FEW}
    if few:
        _logger.warning("%s: fewer than %d examples: %s", output, FEW, few)
    return {code: {"read": read[code], "left": left[code]} for code in sorted(read)}


def truncating_tokenizer(tokenizer_dir: Path | str, max_length: int) -> tuple[Tokenizer, int]:
    """Open a tokenizer that cuts the longer text first; return also the id of [UNK]."""
    tokenizer = open_tokenizer(tokenizer_dir)
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    return tokenizer, special_id(tokenizer, "[UNK]", tokenizer_dir)


def require_columns(table: pa.Table, names: Sequence[str], origin: Path | str) -> None:
    """Check that a table has columns without nulls.

    Raises:
        DataError: at the first missing column or null.
    """
    for name in names:
        if name not in table.column_names:
            raise DataError(
                origin,
                f"column {name}",
                f"missing (found {table.column_names})",
                "remake the table",
            )
        if table.column(name).null_count:
            row = pc.index(pc.is_null(table.column(name)), True).as_py()
            raise DataError(
                origin, f"column {name}, row {row + 1}", "there is no value", "remake the table"
            )


def row_name(table: pa.Table, row: int) -> str:
    """Return the name of a row in messages."""
    return f"row {row + 1} (id {table.column('id')[row].as_py()})"


def label_numbers(
    names: pa.Array, labels: Sequence[str], place: Callable[[int], str], origin: Path | str
) -> npt.NDArray[np.int32]:
    """Turn label names into numbers.

    Args:
        names: the label of each text or word.
        labels: the task's.
        place: returns the name of the row that holds an item of ``names``, given its number.
        origin: source of the table.

    Raises:
        DataError: at the first name that is not among ``labels``.
    """
    places = pc.fill_null(pc.index_in(names, value_set=pa.array(labels, pa.string())), -1)
    numbers: npt.NDArray[np.int32] = places.to_numpy(zero_copy_only=False)
    if (numbers < 0).any():
        first = int(np.argmax(numbers < 0))
        raise DataError(
            origin,
            place(first),
            f"unknown label {names[first].as_py()!r}; the labels are {', '.join(labels)}",
            "correct the data or the list of labels",
        )
    return numbers


def in_chunks(table: pa.Table, description: str) -> Iterator[tuple[int, pa.Table]]:
    """Yield slices of a table that a tokenizer takes in one call, with their first row."""
    starts = range(0, table.num_rows, _EXAMPLES_AT_A_TIME)
    for start in track(starts, description):
        yield start, table.slice(start, _EXAMPLES_AT_A_TIME)
