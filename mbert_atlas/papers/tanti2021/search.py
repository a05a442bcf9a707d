"""The random search under the names of the paper (Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_REPORTED = {
    "head.initial_stddev": "init_std",
    "optimisation.batch_size": "minibatch",
    "optimisation.head_learning_rate": "classifier_lr",
    "optimisation.learning_rate": "encoder_lr",
}
_REPORTED_WEIGHT = {
    "gradient_reversal": "grad_rev_lambda",
    "entropy_maximisation": "entropy_weight",
}


def reported_names(values: Mapping[str, float], condition: str) -> dict[str, float]:
    """Return the values of a draw under their names in the reported Table 5."""
    return {
        _REPORTED_WEIGHT[condition] if path == "confusion.weight" else _REPORTED[path]: value
        for path, value in values.items()
    }


def search_space(config: Any) -> dict[str, list[float]]:
    """Return all values that are searched, by their name in Table 4.

    Args:
        config: with the section of this paper.
    """
    space: dict[str, list[float]] = {}
    for task in config.tanti2021.tasks.values():
        for condition, family in task.conditions.items():
            for path, values in config.runs[family].search.space.items():
                name = condition if path == "confusion.weight" else path.partition(".")[2]
                known = space.setdefault(name, [])
                known += [value for value in values if value not in known]
    return space
