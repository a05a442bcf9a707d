"""Functions and classes by name, imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def resolve(name: str) -> Any:
    """Return what ``module:name`` stands for within ``mbert_atlas``.

    ``resolve("tasks.nli:NLI")`` is ``mbert_atlas.tasks.nli.NLI``.

    Raises:
        ModuleNotFoundError, AttributeError: if there is no such module or name.
    """
    module, _, item = name.partition(":")
    return getattr(import_module(f"mbert_atlas.{module}"), item)
