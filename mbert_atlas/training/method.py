"""What a run does besides learning its task: one protocol for all of it; and its log."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch

from mbert_atlas.encoders.hidden_states import IntArray
from mbert_atlas.training.job import FinetuningRun

Values = Mapping[str, Any]
Inputs = Mapping[str, Path]


@dataclass
class TrainingLog:
    """What happened in a training run, over all resumptions.

    ``epoch_losses`` are means over steps, ``seconds`` time in the loop; ``examples`` and ``tokens``
    (without padding) are the task's; ``points`` are those of :func:`training.curve.curve_of`. If an
    epoch is selected, ``scores`` has the score by epoch, the first before training, ``references``
    are what to compare it with, and ``epoch`` is the selected one, 0 for the model before training.
    """

    epoch_losses: list[float] = field(default_factory=list)
    steps: int = 0
    examples: int = 0
    tokens: int = 0
    seconds: float = 0.0
    resumptions: int = 0
    points: list[list[float]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    references: dict[str, Any] = field(default_factory=dict)
    epoch: int | None = None


class Method:
    """What a run does besides learning its task; each hook does nothing unless it is overridden.

    :func:`training.finetune.finetune` calls :meth:`prepare`, :func:`training.loop.train` the rest.
    :mod:`mbert_atlas.training.methods` registers the subclasses.

    Attributes:
        fingerprint: identifies its data and hyperparameters; a saved state is only resumed by a run
            with the same.
        state: JSON value that is saved and restored with the state of the loop.
    """

    fingerprint: str = ""
    state: Any = None

    @classmethod
    def of_run(cls, options: Values, specification: Values, inputs: Inputs) -> Self:
        """Return the method of a run, given its hyperparameters as plain values.

        ``specification`` is that of :class:`mbert_atlas.plan.runs.Run`; ``inputs`` has the run's
        files by name, those of the method's options among them.
        """
        raise NotImplementedError

    def files(self) -> Iterable[Path]:
        """Return the files in the state folder that ``state`` refers to; none is rewritten."""
        return ()

    def prepare(self, run: FinetuningRun) -> None:
        """Open and check the data; the model, objective and rows of the run may be changed."""

    def subwords(self) -> Iterable[IntArray]:
        """Return the token ids that it gives the model, besides the task's; called once prepared.

        The model holds no other word embeddings (:func:`mbert_atlas.encoders.trimming.trim`).
        """
        return ()

    def start(self, model: Any) -> None:
        """Begin, the model being in evaluation mode; not called if a saved state is resumed."""

    def start_epoch(self, epoch: int, model: Any) -> None:
        """Begin an epoch (from 0); not called where a run resumes inside it.

        What happens to the model must depend on the number and the model alone: after an
        interruption it is repeated.
        """

    def add_gradients(self, model: Any, step: int) -> torch.Tensor | None:
        """Back-propagate a loss once per step (from 0), after the task's; return it, detached.

        Samples must depend on nothing but the number of the step. Torch's generator is the step's,
        as the task has left it.
        """
        return None

    def end_epoch(self, epoch: int, model: Any) -> None:
        """End an epoch (from 0), the model being in evaluation mode.

        After an interruption this may be repeated for the same epoch, with the same ``state``.
        """

    def finish(self, model: Any, log: TrainingLog) -> None:
        """End training, before predictions; results of interest go into the log."""
