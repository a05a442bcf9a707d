"""Static vectors from the token store that an encoder is pretrained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mbert_atlas.arrays import load_arrays, save_arrays
from mbert_atlas.config.static_vectors import StaticVectors
from mbert_atlas.encoders.hidden_states import require_tokenizer
from mbert_atlas.static_vectors.glove import glove
from mbert_atlas.static_vectors.word2vec import skip_gram
from mbert_atlas.tokenizer import open_tokenizer


def train_static_vectors(
    spec: StaticVectors, tokenizer_dir: Path, store: Path, output: Path, *, threads: int = 1
) -> None:
    """Learn vectors of all subwords and write them as a token store.

    Args:
        spec: method and hyperparameters.
        tokenizer_dir: folder of the tokenizer, for the size of the vocabulary.
        store: what :func:`mbert_atlas.encoding.pretraining.encode_texts` wrote.
        output: the store to write: ``vectors`` (float32, ``(vocabulary, dims)``), zeros where a
            subword is too rare, and ``counts`` of all subwords (int64, ``(vocabulary,)``).
        threads: of word2vec, see :func:`mbert_atlas.static_vectors.word2vec.skip_gram`.

    Raises:
        DataError: if the texts were encoded by another tokenizer.
    """
    encoded = load_arrays(store)
    require_tokenizer(store, encoded.meta["tokenizer"], tokenizer_dir)
    rows, size = encoded.ragged("input_ids"), open_tokenizer(tokenizer_dir).get_vocab_size()
    counts = np.bincount(rows.values, minlength=size)
    # The first and last token of each row are special; these have no vectors.
    ends = np.concatenate([rows.values[rows.offsets[:-1]], rows.values[rows.offsets[1:] - 1]])
    counts -= np.bincount(ends, minlength=size)
    if spec.method == "word2vec":
        vectors = skip_gram(rows, size, spec, threads)
    else:
        vectors = glove(rows, size, spec, counts)
    meta = {"tokenizer": encoded.meta["tokenizer"], "method": spec.method}
    save_arrays(output, {"vectors": vectors, "counts": counts}, meta)
