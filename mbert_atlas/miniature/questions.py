"""Files of extractive question answering, in the layout of SQuAD."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import count

from mbert_atlas.miniature import formats
from mbert_atlas.miniature.concepts import NOUNS, Sampler
from mbert_atlas.miniature.generator import Files, Generator, Members
from mbert_atlas.miniature.language import Language
from mbert_atlas.miniature.reading import Passage, Reading, draw_passage, read_passage
from mbert_atlas.progress import track

Articles = list[tuple[str, list[Passage]]]
"""Titles and passages."""
Readings = list[tuple[str, list[Reading]]]
"""Titles and passages in one language."""
_MLQA = ("en", "ar", "de", "es", "hi", "vi", "zh")
_TYDIQA = {"en": "english", "ar": "arabic", "fi": "finnish", "id": "indonesian", "ru": "russian"}
_PASSAGES_OF_AN_ARTICLE = 5
_MISPLACED = 0.02
"""Fraction of answers of the translated SQuAD with a wrong offset, as in the real one."""


def _articles(
    data: Generator, rng: Sampler, languages: Sequence[Language], questions: int, most: int = 3
) -> Articles:
    """Draw articles with a number of questions in total, at most ``most`` about a passage.

    Every answer occurs once in its passage in each of ``languages``.
    """
    articles: Articles = []
    while questions > 0:
        if not articles or len(articles[-1][1]) == _PASSAGES_OF_AN_ARTICLE:
            title = data.languages[0].heading(rng.choice(NOUNS))
            articles.append((f"{title}_{len(articles) + 1}", []))
        passage = draw_passage(rng, languages, min(most, questions))
        questions -= len(passage.questions)
        articles[-1][1].append(passage)
    return articles


def _in_language(articles: Articles, language: Language) -> Readings:
    return [(title, [read_passage(language, one) for one in some]) for title, some in articles]


def _squad_file(
    name: str,
    contexts: Readings,
    questions: Readings,
    digits: int = 24,
    machine: Sampler | None = None,
) -> str:
    """Return a file in SQuAD's layout, without questions whose answer occurs twice.

    Args:
        name: from which ids are made; parallel files share it.
        contexts: articles in the language of the contexts.
        questions: the same articles in the language of the questions.
        digits: hexadecimal digits of an id.
        machine: randomness of machine translation, which misplaces some answers.
    """
    numbers = count(1)
    written = []
    for (title, readings), (_, others) in zip(contexts, questions, strict=True):
        paragraphs = []
        for context, other in zip(readings, others, strict=True):
            rows = []
            for question, answer in zip(other.questions, context.answers, strict=True):
                key = hashlib.sha256(f"{name}-{next(numbers)}".encode()).hexdigest()[:digits]
                shift = machine is not None and machine.random() < _MISPLACED
                if context.holds_once(answer):
                    answers = [(answer.text, answer.start + shift)]
                    rows.append(formats.asked(key, question, answers))
            if rows:
                paragraphs.append((context.text, rows))
        written.append((title, paragraphs))
    return formats.squad_json(written)


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
    members: Members = {}
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
    members: Members = {}
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
    written = []
    for language in (language for language in data.languages if language.code in _TYDIQA):
        rng = data.rng("tydiqa", language.code)
        for _ in range(data.sizes.qa_test):
            reading = read_passage(language, draw_passage(rng, [language], 1))
            answers = [reading.answers[0], reading.phrases[0]][: rng.randint(1, 2)]
            key = f"{_TYDIQA[language.code]}-{rng.getrandbits(63)}-{rng.randrange(100)}"
            row = formats.asked(key, reading.questions[0], answers)
            written.append((language.heading(rng.choice(NOUNS)), [(reading.text, [row])]))
    yield "tydiqa/tydiqa-goldp-v1.1-dev.json", formats.squad_json(written)
