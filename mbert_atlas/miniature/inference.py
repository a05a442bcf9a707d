"""Pairs of clauses of which the second follows from the first, contradicts it, or is left open.

The pairs assume what annotators of natural language inference are told to assume: both sentences
speak of the same event and the same participants. Under that assumption

- a clause entails what is left of it when modifiers are dropped, nouns are generalised to their
  kind, determiners are weakened, one of two subjects is left out, or the order changes; of a denied
  clause only the subject may be weakened;
- it contradicts its own denial, and a clause that puts an opposite adjective or verb, another
  number, or another noun of the same kind (as object, or as the place in which it happens) into it;
- it leaves open what it doesn't mention: a new modifier, a more special noun, another predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mbert_atlas.miniature.concepts import (
    HYPONYMS,
    KIND,
    LOCATIONS,
    MANNERS,
    NAMES,
    NUMERALS,
    OPPOSITES,
    SCENES,
    TIMES,
    VERBS,
    Teller,
    adjectives_of,
)
from mbert_atlas.miniature.meanings import (
    Circumstance,
    Clause,
    Thing,
    draw_clause,
    draw_company,
    draw_place,
    is_adjective,
)

LABELS = ("entailment", "neutral", "contradiction")
_CITIES = LOCATIONS[:6]
_Edit = Callable[[Teller, Clause, Clause], Clause | None]


def draw_premise(rng: Teller) -> Clause:
    """Draw a clause that says enough to be weakened, opposed and enriched."""
    while True:
        clause = draw_clause(rng)
        if clause.predicate in HYPONYMS or clause.time_first:
            continue
        richness = sum(
            (
                clause.object is not None,
                len(clause.circumstances),
                clause.time is not None,
                clause.manner is not None,
                clause.subject.adjective is not None,
                clause.subject.partner is not None,
            )
        )
        if richness >= 1 + (clause.negated and clause.subject.adjective is None):
            return clause


# ---- what follows


def _lighter(rng: Teller, thing: Thing, kinds: bool) -> Thing | None:
    """Return a weaker description of ``thing``."""
    options = []
    if thing.intensified:
        options.append(replace(thing, intensified=False))
    if thing.adjective is not None:
        options.append(replace(thing, adjective=None, intensified=False))
    if thing.owner is not None:
        options.append(replace(thing, owner=None))
    if thing.determiner in NUMERALS or thing.determiner == "many":
        options.append(replace(thing, determiner="indefinite"))
    if thing.noun in KIND and kinds and thing.partner is None:
        options += [replace(thing, noun=KIND[thing.noun])] * 3
    return rng.choice(options) if options else None


def _weaken_subject(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    subject = clause.subject
    if subject.partner is not None and rng.random() < 0.7:
        first = replace(subject, partner=None)
        kept = rng.choice((first, subject.partner, None))
        if kept is None:
            swapped = replace(subject.partner, partner=first)
            return replace(clause, subject=swapped)
        return replace(clause, subject=kept)
    lighter = _lighter(rng, subject, kinds=not is_adjective(clause.predicate))
    return None if lighter is None else replace(clause, subject=lighter)


def _weaken_object(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if clause.object is None or clause.negated:
        return None
    lighter = _lighter(rng, clause.object, kinds=True)
    return None if lighter is None else replace(clause, object=lighter)


def _drop_circumstance(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if not clause.circumstances or clause.negated:
        return None
    index = rng.randrange(len(clause.circumstances))
    kept = list(clause.circumstances)
    here = kept.pop(index)
    lighter = _lighter(rng, here.thing, kinds=True) if rng.random() < 0.5 else None
    if lighter is not None:
        kept.insert(index, Circumstance(here.adposition, lighter))
    return replace(clause, circumstances=tuple(kept))


def _drop_adverb(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if clause.negated:
        return None
    options = []
    if clause.time is not None:
        options += [replace(clause, time=None, time_first=False), replace(clause, time_first=True)]
    if clause.manner is not None:
        options.append(replace(clause, manner=None))
    if clause.intensified:
        options.append(replace(clause, intensified=False))
    return rng.choice(options) if options else None


_WEAKENING: tuple[_Edit, ...] = (_weaken_subject, _weaken_object, _drop_circumstance, _drop_adverb)


def _weakened(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    edits = rng.sample(_WEAKENING, len(_WEAKENING))
    return next((made for edit in edits if (made := edit(rng, premise, clause)) is not None), None)


def entailed(rng: Teller, premise: Clause) -> Clause | None:
    """Return a different clause that follows from ``premise``, or None if there is none."""
    clause = _weakened(rng, premise, premise)
    if clause is not None and rng.random() < 0.5:
        return _weakened(rng, premise, clause) or clause
    return clause


# ---- what can't be true as well


def _deny(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    return replace(clause, negated=not clause.negated, intensified=False)


def _oppose_predicate(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    opposites = sorted(OPPOSITES.get(clause.predicate, ()))
    if is_adjective(clause.predicate):
        fitting = adjectives_of(clause.subject.noun)
        opposites = [other for other in opposites if other in fitting]
    return replace(clause, predicate=rng.choice(opposites)) if opposites else None


def _opposed(rng: Teller, thing: Thing) -> Thing | None:
    fitting = adjectives_of(thing.noun)
    opposites = [
        other for other in sorted(OPPOSITES.get(thing.adjective or "", ())) if other in fitting
    ]
    if opposites and (thing.determiner not in NUMERALS or rng.random() < 0.5):
        return replace(thing, adjective=rng.choice(opposites))
    if thing.determiner in NUMERALS:
        return replace(thing, determiner=rng.choice([n for n in NUMERALS if n != thing.determiner]))
    return None


def _oppose_subject(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    made = _opposed(rng, clause.subject)
    return None if made is None else replace(clause, subject=made)


def _oppose_object(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if clause.object is None:
        return None
    made = _opposed(rng, clause.object) if rng.random() < 0.5 else None
    noun = clause.object.noun
    siblings = [n for n in HYPONYMS.get(KIND.get(noun, ""), ()) if n != noun]
    siblings = [n for n in siblings if n in VERBS[clause.predicate].objects]
    if made is None and siblings:
        made = replace(clause.object, noun=rng.choice(siblings))
    return None if made is None else replace(clause, object=made)


def _oppose_place(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    for index, circumstance in enumerate(clause.circumstances):
        noun = circumstance.thing.noun
        siblings = _CITIES if noun in _CITIES else HYPONYMS["place"] if noun in KIND else ()
        if circumstance.adposition == "in" and siblings:
            other = rng.choice([n for n in siblings if n != noun])
            circumstances = list(clause.circumstances)
            circumstances[index] = Circumstance("in", replace(circumstance.thing, noun=other))
            return replace(clause, circumstances=tuple(circumstances))
    return None


_OPPOSING: tuple[_Edit, ...] = (_oppose_predicate, _oppose_subject, _oppose_object, _oppose_place)


def contradicting(rng: Teller, premise: Clause) -> Clause | None:
    """Return a clause that can't be true if ``premise`` is."""
    clause = premise
    if rng.random() < 0.5:
        clause = _weakened(rng, premise, premise) or premise
    if premise.negated or rng.random() < 0.4:
        return _deny(rng, premise, clause)
    edits = rng.sample(_OPPOSING, len(_OPPOSING))
    made = next((new for edit in edits if (new := edit(rng, premise, clause)) is not None), None)
    return made or _deny(rng, premise, clause)


