"""Meanings: small trees of concepts, drawn at random, independent of any language.

A named entity is a name, or a name and what belongs to it: ``Ivan of Moscow`` is a person,
``hospital of Paris`` an organisation, ``castle of Cairo`` a place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from mbert_atlas.miniature import concepts
from mbert_atlas.miniature.concepts import HYPONYMS, KIND, LOCATIONS, NAMES, PLACES, VERBS, Sampler

Asked = Literal["subject", "object", "place"]


@dataclass(frozen=True, slots=True)
class Thing:
    """Whom or what a noun phrase stands for."""

    noun: str  # a common noun, a name or a pronoun
    determiner: str = ""  # definite, indefinite, this, many or a numeral; names have none
    plural: bool = False
    adjective: str | None = None
    intensified: bool = False  # whether its adjective holds very much so
    owner: "Thing | None" = None
    partner: "Thing | None" = None  # who or what else is meant (the man and the woman)


@dataclass(frozen=True, slots=True)
class Circumstance:
    """Where, with whom, for whom: an adposition and a thing."""

    adposition: str
    thing: Thing


@dataclass(frozen=True, slots=True)
class Clause:
    """One state of affairs."""

    subject: Thing
    predicate: str  # a verb, an adjective (the dog is big) or a kind (a dog is an animal)
    object: Thing | None = None  # of transitive verbs
    circumstances: tuple[Circumstance, ...] = ()  # at most two, of different adpositions
    time: str | None = None  # an adverb, like the manner
    manner: str | None = None
    negated: bool = False
    past: bool = False
    intensified: bool = False  # whether an adjective predicate holds very much so
    time_first: bool = False  # whether the time opens the sentence; the sense is the same
    asked: Asked | None = None  # what a question is about; None in statements


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a sentence: a clause, or two joined by ``and``, ``but`` or ``because``."""

    first: Clause
    connective: str | None = None
    second: Clause | None = None


_COMPANIONS = (*HYPONYMS["person"], *HYPONYMS["animal"], *concepts.PEOPLE)
_VERBS_BY_SUBJECT, _VERBS_BY_OBJECT = (
    {
        noun: [verb for verb, entry in VERBS.items() if noun in entry[role]]
        for noun in chain.from_iterable(entry[role] for entry in VERBS.values())
    }
    for role in (0, 1)
)
_SIGHTS = ("castle", "market", "garden", "forest", "island")
_INSTITUTIONS = ("school", "hospital")
_TYPES = {
    **dict.fromkeys(concepts.PEOPLE, "PER"),
    **dict.fromkeys(concepts.ORGANISATIONS, "ORG"),
    **dict.fromkeys(LOCATIONS, "LOC"),
}
_DENIED = 0.12  # fraction of clauses
_USUAL = (*_COMPANIONS, *concepts.ORGANISATIONS)
_LIKE = {"he": "man", "she": "woman", "they": "man", "person": "man", "animal": "dog"}
"""Nouns that do what another noun does."""
_DESCRIBED = [noun for noun in (*KIND, *LOCATIONS) if KIND.get(noun) != "plant"]


def draw_thing(rng: Sampler, nouns: Sequence[str], *company: str, counted: bool = False) -> Thing:
    """Draw a thing that is one of ``nouns``, in the context of the words ``company``.

    Only subjects and objects are ``counted``, so that no language needs oblique cases of numerals.
    """
    noun = rng.pick(nouns, *company)
    if noun in NAMES:
        return Thing(noun)
    if rng.random() < 0.07:
        noun = KIND.get(noun, noun)
    chance = rng.random()
    if counted and chance < 0.2:
        determiner, plural = (rng.choice(concepts.NUMERALS) if chance < 0.12 else "many"), True
    else:
        determiner = rng.choices(("definite", "indefinite", "this"), (60, 28, 12))[0]
        plural = rng.random() < 0.25
    adjective = rng.pick(concepts.adjectives_of(noun), noun) if rng.random() < 0.35 else None
    owner = draw_owner(rng) if determiner == "definite" and rng.random() < 0.12 else None
    very = adjective is not None and rng.random() < 0.12
    return Thing(noun, determiner, plural, adjective, very, owner)


def draw_owner(rng: Sampler) -> Thing:
    """Draw a person to whom something belongs."""
    noun = rng.pick(concepts.PERSONS)
    return Thing(noun) if noun in NAMES else Thing(noun, "definite", rng.random() < 0.15)


