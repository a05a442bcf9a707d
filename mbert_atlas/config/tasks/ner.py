"""Named entity recognition."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.search import TAG_METRICS


class NEREncoding(ExampleEncoding):
    """How sentences with named entities become token ids."""

    corpus = "ner"
    scored = "token"
    metrics = TAG_METRICS
    selection = ("accuracy", "macro_f1", "span_macro_f1", "span_micro_f1")

    task: Literal["ner"] = Field(description="Named entity recognition.")
    labelled_pieces: Literal["first", "non_continuation"] = Field(
        "first", description="Which subwords of a word carry its label."
    )
