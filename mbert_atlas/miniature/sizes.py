"""How much of each upstream format the miniature writes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MiniatureSizes(BaseModel):
    """Numbers of items; the defaults suit a demo of some minutes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wikipedia_pages: int = Field(60, ge=1, description="Articles per language.")
    bitext_sentences: int = Field(3000, ge=1, description="Sentence pairs per language.")
    gold_sentences: int = Field(200, ge=2, description="Gold-aligned sentence pairs per language.")
    ud_train: int = Field(1500, ge=1, description="English training sentences with trees.")
    ud_dev: int = Field(200, ge=1, description="English development sentences with trees.")
    ud_test: int = Field(200, ge=1, description="Parallel test sentences, in every language.")
    nli_train: int = Field(6000, ge=3, description="English premise and hypothesis pairs.")
    nli_test: int = Field(300, ge=3, description="Parallel test pairs; as many for development.")
