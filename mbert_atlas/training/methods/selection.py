"""Which epoch of a run is kept: the best on development examples (Tanti et al. 2021, app. C)."""

import logging
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from mbert_atlas.config.methods.selection import Selection
from mbert_atlas.corpora.samples import held_out
from mbert_atlas.encoders.hidden_states import IntArray
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.f1 import ClassCounts, SpanScorer
from mbert_atlas.files import atomic_path, read_json
from mbert_atlas.training.job import FinetuningRun, store_digest
from mbert_atlas.training.method import Inputs, Method, TrainingLog, Values
from mbert_atlas.training.prediction import predict
from mbert_atlas.training.states import writing_weights

_logger = logging.getLogger(__name__)


class BestEpoch(Method):
    """Scores a model before training and after each epoch, and keeps the weights of the best.

    Either part of every language's training examples is held out for it, or a development set is
    given. The trainable weights of the best epoch so far stay in memory; when the loop's state is
    saved, they go to the folder ``epochs`` in the state's folder, for a resumed run. ``state`` has
    the score by epoch, 0 to 1, the first before training.
    """

    def __init__(self, selection: Selection, development: Path | None = None) -> None:
        self._selection, self.state = selection, list[float]()
        self._development = development
        self._weights: dict[str, torch.Tensor] | None = None  # none: in the file
        self._is_written = False
        digest = store_digest(development) if development else ""
        self.fingerprint = f"selection {selection.model_dump_json()} {digest}"

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run."""
        return cls(Selection(**options), inputs.get("development"))

    def prepare(self, run: FinetuningRun) -> None:
        """Open the development examples, or take some away from training.

        Raises a DataError if nothing can be held out, or the development set does not fit.
        """
        self._job, self._labels, self._task = run.job, run.labels, run.task
        if self._development:
            self._examples = run.open_test(self._development, run.job.train_languages)
            return
        languages, fraction = run.task.targets(run.store)[run.rows], self._selection.fraction
        rows = run.rows[held_out(languages, fraction, self._selection.seed)]
        if len(rows) == 0:
            count = len(run.rows)
            problem = f"{count} examples are too few to hold out {fraction:.0%} of a language"
            fix = "add examples or raise the fraction of the selection"
            raise DataError(run.job.train, "", problem, fix)
        self._examples = run.examples(rows)
        run.rows = np.setdiff1d(run.rows, rows)

    def subwords(self) -> list[IntArray]:
        """Return the token ids of the development examples."""
        return [self._examples.subwords]

    def files(self) -> Iterable[Path]:
        """Write the weights with the best score so far, unless they are; return their file."""
        if not self.state:
            return []
        path = self._best_of(self.state)
        if self._weights is not None and not self._is_written:
            with writing_weights(path), atomic_path(path) as temporary:
                save_file(self._weights, temporary)
            self._is_written = True
        self._remove_worse()
        return [path]

    def start(self, model: nn.Module) -> None:
        """Score the model that training starts from; remove what another run left."""
        shutil.rmtree(self._path(0).parent, ignore_errors=True)
        self.state = []
        self.end_epoch(-1, model)

    def end_epoch(self, epoch: int, model: nn.Module) -> None:
        """Score the model after an epoch."""
        number, name = len(self.state), self._job.description
        score = self._score(model, f"{name}, validating epoch {number}")
        _logger.info("%s: epoch %d, %s %.4f", name, number, self._selection.metric, score)
        if score > max(self.state, default=-1.0):
            self._weights = {
                name: parameter.detach().to("cpu", copy=True).contiguous()
                for name, parameter in model.named_parameters()
                if parameter.requires_grad
            }
            self._is_written = False
        self.state.append(score)

    def finish(self, model: nn.Module, log: TrainingLog) -> None:
        """Load the best weights, of equal scores the first."""
        best = max(self.state)
        log.scores, log.epoch = self.state, self.state.index(best)
        log.references = self._references()
        weights = load_file(self._path(log.epoch)) if self._weights is None else self._weights
        model.load_state_dict(weights, strict=False)
        self._weights = None
        message = "%s: keeps epoch %d, %s %.4f"
        _logger.info(message, self._job.description, log.epoch, self._selection.metric, best)

    def _remove_worse(self) -> None:
        """Remove the weights that neither this run nor one resumed from a saved state needs."""
        needed = {self._best_of(self.state)}
        for meta in self._job.state_dir.glob("step-*/meta.json"):
            with suppress(AtlasError):  # a damaged state is not resumed
                for saved in read_json(meta)["methods"]:
                    if isinstance(saved, list) and saved == self.state[: len(saved)] != []:
                        needed.add(self._best_of(saved))
        for path in self._path(0).parent.glob("epoch-*.safetensors"):
            if path not in needed:
                path.unlink()

    def _best_of(self, scores: list[float]) -> Path:
        return self._path(scores.index(max(scores)))

    def _score(self, model: nn.Module, description: str) -> float:
        """Return the metric over the labels of all labelled subwords; a word may have several."""
        outputs = predict(
            model,
            self._examples,
            self._task.gold_and_predicted,
            description=description,
            precision=self._job.optimisation.precision,
        )
        return self._metric_of(*outputs.values.T)

    def _references(self) -> dict[str, Any]:
        """Return the metric's name, and its values in percent if the text does not matter.

        ``majority`` if all labels are the most frequent one; ``chance`` if they are drawn with
        equal chances, where that has a simple form; ``labels`` are counted.
        """
        metric, examples = self._selection.metric, self._examples
        gold, choices = examples.classes, examples.choices
        counts = np.bincount(gold)
        majority = self._metric_of(gold, np.full_like(gold, counts.argmax()))
        shares, chance = counts / len(gold), 1 / max(choices, 1)
        f1 = 2 * shares * chance / (shares + chance)  # of expected numbers
        by_chance = {"accuracy": chance, "macro_f1": float(f1.mean())}
        return {
            "metric": metric,
            "majority": 100 * majority,
            "chance": 100 * by_chance[metric] if choices and metric in by_chance else None,
            "labels": len(gold),
        }

    def _metric_of(self, gold: IntArray, predicted: IntArray) -> float:
        kind, _, rest = self._selection.metric.partition("_")
        if kind == "span":
            counts = self._examples.label_counts
            return SpanScorer(self._labels).f1(gold, predicted, counts)[rest.removesuffix("_f1")]
        if kind == "accuracy":
            return float(np.mean(gold == predicted))
        return float(ClassCounts.of(gold, predicted).macro_f1("union"))

    def _path(self, epoch: int) -> Path:
        return self._job.state_dir / "epochs" / f"epoch-{epoch}.safetensors"
