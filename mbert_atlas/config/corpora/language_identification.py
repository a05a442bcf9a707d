"""Language identification."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import CORPUS, Corpus
from mbert_atlas.config.mistakes import Mistake, report


class LanguageIdentification(Corpus):
    """Paragraphs with their language: sampled from running text, or a released set."""

    reader = "corpora.language_identification:read"
    deriver = "corpora.language_identification:derive"
    reads_large = derives_large = True
    parent_key = "paragraphs"

    corpus: Literal["language_identification"] = CORPUS
    paragraphs: str | None = Field(
        None, description="The dataset to sample paragraphs from, without files."
    )
    encoder: str | None = Field(
        None,
        description="Sampled: paragraphs with [UNK] in its vocabulary are dropped; none: kept.",
    )
    limit: int | None = Field(None, ge=1, description="Sampled: at most this many per language.")
    fractions: tuple[float, float, float, float] = Field(
        (0.7, 0.1, 0.1, 0.1), description="Sampled: fractions of train, validation, dev and test."
    )
    minimum_per_language: int = Field(
        10, ge=1, description="Sampled: fewer paragraphs in a language are an error."
    )
    seed: int = Field(0, description="Sampled: seed of the sample.")

    only_with: ClassVar[OnlyWith] = dict.fromkeys(
        ("encoder", "fractions", "minimum_per_language", "seed"), ("paragraphs", ...)
    )

    def derives_from(self, other: Corpus) -> bool:
        """Whether paragraphs can be sampled from a dataset."""
        return other.is_running_text

    def check(self, config: Any, place: str) -> None:
        """Report a limit below the minimum."""
        if self.limit and self.limit < self.minimum_per_language:
            problem = f"{self.limit} is less than minimum_per_language"
            problem += f", {self.minimum_per_language}"
            report(Mistake(f"{place}.limit", problem, "raise it"))

    @model_validator(mode="after")
    def _sample_fits(self) -> LanguageIdentification:
        if self.limit and not self.paragraphs:
            raise ValueError("released files are read whole: drop `limit`")
        if sum(Fraction(str(share)) for share in self.fractions) != 1 or min(self.fractions) < 0:
            raise ValueError(f"`fractions` must sum to 1, not {list(self.fractions)}")
        return self
