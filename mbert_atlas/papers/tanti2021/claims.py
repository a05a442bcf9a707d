"""Title of the paper, and the conditions that its claims compare."""

from mbert_atlas.scorecard.rules import Contrast

TITLE = (
    "Tanti et al. (2021): On the Language-specificity of Multilingual BERT and the Impact of "
    "Fine-tuning"
)
CONTRASTS = (
    *(Contrast(artifact, "fine_tuned", "initial") for artifact in ("table1", "figure3", "figure4")),
    *(
        Contrast(table, condition, "fine_tuned", reference)
        for table, reference in (("table2", "table1"), ("table3", "figure3"), ("table3", "figure4"))
        for condition in ("gradient_reversal", "entropy_maximisation")
    ),
)
