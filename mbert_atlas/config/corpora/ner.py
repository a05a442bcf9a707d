"""Named entities."""

from __future__ import annotations

from typing import ClassVar, Literal

from mbert_atlas.config.base import OnlyWith
from mbert_atlas.config.corpora.base import CORPUS, FORMAT, LIMIT, SAMPLE_SEED, WithSplit

Format = Literal["rahimi", "panx", "conll2003"]
"""Described at :mod:`mbert_atlas.corpora.ner`."""


class NamedEntities(WithSplit):
    """Tagged sentences in the formats of WikiANN and CoNLL-2003."""

    reader = "corpora.ner:read"
    one_file = True

    corpus: Literal["ner"] = CORPUS
    format: Format | None = FORMAT
    limit: int | None = LIMIT
    sample_seed: int | None = SAMPLE_SEED
    only_with: ClassVar[OnlyWith] = {"sample_seed": ("limit", ...)}
