"""Which epoch of a training run is kept: the best on held-out examples (tanti2021, appendix C)."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from mbert_atlas.config.training import Selection
from mbert_atlas.errors import AtlasError
from mbert_atlas.f1 import Confusion, SpanScorer
from mbert_atlas.files import atomic_path, read_json, write_json
from mbert_atlas.tasks.base import Batch, EncodedExamples, Task
from mbert_atlas.tasks.tagging import Tagging
from mbert_atlas.tasks.text_classification import TextClassification
from mbert_atlas.training.interfaces import Precision
from mbert_atlas.training.loop import predict

_logger = logging.getLogger(__name__)


class BestEpoch:
    """Scores a model before training and after each epoch, and keeps the weights of the best.

    ``before`` and ``after`` are what :func:`training.loop.train` calls. In the folder lie the
    scores and the trainable weights of every epoch that was better than all before it. None of
    these is removed when a better one comes: a run that is resumed may start before both.

    Args:
        selection: the metric.
        examples: what is held out.
        labels: the classes.
        folder: gets ``scores.json`` and ``epoch-<n>.safetensors``; must last as long as the state.
        precision: see :class:`mbert_atlas.config.training.Optimisation`.
        description: what is trained, for progress lines.
    """

    def __init__(
        self,
        selection: Selection,
        examples: EncodedExamples,
        labels: Sequence[str],
        *,
        folder: Path,
        precision: Precision = "auto",
        description: str = "",
    ) -> None:
        self._metric, self._examples, self._labels = selection.metric, examples, labels
        self._folder, self._precision, self._description = folder, precision, description

    @property
    def scores(self) -> list[float]:
        """Score by epoch, 0 to 1; the first is that of the model before training."""
        scores: list[float] = read_json(self._folder / "scores.json")
        return scores

    def before(self, model: nn.Module) -> None:
        """Score the model that training starts from; forget what another run left."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._judge(model, [])

    def after(self, epoch: int, model: nn.Module) -> None:
        """Score the model after an epoch (from 0); a resumed run may come here twice."""
        self._judge(model, self.scores[: epoch + 1])

    def restore(self, model: nn.Module) -> int:
        """Give the model the best weights, of equally good ones the first; return their epoch."""
        scores = self.scores
        epoch = scores.index(max(scores))
        model.load_state_dict(load_file(self._weights(epoch)), strict=False)
        _logger.info(
            "%s: keeps epoch %d, %s %.4f", self._description, epoch, self._metric, scores[epoch]
        )
        return epoch

    def _judge(self, model: nn.Module, scores: list[float]) -> None:
        epoch = len(scores)
        score = validation_score(
            model,
            self._examples,
            self._labels,
            self._metric,
            precision=self._precision,
            description=f"{self._description}, validating epoch {epoch}",
        )
        _logger.info("%s: epoch %d, %s %.4f", self._description, epoch, self._metric, score)
        if score > max(scores, default=-1.0):
            self._save(model, self._weights(epoch))  # first, so that a best score has its weights
        write_json([*scores, score], self._folder / "scores.json")

    def _save(self, model: nn.Module, path: Path) -> None:
        trained = {
            name: parameter.detach().cpu().contiguous()
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }
        try:
            with atomic_path(path) as temporary:
                save_file(trained, temporary)
        except SafetensorError as error:
            raise AtlasError(
                f"{path}: the weights cannot be written ({error}); "
                "free space or point the run at another disk, then start again."
            ) from error

    def _weights(self, epoch: int) -> Path:
        return self._folder / f"epoch-{epoch}.safetensors"


def validation_score(
    model: nn.Module,
    examples: EncodedExamples,
    labels: Sequence[str],
    metric: str,
    *,
    precision: Precision = "auto",
    description: str = "validating",
) -> float:
    """Return a macro F1 over all labels of some examples, 0 to 1.

    Every labelled piece counts, as in the authors' code; a word may have several.

    Args:
        model: moved to the device and left in evaluation mode.
        examples: of :class:`TextClassification` or :class:`Tagging`.
        labels: the classes.
        metric: see :class:`mbert_atlas.config.training.Selection`.
        precision: see :class:`mbert_atlas.config.training.Optimisation`.
        description: for progress lines.
    """
    outputs = predict(
        model,
        examples,
        _gold_and_predicted,
        description=description,
        rows=examples.label_counts,
        precision=precision,
    )
    gold, predicted = outputs.values.T
    if metric == "span_macro_f1":
        return SpanScorer(labels).f1(gold, predicted, examples.label_counts)["macro"]
    return Confusion.of(gold, predicted).macro_f1("union")


def require_metric(selection: Selection, task: Task) -> None:
    """Check that a task has the metric by which an epoch is to be selected.

    Raises:
        AtlasError: if not.
    """
    if not isinstance(task, TextClassification | Tagging):
        raise AtlasError(
            f"{task.name}: there are no classes whose F1 could select an epoch; "
            "leave out the selection."
        )
    if selection.metric == "span_macro_f1" and task.unit == "text":
        raise AtlasError(
            f"{task.name}: texts have no spans, so span_macro_f1 cannot select an epoch; "
            "choose macro_f1."
        )


def _gold_and_predicted(model: Any, batch: Batch) -> torch.Tensor:
    return torch.stack([batch["labels"], model(batch).argmax(dim=-1)], dim=1)
