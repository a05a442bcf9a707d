"""Natural language inference."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import CORPUS, FORMAT, LIMIT, Derivable, DerivableWithSplit

Format = Literal["multinli", "xnli", "xtreme", "taxinli"]
"""Described at :mod:`mbert_atlas.corpora.nli`."""


class NliPairs(DerivableWithSplit):
    """Premises and hypotheses; derived: one side of each pair is replaced by the English one."""

    reader = "corpora.nli:read"
    deriver = "corpora.nli:derive"
    one_file = True

    corpus: Literal["nli"] = CORPUS
    format: Format | None = FORMAT
    limit: int | None = LIMIT
    seed: int = Field(0, ge=0, description="Derived: seed of which side is in English.")
    only_with: ClassVar[OnlyWith] = {**Derivable.only_with, "seed": ("made_from", ...)}
