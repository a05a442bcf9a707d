"""The content of paragraphs: stories about a topic, in one scene, and code-switching.

A story states something and repeats it in weaker words, denies the opposite, or adds to it. A tenth
of all sentences is held out: test sets consist of these, running texts and training sets of the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from mbert_atlas.miniature.concepts import KIND, SCENES, Sampler
from mbert_atlas.miniature.inference import denied_opposite, entailed, open_question
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES, Language
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning
from mbert_atlas.randomness import derive_seed

_FOLLOWING = (entailed, denied_opposite, open_question)
_FOLLOWED = 0.6
"""Fraction of statements that something follows."""
_ABOUT_TOPIC = 0.5


def draw_paragraph(
    rng: Sampler, topic: str | None, sentences: int, opening: bool = False
) -> list[Meaning]:
    """Draw the content of a paragraph.

    Args:
        rng: source of randomness; its scene stays.
        topic: noun or name that it is about, if any.
        sentences: least number of statements.
        opening: whether it begins with a definition of the topic.
    """
    meanings: list[Meaning] = []

    def add(meaning: Meaning) -> None:
        if not is_held_out(meaning):
            meanings.append(meaning)

    if opening and topic in KIND:
        subject = Thing(topic, rng.choice(("definite", "indefinite")))
        add(Meaning(Clause(subject, KIND[topic])))
    while len(meanings) < sentences:
        meaning = draw_meaning(rng, topic if rng.random() < _ABOUT_TOPIC else None)
        add(meaning)
        if meaning.second is None and rng.random() < _FOLLOWED:
            following = rng.choice(_FOLLOWING)(rng, meaning.first)
            if following is not None:
                add(Meaning(following))
    return meanings


def is_held_out(meaning: Meaning) -> bool:
    """Return whether a sentence is for test sets; its English decides."""
    text = MINIATURE_LANGUAGES["en"].sentence(meaning).text
    return derive_seed(0, "held out", text) % 10 == 0


def draw_story(rng: Sampler) -> list[Meaning]:
    """Draw a short paragraph in a random scene."""
    rng.scene = rng.choice(SCENES)
    return draw_paragraph(rng, None, rng.randint(1, 3))


def foreign_words(
    rng: Random, language: Language, languages: Sequence[Language], rate: float
) -> Callable[[str], str | None]:
    """Return what code-switches: it returns another language's word for some concepts.

    Args:
        rng: source of randomness.
        language: the language of the text.
        languages: languages of the code-switched tokens, English first: two thirds are English.
        rate: fraction of nouns, verbs and adjectives.
    """
    others = [other for other in languages if other is not language]

    def foreign(concept: str) -> str | None:
        if not others or rng.random() >= rate:
            return None
        return (others[0] if rng.random() < 2 / 3 else rng.choice(others)).citation(concept)

    return foreign
