"""Losses of aligned words, and one more: that of CONTRIBUTING.md."""

import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from test_training_adjustment import Lookup, _examples, corrected_adjustment, two_sentences

from mbert_atlas.config.methods.replay import Replay
from mbert_atlas.config.training import LOSSES, Adjustment
from mbert_atlas.training.adjustment import AdjustmentObjective
from mbert_atlas.training.losses.squared_distance import squared_distance
from mbert_atlas.training.methods.replay import AlignmentReplay
from snippets import files_in

__all__ = ["two_sentences"]  # a fixture
PATH = "mbert_atlas/training/losses/contrast.py"
SOURCE = [[1.0, 0.0], [2.0, 2.0]]
TARGET = [[1.0, 3.0], [3.0, -1.0]]


@pytest.fixture
def contrast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the loss of the how-to, as its reader does."""
    snippets = files_in("CONTRIBUTING.md")
    module = ModuleType("mbert_atlas.training.losses.contrast")
    exec(snippets[PATH], vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    key, reference = snippets["add:mbert_atlas/config/training.py"].strip(' \n",').split('": "')
    monkeypatch.setitem(LOSSES, key, reference)


def cosine(one: list[float], other: list[float]) -> float:
    return (
        sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)
    )


def expected_contrast() -> list[float]:
    """The loss of each pair of SOURCE and TARGET, one by one."""
    losses = []
    for number, source in enumerate(SOURCE):
        weights = [math.exp(cosine(source, target) / 0.1) for target in TARGET]
        losses.append(-2 * math.log(weights[number] / sum(weights)))
    return losses


def test_a_value_for_each_pair(contrast: None) -> None:
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    assert squared_distance(source, target).tolist() == [9.0, 10.0]
    assert LOSSES.load("contrast")(source, target).tolist() == pytest.approx(expected_contrast())


def test_adjustment_and_replay_take_the_loss_of_the_config(
    contrast: None,
    two_sentences: Path,
) -> None:
    # The sentences have a pair each; their second English word of two subwords is their mean.
    table = [[0.0, 0.0]] * 5 + [SOURCE[0], [0.0, 1.0], SOURCE[1], SOURCE[1], *TARGET]
    model = Lookup(table)
    specification = corrected_adjustment(special_tokens="none", loss="contrast")
    examples = _examples(model, two_sentences, specification)
    objective = AdjustmentObjective(specification)
    loss = objective.loss(model, examples.collate(np.arange(2)), 2.0)
    assert loss.item() == pytest.approx(sum(expected_contrast()) / 2)

    class Whole(AlignmentReplay):
        def sample(self, step: int) -> np.ndarray:
            return np.arange(2)

    replay = Whole(Replay(alpha=3.0), specification, Path(), Path())
    replay.examples, replay.seed = examples, 1
    # Sums are divided by the sample's pairs times the dims; nothing has moved.
    assert replay.loss(model, 0).item() == pytest.approx(3 * sum(expected_contrast()) / (2 * 2))


def test_a_loss_that_is_not_registered() -> None:
    with pytest.raises(ValidationError, match="'contrast' is no loss; there are: squared_distance"):
        Adjustment(loss="contrast")
