"""Pairs of clauses of which the second follows from the first, contradicts it, or is left open.

The pairs assume what annotators of natural language inference are instructed to assume: both
sentences describe the same event and the same participants. Under that assumption

- a clause entails what is left of it when modifiers are dropped, nouns are generalised to their
  kind, determiners are weakened, one of two subjects is left out, or the order changes; of a denied
  clause only the subject may be weakened;
- it contradicts its own denial, and a clause that puts an opposite adjective or verb, another
  number, or another noun of the same kind (as object, or as the place in which it happens) into it;
- it leaves open what it doesn't mention: a new modifier, a more specific noun, another predicate.

An edit makes one such change to a clause, or returns None where there is nothing to change.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mbert_atlas.miniature import concepts, meanings
from mbert_atlas.miniature.concepts import ADJECTIVES, HYPONYMS, KIND, NUMERALS, OPPOSITES, Sampler
from mbert_atlas.miniature.meanings import Circumstance, Clause, Thing


def draw_premise(rng: Sampler) -> Clause:
    """Draw a clause with enough detail to be weakened, opposed and enriched."""
    while True:
        clause = meanings.draw_clause(rng)
        subject = clause.subject
        details = (clause.object, clause.time, clause.manner, subject.adjective, subject.partner)
        richness = sum(one is not None for one in details) + len(clause.circumstances)
        needed = 1 + (clause.negated and subject.adjective is None)
        if clause.predicate not in HYPONYMS and not clause.time_first and richness >= needed:
            return clause


def _edited(
    rng: Sampler, edits: Sequence[Callable[..., Clause | None]], *clauses: Clause
) -> Clause | None:
    """Return what the first of ``edits`` that applies, in random order, makes of ``clauses``."""
    tried = (edit(rng, *clauses) for edit in rng.sample(edits, len(edits)))
    return next((made for made in tried if made is not None), None)


def _put(clause: Clause, role: str, thing: Thing | None) -> Clause | None:
    """Put a thing, if there is one, into a clause as its subject or object."""
    change: dict[str, Any] = {role: thing}
    return None if thing is None else replace(clause, **change)


def _put_around(clause: Clause, index: int, *new: Circumstance) -> Clause:
    """Put ``new``, or nothing, in the place of a circumstance."""
    before, after = clause.circumstances[:index], clause.circumstances[index + 1 :]
    return replace(clause, circumstances=(*before, *new, *after))


def _lighter(rng: Sampler, thing: Thing, kinds: bool = True) -> Thing | None:
    """Return a weaker description of ``thing``."""
    counted = thing.determiner in (*NUMERALS, "many")
    general = KIND.get(thing.noun, thing.noun) if kinds and thing.partner is None else thing.noun
    lighter = (
        replace(thing, intensified=False),
        replace(thing, adjective=None, intensified=False),
        replace(thing, owner=None),
        replace(thing, determiner="indefinite" if counted else thing.determiner),
        *[replace(thing, noun=general)] * 3,
    )
    options = [one for one in lighter if one != thing]
    return rng.choice(options) if options else None


def _weaken_subject(rng: Sampler, clause: Clause) -> Clause | None:
    subject, partner = clause.subject, clause.subject.partner
    if partner is not None and rng.random() < 0.7:
        alone = replace(subject, partner=None)
        swapped = replace(partner, partner=alone)
        return replace(clause, subject=rng.choice((alone, partner, swapped)))
    return _put(clause, "subject", _lighter(rng, subject, clause.predicate not in ADJECTIVES))


def _weaken_object(rng: Sampler, clause: Clause) -> Clause | None:
    if clause.object is None or clause.negated:
        return None
    return _put(clause, "object", _lighter(rng, clause.object))


def _drop_circumstance(rng: Sampler, clause: Clause) -> Clause | None:
    if not clause.circumstances or clause.negated:
        return None
    index = rng.randrange(len(clause.circumstances))
    here = clause.circumstances[index]
    lighter = _lighter(rng, here.thing) if rng.random() < 0.5 else None
    return _put_around(clause, index, *([replace(here, thing=lighter)] if lighter else []))


def _drop_adverb(rng: Sampler, clause: Clause) -> Clause | None:
    options = []
    if clause.time is not None:
        options += [replace(clause, time=None, time_first=False), replace(clause, time_first=True)]
    if clause.manner is not None:
        options.append(replace(clause, manner=None))
    if clause.intensified:
        options.append(replace(clause, intensified=False))
    return rng.choice(options) if options and not clause.negated else None


_WEAKENING = (_weaken_subject, _weaken_object, _drop_circumstance, _drop_adverb)


def entailed(rng: Sampler, premise: Clause) -> Clause | None:
    """Return a different clause that follows from ``premise``, or None if there is none."""
    clause = _edited(rng, _WEAKENING, premise)
    return clause and _perhaps_weakened(rng, clause, 0.5)


def _perhaps_weakened(rng: Sampler, clause: Clause, chance: float) -> Clause:
    weakened = _edited(rng, _WEAKENING, clause) if rng.random() < chance else None
    return weakened or clause


def _opposites(word: str | None, noun: str) -> list[str]:
    """Return the opposites of a verb, or of an adjective those that go with the noun."""
    fitting = (*concepts.adjectives_of(noun), *concepts.VERBS)
    return [other for other in OPPOSITES.get(word or "", ()) if other in fitting]


def _oppose_predicate(rng: Sampler, clause: Clause) -> Clause | None:
    opposites = _opposites(clause.predicate, clause.subject.noun)
    return replace(clause, predicate=rng.choice(opposites)) if opposites else None


def _opposed(rng: Sampler, thing: Thing) -> Thing | None:
    opposites = _opposites(thing.adjective, thing.noun)
    if opposites and (thing.determiner not in NUMERALS or rng.random() < 0.5):
        return replace(thing, adjective=rng.choice(opposites))
    if thing.determiner in NUMERALS:
        return replace(thing, determiner=rng.choice([n for n in NUMERALS if n != thing.determiner]))
    return None


def _oppose_subject(rng: Sampler, clause: Clause) -> Clause | None:
    return _put(clause, "subject", _opposed(rng, clause.subject))


def _oppose_object(rng: Sampler, clause: Clause) -> Clause | None:
    thing = clause.object
    if thing is None:
        return None
    opposite = _opposed(rng, thing) if rng.random() < 0.5 else None
    kin = HYPONYMS.get(KIND.get(thing.noun, ""), ())
    others = [n for n in kin if n != thing.noun and n in concepts.VERBS[clause.predicate].objects]
    if opposite is None and others:
        opposite = replace(thing, noun=rng.choice(others))
    return _put(clause, "object", opposite)


def _oppose_place(rng: Sampler, clause: Clause) -> Clause | None:
    for index, here in enumerate(clause.circumstances):
        noun = here.thing.noun
        kin = HYPONYMS["place"] if noun in KIND else ()
        kin = concepts.CITIES if noun in concepts.CITIES else kin
        if here.adposition == "in" and kin:
            other = replace(here.thing, noun=rng.choice([n for n in kin if n != noun]))
            return _put_around(clause, index, replace(here, thing=other))
    return None


_OPPOSING = (_oppose_predicate, _oppose_subject, _oppose_object, _oppose_place)


def contradicting(rng: Sampler, premise: Clause) -> Clause:
    """Return a clause that can't be true if ``premise`` is."""
    clause = _perhaps_weakened(rng, premise, 0.5)
    denial = replace(clause, negated=not clause.negated, intensified=False)
    if premise.negated or rng.random() < 0.4:
        return denial
    return _edited(rng, _OPPOSING, clause) or denial


