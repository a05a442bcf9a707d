"""Wikipedia dumps."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from mbert_atlas.config.corpora.base import CORPUS, Corpus


class Wikipedia(Corpus):
    """Paragraphs of dumps."""

    reader = "corpora.wikipedia:read"
    by_language = reads_large = is_running_text = one_file = True

    corpus: Literal["wikipedia"] = CORPUS
    minimum_characters: int = Field(
        100, ge=1, description="Shortest paragraph that is kept (Tanti et al. 2021, appendix A)."
    )
