"""Paragraphs split into sentences at final punctuation."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?؟۔।॥])\s+|(?<=[。！？])\s*")
"""The full stops of Latin, Greek, Cyrillic, Arabic, Urdu and Devanagari precede a blank."""


def split_sentences(text: str) -> list[str]:
    """Split a paragraph after final punctuation.

    Good enough to count sentences: abbreviations end one, too, and a language without such
    punctuation (Thai) has one sentence per paragraph.
    """
    return [part for part in _END.split(text) if part]
