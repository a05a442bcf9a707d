"""Language identification."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.search import TEXT_METRICS


class LanguageIdentificationEncoding(ExampleEncoding):
    """How paragraphs whose language is to be identified become token ids."""

    corpus = "language_identification"
    metrics = TEXT_METRICS
    selection = ("accuracy", "macro_f1")
    transfer = False

    task: Literal["language_identification"] = Field(description="Language identification.")
    unit: Literal["text", "token"] = Field("text", description="What has a language.")
