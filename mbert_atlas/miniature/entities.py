"""Named entities: meanings that have some, and the tags that their words get in every language.

An entity is a name, or a name and what belongs to it: ``Ivan of Moscow`` is a person, ``hospital of
Paris`` an organisation, ``castle of Cairo`` a place. So a place's name may be a part of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mbert_atlas.miniature.concepts import (
    KIND,
    LOCATIONS,
    ORGANISATIONS,
    PEOPLE,
    PRONOUNS,
    SCENES,
    Teller,
)
from mbert_atlas.miniature.language import Sentence
from mbert_atlas.miniature.meanings import (
    Circumstance,
    Clause,
    Meaning,
    Thing,
    draw_meaning,
    pronoun_for,
)

_PEOPLE = tuple(PEOPLE)
_CITIES = LOCATIONS[:6]
_INSTITUTIONS = ("school", "hospital")
_SIGHTS = ("castle", "market", "garden", "forest", "island")


def draw_person(rng: Teller) -> Thing:
    """Draw a person with a name, now and then with where they come from."""
    origin = Thing(rng.choice(LOCATIONS)) if rng.random() < 0.3 else None
    return Thing(rng.choice(_PEOPLE), owner=origin)


def draw_institution(rng: Teller) -> Thing:
    """Draw an organisation with the name of its city."""
    return Thing(rng.choice(_INSTITUTIONS), "definite", owner=Thing(rng.choice(_CITIES)))


def draw_location(rng: Teller) -> Thing:
    """Draw a place with a name, or a part of one."""
    name = Thing(rng.choice(LOCATIONS))
    return Thing(rng.choice(_SIGHTS), "definite", owner=name) if rng.random() < 0.3 else name


def _named(rng: Teller, thing: Thing) -> Thing:
    """Put a name in the place of persons and places, or leave the thing as it is."""
    if thing.partner is not None or rng.random() < 0.5:
        return thing
    kind = "person" if thing.noun in PEOPLE else KIND.get(thing.noun, thing.noun)
    if kind == "person":
        return draw_person(rng)
    if kind == "place" or thing.noun in LOCATIONS:
        return draw_institution(rng) if rng.random() < 0.3 else draw_location(rng)
    return thing


def _with_names(rng: Teller, clause: Clause) -> Clause:
    subject = clause.subject
    if subject.noun not in PRONOUNS and clause.predicate not in KIND.values():
        subject = _named(rng, subject)
    if clause.predicate in ("buy", "sell") and rng.random() < 0.5:
        subject = Thing(rng.choice(ORGANISATIONS)) if rng.random() < 0.6 else draw_institution(rng)
    return replace(
        clause,
        subject=subject,
        object=None if clause.object is None else _named(rng, clause.object),
        circumstances=tuple(
            Circumstance(one.adposition, _named(rng, one.thing)) for one in clause.circumstances
        ),
    )


def draw_named_meaning(rng: Teller) -> Meaning:
    """Draw what a sentence says that names someone or something."""
    while True:
        rng.scene = rng.choice(SCENES)
        meaning = draw_meaning(rng)
        first = _with_names(rng, meaning.first)
        second = meaning.second
        if second is not None:
            if second.subject.noun in PRONOUNS and first.subject != meaning.first.subject:
                pronoun = pronoun_for(first.subject)
                second = replace(second, subject=Thing(pronoun, plural=pronoun == "they"))
            second = _with_names(rng, second)
        meaning = Meaning(first, meaning.connective, second)
        if next(entities(meaning), None) is not None:
            return meaning


def entities(meaning: Meaning) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the entities of a meaning: type, and sources of the words that belong to it."""
    for path, clause in (("1", meaning.first), ("2", meaning.second)):
        if clause is None:
            continue
        yield from _entities(clause.subject, path + ".subject")
        if clause.object is not None:
            yield from _entities(clause.object, path + ".object")
        for index, circumstance in enumerate(clause.circumstances):
            yield from _entities(circumstance.thing, f"{path}.{index}")


def _entities(thing: Thing, path: str) -> Iterator[tuple[str, frozenset[str]]]:
    kind = _type_of(thing)
    owner = thing.owner
    if kind is not None:
        sources = {path + ".noun"}
        if owner is not None:
            sources |= {path + ".owner.noun", path + ".owner.adposition"}
        yield kind, frozenset(sources)
    elif owner is not None:
        yield from _entities(owner, path + ".owner")
    if thing.partner is not None:
        yield from _entities(thing.partner, path + ".partner")


def _type_of(thing: Thing) -> str | None:
    if thing.noun in PEOPLE:
        return "PER"
    if thing.noun in ORGANISATIONS:
        return "ORG"
    if thing.noun in LOCATIONS:
        return "LOC"
    if thing.owner is None or thing.owner.noun not in LOCATIONS:
        return None
    return "ORG" if thing.noun in _INSTITUTIONS else "LOC"


def tagged(sentence: Sentence, meaning: Meaning) -> list[tuple[str, str]]:
    """Return the words of a sentence with their tags in IOB2.

    Words are orthographic tokens, or characters where the script puts no spaces, as in WikiANN. A
    token that expresses an entity together with grammar (a preposition written on to a name)
    counts as a word of the entity.
    """
    named = list(entities(meaning))
    units: list[tuple[str, str]] = []
    before: int | None = None
    for token in sentence.tokens:
        sources = {source for word in sentence.sources[token.start : token.stop] for source in word}
        inside = next(
            (number for number, (_, wanted) in enumerate(named) if wanted & sources), None
        )
        for piece in sentence.units(token):
            if inside is None:
                units.append((piece, "O"))
            else:
                units.append((piece, f"{'I' if inside == before else 'B'}-{named[inside][0]}"))
            before = inside
    return units
