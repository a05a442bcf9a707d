"""Questions answered by a span of a paragraph: files in the layout of SQuAD 1.1, a row a question.

SQuAD (Rajpurkar et al. 2016), XQuAD (Artetxe et al. 2020), MLQA (Lewis et al. 2020) with its
translation of SQuAD, and the gold passages of TyDi QA (Clark et al. 2020) share that layout.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, ValidationError

from mbert_atlas.config.datasets import QuestionAnsweringFormat
from mbert_atlas.corpora.bad_rows import BadRows
from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import open_member, require_format
from mbert_atlas.corpora.samples import limited, sample_note, table_of
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet, write_parquet
from mbert_atlas.schemas import QA_EXAMPLES

Format = QuestionAnsweringFormat
"""How questions are laid out in files.

``squad``: SQuAD 1.1 and XQuAD; a zip holds ``<split>-v1.1.json``. ``mlqa``: a file
``<split>-context-<language>-question-<language>.json`` or the zip of them.
``mlqa-translate-train``: SQuAD translated by machine, a file or the archive of
``<language>_squad-translate-train-<split>-v1.1.json``; misplaced answers, repeated ids and empty
answers are dropped there and counted. ``tydiqa``: gold passages of all languages, of which those
whose ids begin with the language's name are taken. ``tydiqa-xtreme``: gold passages of one language
as XTREME prepares them, whose ids repeat, so that the number of the question is added.
"""
TYDIQA_LANGUAGES = {
    "ar": "arabic",
    "bn": "bengali",
    "en": "english",
    "fi": "finnish",
    "id": "indonesian",
    "ko": "korean",
    "ru": "russian",
    "sw": "swahili",
    "te": "telugu",
}
"""Our code -> the word with which the ids of TyDi QA begin."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class _Answer(_Part):
    text: str
    answer_start: int


class _Question(_Part):
    id: str
    question: str
    answers: Sequence[_Answer]


class _Paragraph(_Part):
    context: str
    qas: Sequence[Any]  # questions one by one, so that a bad one is not the end of all


class _Article(_Part):
    paragraphs: Sequence[_Paragraph]


class _File(_Part):
    data: Sequence[_Article]


def read_qa(
    source_path: Path | str,
    format: Format,
    language: str,
    split: str,
    output: Path | str,
    card: Path | str,
    *,
    question_language: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    source: Source = None,
    script: str = "",
    question_script: str = "",
) -> None:
    """Read the questions of one language, or of a pair of languages, and one split.

    Contexts and answers are kept to the character; questions lose blanks at their ends. Bad
    questions (not in SQuAD's layout, a repeated id, without answers, an answer that is empty or not
    at its place in the context) are left out while they are few, see :class:`BadRows`.

    Args:
        source_path: a JSON file, plain or compressed, or an archive of such files.
        format: see :data:`Format`.
        language: code of the contexts' language.
        split: name of the split for the rows; selects the member of an archive.
        output: Parquet file with the columns of ``schemas.QA_EXAMPLES``.
        card: JSON file for the dataset card.
        question_language: code of the questions' language, if another (``mlqa`` only).
        limit: most questions to keep; all if none.
        seed: seed for a random sample of ``limit`` questions; without one, the first are kept.
        source: dataset, licence and citation for the card.
        script: what the contexts' language is written in, see :func:`require_script`.
        question_script: the same for the questions.

    Raises:
        DataError: for a file that is not in SQuAD's layout, too many bad questions, a missing
            member, or no question; names the file and the question.
    """
    path, asked_in = Path(source_path), question_language or language
    counts, dropped, bad = Counter[str](), Counter[str](), BadRows("questions")
    with open_member(path, _member(path, format, language, asked_in, split)) as (place, stream):
        questions = _questions(stream.read().removeprefix(_BYTE_ORDER_MARK), place, bad)
    usable = _usable(questions, format, language, place, counts, dropped, bad)
    rows = [
        (identifier, language, asked_in, split, context, question, *answers)
        for context, identifier, question, *answers in usable
    ]
    require_script((str(row[4]) for row in rows), script, place, language)
    require_script((str(row[5]) for row in rows), question_script, place, asked_in)
    table = limited(table_of(rows, QA_EXAMPLES), limit, seed, "qa", language, asked_in, split)
    notes = _notes(language, asked_in)
    if table.num_rows < len(rows):
        notes.append(sample_note(limit, seed))
    counts |= _sizes(table)
    write_parquet(table, output)
    write_card(
        card,
        dataset=format,
        language=language if asked_in == language else f"{language} {asked_in}",
        files=[path],
        counts=counts,
        dropped=dropped,
        bad=bad,
        source=source,
        notes=notes,
    )


