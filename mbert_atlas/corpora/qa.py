"""Questions answered by a span of a paragraph: files in the layout of SQuAD 1.1, a row a question.

SQuAD (Rajpurkar et al. 2016), XQuAD (Artetxe et al. 2020), MLQA (Lewis et al. 2020) with its
translation of SQuAD, and the gold passages of TyDi QA (Clark et al. 2020) share that layout.

Formats: ``squad``: SQuAD 1.1 and XQuAD; a zip holds ``<split>-v1.1.json``. ``mlqa``: a file
``<split>-context-<language>-question-<language>.json`` or the zip of them.
``mlqa-translate-train``: machine-translated SQuAD, a file or the archive of
``<language>_squad-translate-train-<split>-v1.1.json``; misplaced answers, repeated ids and empty
answers are dropped there and counted. ``tydiqa``: gold passages of all languages, of which those
whose ids begin with the language's name are taken. ``tydiqa-xtreme``: gold passages of one language
as XTREME prepares them, whose ids repeat, so that the number of the question is added.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ValidationError

from mbert_atlas.config.corpora.kinds import QaFormat
from mbert_atlas.corpora.cards import BadRows, Card
from mbert_atlas.corpora.jobs import DerivingJob, Options, ReadingJob, Upstream, read_languages
from mbert_atlas.corpora.lines import (
    JsonText,
    json_mistake,
    open_member,
    parsed_json,
    require_format,
)
from mbert_atlas.corpora.samples import limited, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_json, write_parquet
from mbert_atlas.schemas import QA_EXAMPLES

TYDIQA_LANGUAGES = {  # our code -> the word with which the ids of TyDi QA begin
    **{"ar": "arabic", "bn": "bengali", "en": "english", "fi": "finnish", "id": "indonesian"},
    **{"ko": "korean", "ru": "russian", "sw": "swahili", "te": "telugu"},
}
_ENGLISH = ("en", "Latn")


class _Answer(BaseModel, strict=True):
    text: JsonText
    answer_start: int


class _Question(BaseModel, strict=True):
    id: JsonText
    question: JsonText
    answers: Sequence[_Answer]


class _Paragraph(BaseModel, strict=True):
    context: JsonText
    qas: Sequence[Any]  # questions one by one, so that a bad one is not the end of all


class _Article(BaseModel, strict=True):
    paragraphs: Sequence[Any]


class _File(BaseModel, strict=True):
    data: Sequence[_Article]


def read(job: ReadingJob) -> None:
    """Read the questions of all languages of a split, with the columns of ``schemas.QA_EXAMPLES``.

    Contexts and answers are kept to the character; questions lose blanks at their ends. With
    ``questions: target`` contexts are English, with ``english`` the questions are (``mlqa`` only).
    ``sample_seed`` draws ``limit`` questions at random; without one, the first are kept. Questions
    are bad that are not in SQuAD's layout, repeat an id, or have no answer, or one that is empty or
    not at its place in the context.

    Raises DataError for a file in another layout or language.
    """
    read_languages(job, _read_language)


def _read_language(upstream: Upstream, options: Options) -> tuple[pa.Table, Card]:
    (file,), split, code = upstream.files, options["split"], upstream.language.code
    limit, seed, script = options["limit"], options["sample_seed"], upstream.language.script
    (language, script), (asked_in, question_script) = {
        "same": ((code, script), (code, script)),
        "target": (_ENGLISH, (code, script)),
        "english": ((code, script), _ENGLISH),
    }[options["questions"]]
    codes = " ".join(dict.fromkeys((language, asked_in)))
    card = Card(file.format, codes, bad=BadRows("questions"))
    if asked_in != language:
        card.notes.append(f"contexts in {language}, questions in {asked_in}")
    member = _member(file.path, file.format, language, asked_in, split)
    with open_member(file.path, member) as (place, stream):
        questions = _questions(stream.read().removeprefix(b"\xef\xbb\xbf"), place, card.bad)
    usable = _usable(questions, file.format, language, place, card)
    rows = [
        (identifier, language, asked_in, split, context, question, *answers)
        for context, identifier, question, *answers in usable
    ]
    require_script((str(row[4]) for row in rows), script, place, language)
    require_script((str(row[5]) for row in rows), question_script, place, asked_in)
    names = ("qa", language, asked_in, split)
    table = limited(table_of(rows, QA_EXAMPLES), limit, seed, card.notes, *names)
    card.counts |= _sizes(table)
    return table, card


def _usable(
    questions: Iterable[tuple[str, _Question]], format: str, language: str, place: str, card: Card
) -> Iterator[tuple[str, str, str, list[str], list[int]]]:
    """Yield context, id, question, answers and their places; the wrong ones are dropped."""
    lenient = format == "mlqa-translate-train"
    prefix = _tydiqa_prefix(place, language) if format == "tydiqa" else ""
    seen: set[str] = set()
    for context, one in questions:
        if not one.id.startswith(prefix):
            card.counts["questions in other languages"] += 1
            continue
        card.counts["questions read"] += 1
        number = card.counts["questions read"]
        identifier = f"{one.id}-{number}" if format == "tydiqa-xtreme" else one.id
        question, answers = one.question.strip(), [a for a in one.answers if _stands(a, context)]
        problem, fix = "", "fetch the file again"
        if identifier in seen:
            problem, fix = "repeated id", "remove one of the questions"
        elif not one.answers:
            problem = "no answer"
            fix = "use a copy with answers (XTREME's preparation deletes some)"
        elif not answers or (len(answers) < len(one.answers) and not lenient):
            problem = "answer not at its place in the context"
        if problem and not lenient:
            card.bad.drop(DataError(place, f"question {one.id}", problem, fix))
            continue
        if problem or not question:
            card.dropped[problem or "empty question"] += 1
            continue
        seen.add(identifier)
        if len(answers) < len(one.answers):
            card.dropped["answers not at their place, of questions with others"] += 1
        texts, starts = [a.text for a in answers], [a.answer_start for a in answers]
        yield context, identifier, question, texts, starts
    card.bad.require_few(len(seen) + card.dropped["empty question"])
    if not seen:
        left_out = f" ({dict(card.dropped)})" if card.dropped else ""
        problem = f"no question left of {card.counts['questions read']}{left_out}"
        fix = "correct the language or the format"
        raise DataError(place, f"language {language}", problem, fix)


def _sizes(table: pa.Table) -> Counter[str]:
    answers, contexts = table["answer_text"].to_pylist(), set(table["context"].to_pylist())
    return Counter(questions=len(table), contexts=len(contexts), answers=sum(map(len, answers)))


def _stands(answer: _Answer, context: str) -> bool:
    start = answer.answer_start
    return bool(answer.text) and start >= 0 and context.startswith(answer.text, start)


def _tydiqa_prefix(place: str, language: str) -> str:
    if language not in TYDIQA_LANGUAGES:
        problem, fix = "TyDi QA does not have it", f"choose from {' '.join(TYDIQA_LANGUAGES)}"
        raise DataError(place, f"language {language}", problem, fix)
    return TYDIQA_LANGUAGES[language] + "-"


def _member(path: Path, format: str, language: str, asked_in: str, split: str) -> str:
    """Return the pattern of the file in an archive; other languages than the file's are errors."""
    require_format(format, QaFormat, path)
    if asked_in != language and format != "mlqa":
        problem = f"files of format {format} are in one language"
        fix = "use mlqa, or derive the dataset from XQuAD by `made_from`"
        raise DataError(path, f"questions in {asked_in}", problem, fix)
    in_name = re.search(r"-context-([\w-]+?)-question-([a-z]+)\.json", path.name)
    if format == "mlqa" and in_name and in_name.groups() != (language, asked_in):
        problem = f"holds contexts in {in_name[1]} and questions in {in_name[2]}, "
        problem += f"not in {language} and {asked_in}"
        raise DataError(path, "file name", problem, "correct the source's path or languages")
    names = {
        "mlqa": rf"{split}-context-{language}-question-{asked_in}\.json",
        "mlqa-translate-train": rf"{language}_squad-translate-train-{split}-v1\.1\.json",
    }
    return names.get(format, rf"{split}-v1\.1\.json")


