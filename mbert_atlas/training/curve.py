"""The curve of a training: what it noted on the way, as a table."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa

from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import CURVES
from mbert_atlas.training.method import TrainingLog

_POINTS = 40


def steps_between_points(steps_per_epoch: int, epochs: int) -> int:
    """Return after how many steps of an epoch there is a point, besides that at its end.

    A training has some 40 points, or one by epoch if that is more.
    """
    return math.ceil(steps_per_epoch / math.ceil(_POINTS / epochs))


def curve_of(log: TrainingLog, guessing_loss: float | None = None) -> pa.Table:
    """Return a finished training as a table of :data:`mbert_atlas.schemas.CURVES`.

    A point of the log has the number of steps so far; the sums of the task's and of the methods'
    losses since the epoch began; the learning rate of its last step, the encoder's if that is
    trained; and tokens and seconds so far. Rows have means since the row before; where an epoch was
    selected, the first row has the score before training alone. ``guessing_loss`` is the task's
    loss of a model that does not read the text.
    """
    steps, task, methods, rates, tokens, seconds = np.array(log.points).T
    per_epoch = log.steps // len(log.epoch_losses)
    before = np.append(0, steps[:-1])
    is_first = before % per_epoch == 0  # of its epoch, whose sums begin at zero
    losses = [sums - np.where(is_first, 0, np.append(0, sums[:-1])) for sums in (task, methods)]
    columns = {
        "step": steps.astype(np.int64),
        "epoch": steps / per_epoch,
        "loss": losses[0] / (steps - before),
        "method_loss": losses[1] / (steps - before) if methods.any() else None,
        "learning_rate": rates,
        "tokens_per_second": np.diff(tokens, prepend=0) / np.diff(seconds, prepend=0),
    }
    if log.scores:
        start = {"step": 0, "epoch": 0.0}
        columns = {
            name: np.append(start.get(name, np.nan), values)
            for name, values in columns.items()
            if values is not None
        }
        epochs = columns["epoch"]
        scores = np.array(log.scores)[epochs.astype(int)]
        columns["score"] = 100 * np.where(epochs % 1 == 0, scores, np.nan)
    count = len(columns["step"])
    facts = {"guessing_loss": guessing_loss, **log.references}
    columns |= {name: [value] * count for name, value in facts.items()}
    arrays = [
        pa.array(columns[field.name], field.type, from_pandas=True)
        if columns.get(field.name) is not None
        else pa.nulls(count, field.type)
        for field in CURVES
    ]
    return pa.Table.from_arrays(arrays, schema=CURVES)


def write_curve(log: TrainingLog, path: Path | None, guessing_loss: float | None = None) -> None:
    """Write :func:`curve_of` a training as Parquet, atomically; nothing without a path."""
    if path is not None:
        write_parquet(curve_of(log, guessing_loss), path)
