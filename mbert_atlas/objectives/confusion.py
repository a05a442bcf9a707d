"""Unlearning of language beside a task (tanti2021, section 3.1).

A second head on the encoder tells the language of Wikipedia's texts or of their pieces. Under
gradient reversal it learns at each step, and the encoder, which gets its gradient times minus
lambda, unlearns what it goes by. Under iterative entropy maximisation it learns alone at the
beginning of each epoch (phase 1); then it stands still, and the encoder learns the task and to make
the head unsure (phase 2, Eq. 1).
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from mbert_atlas.config.training import HeadOptions, LanguageConfusion, Optimisation
from mbert_atlas.encoding.stores import open_store
from mbert_atlas.errors import DataError
from mbert_atlas.hidden_states import require_tokenizer
from mbert_atlas.progress import track
from mbert_atlas.randomness import derive_seed, generator
from mbert_atlas.tasks.base import (
    CrossEntropy,
    EncodedExamples,
    EncoderWithHead,
    Unit,
    new_head,
)
from mbert_atlas.tasks.tagging import TaggingExamples
from mbert_atlas.tasks.text_classification import TextExamples
from mbert_atlas.training.batching import Indices, epoch_batches
from mbert_atlas.training.interfaces import Batch, Objective
from mbert_atlas.training.loop import accumulate_gradients

_logger = logging.getLogger(__name__)
_TASK = "language_identification"


@dataclass(frozen=True)
class ConfusionSource:
    """What a fine-tuning run unlearns language with.

    Attributes:
        specification: how.
        store: token store of Wikipedia's paragraphs, as
            :func:`mbert_atlas.encoding.languages.encode_languages` writes it.
    """

    specification: LanguageConfusion
    store: Path


class LanguageUnlearning:
    """The language data, their loss and the language head's own training.

    It is a :class:`training.loop.Companion`: each step of the task comes with a minibatch of
    Wikipedia of the same size. Their stream is used up and shuffled anew again and again; its
    batches depend on the seed and the number of the step alone.

    Attributes:
        examples: the paragraphs.
        objective: the loss of their minibatch: cross-entropy with the gradient reversed, or the
            second term of Eq. 1 with its weight.

    Args:
        specification: the method.
        examples: the paragraphs to train on.
        optimisation: batch size, order, token budget and precision of the task's training, and the
            rate of the heads.
        seed: the run's seed.
        task_examples: how many examples the task trains on; phase 1 takes as many paragraphs, or
            all if there are fewer.
        description: what is trained, for progress lines.
    """

    def __init__(
        self,
        specification: LanguageConfusion,
        examples: EncodedExamples,
        optimisation: Optimisation,
        *,
        seed: int,
        task_examples: int,
        description: str = "",
    ) -> None:
        self.examples, self._optimisation, self._seed = examples, optimisation, seed
        self._reverses = specification.method == "gradient_reversal"
        self._weight = specification.weight
        self.objective: Objective = (
            ReversedCrossEntropy(specification.weight)
            if self._reverses
            else Scaled(Sureness(specification.uncertainty), specification.weight)
        )
        self._taught = min(task_examples, len(examples.lengths))
        self._description = description
        self._pass: tuple[int, list[Indices]] = (-1, [])

    def give_head(self, model: EncoderWithHead, options: HeadOptions) -> None:
        """Give a model the language head; its weights depend on the run's seed alone.

        Under entropy maximisation it wants no gradient, so that no optimiser of the task's takes
        it in.
        """
        with torch.random.fork_rng():
            torch.manual_seed(derive_seed(self._seed, "language head"))
            languages = len(self.examples.store.meta["labels"])
            model.head_language = new_head(model.encoder.config, languages, options)
        model.head_language.requires_grad_(self._reverses)

    def beside(self, objective: Objective) -> Objective:
        """Return the task's loss with the weight that the method gives it."""
        return objective if self._reverses else Scaled(objective, 1 - self._weight)

    def batch(self, step: int) -> Indices:
        """Return the paragraphs of a step."""
        size = self._optimisation.batch_size
        number, place = divmod(step, math.ceil(len(self.examples.lengths) / size))
        if number != self._pass[0]:
            seed = derive_seed(self._seed, "language data")
            order = self._optimisation.order
            self._pass = (
                number,
                epoch_batches(self.examples.lengths, size, order, seed, epoch=number),
            )
        return self._pass[1][place]

    def begin_epoch(self, epoch: int, model: EncoderWithHead) -> None:
        """Phase 1 of entropy maximisation: train the language head alone; else do nothing.

        The encoder is in training mode, its dropout on, as in the authors' code. Adam runs at the
        heads' constant rate and starts anew in each epoch, where the authors keep one: what
        happens depends on the seed, the epoch and the model alone, so that a run that was killed
        can do it again.
        """
        if self._reverses:
            return
        settings, head = self._optimisation, model.head_language
        assert head is not None
        seed, count = derive_seed(self._seed, "language head alone"), len(self.examples.lengths)
        rows = np.sort(generator(seed, "paragraphs", epoch).permutation(count)[: self._taught])
        batches = epoch_batches(
            self.examples.lengths[rows], settings.batch_size, settings.order, seed, epoch
        )
        optimiser = torch.optim.Adam(
            head.parameters(),
            lr=settings.head_learning_rate or settings.learning_rate,
            betas=settings.betas,
            eps=settings.epsilon,
            fused=True,
        )
        title = f"{self._description}, language head before epoch {epoch + 1}"
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


