"""Extractive question answering: passages, questions about them, and files in SQuAD's layout.

A passage is a few clauses with different verbs, so that the verb of a question points at one of
them; the answer is the subject, object or place of that clause, found by the sources of its words.
The words of an answer occur once in the passage, in every language that is requested.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import NamedTuple

from mbert_atlas.miniature import concepts, meanings
from mbert_atlas.miniature.concepts import HYPONYMS, NOUNS, NUMERALS, VERBS, Sampler
from mbert_atlas.miniature.generator import Content, Files, Generator
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.meanings import Asked, Circumstance, Clause, Meaning, Thing
from mbert_atlas.miniature.sentences import Sentence
from mbert_atlas.progress import track

_MLQA = ("en", "ar", "de", "es", "hi", "vi", "zh")
_TYDIQA = {"en": "english", "ar": "arabic", "fi": "finnish", "id": "indonesian", "ru": "russian"}
_PASSAGES_OF_AN_ARTICLE = 5
_MISPLACED = 0.02  # of the answers of the translated SQuAD have a wrong offset, as in the real one


class Answer(NamedTuple):
    """A span of a passage; ``start`` counts characters."""

    text: str
    start: int


class Question(NamedTuple):
    """What is asked about a sentence of a passage, by its number."""

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
    """Draw a passage with one to ``most`` questions, for ``languages``."""
    while True:
        rng.scene = rng.choice(concepts.SCENES)
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
        clause = meanings.draw_clause(rng)
        if clause.predicate not in VERBS or clause.predicate in used:
            continue
        subject, thing, places = clause.subject, clause.object, clause.circumstances
        if subject.noun in HYPONYMS["person"] and subject.partner is None and rng.random() < 0.3:
            subject = meanings.draw_person(rng)
        if thing is not None and thing.noun in HYPONYMS["person"] and rng.random() < 0.3:
            thing = meanings.draw_person(rng)
        if not places and rng.random() < 0.5:
            places = (Circumstance("in", meanings.draw_named_place(rng)),)
        things = (subject, thing, *(place.thing for place in places))
        nouns = list(chain.from_iterable(map(_nouns, things)))
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
    text = separator.join(sentence.text for sentence in sentences)
    questions, answers, phrases = [], [], []
    for number, asked in passage.questions:
        clause = passage.clauses[number]
        offset = sum(len(sentence.text + separator) for sentence in sentences[:number])
        path = _answering_paths(clause)[asked]
        core = tuple(path + part for part in (".noun", ".adjective", ".very", ".owner"))
        questions.append(language.sentence(Meaning(_as_question(clause, asked))).text)
        answers.append(_span(sentences[number], core, offset))
        phrases.append(_span(sentences[number], (path + ".",), offset))
    return Reading(text, questions, answers, phrases)


def _span(sentence: Sentence, paths: tuple[str, ...], offset: int) -> Answer:
    """Return the words, and what is between them, whose sources start with one of ``paths``."""
    start, end, position = -1, -1, 0
    for token in sentence.tokens:
        words = sentence.words[token.start : token.stop]
        sources = [source for word in words for source in word.sources]
        if any(source.startswith(paths) for source in sources):
            start = position if start < 0 else start
            end = position + len(token.form)
        position += len(token.form) + token.space_after
    return Answer(sentence.text[start:end], offset + start)


def _as_question(clause: Clause, asked: Asked) -> Clause:
    """Return the clause with a question word where the answer stood, and less detail."""
    subject, thing = _known(clause.subject), clause.object and _known(clause.object)
    if asked == "subject":
        subject = Thing("who")
    elif asked == "object" and thing is not None:
        thing = Thing("who" if thing.noun in concepts.ANIMATE else "what")
    kept = [one for one in clause.circumstances if asked != "place" or one.adposition != "in"]
    around = tuple(replace(one, thing=_known(one.thing)) for one in kept)
    time = "where" if asked == "place" else None
    plain = replace(clause, time=time, manner=None, time_first=False, asked=asked)
    return replace(plain, subject=subject, object=thing, circumstances=around)


def _known(thing: Thing) -> Thing:
    """Return a thing as one that was mentioned before."""
    return replace(thing, determiner="definite") if thing.determiner == "indefinite" else thing


_Articles = list[tuple[str, list[Passage]]]  # titles and passages
_Readings = list[tuple[str, list[Reading]]]


def _articles(
    data: Generator, rng: Sampler, languages: Sequence[Language], questions: int, most: int = 3
) -> _Articles:
    """Draw articles with a number of questions in total, at most ``most`` about a passage."""
    articles: _Articles = []
    while questions > 0:
        if not articles or len(articles[-1][1]) == _PASSAGES_OF_AN_ARTICLE:
            title = data.languages[0].heading(rng.choice(NOUNS))
            articles.append((f"{title}_{len(articles) + 1}", []))
        passage = draw_passage(rng, languages, min(most, questions))
        questions -= len(passage.questions)
        articles[-1][1].append(passage)
    return articles


def _in_language(articles: _Articles, language: Language) -> _Readings:
    return [(title, [read_passage(language, one) for one in some]) for title, some in articles]


def _squad_file(
    name: str,
    contexts: _Readings,
    questions: _Readings,
    digits: int = 24,
    machine: Sampler | None = None,
) -> str:
    """Return a file in SQuAD's layout, without questions whose answer occurs twice.

    Ids, of that many hexadecimal digits, are made from ``name``, which parallel files share.
    Machine translation misplaces some answers.
    """
    numbers, articles = count(1), list[dict[str, object]]()
    for (title, readings), (_, others) in zip(contexts, questions, strict=True):
        paragraphs = list[dict[str, object]]()
        for context, other in zip(readings, others, strict=True):
            rows = []
            for question, answer in zip(other.questions, context.answers, strict=True):
                key = hashlib.sha256(f"{name}-{next(numbers)}".encode()).hexdigest()[:digits]
                shift = machine is not None and machine.random() < _MISPLACED
                if context.holds_once(answer):
                    rows.append(_row(key, question, [(answer.text, answer.start + shift)]))
            if rows:
                paragraphs.append({"context": context.text, "qas": rows})
        articles.append({"title": title, "paragraphs": paragraphs})
    return json.dumps({"version": "1.1", "data": articles})


def _row(identifier: str, question: str, answers: Iterable[tuple[str, int]]) -> dict[str, object]:
    entries = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": identifier, "question": question, "answers": entries}


def squad(data: Generator) -> Files:
    """Yield SQuAD in English, and its translation into the languages that MLQA has it in."""
    english = data.languages[:1]
    others = [language for language in data.languages[1:] if language.code in _MLQA]
    splits = {
        split: _articles(data, data.rng("squad", split), english, size)
        for split, size in (("train", data.sizes.qa_train), ("dev", data.sizes.qa_test))
    }
    for split, articles in splits.items():
        readings = _in_language(articles, english[0])
        yield f"squad/{split}-v1.1.json", _squad_file(f"squad-{split}", readings, readings)
    members: dict[str, Content] = {}
    for language in track(others, "miniature: translated questions"):
        for split, articles in splits.items():
            name, readings = f"squad-{split}", _in_language(articles, language)
            machine = data.rng(name, "translated", language.code)
            file = f"{language.code}_squad-translate-train-{split}-v1.1.json"
            text = _squad_file(name, readings, readings, machine=machine)
            members[f"mlqa-translate-train/{file}"] = text
    if members:
        yield "mlqa/mlqa-translate-train.tar.gz", members


def xquad(data: Generator) -> Files:
    """Yield XQuAD: the same passages and questions in all languages."""
    articles = _articles(data, data.rng("xquad"), data.languages, data.sizes.qa_test)
    for language in track(data.languages, "miniature: parallel questions"):
        readings = _in_language(articles, language)
        yield f"xquad/xquad.{language.code}.json", _squad_file("xquad", readings, readings)


def mlqa(data: Generator) -> Files:
    """Yield MLQA: a file for each pair of languages of context and question."""
    members: dict[str, Content] = {}
    languages = [language for language in data.languages if language.code in _MLQA]
    test = data.sizes.qa_test
    for split, size in (("dev", (test + 1) // 2), ("test", test)):
        articles = _articles(data, data.rng("mlqa", split), languages, size, 1)
        readings = {one.code: _in_language(articles, one) for one in languages}
        for context, contexts in readings.items():
            for question, questions in readings.items():
                file = f"MLQA_V1/{split}/{split}-context-{context}-question-{question}.json"
                members[file] = _squad_file(f"mlqa-{split}", contexts, questions, 40)
    yield "mlqa/MLQA_V1.zip", members


def tydiqa(data: Generator) -> Files:
    """Yield the gold passages of TyDi QA's dev set, different ones in each language."""
    articles = []
    for language in (language for language in data.languages if language.code in _TYDIQA):
        rng = data.rng("tydiqa", language.code)
        for _ in range(data.sizes.qa_test):
            reading = read_passage(language, draw_passage(rng, [language], 1))
            answers = [reading.answers[0], reading.phrases[0]][: rng.randint(1, 2)]
            key = f"{_TYDIQA[language.code]}-{rng.getrandbits(63)}-{rng.randrange(100)}"
            row = _row(key, reading.questions[0], answers)
            paragraphs = [{"context": reading.text, "qas": [row]}]
            title = language.heading(rng.choice(NOUNS))
            articles.append({"title": title, "paragraphs": paragraphs})
    yield "tydiqa/tydiqa-goldp-v1.1-dev.json", json.dumps({"version": "1.1", "data": articles})
