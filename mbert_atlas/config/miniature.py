"""The synthetic dataset: its languages, and how much of each upstream format it writes."""

from pydantic import Field

from mbert_atlas.config.base import ConfigModel
from mbert_atlas.config.marks import TargetLanguages


class MiniatureSizes(ConfigModel):
    """Size of each part of the synthetic dataset."""

    wikipedia_pages: int = Field(60, ge=1, description="Wikipedia articles per language.")
    stories: int = Field(20000, ge=1)
    """Short texts for pretraining, the same in every language."""
    foreign_words: float = Field(0.2, ge=0, lt=1)
    """Fraction of code-switched nouns, verbs and adjectives in running texts. They are shared
    tokens that anchor the languages to each other, as loanwords and names are in Wikipedia."""
    bitext_sentences: int = Field(3000, ge=1)
    """Sentence pairs of each language with English, without the noise."""
    gold_sentences: int = Field(200, ge=1)
    """Word-aligned test sentences per language; half as many for dev."""
    ud_train: int = Field(1500, ge=1, description="Sentences of the English training treebank.")
    ud_dev: int = Field(200, ge=1, description="Sentences of the English development treebank.")
    ud_test: int = Field(200, ge=1, description="Sentences of the parallel test treebanks.")
    nli_train: int = Field(6000, ge=3, description="English NLI training pairs, a third per label.")
    nli_test: int = Field(300, ge=3)
    """NLI pairs of each test set; dev sets have as many."""
    ner_train: int = Field(1500, ge=1, description="NER sentences of each language's training set.")
    ner_test: int = Field(150, ge=1)
    """NER sentences of each test set; dev sets have as many."""
    qa_train: int = Field(1500, ge=1, description="English questions for training.")
    qa_test: int = Field(100, ge=1)
    """Questions of each test set and, except for MLQA, dev set."""


class Miniature(ConfigModel):
    """Synthetic data in the format of every upstream source."""

    languages: TargetLanguages = Field(description="Languages; English is always one of them.")
    lending: list[str] | None = None
    """Languages of the code-switched words; none: all. Adding another language leaves the texts of
    these unchanged."""
    seed: int = Field(1, ge=0, description="Seed of the data; the same seed gives the same bytes.")
    sizes: MiniatureSizes = Field(default_factory=MiniatureSizes, description="Size of each part.")
