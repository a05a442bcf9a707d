"""Words of the synthetic languages: a root per genus, sound changes per language, a script.

The root of a concept in a genus is a fixed random string over twenty Latin letters; the sound
changes of a language (``e>a o>u``) apply to it, so that related languages have cognates; a script
spells it. The Germanic roots are the names of the concepts, so that the synthetic English can be
read.
"""

import re
from functools import cache
from random import Random
from string import ascii_lowercase

from mbert_atlas.miniature.concepts import CONCEPTS, GRAMMATICAL, NAMES
from mbert_atlas.randomness import derive_seed

_CONSONANTS, _VOWELS = "ptkbdgmnlrszfvh", "aeiou"
# What is not regular in English: a concept's word, or (concept+marks) one of its forms.
_IRREGULAR = """
    definite=the indefinite=a be=is be+3pl=are be+past=was be+past+3pl=were indefinite+plural=some
    this+plural=these plural=s 3sg=s 3pl= past=ed past+3pl=ed man+plural=men woman+plural=women
    knife+plural=knives city+plural=cities story+plural=stories box+plural=boxes see+past=saw
    find+past=found know+past=knew buy+past=bought sell+past=sold read+past=read write+past=wrote
    eat+past=ate sleep+past=slept run+past=ran sing+past=sang swim+past=swam leave+past=left
    cry+past=cried carry+past=carried cry+3sg=cries carry+3sg=carries"""
ENGLISH = dict(entry.split("=") for entry in _IRREGULAR.split())

# The letters a to z in each alphabet.
_ALPHABETS = {
    "Cyrl": "абцдефгхийклмнопкрстуввщыз",
    "Grek": "αβκδεφγχιικλμνοπκρστυωωξυζ",
    "Arab": "ابكدئفغهيجقلمنوپقرستؤڤوخیز",
    "Hebr": "אבקדהצגחיגכלמנעפקרסתוטושיז",
    "Deva": "ाबकदेफगहिजखलमनोपकरसतुवववयझ",
    "Taml": "ாணகடெஃஙஹிஜகலமநொபகரஸதுவவஷயழ",
    "Telu": "ాబకదెఫగహిజకలమనొపకరసతువవషయజ",
    "Thai": "าบคดเฟกหิจคลมนโปครสตุววขยซ",
}
# The vowels a, e, i, o, u that follow no consonant, in scripts that hang vowels on consonants.
_INDEPENDENT = {"Deva": "अएइओउ", "Taml": "அஎஇஒஉ", "Telu": "అఎఇఒఉ", "Thai": "อแอโอ"}
_KANA: list[str] = re.findall(
    "[ァ-ヶ][ァィゥェォ]?",
    "アエイオウパペピポプタテティトトゥカケキコクバベビボブダデディドドゥガゲギゴグマメミモム"
    "ナネニノヌラレリロルサセシソスザゼジゾズファフェフィフォフヴァヴェヴィヴォヴハヘヒホフュ",
)
UNSPACED = frozenset(("Hani", "Jpan", "Thai"))
PUNCTUATION = {"Hani": "。，？", "Jpan": "。、？", "Deva": "।,?", "Arab": ".،؟", "Grek": ".,;"}
"""Full stop, comma and question mark of a script; the others have ``.,?``."""
# Letters that some language or script doesn't tell apart.
_CONFUSED = str.maketrans("bvfdghzreou", "ppptkksla" + "uu")


@cache
def roots(genus: str) -> dict[str, str]:
    """Return the roots of a genus by concept; no sound change makes two of them one."""
    if genus == "Germanic":
        return {concept: concept for concept in CONCEPTS} | ENGLISH
    by_concept: dict[str, str] = {name: name for name in NAMES}
    used: set[str] = set()
    for concept in CONCEPTS:
        rng = Random(derive_seed(0, "root", genus, concept))
        syllables = 1 if concept in GRAMMATICAL else 2
        while concept not in by_concept:
            root = "".join(_syllable(rng) for _ in range(syllables))
            if root.translate(_CONFUSED) not in used:
                used.add(root.translate(_CONFUSED))
                by_concept[concept] = root
    return by_concept


def _syllable(rng: Random) -> str:
    coda = rng.choice(_CONSONANTS[4:11]) if rng.random() < 0.4 else ""
    return rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + coda


@cache
def ending(genus: str, marks: str) -> str:
    """Return the ending that expresses ``marks`` (``plural``, ``past+3pl``) in a genus."""
    if genus == "Germanic" and marks in ENGLISH:
        return ENGLISH[marks]
    rng = Random(derive_seed(0, "ending", genus, marks))
    return rng.choice(_VOWELS) + rng.choice(_CONSONANTS[2:13])


def changed(letters: str, changes: str) -> str:
    """Apply the sound changes of a language, ``th>d oo>u``, all at once: ``tooth`` -> ``tud``."""
    rules = dict(rule.split(">") for rule in changes.split())
    if not rules:
        return letters
    longest_first = sorted(rules, key=len, reverse=True)
    return re.sub("|".join(longest_first), lambda found: rules[found[0]], letters)


def spelled(letters: str, script: str) -> str:
    """Write ``letters`` in a script (ISO 15924)."""
    if script == "Latn":
        return letters
    if script in ("Hani", "Jpan", "Hang"):
        consonants = str.maketrans("cqwxyjr", "kkvsii" + ("r" if script == "Hang" else "l"))
        letters = letters.translate(consonants)
        return "".join(_syllabic(script, *parts) for parts in _SYLLABLE.findall(letters))
    if script in _INDEPENDENT:
        independent = str.maketrans(_VOWELS, _INDEPENDENT[script])
        letters = re.sub("(?<![^aeiou])[aeiou]", lambda at: at[0].translate(independent), letters)
    return letters.translate(str.maketrans(ascii_lowercase, _ALPHABETS[script]))


_SYLLABLE = re.compile(r"([^aeiou]?)([aeiou])((?:[^aeiou](?![aeiou]))?)|([^aeiou])")
# The numbers of the consonants, in their order above, within a block of Hangul.
_ONSETS = (17, 16, 15, 7, 3, 0, 6, 2, 5, 4, 9, 12, 14, 8, 18)
_CODAS = (26, 25, 24, 17, 7, 1, 16, 4, 8, 9, 19, 22, 23, 18, 27)


def _syllabic(script: str, onset: str, vowel: str, coda: str, alone: str) -> str:
    """Return a syllable as one character, or as kana and what closes it."""
    onset, number = onset or alone, _VOWELS.index(vowel or "u")
    if script == "Hang":
        first = _ONSETS[_CONSONANTS.index(onset)] if onset in _CONSONANTS and onset else 11
        last = _CODAS[_CONSONANTS.index(coda)] if coda else 0
        return chr(0xAC00 + (first * 21 + (0, 4, 20, 8, 13)[number]) * 28 + last)
    first, last = (" ptkbdgmnlszfvh".index(letter or " ") for letter in (onset, coda))
    if script == "Jpan":
        closing = "ン" if coda in "mn" else _KANA[5 * last + 4]
        return _KANA[5 * first + number] + closing * bool(coda)
    return chr(0x4E00 + 20 + (first * 5 + number) * 15 + last)
