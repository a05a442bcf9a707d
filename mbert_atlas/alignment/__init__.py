"""Word alignment of bitexts, and the word pairs that adjustment and analysis read."""

from mbert_atlas.alignment.backends import align
from mbert_atlas.alignment.pairs import encode_word_pairs, word_pairs
from mbert_atlas.alignment.subwords import subword_bitext

__all__ = ["align", "encode_word_pairs", "subword_bitext", "word_pairs"]
