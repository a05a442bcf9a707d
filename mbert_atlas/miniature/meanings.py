"""Meanings: small trees of concepts, drawn at random, that no language has put in order yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mbert_atlas.miniature.concepts import (
    ADJECTIVES,
    BENEFICIAL,
    FEMININE,
    HUMAN,
    HYPONYMS,
    KIND,
    LOCATIONS,
    MANNERS,
    MOTION,
    NAMES,
    NUMERALS,
    OPPOSITES,
    ORGANISATIONS,
    PEOPLE,
    TIMES,
    VERBS,
    Teller,
    adjectives_of,
)

Asked = Literal["subject", "object", "place"]


@dataclass(frozen=True, slots=True)
class Thing:
    """Whom or what a noun phrase stands for.

    Attributes:
        noun: a common noun, a name or a pronoun.
        determiner: ``definite``, ``indefinite``, ``this``, ``many`` or a numeral; empty for names
            and pronouns.
        plural: whether there are several.
        adjective: what it is like, or None.
        intensified: whether it is very much so.
        owner: whose it is, or None.
        partner: who or what else is meant (``the man and the woman``), or None.
    """

    noun: str
    determiner: str = ""
    plural: bool = False
    adjective: str | None = None
    intensified: bool = False
    owner: Thing | None = None
    partner: Thing | None = None


@dataclass(frozen=True, slots=True)
class Circumstance:
    """Where, with whom, for whom: an adposition and a thing."""

    adposition: str
    thing: Thing


@dataclass(frozen=True, slots=True)
class Clause:
    """One state of affairs.

    Attributes:
        subject: who or what.
        predicate: a verb, an adjective (``the dog is big``) or a kind (``a dog is an animal``).
        object: what is acted upon, for transitive verbs.
        circumstances: at most two, of different adpositions.
        time: an adverb of time, or None.
        manner: an adverb of manner, or None.
        negated: whether it is denied.
        past: whether it is over.
        intensified: whether an adjective predicate is very much so.
        time_first: whether the sentence opens with the time; changes the order, not the sense.
        asked: what a question asks for: ``subject``, ``object`` or ``place``; None in statements.
    """

    subject: Thing
    predicate: str
    object: Thing | None = None
    circumstances: tuple[Circumstance, ...] = ()
    time: str | None = None
    manner: str | None = None
    negated: bool = False
    past: bool = False
    intensified: bool = False
    time_first: bool = False
    asked: Asked | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """What one sentence says: a clause, or two joined by ``and``, ``but`` or ``because``."""

    first: Clause
    connective: str | None = None
    second: Clause | None = None


_COMMON_SUBJECTS = (*HYPONYMS["person"], *HYPONYMS["animal"])
_COMPANIONS = (*_COMMON_SUBJECTS, *PEOPLE)
_PATRONS = (*HYPONYMS["person"], *PEOPLE, *ORGANISATIONS)
_VERBS_BY_SUBJECT = {
    noun: tuple(verb for verb, entry in VERBS.items() if noun in entry.subjects)
    for noun in {noun for entry in VERBS.values() for noun in entry.subjects}
}
_VERBS_BY_OBJECT = {
    noun: tuple(verb for verb, entry in VERBS.items() if noun in entry.objects)
    for noun in {noun for entry in VERBS.values() for noun in entry.objects}
}
_PLACES = frozenset((*HYPONYMS["place"], *LOCATIONS))
_DENIED = 0.12
"""Share of clauses that are denied."""
_USUAL = (*_COMPANIONS, *ORGANISATIONS)
_LIKE = {"he": "man", "she": "woman", "they": "man", "person": "man", "animal": "dog"}
_DESCRIBED = tuple(noun for noun in (*KIND, *LOCATIONS) if KIND.get(noun) != "plant")


def draw_thing(rng: Teller, nouns: Sequence[str], *company: str, counted: bool = False) -> Thing:
    """Draw a thing that is one of ``nouns``.

    Args:
        rng: source of randomness.
        nouns: common nouns and names to choose from.
        company: words beside which it stands.
        counted: whether it may be a number of things (subjects and objects only, so that no
            language needs oblique cases of numerals).
    """
    noun = rng.pick(nouns, *company)
    if noun in NAMES:
        return Thing(noun)
    if rng.random() < 0.07:
        noun = KIND.get(noun, noun)
    chance = rng.random()
    if counted and chance < 0.2:
        determiner, plural = (rng.choice(NUMERALS) if chance < 0.12 else "many"), True
    else:
        determiner = rng.choices(("definite", "indefinite", "this"), (60, 28, 12))[0]
        plural = rng.random() < 0.25
    adjective = rng.pick(adjectives_of(noun), noun) if rng.random() < 0.35 else None
    owner = None
    if determiner == "definite" and rng.random() < 0.12:
        owner = draw_owner(rng)
    return Thing(
        noun, determiner, plural, adjective, adjective is not None and rng.random() < 0.12, owner
    )


def draw_owner(rng: Teller) -> Thing:
    """Draw a person to whom something belongs."""
    noun = rng.pick((*HYPONYMS["person"], *PEOPLE))
    return Thing(noun) if noun in NAMES else Thing(noun, "definite", rng.random() < 0.15)


def draw_place(rng: Teller, predicate: str) -> Circumstance:
    """Draw where ``predicate`` holds, or from or to where it goes."""
    ways = ("in", "near", "to", "from") if predicate in MOTION else ("in", "in", "near")
    nouns = (*HYPONYMS["place"], *LOCATIONS)
    return Circumstance(rng.choice(ways), draw_thing(rng, nouns, predicate))


def draw_company(rng: Teller, predicate: str) -> Circumstance:
    """Draw with whom, or for whom, ``predicate`` is done."""
    if predicate in BENEFICIAL and rng.random() < 0.5:
        return Circumstance("for", draw_thing(rng, _PATRONS, predicate))
    return Circumstance("with", draw_thing(rng, _COMPANIONS, predicate))


def draw_subject(rng: Teller, nouns: Sequence[str], *company: str) -> Thing:
    """Draw a subject: a thing, or now and then two."""
    subject = draw_thing(rng, nouns, *company, counted=True)
    if subject.determiner == "definite" and subject.owner is None and rng.random() < 0.15:
        siblings = [
            noun for noun in HYPONYMS[KIND.get(subject.noun, subject.noun)] if noun != subject.noun
        ]
        partner = Thing(rng.pick(siblings), "definite", rng.random() < 0.2)
        return Thing(
            subject.noun,
            "definite",
            subject.plural,
            subject.adjective,
            subject.intensified,
            None,
            partner,
        )
    return subject


def draw_clause(rng: Teller, topic: str | None = None, subject: Thing | None = None) -> Clause:
    """Draw a clause.

    Args:
        rng: source of randomness.
        topic: noun or name that the clause is about, as subject, object or place.
        subject: the subject, if it is settled already.
    """
    if topic is not None and subject is None:
        able = topic in _VERBS_BY_SUBJECT or topic in _LIKE
        if rng.random() < (0.25 if able else 0.75) and (
            topic in _VERBS_BY_OBJECT or topic in _PLACES
        ):
            return _draw_around(rng, topic)
        subject = draw_subject(rng, (topic,))
    if subject is None:
        subject = draw_subject(rng, _DESCRIBED if rng.random() < 0.15 else _USUAL)
    noun = _LIKE.get(subject.noun, subject.noun)
    verbs = _VERBS_BY_SUBJECT.get(noun, ())
    chance = rng.random()
    if verbs and (chance >= 0.18 or noun in ORGANISATIONS):
        return _draw_action(rng, subject, rng.pick(verbs, noun))
    if subject.noun in KIND and subject.partner is None and chance < 0.06:
        return Clause(subject, KIND[noun])
    ruled_out = {subject.adjective, *OPPOSITES.get(subject.adjective or "", ())}
    fitting = [adjective for adjective in adjectives_of(noun) if adjective not in ruled_out]
    past, time, time_first = _draw_time(rng)
    negated = rng.random() < _DENIED
    return Clause(
        subject,
        rng.pick(fitting, noun),
        time=time,
        negated=negated,
        past=past,
        intensified=not negated and rng.random() < 0.2,
        time_first=time_first,
    )


def _draw_time(rng: Teller) -> tuple[bool, str | None, bool]:
    """Draw tense, an adverb that goes with it, and whether that comes first."""
    time = rng.choice(TIMES) if rng.random() < 0.35 else None
    past = rng.random() < 0.35
    if time in ("yesterday", "now", "today"):
        past = time == "yesterday"
    return past, time, time is not None and rng.random() < 0.4


def _draw_action(
    rng: Teller,
    subject: Thing,
    predicate: str,
    object_: Thing | None = None,
    place: Circumstance | None = None,
) -> Clause:
    """Draw what goes with a verb, as far as it isn't given."""
    circumstances = [] if place is None else [place]
    if place is None and rng.random() < 0.5:
        circumstances.append(draw_place(rng, predicate))
    if rng.random() < 0.22:
        circumstances.append(draw_company(rng, predicate))
    objects = [noun for noun in VERBS[predicate].objects if noun != subject.noun]
    if object_ is None and objects:
        object_ = draw_thing(rng, objects, predicate, counted=True)
    past, time, time_first = _draw_time(rng)
    return Clause(
        subject,
        predicate,
        object_,
        tuple(circumstances),
        time,
        rng.pick(MANNERS, predicate) if rng.random() < 0.2 else None,
        rng.random() < _DENIED,
        past,
        time_first=time_first,
    )


