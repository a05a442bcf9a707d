"""Short passages and questions about them that a span of the passage answers.

A passage is a few clauses with different verbs, so that the verb of a question points at one of
them; the answer is what that clause says as its subject, object or place, found by the sources of
its words. An answer's words stand once in the passage, in every language that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, get_args

from mbert_atlas.miniature.concepts import ANIMATE, HYPONYMS, NUMERALS, SCENES, VERBS, Teller
from mbert_atlas.miniature.entities import draw_institution, draw_location, draw_person
from mbert_atlas.miniature.language import Language, Sentence
from mbert_atlas.miniature.meanings import (
    Asked,
    Circumstance,
    Clause,
    Meaning,
    Thing,
    draw_clause,
)

_SENTENCES = (2, 3)


class Answer(NamedTuple):
    """A span of a passage; ``start`` counts characters."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about sentence ``sentence`` of a passage."""

    sentence: int
    asked: Asked


@dataclass(frozen=True, slots=True)
class Passage:
    """What a passage says, and questions about it."""

    clauses: tuple[Clause, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A passage in one language.

    Attributes:
        text: its sentences.
        questions: the questions in that language.
        answers: the answer to each; ``phrases`` are the same with articles and the like.
    """

    text: str
    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    phrases: tuple[Answer, ...]


def draw_passage(rng: Teller, languages: Sequence[Language], most: int) -> Passage:
    """Draw a passage with up to ``most`` questions (one at least).

    Args:
        rng: source of randomness.
        languages: languages in which every answer must stand once in the passage.
        most: most questions.
    """
    while True:
        rng.scene = rng.choice(SCENES)
        clauses: list[Clause] = []
        for _ in range(rng.randint(*_SENTENCES)):
            clauses.append(_draw_fact(rng, {clause.predicate for clause in clauses}))
        possible = [
            Question(number, asked)
            for number, clause in enumerate(clauses)
            for asked in get_args(Asked)
            if _asked_thing(clause, asked) is not None
        ]
        rng.shuffle(possible)
        told = [_told(language, clauses) for language in languages]
        chosen: list[Question] = []
        for question in possible:
            if len(chosen) < most and all(
                _is_unique(text, _answer(sentences, offsets, clauses, question, False))
                for text, sentences, offsets in told
            ):
                chosen.append(question)
        if chosen:
            return Passage(tuple(clauses), tuple(chosen))


def _draw_fact(rng: Teller, said: set[str]) -> Clause:
    """Draw an affirmative clause with a verb that was not said yet and, mostly, a place."""
    while True:
        clause = draw_clause(rng)
        if clause.predicate not in VERBS or clause.predicate in said:
            continue
        subject, thing = clause.subject, clause.object
        if subject.noun in HYPONYMS["person"] and subject.partner is None and rng.random() < 0.3:
            subject = draw_person(rng)
        if thing is not None and thing.noun in HYPONYMS["person"] and rng.random() < 0.3:
            thing = draw_person(rng)
        places = clause.circumstances
        if not places and rng.random() < 0.5:
            place = draw_institution(rng) if rng.random() < 0.3 else draw_location(rng)
            places = (Circumstance("in", place),)
        things = (subject, *(one.thing for one in places), *([thing] if thing else []))
        nouns = [noun for one in things for noun in _nouns(one)]
        if len(set(nouns)) == len(nouns):  # nobody visits or accompanies themselves
            return replace(
                clause, subject=subject, object=thing, circumstances=places, negated=False
            )


def _nouns(thing: Thing) -> list[str]:
    others = [other for other in (thing.owner, thing.partner) if other is not None]
    return [thing.noun, *(noun for other in others for noun in _nouns(other))]


def _asked_thing(clause: Clause, asked: Asked) -> tuple[str, Thing] | None:
    """Return path and thing that answer a question about ``clause``, or None if none does."""
    found: tuple[str, Thing] | None = None
    if asked == "subject":
        found = "1.subject", clause.subject
    elif asked == "object":
        found = None if clause.object is None else ("1.object", clause.object)
    else:
        for index, circumstance in enumerate(clause.circumstances):
            if circumstance.adposition == "in":
                found = f"1.{index}", circumstance.thing
    if found is None or found[1].partner is not None:
        return None
    return None if found[1].determiner in (*NUMERALS, "many") else found


def _told(language: Language, clauses: Sequence[Clause]) -> tuple[str, list[Sentence], list[int]]:
    """Return the text of a passage, its sentences and where each of them begins."""
    separator = " " if language.spaced else ""
    sentences = [language.sentence(Meaning(clause)) for clause in clauses]
    offsets, end = [], 0
    for sentence in sentences:
        offsets.append(end)
        end += len(sentence.text) + len(separator)
    return separator.join(sentence.text for sentence in sentences), sentences, offsets


def _answer(
    sentences: Sequence[Sentence],
    offsets: Sequence[int],
    clauses: Sequence[Clause],
    question: Question,
    whole: bool,
) -> Answer:
    """Return the answer; with determiners and adpositions if it is to be the ``whole`` phrase."""
    found = _asked_thing(clauses[question.sentence], question.asked)
    assert found is not None
    path = found[0]
    sentence = sentences[question.sentence]
    core = {path + part for part in (".noun", ".adjective", ".very")}
    start, end, position = -1, -1, 0
    for token in sentence.tokens:
        sources = [source for word in sentence.sources[token.start : token.stop] for source in word]
        if any(
            source in core or source.startswith((path + ".owner") if not whole else path + ".")
            for source in sources
        ):
            start = position if start < 0 else start
            end = position + len(token.form)
        position += len(token.form) + token.space_after
    return Answer(sentence.text[start:end], offsets[question.sentence] + start)


def _is_unique(text: str, answer: Answer) -> bool:
    return text.find(answer.text) == answer.start and text.find(answer.text, answer.start + 1) < 0


def _as_question(clause: Clause, asked: Asked) -> Clause:
    """Return the clause with a question word where the answer stood, and less detail."""
    clause = replace(
        clause,
        subject=_known(clause.subject),
        object=None if clause.object is None else _known(clause.object),
        circumstances=tuple(
            Circumstance(one.adposition, _known(one.thing))
            for one in clause.circumstances
            if asked != "place" or one.adposition != "in"
        ),
        time="where" if asked == "place" else None,
        manner=None,
        time_first=False,
        asked=asked,
    )
    if asked == "subject":
        return replace(clause, subject=Thing("who"))
    if asked == "object" and clause.object is not None:
        return replace(clause, object=Thing("who" if clause.object.noun in ANIMATE else "what"))
    return clause


def _known(thing: Thing) -> Thing:
    """Speak of a thing as one that was mentioned before."""
    return replace(thing, determiner="definite") if thing.determiner == "indefinite" else thing


def read_passage(language: Language, passage: Passage) -> Reading:
    """Tell a passage and ask its questions in a language."""
    text, sentences, offsets = _told(language, passage.clauses)
    several = (sentences, offsets, passage.clauses)
    return Reading(
        text,
        tuple(
            language.question(_as_question(passage.clauses[one.sentence], one.asked))
            for one in passage.questions
        ),
        tuple(_answer(*several, one, False) for one in passage.questions),
        tuple(_answer(*several, one, True) for one in passage.questions),
    )


def answers_are_unique(reading: Reading) -> bool:
    """Say whether every answer stands once in its passage."""
    return all(_is_unique(reading.text, answer) for answer in reading.answers)
