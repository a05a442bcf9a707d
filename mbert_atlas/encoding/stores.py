"""What the encodings of all tasks share: examples with their checks, and token stores."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from tokenizers import Tokenizer

from mbert_atlas.arrays import save_arrays
from mbert_atlas.encoding.coverage import coverage, require_known
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest

_logger = logging.getLogger(__name__)
_EXAMPLES_AT_A_TIME = 2048
FEW = 100  # examples of a language: an accuracy has a standard error of up to five points


class Encoded(NamedTuple):
    """Examples encoded with ``options``; ``dropped`` counts what was left out, by reason.

    ``rows`` of the table are in the order of the ``arrays``, one perhaps several times (the windows
    of a long text): ``input_ids`` (ragged int32, special tokens included) and those of the task.
    """

    rows: Sequence[int]
    arrays: dict[str, Any]
    dropped: Mapping[str, int]
    options: Mapping[str, Any]


class TaskEncoding(NamedTuple):
    """How the examples of a task are encoded, and which classes it has."""

    encode: Callable[..., Encoded]  # from Examples and options; raises DataErrors, see `encode`
    labels: Callable[[pa.Table, Collection[str]], Sequence[str]]  # from a table and its languages


@dataclass(frozen=True)
class Examples:
    """A table to encode, with the arguments of :func:`mbert_atlas.encoding.encode`."""

    table: pa.Table
    tokenizer_dir: Path | str
    labels: Sequence[str]
    max_length: int
    drop_unknown: bool
    origin: Path | str
    title: str
    allow_unknown: bool = False

    def truncating_tokenizer(self) -> tuple[Tokenizer, int]:
        """Open the tokenizer, which cuts the longer text first; return also the id of [UNK]."""
        tokenizer = open_tokenizer(self.tokenizer_dir)
        tokenizer.enable_truncation(self.max_length, strategy="longest_first")
        return tokenizer, special_id(tokenizer, "[UNK]", self.tokenizer_dir)

    def error(self, row: int, problem: str, fix: str = "remake the table") -> DataError:
        """Return an error that names a row."""
        name = f"row {row + 1} (id {self.table.column('id')[row].as_py()})"
        return DataError(self.origin, name, problem, fix)

    def require_columns(self, *names: str) -> None:
        """Raise a DataError at the first column that is missing or has a null."""
        fix = "remake the table"
        for name in names:
            if name not in self.table.column_names:
                problem = f"missing (found {self.table.column_names})"
                raise DataError(self.origin, f"column {name}", problem, fix)
            column = self.table.column(name)
            if column.null_count:
                place = f"column {name}, row {pc.index(pc.is_null(column), True).as_py() + 1}"
                raise DataError(self.origin, place, "there is no value", fix)

    def label_numbers(
        self, names: pa.Array, row_of: Callable[[int], int] = lambda number: number
    ) -> npt.NDArray[np.int32]:
        """Return the number of each label; ``row_of`` returns the row of an item of ``names``.

        Raises a DataError at the first name that is not among the labels.
        """
        classes = pa.array(self.labels, pa.string())
        places = pc.fill_null(pc.index_in(names, value_set=classes), -1)
        numbers: npt.NDArray[np.int32] = places.to_numpy(zero_copy_only=False)
        if (numbers < 0).any():
            first, labels = int(np.argmax(numbers < 0)), ", ".join(self.labels)
            problem = f"unknown label {names[first].as_py()!r}; the labels are {labels}"
            raise self.error(row_of(first), problem, "correct the data or the list of labels")
        return numbers


def in_chunks(table: pa.Table, description: str) -> Iterator[tuple[int, pa.Table]]:
    """Yield slices of a table that a tokenizer takes in one call, with their first row."""
    starts = range(0, table.num_rows, _EXAMPLES_AT_A_TIME)
    for start in track(starts, description):
        yield start, table.slice(start, _EXAMPLES_AT_A_TIME)


def write_store(task: str, examples: Examples, encoded: Encoded, output: Path | str) -> None:
    """Write the token store of a task's examples, with ``example_id`` and ``language`` of each.

    Raises a DataError if no example is left, of all languages or of one.
    """
    table, rows, folder = examples.table, encoded.rows, examples.tokenizer_dir
    dropped = {reason: count for reason, count in encoded.dropped.items() if count}
    shares = coverage(table, folder)
    # What is left out for it counts as left out, and an error names a language without a rest.
    require_known(shares, folder, examples.allow_unknown or examples.drop_unknown)
    if not rows:
        left_out = dropped or "nothing"
        problem = f"none of {table.num_rows} examples is left to encode; left out: {left_out}"
        raise DataError(output, "", problem, "check the data and its filters")
    _logger.info("%s: %d examples; left out: %s", output, len(rows), dropped or "nothing")
    kept = table.select(["id", "language"]).take(list(rows))
    names = {"example_id": "id", "language": "language"}
    strings = {name: np.array(kept[of].to_pylist(), np.str_) for name, of in names.items()}
    shared = {"max_length": examples.max_length, "drop_unknown": examples.drop_unknown}
    meta = {
        "task": task,
        "labels": list(examples.labels),
        "tokenizer": tokenizer_digest(folder),
        "pad_id": special_id(open_tokenizer(folder), "[PAD]", folder),
        "options": shared | dict(encoded.options),
        "dropped": dropped,
        "coverage": shares,
        "examples": _count_by_language(table, rows, dropped, output),
    }
    save_arrays(output, encoded.arrays | strings, meta)


def _count_by_language(
    table: pa.Table, rows: Sequence[int], dropped: Mapping[str, int], output: Path | str
) -> dict[str, dict[str, int]]:
    """Return by language how many examples were read and are left; warn of few, stop at none."""
    languages = table.column("language")
    read = Counter(languages.to_pylist())
    left = Counter(languages.take(sorted(set(rows))).to_pylist())
    for language, number in read.items():
        if not left[language]:
            problem = f"none of {number} examples is left to encode; left out in all: {dropped}"
            fix = "drop the language, give it more data, or change the filters of the encoding"
            raise DataError(output, f"language {language}", problem, fix)
    if few := {language: number for language, number in left.items() if number < FEW}:
        _logger.warning("%s: fewer than %d examples: %s", output, FEW, few)
    return {code: {"read": read[code], "left": left[code]} for code in sorted(read)}
