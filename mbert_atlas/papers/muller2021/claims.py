"""The paper's title, and the contrasts that its tables test."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Muller et al. (2021): First Align, then Predict: Understanding the Cross-Lingual Ability of "
    "Multilingual BERT"
)
CONTRASTS: tuple[Contrast, ...] = ()
"""None: its tables hold the differences already."""
