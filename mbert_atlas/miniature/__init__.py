"""Synthetic data in many languages: meanings drawn from a seed, in every upstream format.

Meanings (:mod:`.meanings`) belong to no language; languages (:mod:`.language`) realise them as
words that keep which part of the meaning they express, and all gold labels are derived from that.
"""

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES, miniature_language
from mbert_atlas.miniature.texts import DUMP_DATE
from mbert_atlas.miniature.writing import write_miniature

__all__ = [
    "DUMP_DATE",
    "MINIATURE_LANGUAGES",
    "MiniatureSizes",
    "miniature_language",
    "write_miniature",
]
