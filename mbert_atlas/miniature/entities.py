"""Named entities: meanings that have some, and the tags that their words get in every language.

An entity is a name, or a name and what belongs to it: ``Ivan of Moscow`` is a person, ``hospital of
Paris`` an organisation, ``castle of Cairo`` a place. So a place's name may be a part of either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mbert_atlas.miniature import concepts
from mbert_atlas.miniature.concepts import KIND, LOCATIONS, ORGANISATIONS, PEOPLE, Sampler
from mbert_atlas.miniature.meanings import Clause, Meaning, Thing, draw_meaning, pronoun_for
from mbert_atlas.miniature.sentences import Sentence

_PEOPLE = tuple(PEOPLE)
_CITIES = LOCATIONS[:6]
_INSTITUTIONS = ("school", "hospital")
_SIGHTS = ("castle", "market", "garden", "forest", "island")


def draw_person(rng: Sampler) -> Thing:
    """Draw a person with a name, sometimes with a place of origin."""
    origin = Thing(rng.choice(LOCATIONS)) if rng.random() < 0.3 else None
    return Thing(rng.choice(_PEOPLE), owner=origin)


def draw_institution(rng: Sampler) -> Thing:
    """Draw an organisation with the name of its city."""
    return Thing(rng.choice(_INSTITUTIONS), "definite", owner=Thing(rng.choice(_CITIES)))


def draw_location(rng: Sampler) -> Thing:
    """Draw a place with a name, or a part of one."""
    name = Thing(rng.choice(LOCATIONS))
    return Thing(rng.choice(_SIGHTS), "definite", owner=name) if rng.random() < 0.3 else name


def _named(rng: Sampler, thing: Thing) -> Thing:
    """Put a name in the place of persons and places, or leave the thing as it is."""
    if thing.partner is not None or rng.random() < 0.5:
        return thing
    kind = "person" if thing.noun in PEOPLE else KIND.get(thing.noun, thing.noun)
    if kind == "person":
        return draw_person(rng)
    if kind == "place" or thing.noun in LOCATIONS:
        return draw_institution(rng) if rng.random() < 0.3 else draw_location(rng)
    return thing


def _with_names(rng: Sampler, clause: Clause) -> Clause:
    subject = clause.subject
    if subject.noun not in concepts.PRONOUNS and clause.predicate not in KIND.values():
        subject = _named(rng, subject)
    if clause.predicate in ("buy", "sell") and rng.random() < 0.5:
        subject = Thing(rng.choice(ORGANISATIONS)) if rng.random() < 0.6 else draw_institution(rng)
    return replace(
        clause,
        subject=subject,
        object=None if clause.object is None else _named(rng, clause.object),
        circumstances=tuple(
            replace(one, thing=_named(rng, one.thing)) for one in clause.circumstances
        ),
    )


def draw_named_meaning(rng: Sampler) -> Meaning:
    """Draw the meaning of a sentence that names someone or something."""
    while True:
        rng.scene = rng.choice(concepts.SCENES)
        meaning = draw_meaning(rng)
        first = _with_names(rng, meaning.first)
        second = meaning.second
        if second is not None:
            if second.subject.noun in concepts.PRONOUNS and first.subject != meaning.first.subject:
                pronoun = pronoun_for(first.subject)
                second = replace(second, subject=Thing(pronoun, plural=pronoun == "they"))
            second = _with_names(rng, second)
        meaning = Meaning(first, meaning.connective, second)
        if next(entities(meaning), None) is not None:
            return meaning


def entities(meaning: Meaning) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the entities of a meaning: type, and sources of the words that belong to it."""
    for path, clause in (("1", meaning.first), ("2", meaning.second)):
        if clause is not None:
            around = ((str(n), one.thing) for n, one in enumerate(clause.circumstances))
            for role, thing in (("subject", clause.subject), ("object", clause.object), *around):
                yield from _entities(thing, f"{path}.{role}")


def _entities(thing: Thing | None, path: str) -> Iterator[tuple[str, frozenset[str]]]:
    if thing is None:
        return
    kind = _type_of(thing)
    if kind is None:
        yield from _entities(thing.owner, path + ".owner")
    else:
        owner = ("owner.noun", "owner.adposition") if thing.owner else ()
        yield kind, frozenset(f"{path}.{node}" for node in ("noun", *owner))
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
    for unit, sources in sentence.aligned_units():
        inside = next((n for n, (_, wanted) in enumerate(named) if wanted & sources), None)
        begun = "I" if inside == before else "B"
        units.append((unit, "O" if inside is None else f"{begun}-{named[inside][0]}"))
        before = inside
    return units
