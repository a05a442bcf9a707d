"""The training methods: one module each, whose subclass of ``MethodOptions`` holds the options.

Modules are found, not listed. The name of a module is the key of the method among the
hyperparameters; the module of that name in :mod:`mbert_atlas.training.methods` has its class.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar

from mbert_atlas.config.base import ConfigModel


class MethodOptions(ConfigModel):
    """Options of a training method: what a fine-tuning does besides learning its task.

    The first line of its docstring describes its key.
    """

    # Task of the encoding in which it reads the `language_data` of its family; empty: it does not.
    language_data: ClassVar[str] = ""
    trains_encoder: ClassVar[bool] = False  # it does nothing while the encoder is frozen

    def check(self, config: Any, place: str, name: str) -> None:
        """Report what the method needs and its family of runs, or the rest of the config, lacks."""

    def specification(self, start: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return what else decides a result, plain JSON; ``start`` is what a run starts from."""
        return {}

    def passes(self, batch_size: int) -> float:
        """Return what the method adds to a training step, in forward passes over the batch."""
        return 0.0

    def inputs(self, run: Any, files: Any) -> dict[str, str]:
        """Return what the method reads, by name; ``files`` are a ``plan.files.Files``."""
        return {}


METHODS: dict[str, type[MethodOptions]] = {
    item.name: model
    for item in iter_modules(__path__)
    for model in vars(import_module(f"{__name__}.{item.name}")).values()
    if isinstance(model, type) and issubclass(model, MethodOptions) and model is not MethodOptions
}
"""Options by the key of the method."""


def methods_in(hyperparameters: Mapping[str, Any]) -> dict[str, MethodOptions]:
    """Return the methods among the hyperparameters of a run, given as plain values."""
    return {
        key: method.model_validate(hyperparameters[key])
        for key, method in METHODS.items()
        if key in hyperparameters
    }