def draw_place(rng: Sampler, predicate: str) -> Circumstance:
    """Draw where ``predicate`` holds, or from or to where it goes."""
    moves = predicate in concepts.MOTION
    way = rng.choice(("in", "near", "to", "from") if moves else ("in", "in", "near"))
    return Circumstance(way, draw_thing(rng, PLACES, predicate))


def draw_company(rng: Sampler, predicate: str) -> Circumstance:
    """Draw with whom, or for whom, ``predicate`` is done."""
    if predicate in concepts.BENEFICIAL and rng.random() < 0.5:
        patrons = (*concepts.PERSONS, *concepts.ORGANISATIONS)
        return Circumstance("for", draw_thing(rng, patrons, predicate))
    return Circumstance("with", draw_thing(rng, _COMPANIONS, predicate))


def draw_subject(rng: Sampler, nouns: Sequence[str], *company: str) -> Thing:
    """Draw a subject: a thing, or now and then two."""
    subject = draw_thing(rng, nouns, *company, counted=True)
    if subject.determiner != "definite" or subject.owner is not None or rng.random() >= 0.15:
        return subject
    kin = HYPONYMS[KIND.get(subject.noun, subject.noun)]
    partner = rng.pick([noun for noun in kin if noun != subject.noun])
    return replace(subject, partner=Thing(partner, "definite", rng.random() < 0.2))


def draw_clause(rng: Sampler, topic: str | None = None, subject: Thing | None = None) -> Clause:
    """Draw a clause about a noun or name (as subject, object or place), or with a subject."""
    if topic is not None and subject is None:
        able = topic in _LIKE or topic in _VERBS_BY_SUBJECT
        around = rng.random() < (0.25 if able else 0.75)
        if around and (topic in _VERBS_BY_OBJECT or topic in PLACES):
            return _draw_around(rng, topic)
        subject = draw_subject(rng, (topic,))
    if subject is None:
        subject = draw_subject(rng, _DESCRIBED if rng.random() < 0.15 else _USUAL)
    noun = _LIKE.get(subject.noun, subject.noun)
    verbs = _VERBS_BY_SUBJECT.get(noun)
    chance = rng.random()
    if verbs and (chance >= 0.18 or noun in concepts.ORGANISATIONS):
        return _draw_action(rng, subject, rng.pick(verbs, noun))
    if subject.noun in KIND and subject.partner is None and chance < 0.06:
        return Clause(subject, KIND[noun])
    adjective = subject.adjective or ""
    ruled_out = (adjective, *concepts.OPPOSITES.get(adjective, ()))
    past, time, time_first = _draw_time(rng)
    negated = rng.random() < _DENIED
    fitting = [one for one in concepts.adjectives_of(noun) if one not in ruled_out]
    predicate = rng.pick(fitting, noun)
    very = not negated and rng.random() < 0.2
    return Clause(subject, predicate, None, (), time, None, negated, past, very, time_first)


def _draw_time(rng: Sampler) -> tuple[bool, str | None, bool]:
    """Draw whether it is over, an adverb that goes with it, and whether that comes first."""
    time = rng.choice(concepts.TIMES) if rng.random() < 0.35 else None
    past = rng.random() < 0.35
    if time in ("yesterday", "now", "today"):
        past = time == "yesterday"
    return past, time, time is not None and rng.random() < 0.4


def _draw_action(
    rng: Sampler,
    subject: Thing,
    predicate: str,
    object_: Thing | None = None,
    place: Circumstance | None = None,
) -> Clause:
    """Draw what goes with a verb, as far as it isn't given."""
    circumstances = [place] if place else []
    if place is None and rng.random() < 0.5:
        circumstances.append(draw_place(rng, predicate))
    if rng.random() < 0.22:
        circumstances.append(draw_company(rng, predicate))
    objects = [noun for noun in VERBS[predicate].objects if noun != subject.noun]
    if object_ is None and objects:
        object_ = draw_thing(rng, objects, predicate, counted=True)
    past, time, first = _draw_time(rng)
    manner = rng.pick(concepts.MANNERS, predicate) if rng.random() < 0.2 else None
    negated, around = rng.random() < _DENIED, tuple(circumstances)
    return Clause(subject, predicate, object_, around, time, manner, negated, past, False, first)


