"""The paper's title, and conditions and metrics as its reported numbers name them."""

TITLE = (
    "Muller et al. (2021): First Align, then Predict: Understanding the Cross-Lingual Ability of "
    "Multilingual BERT"
)
CONTRASTS = ()  # its tables hold the differences already
REFERENCE, DIFFERENCE, SCORE = "ref", "random_init_delta", "random_init"
"""The encoder without changes; what re-initialised layers change, and the score with them."""
PRETRAINED, FINE_TUNED = "pretrained", "fine_tuned"
CKA = "cka_percent"
CORRELATION = "spearman_cross_lingual_gap_vs_similarity"
