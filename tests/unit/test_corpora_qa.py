"""Questions, contexts and answers out of files in SQuAD's layout."""

import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from reading import derive_table, mirrored, needs_mirror, read_table, tar_gzip

from mbert_atlas.corpora import qa
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import QA_EXAMPLES


def read(path: Path, format: Any, language: str = "en", split: str = "train", **more: Any) -> Any:
    """Rows and card of ``path``."""
    table, card = read_table(qa.read, path, language, format=format, split=split, **more)
    assert table.schema.equals(QA_EXAMPLES)
    return table.to_pylist(), card


CONTEXT = "😀 Anna lives in Köln. "


def question(identifier: str, *answers: tuple[str, int], text: str = " Who? ") -> dict[str, Any]:
    rows = [{"text": answer, "answer_start": start} for answer, start in answers]
    return {"id": identifier, "question": text, "answers": rows, "is_impossible": False}


def squad(*questions: dict[str, Any], context: str = CONTEXT) -> str:
    paragraphs = [{"context": context, "qas": list(questions)}]
    return json.dumps({"version": "1.1", "data": [{"title": "A", "paragraphs": paragraphs}]})


GOOD = question("q1", ("Anna", 2), ("Anna lives", 2))


def test_squad(tmp_path: Path) -> None:
    path = tmp_path / "train-v1.1.json"
    path.write_text("\ufeff" + squad(GOOD, question("q2", ("Köln", 16))), encoding="utf-8")
    rows, card = read(path, "squad")
    assert rows == [
        {
            "id": "q1",
            "language": "en",
            "question_language": "en",
            "split": "train",
            "context": CONTEXT,
            "question": "Who?",
            "answer_text": ["Anna", "Anna lives"],
            "answer_start": [2, 2],
        },
        {**rows[0], "id": "q2", "answer_text": ["Köln"], "answer_start": [16]},
    ]
    counts = {"questions read": 2, "questions": 2, "contexts": 1, "answers": 3}
    assert card["counts"] == counts
    assert card["dropped"] == {}
    archive = tmp_path / "dummy_data.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("dummy_data/train-v1.1.json", path.read_bytes())
        opened.writestr("dummy_data/dev-v1.1.json", squad(question("q9", ("Anna", 2))))
    assert read(archive, "squad")[0] == rows
    assert [row["id"] for row in read(archive, "squad", split="dev")[0]] == ["q9"]
    (tmp_path / "x.json.xz").write_bytes(lzma.compress(path.read_bytes()))
    assert read(tmp_path / "x.json.xz", "squad")[0] == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (squad(question("q", ("Anna", -21))), "question q: answer not at its place"),
        (squad(question("q", ("Anna", 2), ("Köln", 15))), "question q: answer not at its place"),
        (squad(question("q", ("", 2))), "question q: answer not at its place"),
        (squad(question("q", ("Anna", 2), text=" ")), r"no question left of 1 \({'empty question'"),
        ('{"data": [', "x.json, line 1: not JSON"),
        ('{"data": [{"title": "A"}]}', r"key data\.0\.paragraphs: not in the layout .*required"),
        ("[]", "not in the layout of SQuAD"),
    ],
)
def test_bad_files_name_the_question(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read(path, "squad")


def test_bad_requests(tmp_path: Path) -> None:
    path = tmp_path / "dev-context-en-question-es.json"
    path.write_text(squad(GOOD))
    with pytest.raises(DataError, match="format drop: unknown"):
        read(path, "drop")
    with pytest.raises(DataError, match="questions in es: files of format squad are in one"):
        read(path, "squad", "es", questions="target")
    with pytest.raises(DataError, match="holds contexts in en and questions in es, not in en and "):
        read(path, "mlqa", split="dev")
    with pytest.raises(DataError, match="language vi: TyDi QA does not have it"):
        read(path, "tydiqa", language="vi")
    rows, card = read(path, "mlqa", "es", split="dev", questions="target")
    assert (rows[0]["language"], rows[0]["question_language"]) == ("en", "es")
    assert card["language"] == "en es"
    assert card["notes"] == ["contexts in en, questions in es"]


def test_mlqa_zip(tmp_path: Path) -> None:
    path = tmp_path / "MLQA_V1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for split in ("dev", "test"):
            for pair in (("en", "es"), ("es", "en"), ("en", "en")):
                name = f"MLQA_V1/{split}/{split}-context-{pair[0]}-question-{pair[1]}.json"
                archive.writestr(name, squad(question(f"{split}-{'-'.join(pair)}", ("Anna", 2))))
    for code, questions, pair in (
        ("es", "target", "en-es"),
        ("es", "english", "es-en"),
        ("en", "same", "en-en"),
    ):
        rows, _ = read(path, "mlqa", code, "test", questions=questions)
        assert [row["id"] for row in rows] == [f"test-{pair}"]
    with pytest.raises(DataError, match=r"test-context-es-question-es\.json: found 0 such"):
        read(path, "mlqa", "es", "test")


def test_translated_squad_drops_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "mlqa-translate-train.tar.gz"
    questions = [
        GOOD,
        GOOD,
        question("moved", ("Anna", 3)),
        question("half", ("Anna", 2), ("Köln", 3)),
        question("blank", ("", 0)),
        question("none"),
    ]
    name = "mlqa-translate-train/{}_squad-translate-train-{}-v1.1.json".format
    members = {name("es", "dev"): squad(GOOD), name("es", "train"): squad(*questions)}
    path.write_bytes(tar_gzip(members | {name("vi", "train"): squad(GOOD)}))
    rows, card = read(path, "mlqa-translate-train", "es")
    assert [(row["id"], row["answer_text"]) for row in rows] == [
        ("q1", ["Anna", "Anna lives"]),
        ("half", ["Anna"]),
    ]
    assert card["counts"]["questions read"] == 6
    assert card["dropped"] == {
        "repeated id": 1,
        "no answer": 1,
        "answer not at its place in the context": 2,
        "answers not at their place, of questions with others": 1,
    }
    assert len(read(path, "mlqa-translate-train", "es", "dev")[0]) == 1
    with pytest.raises(
        DataError, match=r"member hi_squad-translate-train-train-v1\.1\.json: found no"
    ):
        read(path, "mlqa-translate-train", "hi")


def test_tydiqa_takes_the_questions_of_one_language(tmp_path: Path) -> None:
    path = tmp_path / "tydiqa-goldp-v1.1-dev.json"
    ids = ("russian-1-0", "arabic--2-3", "russian--4-1")
    path.write_text(squad(*(question(one, ("Anna", 2)) for one in ids)))
    rows, card = read(path, "tydiqa", "ru", "dev")
    assert [row["id"] for row in rows] == ["russian-1-0", "russian--4-1"]
    assert card["counts"]["questions in other languages"] == 1
    with pytest.raises(DataError, match="language fi: no question left of 0"):
        read(path, "tydiqa", "fi", "dev")


def test_ids_that_xtreme_repeats(tmp_path: Path) -> None:
    path = tmp_path / "tydiqa.goldp.en.train.json"
    path.write_text(squad(question("12", ("Anna", 2)), question("12", ("Köln", 16))))
    rows, _ = read(path, "tydiqa-xtreme")
    assert [row["id"] for row in rows] == ["12-1", "12-2"]


def test_limits(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(squad(*(question(f"{n:02}", ("Anna", 2)) for n in range(40))))
    rows, card = read(path, "squad", limit=4)
    assert [row["id"] for row in rows] == ["00", "01", "02", "03"]
    assert (card["counts"]["questions read"], card["counts"]["questions"]) == (40, 4)
    assert card["notes"] == ["the first 4"]


def table(language: str, ids: str, asked: str | None = None) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "id": one,
                "language": language,
                "question_language": asked or language,
                "split": "dev",
                "context": f"{language} {one}",
                "question": f"{language} {one}?",
                "answer_text": [one],
                "answer_start": [3],
            }
            for one in ids
        ],
        QA_EXAMPLES,
    )


