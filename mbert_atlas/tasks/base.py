"""What tasks share: batches of examples, an encoder with a head, losses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from safetensors.torch import save_file
from scipy.special import entr
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.batching import Indices
from mbert_atlas.config.training import HeadOptions
from mbert_atlas.encoders.loading import write_encoder
from mbert_atlas.encoders.masks import attention_mask
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import atomic_directory, write_json

Batch = dict[str, torch.Tensor]
Weight = torch.Tensor | float
Unit = Literal["text", "token"]


class Examples(Protocol):
    """Training or evaluation data, addressed by example index."""

    lengths: Indices
    """Tokens of each example, shape ``(n,)``; decides buckets and micro-batches."""

    def collate(self, indices: Indices) -> Batch:
        """Return the padded CPU tensors of these examples."""
        ...


class EncodedExamples:
    """Rows of a token store as padded batches; fits :class:`Examples`.

    ``rows`` are those of the store, all or some; ``lengths`` are tokens and ``label_counts`` rows
    of outputs of each example; all int64, shape ``(n,)``. Batches are as wide as the longest
    example, rounded up to a multiple of ``pad_multiple``. With ``fixed_shapes`` all shapes of a
    batch follow from its ``input_ids``, if a task has such batches: labels are filled up with
    ``NO_LABEL``, which losses leave out. Predictions need batches without.
    """

    def __init__(
        self,
        store: TokenStore,
        rows: Indices | None = None,
        *,
        pad_multiple: int = 1,
        fixed_shapes: bool = False,
    ) -> None:
        self.store, self.input_ids = store, store.ragged("input_ids")
        self.rows = np.arange(len(self.input_ids), dtype=np.int64) if rows is None else rows
        self.lengths = self.input_ids.lengths[self.rows]
        self.label_counts = np.ones_like(self.lengths)
        self.pad_id, self.pad_multiple = int(store.meta["pad_id"]), pad_multiple
        self.fixed_shapes = fixed_shapes

    def collate(self, indices: Indices) -> Batch:
        """Return ``input_ids`` and ``attention_mask`` (int64 and bool, (b, l)) and ``rows``."""
        input_ids = self.input_ids.padded(
            self.rows[indices], self.pad_id, multiple=self.pad_multiple
        )
        inside = np.arange(input_ids.shape[1]) < self.lengths[indices][:, None]
        return {
            "input_ids": torch.from_numpy(input_ids),
            "attention_mask": torch.from_numpy(inside),
            "rows": torch.from_numpy(self.rows[indices]),
        }

    @property
    def classes(self) -> Indices:
        """The class of each label, one example after the other, int64, shape ``(m,)``."""
        raise NotImplementedError

    @property
    def choices(self) -> int:
        """From how many classes a label is chosen; 0 if that differs between labels."""
        return len(self.store.meta["labels"])

    def guessing_loss(self) -> float:
        """Return the task's loss by guessing, without the text: the entropy of the classes."""
        return entropy(self.classes)

    @property
    def subwords(self) -> npt.NDArray[np.integer[Any]]:
        """All token ids of these examples, one after the other, and that of the padding."""
        return np.append(self.input_ids.take(self.rows).values, self.pad_id)

    def fill_up(self, values: npt.NDArray[Any], size: int, fill: int) -> torch.Tensor:
        """Return values, shape ``(m,)``; if shapes are fixed, filled up to ``(size,)``."""
        missing = size - len(values) if self.fixed_shapes else 0
        return torch.from_numpy(np.pad(values, (0, missing), constant_values=fill))

    def columns(self, dataset: str) -> dict[str, Any]:
        """Return the columns dataset, language and example_id of predictions."""
        names = {key: self.store.dense(key)[self.rows] for key in ("language", "example_id")}
        return {"dataset": [dataset] * len(self.rows), **names}

    def token_types(self, indices: Indices, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return 1 for the tokens of the second text of each pair, else 0, int64, (b, l)."""
        starts = torch.from_numpy(self.store.dense("segment_start")[self.rows[indices]])
        columns = torch.arange(attention_mask.shape[1])
        return ((columns >= starts[:, None]) & attention_mask).long()


def entropy(classes: npt.NDArray[np.integer[Any]]) -> float:
    """Return the entropy of the frequencies of some numbers, in nats."""
    return float(entr(np.unique(classes, return_counts=True)[1] / len(classes)).sum())


class Objective(Protocol):
    """A loss over micro-batches; the sum over the micro-batches of a step is the step's loss."""

    def weight(self, batch: Batch) -> float:
        """Return the micro-batch's part of the step's normaliser (examples, labelled words)."""
        ...

    def prepare(self, batch: Batch) -> Batch:
        """Return a batch, on the CPU, with what else :meth:`loss` needs."""
        return batch

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return this micro-batch's part of the step's loss, a scalar with gradient.

        ``batch`` is on the device; ``step_weight`` sums :meth:`weight` over the step. Neither is
        read on the CPU: a read waits for the GPU, and a recorded pass cannot do it.
        """
        ...


class CrossEntropy(Objective):
    """Mean cross-entropy over the labels of a step (texts or labelled positions)."""

    def weight(self, batch: Batch) -> float:
        """Return the number of labels."""
        return float((batch["labels"] != NO_LABEL).sum())

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``."""
        total = functional.cross_entropy(model(batch), batch["labels"], reduction="sum")
        return total / step_weight


def new_head(config: Any, classes: int, options: HeadOptions) -> nn.Linear:
    """Return a linear layer on an encoder's vectors, initialised from torch's generator."""
    head = nn.Linear(config.hidden_size, classes)
    nn.init.normal_(head.weight, std=options.initial_stddev or config.initializer_range)
    nn.init.zeros_(head.bias)
    return head


class Task(ABC):
    """One task: how its encoded examples become batches, and how outputs become predictions.

    :mod:`mbert_atlas.encoding` writes the examples, under the name of the task; ``examples`` opens
    them. The ``unit`` is what is classified: whole texts, through the pooler, or tokens, by their
    last state. Training minimises the ``objective``.
    """

    unit: ClassVar[Unit]
    prediction_schema: ClassVar[pa.Schema]
    examples: ClassVar[type[EncodedExamples]]
    head_options: ClassVar[type[HeadOptions]] = HeadOptions
    objective: ClassVar[type[CrossEntropy]] = CrossEntropy

    def targets(self, store: TokenStore) -> npt.NDArray[np.str_]:
        """Return the language that each example of a store tests, shape ``(n,)``."""
        return store.dense("language")

    def new_head(self, config: Any, classes: int, options: HeadOptions) -> nn.Module:
        """Return the head, initialised from torch's generator; see :func:`new_head`."""
        return new_head(config, classes, options)

    @abstractmethod
    def forward(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return what :meth:`decode` needs: one row per label of the batch."""

    def gold_and_predicted(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the numbers of the gold and the predicted class of each label, ``(m, 2)``."""
        return torch.stack([batch["labels"], model(batch).argmax(dim=-1)], dim=1)

    @abstractmethod
    def decode(self, examples: EncodedExamples, outputs: Ragged, dataset: str) -> pa.Table:
        """Return a table of ``prediction_schema`` from what :meth:`forward` returned for examples.

        The labels of their store are the model's, and perhaps more after them.
        """


class EncoderWithHead(nn.Module):
    """An encoder, dropout and a head; with a linear one equal to transformers' BERT classifiers.

    A task of the unit ``text`` classifies the pooler's output, ``token`` the last hidden states at
    the batch's ``positions``. A training method may add ``head_language``, a second layer on the
    same vectors; it is trained and resumed with the rest, but :func:`save_model` leaves it out.
    Raises an AtlasError if the encoder has no pooler and texts are to be classified.
    """

    def __init__(
        self, encoder: PreTrainedModel, labels: int, task: Task, options: HeadOptions
    ) -> None:
        super().__init__()
        config = encoder.config
        if task.unit == "text" and getattr(encoder, "pooler", None) is None:
            raise AtlasError(
                f"{type(encoder).__name__} has no pooler, which classifies texts; "
                "take another encoder or a task that labels words."
            )
        self.encoder, self.unit, self.options = encoder, task.unit, options
        self._inputs = ["input_ids", "attention_mask"]
        if getattr(config, "type_vocab_size", 1) > 1:
            self._inputs.append("token_type_ids")
        self.dropout = nn.Dropout(options.dropout)
        self.head = task.new_head(config, labels, options)
        self.head_language: nn.Linear | None = None

    def inputs(self, batch: Batch) -> Batch:
        """Return what of a batch the encoder takes."""
        inputs = {name: batch[name] for name in self._inputs if name in batch}
        return inputs | {
            "attention_mask": attention_mask(self.encoder.config, batch["attention_mask"])
        }

    def features(self, batch: Batch) -> torch.Tensor:
        """Return what heads see before dropout, ``(m, dims)``: a row per text or position.

        Positions of the shape ``(b, n)`` give ``(b, n, dims)``.
        """
        states = self.encoder(**self.inputs(batch))
        if self.unit == "text":
            return cast(torch.Tensor, states.pooler_output)
        return cast(torch.Tensor, states.last_hidden_state.flatten(0, 1)[batch["positions"]])

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return logits, shape ``(m, labels)``: one row per text or per labelled position."""
        logits: torch.Tensor = self.head(self.dropout(self.features(batch)))
        return logits


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
            "options": model.options.model_dump(),
        }
        write_json(facts, temporary / "head.json")
