"""The tasks that come with the repository; a new one is a module next to this one."""

from typing import Literal, Self

from pydantic import Field, model_validator

from mbert_atlas.config.search import TAG_METRICS, TEXT_METRICS, TREE_METRICS
from mbert_atlas.config.tasks import Encoding, ExampleEncoding
from mbert_atlas.config.training import BiaffineOptions


class LanguageIdentificationEncoding(ExampleEncoding):
    """How paragraphs whose language is to be identified become token ids."""

    corpus = "language_identification"
    metrics = TEXT_METRICS
    selection = ("accuracy", "macro_f1")
    transfer = False

    task: Literal["language_identification"] = Field(description="Language identification.")
    unit: Literal["text", "token"] = Field("text", description="What has a language.")


class NLIEncoding(ExampleEncoding):
    """How premise and hypothesis become token ids."""

    corpus = "nli"
    metrics = TEXT_METRICS
    selection = ("accuracy", "macro_f1")

    task: Literal["nli"] = Field(description="Natural language inference.")
    segment_ids: bool = True
    """Mark the second text by token type 1 (false: all zero)."""
    strip_case_and_accents: bool = False
    """As an uncased tokenizer would, whatever the vocabulary; this also removes vowel signs of
    Hindi and Thai."""


class _TagEncoding(ExampleEncoding):
    scored = "token"
    metrics = TAG_METRICS
    selection = ("accuracy", "macro_f1", "span_macro_f1", "span_micro_f1")

    labelled_pieces: Literal["first", "non_continuation"] = "first"
    """Which subwords of a word carry its label."""


class TaggingEncoding(_TagEncoding):
    """How sentences of tagged words become token ids."""

    corpus = "universal_dependencies"

    task: Literal["tagging"] = Field(description="Universal POS tags.")


class NEREncoding(_TagEncoding):
    """How sentences with named entities become token ids."""

    corpus = "ner"

    task: Literal["ner"] = Field(description="Named entity recognition.")


class ParsingEncoding(ExampleEncoding):
    """How sentences with dependency trees become token ids."""

    corpus = "universal_dependencies"
    scored = "tree"
    metrics = TREE_METRICS
    selection = ("accuracy",)
    head = BiaffineOptions

    task: Literal["parsing"] = Field(description="Dependency parsing.")


class QAEncoding(ExampleEncoding):
    """How questions with their contexts become windows of token ids."""

    corpus = "qa"

    task: Literal["qa"] = Field(description="Extractive question answering.")
    doc_stride: int = Field(128, ge=1)
    """Subwords by which windows overlap."""

    @model_validator(mode="after")
    def _windows_move_on(self) -> Self:
        most = self.max_length - 6  # special tokens, and one of the question and of the context
        if self.doc_stride > most:
            problem = f"`doc_stride` ({self.doc_stride}) leaves windows of `max_length` "
            problem += f"({self.max_length}) no space for the question"
            raise ValueError(f"{problem}; take at most {most}, better half the window")
        return self


class TextEncoding(Encoding):
    """How running texts become token ids; nothing is learned from them but their vectors."""

    transfer = False

    task: Literal["text"] = Field(description="Texts without labels, for their vectors.")
    repeat_specials: bool = False
    """[CLS] and [SEP] twice, the inner ones as part of the text (Muller et al. 2021, code)."""
