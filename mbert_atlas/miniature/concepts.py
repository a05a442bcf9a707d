"""What can be talked about: concepts, what kinds they are, and what goes with what.

A concept is named by an English word in lower case; that name is a key, never text. Every
synthetic language has words for all of them.
"""

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from random import Random
from typing import NamedTuple

from mbert_atlas.randomness import derive_seed


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Kind of noun -> the nouns of that kind; siblings exclude each other.
HYPONYMS: dict[str, tuple[str, ...]] = {
    "person": _words(
        "man woman boy girl teacher doctor student farmer king writer soldier merchant"
    ),
    "animal": ("dog", "cat", "horse", "bird", "cow", "wolf", "bear"),
    "place": _words("city village school hospital house garden market forest island castle"),
    "fruit": ("apple", "orange", "lemon", "pear"),
    "text": ("book", "letter", "newspaper", "story"),
    "tool": ("knife", "hammer", "axe"),
    "object": ("table", "chair", "box", "lamp", "clock"),
    "plant": ("tree", "flower", "rose"),
    "vehicle": ("car", "boat", "bicycle"),
}
KIND = {noun: kind for kind, nouns in HYPONYMS.items() for noun in nouns}
NOUNS = (*HYPONYMS, *KIND)

# Names of persons and pronouns, with their gender.
PEOPLE = {"anna": "f", "maria": "f", "sara": "f", "omar": "m", "ivan": "m", "lucas": "m"}
PRONOUNS = {"he": "m", "she": "f", "they": "m"}
LOCATIONS = ("paris", "berlin", "moscow", "delhi", "madrid", "cairo", "india", "egypt")
CITIES = LOCATIONS[:6]
ORGANISATIONS = ("siemens", "toyota", "airbus", "reuters")
NAMES = frozenset((*PEOPLE, *LOCATIONS, *ORGANISATIONS))

INTERROGATIVES = ("who", "what", "where")  # never drawn as part of a statement
NUMERALS = ("three", "four", "five", "seven", "ten")
TIMES = ("now", "today", "yesterday", "often", "always", "sometimes")
MANNERS = ("quickly", "slowly", "quietly", "carefully")
# Concepts of grammar, whose words are short.
GRAMMATICAL = (
    *("very", *PRONOUNS, *NUMERALS, "definite", "indefinite", "this", "many"),
    *("in", "near", "with", "for", "of", "to", "from", "and", "but", "because", "not", "be"),
    *INTERROGATIVES,
)

PERSONS = (*HYPONYMS["person"], *PEOPLE)
_ANIMALS = HYPONYMS["animal"]
_GOODS = tuple(
    noun for kind in ("fruit", "tool", "object", "vehicle", "text") for noun in HYPONYMS[kind]
)
PLACES = (*HYPONYMS["place"], *LOCATIONS)
FEMININE = frozenset(("woman", "girl", *(name for name, gender in PEOPLE.items() if gender == "f")))
HUMAN = frozenset(("person", *PERSONS, *PRONOUNS))
ANIMATE = HUMAN | {"animal", *_ANIMALS}


class Verb(NamedTuple):
    """Who does it and, for a transitive verb, to what."""

    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()


