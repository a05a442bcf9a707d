"""Frozen forward passes: token ids in, hidden states out, in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.arrays import Ragged
from mbert_atlas.batching import micro_batches
from mbert_atlas.encoders.pooling import Aggregation, pool_words
from mbert_atlas.encoders.precision import Precision, autocast, fitting_tokens
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.tokenizer import tokenizer_digest

IntArray = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class EncodedBatch:
    """What the encoder returned for some rows.

    Attributes:
        rows: int64, shape ``(b,)``: which rows of the ids these are.
        lengths: int64 tensor, shape ``(b,)``: tokens of each, padding left out.
        layers: the layers asked for, each of shape ``(b, tokens, dims)``.
        pooler: shape ``(b, dims)``; none for an encoder without a pooler.
    """

    rows: npt.NDArray[np.int64]
    lengths: torch.Tensor
    layers: tuple[torch.Tensor, ...]
    pooler: Any


def require_tokenizer(store: Path, digest: str | None, encoder: Path) -> None:
    """Check that token ids were made with an encoder's tokenizer.

    Args:
        store: folder of the token store, for the message.
        digest: what the store says of its tokenizer.
        encoder: encoder folder.

    Raises:
        DataError: if the encoder has another tokenizer.
    """
    if digest != tokenizer_digest(encoder):
        raise DataError(
            store,
            "meta.json",
            f"the ids were not made with the tokenizer of {encoder}",
            "encode the texts again with the tokenizer of this encoder",
        )


def padding_id(model: Any) -> int:
    """Return the id that the encoder pads with (some derive positions from it)."""
    return int(getattr(model.config, "pad_token_id", None) or 0)


def number_of_layers(model: Any) -> int:
    """Return how many states the encoder has: the embeddings and one per Transformer layer."""
    return int(model.config.num_hidden_layers) + 1


def iterate_hidden_states(
    model: Any,
    ids: Ragged,
    *,
    layers: Sequence[int],
    rows: npt.NDArray[np.int64] | None = None,
    segment_start: IntArray | None = None,
    token_budget: int | None = None,
    precision: Precision = "fp32",
    description: str = "encoding",
) -> Iterator[EncodedBatch]:
    """Run the encoder in evaluation mode over ``rows`` of ``ids``.

    Args:
        model: an encoder as :func:`mbert_atlas.encoders.loading.load_encoder` gives it; runs on
            the device it is on and stays in evaluation mode.
        ids: token ids with the special tokens.
        layers: states to return, 0 for the embeddings; negative numbers count from the last.
        rows: which rows to encode, each once; none for all.
        segment_start: place of the first piece of token type 1 in each row of ``ids``; none where
            all pieces are of type 0.
        token_budget: most padded tokens in a batch; none: what suits the device.
        precision: see :data:`mbert_atlas.encoders.precision.Precision`.
        description: what the progress line says.
    """
    device = next(model.parameters()).device
    chosen = np.arange(len(ids)) if rows is None else rows
    last_only = [layer % number_of_layers(model) for layer in layers] == [
        number_of_layers(model) - 1
    ]
    model.eval()
    batches = micro_batches(chosen, ids.lengths, token_budget or fitting_tokens(device))
    for batch in track(batches, description):
        lengths, padded = ids.lengths[batch], ids.padded(batch, padding_id(model))
        mask = np.arange(padded.shape[1]) < lengths[:, None]
        inputs = {"input_ids": padded, "attention_mask": mask.astype(np.int64)}
        if segment_start is not None:
            second = np.arange(padded.shape[1]) >= segment_start[batch][:, None]
            inputs["token_type_ids"] = (second & mask).astype(np.int64)
        with torch.inference_mode(), autocast(precision, device):
            output = model(
                **{name: torch.from_numpy(array).to(device) for name, array in inputs.items()},
                output_hidden_states=not last_only,
            )
        states = (
            (output.last_hidden_state,)
            if last_only
            else tuple(output.hidden_states[layer] for layer in layers)
        )
        yield EncodedBatch(
            rows=batch,
            lengths=torch.from_numpy(lengths).to(device),
            layers=states,
            pooler=getattr(output, "pooler_output", None),
        )


def span_vectors(
    model: Any,
    ids: Ragged,
    sentence: IntArray,
    start: IntArray,
    end: IntArray,
    *,
    aggregation: Aggregation | Literal["pooler"],
    layers: Sequence[int],
    out: npt.NDArray[np.floating[Any]] | None = None,
    **options: Any,
) -> npt.NDArray[np.floating[Any]]:
    """Encode the sentences that hold the spans, each once, and pool every span.

    Args:
        model: the encoder, see :func:`iterate_hidden_states`.
        ids: token ids of all sentences.
        sentence: sentence of each span, int, shape ``(n,)``, in any order.
        start: first piece of each span, int, shape ``(n,)``.
        end: one past its last piece, int, shape ``(n,)``.
        aggregation: how pieces become one vector; or ``pooler``, the encoder's own vector of the
            whole sentence, whatever the layer.
        layers: states to keep.
        out: where to write, shape ``(layers, n, dims)``; none for a new float32 array.
        options: handed to :func:`iterate_hidden_states`.

    Returns:
        ``out``; ``out[:, i]`` belongs to span i.
    """
    if out is None:
        out = np.empty((len(layers), len(sentence), model.config.hidden_size), dtype=np.float32)
    for spans, pooled in iterate_span_vectors(
        model, ids, sentence, start, end, aggregation=aggregation, layers=layers, **options
    ):
        for layer, vectors in enumerate(pooled):
            out[layer, spans] = vectors.float().cpu().numpy()
    return out


def iterate_span_vectors(
    model: Any,
    ids: Ragged,
    sentence: IntArray,
    start: IntArray,
    end: IntArray,
    *,
    aggregation: Aggregation | Literal["pooler"],
    layers: Sequence[int],
    **options: Any,
) -> Iterator[tuple[npt.NDArray[np.int64], list[torch.Tensor]]]:
    """Yield the spans of one batch of sentences after the other, and their vectors.

    Args:
        model: as all that follow, see :func:`span_vectors`.
        ids: token ids of all sentences.
        sentence: sentence of each span.
        start: first piece of each span.
        end: one past its last piece.
        aggregation: how pieces become one vector.
        layers: states to yield.
        options: handed to :func:`iterate_hidden_states`.

    Yields:
        Numbers of spans, int64, shape ``(k,)``, and of each layer their vectors on the device of
        the model, shape ``(k, dims)``.
    """
    spans_of = group_by(sentence, len(ids))
    rows = np.flatnonzero(spans_of.lengths)
    for batch in iterate_hidden_states(model, ids, layers=layers, rows=rows, **options):
        spans = spans_of.take(batch.rows)
        owner = np.repeat(np.arange(len(spans)), spans.lengths)
        starts, ends, row = (
            torch.from_numpy(np.asarray(part, dtype=np.int64)).to(batch.lengths.device)
            for part in (start[spans.values], end[spans.values], owner)
        )
        with torch.inference_mode():
            pooled = [
                batch.pooler[row]
                if aggregation == "pooler"
                else pool_words(hidden, starts, ends, row, aggregation)
                for hidden in batch.layers
            ]
        yield spans.values, pooled


def group_by(group: IntArray, groups: int) -> Ragged:
    """List the members of each group.

    Args:
        group: group of each item, int, shape ``(n,)``.
        groups: number of groups.

    Returns:
        Row g holds the items of group g in their order, int64.
    """
    offsets = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=offsets[1:])
    return Ragged(np.argsort(group, kind="stable"), offsets)
