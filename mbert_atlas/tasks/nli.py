"""Natural language inference: does the premise entail the hypothesis?"""

from __future__ import annotations

from mbert_atlas.tasks.text_classification import TextClassification


class NLI(TextClassification):
    """Premise and hypothesis as one pair (schemas.NLI_PAIRS)."""

    name = "nli"
