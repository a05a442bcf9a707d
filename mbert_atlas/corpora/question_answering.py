"""Questions answered by a span of a paragraph: files in the layout of SQuAD 1.1, a row a question.

SQuAD (Rajpurkar et al. 2016), XQuAD (Artetxe et al. 2020), MLQA (Lewis et al. 2020) with its
translation of SQuAD, and the gold passages of TyDi QA (Clark et al. 2020) share that layout.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, get_args

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from mbert_atlas.corpora.cards import Source, write_card
from mbert_atlas.corpora.lines import open_tar_member, open_zip_member
from mbert_atlas.corpora.samples import limited
from mbert_atlas.errors import DataError
from mbert_atlas.files import open_bytes, read_parquet, write_parquet
from mbert_atlas.schemas import QA_EXAMPLES

Format = Literal["squad", "mlqa", "mlqa-translate-train", "tydiqa", "tydiqa-xtreme"]
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
    qas: Sequence[_Question]


class _Article(_Part):
    paragraphs: Sequence[_Paragraph]


class _File(_Part):
    data: Sequence[_Article]


def read_question_answering(
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
) -> None:
    """Read the questions of one language, or of a pair of languages, and one split.

    Contexts and answers are kept to the character; questions lose blanks at their ends.

    Args:
        source_path: a JSON file, plain or compressed, or an archive in one of the formats below.
        format: ``squad``: SQuAD 1.1 and XQuAD; a zip holds ``<split>-v1.1.json``. ``mlqa``: a file
            ``<split>-context-<language>-question-<language>.json`` or the zip of them.
            ``mlqa-translate-train``: SQuAD translated by machine, a file or the archive of
            ``<language>_squad-translate-train-<split>-v1.1.json``; misplaced answers, repeated
            ids and empty answers are dropped there and counted. ``tydiqa``: gold passages of all
            languages, of which those whose ids begin with the language's name are taken.
            ``tydiqa-xtreme``: gold passages of one language as XTREME prepares them, whose ids
            repeat, so that the number of the question is added.
        language: code of the contexts' language.
        split: name of the split for the rows; selects the member of an archive.
        output: Parquet file with the columns of ``schemas.QA_EXAMPLES``.
        card: JSON file for the dataset card.
        question_language: code of the questions' language, if another (``mlqa`` only).
        limit: most questions to keep; all if none.
        seed: seed for a random sample of ``limit`` questions; without one, the first are kept.
        source: dataset, licence and citation for the card.

    Raises:
        DataError: for a file that is not in SQuAD's layout, a repeated id, a question without
            answers, an answer that is empty or does not stand in its context at ``answer_start``,
            a missing member, or no question; names the file and the question.
    """
    path, asked = Path(source_path), question_language or language
    if format not in get_args(Format):
        raise DataError(path, f"format {format}", "unknown", f"use {', '.join(get_args(Format))}")
    if asked != language and format != "mlqa":
        raise DataError(
            path,
            f"question_language {asked}",
            f"files of format {format} are in one language",
            "use mlqa, or join two files of XQuAD with write_cross_language",
        )
    prefix = _tydiqa_prefix(path, language) if format == "tydiqa" else ""
    lenient = format == "mlqa-translate-train"
    counts, dropped = Counter[str](), Counter[str]()
    columns: dict[str, list[object]] = {name: [] for name in QA_EXAMPLES.names}
    known: set[str] = set()
    with _opened(path, format, language, asked, split) as (place, stream):
        content = stream.read().removeprefix(_BYTE_ORDER_MARK)
    for context, one in _questions(content, place):
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
            problem, mend = (
                "no answer",
                "use a copy with answers (XTREME's preparation deletes some)",
            )
        elif not answers or (len(answers) < len(one.answers) and not lenient):
            problem = "answer not at its place in the context"
        if problem and not lenient:
            raise DataError(place, f"question {one.id}", problem, mend)
        if not problem and not question:
            problem = "empty question"
        if problem:
            dropped[problem] += 1
            continue
        known.add(identifier)
        if len(answers) < len(one.answers):
            dropped["answers not at their place, of questions with others"] += 1
        row = (
            *(identifier, language, asked, split, context, question),
            [answer.text for answer in answers],
            [answer.answer_start for answer in answers],
        )
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    if not columns["id"]:
        raise DataError(
            place,
            f"language {language}",
            f"no question left of {counts['questions read']}"
            + (f" ({dict(dropped)})" if dropped else ""),
            "correct the language or the format",
        )
    table = limited(
        pa.table(columns, schema=QA_EXAMPLES), limit, seed, "qa", language, asked, split
    )
    counts |= _sizes(table)
    write_parquet(table, output)
    write_card(
        card,
        dataset=format,
        language=language if asked == language else f"{language} {asked}",
        files=[path],
        counts=counts,
        dropped=dropped,
        source=source,
        notes=_notes(language, asked, limit, seed, table.num_rows < len(columns["id"])),
    )


def _notes(
    language: str, asked: str, limit: int | None, seed: int | None, is_sample: bool
) -> list[str]:
    notes = []
    if asked != language:
        notes.append(f"contexts in {language}, questions in {asked}")
    if is_sample:
        notes.append(f"the first {limit}" if seed is None else f"a random {limit}, seed {seed}")
    return notes


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


def _tydiqa_prefix(path: Path, language: str) -> str:
    if language not in TYDIQA_LANGUAGES:
        raise DataError(
            path,
            f"language {language}",
            "TyDi QA gold passages do not have it",
            f"choose from {' '.join(TYDIQA_LANGUAGES)}",
        )
    return TYDIQA_LANGUAGES[language] + "-"


@contextmanager
def _opened(
    path: Path, format: Format, language: str, asked: str, split: str
) -> Iterator[tuple[str, IO[bytes]]]:
    """Open the file or the member of an archive; yield also what to call it."""
    names = {
        "mlqa": rf"{split}-context-{language}-question-{asked}\.json",
        "mlqa-translate-train": rf"{language}_squad-translate-train-{split}-v1\.1\.json",
    }
    member = names.get(format, rf"{split}-v1\.1\.json")
    if path.suffix == ".zip":
        with open_zip_member(path, member) as (name, stream):
            yield f"{path}:{name}", stream
    elif path.name.endswith((".tar.gz", ".tgz")):
        with open_tar_member(path, path, member) as (name, stream):
            yield f"{path}:{name}", stream
    else:
        named = re.search(r"-context-([\w-]+?)-question-([a-z]+)\.json", path.name)
        if format == "mlqa" and named and named.groups() != (language, asked):
            raise DataError(
                path,
                "file name",
                f"holds contexts in {named[1]} and questions in {named[2]}, "
                f"not in {language} and {asked}",
                "correct the source's path or languages",
            )
        with open_bytes(path) as stream:
            yield str(path), stream


def _questions(content: bytes, place: str) -> Iterator[tuple[str, _Question]]:
    """Yield (context, question) of a file in SQuAD's layout."""
    try:
        parsed = _File.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            place,
            f"key {where}" if where else "",
            f"not in the layout of SQuAD 1.1 ({first['msg']})",
            "fetch the file again or correct the format",
        ) from error
    for article in parsed.data:
        for paragraph in article.paragraphs:
            for question in paragraph.qas:
                yield paragraph.context, question