def _usable(
    questions: Iterable[tuple[str, _Question]],
    format: Format,
    language: str,
    place: str,
    counts: Counter[str],
    dropped: Counter[str],
    bad: BadRows,
) -> Iterator[tuple[str, str, str, list[str], list[int]]]:
    """Yield context, id, question, answers and their places; the wrong is dropped."""
    lenient = format == "mlqa-translate-train"
    prefix = _tydiqa_prefix(place, language) if format == "tydiqa" else ""
    known: set[str] = set()
    for context, one in questions:
        if not one.id.startswith(prefix):
            counts["questions in other languages"] += 1
            continue
        counts["questions read"] += 1
        number = counts["questions read"]
        identifier = f"{one.id}-{number}" if format == "tydiqa-xtreme" else one.id
        question, answers = one.question.strip(), [a for a in one.answers if _stands(a, context)]
        problem, mend = "", "fetch the file again"
        if identifier in known:
            problem, mend = "repeated id", "remove one of the questions"
        elif not one.answers:
            problem = "no answer"
            mend = "use a copy with answers (XTREME's preparation deletes some)"
        elif not answers or (len(answers) < len(one.answers) and not lenient):
            problem = "answer not at its place in the context"
        if problem and not lenient:
            bad.drop(DataError(place, f"question {one.id}", problem, mend))
            continue
        if problem or not question:
            dropped[problem or "empty question"] += 1
            continue
        known.add(identifier)
        if len(answers) < len(one.answers):
            dropped["answers not at their place, of questions with others"] += 1
        texts, starts = [a.text for a in answers], [a.answer_start for a in answers]
        yield context, identifier, question, texts, starts
    bad.require_few(len(known) + dropped["empty question"])
    if not known:
        left_out = f" ({dict(dropped)})" if dropped else ""
        problem = f"no question left of {counts['questions read']}{left_out}"
        mend = "correct the language or the format"
        raise DataError(place, f"language {language}", problem, mend)


def _notes(language: str, asked_in: str) -> list[str]:
    return [f"contexts in {language}, questions in {asked_in}"] if asked_in != language else []


def _sizes(table: pa.Table) -> Counter[str]:
    return Counter(
        {
            "questions": table.num_rows,
            "contexts": len(set(table["context"].to_pylist())),
            "answers": sum(map(len, table["answer_text"].to_pylist())),
        }
    )


def _stands(answer: _Answer, context: str) -> bool:
    start = answer.answer_start
    return bool(answer.text) and start >= 0 and context.startswith(answer.text, start)


def _tydiqa_prefix(place: str, language: str) -> str:
    if language not in TYDIQA_LANGUAGES:
        raise DataError(
            place,
            f"language {language}",
            "TyDi QA gold passages do not have it",
            f"choose from {' '.join(TYDIQA_LANGUAGES)}",
        )
    return TYDIQA_LANGUAGES[language] + "-"


def _member(path: Path, format: Format, language: str, asked_in: str, split: str) -> str:
    """Return the pattern of the file in an archive; refuse other languages than the file's."""
    require_format(format, get_args(Format), path)
    if asked_in != language and format != "mlqa":
        raise DataError(
            path,
            f"question_language {asked_in}",
            f"files of format {format} are in one language",
            "use mlqa, or join two files of XQuAD with write_cross_language",
        )
    in_name = re.search(r"-context-([\w-]+?)-question-([a-z]+)\.json", path.name)
    if format == "mlqa" and in_name and in_name.groups() != (language, asked_in):
        raise DataError(
            path,
            "file name",
            f"holds contexts in {in_name[1]} and questions in {in_name[2]}, "
            f"not in {language} and {asked_in}",
            "correct the source's path or languages",
        )
    names = {
        "mlqa": rf"{split}-context-{language}-question-{asked_in}\.json",
        "mlqa-translate-train": rf"{language}_squad-translate-train-{split}-v1\.1\.json",
    }
    return names.get(format, rf"{split}-v1\.1\.json")


