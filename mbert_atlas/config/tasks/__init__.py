"""The tasks: each is a subclass of ``Encoding``, which describes it to the config.

Modules are found, not listed. A task that is learned has a module of its name for its examples
(registered in :mod:`mbert_atlas.encoding`) and for its model (in :mod:`mbert_atlas.tasks`).
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, Union, get_args

from pydantic import Field

from mbert_atlas.config.encodings import Encoding

TASKS: dict[str, type[Encoding]] = {
    task: model
    for item in iter_modules(__path__)
    for model in vars(import_module(f"{__name__}.{item.name}")).values()
    if isinstance(model, type) and issubclass(model, Encoding)
    for task in get_args(model.model_fields["task"].annotation)
}
"""Encodings by the name of their task."""

if TYPE_CHECKING:
    AnyEncoding = Encoding
else:
    AnyEncoding = Annotated[Union[tuple(TASKS.values())], Field(discriminator="task")]  # noqa: UP007
