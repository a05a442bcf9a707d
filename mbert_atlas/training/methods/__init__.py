"""What a fine-tuning may do beside learning its task.

A method is a class in a module of its own and an entry here; what data it needs, `method_inputs` in
``workflow/rules/paths.smk`` says. Nothing else knows it by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mbert_atlas.config.training import (
    Adjustment,
    LanguageConfusion,
    LanguageSubspace,
    Replay,
    Selection,
    Subspace,
)
from mbert_atlas.training.method import Method
from mbert_atlas.training.methods.language_subspace import LanguagePreservation
from mbert_atlas.training.methods.replay import AlignmentReplay
from mbert_atlas.training.methods.selection import BestEpoch
from mbert_atlas.training.methods.subspace import Projection
from mbert_atlas.training.methods.unlearning import LanguageUnlearning

_Values = Mapping[str, Any]
METHODS: dict[str, Callable[[_Values, _Values, Mapping[str, Path]], Method]] = {
    # First, as it takes examples away, which the others count.
    "selection": lambda own, run, inputs: BestEpoch(Selection(**own), inputs.get("development")),
    "replay": lambda own, run, inputs: AlignmentReplay(
        Replay(**own),
        Adjustment(**run["replay"]["hyperparameters"]),
        inputs["replay_pairs"],
        inputs["replay_encoder"],
    ),
    "confusion": lambda own, run, inputs: LanguageUnlearning(
        LanguageConfusion(**own), inputs["confusion_texts"]
    ),
    "language_subspace": lambda own, run, inputs: LanguagePreservation(
        LanguageSubspace(**own), inputs["language_directions"]
    ),
    "subspace": lambda own, run, inputs: Projection(Subspace(**own), inputs["language_directions"]),
}
"""How each is made, by the key of its own hyperparameters, from these, the run's specification and
its input files; in the order in which they are prepared and add their gradients."""


def methods_of(
    hyperparameters: _Values, specification: _Values, inputs: Mapping[str, Path]
) -> list[Method]:
    """Return the methods of a run: those whose hyperparameters are given.

    Args:
        hyperparameters: of the run, as plain values.
        specification: see :class:`mbert_atlas.plan.runs.Run`.
        inputs: files and folders that methods need, by name.
    """
    return [
        make(hyperparameters[key], specification, inputs)
        for key, make in METHODS.items()
        if hyperparameters[key] is not None
    ]
