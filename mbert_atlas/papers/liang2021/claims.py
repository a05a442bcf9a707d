"""What the paper claims, and what its artifacts are called."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = "Liang et al. (2021): Locating Language-Specific Information in Contextualized Embeddings"
CONTRASTS: tuple[Contrast, ...] = ()
"""Its claims are of differences that the tables hold already."""
FIGURES = {
    "figure1": "Probes of the first, the next and of random dimensions",
    "figure2": "Probes of narrow windows, beyond as many random dimensions",
    "figure3": "Probes of the first dimensions, by layer",
    "figure4": "Tagging and named entities without the first directions",
    "figure5": "Identification of languages of one family, beyond random dimensions",
}
"""Titles of its figures."""