def denied_opposite(rng: Sampler, premise: Clause) -> Clause | None:
    """Return the denial of an opposite of ``premise``, which follows from it, or None."""
    opposite = None if premise.negated else _edited(rng, _OPPOSING, premise)
    return opposite and replace(opposite, negated=True, intensified=False)


def _describe(rng: Sampler, thing: Thing, known: Thing) -> Thing | None:
    """Add an adjective or a more specific noun that ``known`` leaves open."""
    if thing.noun in HYPONYMS and known.noun == thing.noun and thing.partner is None:
        return replace(thing, noun=rng.choice(HYPONYMS[thing.noun]))
    if thing.noun in concepts.NAMES or known.adjective is not None:
        return None
    return replace(thing, adjective=rng.choice(concepts.adjectives_of(thing.noun)))


def _describe_subject(rng: Sampler, premise: Clause, clause: Clause) -> Clause | None:
    subject = _describe(rng, clause.subject, premise.subject)
    decided = (premise.predicate, *OPPOSITES.get(premise.predicate, ()))
    if subject is None or subject.adjective in decided or premise.subject.partner is not None:
        return None
    return replace(clause, subject=subject)


def _describe_object(rng: Sampler, premise: Clause, clause: Clause) -> Clause | None:
    if clause.object is None or premise.object is None or clause.negated:
        return None
    return _put(clause, "object", _describe(rng, clause.object, premise.object))