def denied_opposite(rng: Teller, premise: Clause) -> Clause | None:
    """Return the denial of an opposite of ``premise``, which follows from it, or None."""
    if premise.negated:
        return None
    edits = rng.sample(_OPPOSING, len(_OPPOSING))
    made = next((new for edit in edits if (new := edit(rng, premise, premise)) is not None), None)
    return None if made is None else replace(made, negated=True, intensified=False)


# ---- what is left open


def _describe(rng: Teller, thing: Thing, known: Thing) -> Thing | None:
    """Add an adjective or a more special noun that ``known`` neither says nor excludes."""
    if thing.noun in HYPONYMS and known.noun == thing.noun and thing.partner is None:
        return replace(thing, noun=rng.choice(HYPONYMS[thing.noun]))
    if thing.noun in NAMES or known.adjective is not None:
        return None
    return replace(thing, adjective=rng.choice(adjectives_of(thing.noun)))


def _describe_subject(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    made = _describe(rng, clause.subject, premise.subject)
    if made is None or made.adjective in {premise.predicate, *OPPOSITES.get(premise.predicate, ())}:
        return None
    if premise.subject.partner is not None:
        return None
    return replace(clause, subject=made)


def _describe_object(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if clause.object is None or premise.object is None or clause.negated:
        return None
    made = _describe(rng, clause.object, premise.object)
    return None if made is None else replace(clause, object=made)


def _add_circumstance(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if is_adjective(clause.predicate) or clause.negated:
        return None
    present = {circumstance.adposition for circumstance in premise.circumstances}
    company = present & {"with", "for"}
    if present - company and company:
        return None
    draw = draw_company if present - company or (not company and rng.random() < 0.6) else draw_place
    added = draw(rng, clause.predicate)
    places = (
        (*clause.circumstances, added) if draw is draw_company else (added, *clause.circumstances)
    )
    return replace(clause, circumstances=places)


def _add_adverb(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    if clause.negated:
        return None
    if premise.manner is None and not is_adjective(clause.predicate) and rng.random() < 0.6:
        return replace(clause, manner=rng.choice(MANNERS))
    if premise.time is None:
        fitting = [
            t
            for t in TIMES
            if (t == "yesterday") <= premise.past and not (t in ("now", "today") and premise.past)
        ]
        return replace(clause, time=rng.choice(fitting), time_first=False)
    return None


def _change_predicate(rng: Teller, premise: Clause, clause: Clause) -> Clause | None:
    subject = clause.subject
    other = draw_clause(rng, subject=subject)
    known = {premise.predicate, *OPPOSITES.get(premise.predicate, ())}
    described = {subject.adjective, premise.subject.adjective}
    if other.predicate in known | described or other.predicate in HYPONYMS or other.negated:
        return None
    if any(adjective in OPPOSITES.get(other.predicate, ()) for adjective in described):
        return None
    return replace(other, past=premise.past, time=None, time_first=False, negated=premise.negated)


_ENRICHING: tuple[_Edit, ...] = (
    _describe_subject,
    _describe_object,
    _add_circumstance,
    _add_adverb,
    _change_predicate,
)


def open_question(rng: Teller, premise: Clause) -> Clause | None:
    """Return a clause of which ``premise`` doesn't say whether it is true."""
    clause = premise
    if rng.random() < 0.4:
        clause = _weakened(rng, premise, premise) or premise
    edits = rng.sample(_ENRICHING, len(_ENRICHING))
    return next((made for edit in edits if (made := edit(rng, premise, clause)) is not None), None)


_MAKERS = {"entailment": entailed, "neutral": open_question, "contradiction": contradicting}


def draw_triple(rng: Teller) -> tuple[Clause, dict[str, Clause]]:
    """Draw a premise and one hypothesis for each label."""
    while True:
        rng.scene = rng.choice(SCENES)
        premise = draw_premise(rng)
        made = {label: maker(rng, premise) for label, maker in _MAKERS.items()}
        hypotheses = {label: clause for label, clause in made.items() if clause is not None}
        if len(hypotheses) == len(LABELS):
            return premise, hypotheses
