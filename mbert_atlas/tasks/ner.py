"""Named entities: which words begin, continue or lie outside a person, place or organisation?"""

from __future__ import annotations

from mbert_atlas.tasks.tagging import Tagging


class NamedEntities(Tagging):
    """An IOB2 tag for every word of a sentence (schemas.TAGGED_SENTENCES)."""

    name = "ner"