def _questions(content: bytes, place: str, bad: BadRows) -> Iterator[tuple[str, _Question]]:
    """Yield (context, question) of a file in SQuAD's layout."""
    try:
        parsed = _File.model_validate(parsed_json(content, place))
    except ValidationError as error:
        raise _other_layout(error, place) from error
    for i, article in enumerate(parsed.data):
        for j, value in enumerate(article.paragraphs):
            keys: tuple[str | int, ...] = ("data", i, "paragraphs", j)
            try:
                paragraph = _Paragraph.model_validate(value)
            except ValidationError as error:
                asked = value.get("qas") if isinstance(value, dict) else None
                for _ in asked if isinstance(asked, list) else [None]:
                    bad.drop(_other_layout(error, place, *keys))
                continue
            for k, one in enumerate(paragraph.qas):
                try:
                    yield paragraph.context, _Question.model_validate(one)
                except ValidationError as error:
                    bad.drop(_other_layout(error, place, *keys, "qas", k))


def _other_layout(error: ValidationError, place: str, *keys: str | int) -> DataError:
    inner, problem = json_mistake(error)
    where = ".".join(map(str, [*keys, *inner]))
    problem = f"not in the layout of SQuAD 1.1 ({problem})"
    fix = "fetch the file again or correct the format"
    return DataError(place, f"key {where}" if where else "", problem, fix)