def cross(folder: Path, tables: list[pa.Table], code: str, questions: str) -> Any:
    path = folder / "x.parquet"
    write_parquet(pa.concat_tables(tables), path)
    table, cards = derive_table(qa.derive, [path], languages=[code], questions=questions)
    return table, cards[code]


def test_cross_language(tmp_path: Path) -> None:
    tables = [table("en", "abc"), table("ru", "cba"), table("vi", "xc"), table("hi", "y")]
    joined, card = cross(tmp_path, tables, "ru", "english")
    assert joined.schema.equals(QA_EXAMPLES)
    expected = table("ru", "cba", "en").to_pylist()
    for row in expected:
        row["question"] = f"en {row['id']}?"
    assert joined.to_pylist() == expected
    assert card["counts"] == {"questions": 3, "contexts": 3, "answers": 3}
    assert cross(tmp_path, tables, "vi", "target")[0]["id"].to_pylist() == ["c"]
    for code, message in (
        ("de", "language de: no question in it"),
        ("hi", "has no question in common with en"),
    ):
        with pytest.raises(DataError, match=message):
            cross(tmp_path, tables, code, "english")


def real(tmp_path: Path, name: str, *arguments: Any, **more: Any) -> dict[str, int]:
    rows, card = read(mirrored(name), *arguments, folder=tmp_path, **more)
    assert card["dropped"] == {}
    assert len(rows) == card["counts"]["questions"]
    counts: dict[str, int] = card["counts"]
    return counts


