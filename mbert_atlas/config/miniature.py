"""The miniature: its languages, and how much of each upstream format it writes."""

from __future__ import annotations

from pydantic import Field

from mbert_atlas.config.base import ConfigModel


class MiniatureSizes(ConfigModel):
    """How much of everything the miniature holds."""

    wikipedia_pages: int = Field(60, ge=1, description="articles of each language's encyclopedia")
    stories: int = Field(
        20000, ge=1, description="short texts to pretrain on, the same in every language"
    )
    foreign_words: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="share of nouns, verbs and adjectives that stand in a foreign word in running "
        "texts, as loans and names do in Wikipedia: the anchors by which an encoder can tell that "
        "languages speak of one world",
    )
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


class Miniature(ConfigModel):
    """The generated little world that stands in for every upstream source."""

    languages: list[str] = Field(description="Languages to write; English is always one of them.")
    lending: list[str] | None = Field(
        None,
        description="Languages whose words stand in the others' running texts; none: all. Texts of "
        "the other languages can be added without a change of these.",
    )
    seed: int = Field(
        1, ge=0, description="Seed of the grammar; the same seed gives the same bytes."
    )
    sizes: MiniatureSizes = Field(
        default_factory=MiniatureSizes, description="How much of each format is written."
    )