def _add_circumstance(rng: Sampler, premise: Clause, clause: Clause) -> Clause | None:
    present = {circumstance.adposition for circumstance in premise.circumstances}
    company = present & {"with", "for"}
    place = present - company
    if clause.predicate in ADJECTIVES or clause.negated or (company and place):
        return None
    if place or (not company and rng.random() < 0.6):
        around = (*clause.circumstances, meanings.draw_company(rng, clause.predicate))
    else:
        around = (meanings.draw_place(rng, clause.predicate), *clause.circumstances)
    return replace(clause, circumstances=around)


def _add_adverb(rng: Sampler, premise: Clause, clause: Clause) -> Clause | None:
    if clause.negated:
        return None
    if premise.manner is None and clause.predicate not in ADJECTIVES and rng.random() < 0.6:
        return replace(clause, manner=rng.choice(concepts.MANNERS))
    if premise.time is None:
        excluded = ("now", "today") if premise.past else ("yesterday",)
        fitting = [time for time in concepts.TIMES if time not in excluded]
        return replace(clause, time=rng.choice(fitting), time_first=False)
    return None


def _change_predicate(rng: Sampler, premise: Clause, clause: Clause) -> Clause | None:
    other = meanings.draw_clause(rng, subject=clause.subject)
    described = {clause.subject.adjective, premise.subject.adjective}
    decided = {premise.predicate, *OPPOSITES.get(premise.predicate, ()), *described}
    if other.predicate in decided or other.predicate in HYPONYMS or other.negated:
        return None
    if described.intersection(OPPOSITES.get(other.predicate, ())):
        return None
    return replace(other, past=premise.past, time=None, time_first=False, negated=premise.negated)


_DESCRIBING = (_describe_subject, _describe_object)
_ENRICHING = (*_DESCRIBING, _add_circumstance, _add_adverb, _change_predicate)


def open_question(rng: Sampler, premise: Clause) -> Clause | None:
    """Return a clause that ``premise`` neither entails nor contradicts."""
    return _edited(rng, _ENRICHING, premise, _perhaps_weakened(rng, premise, 0.4))


_MAKERS = {"entailment": entailed, "neutral": open_question, "contradiction": contradicting}
LABELS = tuple(_MAKERS)


def draw_triple(rng: Sampler) -> tuple[Clause, dict[str, Clause]]:
    """Draw a premise and one hypothesis for each label."""
    while True:
        rng.scene = rng.choice(concepts.SCENES)
        premise = draw_premise(rng)
        clauses = {label: maker(rng, premise) for label, maker in _MAKERS.items()}
        hypotheses = {label: clause for label, clause in clauses.items() if clause}
        if len(hypotheses) == len(LABELS):
            return premise, hypotheses
