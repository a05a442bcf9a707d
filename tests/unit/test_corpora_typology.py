"""Features of WALS: read by id, the language checked, mistakes named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mbert_atlas.corpora.typology import read_typology
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json
from mbert_atlas.languages import Language, Languages

ROOT = Path(__file__).parents[2]
LANGUAGES = Languages.read(ROOT / "resources/languages.csv")
MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")
TABLES = {
    "languages": "ID,Name,ISO639P3code,Genus\neng,English,eng,Germanic\nrus,Russian,rus,Slavic\n",
    "values": "ID,Language_ID,Parameter_ID,Code_ID\n1,eng,81A,81A-2\n2,rus,81A,81A-2\n"
    "3,eng,1A,1A-1\n",
    "codes": "ID,Name,Number\n81A-2,SVO,2\n1A-1,Small,1\n",
}


def read(folder: Path, wanted: list[Language], **changes: str) -> Any:
    paths = {}
    for name, text in (TABLES | changes).items():
        paths[name] = folder / f"{name}.csv"
        paths[name].write_text(text)
    read_typology(paths, wanted, folder / "o.parquet", folder / "o.card.json")
    return pq.read_table(folder / "o.parquet").to_pylist(), read_json(folder / "o.card.json")


def test_features_by_language(tmp_path: Path) -> None:
    rows, card = read(tmp_path, [LANGUAGES["ru"], LANGUAGES["en"], LANGUAGES["eo"]])
    assert rows == [
        {"language": "en", "feature": "1A", "value": "1 Small"},
        {"language": "en", "feature": "81A", "value": "2 SVO"},
        {"language": "ru", "feature": "81A", "value": "2 SVO"},
    ]
    assert card["counts"] == {"languages": 2, "features": 2, "values": 3}
    assert card["dropped"] == {"languages that WALS does not have": 1}


def test_languages_that_share_an_id(tmp_path: Path) -> None:
    romanised = LANGUAGES["ru"].model_copy(update={"code": "ru_rom"})
    rows, _ = read(tmp_path, [LANGUAGES["ru"], romanised])
    assert [row["language"] for row in rows] == ["ru", "ru_rom"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"languages": TABLES["languages"].replace("English,eng,Germanic", "Ainu,ain,Ainu")},
            r"languages\.csv, line 2: Ainu \(ain, Ainu\) is not English \(eng, Germanic\)",
        ),
        ({"languages": "ID,Name,ISO639P3code,Genus\n"}, "language en: there is no id 'eng'"),
        ({"languages": "ID,Name\n"}, "line 1: no column ISO639P3code"),
        ({"codes": "ID,Name,Number\n1A-1,Small,1\n"}, "line 2: the value '81A-2' is in no table"),
        ({"values": "Language_ID,Parameter_ID,Code_ID\n"}, "no language has a feature"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, [LANGUAGES["en"]], **changes)


@pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
def test_every_language_of_the_table_is_the_one_that_wals_means(tmp_path: Path) -> None:
    folder = Path(str(MIRROR)) / "wals/cldf"
    tables = {name: next(folder.glob(f"{name}.csv*")) for name in TABLES}
    read_typology(tables, list(LANGUAGES), tmp_path / "o.parquet", tmp_path / "o.card.json")
    card = read_json(tmp_path / "o.card.json")
    assert card["counts"]["languages"] > 100
    assert card["counts"]["features"] >= 180
