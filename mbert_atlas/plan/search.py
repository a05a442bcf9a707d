"""Searches for hyperparameters: their draws, and what one changes."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mbert_atlas.config.merging import with_values
from mbert_atlas.config.search import Search
from mbert_atlas.errors import AtlasError
from mbert_atlas.files import read_json
from mbert_atlas.randomness import generator

Draw = dict[str, Any]
"""Value of each hyperparameter that is searched, by its path with dots."""


def draw(name: str, search: Search) -> list[Draw]:
    """Return the draws of a search, all different: every combination, or a random sample of them.

    Each ``name`` (``family[-language]``) has a different sample.

    Raises:
        AtlasError: if the space holds fewer combinations than draws are requested.
    """
    combinations = [
        dict(zip(search.space, values, strict=True))
        for values in itertools.product(*search.space.values())
    ]
    if search.kind == "grid" or search.draws is None:
        return combinations
    if len(combinations) < search.draws:
        raise AtlasError(
            f"config, key runs.{name}.search.draws: {search.draws} different draws are "
            f"requested, but the space holds {len(combinations)}; request fewer or widen it."
        )
    chosen = generator(search.seed, "search", name).permutation(len(combinations))
    return [combinations[number] for number in chosen[: search.draws]]


def apply_choice(hyperparameters: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return hyperparameters with the ``values`` that the job `choose_hyperparameters` wrote."""
    return with_values(hyperparameters, read_json(path)["values"])
