"""Conditions and metrics, as the reported numbers name them."""

REFERENCE, DIFFERENCE, SCORE = "ref", "random_init_delta", "random_init"
"""The encoder without changes; what re-initialised layers change, and the score with them."""
PRETRAINED, FINE_TUNED = "pretrained", "fine_tuned"
CKA = "cka_percent"
CORRELATION = "spearman_cross_lingual_gap_vs_similarity"
