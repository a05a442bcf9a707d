"""Word alignments made by hand."""

from __future__ import annotations

from typing import Literal

from mbert_atlas.config.corpora.base import CORPUS, FORMAT, Corpus

Format = Literal["xlwa", "naacl"]
"""Described at :func:`mbert_atlas.corpora.gold_alignment.read_gold`."""


class GoldAlignment(Corpus):
    """Sentence pairs with word links made by hand."""

    corpus: Literal["gold_alignment"] = CORPUS
    format: Format | None = FORMAT
