"""Treebanks."""

from __future__ import annotations

from typing import Literal

from mbert_atlas.config.corpora.base import CORPUS, LIMIT, WithSplit


class UniversalDependencies(WithSplit):
    """Sentences of treebanks."""

    reader = "corpora.universal_dependencies:read"
    reads_large = True

    corpus: Literal["universal_dependencies"] = CORPUS
    limit: int | None = LIMIT
