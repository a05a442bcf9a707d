"""Initial word embeddings for pretraining, from translations: latent semantic indexing.

Subwords of the same sentences, or of their translations, get similar vectors (Deerwester et al.
1990; across languages Littman et al. 1998). Free of torch.
"""

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
_PASSES = 4  # over the matrix; more passes retrieve no more translations


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
    """Write a vector for each subword of some bitexts, close to those of its translations.

    An English sentence and all its translations, in any bitext, are one unit. The vectors are a
    truncated singular value decomposition (randomised) of the weighted counts of subwords by unit.
    The token store has ``pieces`` (int32, ``(n,)``, ascending ids of the subwords) and ``vectors``
    (float32, ``(n, dims)``).

    Bitexts, of which the first ``pairs`` pairs are read, have schema ``BITEXT`` and English as the
    source. ``deviation`` is the standard deviation of the values; all vectors have the same norm.
    Raises a DataError if a bitext or the tokenizer cannot be used, or there are too few units or
    subwords for so many dimensions.
    """
    counts, subwords = count_subwords_by_unit(bitexts, tokenizer_dir, pairs)
    if dims >= min(counts.shape):
        problem = "{} subwords in {} English sentences with translations".format(*counts.shape)
        problem += f" do not give {dims} dimensions"
        fix = "take more bitexts, or a smaller hidden_size"
        raise DataError(", ".join(map(str, bitexts)), "", problem, fix)
    with threadpool_limits(1):  # the order of sums differs with several threads
        left, strengths, _ = randomized_svd(
            _weighted(counts),
            n_components=dims,
            n_iter=_PASSES,
            random_state=derive_seed(seed, "start of the embeddings") % 2**32,
        )
    vectors = left * strengths
    # d values of deviation s around 0 have the norm s * sqrt(d): 1.6 for 256 and .1.
    vectors *= deviation * math.sqrt(dims) / np.linalg.norm(vectors, axis=1, keepdims=True)
    _logger.info("%d subwords, %d units, %d counts", *counts.shape, counts.nnz)
    save_arrays(
        output,
        {"pieces": subwords.astype(np.int32), "vectors": vectors.astype(np.float32)},
        {"tokenizer": tokenizer_digest(tokenizer_dir)},
    )


def count_subwords_by_unit(
    bitexts: Sequence[Path], tokenizer_dir: Path | str, pairs: int | None = None
) -> tuple[csr_array, npt.NDArray[np.int64]]:
    """Count subwords of English sentences together with all their translations.

    Returns:
        Counts, shape ``(subwords that occur, distinct English sentences)``, and the ids of these
        subwords, ascending, int64, without [UNK].

    Raises a DataError if a bitext or the tokenizer cannot be used.
    """
    tokenizer = load_word_tokenizer(tokenizer_dir)
    table = pa.concat_tables([read_parquet(path, BITEXT).slice(0, pairs) for path in bitexts])
    sentences = pc.binary_join(table["source_tokens"].combine_chunks(), " ").dictionary_encode()
    unit = sentences.indices.to_numpy().astype(np.int64)
    # Units [0, 1, 0] begin in rows 0 and 1: English counts once, whatever its translations.
    first = np.unique(unit, return_index=True)[1]
    sides = [
        _places(tokenizer, table["source_tokens"].take(pa.array(first)), unit[first], "English"),
        _places(tokenizer, table["target_tokens"], unit, "other"),
    ]
    ids, units = (np.concatenate(parts) for parts in zip(*sides, strict=True))
    is_known = ids != special_id(tokenizer, "[UNK]", tokenizer_dir)
    subwords, rows = np.unique(ids[is_known], return_inverse=True)
    shape = (len(subwords), len(first))
    places = (rows, units[is_known])
    return coo_array((np.ones(len(rows), dtype=np.float64), places), shape).tocsr(), subwords


def _places(
    tokenizer: Tokenizer, column: pa.ChunkedArray, unit: npt.NDArray[np.int64], side: str
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return each subword of some sentences, and its unit."""
    ids, words, _ = tokenise_words(tokenizer, column, side)
    inside = words >= 0
    return ids.values[inside].astype(np.int64), np.repeat(unit, ids.lengths)[inside]


def _weighted(counts: csr_array) -> Any:
    # log(1 + count) * log(units / units with the subword). Three subwords in four units:
    #   [1 1 1 1]  in all four: log 1 = 0      [0    0    0 0]
    #   [2 0 0 0]  in one: log 4               [1.52 0    0 0]   1.52 = log 3 * log 4
    #   [0 1 1 0]  in two: log 2               [0    .48 .48 0]   .48 = log 2 * log 2
    rarity = np.log(counts.shape[1] / np.diff(counts.indptr))
    weighted = counts.copy()
    weighted.data = np.log1p(counts.data) * np.repeat(rarity, np.diff(counts.indptr))
    return weighted
