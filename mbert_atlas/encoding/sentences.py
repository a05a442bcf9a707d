"""Paragraphs cut into sentences, by the marks at their ends."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?؟۔।॥])\s+|(?<=[。！？])\s*")
"""Behind the full stops of Latin, Greek, Cyrillic, Arabic, Urdu and Devanagari comes a blank."""


def split_sentences(text: str) -> list[str]:
    """Cut a paragraph behind the marks that end sentences.

    Good enough to count sentences: abbreviations end one, too, and a language without such marks
    (Thai) has one sentence a paragraph.
    """
    return [part for part in _END.split(text) if part]
