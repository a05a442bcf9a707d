"""Word links and their Pharaoh text form: a line per sentence, ``i-j`` per link, from 0."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_path, open_text

_LINE = r"^ *(?:[0-9]{1,5}-[0-9]{1,5}(?: +|$))*$"


@dataclass(frozen=True)
class Links:
    """Links between the words of parallel sentences.

    Attributes:
        row: sentence of each link, int64, shape ``(links,)``.
        source: source word of each link, from 0, int32.
        target: target word of each link, from 0, int32.
        rows: number of sentences, those without a link included.
    """

    row: npt.NDArray[np.int64]
    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    rows: int

    def __len__(self) -> int:
        """Return the number of links."""
        return len(self.row)

    def take(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.int64] | slice) -> Links:
        """Return some links of the same sentences."""
        return Links(self.row[which], self.source[which], self.target[which], self.rows)

    def between(self, start: int, stop: int) -> Links:
        """Return the links of the sentences ``start`` to ``stop - 1``, counted from ``start``."""
        kept = self.take((self.row >= start) & (self.row < stop))
        return Links(kept.row - start, kept.source, kept.target, stop - start)

    def sorted(self) -> Links:
        """Return the links by sentence, then source word, then target word."""
        return self.take(np.lexsort((self.target, self.source, self.row)))


def write_pharaoh(links: Links, path: Path | str) -> None:
    """Write links as Pharaoh text, sorted within the line."""
    ordered = links.sorted()
    offsets = np.searchsorted(ordered.row, np.arange(links.rows + 1))
    tokens = pc.binary_join_element_wise(
        pa.array(ordered.source).cast(pa.string()), pa.array(ordered.target).cast(pa.string()), "-"
    )
    listed = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), tokens)
    lines = pc.binary_join(listed, " ")
    with atomic_path(path) as temporary, open(temporary, "w", encoding="ascii") as stream:
        stream.writelines(f"{line}\n" for line in lines.to_pylist())


def read_pharaoh(path: Path | str, rows: int | None = None) -> Links:
    """Read Pharaoh text.

    Args:
        path: the file, plain or compressed.
        rows: number of lines that the file must have; any if None.

    Raises:
        DataError: if the file is missing, holds a malformed token (names the line), or has another
            number of lines than ``rows``.
    """
    if rows == 0 and Path(path).is_file() and Path(path).stat().st_size == 0:
        return Links(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32), 0)
    with open_text(path) as stream:
        text = stream.read()
    lines = pa.array(text.removesuffix("\n").split("\n"), pa.large_string())
    if rows is not None and len(lines) != rows:
        raise DataError(
            path,
            f"line {min(len(lines), rows) + 1}",
            f"{len(lines)} lines where the bitext has {rows} sentences",
            "align the bitext again; the two must be line-parallel",
        )
    good = pc.match_substring_regex(lines, _LINE).to_numpy(zero_copy_only=False)
    if not good.all():
        line = int(np.argmin(good))
        raise DataError(
            path,
            f"line {line + 1}",
            f"not links of the form 3-5, separated by spaces: {lines[line].as_py()[:60]!r}",
            "correct the line, or align the bitext again",
        )
    count = pc.count_substring(lines, "-").to_numpy(zero_copy_only=False)
    # On text without a number fromstring returns one number.
    digits = text.replace("-", " ") if count.any() else "0 0"
    numbers = np.fromstring(digits, dtype=np.int32, sep=" ").reshape(-1, 2)[: count.sum()]
    row = np.repeat(np.arange(len(lines)), count)
    return Links(row, numbers[:, 0].copy(), numbers[:, 1].copy(), len(lines))
