"""What the paper claims, and what its artifacts are called."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Tanti et al. (2021): On the Language-specificity of Multilingual BERT and the Impact of "
    "Fine-tuning"
)
CONTRASTS = (
    *(Contrast(artifact, "fine_tuned", "initial") for artifact in ("table1", "figure3", "figure4")),
    *(
        Contrast(table, condition, "fine_tuned", beside)
        for table, beside in (("table2", "table1"), ("table3", "figure3"), ("table3", "figure4"))
        for condition in ("gradient_reversal", "entropy_maximisation")
    ),
)
FIGURES = {
    "table1_udpos": "Zero-shot part-of-speech tagging, initial and fine-tuned",
    "table1_xnli": "Zero-shot inference, initial and fine-tuned",
    "table2_udpos": "Zero-shot part-of-speech tagging after unlearning language",
    "table2_xnli": "Zero-shot inference after unlearning language",
    "figure3": "Tokens of UDPOS and Wikipedia, before and after fine-tuning",
    "figure4": "Texts of XNLI and Wikipedia, before and after fine-tuning",
    "figure5": "Tokens of UDPOS and Wikipedia, after unlearning language",
    "figure6": "Texts of XNLI and Wikipedia, after unlearning language",
}
"""Titles of its figures, and of those that show a table."""
