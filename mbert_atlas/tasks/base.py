"""What tasks share: token stores of examples, an encoder with a linear head, cross-entropy."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from mbert_atlas.arrays import Ragged, TokenStore, load_arrays, save_arrays
from mbert_atlas.encoders.loading import (
    load_encoder,
    load_tokenizer,
    tokenizer_digest,
    write_encoder,
)
from mbert_atlas.errors import DataError
from mbert_atlas.files import atomic_directory, read_json, write_json
from mbert_atlas.progress import track

_logger = logging.getLogger(__name__)

Batch = dict[str, torch.Tensor]
Indices = npt.NDArray[np.int64]
Unit = Literal["text", "token"]
NO_LABEL = -100
_EXAMPLES_AT_A_TIME = 2048


class Task(ABC):
    """One task: how its tables become token stores, and model outputs become predictions."""

    name: ClassVar[str]
    unit: ClassVar[Unit]
    """What is classified: whole texts, through the pooler, or tokens, by their last state."""
    prediction_schema: ClassVar[pa.Schema]

    @abstractmethod
    def encode(
        self,
        table: pa.Table,
        tokenizer_dir: Path | str,
        output: Path | str,
        *,
        labels: Sequence[str],
        max_length: int = 128,
        drop_unknown: bool = False,
        origin: Path | str = "examples",
    ) -> None:
        """Write a table as a token store.

        Args:
            table: examples with the task's columns.
            tokenizer_dir: folder of the fast tokenizer.
            output: the store's folder.
            labels: the classes, in the order of the model's outputs.
            max_length: most pieces of an example, special ones included; the rest is cut.
            drop_unknown: leave out examples with [UNK] (tanti2021).
            origin: where the table comes from, for messages.

        Raises:
            DataError: if a column is missing, a label is not in ``labels`` or nothing is left.
        """

    def targets(self, store: TokenStore) -> npt.NDArray[np.str_]:
        """Return the language that each example of a store tests, shape ``(n,)``."""
        return store.dense("language")

    @abstractmethod
    def examples(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> EncodedExamples:
        """Open encoded examples for training or prediction, all of them or only ``rows``."""

    def objective(self) -> CrossEntropy:
        """Return the loss that training minimises."""
        return CrossEntropy()

    @abstractmethod
    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return what :meth:`decode` needs: one row per label of the batch."""

    @abstractmethod
    def decode(
        self, examples: EncodedExamples, outputs: Ragged, labels: Sequence[str], dataset: str
    ) -> pa.Table:
        """Return predictions as a table with the columns of ``prediction_schema``.

        Args:
            examples: what was predicted.
            outputs: what :meth:`forward` gave for each of them.
            labels: the model's labels.
            dataset: entry of the ``dataset`` column.
        """


