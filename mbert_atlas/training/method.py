"""What a run does beside learning its task: one protocol for all of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import torch

from mbert_atlas.training.interfaces import Backward, TrainingLog
from mbert_atlas.training.job import FinetuningRun


class Method:
    """What a run does beside learning its task; every step does nothing unless a subclass fills it.

    :func:`training.finetune.finetune` calls :meth:`prepare`, :func:`training.loop.train` the rest.
    :mod:`mbert_atlas.training.methods` lists the subclasses.

    Attributes:
        trains_encoder: the method is pointless while the encoder stays as it is.
        fingerprint: what tells its data and hyperparameters from others'; a saved state is only
            continued by a run with the same.
        state: JSON value that is saved with the state of the loop and put back from there.
    """

    trains_encoder: ClassVar[bool] = False
    fingerprint: str = ""
    state: Any = None

    def files(self) -> Iterable[Path]:
        """Return files in the state folder that ``state`` refers to; none is written twice."""
        return ()

    def prepare(self, run: FinetuningRun) -> None:
        """Open and check the data; the model, objective and rows of the run may be changed."""

    def start(self, model: Any) -> None:
        """Begin, the model being in evaluation mode; not called if a saved state is continued."""

    def start_epoch(self, epoch: int, model: Any) -> None:
        """Begin an epoch (from 0); not called where a run goes on inside it.

        What happens to the model must depend on the number and on the model alone: after an
        interruption it is done again.
        """

    def add_gradients(self, model: Any, step: int, backward: Backward) -> torch.Tensor | None:
        """Back-propagate a loss once per step (from 0), after the task's; return it, detached.

        What is drawn must depend on nothing but the number of the step. Torch's generator is the
        step's, as the task has left it.
        """
        return None

    def end_epoch(self, epoch: int, model: Any) -> None:
        """End an epoch (from 0), the model being in evaluation mode.

        After an interruption this may come for the same epoch again, ``state`` being what it was.
        """

    def finish(self, model: Any, log: TrainingLog) -> None:
        """End training, before predictions; what is worth telling goes into the log."""
