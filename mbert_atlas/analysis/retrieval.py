"""Word retrieval: ranks of translations by cosine similarity of word vectors."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mbert_atlas.analysis.resampling import RESAMPLED, resampled_mean
from mbert_atlas.arrays import load_arrays
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.progress import track
from mbert_atlas.schemas import DICTIONARY, RETRIEVALS

Vectors = npt.NDArray[np.floating[Any]]
Numbers = npt.NDArray[np.integer[Any]]
Ranks = npt.NDArray[np.float64]

_EQUAL = 1e-6
"""Cosines that differ by less are ties: float32 rounds the same one differently by place."""
_BLOCK = 512


def unit_vectors(vectors: Vectors, *, centred: bool) -> Vectors:
    """Return vectors, ``(n, dims)``, optionally centred, normalised to length 1, zeros as zeros."""
    if vectors.dtype == np.float16:  # whose squares overflow above 256
        vectors = vectors.astype(np.float32)
    if centred:
        vectors = vectors - vectors.mean(0, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12))


def translation_ranks(
    source_vectors: Vectors, target_vectors: Vectors, pairs: Numbers, *, centred: bool = False
) -> tuple[Ranks, Ranks]:
    """Return the rank of each word's best translation by cosine, in both directions.

    All words of the other side are candidates (Liu et al. 2020, Eq. 1); words with the same vector
    get the mean of their ranks. Vectors of different words, shapes ``(n, dims)`` and ``(m, dims)``,
    give float64 ranks, ``(n,)`` and ``(m,)``. Each word is in at least one of the ``pairs`` of a
    source and a target word, int, ``(p, 2)``. ``centred`` subtracts the mean of each side. At most
    ``(512, m)`` cosines are in memory.
    """
    # Cosines of source words (rows) with targets; the pairs are (0, 0), (0, 2) and (1, 1):
    #     .9 .7 .8    best .9: none above it, rank 1
    #     .5 .4 .6    best .4: two above it, rank 3
    # A rank is 1 + above + (ties - 1) / 2 with the best itself among the ties, and with at_least =
    # above + ties (1 + above + at_least) / 2: (1 + 0 + 1) / 2 = 1 and (1 + 2 + 3) / 2 = 3. Columns
    # use the same cosines: .9 is first of .9 .5, .4 second of .7 .4, .8 first of .8 .6.
    one, other = (
        np.ascontiguousarray(unit_vectors(side, centred=centred), dtype=np.float32)
        for side in (source_vectors, target_vectors)
    )
    source, target = pairs.T
    best = [np.full(len(side), -2, dtype=np.float32) for side in (one, other)]
    for start in range(0, len(pairs), _BLOCK):
        part = slice(start, start + _BLOCK)
        cosines = np.einsum("pd,pd->p", one[source[part]], other[target[part]])
        np.maximum.at(best[0], source[part], cosines)
        np.maximum.at(best[1], target[part], cosines)
    ahead = [np.zeros(len(side), dtype=np.int64) for side in (one, other)]
    for start in range(0, len(one), _BLOCK):
        part = slice(start, start + _BLOCK)
        cosines = one[part] @ other.T
        for limit in (-_EQUAL, _EQUAL):
            of_rows, of_columns = best[0][part, None] + limit, best[1] + limit
            ahead[0][part] += np.count_nonzero(cosines > of_rows, axis=1)
            ahead[1] += np.count_nonzero(cosines > of_columns, axis=0)
    return (1 + ahead[0]) / 2, (1 + ahead[1]) / 2


def mrr_by_chance(queries: Sequence[str], translations: Sequence[str]) -> float:
    """Return the expected mean reciprocal rank, 0 to 1, if candidates are in random order.

    The words of each pair are parallel; candidates are all translations, and the best rank counts.
    """
    # Of N candidates, g of them right, the best comes after rank r with the probability
    # (N-g)/N (N-g-1)/(N-1) ... of r factors. N = 3, g = 2: 1, 1/3, 0, so that it has rank 1 in 2/3
    # of orders and rank 2 in 1/3, which is 2/3 + 1/3 / 2 = 5/6.
    pairs = {*zip(queries, translations, strict=True)}
    size = len({translation for _, translation in pairs})
    of_query = Counter(query for query, _ in pairs)
    expected = 0.0
    for right, number in Counter(of_query.values()).items():
        earlier = np.arange(size - right + 1)
        after = np.cumprod((size - right - earlier) / (size - earlier))
        first = -np.diff(after, prepend=1.0)
        expected += number * float((first / (1 + earlier)).sum())
    return expected / len(of_query)


def retrieve_words(dictionary: Path, english: Path, other: Path, output: Path) -> None:
    """Score the vectors of a dictionary's words, by layer, in both directions, centred and not.

    From ``schemas.DICTIONARY`` and the token stores of both languages' words, which may have more
    (:mod:`mbert_atlas.representations.word_vectors`), writes ``schemas.RETRIEVALS``. Each language
    is centred by the mean of its words in the dictionary.
    """
    table = read_parquet(dictionary, DICTIONARY)
    stores = load_arrays(english), load_arrays(other)
    places = []
    for store, name in zip(stores, ("source", "target"), strict=True):
        of_word = {word: place for place, word in enumerate(store.dense("words").tolist())}
        places.append(np.array([of_word[word] for word in table[name].to_pylist()], np.int64))
    rows, members = zip(*(np.unique(side, return_inverse=True) for side in places), strict=True)
    pairs = np.stack(members, axis=1)  # places among the rows
    sides = list(zip(stores, rows, strict=True))
    queries = [store.dense("words")[words].tolist() for store, words in sides]
    languages = [store.meta["language"] for store in stores]
    scores = []
    for layer in track(range(len(stores[0].dense("vectors"))), "layers"):
        one, two = (store.dense("vectors")[layer, words] for store, words in sides)
        for centred in (False, True):
            for side, ranks in enumerate(translation_ranks(one, two, pairs, centred=centred)):
                place = {"source": languages[side], "target": languages[1 - side]}
                place |= {"layer": layer, "centred": centred, "n": len(ranks)}
                again = resampled_mean(1 / ranks, queries[side])
                scores.append(place | {"mrr": float((1 / ranks).mean()), RESAMPLED: again})
    write_parquet(pa.Table.from_pylist(scores, RETRIEVALS), output)
