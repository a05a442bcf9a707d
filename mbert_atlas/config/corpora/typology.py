"""Typological features."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.corpora.base import CORPUS, Corpus


class Typology(Corpus):
    """Features of the World Atlas of Language Structures; one table for all languages."""

    reader = "corpora.typology:read"

    corpus: Literal["typology"] = CORPUS
    files: str = Field(description="Table of values, in CLDF.")
    partners: tuple[str, str] = Field(description="Its tables of languages and of codes.")
