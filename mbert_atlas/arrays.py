"""Token stores: folders of NumPy files that open memory-mapped, ragged arrays included.

A store is a folder with ``meta.json`` and one ``<name>.npy`` per dense array, or
``<name>.values.npy`` and ``<name>.offsets.npy`` per ragged array.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

from mbert_atlas.files import atomic_directory, read_json, write_json

Array = npt.NDArray[Any]


def offsets_of(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where rows of these lengths begin, and where the last ends, int64, ``(n + 1,)``."""
    # offsets[i] = lengths[0] + ... + lengths[i - 1]: rows of 2, 0 and 3 give [0, 2, 2, 5].
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one flat array."""

    values: npt.NDArray[Any]  # all rows one after the other, shape (total, ...)
    offsets: npt.NDArray[np.int64]  # shape (n + 1,); row i is values[offsets[i]:offsets[i + 1]]

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any] | Array], dtype: npt.DTypeLike) -> Self:
        """Pack ``rows``, each a one-dimensional sequence, into one array of ``dtype``."""
        kept = [np.asarray(row, dtype=dtype) for row in rows]
        values = np.concatenate([np.empty(0, dtype=dtype), *kept])
        return cls(values, offsets_of([len(row) for row in kept]))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> npt.NDArray[Any]:
        """Return one row as a view."""
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def take(self, rows: npt.NDArray[np.integer[Any]]) -> "Ragged":
        """Copy ``rows`` (int, shape ``(m,)``, repeats allowed), in that order."""
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts  # not of all rows: this runs for every batch
        offsets = offsets_of(lengths)
        # Rows 2 and 0 of the offsets [0, 2, 2, 5] lie at 2 3 4 and 0 1: 0 1 2 + 2, and 3 4 - 3.
        positions = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        return Ragged(self.values[positions], offsets)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Row lengths, int64, shape ``(n,)``."""
        return np.diff(self.offsets)

    def padded(
        self, rows: Array, fill: int | float, dtype: npt.DTypeLike = np.int64, multiple: int = 1
    ) -> Array:
        """Return some rows (shape ``(k,)``), filled up on the right, as ``(k, width)``.

        The width is that of the longest row, rounded up to a multiple of ``multiple``.
        """
        starts = self.offsets[rows]
        lengths = self.offsets[np.asarray(rows) + 1] - starts
        width = -(-int(lengths.max(initial=0)) // multiple) * multiple
        columns = np.arange(width)
        inside = columns < lengths[:, None]
        result = np.full(inside.shape, fill, dtype=dtype)
        result[inside] = np.asarray(self.values)[(starts[:, None] + columns)[inside]]
        return result


@dataclass(frozen=True)
class TokenStore:
    """What :func:`load_arrays` returns: arrays by name, and the facts about them."""

    arrays: Mapping[str, Array | Ragged]
    meta: Mapping[str, Any]

    def ragged(self, name: str) -> Ragged:
        """Return a ragged array by name."""
        return cast(Ragged, self.arrays[name])

    def dense(self, name: str) -> Array:
        """Return a dense array by name."""
        return cast(Array, self.arrays[name])


def save_arrays(
    path: Path | str, arrays: Mapping[str, Array | Ragged], meta: Mapping[str, Any]
) -> None:
    """Write a token store, atomically; ``meta`` must be JSON."""
    with atomic_directory(path) as folder:
        for name, value in arrays.items():
            if isinstance(value, Ragged):
                np.save(folder / f"{name}.values.npy", value.values)
                np.save(folder / f"{name}.offsets.npy", value.offsets)
            else:
                np.save(folder / f"{name}.npy", value)
        write_json({"arrays": sorted(arrays), **meta}, folder / "meta.json")


def create_array(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
    """Create a writable memory-mapped ``.npy`` file; raise OSError if the disk is full."""
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    # Writing to a hole of the file on a full disk would kill the process (SIGBUS) without a word.
    if hasattr(os, "posix_fallocate"):  # macOS has none
        with open(path, "r+b") as stream:
            os.posix_fallocate(stream.fileno(), 0, path.stat().st_size)
    return array


def load_arrays(path: Path | str) -> TokenStore:
    """Open a token store memory-mapped."""
    path = Path(path)
    meta = read_json(path / "meta.json")
    arrays: dict[str, Array | Ragged] = {}
    for name in meta["arrays"]:
        ragged = (path / f"{name}.offsets.npy").exists()
        parts = [f"{name}.values.npy", f"{name}.offsets.npy"] if ragged else [f"{name}.npy"]
        loaded = [np.load(path / part, mmap_mode="r") for part in parts]
        arrays[name] = Ragged(*loaded) if ragged else loaded[0]
    return TokenStore(arrays, meta)