class EncodedExamples:
    """Rows of a token store as padded batches; fits :class:`training.interfaces.Examples`.

    Attributes:
        lengths: pieces of each example, int64, shape ``(n,)``.
        label_counts: rows of outputs that each example gets, int64, shape ``(n,)``.

    Args:
        store: the encoded examples.
        rows: which of them, int64, shape ``(n,)``; none for all.
        pad_multiple: batches are as wide as the longest example, rounded up to a multiple.
    """

    def __init__(
        self, store: TokenStore, rows: Indices | None = None, *, pad_multiple: int = 1
    ) -> None:
        self.store, self.input_ids = store, store.ragged("input_ids")
        self.rows = np.arange(len(self.input_ids), dtype=np.int64) if rows is None else rows
        self.lengths = self.input_ids.lengths[self.rows]
        self.label_counts = np.ones_like(self.lengths)
        self.pad_id, self.pad_multiple = int(store.meta["pad_id"]), pad_multiple

    def collate(self, indices: Indices) -> Batch:
        """Return ``input_ids`` and ``attention_mask`` (int64 and bool, both (b, l))."""
        input_ids = self.input_ids.padded(
            self.rows[indices], self.pad_id, multiple=self.pad_multiple
        )
        inside = np.arange(input_ids.shape[1]) < self.lengths[indices][:, None]
        return {
            "input_ids": torch.from_numpy(input_ids),
            "attention_mask": torch.from_numpy(inside),
        }

    def token_types(self, indices: Indices, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return 1 for the pieces of the second text of each pair, else 0, int64, (b, l)."""
        starts = torch.from_numpy(self.store.dense("segment_start")[self.rows[indices]])
        columns = torch.arange(attention_mask.shape[1])
        return ((columns >= starts[:, None]) & attention_mask).long()


@dataclass(frozen=True)
class HeadOptions:
    """The linear layer on top of an encoder.

    Attributes:
        dropout: before the layer; none takes the encoder's own.
        initial_stddev: of the normal distribution that its weights are drawn from; none takes the
            encoder's. Biases begin at zero.
    """

    dropout: float | None = None
    initial_stddev: float | None = None


class EncoderWithHead(nn.Module):
    """An encoder, dropout and a linear layer; equal to transformers' BERT classifiers.

    Args:
        encoder: the encoder.
        labels: number of classes.
        unit: ``text`` classifies the pooler's output, ``token`` the last hidden states at the
            batch's ``positions``.
        options: the head.
    """

    def __init__(
        self, encoder: PreTrainedModel, labels: int, unit: Unit, options: HeadOptions
    ) -> None:
        super().__init__()
        config = encoder.config
        self.encoder, self.unit = encoder, unit
        dropout = config.hidden_dropout_prob if options.dropout is None else options.dropout
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(config.hidden_size, labels)
        nn.init.normal_(self.head.weight, std=options.initial_stddev or config.initializer_range)
        nn.init.zeros_(self.head.bias)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return logits, shape ``(m, labels)``: one row per text or per labelled position."""
        names = ("input_ids", "attention_mask", "token_type_ids")
        states = self.encoder(**{name: batch[name] for name in names if name in batch})
        if self.unit == "text":
            features = states.pooler_output
        else:
            features = states.last_hidden_state.flatten(0, 1)[batch["positions"]]
        logits: torch.Tensor = self.head(self.dropout(features))
        return logits


class CrossEntropy:
    """Mean cross-entropy over the labels of a step (texts or labelled positions)."""

    def weight(self, batch: Batch) -> float:
        """Return the number of labels."""
        return float(len(batch["labels"]))

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``."""
        total = functional.cross_entropy(model(batch), batch["labels"], reduction="sum")
        return total / step_weight


def save_model(
    model: EncoderWithHead,
    labels: Sequence[str],
    task: str,
    tokenizer_dir: Path | str,
    folder: Path | str,
) -> None:
    """Write an encoder folder with ``head.safetensors`` and ``head.json`` in it, atomically."""
    config = model.encoder.config
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: number for number, label in enumerate(labels)}
    with atomic_directory(folder) as temporary:
        write_encoder(model.encoder, tokenizer_dir, temporary)
        head = {name: tensor.cpu().contiguous() for name, tensor in model.head.state_dict().items()}
        save_file(head, temporary / "head.safetensors")
        facts = {
            "task": task,
            "unit": model.unit,
            "labels": list(labels),
            "dropout": model.dropout.p,
        }
        write_json(facts, temporary / "head.json")


def load_model(folder: Path | str) -> tuple[EncoderWithHead, list[str]]:
    """Open what :func:`save_model` wrote; return the model and its labels.

    Raises:
        DataError: if a file is missing.
    """
    folder = Path(folder)
    facts = read_json(folder / "head.json")
    encoder = load_encoder(folder)
    model = EncoderWithHead(
        encoder, len(facts["labels"]), facts["unit"], HeadOptions(dropout=facts["dropout"])
    )
    if not (folder / "head.safetensors").is_file():
        raise DataError(folder, "head.safetensors", "no such file", "fine-tune again")
    model.head.load_state_dict(load_file(folder / "head.safetensors"))
    return model, facts["labels"]


def open_store(path: Path | str, task: str) -> TokenStore:
    """Open the encoded examples of a task.

    Raises:
        DataError: if the folder holds something else.
    """
    store = load_arrays(path)
    if store.meta.get("task") != task:
        found = store.meta.get("task", "no task")
        raise DataError(
            path, "meta.json, key task", f"encoded for {found}, not for {task}", "encode it anew"
        )
    return store


def write_store(
    task: str,
    table: pa.Table,
    rows: Sequence[int],
    arrays: Mapping[str, npt.NDArray[Any] | Ragged],
    tokenizer_dir: Path | str,
    output: Path | str,
    *,
    labels: Sequence[str],
    options: Mapping[str, Any],
    dropped: Mapping[str, int],
) -> None:
    """Write the token store of a task's examples.

    Args:
        task: name of the task.
        table: the examples; ``id`` and ``language`` are kept as arrays of strings.
        rows: rows of the table that were encoded, in the order of the arrays; one may come several
            times (the windows of a long text).
        arrays: ``input_ids`` (ragged int32, special pieces included) and the task's own.
        tokenizer_dir: folder of the tokenizer.
        output: the store's folder.
        labels: the classes.
        options: how examples were encoded.
        dropped: what was left out, by reason.

    Raises:
        DataError: if no example is left.
    """
    counts = {reason: count for reason, count in dropped.items() if count}
    if not rows:
        raise DataError(
            output,
            "",
            f"none of {table.num_rows} examples is left to encode; left out: {counts or 'nothing'}",
            "check the data and its filters",
        )
    _logger.info("%s: %d examples; left out: %s", output, len(rows), counts or "nothing")
    kept = table.select(["id", "language"]).take(list(rows))
    save_arrays(
        output,
        {
            **arrays,
            "example_id": np.array(kept.column("id").to_pylist(), dtype=np.str_),
            "language": np.array(kept.column("language").to_pylist(), dtype=np.str_),
        },
        {
            "task": task,
            "labels": list(labels),
            "tokenizer": tokenizer_digest(tokenizer_dir),
            "pad_id": load_tokenizer(tokenizer_dir).pad_token_id,
            "options": dict(options),
            "dropped": counts,
        },
    )


def require_columns(table: pa.Table, names: Sequence[str], origin: Path | str) -> None:
    """Check that a table has columns without nulls.

    Raises:
        DataError: at the first missing column or null.
    """
    for name in names:
        if name not in table.column_names:
            raise DataError(
                origin,
                f"column {name}",
                f"missing (found {table.column_names})",
                "remake the table",
            )
        if table.column(name).null_count:
            row = pc.index(pc.is_null(table.column(name)), True).as_py()
            raise DataError(
                origin, f"column {name}, row {row + 1}", "there is no value", "remake the table"
            )


def row_name(table: pa.Table, row: int) -> str:
    """Return how messages name a row."""
    return f"row {row + 1} (id {table.column('id')[row].as_py()})"


def label_numbers(
    names: pa.Array, labels: Sequence[str], place: Callable[[int], str], origin: Path | str
) -> npt.NDArray[np.int32]:
    """Turn label names into numbers.

    Args:
        names: the label of each text or word.
        labels: the task's.
        place: says in which row the name of a given number stands.
        origin: where the table comes from.

    Raises:
        DataError: at the first name that is not among ``labels``.
    """
    found = pc.fill_null(pc.index_in(names, value_set=pa.array(labels, pa.string())), -1)
    numbers: npt.NDArray[np.int32] = found.to_numpy(zero_copy_only=False)
    if (numbers < 0).any():
        first = int(np.argmax(numbers < 0))
        raise DataError(
            origin,
            place(first),
            f"unknown label {names[first].as_py()!r}; the known ones are {', '.join(labels)}",
            "correct the data or the list of labels",
        )
    return numbers


def in_chunks(table: pa.Table, description: str) -> Iterator[tuple[int, pa.Table]]:
    """Yield slices of a table that a tokenizer takes in one call, with their first row."""
    starts = range(0, table.num_rows, _EXAMPLES_AT_A_TIME)
    for start in track(starts, description):
        yield start, table.slice(start, _EXAMPLES_AT_A_TIME)
