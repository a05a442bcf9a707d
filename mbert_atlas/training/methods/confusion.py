"""Unlearning of language alongside a task (Tanti et al. 2021, section 3.1).

A second head on the encoder identifies the language of Wikipedia's texts or of their subwords.
Under gradient reversal it learns at each step, and the encoder, which gets its gradient times minus
lambda, unlearns what it uses. Under iterative entropy maximisation it learns alone at the beginning
of each epoch (phase 1); then it is frozen, and the encoder learns the task and to maximise the
head's entropy (phase 2, Eq. 1).
"""

import logging
import math
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch.nn import functional

from mbert_atlas.arrays import TokenStore
from mbert_atlas.batching import Indices, epoch_batches
from mbert_atlas.config.methods.confusion import LanguageConfusion
from mbert_atlas.encoders.hidden_states import IntArray
from mbert_atlas.encoders.precision import default_device
from mbert_atlas.encoding.tags import NO_LABEL
from mbert_atlas.errors import DataError
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator
from mbert_atlas.tasks.base import (
    Batch,
    CrossEntropy,
    EncodedExamples,
    EncoderWithHead,
    Objective,
    Weight,
    new_head,
)
from mbert_atlas.tasks.tagging import TaggingExamples
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training.gradients import accumulate_gradients
from mbert_atlas.training.graphs import can_be_recorded, graphs_on
from mbert_atlas.training.job import FinetuningRun, open_examples, store_digest
from mbert_atlas.training.method import Inputs, Method, Values

_logger = logging.getLogger(__name__)


class LanguageUnlearning(Method):
    """The language data, their loss and the separate training of the language head.

    ``store`` has Wikipedia's paragraphs, as
    :func:`mbert_atlas.encoding.classes.encode_languages` writes them; ``examples`` are those of
    the split ``train``. Each step of the task has a minibatch of the same size, cut into
    micro-batches like the task's. Their stream is shuffled again whenever it is used up; its
    batches depend on the seed and the number of the step alone.
    """

    examples: EncodedExamples

    def __init__(self, confusion: LanguageConfusion, store: Path) -> None:
        self._confusion, self._path = confusion, store
        self._reverses = confusion.method == "gradient_reversal"
        self.objective: Objective = (
            HeadCrossEntropy(confusion.weight)
            if self._reverses
            else Scaled(Confidence(confusion.uncertainty), confusion.weight)  # 2nd term of Eq. 1
        )
        self._pass: tuple[int, list[Indices]] = (-1, [])
        self._graphs = graphs_on(default_device())

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run."""
        return cls(LanguageConfusion(**options), inputs["confusion_texts"])

    def prepare(self, run: FinetuningRun) -> None:
        """Open the paragraphs, add the language head to the model and weigh the task's loss.

        The head's weights depend only on the run's seed. Under entropy maximisation it requires no
        gradient, so that the task's optimiser leaves it out. Raises a DataError if the store is of
        another task, tokenizer or unit, or has no such paragraph.
        """
        if not can_be_recorded(run.model):
            self._graphs = None
        job, model, self._job = run.job, run.model, run.job
        store = open_examples(self._path, "language_identification", job.encoder)
        kind = TextExamples if run.task.unit == "text" else TaggingExamples
        rows = self._training_rows(store, run.task.unit)
        self.examples = kind(store, rows, **run.padding(training=True))
        # Phase 1 takes as many paragraphs as the task has examples, or all if there are fewer.
        self._taught = min(len(run.rows), len(rows))
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(job.seed, "language head"))
            model.head_language = new_head(
                model.encoder.config, len(store.meta["labels"]), model.options
            )
        model.head_language.requires_grad_(self._reverses)
        if not self._reverses:
            run.objective = Scaled(run.objective, 1 - self._confusion.weight)
        settings = self._confusion.model_dump_json()
        self.fingerprint = f"confusion {store_digest(self._path)} {settings}"

    def subwords(self) -> list[IntArray]:
        """Return the token ids of the paragraphs."""
        return [self.examples.subwords]

    def batch(self, step: int) -> Indices:
        """Return the paragraphs of a step."""
        lengths, settings = self.examples.lengths, self._job.optimisation
        number, place = divmod(step, math.ceil(len(lengths) / settings.batch_size))
        if number != self._pass[0]:
            seed = derive_seed(self._job.seed, "language data")
            batches = epoch_batches(lengths, settings.batch_size, settings.order, seed, number)
            self._pass = (number, batches)
        return self._pass[1][place]

    def add_gradients(self, model: Any, step: int) -> torch.Tensor:
        """Back-propagate the loss of a step's paragraphs."""
        task = model, self.examples, self.objective, self._job.optimisation
        return accumulate_gradients(*task, self.batch(step), self._graphs)

    def start_epoch(self, epoch: int, model: EncoderWithHead) -> None:
        """Phase 1 of entropy maximisation: train the language head alone; else do nothing.

        The encoder is in training mode, with dropout, as in the authors' code. Adam runs at the
        heads' constant rate and is reset in each epoch, where the authors keep one: the result
        depends on the seed, the epoch and the model alone, so that a killed run can repeat it.
        """
        if self._reverses:
            return
        settings, head = self._job.optimisation, model.head_language
        assert head is not None
        seed, lengths = derive_seed(self._job.seed, "language head alone"), self.examples.lengths
        shuffled = generator(seed, "paragraphs", epoch).permutation(len(lengths))
        rows = np.sort(shuffled[: self._taught])
        batches = epoch_batches(lengths[rows], settings.batch_size, settings.order, seed, epoch)
        optimiser = torch.optim.Adam(
            head.parameters(),
            lr=settings.head_learning_rate or settings.learning_rate,
            betas=settings.betas,
            eps=settings.epsilon,
            fused=True,
        )
        title = f"{self._job.description}, language head before epoch {epoch + 1}"
        loss = torch.zeros((), dtype=torch.float64, device=head.weight.device)
        model.train()
        head.requires_grad_(True)
        for step, batch in enumerate(track(batches, title)):
            torch.manual_seed(derive_seed(seed, epoch, step))
            loss += accumulate_gradients(
                model, self.examples, HeadCrossEntropy(), settings, rows[batch]
            )
            optimiser.step()
            optimiser.zero_grad()
        head.requires_grad_(False)
        _logger.info("%s: mean loss %.4f", title, loss.item() / len(batches))

    def _training_rows(self, store: TokenStore, unit: str) -> Indices:
        encoded = store.meta["options"].get("unit")
        if encoded != unit:
            problem = f"languages of unit {encoded}, but the task classifies unit {unit}"
            fix = f"encode the paragraphs with unit {unit}"
            raise DataError(self._path, "meta.json, key options.unit", problem, fix)
        rows = np.flatnonzero(store.dense("split") == "train")
        if len(rows) == 0:
            problem = "no paragraph is of the split train"
            raise DataError(self._path, "array split", problem, "encode the data again")
        return rows


