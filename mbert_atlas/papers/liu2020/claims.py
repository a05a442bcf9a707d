"""The paper's title and contrasts."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Liu et al. (2020): A Study of Cross-Lingual Ability and Language-specific Information in "
    "Multilingual BERT"
)
CONTRASTS: tuple[Contrast, ...] = ()
"""None: its claims are about differences that the tables already contain."""
