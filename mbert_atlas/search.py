"""Random search for hyperparameters (tanti2021, appendix D): its draws, and what one changes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mbert_atlas.config_families import laid_over
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json
from mbert_atlas.randomness import generator

if TYPE_CHECKING:
    from mbert_atlas.config import Finetuning, Search

PLACES = {
    "initial_stddev": ("head", "initial_stddev"),
    "batch_size": ("optimisation", "batch_size"),
    "head_learning_rate": ("optimisation", "head_learning_rate"),
    "learning_rate": ("optimisation", "learning_rate"),
    "weight": ("confusion", "weight"),
}
"""Where each searched value stands among the hyperparameters of a run."""
_REPORTED = {
    "initial_stddev": "init_std",
    "batch_size": "minibatch",
    "head_learning_rate": "classifier_lr",
    "learning_rate": "encoder_lr",
}
_REPORTED_WEIGHT = {
    "gradient_reversal": "grad_rev_lambda",
    "entropy_maximisation": "entropy_weight",
}


def reported_names(values: Mapping[str, float], condition: str) -> dict[str, float]:
    """Return the values of a draw under their names in the reported Table 5."""
    return {
        _REPORTED_WEIGHT[condition] if name == "weight" else _REPORTED[name]: value
        for name, value in values.items()
    }


def draw(family: str, own: Finetuning, search: Search) -> list[dict[str, float]]:
    """Return the draws of a family, each with the values that it sets, all different.

    What does not matter is not searched: a frozen encoder has no learning rate, and only an
    experiment that unlearns language has a weight for it.

    Args:
        family: name of the family; every one has its own draws.
        own: hyperparameters, as published.
        search: number of draws, seed and space.

    Raises:
        AtlasError: if the space holds fewer combinations than draws are asked for.
    """
    space = search.space
    values: dict[str, list[Any]] = {
        "initial_stddev": space.initial_stddev,
        "batch_size": space.batch_size,
        "head_learning_rate": space.head_learning_rate,
    }
    if own.trained_layers != "none":
        values["learning_rate"] = space.learning_rate
    if own.confusion:
        values["weight"] = getattr(space, own.confusion.method)
    combinations = list(itertools.product(*values.values()))
    if len(combinations) < search.draws:
        raise AtlasError(
            f"config, key tanti2021.search.draws: {search.draws} different draws are asked for, "
            f"but the space holds {len(combinations)} for {family!r}; ask for fewer or widen it."
        )
    chosen = generator(search.seed, "search", family).permutation(len(combinations))
    return [
        dict(zip(values, combinations[number], strict=True)) for number in chosen[: search.draws]
    ]


def apply_draw(hyperparameters: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    """Return the hyperparameters of a run with the values of a draw in their places."""
    changed = dict(hyperparameters)
    for name, value in values.items():
        group, key = PLACES[name]
        changed = laid_over(changed, {group: {key: value}})
    return changed


def apply_choice(hyperparameters: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the hyperparameters of a run with what a search has chosen for it.

    Args:
        hyperparameters: as the config has them.
        path: JSON file with the key ``values``, as :mod:`mbert_atlas.analysis.choice` writes it.
    """
    return apply_draw(hyperparameters, read_json(path)["values"])
