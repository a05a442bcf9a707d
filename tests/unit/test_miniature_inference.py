"""Inference pairs of the miniature, against a prover of their stated notion of entailment."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mbert_atlas.miniature.concepts import HYPONYMS, KIND, LOCATIONS, NUMERALS, OPPOSITES, Sampler
from mbert_atlas.miniature.inference import LABELS, draw_triple
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import Circumstance, Clause, Meaning, Thing


def claims(thing: Thing) -> frozenset[object]:
    """Return what a noun phrase claims of what it stands for."""
    found: set[object] = {("noun", thing.noun), ("number", thing.determiner, thing.plural)}
    if thing.adjective:
        found.add(("adjective", thing.adjective))
    if thing.intensified:
        found.add("very")
    if thing.owner:
        found.add(("owner", claims(thing.owner)))
    return frozenset(found)


def consequences(thing: Thing) -> frozenset[object]:
    """Return all claims that follow from those of a noun phrase."""
    found = set(claims(thing))
    if thing.noun in KIND:
        found.add(("noun", KIND[thing.noun]))
    if thing.determiner in (*NUMERALS, "many"):
        found.add(("number", "indefinite", True))
    return frozenset(found)


def individuals(thing: Thing) -> list[Thing]:
    return [thing] if thing.partner is None else [replace(thing, partner=None), thing.partner]


def covers(general: Thing, special: Thing) -> bool:
    """Say whether all that ``general`` claims follows from ``special``."""
    return all(
        any(claims(one) <= consequences(other) for other in individuals(special))
        for one in individuals(general)
    )


def event(clause: Clause) -> tuple[object, ...]:
    return (clause.predicate, clause.object, clause.circumstances, clause.time, clause.manner)


def entails(premise: Clause, hypothesis: Clause) -> bool:
    if premise.negated != hypothesis.negated or premise.past != hypothesis.past:
        return False
    if not covers(hypothesis.subject, premise.subject):
        return False
    if premise.negated:
        return event(premise) == event(hypothesis)
    if premise.predicate != hypothesis.predicate or hypothesis.intensified > premise.intensified:
        return False
    if hypothesis.time not in (None, premise.time) or hypothesis.manner not in (
        None,
        premise.manner,
    ):
        return False
    if hypothesis.object and not (premise.object and covers(hypothesis.object, premise.object)):
        return False
    return all(
        any(
            mine.adposition == theirs.adposition and covers(mine.thing, theirs.thing)
            for theirs in premise.circumstances
        )
        for mine in hypothesis.circumstances
    )


def excluded_nouns(one: str, two: str) -> bool:
    cities = LOCATIONS[:6]
    siblings = one in KIND and KIND.get(two) == KIND[one]
    return one != two and (siblings or (one in cities and two in cities))


def repaired_things(mine: Thing, theirs: Thing, nouns: bool) -> Iterator[Thing]:
    """Yield ``mine`` with one claim that ``theirs`` excludes replaced by what ``theirs`` claims."""
    if theirs.adjective in OPPOSITES.get(mine.adjective or "", ()):
        yield replace(mine, adjective=theirs.adjective)
    if {mine.determiner, theirs.determiner} <= set(
        NUMERALS
    ) and mine.determiner != theirs.determiner:
        yield replace(mine, determiner=theirs.determiner)
    if nouns and excluded_nouns(mine.noun, theirs.noun):
        yield replace(mine, noun=theirs.noun)


def repairs(premise: Clause, hypothesis: Clause) -> Iterator[Clause]:
    """Yield the hypothesis with one conflict with the premise taken out."""
    if premise.predicate in OPPOSITES.get(hypothesis.predicate, ()):
        yield replace(hypothesis, predicate=premise.predicate)
    for thing in repaired_things(hypothesis.subject, premise.subject, nouns=False):
        yield replace(hypothesis, subject=thing)
    if hypothesis.object and premise.object:
        for thing in repaired_things(hypothesis.object, premise.object, nouns=True):
            yield replace(hypothesis, object=thing)
    for index, mine in enumerate(hypothesis.circumstances):
        for theirs in premise.circumstances:
            if mine.adposition == theirs.adposition == "in":
                for thing in repaired_things(mine.thing, theirs.thing, nouns=True):
                    changed = list(hypothesis.circumstances)
                    changed[index] = Circumstance("in", thing)
                    yield replace(hypothesis, circumstances=tuple(changed))


def contradicts(premise: Clause, hypothesis: Clause) -> bool:
    if premise.negated and hypothesis.negated:
        return False
    if hypothesis.negated:
        return entails(premise, replace(hypothesis, negated=False))
    if premise.negated:
        return (
            event(premise) == event(hypothesis)
            and premise.past == hypothesis.past
            and covers(hypothesis.subject, premise.subject)
        )
    return any(entails(premise, repaired) for repaired in repairs(premise, hypothesis))


def prove(premise: Clause, hypothesis: Clause) -> str:
    if entails(premise, hypothesis):
        return "entailment"
    return "contradiction" if contradicts(premise, hypothesis) else "neutral"


def test_the_prover_on_cases_decided_by_hand() -> None:
    dog = Thing("dog", "definite", adjective="old")
    garden = Circumstance("in", Thing("garden", "definite"))
    sleeps = Clause(dog, "sleep", circumstances=(garden,), time="now")
    animal = replace(dog, noun="animal", adjective=None)
    assert prove(sleeps, Clause(animal, "sleep")) == "entailment"
    assert prove(sleeps, Clause(dog, "sleep", negated=True)) == "contradiction"
    assert prove(sleeps, Clause(replace(dog, adjective="young"), "sleep")) == "contradiction"
    assert prove(sleeps, replace(sleeps, manner="quietly")) == "neutral"
    assert prove(Clause(animal, "sleep"), Clause(dog, "sleep")) == "neutral"
    denied = replace(sleeps, negated=True)
    assert prove(denied, Clause(dog, "sleep", negated=True)) == "neutral"
    assert prove(denied, replace(denied, subject=animal)) == "entailment"


def test_labels_are_proved() -> None:
    """Nor is denial a sure sign of a label, and nouns are generalised to their kinds."""
    rng, english, number = Sampler(11), MINIATURE_LANGUAGES["en"], 2000
    denied, kinds = dict.fromkeys(LABELS, 0), 0
    for _ in range(number):
        premise, hypotheses = draw_triple(rng)
        kinds += hypotheses["entailment"].subject.noun in HYPONYMS
        for label, hypothesis in hypotheses.items():
            denied[label] += hypothesis.negated
            assert prove(premise, hypothesis) == label, (
                english.sentence(Meaning(premise)).text,
                english.sentence(Meaning(hypothesis)).text,
            )
    assert 0.25 < denied["contradiction"] / number < 0.75
    assert min(denied["entailment"], denied["neutral"]) > 0.03 * number
    assert kinds > 0.1 * number


@pytest.mark.parametrize("code", list(MINIATURE_LANGUAGES))
def test_hypotheses_differ_from_premises_in_words(code: str) -> None:
    rng, language = Sampler(13), MINIATURE_LANGUAGES[code]
    for _ in range(50):
        premise, hypotheses = draw_triple(rng)
        text = language.sentence(Meaning(premise)).text
        contradiction = language.sentence(Meaning(hypotheses["contradiction"])).text
        assert text != contradiction