def derive(job: DerivingJob) -> None:
    """Combine the contexts of one language with the questions of another, English on one side.

    The cross-lingual directions of XQuAD in Efimov et al. (2022, section 4.2, Table 4): rows of a
    parallel dataset with equal ids are joined, in the order of the contexts; context and answers
    come from one language, the question from the other. Other questions are left out.

    Raises DataError if the dataset lacks a language or has no question in both.
    """
    (path,) = job.tables
    tables, cards = [], {}
    for code in job.options["languages"]:
        pair = (code, "en") if job.options["questions"] == "english" else ("en", code)
        table, card = _cross(path, *pair)
        tables.append(table)
        cards[code] = card.content([path])
    write_json(cards, job.card)
    write_parquet(pa.concat_tables(tables), job.output)


def _cross(path: Path, language: str, asked_in: str) -> tuple[pa.Table, Card]:
    contexts, questions = _of_language(path, language), _of_language(path, asked_in)
    match = pc.index_in(contexts["id"], questions["id"])
    joined = contexts.filter(pc.is_valid(match))
    for name in ("question", "question_language"):
        place = joined.column_names.index(name)
        joined = joined.set_column(place, name, questions[name].take(match.drop_null()))
    if not joined.num_rows:
        problem = f"has no question in common with {asked_in}"
        fix = "use two languages of one parallel dataset"
        raise DataError(path, f"language {language}", problem, fix)
    card = Card("cross-lingual question answering", f"{language} {asked_in}", _sizes(joined))
    card.dropped[f"only in {language}"] = contexts.num_rows - joined.num_rows
    card.dropped[f"only in {asked_in}"] = questions.num_rows - joined.num_rows
    card.notes.append(f"contexts in {language}, questions in {asked_in}")
    return joined, card


def _of_language(path: Path, language: str) -> pa.Table:
    table = read_parquet(path, QA_EXAMPLES)
    sides = (pc.equal(table[name], language) for name in ("language", "question_language"))
    rows = table.filter(pc.and_(*sides)).combine_chunks()
    if not rows.num_rows:
        fix = "add it to the dataset's languages"
        raise DataError(path, f"language {language}", "no question in it", fix)
    return rows
