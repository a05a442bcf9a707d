"""The paper's title, and which contrasts its tables star."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = "Liang et al. (2021): Locating Language-Specific Information in Contextualized Embeddings"
CONTRASTS: tuple[Contrast, ...] = ()
"""None: its claims are about differences that the tables already show."""
