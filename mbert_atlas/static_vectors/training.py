"""Static vectors from the token store that an encoder is pretrained on: GloVe, Word2Vec."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from gensim.models import Word2Vec

from mbert_atlas.arrays import Ragged, load_arrays, save_arrays
from mbert_atlas.config.static_vectors import StaticVectors
from mbert_atlas.progress import track
from mbert_atlas.static_vectors.glove import MINIMUM_COUNT, glove
from mbert_atlas.tokenizer import open_tokenizer


def train_static_vectors(
    spec: StaticVectors, tokenizer_dir: Path, store: Path, output: Path, *, threads: int = 1
) -> None:
    """Learn vectors of all subwords and write them as a token store.

    The output has ``vectors`` (float32, ``(vocabulary, dims)``), zeros where a subword is too rare,
    and ``counts`` of all subwords but special ones at the ends of rows (int64, ``(vocabulary,)``).

    The input is what :func:`mbert_atlas.encoding.pretraining.encode_texts` wrote with the
    tokenizer. With one thread of word2vec, a seed determines every byte; with more, threads
    overwrite each other's steps, and vectors differ slightly between runs.
    """
    encoded = load_arrays(store)
    rows, size = encoded.ragged("input_ids"), open_tokenizer(tokenizer_dir).get_vocab_size()
    ends = np.concatenate([rows.values[rows.offsets[:-1]], rows.values[rows.offsets[1:] - 1]])
    counts = np.bincount(rows.values, minlength=size) - np.bincount(ends, minlength=size)
    if spec.method == "word2vec":
        vectors = _skip_gram(rows, size, spec, threads)
    else:
        vectors = glove(rows, size, spec, counts)
    meta = {"tokenizer": encoded.meta["tokenizer"], "method": spec.method}
    save_arrays(output, {"vectors": vectors, "counts": counts}, meta)


def _skip_gram(
    rows: Ragged, size: int, spec: StaticVectors, threads: int
) -> npt.NDArray[np.float32]:
    """Learn vectors by skip-gram with negative sampling (Mikolov et al. 2013).

    gensim's defaults: 5 negative samples, and frequent subwords sampled with the threshold .001.
    """
    model: Any = Word2Vec(
        _Sentences(rows),
        vector_size=spec.dims,
        window=spec.window,
        sg=1,
        min_count=MINIMUM_COUNT,
        alpha=spec.learning_rate,
        epochs=spec.epochs,
        seed=spec.seed,
        workers=threads,
        shrink_windows=True,
    )
    vectors = np.zeros((size, spec.dims), dtype=np.float32)
    vectors[list(map(int, model.wv.index_to_key))] = model.wv.vectors
    return vectors


class _Sentences:
    """Rows as lists of words, iterated by gensim once per epoch."""

    def __init__(self, rows: Ragged) -> None:
        self._rows, self._passes = rows, 0

    def __iter__(self) -> Iterator[list[str]]:
        self._passes += 1
        title = f"word2vec, pass {self._passes} (the first one counts)"
        for number in track(range(len(self._rows)), title):
            yield list(map(str, self._rows[number][1:-1].tolist()))
