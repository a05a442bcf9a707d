"""Open the vectors that were extracted, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from mbert_atlas.arrays import load_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet

Vectors = npt.NDArray[np.floating[Any]]


def read_vectors(path: Path, layer: int = -1) -> Vectors:
    """Open the vectors of one layer, memory-mapped, shape ``(n, dims)``.

    Args:
        path: folder that :mod:`mbert_atlas.representations.extraction` wrote.
        layer: number of the hidden state, 0 for the embeddings; -1 for the last one kept.

    Raises:
        DataError: if that layer was not kept.
    """
    stored = load_arrays(path)
    layers = list(stored.meta["layers"])
    if layer != -1 and layer not in layers:
        raise DataError(
            path, f"layer {layer}", f"only layers {layers} were kept", "extract it as well"
        )
    vectors: Vectors = stored.dense("vectors")[-1 if layer == -1 else layers.index(layer)]
    return vectors


def read_labelled_vectors(
    vectors: Path, examples: Path, layer: int = -1
) -> tuple[Vectors, pa.Table]:
    """Open the vectors of one layer and, row by row, the examples that they belong to.

    Args:
        vectors: folder that :func:`mbert_atlas.representations.extraction.extract_texts` wrote.
        examples: Parquet with columns ``id`` and ``language``; examples without a vector (left
            out when they were encoded) are left out.
        layer: see :func:`read_vectors`.

    Returns:
        Vectors of shape ``(n, dims)`` and a table of n rows.

    Raises:
        DataError: if the layer was not kept, the examples repeat an id within a language, or one
            of the encoded ones is not there.
    """
    matrix, table, stored = (
        read_vectors(vectors, layer),
        read_parquet(examples),
        load_arrays(vectors),
    )
    known = pd.MultiIndex.from_arrays([table[name].to_numpy() for name in ("language", "id")])
    if not known.is_unique:
        language, name = known[known.duplicated()][0]
        raise DataError(examples, f"id {name}", f"twice in {language}", "remake the table")
    wanted = pd.MultiIndex.from_arrays([stored.dense("language"), stored.dense("example_id")])
    rows = known.get_indexer(wanted)
    if np.any(rows < 0):
        raise DataError(
            vectors,
            f"row {int(np.argmax(rows < 0))}",
            f"its example is not in {examples}",
            "delete the vectors so that they are made again",
        )
    return matrix, table.take(rows)