_LIVING = (*PERSONS, *_ANIMALS)
_OPENED = ("box", "book", "letter", "school", "hospital", "market")
VERBS: dict[str, Verb] = {
    "see": Verb(_LIVING, (*_LIVING, *_GOODS, *HYPONYMS["plant"], *HYPONYMS["place"])),
    "find": Verb(_LIVING, (*_ANIMALS, *_GOODS, *HYPONYMS["plant"])),
    **dict.fromkeys(("love", "hate"), Verb(_LIVING, (*_LIVING, *PLACES))),
    "visit": Verb(PERSONS, (*PLACES, *PERSONS)),
    "follow": Verb(_LIVING, _LIVING),
    "know": Verb(PERSONS, (*PERSONS, *PLACES)),
    **dict.fromkeys(("buy", "sell"), Verb((*PERSONS, *ORGANISATIONS), _GOODS)),
    **dict.fromkeys(("read", "write"), Verb(PERSONS, HYPONYMS["text"])),
    "eat": Verb(_LIVING, HYPONYMS["fruit"]),
    "carry": Verb(_LIVING, (*HYPONYMS["tool"], *HYPONYMS["object"], *HYPONYMS["fruit"])),
    **dict.fromkeys(("open", "close"), Verb(PERSONS, _OPENED)),
    "paint": Verb(PERSONS, (*_ANIMALS, *HYPONYMS["plant"], *HYPONYMS["place"])),
    "sleep": Verb(_LIVING),
    "work": Verb(PERSONS),
    **dict.fromkeys(("run", "walk", "play"), Verb(_LIVING)),
    **dict.fromkeys(("laugh", "cry"), Verb(PERSONS)),
    "sing": Verb((*PERSONS, "bird")),
    **dict.fromkeys(("wait", "swim", "arrive", "leave"), Verb(_LIVING)),
    "dance": Verb(PERSONS),
}
MOTION = frozenset(("run", "walk", "swim"))  # to and from places
BENEFICIAL = frozenset(("work", "write", "sing", "buy", "paint", "carry", "dance"))  # for someone

_CREATURE = _words("big small old young good bad happy sad strong weak beautiful ugly tired hungry")
_PERSON = (*_CREATURE, "rich", "poor", "famous")
_THING = _words(
    "big small old new good bad black white red green clean dirty beautiful ugly long short heavy "
    "light expensive cheap"
)
_PLACE = _words("big small old new beautiful ugly clean dirty rich poor famous quiet")
ADJECTIVES = dict.fromkeys((*_PERSON, *_THING, *_PLACE))  # as keys, in a fixed order

_OPPOSITES = """
    big/small old/new old/young good/bad happy/sad strong/weak beautiful/ugly rich/poor black/white
    red/green clean/dirty long/short heavy/light expensive/cheap love/hate buy/sell open/close
    laugh/cry arrive/leave"""
_PAIRS = [pair.split("/") for pair in _OPPOSITES.split()]
# Adjective or verb -> those that cannot hold of the same thing at the same time.
OPPOSITES: dict[str, list[str]] = {
    word: sorted(other for pair in _PAIRS if word in pair for other in pair if other != word)
    for word in chain.from_iterable(_PAIRS)
}


def adjectives_of(noun: str) -> tuple[str, ...]:
    """Return the adjectives that go with ``noun`` (none with the name of an organisation)."""
    if noun in ORGANISATIONS:
        return ()
    kind = "person" if noun in PEOPLE else "place" if noun in LOCATIONS else KIND.get(noun, noun)
    return {"person": _PERSON, "animal": _CREATURE, "place": _PLACE}.get(kind, _THING)


CONCEPTS = (*NOUNS, *sorted(NAMES), *VERBS, *ADJECTIVES, *TIMES, *MANNERS, *GRAMMATICAL)

# How much more often a word occurs in a context that prefers it; each prefers a quarter of all.
_LIKING = 10.0
SCENES = tuple(f"scene {number}" for number in range(10))


class Sampler(Random):
    """A source of randomness that prefers some words in the context of others.

    Scenes, verbs and nouns prefer words at random, but the same ones always, so that apple and pear
    differ in their distributions.
    """

    scene = SCENES[0]

    def pick(self, options: Sequence[str], *company: str) -> str:
        """Draw one of ``options``, weighted by the preferences of the scene and of ``company``."""
        weights = _weights(tuple(options), (self.scene, *company))
        return self.choices(options, cum_weights=weights)[0]


@cache
def _weights(options: tuple[str, ...], company: tuple[str, ...]) -> list[float]:
    """Return cumulative weights, ``_LIKING`` to the power of how many of the company prefer one."""
    return list(accumulate(_LIKING ** sum(likes(one, to) for one in company) for to in options))


@cache
def likes(one: str, word: str) -> bool:
    """Return whether a word or scene prefers another word next to it."""
    return derive_seed(0, "likes", one, word) % 4 == 0
