"""Whether texts are in the script of their language; a file in another one is an error."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import chain, islice
from pathlib import Path

from mbert_atlas.errors import DataError

TEXTS = 1000  # how many texts, the first, are examined
LEAST_SHARE = 0.2
"""Fraction of letters in the script below which a text is of another language.

WikiANN, Tatoeba, MUSE and Universal Dependencies in 34 languages have at least 84% (Chinese
entities), a corpus in another script almost none."""
_BENEFIT = 5
"""Letters in the script that a file is credited with, for the benefit of the doubt.

So 20 letters, a foreign name or two, are no evidence; of 21 at least one has to be in the script,
and of 100 at least 16.
"""
_NAMES = {  # script (ISO 15924) -> what the Unicode names of its letters begin with
    **{"Arab": "ARABIC", "Armn": "ARMENIAN", "Beng": "BENGALI", "Cyrl": "CYRILLIC"},
    **{"Deva": "DEVANAGARI", "Ethi": "ETHIOPIC", "Geor": "GEORGIAN", "Grek": "GREEK"},
    **{"Gujr": "GUJARATI", "Guru": "GURMUKHI", "Hans": "CJK", "Hant": "CJK", "Hebr": "HEBREW"},
    **{"Jpan": "CJK HIRAGANA KATAKANA", "Khmr": "KHMER", "Knda": "KANNADA", "Kore": "HANGUL CJK"},
    **{"Laoo": "LAO", "Latn": "LATIN", "Mlym": "MALAYALAM", "Mymr": "MYANMAR", "Orya": "ORIYA"},
    **{"Sinh": "SINHALA", "Taml": "TAMIL", "Telu": "TELUGU", "Thai": "THAI"},
}


@cache
def script_of(character: str) -> str:
    """Return the first word of a letter's name, such as LATIN; of what is no letter, nothing."""
    if not character.isalpha():
        return ""
    words = unicodedata.name(character, "").split()
    return words[1] if words[:1] in (["FULLWIDTH"], ["HALFWIDTH"]) else "".join(words[:1])


def scripts_in(characters: Iterable[str]) -> frozenset[str]:
    """Return the scripts (ISO 15924) of which at least one letter is among some characters."""
    names = set(map(script_of, characters))
    return frozenset(script for script, some in _NAMES.items() if names & set(some.split()))


def is_script(script: str) -> bool:
    """Return whether a script (ISO 15924) is one of those that :func:`scripts_in` recognises."""
    return script in _NAMES


def require_script(
    texts: Iterable[str],
    scripts: str,
    path: Path | str,
    language: str,
    fix: str = "correct the source's path or language",
) -> None:
    """Raise a DataError if less than ``LEAST_SHARE`` of the letters are in the language's script.

    The first ``TEXTS`` texts count; a few letters are no evidence. ``scripts`` are those of the
    language (ISO 15924), blanks between; with none, or an unknown one, nothing is checked. The
    error ends with ``fix``.
    """
    if not scripts or not _NAMES.keys() >= set(scripts.split()):
        return
    expected = {name for script in scripts.split() for name in _NAMES[script].split()}
    letters, counts = Counter(chain.from_iterable(islice(texts, TEXTS))), Counter[str]()
    for character, number in letters.items():
        if script := script_of(character):
            counts[script] += number
    in_script = sum(counts[script] for script in expected)
    if in_script + _BENEFIT < LEAST_SHARE * (counts.total() + _BENEFIT):
        other, _ = counts.most_common(1)[0]
        problem = (
            f"{in_script / counts.total():.1%} of the letters are in the script of the language "
        )
        problem += f"({scripts}), {counts[other] / counts.total():.0%} are {other.lower()}"
        raise DataError(path, f"language {language}", problem, fix)
