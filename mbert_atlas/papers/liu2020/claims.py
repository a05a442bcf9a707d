"""What the paper claims, and what its artifacts are called."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Liu et al. (2020): A Study of Cross-Lingual Ability and Language-specific Information in "
    "Multilingual BERT"
)
CONTRASTS: tuple[Contrast, ...] = ()
"""Its claims are of differences that the tables hold already."""
FIGURES = {
    "figure1": "Words found by their translations, {sentences} sentences",
    "figure2": "XNLI without training data, {sentences} sentences",
    "figure3": "Words found by their translations, {sentences} sentences",
    "figure4": "XNLI without training data, {sentences} sentences",
    "figure5": "Words found by their translations, by window",
    "figure6a": "XNLI without training data, by window",
    "figure6b": "Accuracy of XNLI lost with the short window",
    "figure7": "Convert rate by alpha",
    "figure8": "BLEU-1 by alpha and by layer",
}
"""Titles of its figures; the config fills what stands in braces."""
