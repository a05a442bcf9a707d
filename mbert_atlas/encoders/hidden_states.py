"""Token ids to hidden states without gradients, in batches of similar length; pooling of words."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from mbert_atlas.arrays import Ragged, offsets_of
from mbert_atlas.batching import micro_batches
from mbert_atlas.encoders.precision import Precision, autocast, fitting_tokens
from mbert_atlas.progress import track

Aggregation = Literal["first", "last", "mean"]
IntArray = npt.NDArray[np.integer[Any]]


class EncodedBatch(NamedTuple):
    """Hidden states of some rows, the requested ``layers``, each of shape ``(b, tokens, dims)``.

    ``rows`` are the rows' indices, ``lengths`` their tokens without padding, both int64, ``(b,)``;
    ``pooler`` is the pooler's output, ``(b, dims)``; none for an encoder without one.
    """

    rows: npt.NDArray[np.int64]
    lengths: torch.Tensor
    layers: tuple[torch.Tensor, ...]
    pooler: Any


def padding_id(model: Any) -> int:
    """Return the encoder's padding id (some derive positions from it)."""
    return int(getattr(model.config, "pad_token_id", None) or 0)


def number_of_layers(model: Any) -> int:
    """Return the number of hidden states: the embeddings and one per Transformer layer."""
    return int(model.config.num_hidden_layers) + 1


def iterate_hidden_states(
    model: Any,
    ids: Ragged,
    *,
    layers: Sequence[int],
    rows: npt.NDArray[np.int64] | None = None,
    segment_start: IntArray | None = None,
    precision: Precision = "fp32",
    description: str = "encoding",
) -> Iterator[EncodedBatch]:
    """Run the encoder, which stays on its device and in evaluation mode, over rows of token ids.

    ``ids`` have special tokens; ``rows`` are encoded once each, none for all. ``layers`` are states
    to return, 0 for the embeddings; negative numbers count from the last. ``segment_start`` is the
    place of the first token of type 1 in each row of ``ids``; none if all are of type 0.
    """
    device = next(model.parameters()).device
    chosen = np.arange(len(ids)) if rows is None else rows
    count = number_of_layers(model)
    last_only = [layer % count for layer in layers] == [count - 1]
    model.eval()
    for batch in track(micro_batches(chosen, ids.lengths, fitting_tokens(device)), description):
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
        states = [output.last_hidden_state]
        if not last_only:
            states = [output.hidden_states[layer] for layer in layers]
        pooler = getattr(output, "pooler_output", None)
        yield EncodedBatch(batch, torch.from_numpy(lengths).to(device), tuple(states), pooler)


def span_vectors(
    model: Any,
    ids: Ragged,
    sentence: IntArray,
    start: IntArray,
    end: IntArray,
    *,
    layers: Sequence[int],
    out: npt.NDArray[np.floating[Any]] | None = None,
    **options: Any,
) -> npt.NDArray[np.floating[Any]]:
    """Return the vectors of :func:`iterate_span_vectors` in the order of the spans.

    They fill ``out``, shape ``(layers, n, dims)``, or a new float32 array.
    """
    if out is None:
        out = np.empty((len(layers), len(sentence), model.config.hidden_size), dtype=np.float32)
    for spans, pooled in iterate_span_vectors(
        model, ids, sentence, start, end, layers=layers, **options
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
    """Encode the sentences that contain spans, each once, and pool every span.

    ``sentence`` of each span (in any order), ``start``, its first token, and ``end``, one past its
    last, are integers of shape ``(n,)``. ``aggregation`` is how tokens are pooled; ``pooler`` is
    the output of the encoder's pooler for the whole sentence, whatever the layer. For the other
    arguments see :func:`iterate_hidden_states`.

    Yields:
        Indices of spans, int64, shape ``(k,)``, and for each layer their vectors on the device of
        the model, shape ``(k, dims)``.
    """
    spans_of = group_by(sentence, len(ids))
    rows = np.flatnonzero(spans_of.lengths)
    for batch in iterate_hidden_states(model, ids, layers=layers, rows=rows, **options):
        spans = spans_of.take(batch.rows)
        row_of_span = np.repeat(np.arange(len(spans)), spans.lengths)
        starts, ends, row = (
            torch.from_numpy(np.asarray(part, dtype=np.int64)).to(batch.lengths.device)
            for part in (start[spans.values], end[spans.values], row_of_span)
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
    """List the items of each group in their order, int64, given the group of each item, int."""
    return Ragged(
        np.argsort(group, kind="stable"), offsets_of(np.bincount(group, minlength=groups))
    )


def pool_words(
    hidden: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
    batch_index: torch.Tensor,
    how: Aggregation,
    places: torch.Tensor | None = None,
) -> torch.Tensor:
    """Pool subwords into words, all words of a batch at once, with gradient.

    Subword vectors ``hidden`` have shape ``(batch, subwords, dims)``. Of each word ``starts`` has
    the first subword, ``ends`` one past its last (no span may be empty), and ``batch_index`` the
    row, int64, shape ``(words,)``. Its vector is that of the first or last subword, or the mean of
    all; shape ``(words, dims)``, dtype of ``hidden``. A mean takes the :func:`subword_places`,
    unless they are given.
    """
    if how == "first":
        return hidden[batch_index, starts]
    if how == "last":
        return hidden[batch_index, ends - 1]
    # An embedding bag gathers and averages in one kernel: the subwords are its table.
    if places is None:
        places = subword_places(starts, ends, batch_index, hidden.shape[1])
    sizes = ends - starts
    return torch.nn.functional.embedding_bag(
        places, hidden.reshape(-1, hidden.shape[-1]), sizes.cumsum(0) - sizes, mode="mean"
    )


def subword_places(
    starts: torch.Tensor, ends: torch.Tensor, batch_index: torch.Tensor, width: int
) -> torch.Tensor:
    """Return the places of all words' subwords in the flattened (b * width) batch, int64, (n,).

    For words see :func:`pool_words`. A GPU has to tell the CPU how many there are: a training step
    gets them with its batch.
    """
    # Words [1, 3) and [3, 4) of row 2, width 10: shifts [21, 21], places [21, 22, 23].
    sizes = ends - starts
    shift = batch_index * width + starts - (sizes.cumsum(0) - sizes)
    places = torch.repeat_interleave(shift, sizes)
    return places + torch.arange(len(places), device=places.device)