class HeadCrossEntropy(CrossEntropy):
    """Mean cross-entropy of the language head; the encoder gets its gradient times ``-factor``.

    Without a factor the encoder gets none.
    """

    def __init__(self, factor: float | None = None) -> None:
        self.factor = factor

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``, float32."""
        with torch.set_grad_enabled(self.factor is not None):
            vectors = model.dropout(model.features(batch))
        if self.factor is not None:
            vectors = reverse_gradient(vectors, self.factor)
        logits = model.head_language(vectors).float()
        return functional.cross_entropy(logits, batch["labels"], reduction="sum") / step_weight


class Confidence(CrossEntropy):
    """How confident the language head is, see :func:`confidence`; a mean over labels."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the summed :func:`confidence` over ``step_weight``, float32."""
        logits = model.head_language(model.dropout(model.features(batch)))
        is_label = batch["labels"] != NO_LABEL
        return (confidence(logits, self.kind) * is_label).sum() / step_weight


class Scaled(Objective):
    """A loss times a constant."""

    def __init__(self, objective: Objective, factor: float) -> None:
        self.objective, self.factor = objective, factor

    def weight(self, batch: Batch) -> float:
        """Return the normaliser of the loss."""
        return self.objective.weight(batch)

    def prepare(self, batch: Batch) -> Batch:
        """Return a batch with what the loss needs."""
        return self.objective.prepare(batch)

    def loss(self, model: Any, batch: Batch, step_weight: Weight) -> torch.Tensor:
        """Return the constant times the loss."""
        return self.factor * self.objective.loss(model, batch, step_weight)


def confidence(logits: torch.Tensor, kind: str) -> torch.Tensor:
    """Return how far ``(m, k)`` logits are from uniform, where it is least, float32, ``(m,)``.

    Kind ``uniform`` is the sum of -ln p over the k classes, as in Eq. 1 and the authors' code, k
    times the cross-entropy against the uniform distribution; ``entropy`` the negative entropy, sum
    of p ln p, that section 3.1 names. At uniform they are ``k ln k`` and ``-ln k``.
    """
    logs = functional.log_softmax(logits.float(), dim=-1)
    return -logs.sum(dim=-1) if kind == "uniform" else (logs.exp() * logs).sum(dim=-1)


def reverse_gradient(vectors: torch.Tensor, factor: float) -> torch.Tensor:
    """Return ``vectors``; their gradient is multiplied by ``-factor`` (Ganin, Lempitsky 2015)."""
    reversed_ = vectors.view_as(vectors)
    if reversed_.requires_grad:
        reversed_.register_hook(lambda gradient: -factor * gradient)  # type: ignore[no-untyped-call]
    return reversed_
