"""Word alignment of bitexts, and the word pairs that adjustment and analysis read."""

from mbert_atlas.alignment.backends import Backend, Symmetrisation, align
from mbert_atlas.alignment.metrics import AlignmentScores, score
from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs
from mbert_atlas.alignment.pharaoh import Links, read_pharaoh, write_pharaoh
from mbert_atlas.alignment.pieces import piece_bitext

__all__ = [
    "AlignmentScores",
    "Backend",
    "Links",
    "Symmetrisation",
    "align",
    "encode_word_pairs",
    "piece_bitext",
    "read_pharaoh",
    "score",
    "word_pairs",
    "write_pharaoh",
]
