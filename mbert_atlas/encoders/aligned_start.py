"""Word embeddings to begin pretraining with, from translations: latent semantic indexing.

Pieces that occur in the same sentences, or in translations of these, begin close to each other
(Deerwester et al. 1990; across languages Littman et al. 1998). Free of torch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array, csr_array
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

from mbert_atlas.alignment.pairs import load_word_tokenizer, tokenise_words
from mbert_atlas.arrays import save_arrays
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.randomness import derive_seed
from mbert_atlas.schemas import BITEXT
from mbert_atlas.tokenizer import special_id, tokenizer_digest

_logger = logging.getLogger(__name__)
_PASSES = 4  # over the matrix; more find no more translations


def start_embeddings(
    bitexts: Sequence[Path],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    dims: int,
    deviation: float,
    pairs: int | None = None,
    seed: int,
) -> None:
    """Write a vector for each piece of some bitexts, near those of its translations.

    An English sentence and all its translations, of whichever bitext, are one unit. The counts of
    pieces by units are weighted and cut down by a truncated singular value decomposition.

    Args:
        bitexts: Parquet files of schema ``BITEXT``, with English as the source.
        tokenizer_dir: folder of the tokenizer.
        output: token store with ``pieces`` (int32, ``(n,)``, ascending ids of those that occur) and
            ``vectors`` (float32, ``(n, dims)``).
        dims: numbers of a vector.
        deviation: standard deviation of these numbers; all vectors are equally long.
        pairs: most pairs of each file, the first ones; none: all.
        seed: of the randomised SVD.

    Raises:
        DataError: if a bitext or the tokenizer cannot be used, or there are too few units or pieces
            for so many dimensions.
    """
    counts, pieces = count_pieces_by_unit(bitexts, tokenizer_dir, pairs)
    if dims >= min(counts.shape):
        raise DataError(
            ", ".join(map(str, bitexts)),
            "",
            f"{counts.shape[0]} pieces in {counts.shape[1]} English sentences with translations do "
            f"not give {dims} dimensions",
            "take more bitexts, or a smaller hidden_size",
        )
    with threadpool_limits(1):  # several threads add up in no fixed order
        left, strengths, _ = randomized_svd(
            _weighted(counts),
            n_components=dims,
            n_iter=_PASSES,
            random_state=derive_seed(seed, "start of the embeddings") % 2**32,
        )
    vectors = left * strengths
    # d numbers of deviation s around 0 are s * sqrt(d) long: 1.6 for 256 and .1.
    vectors *= deviation * math.sqrt(dims) / np.linalg.norm(vectors, axis=1, keepdims=True)
    _logger.info("%d pieces, %d units, %d counts", *counts.shape, counts.nnz)
    save_arrays(
        output,
        {"pieces": pieces.astype(np.int32), "vectors": vectors.astype(np.float32)},
        {"tokenizer": tokenizer_digest(tokenizer_dir)},
    )


def count_pieces_by_unit(
    bitexts: Sequence[Path], tokenizer_dir: Path | str, pairs: int | None = None
) -> tuple[csr_array, npt.NDArray[np.int64]]:
    """Count pieces in English sentences together with all their translations.

    Args:
        bitexts: see :func:`start_embeddings`.
        tokenizer_dir: folder of the tokenizer.
        pairs: most pairs of each file; none: all.

    Returns:
        Counts, shape ``(pieces that occur, different English sentences)``, and the ids of these
        pieces, ascending, int64. [UNK] is left out.

    Raises:
        DataError: if a bitext or the tokenizer cannot be used.
    """
    tokenizer = load_word_tokenizer(tokenizer_dir)
    tables = [read_parquet(path, BITEXT).slice(0, pairs) for path in bitexts]
    table = pa.concat_tables(tables)
    sentences = pc.binary_join(table["source_tokens"].combine_chunks(), " ").dictionary_encode()
    unit = sentences.indices.to_numpy().astype(np.int64)
    # Units [0, 1, 0] begin in rows 0 and 1: English counts once, however many translations it has.
    first = np.unique(unit, return_index=True)[1]
    found = [
        _places(tokenizer, table["source_tokens"].take(pa.array(first)), unit[first], "English"),
        _places(tokenizer, table["target_tokens"], unit, "other"),
    ]
    ids, units = (np.concatenate(parts) for parts in zip(*found, strict=True))
    known = ids != special_id(tokenizer, "[UNK]", tokenizer_dir)
    pieces, rows = np.unique(ids[known], return_inverse=True)
    shape = (len(pieces), len(first))
    places = (rows, units[known])
    return coo_array((np.ones(len(rows), dtype=np.float64), places), shape).tocsr(), pieces


def _places(
    tokenizer: Tokenizer, column: pa.ChunkedArray, unit: npt.NDArray[np.int64], side: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each piece of some sentences, and the unit that it stands in."""
    ids, words, _ = tokenise_words(tokenizer, column, side)
    inside = words >= 0
    return ids.values[inside].astype(np.int64), np.repeat(unit, ids.lengths)[inside]


def _weighted(counts: csr_array) -> Any:
    # log(1 + count) * log(units / units with the piece). Three pieces in four units:
    #   [1 1 1 1]  in all four: log 1 = 0      [0    0    0 0]
    #   [2 0 0 0]  in one: log 4               [1.52 0    0 0]   1.52 = log 3 * log 4
    #   [0 1 1 0]  in two: log 2               [0    .48 .48 0]   .48 = log 2 * log 2
    rarity = np.log(counts.shape[1] / np.diff(counts.indptr))
    weighted = counts.copy()
    weighted.data = np.log1p(counts.data) * np.repeat(rarity, np.diff(counts.indptr))
    return weighted
