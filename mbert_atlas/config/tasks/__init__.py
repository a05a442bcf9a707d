"""The tasks: each is a subclass of ``Encoding``, which describes it to the config.

Modules are found, not listed. A task that is learned has a module of its name for its examples
(registered in :mod:`mbert_atlas.encoding`) and for its model (in :mod:`mbert_atlas.tasks`).
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, ClassVar, Union, get_args

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.references import EncodingName, LanguageTexts
from mbert_atlas.config.training import HeadOptions


class Encoding(ConfigModel):
    """How the examples of a task become token ids, and what else the config needs of the task."""

    corpus: ClassVar[str] = ""  # of the datasets with such examples; empty: none to learn from
    scored: ClassVar[str] = "text"  # what is scored: `text`, `token` or `tree`
    metrics: ClassVar[tuple[str, ...]] = ()  # of `analysis.scores` that a search may choose by
    selection: ClassVar[tuple[str, ...]] = ()  # metrics that may select an epoch
    transfer: ClassVar[bool] = True  # a table of zero-shot transfer can show it
    head: ClassVar[type[HeadOptions]] = HeadOptions  # options of its classifier

    task: str = Field(description="The task whose examples are encoded; text: only for vectors.")
    max_length: int = Field(128, ge=8)
    """Longest example in subwords, special tokens included."""


class ExampleEncoding(Encoding):
    """How the labelled examples of a task become token ids."""

    drop_unknown: bool = False
    """Leave out examples with [UNK] (Tanti et al. 2021, appendix A)."""


class EncodedDataset(ConfigModel):
    """A dataset under an encoding."""

    dataset: LanguageTexts = Field(description="One of `datasets`.")
    encoding: EncodingName = Field(description="One of `encodings`.")


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
