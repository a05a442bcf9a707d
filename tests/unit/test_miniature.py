"""The miniature as files: upstream's formats, and the same bytes for the same seed."""

import bz2
import csv
import gzip
import hashlib
import itertools
import json
import lzma
import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import conllu
import pytest
from reading import read_table

from clone import TINY_SIZES
from mbert_atlas.config.miniature import MiniatureSizes
from mbert_atlas.corpora import ner, qa
from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.encyclopedia import draw_outlines, export, write_pages
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.writing import write_miniature, written_names

LANGUAGES = ["en", "es", "bg", "hi", "ar", "zh"]
SIZES = MiniatureSizes(**TINY_SIZES)
TOGETHER = ("xnli/", "mlqa/", "tydiqa/", "wikiann/", "wikipedia/", "cc100/", "xquad/", "wals/")
"""Files that hold several languages, code-switched tokens, or answers unique in all languages."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("miniature") / "mirror"
    write_miniature(folder, LANGUAGES, 3, SIZES)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_same_seed_same_bytes_in_another_process(world: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from mbert_atlas.miniature.writing import *; "
        f"write_miniature(Path(sys.argv[1]), {LANGUAGES!r}, 3, "
        "MiniatureSizes.model_validate_json(sys.argv[2]))"
    )
    again = tmp_path / "again"
    subprocess.run(
        [sys.executable, "-c", program, str(again), SIZES.model_dump_json()],
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "4242", "TZ": "Asia/Tokyo"},
    )
    assert contents(again) == contents(world)


def test_another_seed_gives_other_files(world: Path, tmp_path: Path) -> None:
    write_miniature(tmp_path / "other", LANGUAGES, 4, SIZES)
    ours, other = contents(world), contents(tmp_path / "other")
    assert set(ours) == set(other)
    same = {name.split("/")[0] for name in ours if ours[name] == other[name]}
    assert same <= {"muse", "wals"}  # the languages are what they are


def test_a_language_does_not_depend_on_the_others(world: Path, tmp_path: Path) -> None:
    write_miniature(tmp_path / "two", ["hi"], 3, SIZES)
    ours, fewer = contents(world), contents(tmp_path / "two")
    assert [
        name
        for name in fewer
        if fewer[name] != ours[name] and not name.startswith((*TOGETHER, "MANIFEST"))
    ] == []
    name = "wikiann/panx_dataset.zip"
    with zipfile.ZipFile(world / name) as whole, zipfile.ZipFile(tmp_path / "two" / name) as part:
        assert len(part.namelist()) > 1
        for member in part.namelist():
            assert part.read(member) == whole.read(member)
    assert "wikipedia/enwiki-20200420-pages-articles.xml.bz2" in fewer
    assert "wikimatrix/WikiMatrix.en-es.tsv.gz" not in fewer


def test_languages_that_lend_no_words_leave_the_others_as_they_are(tmp_path: Path) -> None:
    only = ["wikipedia", "cc100"]
    write_miniature(tmp_path / "few", ["es", "hi"], 3, SIZES, only)
    write_miniature(tmp_path / "more", ["es", "hi", "tr"], 3, SIZES, only, lending=["es", "hi"])
    write_miniature(tmp_path / "all", ["es", "hi", "tr"], 3, SIZES, only)
    few, more, everyone = (contents(tmp_path / name) for name in ("few", "more", "all"))
    assert "cc100/tr.txt.xz" in more
    for name in few.keys() - {"MANIFEST.tsv"}:
        assert few[name] == more[name] != everyone[name]


def test_the_manifest_lists_every_file(world: Path) -> None:
    with (world / "MANIFEST.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    files = contents(world)
    assert [row["path"] for row in rows] == sorted(set(files) - {"MANIFEST.tsv"})
    for row in rows:
        data = files[row["path"]]
        assert int(row["bytes"]) == len(data)
        assert row["sha256"] == hashlib.sha256(data).hexdigest()
        assert row["dataset"] == row["path"].split("/")[0]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_wikiextractor_gives_back_the_paragraphs(code: str, tmp_path: Path) -> None:
    language, outlines = MINIATURE_LANGUAGES[code], draw_outlines(Sampler(5), 12)
    pages = write_pages(Random(5), language, outlines)
    articles = [page for page in pages if page.namespace == 0 and page.redirect is None]
    assert any("{|" in page.wikitext for page in articles)
    assert any("* [[" in page.wikitext for page in articles)
    assert any(page.redirect for page in pages)
    dump = tmp_path / "dump.xml.bz2"
    dump.write_bytes(bz2.compress(export(language, pages).encode()))
    program = [sys.executable, "-m", "wikiextractor.WikiExtractor", "--json", "--processes", "1"]
    subprocess.run(
        [*program, "-o", str(tmp_path / "out"), str(dump)], check=True, capture_output=True
    )
    files = sorted((tmp_path / "out").rglob("wiki_*"))
    extracted = [
        json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()
    ]
    assert [page["title"] for page in extracted] == [page.title for page in articles]
    long: list[bool] = []
    for page, outline in zip(extracted, outlines, strict=True):
        paragraphs = [
            (" " * language.spaced).join(language.sentence(meaning).text for meaning in meanings)
            for _, section in outline.sections
            for meanings in section
        ]
        lines = {line.strip() for line in page["text"].split("\n")}
        assert paragraphs[0] in lines
        assert len(lines.intersection(paragraphs)) >= 0.5 * len(paragraphs)
        assert all(len(line) < 100 for line in lines.difference(paragraphs))
        long += [len(paragraph) >= 100 for paragraph in paragraphs]
    assert sum(long) >= 2 * len(articles)
    assert not all(long)


def mined(world: Path, code: str) -> list[tuple[float, str, str]]:
    first, second = sorted(("en", code))
    path = world / f"wikimatrix/WikiMatrix.{first}-{second}.tsv.gz"
    text = gzip.decompress(path.read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()]
    assert all(len(row) == 3 for row in rows)
    return [(float(s), *((b, a) if first != "en" else (a, b))) for s, a, b in rows]


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_mined_bitext(world: Path, code: str) -> None:
    rows = mined(world, code)
    assert SIZES.bitext_sentences < len(rows) <= 1.1 * SIZES.bitext_sentences
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)
    english = Counter(row[1] for row in rows if row[0] >= 1.06)
    assert max(english.values()) == 1


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_gold_alignments(world: Path, code: str) -> None:
    known = {english for _, english, _ in mined(world, code)}
    path = world / f"gold-alignments/XL-WA/data/{code}/test.tsv"
    rows = path.read_text(encoding="utf-8").splitlines()
    assert len(rows) == SIZES.gold_sentences
    for row in rows:
        english, other, links = (column.split(" ") for column in row.split("\t"))
        pairs = [tuple(map(int, link.split("-"))) for link in links]
        assert pairs
        assert all(0 <= i < len(english) and 0 <= j < len(other) for i, j in pairs)
        assert (len(english) - 1, len(other) - 1) in pairs  # the full stops
        text = " ".join(english).replace(" .", ".").replace(" ,", ",")
        assert text not in known
        known.add(text)


def test_treebanks(world: Path) -> None:
    folder = world / "universal-dependencies"
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted(f"UD_{MINIATURE_LANGUAGES[c].name}-Miniature" for c in LANGUAGES)

    def treebank(code: str, split: str) -> list[dict[str, str]]:
        name = f"UD_{MINIATURE_LANGUAGES[code].name}-Miniature/{code}_miniature-ud-{split}.conllu"
        parsed = conllu.parse((folder / name).read_text("utf-8"))
        assert len(parsed) == getattr(SIZES, f"ud_{split}")
        return [part.metadata for part in parsed]

    english = {split: treebank("en", split) for split in ("train", "dev", "test")}
    texts = [part["text"] for parts in english.values() for part in parts]
    assert len(set(texts)) == len(texts)
    for code in LANGUAGES[1:]:
        assert [(part["sent_id"], part["text_en"]) for part in treebank(code, "test")] == [
            (part["sent_id"], part["text"]) for part in english["test"]
        ]
    assert treebank("zh", "train")
    with pytest.raises(FileNotFoundError):
        treebank("es", "train")


def test_multinli(world: Path) -> None:
    with zipfile.ZipFile(world / "multinli/multinli_1.0.zip") as archive:
        assert archive.testzip() is None
        splits = {
            split: [
                json.loads(line)
                for line in archive.read(f"multinli_1.0/multinli_1.0_{split}.jsonl").splitlines()
            ]
            for split in ("train", "dev_matched", "dev_mismatched")
        }
    assert len(splits["train"]) == SIZES.nli_train
    for split, rows in splits.items():
        labels = Counter(row["gold_label"] for row in rows)
        assert ("-" in labels) == (split == "dev_matched")
        third = len(rows) / 3
        spread = [labels[name] for name in ("entailment", "neutral", "contradiction")]
        assert all(abs(count - third) <= 1 + labels["-"] for count in spread)
        assert len({row["pairID"] for row in rows}) == len(rows)
        for row in rows:
            if row["gold_label"] != "-":
                assert Counter(row["annotator_labels"]).most_common(1)[0][0] == row["gold_label"]
            stripped = row["sentence1_binary_parse"].replace("( ", "").replace(" )", "")
            assert stripped.replace(" .", ".") == row["sentence1"].replace(",", " ,")
    premises = [{row["sentence1"] for row in rows} for rows in splits.values()]
    assert premises[0].isdisjoint(premises[1])


def test_xnli(world: Path) -> None:
    with zipfile.ZipFile(world / "xnli/XNLI-1.0.zip") as archive:
        assert archive.testzip() is None
        for split in ("dev", "test"):
            lines = archive.read(f"XNLI-1.0/xnli.{split}.tsv").decode().splitlines()
            header, *rows = (line.split("\t") for line in lines)
            assert len(set(header)) == 19
            by_language = {
                code: [dict(zip(header, row, strict=True)) for row in rows if row[0] == code]
                for code in LANGUAGES
            }
            assert {len(part) for part in by_language.values()} == {SIZES.nli_test}
            for part in by_language.values():
                for key in ("gold_label", "pairID", "promptID", "label3"):
                    assert [row[key] for row in part] == [row[key] for row in by_language["en"]]
            labels = Counter(row["gold_label"] for row in by_language["en"])
            assert set(labels.values()) == {SIZES.nli_test // 3}
            for row in by_language["en"]:
                votes = Counter(row[f"label{n}"] for n in range(1, 6))
                assert votes[row["gold_label"]] >= 3
                assert row["match"] == str(row["label1"] == row["gold_label"])
                assert row["sentence1_tokenized"].replace(" .", ".") == row["sentence1"]


def test_wikiann(world: Path, tmp_path: Path) -> None:
    path = world / "wikiann/panx_dataset.zip"
    with zipfile.ZipFile(path) as archive:
        assert sorted(archive.namelist()) == sorted(f"{code}.tar.gz" for code in LANGUAGES)
    for code in LANGUAGES:
        for split in ("train", "dev", "test"):
            options = {"format": "rahimi", "split": split, "folder": tmp_path}
            table, card = read_table(ner.read, path, code, **options)
            rows = table.to_pylist()
            assert len(rows) == (SIZES.ner_train if split == "train" else SIZES.ner_test)
            tags = Counter(tag for row in rows for tag in row["ner_tags"])
            assert all(tags[f"B-{name}"] for name in ("PER", "LOC", "ORG"))
            assert sum(tags[f"I-{name}"] for name in ("PER", "LOC", "ORG"))
            assert "I- tags that continue no entity" not in card["counts"]


def questions(
    folder: Path, path: Path, format: str, code: str, split: str, **more: Any
) -> tuple[list[Any], Any]:
    options = {"format": format, "split": split, "folder": folder, **more}
    table, card = read_table(qa.read, path, code, **options)
    return table.to_pylist(), card


def test_squad_and_its_translation(world: Path, tmp_path: Path) -> None:
    sizes = {"train": SIZES.qa_train, "dev": SIZES.qa_test}
    kept, misplaced = 0, 0
    for split, size in sizes.items():
        rows, _ = questions(tmp_path, world / f"squad/{split}-v1.1.json", "squad", "en", split)
        assert len({row["id"] for row in rows}) == len(rows) == size
        english = {row["id"]: row for row in rows}
        for code in ("es", "hi", "ar", "zh"):
            path = world / "mlqa/mlqa-translate-train.tar.gz"
            other, card = questions(tmp_path, path, "mlqa-translate-train", code, split)
            assert {row["id"] for row in other} <= set(english)
            kept += len(other)
            misplaced += card["dropped"].get("answer not at its place in the context", 0)
    assert kept > 0.6 * 4 * sum(sizes.values())
    assert 0 < misplaced < 20


def test_xquad(world: Path, tmp_path: Path) -> None:
    texts = {
        code: questions(tmp_path, world / f"xquad/xquad.{code}.json", "squad", code, "test")[0]
        for code in LANGUAGES
    }
    for rows in texts.values():
        assert [row["id"] for row in rows] == [row["id"] for row in texts["en"]]
        assert len(rows) == SIZES.qa_test
        for row in rows:
            assert row["context"].count(row["answer_text"][0]) == 1
            assert row["question"][-1] in "?？؟"
    assert {row["context"] for row in texts["hi"]}.isdisjoint(row["context"] for row in texts["en"])


def test_mlqa(world: Path, tmp_path: Path) -> None:
    path = world / "mlqa/MLQA_V1.zip"
    spoken = ["en", "es", "hi", "ar", "zh"]
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == 2 * len(spoken) ** 2
    same = {code: questions(tmp_path, path, "mlqa", code, "test")[0] for code in spoken}
    for code, way in itertools.product(spoken[1:], ("target", "english")):
        rows, _ = questions(tmp_path, path, "mlqa", code, "test", questions=way)
        context, asked = ("en", code) if way == "target" else (code, "en")
        assert len(rows) == SIZES.qa_test
        for row, one, two in zip(rows, same[context], same[asked], strict=True):
            assert row == {**one, "question": two["question"], "question_language": asked}


def test_tydiqa(world: Path, tmp_path: Path) -> None:
    write_miniature(tmp_path / "world", ["ru"], 3, SIZES)
    name = "tydiqa/tydiqa-goldp-v1.1-dev.json"
    rows, _ = questions(tmp_path, tmp_path / "world" / name, "tydiqa", "ru", "dev")
    assert len(rows) == SIZES.qa_test
    assert {len(row["answer_text"]) for row in rows} == {1, 2}
    assert all(row["id"].startswith("russian-") for row in rows)
    _, card = questions(tmp_path, world / name, "tydiqa", "ar", "dev")
    assert card["counts"]["questions in other languages"] == SIZES.qa_test


def test_names_of_files_are_known_before_they_are_written(world: Path) -> None:
    files = {str(path.relative_to(world)) for path in world.rglob("*") if path.is_file()}
    assert written_names(LANGUAGES) == files - {"MANIFEST.tsv"}


def test_only_what_is_requested(world: Path, tmp_path: Path) -> None:
    write_miniature(tmp_path / "part", LANGUAGES, 3, SIZES, only=["cc100", "squad"])
    part, whole = contents(tmp_path / "part"), contents(world)
    assert {name.split("/")[0] for name in part} == {"cc100", "squad", "mlqa", "MANIFEST.tsv"}
    assert [name for name in part if name != "MANIFEST.tsv" and part[name] != whole[name]] == []


def test_running_texts_say_the_same_line_by_line(world: Path) -> None:
    paths = [world / f"cc100/{code}.txt.xz" for code in LANGUAGES]
    texts = [lzma.decompress(path.read_bytes()).decode() for path in paths]
    assert {text.count("\n") for text in texts} == {SIZES.stories}
    assert len(set(texts)) == len(LANGUAGES)


def test_dictionaries_hold_every_content_word(world: Path) -> None:
    for code in LANGUAGES[1:]:
        there = (world / f"muse/dictionaries/en-{code}.txt").read_text("utf-8").splitlines()
        back = (world / f"muse/dictionaries/{code}-en.txt").read_text("utf-8").splitlines()
        assert len(there) >= 120
        assert {tuple(row.split(" ")) for row in there} == {
            tuple(reversed(row.split(" "))) for row in back
        }
        assert sum(row.startswith("dog ") for row in there) == 1


def test_wals_can_be_joined(world: Path) -> None:
    tables = {}
    for name in ("languages", "codes", "values"):
        with (world / f"wals/cldf/{name}.csv").open(encoding="utf-8", newline="") as stream:
            tables[name] = {row["ID"]: row for row in csv.DictReader(stream)}
    assert set(tables["languages"]) == {"eng", "spa", "bul", "hin", "ams", "mnd"}
    for row in tables["values"].values():
        code = tables["codes"][row["Code_ID"]]
        assert row["Language_ID"] in tables["languages"]
        assert code["Parameter_ID"] == row["Parameter_ID"]
        assert code["Number"] == row["Value"]
    order = tables["codes"][tables["values"]["81A-ams"]["Code_ID"]]
    assert order["Name"] == "VSO"
    assert tables["languages"]["ams"]["Genus"] == "Semitic"


def test_test_sets_say_nothing_that_texts_say(world: Path) -> None:
    texts = lzma.decompress((world / "cc100/en.txt.xz").read_bytes()).decode()
    folder = world / "universal-dependencies/UD_English-Miniature"
    tested = conllu.parse((folder / "en_miniature-ud-test.conllu").read_text("utf-8"))
    assert not any(part.metadata["text"] in texts for part in tested)