class HeadCrossEntropy(CrossEntropy):
    """Mean cross-entropy of the language head, which alone gets a gradient."""

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``, float32."""
        with torch.no_grad():
            vectors = model.features(batch)
        logits = model.head_language(model.dropout(vectors)).float()
        return functional.cross_entropy(logits, batch["labels"], reduction="sum") / step_weight


class ReversedCrossEntropy(CrossEntropy):
    """Mean cross-entropy of the language head, its gradient reversed on the way to the encoder.

    Args:
        factor: lambda.
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the summed cross-entropy over ``step_weight``, float32."""
        vectors = reverse_gradient(model.dropout(model.features(batch)), self.factor)
        logits = model.head_language(vectors).float()
        return functional.cross_entropy(logits, batch["labels"], reduction="sum") / step_weight


class Sureness(CrossEntropy):
    """How sure the language head is, the mean over texts or labelled pieces; least at uniform.

    The languages that they are in do not matter.

    Args:
        kind: ``uniform`` or ``entropy``, see :func:`sureness`.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the summed :func:`sureness` over ``step_weight``, float32."""
        logits = model.head_language(model.dropout(model.features(batch)))
        return sureness(logits, self.kind).sum() / step_weight


class Scaled:
    """A loss times a constant."""

    def __init__(self, objective: Objective, factor: float) -> None:
        self.objective, self.factor = objective, factor

    def weight(self, batch: Batch) -> float:
        """Return the loss's own normaliser."""
        return self.objective.weight(batch)

    def loss(self, model: Any, batch: Batch, step_weight: float) -> torch.Tensor:
        """Return the constant times the loss."""
        return self.factor * self.objective.loss(model, batch, step_weight)


def sureness(logits: torch.Tensor, kind: str) -> torch.Tensor:
    """Return how far each distribution is from the uniform one, at which it is least.

    Args:
        logits: shape ``(m, k)``.
        kind: ``uniform``: the sum of -ln p over the k classes, as Eq. 1 and the authors' code have
            it, k times the cross-entropy against the uniform distribution; ``entropy``: the
            negative entropy, sum of p ln p, that section 3.1 speaks of.

    Returns:
        float32, shape ``(m,)``; at uniform ``k ln k`` or ``-ln k``.
    """
    logs = functional.log_softmax(logits.float(), dim=-1)
    return -logs.sum(dim=-1) if kind == "uniform" else (logs.exp() * logs).sum(dim=-1)


def reverse_gradient(vectors: torch.Tensor, factor: float) -> torch.Tensor:
    """Return ``vectors``; their gradient is multiplied by ``-factor`` on its way back.

    Args:
        vectors: any shape.
        factor: lambda (Ganin and Lempitsky 2015).
    """
    reversed_: torch.Tensor = _Reversal.apply(vectors, factor)  # type: ignore[no-untyped-call]
    return reversed_


def open_unlearning(
    source: ConfusionSource,
    encoder: Path,
    unit: Unit,
    optimisation: Optimisation,
    *,
    seed: int,
    task_examples: int,
    pad_multiple: int = 1,
    description: str = "",
) -> LanguageUnlearning:
    """Open the paragraphs of the split ``train``.

    Args:
        source: what is unlearned, and how.
        encoder: encoder folder.
        unit: what the task classifies.
        optimisation: see :class:`LanguageUnlearning`.
        seed: the run's seed.
        task_examples: see :class:`LanguageUnlearning`.
        pad_multiple: see :class:`EncodedExamples`.
        description: what is trained, for progress lines.

    Raises:
        DataError: if the store is of another task, tokenizer or unit, or has no such paragraph.
    """
    store = open_store(source.store, _TASK)
    require_tokenizer(source.store, store.meta["tokenizer"], encoder)
    found = store.meta["options"].get("unit")
    if found != unit:
        raise DataError(
            source.store,
            "meta.json, key options.unit",
            f"the languages are those of unit {found}, but the task classifies unit {unit}",
            f"encode the paragraphs with unit {unit}",
        )
    rows = np.flatnonzero(store.dense("split") == "train")
    if len(rows) == 0:
        raise DataError(
            source.store,
            "array split",
            "no paragraph is of the split train",
            "encode the data anew",
        )
    kind = TextExamples if unit == "text" else TaggingExamples
    return LanguageUnlearning(
        source.specification,
        kind(store, rows, pad_multiple=pad_multiple),
        optimisation,
        seed=seed,
        task_examples=task_examples,
        description=description,
    )


class _Reversal(torch.autograd.Function):
    """The identity, with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, vectors: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return vectors.view_as(vectors)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return -ctx.factor * gradients[0], None
