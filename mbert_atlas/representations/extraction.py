"""Hidden states of many texts, words or labelled pieces on disk: one pass over the data.

What is written is a token store with the dense array ``vectors`` of shape ``(layers, n, dims)``,
memory-mapped when opened; ``meta.json`` says which layers they are and how they were pooled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
from mbert_atlas.encoding.tags import NO_LABEL
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


def extract_features(
    *,
    encoder: Path,
    store: Path,
    output: Path,
    pooling: TextPooling = "pooler",
    splits: Collection[str] | None = None,
    languages: Collection[str] | None = None,
    dtype: Literal["float16", "float32"] = "float16",
    token_budget: int = 8192,
    precision: Precision = "fp32",
    threads: int | None = None,
) -> None:
    """Write the vectors that a classifier on this encoder sees (tanti2021, appendix C).

    That is the last hidden state of every labelled piece where each piece has a label (ragged
    ``labels``), and one vector per text or pair where the example has one (dense ``labels``).

    Args:
        encoder: encoder folder.
        store: token store of a task, see :func:`mbert_atlas.encoding.encode`.
        output: folder to write, to be opened by
            :func:`mbert_atlas.representations.reading.read_features`. Beside ``vectors`` it holds
            int32 arrays ``example`` (rising; which row of the arrays by example each vector
            belongs to) and ``labels``; and by example ``example_id``, ``language`` and, where the
            store has it, ``split``. Examples without any labelled piece are left out.
        pooling: what becomes of a text, see :func:`extract_texts`; labelled pieces need none.
        splits: keep only examples of these, where the store has ``split``; none for all.
        languages: keep only examples in these; none for all.
        dtype: type on disk.
        token_budget: most padded tokens in a batch.
        precision: see :func:`extract_texts`.
        threads: CPU threads; none leaves torch's choice.

    Raises:
        DataError: if nothing is left, the encoder has no pooler where it is asked for, a text has
            no piece, or the store is not of this encoder's tokenizer.
    """
    source = _Source.open(store, encoder, threads, token_budget, precision)
    stored = source.store
    owner, piece, labels = _labelled(store, stored, splits, languages)
    rows, example = np.unique(owner, return_inverse=True)
    layers = source.layer_numbers("last")
    if piece is None:
        source.require_poolable(rows, layers, pooling)
    meta = {
        "labels": list(stored.meta["labels"]),
        "unit": "text" if piece is None else "token",
        "pooling": pooling if piece is None else None,
        "layers": layers,
    }
    kept = [name for name in ("example_id", "language", "split") if name in stored.arrays]
    extra = {name: stored.dense(name)[rows] for name in kept}
    extra |= {"example": example.astype(np.int32), "labels": labels.astype(np.int32)}
    with source.vectors_on_disk(output, len(owner), dtype, meta, extra) as out:
        if piece is None:
            source.write_texts(out, rows, layers, pooling)
        else:
            source.write_spans(out, owner, piece, piece + 1, layers, "first")


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
    source = _Source.open(store, encoder, threads, token_budget, precision)
    rows = np.arange(len(source.store.ragged("input_ids")))
    chosen = source.layer_numbers(layers)
    source.require_poolable(rows, chosen, pooling)
    meta = {"layers": chosen, "pooling": pooling}
    extra = {name: source.store.dense(name) for name in ("example_id", "language")}
    with source.vectors_on_disk(output, len(rows), dtype, meta, extra) as out:
        source.write_texts(out, rows, chosen, pooling)


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
    source = _Source.open(store, encoder, threads, token_budget, precision)
    chosen = source.layer_numbers(layers)
    sentence, word, start, end = _word_spans(source.store.ragged("words"))
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
    with source.vectors_on_disk(output, len(sentence), dtype, meta, extra) as out:
        source.write_spans(out, sentence, start, end, chosen, pooling)


@dataclass(frozen=True)
class _Source:
    """A token store and the encoder that passes over it."""

    path: Path
    store: TokenStore
    encoder: Path
    model: PreTrainedModel
    token_budget: int
    precision: Precision

    @classmethod
    def open(
        cls,
        path: Path,
        encoder: Path,
        threads: int | None,
        token_budget: int,
        precision: Precision,
    ) -> _Source:
        store = load_arrays(path)
        require_tokenizer(path, store.meta.get("tokenizer"), encoder)
        if threads is not None:
            torch.set_num_threads(threads)
        model = load_encoder(encoder)
        model.to(PartialState().device)
        return cls(path, store, encoder, model, token_budget, precision)

    def layer_numbers(self, layers: Layers) -> list[int]:
        count = number_of_layers(self.model)
        if layers == "all":
            return list(range(count))
        if layers == "last":
            return [count - 1]
        numbers = [int(layer) for layer in layers]
        wrong = [number for number in numbers if not 0 <= number < count]
        if wrong or not numbers:
            raise DataError(
                self.encoder,
                f"layers {numbers}",
                f"the encoder has hidden states 0 to {count - 1}",
                "ask for some of these",
            )
        return numbers

    def require_poolable(self, rows: IntArray, layers: list[int], pooling: TextPooling) -> None:
        if pooling == "pooler":
            if getattr(self.model, "pooler", None) is None:
                raise DataError(
                    self.encoder, "", "the encoder has no pooler", "pool by cls or mean"
                )
            if layers != self.layer_numbers("last"):
                raise DataError(
                    self.encoder,
                    f"layers {layers}",
                    "the pooler belongs to the last layer only",
                    "ask for the last layer or pool by cls or mean",
                )
        empty = self.store.ragged("input_ids").lengths[rows] < 3
        if np.any(empty):
            row = int(rows[np.argmax(empty)])
            raise DataError(
                self.path, f"row {row}", "the text has no piece", "leave out empty texts"
            )

    def write_texts(
        self, out: Vectors, rows: IntArray, layers: list[int], pooling: TextPooling
    ) -> None:
        """Fill ``out[:, i]`` with the vectors of text ``rows[i]``; the rows rise."""
        segments = None
        if "segment_start" in self.store.arrays and self.store.meta["options"]["segment_ids"]:
            segments = self.store.dense("segment_start")
        for batch in iterate_hidden_states(
            self.model,
            self.store.ragged("input_ids"),
            layers=layers,
            rows=rows.astype(np.int64),
            segment_start=segments,
            token_budget=self.token_budget,
            precision=self.precision,
            description=f"texts of {self.path.name}",
        ):
            place = np.searchsorted(rows, batch.rows)
            for layer in range(len(layers)):
                out[layer, place] = _pool_texts(batch, layer, pooling).float().cpu().numpy()

    def write_spans(
        self,
        out: Vectors,
        sentence: IntArray,
        start: IntArray,
        end: IntArray,
        layers: list[int],
        pooling: Aggregation,
    ) -> None:
        """Fill ``out[:, i]`` with the vectors of the pieces from ``start[i]`` to ``end[i]``."""
        span_vectors(
            self.model,
            self.store.ragged("input_ids"),
            sentence,
            start,
            end,
            aggregation=pooling,
            layers=layers,
            out=out,
            token_budget=self.token_budget,
            precision=self.precision,
            description=f"pieces of {self.path.name}",
        )

    @contextmanager
    def vectors_on_disk(
        self,
        output: Path,
        n: int,
        dtype: str,
        meta: dict[str, Any],
        extra: dict[str, npt.NDArray[Any]],
    ) -> Iterator[Vectors]:
        """Yield the file to fill; the folder gets its name once the block has ended well."""
        shape = (len(meta["layers"]), n, int(self.model.config.hidden_size))
        with atomic_directory(output) as folder:
            vectors = create_array(folder / "vectors.npy", dtype, shape)
            yield vectors
            vectors.flush()
            for name, array in extra.items():
                np.save(folder / f"{name}.npy", array)
            write_json({"arrays": sorted(["vectors", *extra]), **meta}, folder / "meta.json")


def _labelled(
    path: Path,
    store: TokenStore,
    splits: Collection[str] | None,
    languages: Collection[str] | None,
) -> tuple[IntArray, IntArray | None, IntArray]:
    """List what has a label: its example, its place in it (none for whole texts), and the label."""
    labels = store.arrays["labels"]
    wanted = np.ones(len(store.ragged("input_ids")), dtype=bool)
    if splits is not None and "split" in store.arrays:
        wanted = np.isin(store.dense("split"), list(splits))
    if languages is not None:
        wanted &= np.isin(store.dense("language"), list(languages))
    if isinstance(labels, Ragged):
        found = np.flatnonzero(labels.values != NO_LABEL)
        owner = np.repeat(np.arange(len(labels)), labels.lengths)[found]
        found, owner = found[wanted[owner]], owner[wanted[owner]]
        piece, numbers = found - labels.offsets[owner], labels.values[found]
    else:
        owner, piece = np.flatnonzero(wanted), None
        numbers = labels[owner]
    if len(owner) == 0:
        found_in = "" if splits is None else f" of the splits {', '.join(sorted(splits))}"
        if languages is not None:
            found_in += f" in the languages {', '.join(sorted(languages))}"
        raise DataError(
            path, "array labels", f"nothing{found_in} has a label", "encode other examples"
        )
    return owner, piece, numbers


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


def _pool_texts(batch: EncodedBatch, layer: int, pooling: TextPooling) -> torch.Tensor:
    if pooling == "pooler":
        assert batch.pooler is not None  # checked before any text was encoded
        return batch.pooler
    if pooling == "cls":
        return batch.layers[layer][:, 0]
    rows = torch.arange(len(batch.rows), device=batch.lengths.device)
    return pool_words(batch.layers[layer], torch.ones_like(rows), batch.lengths - 1, rows, "mean")
