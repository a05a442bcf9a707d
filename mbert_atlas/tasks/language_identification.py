"""Language identification by a fine-tuned encoder: the label of a text is its language."""

from __future__ import annotations

from mbert_atlas.tasks.text_classification import TextClassification


class LanguageIdentification(TextClassification):
    """Paragraphs with their language (schemas.LID_EXAMPLES)."""

    name = "language_identification"