def _questions(content: bytes, place: str, bad: BadRows) -> Iterator[tuple[str, _Question]]:
    """Yield (context, question) of a file in SQuAD's layout."""
    try:
        parsed = _File.model_validate_json(content)
    except ValidationError as error:
        raise _other_layout(error, place) from error
    for i, article in enumerate(parsed.data):
        for j, paragraph in enumerate(article.paragraphs):
            for k, value in enumerate(paragraph.qas):
                try:
                    question = _Question.model_validate(value)
                except ValidationError as error:
                    bad.drop(_other_layout(error, place, "data", i, "paragraphs", j, "qas", k))
                else:
                    yield paragraph.context, question


def _other_layout(error: ValidationError, place: str, *keys: str | int) -> DataError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, [*keys, *first["loc"]]))
    return DataError(
        place,
        f"key {where}" if where else "",
        f"not in the layout of SQuAD 1.1 ({first['msg']})",
        "fetch the file again or correct the format",
    )


def write_cross_language(
    contexts: Path | str,
    questions: Path | str,
    output: Path | str,
    card: Path | str,
    *,
    context_language: str,
    question_language: str,
    source: Source = None,
) -> None:
    """Ask about the contexts of one language with the questions of another.

    The cross-lingual directions of XQuAD in Efimov et al. (2022, section 4.2, Table 4): rows with
    equal ids are joined, in the order of ``contexts``; context and answers come from there, the
    question from ``questions``. Questions that only one of them has are left out.

    Args:
        contexts: Parquet file with the columns of ``schemas.QA_EXAMPLES``; of its rows, those in
            ``context_language`` (context and question) are taken.
        questions: such a file too, perhaps the same one, for ``question_language``.
        output: Parquet file with the same columns.
        card: JSON file for the dataset card.
        context_language: code.
        question_language: code.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: if a file lacks a language, repeats an id, or has no question in common with the
            other.
    """
    first = _of_language(Path(contexts), context_language)
    second = _of_language(Path(questions), question_language)
    match = pc.index_in(first["id"], second["id"])
    joined = first.filter(pc.is_valid(match))
    for name in ("question", "question_language"):
        place = joined.column_names.index(name)
        joined = joined.set_column(place, name, second[name].take(match.drop_null()))
    if not joined.num_rows:
        raise DataError(
            contexts,
            f"language {context_language}",
            f"has no question in common with {question_language} of {questions}",
            "use two languages of one parallel dataset",
        )
    dropped = {
        f"only in {context_language}": first.num_rows - joined.num_rows,
        f"only in {question_language}": second.num_rows - joined.num_rows,
    }
    write_parquet(joined, output)
    write_card(
        card,
        dataset="cross-lingual question answering",
        language=f"{context_language} {question_language}",
        files=dict.fromkeys([Path(contexts), Path(questions)]),
        counts=_sizes(joined),
        dropped=dropped,
        source=source,
        notes=_notes(context_language, question_language),
    )


def _of_language(path: Path, language: str) -> pa.Table:
    table = read_parquet(path, QA_EXAMPLES)
    sides = (pc.equal(table[name], language) for name in ("language", "question_language"))
    found = table.filter(pc.and_(*sides)).combine_chunks()
    if not found.num_rows:
        raise DataError(
            path, f"language {language}", "no question in it", "add it to the dataset's languages"
        )
    if pc.count_distinct(found["id"]).as_py() < found.num_rows:
        raise DataError(
            path, f"language {language}", "ids are repeated", "use one split of one dataset"
        )
    return found