def _draw_around(rng: Sampler, topic: str) -> Clause:
    """Draw what someone else does to ``topic`` or there."""
    verbs = _VERBS_BY_OBJECT.get(topic, ())
    if topic in PLACES and (not verbs or rng.random() < 0.6):
        predicate = rng.pick(tuple(VERBS), topic)
        subject = draw_subject(rng, VERBS[predicate].subjects, predicate)
        place = replace(draw_place(rng, predicate), thing=draw_thing(rng, (topic,)))
        return _draw_action(rng, subject, predicate, place=place)
    predicate = rng.pick(verbs, topic)
    others = [noun for noun in VERBS[predicate].subjects if noun != topic]
    subject = draw_subject(rng, others, predicate)
    return _draw_action(rng, subject, predicate, draw_thing(rng, (topic,), counted=True))


def pronoun_for(thing: Thing) -> Thing:
    """Return the pronoun that refers to ``thing``."""
    if thing.plural or thing.partner is not None:
        return Thing("they", plural=True)
    return Thing("she" if thing.noun in concepts.FEMININE else "he")


def draw_meaning(rng: Sampler, topic: str | None = None) -> Meaning:
    """Draw the meaning of a sentence; see :func:`draw_clause` for ``topic``."""
    first = draw_clause(rng, topic)
    if rng.random() >= 0.25 or first.predicate in HYPONYMS:
        return Meaning(first)
    connective = rng.choice(("and", "but", "because"))
    again = first.subject.noun in concepts.HUMAN and rng.random() < 0.6
    second = draw_clause(rng, subject=pronoun_for(first.subject) if again else None)
    return Meaning(first) if second.predicate in HYPONYMS else Meaning(first, connective, second)


def draw_person(rng: Sampler) -> Thing:
    """Draw a person with a name, sometimes with a place of origin."""
    origin = Thing(rng.choice(LOCATIONS)) if rng.random() < 0.3 else None
    return Thing(rng.choice(tuple(concepts.PEOPLE)), owner=origin)


def draw_institution(rng: Sampler) -> Thing:
    """Draw an organisation with the name of its city."""
    return Thing(rng.choice(_INSTITUTIONS), "definite", owner=Thing(rng.choice(concepts.CITIES)))


def draw_named_place(rng: Sampler) -> Thing:
    """Draw an institution, a place with a name, or a part of one."""
    if rng.random() < 0.3:
        return draw_institution(rng)
    name = Thing(rng.choice(LOCATIONS))
    return Thing(rng.choice(_SIGHTS), "definite", owner=name) if rng.random() < 0.3 else name


def _named(rng: Sampler, thing: Thing) -> Thing:
    """Put a name in the place of persons and places, or leave the thing as it is."""
    if thing.partner is not None or rng.random() < 0.5:
        return thing
    kind = "person" if thing.noun in concepts.PEOPLE else KIND.get(thing.noun, thing.noun)
    if kind == "person":
        return draw_person(rng)
    if kind == "place" or thing.noun in LOCATIONS:
        return draw_named_place(rng)
    return thing


def _with_names(rng: Sampler, clause: Clause) -> Clause:
    subject = clause.subject
    if subject.noun not in concepts.PRONOUNS and clause.predicate not in KIND.values():
        subject = _named(rng, subject)
    if clause.predicate in ("buy", "sell") and rng.random() < 0.5:
        is_named = rng.random() < 0.6
        subject = Thing(rng.choice(concepts.ORGANISATIONS)) if is_named else draw_institution(rng)
    thing = clause.object and _named(rng, clause.object)
    around = tuple(replace(one, thing=_named(rng, one.thing)) for one in clause.circumstances)
    return replace(clause, subject=subject, object=thing, circumstances=around)


def draw_named_meaning(rng: Sampler) -> Meaning:
    """Draw the meaning of a sentence that names someone or something."""
    while True:
        rng.scene = rng.choice(concepts.SCENES)
        meaning = draw_meaning(rng)
        first = _with_names(rng, meaning.first)
        second = meaning.second
        if second is not None:
            if second.subject.noun in concepts.PRONOUNS and first.subject != meaning.first.subject:
                second = replace(second, subject=pronoun_for(first.subject))
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
    kind = _TYPES.get(thing.noun)
    if kind is None and thing.owner is not None and thing.owner.noun in LOCATIONS:
        kind = "ORG" if thing.noun in _INSTITUTIONS else "LOC"
    if kind is None:
        yield from _entities(thing.owner, path + ".owner")
    else:
        owner = ("owner.noun", "owner.adposition") if thing.owner else ()
        yield kind, frozenset(f"{path}.{node}" for node in ("noun", *owner))
    yield from _entities(thing.partner, path + ".partner")