@needs_mirror
@pytest.mark.parametrize("language", ["en", "es", "ru", "vi", "hi"])
def test_real_xquad(tmp_path: Path, language: str) -> None:
    counts = real(tmp_path, f"xquad/xquad.{language}.json", "squad", language, "test")
    sizes = dict.fromkeys(["questions read", "questions", "answers"], 1190)
    assert counts == sizes | {"contexts": 240}


@needs_mirror
@pytest.mark.parametrize(
    ("language", "asked", "questions"),
    [
        ("en", "en", 1148),
        ("en", "es", 500),
        ("es", "en", 500),
        ("en", "hi", 507),
        ("vi", "en", 511),
        ("vi", "vi", 511),
    ],
)
def test_real_mlqa(tmp_path: Path, language: str, asked: str, questions: int) -> None:
    name = f"mlqa/MLQA_V1/dev/dev-context-{language}-question-{asked}.json*"
    questions_in = "same" if asked == language else "english" if asked == "en" else "target"
    code = asked if questions_in == "target" else language
    counts = real(tmp_path, name, "mlqa", code, "dev", questions=questions_in)
    assert counts["questions"] == counts["answers"] == questions


@needs_mirror
def test_real_tydiqa(tmp_path: Path) -> None:
    counts = real(tmp_path, "tydiqa/russian_tydiqa_dev.json", "tydiqa", "ru", "dev")
    assert counts["questions"] == 812
    assert counts["answers"] == 180 + 2 * 632
    name = "tydiqa/tydiqa-goldp-v1.1-train/*.json*"
    assert real(tmp_path, name, "tydiqa-xtreme", "en", "train")["questions"] == 3696
    with pytest.raises(DataError, match="question 0: repeated id"):
        real(tmp_path, name, "squad", "en", "train")


@needs_mirror
def test_the_stub_of_squad_has_an_answer_that_is_not_in_its_context(tmp_path: Path) -> None:
    for split, identifier in (("train", 1), ("dev", 2)):
        with pytest.raises(DataError, match=f"question {identifier}: answer not at its place"):
            real(tmp_path, "squad/dummy_data.zip", "squad", "en", split)


@needs_mirror
def test_real_cross_language(tmp_path: Path) -> None:
    tables = {}
    for language in ("en", "ru"):
        path = mirrored(f"xquad/xquad.{language}.json")
        tables[language], _ = read_table(qa.read, path, language, format="squad", folder=tmp_path)
    joined, _ = cross(tmp_path, [tables["en"], tables["ru"]], "ru", "target")
    assert joined.num_rows == 1190
    assert joined["answer_text"] == tables["en"]["answer_text"]
    assert joined["question"].to_pylist() == tables["ru"]["question"].to_pylist()
