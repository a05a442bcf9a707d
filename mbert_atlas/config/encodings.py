"""How the examples of a task become token ids."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mbert_atlas.config.base import ConfigModel, OnlyWith


class Encoding(ConfigModel):
    """How a task's examples become token ids."""

    only_with: ClassVar[OnlyWith] = {
        **dict.fromkeys(("segment_ids", "strip_case_and_accents"), ("task", "nli")),
        **dict.fromkeys(("doc_stride", "stride_is"), ("task", "qa")),
        "unit": ("task", "language_identification"),
        "repeat_specials": ("task", "text"),
    }

    task: Literal[
        "nli",
        "tagging",
        "ner",
        "qa",
        "parsing",
        "language_identification",
        "text",
    ] = Field(description="The task whose examples are encoded; text: only for vectors.")
    max_length: int = Field(128, ge=8, description="Longest example in pieces, specials included.")
    segment_ids: bool = Field(
        True, description="inference: mark the second text by token type 1 (false: all zero)."
    )
    strip_case_and_accents: bool = Field(
        False,
        description="inference: as an uncased tokenizer would, whatever the vocabulary; it takes "
        "vowel signs of Hindi and Thai away as well.",
    )
    drop_unknown: bool = Field(
        False, description="Leave out examples with [UNK] (Tanti et al. 2021, appendix A)."
    )
    labelled_pieces: Literal["first", "non_continuation"] = Field(
        "first", description="tagging, named_entities: which pieces of a word carry its label."
    )
    unit: Literal["text", "token"] = Field(
        "text", description="language_identification: what has a language."
    )
    doc_stride: int = Field(
        128, ge=1, description="qa: pieces by which windows overlap (or advance)."
    )
    stride_is: Literal["overlap", "step"] = Field(
        "overlap",
        description="qa: whether windows overlap or advance by `doc_stride`.",
    )
    repeat_specials: bool = Field(
        False,
        description="text: [CLS] and [SEP] twice, the inner ones as pieces of the text"
        " (Muller et al. 2021, code).",
    )


class EncodedDataset(ConfigModel):
    """A dataset under an encoding."""

    dataset: str = Field(description="One of `datasets`.")
    encoding: str = Field(description="One of `encodings`.")
