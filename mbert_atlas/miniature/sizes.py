"""How much of each upstream format the miniature writes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class MiniatureSizes(BaseModel):
    """How much of everything the miniature holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wikipedia_pages: int = Field(60, ge=1, description="articles of each language's encyclopedia")
    bitext_sentences: int = Field(
        3000, ge=1, description="translations of each language with English, noise not counted"
    )
    gold_sentences: int = Field(
        200, ge=1, description="word-aligned test sentences of each language; half as many for dev"
    )
    ud_train: int = Field(1500, ge=1, description="sentences of the English training treebank")
    ud_dev: int = Field(200, ge=1, description="sentences of the English development treebank")
    ud_test: int = Field(200, ge=1, description="sentences of the parallel test treebanks")
    nli_train: int = Field(6000, ge=3, description="English training pairs, a third for each label")
    nli_test: int = Field(
        300, ge=3, description="pairs of each language's test set; dev sets have as many"
    )
    ner_train: int = Field(
        1500, ge=1, description="sentences with named entities of each language's training set"
    )
    ner_test: int = Field(
        150,
        ge=1,
        description="sentences with named entities of each language's test set; dev sets have as "
        "many",
    )
    qa_train: int = Field(1500, ge=1, description="English questions for training")
    qa_test: int = Field(
        100, ge=1, description="questions of every test set and, but for MLQA's, dev set"
    )
