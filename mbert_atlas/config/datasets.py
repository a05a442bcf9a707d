"""Datasets: one model per kind of corpus, chosen by the key ``corpus``."""

from typing import TYPE_CHECKING, Annotated, TypeAlias, Union

from pydantic import Field

from mbert_atlas.config.corpora.base import Corpus, Source
from mbert_atlas.registry import Registry

__all__ = ["CORPORA", "Dataset", "Source", "resource_keys"]

CORPORA = Registry(
    "kind of corpus",
    {
        "wikipedia": "config.corpora.kinds:Wikipedia",
        "plain_text": "config.corpora.kinds:PlainText",
        "bitext": "config.corpora.kinds:Bitext",
        "gold_alignment": "config.corpora.kinds:GoldAlignment",
        "universal_dependencies": "config.corpora.kinds:UniversalDependencies",
        "nli": "config.corpora.kinds:NliPairs",
        "ner": "config.corpora.kinds:NamedEntities",
        "qa": "config.corpora.kinds:QuestionAnswering",
        "language_identification": "config.corpora.kinds:LanguageIdentification",
        "typology": "config.corpora.kinds:Typology",
        "dictionary": "config.corpora.kinds:Dictionary",
    },
)
"""A new kind of corpus is a module with its model, a module of :mod:`mbert_atlas.corpora` with the
functions that the model names, and a line here."""
_MODELS: list[type[Corpus]] = [CORPORA.load(corpus) for corpus in CORPORA]

if TYPE_CHECKING:
    Dataset: TypeAlias = Corpus
else:
    Dataset = Annotated[Union[tuple(_MODELS)], Field(discriminator="corpus")]  # noqa: UP007


def resource_keys() -> set[str]:
    """Return the keys of the config's ``resources`` for jobs that read or derive datasets."""
    models = zip(CORPORA, _MODELS, strict=True)
    return {f"read_{corpus}" for corpus, item in models if item.reads_large or item.derives_large}
