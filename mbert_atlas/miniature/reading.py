"""Short passages and questions about them that a span of the passage answers.

A passage is a few clauses with different verbs, so that the verb of a question points at one of
them; the answer is the subject, object or place of that clause, found by the sources of its words.
The words of an answer occur once in the passage, in every language that is requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mbert_atlas.miniature.concepts import ANIMATE, HYPONYMS, NUMERALS, SCENES, VERBS, Sampler
from mbert_atlas.miniature.entities import draw_institution, draw_location, draw_person
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Asked, Circumstance, Clause, Meaning, Thing, draw_clause
from mbert_atlas.miniature.sentences import Sentence


class Answer(NamedTuple):
    """A span of a passage; ``start`` counts characters."""

    text: str
    start: int


class Question(NamedTuple):
    """What is asked about sentence ``sentence`` of a passage."""

    sentence: int
    asked: Asked


class Passage(NamedTuple):
    """The content of a passage, and questions about it."""

    clauses: Sequence[Clause]
    questions: Sequence[Question]


class Reading(NamedTuple):
    """A passage in one language."""

    text: str
    questions: Sequence[str]
    answers: Sequence[Answer]  # one for each question
    phrases: Sequence[Answer]  # the same with articles and the like

    def holds_once(self, answer: Answer) -> bool:
        """Return whether an answer occurs once in the passage."""
        start = self.text.find(answer.text)
        return start == answer.start and self.text.find(answer.text, start + 1) < 0


def draw_passage(rng: Sampler, languages: Sequence[Language], most: int) -> Passage:
    """Draw a passage with up to ``most`` questions (one at least).

    Every answer occurs once in the passage in each of ``languages``.
    """
    while True:
        rng.scene = rng.choice(SCENES)
        clauses: list[Clause] = []
        for _ in range(rng.randint(2, 3)):
            clauses.append(_draw_fact(rng, {clause.predicate for clause in clauses}))
        possible = [
            Question(number, asked)
            for number, clause in enumerate(clauses)
            for asked in _answering_paths(clause)
        ]
        rng.shuffle(possible)
        readings = [read_passage(language, Passage(clauses, possible)) for language in languages]
        chosen = [
            question
            for index, question in enumerate(possible)
            if all(reading.holds_once(reading.answers[index]) for reading in readings)
        ]
        if chosen:
            return Passage(clauses, chosen[:most])


def _draw_fact(rng: Sampler, used: set[str]) -> Clause:
    """Draw an affirmative clause with a verb that is not used yet and, mostly, a place."""
    while True:
        clause = draw_clause(rng)
        if clause.predicate not in VERBS or clause.predicate in used:
            continue
        subject, thing, places = clause.subject, clause.object, clause.circumstances
        if subject.noun in HYPONYMS["person"] and subject.partner is None and rng.random() < 0.3:
            subject = draw_person(rng)
        if thing is not None and thing.noun in HYPONYMS["person"] and rng.random() < 0.3:
            thing = draw_person(rng)
        if not places and rng.random() < 0.5:
            place = draw_institution(rng) if rng.random() < 0.3 else draw_location(rng)
            places = (Circumstance("in", place),)
        nouns = [
            noun for one in (subject, thing, *(p.thing for p in places)) for noun in _nouns(one)
        ]
        if len(set(nouns)) == len(nouns):  # nobody visits or accompanies themselves
            fact = replace(clause, subject=subject, object=thing, circumstances=places)
            return replace(fact, negated=False)


def _nouns(thing: Thing | None) -> list[str]:
    return [thing.noun, *_nouns(thing.owner), *_nouns(thing.partner)] if thing else []


def _answering_paths(clause: Clause) -> dict[Asked, str]:
    """Return what one can ask about a clause, and the path of the one thing that answers it."""
    answers: dict[Asked, tuple[str, Thing]] = {"subject": ("1.subject", clause.subject)}
    if clause.object is not None:
        answers["object"] = "1.object", clause.object
    for index, one in enumerate(clause.circumstances):
        if one.adposition == "in":
            answers["place"] = f"1.{index}", one.thing
    return {
        asked: path
        for asked, (path, thing) in answers.items()
        if thing.partner is None and thing.determiner not in (*NUMERALS, "many")
    }


def read_passage(language: Language, passage: Passage) -> Reading:
    """Return a passage and its questions in a language."""
    separator = " " * language.spaced
    sentences = [language.sentence(Meaning(clause)) for clause in passage.clauses]
    reading = Reading(separator.join(sentence.text for sentence in sentences), [], [], [])
    questions, answers, phrases = [], [], []
    for number, asked in passage.questions:
        clause = passage.clauses[number]
        offset = sum(len(sentence.text + separator) for sentence in sentences[:number])
        path = _answering_paths(clause)[asked]
        core = (*(path + part for part in (".noun", ".adjective", ".very")), path + ".owner")
        questions.append(language.sentence(Meaning(_as_question(clause, asked))).text)
        answers.append(_span(sentences[number], core, offset))
        phrases.append(_span(sentences[number], (path + ".",), offset))
    return reading._replace(questions=questions, answers=answers, phrases=phrases)


def _span(sentence: Sentence, paths: tuple[str, ...], offset: int) -> Answer:
    """Return the words, and what is between them, whose sources start with one of ``paths``."""
    start, end, position = -1, -1, 0
    for token in sentence.tokens:
        sources = [source for word in sentence.sources[token.start : token.stop] for source in word]
        if any(source.startswith(paths) for source in sources):
            start = position if start < 0 else start
            end = position + len(token.form)
        position += len(token.form) + token.space_after
    return Answer(sentence.text[start:end], offset + start)


def _as_question(clause: Clause, asked: Asked) -> Clause:
    """Return the clause with a question word where the answer stood, and less detail."""
    places = clause.circumstances
    if asked == "place":
        places = tuple(one for one in places if one.adposition != "in")
    subject, thing = _known(clause.subject), clause.object and _known(clause.object)
    if asked == "subject":
        subject = Thing("who")
    elif asked == "object" and thing is not None:
        thing = Thing("who" if thing.noun in ANIMATE else "what")
    return replace(
        clause,
        subject=subject,
        object=thing,
        circumstances=tuple(replace(one, thing=_known(one.thing)) for one in places),
        time="where" if asked == "place" else None,
        manner=None,
        time_first=False,
        asked=asked,
    )


def _known(thing: Thing) -> Thing:
    """Return a thing as one that was mentioned before."""
    return replace(thing, determiner="definite") if thing.determiner == "indefinite" else thing
