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
import pyarrow as pa
import torch
from accelerate import PartialState
from transformers import PreTrainedModel

from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_parquet, write_json
from mbert_atlas.hidden_states import (
    EncodedBatch,
    IntArray,
    iterate_hidden_states,
    number_of_layers,
    span_vectors,
)
from mbert_atlas.pooling import Aggregation, pool_words
from mbert_atlas.training.interfaces import Precision

TextPooling = Literal["cls", "pooler", "mean"]
Layers = Literal["all", "last"] | Sequence[int]
Vectors = npt.NDArray[np.floating[Any]]


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
        store: token store with the ragged array ``input_ids``, special tokens included.
        output: folder to write; row i of every layer belongs to row i of the store.
        layers: which hidden states, 0 for the embeddings.
        pooling: the state of [CLS]; the pooler's output (tanh of a linear map of the last layer's
            [CLS], tanti2021); or the mean over the pieces between [CLS] and [SEP].
        dtype: type on disk.
        token_budget: most padded tokens in a batch.
        precision: fp32 by default, as distances and probes are sensitive to rounding.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if a layer does not exist, the encoder has no pooler where it is asked for,
            a text has no piece, or the store has no ``input_ids``.
    """
    model = _open(encoder, threads)
    ids = _token_ids(store)
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
    with _vectors_on_disk(output, len(chosen), len(ids), model, dtype, meta) as out:
        for batch in iterate_hidden_states(
            model,
            ids,
            layers=chosen,
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
    ids: str = "input_ids",
    starts: str = "word_start",
    ends: str = "word_end",
    words: tuple[IntArray, IntArray] | None = None,
    dtype: Literal["float16", "float32"] = "float16",
    token_budget: int = 8192,
    precision: Precision = "fp32",
    threads: int | None = None,
) -> None:
    """Write one vector per word and layer; only sentences with a wanted word are encoded.

    Args:
        encoder: encoder folder.
        store: token store with the ragged arrays named by ``ids``, ``starts`` and ``ends``: token
            ids, and the piece span of each word, end excluded.
        output: folder to write; beside ``vectors`` it holds int32 arrays ``sentence`` and ``word``
            that say which word each row belongs to.
        layers: which hidden states, 0 for the embeddings.
        pooling: first piece, last piece or mean of the pieces.
        ids: name of the array of token ids.
        starts: name of the array of first pieces.
        ends: name of the array of ends.
        words: sentence and word number of each wanted word; none for all words that have pieces.
        dtype: type on disk.
        token_budget: most padded tokens in a batch.
        precision: see :func:`extract_texts`.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if a layer does not exist, an array is missing or a wanted word has no piece.
    """
    model = _open(encoder, threads)
    tokens = _token_ids(store, ids)
    first, past = _token_ids(store, starts), _token_ids(store, ends)
    chosen = _layer_numbers(encoder, model, layers)
    if words is None:
        sentence = np.repeat(np.arange(len(first)), first.lengths)
        word = np.arange(len(sentence)) - np.repeat(first.offsets[:-1], first.lengths)
        kept = np.flatnonzero(past.values > first.values)
        sentence, word = sentence[kept], word[kept]
    else:
        sentence, word = (np.asarray(part, dtype=np.int64) for part in words)
    flat = first.offsets[sentence] + word
    start, end = first.values[flat], past.values[flat]
    if np.any(end <= start):
        row = int(np.argmax(end <= start))
        raise DataError(
            store,
            f"sentence {sentence[row]}, word {word[row]}",
            "the word has no piece",
            "leave it out or encode longer sentences",
        )
    meta = {"layers": chosen, "pooling": pooling}
    extra = {"sentence": sentence.astype(np.int32), "word": word.astype(np.int32)}
    with _vectors_on_disk(output, len(chosen), len(sentence), model, dtype, meta, extra) as out:
        span_vectors(
            model,
            tokens,
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


def read_vectors(path: Path, layer: int = -1) -> Vectors:
    """Open the vectors of one layer, memory-mapped, shape ``(n, dims)``.

    Args:
        path: folder that :func:`extract_texts` or :func:`extract_words` wrote.
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
    """Open the vectors of one layer and the table whose rows they belong to.

    Raises:
        DataError: if there are more or fewer vectors than rows, or the layer was not kept.
    """
    matrix, table = read_vectors(vectors, layer), read_parquet(examples)
    if len(matrix) != table.num_rows:
        raise DataError(
            vectors,
            "",
            f"{len(matrix)} vectors for the {table.num_rows} rows of {examples}",
            "delete the vectors so that they are made again",
        )
    return matrix, table


def _open(encoder: Path, threads: int | None) -> PreTrainedModel:
    if threads is not None:
        torch.set_num_threads(threads)
    model = load_encoder(encoder)
    model.to(PartialState().device)
    return model


def _token_ids(store: Path, name: str = "input_ids") -> Ragged:
    arrays = load_arrays(store).arrays
    if not isinstance(array := arrays.get(name), Ragged):
        raise DataError(
            store, f"array {name}", f"missing (found {', '.join(arrays)})", "encode the texts again"
        )
    if len(array.values) == 0:
        raise DataError(store, f"array {name}", "it is empty", "encode some texts first")
    return array


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
        vectors = np.lib.format.open_memmap(
            folder / "vectors.npy", mode="w+", dtype=dtype, shape=shape
        )
        yield vectors
        vectors.flush()
        for name, array in (extra or {}).items():
            np.save(folder / f"{name}.npy", array)
        write_json({"arrays": sorted(["vectors", *(extra or {})]), **meta}, folder / "meta.json")
