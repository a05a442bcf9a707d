"""Datasets: one model per kind of corpus, chosen by the key ``corpus``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from pydantic import Field

from mbert_atlas.config.corpora.base import Corpus, Source

__all__ = ["CORPORA", "Dataset", "Source"]

_MODELS = (
    "wikipedia.Wikipedia",
    "plain_text.PlainText",
    "bitext.Bitext",
    "gold_alignment.GoldAlignment",
    "universal_dependencies.UniversalDependencies",
    "nli.NliPairs",
    "ner.NamedEntities",
    "qa.QuestionAnswering",
    "language_identification.LanguageIdentification",
    "typology.Typology",
    "dictionary.Dictionary",
)
"""The registry: a new kind of corpus is a module of :mod:`mbert_atlas.config.corpora` with its
model, a module of :mod:`mbert_atlas.corpora` with the function that the model names, and a line
here."""


def _model(name: str) -> type[Corpus]:
    module, _, model = name.partition(".")
    found: type[Corpus] = getattr(import_module(f"mbert_atlas.config.corpora.{module}"), model)
    return found


CORPORA = [_model(name) for name in _MODELS]

if TYPE_CHECKING:
    Dataset: TypeAlias = Corpus
else:
    Dataset = Annotated[Union[tuple(CORPORA)], Field(discriminator="corpus")]  # noqa: UP007
