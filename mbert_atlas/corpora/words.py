"""Running text to words: the Moses tokeniser, and single characters where words are not spaced."""

import re
import unicodedata
from functools import cache

from sacremoses import MosesTokenizer

_JOINERS = "\u200c\u200d"  # zero width, inside words of Persian, Hindi and others
# Scripts without spaces, one character a word with the marks that sit on it:
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_THAI = "\u0e01-\u0e30\u0e32\u0e3f-\u0e46\u0e4f\u0e5a\u0e5b"
_UNSPACED = re.compile(
    f"[{_THAI}][\u0e31\u0e33-\u0e3a\u0e47-\u0e4e]*"
    f"|[{_HAN}{_KANA}][\u3099\u309a\uff9e\uff9f\ufe00-\ufe0f\U000e0100-\U000e01ef]*"
)
_CHARACTER_LANGUAGES = {"zh", "ja", "th"}


class _Moses(MosesTokenizer):  # type: ignore[misc]
    """The library's tokeniser with sets made once, not for every abbreviation it meets."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._alphabetic, self._lower_case = frozenset(self.IsAlpha), frozenset(self.IsLower)

    def isanyalpha(self, text: str) -> bool:
        return not self._alphabetic.isdisjoint(text)

    def islower(self, text: str) -> bool:
        return self._lower_case.issuperset(text)


class WordTokenizer:
    """Splits text of one language into words, as bitexts are tokenised for word alignment.

    The Moses tokeniser (``sacremoses``, without its XML escapes), with three differences. Han, kana
    and Thai characters are single words in Chinese, Japanese and Thai. Combining marks and
    zero-width joiners stay in their word: Moses splits a Russian word at its accent. Characters
    that BERT's cleaning deletes are deleted, as a word of them alone would have no subword.
    """

    def __init__(self, language: str) -> None:
        self._single_characters = language in _CHARACTER_LANGUAGES
        # Moses' own Chinese and Japanese would glue "。" to a Latin word before it.
        self._moses = _Moses("en" if self._single_characters else language)
        kept = self._moses.IsAlnum + _marks() + _JOINERS
        self._moses.PAD_NOT_ISALNUM = re.compile(rf"([^{kept}\s\.'\`\,\-])"), r" \1 "

    def __call__(self, text: str) -> list[str]:
        """Return the words of ``text``."""
        text = visible(text)
        if self._single_characters:
            text = _UNSPACED.sub(r" \g<0> ", text)
        words: list[str] = self._moses.tokenize(text, escape=False)
        return [word for word in words if word.strip(_JOINERS)]


@cache
def unit_pattern(language: str) -> re.Pattern[str]:
    r"""Return what finds the units of a text: whole words, and each other character by itself.

    Letters, digits, marks and joiners that follow each other are one unit; so "don't" has three. In
    Chinese, Japanese and Thai each character of their scripts is one, with the marks on it.
    """
    word = rf"[\w{_marks()}{_JOINERS}]"
    if language not in _CHARACTER_LANGUAGES:
        return re.compile(rf"{word}+|\S")
    unspaced = _UNSPACED.pattern
    return re.compile(rf"{unspaced}|(?:(?!{unspaced}){word})+|\S")


def visible(text: str) -> str:
    """Return ``text`` without control, format and unassigned characters; all space is plain."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in _JOINERS else " " * character.isspace()
        for character in text
    )


@cache
def _marks() -> str:
    """All combining marks up to the end of plane 1."""
    characters = map(chr, range(0x300, 0x20000))
    return "".join(one for one in characters if unicodedata.category(one)[0] == "M")
