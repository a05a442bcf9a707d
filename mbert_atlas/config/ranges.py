"""Checks that the numbers of a config are possible for its optimisers."""

from collections.abc import Mapping
from typing import Any

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.mistakes import Mistake, report

_MOST = {"learning_rate": 1.0, "head_learning_rate": 1.0, "weight_decay": 1.0, "epsilon": 1.0}
"""Keys of optimisers whose values are far below 1: above it, steps are larger than weights."""


def check_ranges(part: Any, place: str = "") -> None:
    """Report numbers that no optimiser can have, in a part of a config with a key."""
    if isinstance(part, ConfigModel):
        for key in type(part).model_fields:
            check_ranges(getattr(part, key), f"{place}.{key}".strip("."))
    elif isinstance(part, Mapping):
        for key, item in part.items():
            check_ranges(item, f"{place}.{key}")
    elif isinstance(part, list):
        for number, item in enumerate(part):
            check_ranges(item, f"{place}.{number}")
    key = place.rpartition(".")[2]
    if key == "betas" and isinstance(part, tuple) and not all(0 <= beta < 1 for beta in part):
        fix = "take two decay rates from 0 to below 1, such as [0.9, 0.999]"
        report(Mistake(place, f"{list(part)} are no decay rates", fix))
    elif isinstance(part, float) and part > _MOST.get(key, part):
        report(Mistake(place, f"{part} is above {_MOST[key]}", "write a smaller number"))
