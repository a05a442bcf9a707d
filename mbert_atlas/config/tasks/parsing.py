"""Dependency parsing."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.encodings import ExampleEncoding
from mbert_atlas.config.search import TREE_METRICS
from mbert_atlas.config.training import HeadOptions


class BiaffineOptions(HeadOptions):
    """The biaffine classifier of arcs and relations (Dozat and Manning 2017)."""

    arc_size: int = Field(
        500, ge=1, description="parsing: units of a word as dependent, and as head."
    )
    relation_size: int = Field(200, ge=1, description="parsing: the same for relations.")


class ParsingEncoding(ExampleEncoding):
    """How sentences with dependency trees become token ids."""

    corpus = "universal_dependencies"
    scored = "tree"
    metrics = TREE_METRICS
    selection = ("accuracy",)
    head = BiaffineOptions

    task: Literal["parsing"] = Field(description="Dependency parsing.")
