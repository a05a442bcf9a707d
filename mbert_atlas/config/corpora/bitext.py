"""Sentence pairs."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import CORPUS, FORMAT, LIMIT, Derivable

Format = Literal["wikimatrix", "moses", "manythings", "lines"]
"""Described at :mod:`mbert_atlas.corpora.bitext`."""


class Bitext(Derivable):
    """Sentence pairs of English and one other language; derived: words are split into subwords."""

    reader = "corpora.bitext:read"
    deriver = "alignment.pairs:derive_subwords"
    by_language = reads_large = has_file_limits = True

    corpus: Literal["bitext"] = CORPUS
    format: Format | None = FORMAT
    limit: int | None = LIMIT
    seed: int = Field(0, description="Seed of the sample of `limit` pairs.")
    encoder: str | None = Field(
        None, description="Derived: the encoder whose tokenizer splits words into subwords."
    )
    only_with: ClassVar[OnlyWith] = {
        **Derivable.only_with,
        "seed": ("limit", ...),
        "encoder": ("made_from", ...),
    }

    @model_validator(mode="after")
    def _has_tokenizer(self) -> Bitext:
        if self.made_from and not self.encoder:
            raise ValueError("a derived bitext needs `encoder`, whose tokenizer splits its words")
        return self
