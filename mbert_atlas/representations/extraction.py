"""Hidden states of many texts or words on disk: one pass over the data, whichever layers.

What is written is a token store with the dense array ``vectors`` of shape ``(layers, n, dims)``,
memory-mapped when opened; ``meta.json`` says which layers they are and how they were pooled.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from accelerate import PartialState
from transformers import PreTrainedModel

from mbert_atlas.arrays import Ragged, TokenStore, create_array, load_arrays
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, write_json
from mbert_atlas.hidden_states import (
    EncodedBatch,
    IntArray,
    iterate_hidden_states,
    number_of_layers,
    require_tokenizer,
    span_vectors,
)
from mbert_atlas.pooling import Aggregation, pool_words
from mbert_atlas.representations.reading import Vectors
from mbert_atlas.training.interfaces import Precision

TextPooling = Literal["cls", "pooler", "mean"]
Layers = Literal["all", "last"] | Sequence[int]


def extract_texts(
    *,
    encoder: Path,
    store: Path,
    output: Path,
    layers: Layers = "last",
    pooling: TextPooling = "cls",
    dtype: Literal["float16", "float32"] = "float16",
    token_budget: int = 8192,
    precision: Precision = "fp32",
    threads: int | None = None,
) -> None:
    """Write one vector per text and layer.

    Args:
        encoder: encoder folder.
        store: token store of a task, see :func:`mbert_atlas.encoding.encode`.
        output: folder to write; row i of every layer belongs to row i of the store, whose arrays
            ``example_id`` and ``language`` are copied.
        layers: which hidden states, 0 for the embeddings.
        pooling: the state of [CLS]; the pooler's output (tanh of a linear map of the last layer's
            [CLS], tanti2021); or the mean over the pieces between [CLS] and [SEP].
        dtype: type on disk.
        token_budget: most padded tokens in a batch.
        precision: fp32 by default, as distances and probes are sensitive to rounding.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if a layer does not exist, the encoder has no pooler where it is asked for,
            a text has no piece, or the store is not of this encoder's tokenizer.
    """
    stored = _open_store(store, encoder)
    model = _open(encoder, threads)
    ids = stored.ragged("input_ids")
    segments = None
    if "segment_start" in stored.arrays and stored.meta["options"]["segment_ids"]:
        segments = stored.dense("segment_start")
    chosen = _layer_numbers(encoder, model, layers)
    if pooling == "pooler":
        if getattr(model, "pooler", None) is None:
            raise DataError(encoder, "", "the encoder has no pooler", "pool by cls or mean")
        if chosen != [number_of_layers(model) - 1]:
            raise DataError(
                encoder,
                f"layers {layers}",
                "the pooler belongs to the last layer only",
                "ask for the last layer or pool by cls or mean",
            )
    if np.any(ids.lengths < 3):
        row = int(np.argmax(ids.lengths < 3))
        raise DataError(store, f"row {row}", "the text has no piece", "leave out empty texts")
    meta = {"layers": chosen, "pooling": pooling}
    extra = {name: stored.dense(name) for name in ("example_id", "language")}
    with _vectors_on_disk(output, len(chosen), len(ids), model, dtype, meta, extra) as out:
        for batch in iterate_hidden_states(
            model,
            ids,
            layers=chosen,
            segment_start=segments,
            token_budget=token_budget,
            precision=precision,
            description=f"texts of {store.name}",
        ):
            for layer in range(len(chosen)):
                out[layer, batch.rows] = _pool_texts(batch, layer, pooling).float().cpu().numpy()


def extract_words(
    *,
    encoder: Path,
    store: Path,
    output: Path,
    layers: Layers = "last",
    pooling: Aggregation = "mean",
    words: tuple[IntArray, IntArray] | None = None,
    dtype: Literal["float16", "float32"] = "float16",
    token_budget: int = 8192,
    precision: Precision = "fp32",
    threads: int | None = None,
) -> None:
    """Write one vector per word and layer; only sentences with a wanted word are encoded.

    Args:
        encoder: encoder folder.
        store: token store of sentences with the ragged array ``words``, the word of each piece,
            see :func:`mbert_atlas.encoding.tags.encode_tags`.
        output: folder to write; beside ``vectors`` it holds int32 arrays ``sentence`` (row of the
            store) and ``word`` that say which word each row belongs to.
        layers: which hidden states, 0 for the embeddings.
        pooling: first piece, last piece or mean of the pieces.
        words: sentence and word number of each wanted word; none for all words that have pieces.
        dtype: type on disk.
        token_budget: most padded tokens in a batch.
        precision: see :func:`extract_texts`.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if a layer does not exist, a wanted word has no piece, or the store is not of
            this encoder's tokenizer.
    """
    stored = _open_store(store, encoder)
    model = _open(encoder, threads)
    chosen = _layer_numbers(encoder, model, layers)
    sentence, word, start, end = _word_spans(stored.ragged("words"))
    if words is not None:
        found = pd.MultiIndex.from_arrays([sentence, word]).get_indexer(
            pd.MultiIndex.from_arrays(words)
        )
        if np.any(found < 0):
            row = int(np.argmax(found < 0))
            raise DataError(
                store,
                f"sentence {words[0][row]}, word {words[1][row]}",
                "the word has no piece",
                "leave it out or encode longer sentences",
            )
        sentence, word, start, end = (part[found] for part in (sentence, word, start, end))
    meta = {"layers": chosen, "pooling": pooling}
    extra = {"sentence": sentence.astype(np.int32), "word": word.astype(np.int32)}
    with _vectors_on_disk(output, len(chosen), len(sentence), model, dtype, meta, extra) as out:
        span_vectors(
            model,
            stored.ragged("input_ids"),
            sentence,
            start,
            end,
            aggregation=pooling,
            layers=chosen,
            out=out,
            token_budget=token_budget,
            precision=precision,
            description=f"words of {store.name}",
        )


def _open(encoder: Path, threads: int | None) -> PreTrainedModel:
    if threads is not None:
        torch.set_num_threads(threads)
    model = load_encoder(encoder)
    model.to(PartialState().device)
    return model


def _open_store(path: Path, encoder: Path) -> TokenStore:
    store = load_arrays(path)
    require_tokenizer(path, store.meta.get("tokenizer"), encoder)
    return store


def _word_spans(words: Ragged) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """List the words that have pieces: sentence, number, first piece and end of each."""
    sentence = np.repeat(np.arange(len(words)), words.lengths)
    changes = (words.values[1:] != words.values[:-1]) | (sentence[1:] != sentence[:-1])
    bounds = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(sentence)]])
    begin, past = bounds[:-1], bounds[1:]
    kept = words.values[begin] >= 0  # not a special piece
    begin, past = begin[kept], past[kept]
    shift = words.offsets[sentence[begin]]
    return sentence[begin], words.values[begin], begin - shift, past - shift


def _layer_numbers(encoder: Path, model: PreTrainedModel, layers: Layers) -> list[int]:
    count = number_of_layers(model)
    if layers == "all":
        return list(range(count))
    if layers == "last":
        return [count - 1]
    numbers = [int(layer) for layer in layers]
    wrong = [number for number in numbers if not 0 <= number < count]
    if wrong or not numbers:
        raise DataError(
            encoder,
            f"layers {numbers}",
            f"the encoder has hidden states 0 to {count - 1}",
            "ask for some of these",
        )
    return numbers


def _pool_texts(batch: EncodedBatch, layer: int, pooling: TextPooling) -> torch.Tensor:
    if pooling == "pooler":
        assert batch.pooler is not None  # checked before any text was encoded
        return batch.pooler
    if pooling == "cls":
        return batch.layers[layer][:, 0]
    rows = torch.arange(len(batch.rows), device=batch.lengths.device)
    return pool_words(batch.layers[layer], torch.ones_like(rows), batch.lengths - 1, rows, "mean")


@contextmanager
def _vectors_on_disk(
    output: Path,
    layers: int,
    n: int,
    model: PreTrainedModel,
    dtype: str,
    meta: dict[str, Any],
    extra: dict[str, npt.NDArray[Any]] | None = None,
) -> Iterator[Vectors]:
    """Yield the file to fill; the folder gets its name once the block has ended well."""
    shape = (layers, n, int(model.config.hidden_size))
    with atomic_directory(output) as folder:
        vectors = create_array(folder / "vectors.npy", dtype, shape)
        yield vectors
        vectors.flush()
        for name, array in (extra or {}).items():
            np.save(folder / f"{name}.npy", array)
        write_json({"arrays": sorted(["vectors", *(extra or {})]), **meta}, folder / "meta.json")
