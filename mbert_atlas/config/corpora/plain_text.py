"""Running text."""

from __future__ import annotations

from typing import Literal

from mbert_atlas.config.corpora.base import CORPUS, FORMAT, LIMIT, Corpus

Format = Literal["paragraphs", "lines", "conllu", "vline", "manythings", "moses"]
"""Described at :func:`mbert_atlas.corpora.plain_text.iter_texts`."""


class PlainText(Corpus):
    """Running text, for pretraining."""

    reader = "corpora.plain_text:read"
    by_language = is_running_text = True

    corpus: Literal["plain_text"] = CORPUS
    format: Format | None = FORMAT
    limit: int | None = LIMIT
