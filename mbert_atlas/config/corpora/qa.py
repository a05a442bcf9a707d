"""Extractive question answering."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import (
    CORPUS,
    FORMAT,
    LIMIT,
    SAMPLE_SEED,
    Derivable,
    DerivableWithSplit,
)

Format = Literal["squad", "mlqa", "mlqa-translate-train", "tydiqa", "tydiqa-xtreme"]
"""Described at :mod:`mbert_atlas.corpora.qa`."""


class QuestionAnswering(DerivableWithSplit):
    """Questions about paragraphs; derived: paragraphs and questions in different languages."""

    reader = "corpora.qa:read"
    deriver = "corpora.qa:derive"
    one_file = True

    corpus: Literal["qa"] = CORPUS
    format: Format | None = FORMAT
    limit: int | None = LIMIT
    sample_seed: int | None = SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {**Derivable.only_with, "sample_seed": ("limit", ...)}
    questions: Literal["same", "target", "english"] = Field(
        "same",
        description="Questions in the language of the paragraphs; or in the target language about "
        "English paragraphs; or in English about the target's.",
    )

    @model_validator(mode="after")
    def _crosses_languages(self) -> QuestionAnswering:
        if self.made_from and self.questions == "same":
            raise ValueError("`made_from` needs `questions: target` or `questions: english`")
        return self
