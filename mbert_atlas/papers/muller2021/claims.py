"""What the paper claims, and what its artifacts are called."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Muller et al. (2021): First Align, then Predict: Understanding the Cross-Lingual Ability of "
    "Multilingual BERT"
)
CONTRASTS: tuple[Contrast, ...] = ()
"""Its claims are of differences that the tables hold already."""
FIGURES = {
    "table1": "What is lost where layers are drawn anew, by task",
    "figure1": "Similarity (CKA) of {source} and {target}, pretrained and fine-tuned",
    "figure2": "CKA of {source} and {target} where layers are drawn anew, named entities",
    "figure3": "Correlation of similarity (CKA) and cross-lingual gap, by layer",
    "figure4": "Similarity (CKA) of {source} and each target, fine-tuned for named entities",
    "figure5": "Similarity (CKA) of {source} and other languages, pretrained and fine-tuned",
    "figure6": "Similarity (CKA) where layers are drawn anew, parsing",
    "figure7": "Similarity (CKA) where layers are drawn anew, parts of speech",
    "figure8": "Similarity (CKA) where layers are drawn anew, named entities",
}
"""Titles of its figures, and of the one that shows a table; the config fills the braces."""
