"""Features of WALS: read by id, the language checked, mistakes named."""

import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from reading import LANGUAGES, mirrored, needs_mirror

from mbert_atlas.corpora import typology
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json
from mbert_atlas.languages import Language

TABLES = {
    "languages": "ID,Name,ISO639P3code,Genus\neng,English,eng,Germanic\nrus,Russian,rus,Slavic\n",
    "values": "ID,Language_ID,Parameter_ID,Code_ID\n1,eng,81A,81A-2\n2,rus,81A,81A-2\n"
    "3,eng,1A,1A-1\n",
    "codes": "ID,Name,Number\n81A-2,SVO,2\n1A-1,Small,1\n",
}


def read(folder: Path, wanted: list[Language], **changes: str) -> Any:
    paths = [folder / f"{name}.csv" for name in TABLES]
    for path, text in zip(paths, (TABLES | changes).values(), strict=True):
        path.write_text(text)
    return read_paths(folder, wanted, paths)


def read_paths(folder: Path, wanted: list[Language], paths: list[Path]) -> Any:
    upstreams = [Upstream(item, [CorpusFile(paths[0], "", paths[1:])]) for item in wanted]
    typology.read(ReadingJob(upstreams, {}, folder / "o.parquet", folder / "o.card.json"))
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
        ({"languages": "ID,Name,ISO639P3code,Genus\n"}, "language en: there is no id 'eng'; corr"),
        (
            {"languages": TABLES["languages"].replace("eng,English", "xxx,English (Old)")},
            r"language en: there is no id 'eng': xxx English \(Old\) \(line 2\); correct",
        ),
        (
            {"languages": TABLES["languages"] + "eng,Anglia,ang,Germanic\n"},
            r"id 'eng' is there 2 times: eng English \(line 2\), eng Anglia \(line 4\); delete",
        ),
        ({"languages": "ID,Name\n"}, "line 1: no column ISO639P3code"),
        ({"values": "Language_ID,Parameter_ID,Code_ID\n"}, "no language has a feature"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, [LANGUAGES["en"]], **changes)


V2014 = """\
ID,Name,Macroarea,Latitude,Longitude,Glottocode,ISO639P3code,Family,Subfamily,Genus
orh,Oromo (Harar),,9,42,east2652,hae,Afro-Asiatic,Cushitic,Eastern Cushitic
owc,Oromo (West-Central),,9,37,west2721,gaz,Afro-Asiatic,Cushitic,Eastern Cushitic
"""


def test_a_dialect_of_the_language_has_its_name(tmp_path: Path) -> None:
    """Release v2014 agrees with our table neither in the code nor in the genus of Oromo."""
    values = "Language_ID,Parameter_ID,Code_ID\norh,1A,1A-1\nowc,81A,81A-2\n"
    rows, _ = read(tmp_path, [LANGUAGES["om"]], languages=V2014, values=values)
    assert rows == [{"language": "om", "feature": "81A", "value": "2 SVO"}]
    other = V2014.replace("Oromo (West", "Oromoid (West")
    with pytest.raises(DataError, match=r"line 3: Oromoid \(West-Central\) .* is not Oromo"):
        read(tmp_path, [LANGUAGES["om"]], languages=other, values=values)


def test_codes_of_releases_without_numbers(tmp_path: Path) -> None:
    """Those before 2013 lack the column Number."""
    codes = "ID,Parameter_ID,Name,Description\n81A-2,81A,SVO,SVO\n1A-1,1A,Small,Small\n"
    assert read(tmp_path, [LANGUAGES["en"]], codes=codes)[0] == [
        {"language": "en", "feature": "1A", "value": "1 Small"},
        {"language": "en", "feature": "81A", "value": "2 SVO"},
    ]


@pytest.mark.skipif("MBERT_ATLAS_WALS" not in os.environ, reason="MBERT_ATLAS_WALS is not set")
def test_every_language_of_the_table_is_in_release_v2014(tmp_path: Path) -> None:
    folder = Path(os.environ["MBERT_ATLAS_WALS"]) / "cldf"
    _, card = read_paths(tmp_path, list(LANGUAGES), [folder / f"{name}.csv" for name in TABLES])
    assert card["counts"] == {"languages": 115, "features": 180, "values": 8754}


@needs_mirror
def test_every_language_of_the_table_is_the_one_that_wals_means(tmp_path: Path) -> None:
    paths = [mirrored(f"wals/cldf/{name}.csv*") for name in TABLES]
    _, card = read_paths(tmp_path, list(LANGUAGES), paths)
    assert card["counts"]["languages"] > 100
    assert card["counts"]["features"] >= 180
