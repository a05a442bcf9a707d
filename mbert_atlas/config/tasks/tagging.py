"""POS tagging."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.search import TAG_METRICS


class TaggingEncoding(ExampleEncoding):
    """How sentences of tagged words become token ids."""

    corpus = "universal_dependencies"
    scored = "token"
    metrics = TAG_METRICS
    selection = ("accuracy", "macro_f1", "span_macro_f1", "span_micro_f1")

    task: Literal["tagging"] = Field(description="Universal POS tags.")
    labelled_pieces: Literal["first", "non_continuation"] = Field(
        "first", description="Which subwords of a word carry its label."
    )