def _draw_around(rng: Teller, topic: str) -> Clause:
    """Draw what someone else does to ``topic`` or there."""
    verbs = _VERBS_BY_OBJECT.get(topic, ())
    if topic in _PLACES and (not verbs or rng.random() < 0.6):
        predicate = rng.pick(tuple(VERBS), topic)
        subject = draw_subject(rng, VERBS[predicate].subjects, predicate)
        place = draw_place(rng, predicate)
        return _draw_action(
            rng, subject, predicate, None, replace(place, thing=draw_thing(rng, (topic,)))
        )
    predicate = rng.pick(verbs, topic)
    others = [noun for noun in VERBS[predicate].subjects if noun != topic]
    subject = draw_subject(rng, others, predicate)
    return _draw_action(rng, subject, predicate, draw_thing(rng, (topic,), counted=True))


def pronoun_for(thing: Thing) -> str:
    """Return the pronoun that takes up ``thing`` again."""
    if thing.plural or thing.partner is not None:
        return "they"
    return "she" if thing.noun in FEMININE else "he"


def draw_meaning(rng: Teller, topic: str | None = None) -> Meaning:
    """Draw what a sentence says; see :func:`draw_clause` for ``topic``."""
    first = draw_clause(rng, topic)
    if rng.random() >= 0.25 or first.predicate in HYPONYMS:
        return Meaning(first)
    connective = rng.choice(("and", "but", "because"))
    subject = None
    if first.subject.noun in HUMAN and rng.random() < 0.6:
        subject = Thing(pronoun_for(first.subject), plural=pronoun_for(first.subject) == "they")
    second = draw_clause(rng, subject=subject)
    if second.predicate in HYPONYMS:
        return Meaning(first)
    return Meaning(first, connective, second)


def is_adjective(predicate: str) -> bool:
    """Say whether a predicate is an adjective (else it is a verb or a kind)."""
    return predicate in _ADJECTIVES


_ADJECTIVES = frozenset(ADJECTIVES)
