"""A little world in many languages: meanings drawn from a seed, written in every upstream format.

Meanings (:mod:`.meanings`) know no language; languages (:mod:`.language`) put them into words that
remember which part of the meaning they express; everything else reads truth off that memory.
"""

from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES, miniature_language
from mbert_atlas.miniature.world import DUMP_DATE, write_miniature

__all__ = [
    "DUMP_DATE",
    "MINIATURE_LANGUAGES",
    "MiniatureSizes",
    "miniature_language",
    "write_miniature",
]
