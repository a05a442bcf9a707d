"""Bilingual dictionaries."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from mbert_atlas.config.corpora.base import CORPUS, LIMIT, Corpus


class Dictionary(Corpus):
    """English words and their translations."""

    reader = "corpora.dictionaries:read"
    by_language = one_file = True

    corpus: Literal["dictionary"] = CORPUS
    limit: int | None = LIMIT

    @model_validator(mode="after")
    def _has_two_languages(self) -> Dictionary:
        if "en" in self.languages:
            raise ValueError("a dictionary translates from English: drop `en` from `languages`")
        return self
