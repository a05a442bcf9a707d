"""What a paragraph says: stories about a topic, in one scene, and foreign words in its telling.

A story states something and says it again in weaker words, denies the opposite, or adds to it. A
tenth of all sentences is held out: test sets are made of these, running texts and training sets of
the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from mbert_atlas.miniature.concepts import KIND, SCENES, Teller
from mbert_atlas.miniature.inference import denied_opposite, entailed, open_question
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES, Language
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning
from mbert_atlas.randomness import derive_seed

_TURNS = (entailed, denied_opposite, open_question)
_TURNED = 0.6
"""Share of statements that something follows."""
_ABOUT_TOPIC = 0.5


def draw_paragraph(
    rng: Teller, topic: str | None, sentences: int, opening: bool = False
) -> list[Meaning]:
    """Draw what a paragraph says.

    Args:
        rng: source of randomness; its scene stays.
        topic: noun or name that it is about, if any.
        sentences: how many statements it makes at least.
        opening: whether it begins with what the topic is.
    """
    told: list[Meaning] = []

    def tell(meaning: Meaning) -> None:
        if not is_held_out(meaning):
            told.append(meaning)

    if opening and topic in KIND:
        subject = Thing(topic, rng.choice(("definite", "indefinite")))
        tell(Meaning(Clause(subject, KIND[topic])))
    while len(told) < sentences:
        meaning = draw_meaning(rng, topic if rng.random() < _ABOUT_TOPIC else None)
        tell(meaning)
        if meaning.second is None and rng.random() < _TURNED:
            turned = rng.choice(_TURNS)(rng, meaning.first)
            if turned is not None:
                tell(Meaning(turned))
    return told


def is_held_out(meaning: Meaning) -> bool:
    """Say whether a sentence is for test sets; its English decides."""
    text = MINIATURE_LANGUAGES["en"].sentence(meaning).text
    return derive_seed(0, "held out", text) % 10 == 0


def draw_story(rng: Teller) -> list[Meaning]:
    """Draw a short paragraph of its own, in a scene of its own."""
    rng.scene = rng.choice(SCENES)
    return draw_paragraph(rng, None, rng.randint(1, 3))


def foreign_words(
    rng: Random, language: Language, languages: Sequence[Language], rate: float
) -> Callable[[str], str | None]:
    """Return what puts a concept into a foreign word now and then.

    Args:
        rng: source of randomness.
        language: the language told in.
        languages: all of the world, English first; of foreign words two thirds are English.
        rate: share of nouns, verbs and adjectives.
    """
    others = [other for other in languages if other is not language]

    def foreign(concept: str) -> str | None:
        if not others or rng.random() >= rate:
            return None
        return (others[0] if rng.random() < 2 / 3 else rng.choice(others)).citation(concept)

    return foreign
