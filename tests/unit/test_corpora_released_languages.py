"""The released language identification set, in the layout that its authors' code writes."""

import json
import zipfile

import pytest
from mbert_atlas.corpora.released_languages import read_released_languages

from mbert_atlas.errors import DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import LID_EXAMPLES

HEADER = "row,tokens,language\r\n"


def archive(path, **changes):
    files = {
        "train": HEADER + '0,"un ##able , said",en\r\n1,你 好,zh\r\n2,ja,et\r\n',
        "val": HEADER + "0,cats,en\r\n",
        "dev": HEADER + "0,dogs,en\r\n",
        "test": HEADER + "0,the cat ##s,en\r\n1,好,zh\r\n",
    } | changes
    with zipfile.ZipFile(path, "w") as target:
        for split, text in files.items():
            if text is not None:
                target.writestr(f"wiki/dataset_{split}.csv", text)
    return path


def test_released_set_keeps_its_splits(tmp_path):
    path = archive(tmp_path / "released.zip")
    out, card = tmp_path / "out.parquet", tmp_path / "card.json"
    read_released_languages(path, out, card, languages=["en", "zh"])
    rows = read_parquet(out, LID_EXAMPLES).to_pylist()
    assert [(row["split"], row["language"], row["text"]) for row in rows] == [
        ("train", "en", "unable , said"),
        ("train", "zh", "你 好"),
        ("validation", "en", "cats"),
        ("dev", "en", "dogs"),
        ("test", "en", "the cats"),
        ("test", "zh", "好"),
    ]
    assert len({row["id"] for row in rows}) == len(rows)
    assert json.loads(card.read_text())["counts"]["zh: test"] == 1


@pytest.mark.parametrize(
    ("changes", "languages", "sentence"),
    [
        ({"dev": None}, ["en"], "member dataset_dev.csv: found 0 such members"),
        ({"val": "row,text,language\r\n"}, ["en"], "there is no column 'tokens'"),
        ({}, ["en", "sw"], "language sw: there are no examples"),
        ({"dev": HEADER + "0,dogs\r\n"}, ["en"], "dataset_dev.csv, line 2: the line is cut short"),
        ({"dev": HEADER.encode() + b"0,\xff,en\r\n"}, ["en"], "it cannot be read .'utf-8' codec"),
        (
            {"train": HEADER + "0,un able,en\r\n", "test": HEADER + "0,the cat s,en\r\n"},
            ["en"],
            "no subword begins with ##",
        ),
    ],
)
def test_refusals(tmp_path, changes, languages, sentence):
    path = archive(tmp_path / "released.zip", **changes)
    with pytest.raises(DataError, match=sentence):
        read_released_languages(path, tmp_path / "o", tmp_path / "c", languages=languages)
