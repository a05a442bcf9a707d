"""Entities, questions and answers of the miniature are known by construction."""

import unicodedata
from collections import Counter

import pytest

from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import (
    Circumstance,
    Clause,
    Meaning,
    Thing,
    draw_named_meaning,
    entities,
)
from mbert_atlas.miniature.questions import Passage, Question, draw_passage, read_passage
from mbert_atlas.miniature.texts import tagged

CODES = tuple(MINIATURE_LANGUAGES)
NAMED = Clause(
    Thing("ivan", owner=Thing("moscow")),
    "sell",
    Thing("dog", "definite", owner=Thing("anna")),
    (Circumstance("in", Thing("hospital", "definite", owner=Thing("paris"))),),
    time="today",
)


def spans(units: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return type and words of each entity, words joined by blanks."""
    found: list[tuple[str, str]] = []
    for word, tag in units:
        if tag[0] == "B":
            found.append((tag[2:], word))
        elif tag[0] == "I":
            assert found[-1][0] == tag[2:]
            found[-1] = (tag[2:], f"{found[-1][1]} {word}")
    return found


def test_tags_by_hand() -> None:
    meaning = Meaning(NAMED)
    units = tagged(MINIATURE_LANGUAGES["en"].sentence(meaning), meaning)
    assert spans(units) == [
        ("PER", "Ivan of Moscow"),
        ("PER", "Anna"),
        ("ORG", "hospital of Paris"),
    ]


@pytest.mark.parametrize("code", CODES)
def test_every_entity_is_one_run_of_words_in_every_language(code: str) -> None:
    rng, language = Sampler(3), MINIATURE_LANGUAGES[code]
    kinds = Counter[str]()
    lengths = Counter[bool]()
    for _ in range(300):
        meaning = draw_named_meaning(rng)
        sentence = language.sentence(meaning)
        units = tagged(sentence, meaning)
        assert "".join(word for word, _ in units) == sentence.text.replace(" ", "")
        found = spans(units)
        assert Counter(kind for kind, _ in found) == Counter(kind for kind, _ in entities(meaning))
        kinds.update(kind for kind, _ in found)
        lengths.update(" " in words for _, words in found)
    assert min(kinds[kind] for kind in ("PER", "LOC", "ORG")) > 30
    assert lengths[True] > 50


QUESTIONS = tuple(Question(0, asked) for asked in ("subject", "object", "place"))


def test_questions_by_hand() -> None:
    clause = Clause(
        Thing("man", "definite", adjective="old"),
        "read",
        Thing("book", "indefinite"),
        (Circumstance("in", Thing("school", "definite", owner=Thing("paris"))),),
        time="yesterday",
        past=True,
    )
    reading = read_passage(MINIATURE_LANGUAGES["en"], Passage((clause,), QUESTIONS))
    assert list(reading.questions) == [
        "Who read the book in the school of Paris?",
        "The old man read what in the school of Paris?",
        "The old man where read the book?",
    ]
    assert [answer.text for answer in reading.answers] == ["old man", "book", "school of Paris"]


@pytest.mark.parametrize("code", CODES)
def test_answers_are_spans_that_stand_once(code: str) -> None:
    rng, language = Sampler(4), MINIATURE_LANGUAGES[code]
    asked = Counter[str]()
    for _ in range(60):
        passage = draw_passage(rng, [language], 3)
        reading = read_passage(language, passage)
        assert all(map(reading.holds_once, reading.answers))
        predicates = [clause.predicate for clause in passage.clauses]
        assert len(set(predicates)) == len(predicates) >= 2
        rows = zip(
            passage.questions, reading.questions, reading.answers, reading.phrases, strict=True
        )
        for question, text, answer, phrase in rows:
            asked[question.asked] += 1
            assert reading.text[answer.start :].startswith(answer.text)
            assert reading.text[phrase.start :].startswith(phrase.text)
            assert answer.text in phrase.text
            assert answer.text.strip() == answer.text != ""
            asks = ("where",) if question.asked == "place" else ("who", "what")
            plain = unicodedata.normalize("NFD", text).lower()  # case may close a Hangul syllable
            forms = [unicodedata.normalize("NFD", language.citation(word)) for word in asks]
            assert any(form[:2] in plain for form in forms)
    assert min(asked[kind] for kind in ("subject", "object", "place")) > 10


def test_one_passage_in_all_languages() -> None:
    rng, everyone = Sampler(5), list(MINIATURE_LANGUAGES.values())
    for _ in range(10):
        passage = draw_passage(rng, everyone, 2)
        for language in everyone:
            reading = read_passage(language, passage)
            assert all(map(reading.holds_once, reading.answers))
