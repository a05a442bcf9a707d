"""Natural language inference."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.search import TEXT_METRICS


class NLIEncoding(ExampleEncoding):
    """How premise and hypothesis become token ids."""

    corpus = "nli"
    metrics = TEXT_METRICS
    selection = ("accuracy", "macro_f1")

    task: Literal["nli"] = Field(description="Natural language inference.")
    segment_ids: bool = Field(
        True, description="Mark the second text by token type 1 (false: all zero)."
    )
    strip_case_and_accents: bool = Field(
        False,
        description="As an uncased tokenizer would, whatever the vocabulary; this also removes "
        "vowel signs of Hindi and Thai.",
    )
