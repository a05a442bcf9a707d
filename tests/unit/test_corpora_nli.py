"""Premises and hypotheses out of five layouts."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import derive_table, mirrored, needs_mirror, read_table

from mbert_atlas.corpora import nli
from mbert_atlas.corpora.nli import LABELS, english_side
from mbert_atlas.errors import DataError
from mbert_atlas.files import write_parquet
from mbert_atlas.schemas import NLI_PAIRS


def read(path: Path, format: Any, language: str = "en", split: str = "train", **more: Any) -> Any:
    """Rows and card of ``path``."""
    table, card = read_table(nli.read, path, language, format=format, split=split, **more)
    assert table.schema.equals(NLI_PAIRS)
    return table.to_pylist(), card


def record(number: int, label: str = "neutral", **changed: str) -> dict[str, str]:
    return {
        "gold_label": label,
        "sentence1": f"Premise {number}.",
        "sentence2": f' "Hypothesis" {number} ',
        "pairID": f"{number}n",
        "genre": "fiction",
        **changed,
    }


def json_lines(records: list[dict[str, str]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in records)


def test_multinli_lines(tmp_path: Path) -> None:
    path = tmp_path / "multinli_1.0_train.jsonl"
    records = [record(1), record(2, "-"), record(3, "entailment"), record(4, sentence2=" ")]
    path.write_text(json_lines(records))
    rows, card = read(path, "multinli")
    assert rows == [
        {
            "id": "1n",
            "language": "en",
            "split": "train",
            "premise": "Premise 1.",
            "hypothesis": '"Hypothesis" 1',
            "label": "neutral",
            "genre": "fiction",
        },
        {
            **rows[0],
            "id": "3n",
            "premise": "Premise 3.",
            "hypothesis": '"Hypothesis" 3',
            "label": "entailment",
        },
    ]
    assert card["counts"] == {"pairs read": 4, "pairs": 2, "neutral": 1, "entailment": 1}
    assert card["dropped"] == {
        "no label that most annotators chose": 1,
        "empty premise or hypothesis": 1,
    }


@pytest.mark.parametrize(("split", "expected"), [("train", "1n"), ("dev", "2n")])
def test_multinli_zip(tmp_path: Path, split: str, expected: str) -> None:
    path = tmp_path / "multinli_1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number, part in enumerate(("train", "dev_matched", "dev_mismatched"), 1):
            name = f"multinli_1.0/multinli_1.0_{part}.jsonl"
            archive.writestr(name, json_lines([record(number)]))
            archive.writestr(f"__MACOSX/{name}", b"\x00")
    rows, _ = read(path, "multinli", split=split)
    assert [row["id"] for row in rows] == [expected]


XNLI_HEADER = [
    *("language", "gold_label", "sentence1_binary_parse", "sentence2_binary_parse"),
    *("sentence1_parse", "sentence2_parse", "sentence1", "sentence2", "promptID", "pairID"),
    *("genre", "label1", "label2", "label3", "label4", "label5"),
    *("sentence1_tokenized", "sentence2_tokenized", "match"),
]


def xnli_line(language: str, number: int, label: str) -> str:
    row = dict.fromkeys(XNLI_HEADER, "")
    row |= {"language": language, "gold_label": label, "pairID": str(number), "genre": "travel"}
    row |= {"sentence1": f'{language} "premise', "sentence2": f"{language} hypothesis {number}"}
    return "\t".join(row.values())


def test_xnli_takes_the_rows_of_one_language(tmp_path: Path) -> None:
    path = tmp_path / "XNLI-1.0.zip"
    lines = ["\t".join(XNLI_HEADER)]
    lines += [xnli_line(code, n, LABELS[n]) for n in range(3) for code in ("es", "ru")]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("XNLI-1.0/xnli.test.tsv", "\n".join(lines) + "\n")
        archive.writestr("XNLI-1.0/xnli.dev.tsv", lines[0] + "\n")
    spanish, _ = read(path, "xnli", "es", "test")
    russian, _ = read(path, "xnli", "ru", "test")
    assert [row["premise"] for row in spanish] == ['es "premise'] * 3
    assert [row["label"] for row in spanish] == list(LABELS)
    assert [row["id"] for row in spanish] == [row["id"] for row in russian]
    with pytest.raises(DataError, match="language vi: no pair left of 0"):
        read(path, "xnli", "vi", "test")
    with pytest.raises(DataError, match=r"xnli\.train\.tsv: found 0 such members"):
        read(path, "xnli", "es", "train")


def test_taxinli(tmp_path: Path) -> None:
    path = tmp_path / "taxinli.tsv"
    lines = [
        "prem\thyp\tlabel\tannotated_label\tpairID\tgenre",
        "p1\th1\tneutral\tx\t7n\tslate",
        "p2\th2\tentailment\tx\t7n\tslate",  # MultiNLI's numbers start again in its second part
    ]
    path.write_text("\n".join(lines) + "\n")
    rows, _ = read(path, "taxinli")
    assert [row["id"] for row in rows] == ["7n-2", "7n-3"]
    path.write_text("\n".join([*lines, "p3\th3\tneutral"]) + "\n")
    with pytest.raises(DataError, match="line 4: 3 tab-separated columns where 6"):
        read(path, "taxinli")


@pytest.fixture
def stripped(tmp_path: Path) -> Path:
    """An XTREME test file, whose labels were taken out, and a labelled parallel one."""
    (tmp_path / "test-es.tsv").write_text("p1\th1\np2\th2\np3\th3\n")
    (tmp_path / "test-de.tsv").write_text("a\tb\tneutral\nc\td\tentailment\ne\tf\tneutral\n")
    return tmp_path / "test-es.tsv"


def test_labels_from_a_parallel_file(stripped: Path) -> None:
    german = stripped.with_name("test-de.tsv")
    rows, card = read(stripped, "xtreme", "es", "test", partners=[german])
    assert [(row["premise"], row["label"]) for row in rows] == [
        ("p1", "neutral"),
        ("p2", "entailment"),
        ("p3", "neutral"),
    ]
    assert [row["genre"] for row in rows] == [None] * 3
    assert [file["path"] for file in card["source_files"]] == [str(stripped), str(german)]


def test_missing_labels(stripped: Path) -> None:
    with pytest.raises(DataError, match=r"test-es\.tsv, line 1: the label is missing"):
        read(stripped, "xtreme", "es", "test", partners=[stripped])


def test_labels_that_disagree(stripped: Path) -> None:
    stripped.write_text("p\th\tneutral\nq\ti\tcontradiction\nr\tj\tneutral\n")
    german = stripped.with_name("test-de.tsv")
    with pytest.raises(DataError, match="line 2: is labelled contradiction, but line 2"):
        read(stripped, "xtreme", "es", "test", partners=[german])
    german.write_text("a\tb\tneutral\nc\td\tyes\ne\tf\tneutral\n")
    with pytest.raises(DataError, match=r"test-de\.tsv, line 2: 'yes' is not one of"):
        read(stripped, "xtreme", "es", "test", partners=[german])


def parallel(ids: list[str], languages: tuple[str, ...] = ("en", "es", "hi")) -> list[Any]:
    return [
        {
            "id": one,
            "language": language,
            "split": "test",
            "premise": f"{language} premise {one}",
            "hypothesis": f"{language} hypothesis {one}",
            "label": LABELS[len(one) % 3],
            "genre": None,
        }
        for language in languages
        for one in ids
    ]


def mixed(folder: Path, rows: list[Any], seed: int = 1, **more: Any) -> tuple[list[Any], Any]:
    write_parquet(pa.Table.from_pylist(rows, NLI_PAIRS), folder / "xnli.parquet")
    options = {"seed": seed, "languages": list(dict.fromkeys(row["language"] for row in rows))}
    table, card = derive_table(nli.derive, [folder / "xnli.parquet"], **options | more)
    assert table.schema.equals(NLI_PAIRS)
    return table.to_pylist(), card


def test_one_side_of_each_pair_becomes_english(tmp_path: Path) -> None:
    ids = [str(number) for number in range(400)]
    rows, card = mixed(tmp_path, parallel(ids))
    assert [(row["language"], row["id"]) for row in rows] == [
        (language, one) for language in ("es", "hi") for one in ids
    ]
    sides = []
    for row in rows:
        english = [side for side in ("premise", "hypothesis") if row[side].startswith("en ")]
        assert len(english) == 1
        assert english[0] == english_side(1, row["id"])
        sides += english
        assert row == {
            **parallel([row["id"]], (row["language"],))[0],
            english[0]: f"en {english[0]} {row['id']}",
        }
    assert sides[:400] == sides[400:]
    # binomial: six standard deviations of 10 about 200
    assert 140 < sides[:400].count("premise") < 260
    assert card["counts"]["pairs"] == 800
    assert card["counts"]["es: premise in English"] == sides[:400].count("premise")
    other, _ = mixed(tmp_path, parallel(ids), seed=2)
    assert 140 < sum(one != two for one, two in zip(rows, other, strict=True)) / 2 < 260
    spanish, _ = mixed(tmp_path, parallel(ids), languages=["en", "es"])
    assert spanish == rows[:400]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.permutations(parallel([str(n) for n in range(6)])), st.sets(st.integers(0, 5)))
def test_the_coin_depends_neither_on_order_nor_on_other_pairs(
    tmp_path: Path, shuffled: list[Any], left_out: set[int]
) -> None:
    whole, _ = mixed(tmp_path, parallel([str(n) for n in range(6)]))
    kept = [row for row in shuffled if int(row["id"]) not in left_out]
    if not kept:
        return
    rows, _ = mixed(tmp_path, kept)
    expected = [row for row in whole if int(row["id"]) not in left_out]
    key = lambda row: (row["language"], row["id"])  # noqa: E731
    assert sorted(rows, key=key) == sorted(expected, key=key)


def test_pairs_that_cannot_be_mixed(tmp_path: Path) -> None:
    rows = parallel(["1", "2"])
    _, card = mixed(tmp_path, rows[1:])
    assert card["dropped"] == {"no English counterpart": 2}
    for bad, more, message in (
        (rows[2:], {}, "languages es hi: no pair has an English one of its id"),
        (rows, {"languages": ["vi"]}, "languages vi: no pair has"),
        (rows[:2], {}, "no pair has an English one"),
        ([rows[0], rows[3]], {}, "languages es: no pair has an English one of its id"),
        ([rows[0], {**rows[2], "label": "entailment"}], {}, "pair 1: is labelled entailment in"),
    ):
        with pytest.raises(DataError, match=message):
            mixed(tmp_path, bad, **more)


@needs_mirror
@pytest.mark.parametrize("language", ["es", "zh"])
def test_real_xnli_has_equal_labels_in_all_languages(tmp_path: Path, language: str) -> None:
    path = mirrored(f"xnli/xtreme/test-{language}.tsv*")
    labels = mirrored("xnli/superGLEBer-de/test.txt")
    _, card = read(path, "xtreme", language, "test", partners=[labels], folder=tmp_path)
    assert card["counts"] == {"pairs read": 5010, "pairs": 5010, **dict.fromkeys(LABELS, 1670)}


@needs_mirror
@pytest.mark.parametrize(
    ("path", "format", "language", "pairs"),
    [
        ("multinli/taxinli/taxinli10k.tsv", "taxinli", "en", 10_071),
        ("xnli/xtreme/dev-hi.tsv", "xtreme", "hi", 2490),
        ("xnli/esxnli/esxnli.tsv", "xnli", "es", 2490),
        ("xnli/native-stub/dummy_data.zip", "xnli", "zh", 1),
    ],
)
def test_real_files(tmp_path: Path, path: str, format: Any, language: str, pairs: int) -> None:
    rows, card = read(mirrored(path), format, language, "dev", folder=tmp_path)
    assert card["counts"]["pairs"] == len(rows) == pairs