def cross_language(contexts: pa.Table, questions: pa.Table) -> pa.Table:
    """Ask about the contexts of one language with the questions of another.

    The cross-lingual directions of XQuAD in efimov2022 (section 4.2, Table 4): rows with equal
    ids are joined; context and answers come from the first table, the question from the second.

    Args:
        contexts: table of ``schemas.QA_EXAMPLES``, in one language.
        questions: table of the same parallel dataset in another language.

    Returns:
        Table of ``schemas.QA_EXAMPLES`` in the order of ``contexts``; questions that only one of
        them has are left out.

    Raises:
        ValueError: if an id is repeated in a table.
    """
    by_id = dict(
        zip(
            questions["id"].to_pylist(),
            zip(
                questions["question"].to_pylist(),
                questions["question_language"].to_pylist(),
                strict=True,
            ),
            strict=True,
        )
    )
    ids = contexts["id"].to_pylist()
    if len(by_id) < questions.num_rows or len(set(ids)) < len(ids):
        raise ValueError("an id is repeated, so the tables hold more than one language or split")
    kept = [index for index, identifier in enumerate(ids) if identifier in by_id]
    columns = contexts.take(pa.array(kept, pa.int64())).to_pydict()
    columns["question"] = [by_id[identifier][0] for identifier in columns["id"]]
    columns["question_language"] = [by_id[identifier][1] for identifier in columns["id"]]
    return pa.table(columns, schema=QA_EXAMPLES)


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
    """Write :func:`cross_language` of two languages of a parallel dataset as a dataset of its own.

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
    joined = cross_language(first, second)
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
        notes=_notes(context_language, question_language, None, None, False),
    )


def _of_language(path: Path, language: str) -> pa.Table:
    table = read_parquet(path, QA_EXAMPLES)
    languages = zip(
        table["language"].to_pylist(), table["question_language"].to_pylist(), strict=True
    )
    found = table.filter(pa.array([pair == (language, language) for pair in languages], pa.bool_()))
    if not found.num_rows:
        raise DataError(
            path, f"language {language}", "no question in it", "add it to the dataset's languages"
        )
    if len(set(found["id"].to_pylist())) < found.num_rows:
        raise DataError(
            path, f"language {language}", "ids are repeated", "use one split of one dataset"
        )
    return found
