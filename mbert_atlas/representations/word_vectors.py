"""One vector per word type: the mean over its contexts.

The output is a token store with ``vectors`` (float32, ``(layers, words, dims)``) and ``words``
(strings).
"""

from pathlib import Path

import numpy as np
import torch

from mbert_atlas.arrays import save_arrays
from mbert_atlas.encoders.hidden_states import iterate_span_vectors, number_of_layers
from mbert_atlas.representations.extraction import open_both


def word_vectors(*, encoder: Path, store: Path, output: Path) -> None:
    """Encode the contexts of words, each row once; write the mean vector of each word, all layers.

    ``store`` comes from :func:`mbert_atlas.representations.word_contexts.find_word_contexts`. The
    vector of an occurrence is the mean over its subwords, that of a word the mean over its
    occurrences (Liu et al. 2020, section 3.1.1). Only sums stay in memory, as float32. Raises a
    DataError if the store is of another tokenizer.
    """
    model, stored = open_both(encoder, store)
    words, word, device = stored.dense("words"), stored.dense("word"), model.device
    layers = range(number_of_layers(model))
    sums = torch.zeros(len(layers), len(words), model.config.hidden_size, device=device)
    for spans, pooled in iterate_span_vectors(
        model,
        stored.ragged("input_ids"),
        *(stored.dense(name) for name in ("row", "start", "end")),
        aggregation="mean",
        layers=layers,
        description=f"words in {stored.meta['language']}",
    ):
        words_of_spans = torch.from_numpy(word[spans].astype(np.int64)).to(device)
        for total, vectors in zip(sums, pooled, strict=True):
            total.index_add_(0, words_of_spans, vectors)
    counts = torch.from_numpy(np.bincount(word, minlength=len(words))).to(device)
    sums /= counts[:, None]
    arrays = {"vectors": sums.cpu().numpy(), "words": words}
    save_arrays(output, arrays, {"language": stored.meta["language"]})
