"""Datasets: one model per kind of corpus, chosen by the key ``corpus``.

A new kind of corpus is a module in :mod:`mbert_atlas.config.corpora` with its model, and a module
of :mod:`mbert_atlas.corpora` with the functions that the model names. Modules are found, not
listed.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Annotated, TypeAlias, Union, get_args

from pydantic import Field

from mbert_atlas.config import corpora
from mbert_atlas.config.corpora.base import Corpus, Source

__all__ = ["CORPORA", "Dataset", "Source", "resource_keys"]

CORPORA: dict[str, type[Corpus]] = {
    corpus: model
    for item in iter_modules(corpora.__path__)
    for model in vars(import_module(f"mbert_atlas.config.corpora.{item.name}")).values()
    if isinstance(model, type) and issubclass(model, Corpus)
    for corpus in get_args(model.model_fields["corpus"].annotation)
}
"""Models by the name of their corpus."""

if TYPE_CHECKING:
    Dataset: TypeAlias = Corpus
else:
    Dataset = Annotated[Union[tuple(CORPORA.values())], Field(discriminator="corpus")]  # noqa: UP007


def resource_keys() -> set[str]:
    """Return the keys of the config's ``resources`` for jobs that read or derive datasets."""
    models = CORPORA.items()
    return {f"read_{corpus}" for corpus, item in models if item.reads_large or item.derives_large}
