"""The training methods: one module each, whose subclass of ``MethodOptions`` holds the options.

Modules are found, not listed. The name of a module is the key of the method among the
hyperparameters; the module of that name in :mod:`mbert_atlas.training.methods` has its class.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mbert_atlas.config.method import MethodOptions
from mbert_atlas.registry import subclass_in

METHODS: dict[str, type[MethodOptions]] = {
    item.name: subclass_in(import_module(f"{__name__}.{item.name}"), MethodOptions)
    for item in iter_modules(__path__)
}
"""Options by the key of the method."""


def methods_in(hyperparameters: Mapping[str, Any]) -> dict[str, MethodOptions]:
    """Return the methods among the hyperparameters of a run, given as plain values."""
    return {
        key: method.model_validate(hyperparameters[key])
        for key, method in METHODS.items()
        if key in hyperparameters
    }
