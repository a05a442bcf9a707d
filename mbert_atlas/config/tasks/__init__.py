"""The tasks: one module each, whose subclass of ``Encoding`` describes the task to the config.

Modules are found, not listed. A task that is learned has a module of the same name for its examples
(registered in :mod:`mbert_atlas.encoding`) and its model (in :mod:`mbert_atlas.tasks`).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from mbert_atlas.config.encodings import Encoding
from mbert_atlas.registry import subclass_in

TASKS: dict[str, type[Encoding]] = {
    item.name: subclass_in(import_module(f"{__name__}.{item.name}"), Encoding)
    for item in iter_modules(__path__)
}
"""Encodings by the name of their task."""

if TYPE_CHECKING:
    AnyEncoding = Encoding
else:
    AnyEncoding = Annotated[Union[tuple(TASKS.values())], Field(discriminator="task")]  # noqa: UP007
