import csv
import lzma
import os
from pathlib import Path

import pytest

from mbert_atlas.errors import DataError
from mbert_atlas.languages import Languages

RESOURCES = Path(__file__).parents[2] / "resources"
MINIATURE = "en es de fr ru bg hi vi ar zh tr id fi"
OF_PAPERS = (
    "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th "
    "tl tr ur vi yo zh sw mn cs pl sl is sv"
)


@pytest.fixture(scope="module")
def table():
    return Languages.read(RESOURCES / "languages.csv")


def test_every_language_of_the_encoders_and_papers_is_there(table):
    assert sum(language.in_mbert for language in table) == 104
    assert sum(language.in_xlmr for language in table) == 100
    assert all(table[code].in_mbert for code in (OF_PAPERS + " " + MINIATURE).split())
    assert not table["bn_rom"].in_mbert


def test_codes_names_and_wikipedias_are_unique(table):
    for values in (
        [language.code for language in table],
        [language.name for language in table],
        [language.wiki for language in table if language.wiki],
    ):
        assert len(values) == len(set(values))


def test_rows_known_by_heart(table):
    spanish = table["es"]
    assert (spanish.name, spanish.iso639_3, spanish.script) == ("Spanish", "spa", "Latn")
    assert (spanish.family, spanish.genus) == ("Indo-European", "Romance")
    assert (spanish.wals_code, spanish.word_order) == ("spa", "SVO")
    assert (spanish.ntrex, spanish.tatoeba, spanish.ud_name) == ("spa", "spa", "Spanish")
    assert table["hi"].word_order == "SOV"
    assert table["tr"].genus == "Turkic"
    assert table["zh_classical"].wiki == "zh-classical"
    assert {table[c].script for c in MINIATURE.split()} >= {"Latn", "Cyrl", "Deva", "Arab", "Hans"}


@pytest.mark.parametrize(
    ("code", "near"), [("spa", "es"), ("Spanish", "es"), ("zh-classical", "zh_classical")]
)
def test_unknown_code_names_near_ones(table, code, near):
    with pytest.raises(DataError, match=rf"code {code}: no such language; similar: .*\b{near}\b"):
        table[code]


def test_unknown_code_without_anything_near(table):
    with pytest.raises(DataError, match=r"code 1234567: no such language; use a code"):
        table["1234567"]


def changed(tmp_path, change):
    rows = list(csv.reader((RESOURCES / "languages.csv").open(encoding="utf-8")))[:4]
    change(rows)
    path = tmp_path / "languages.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)
    return path


def put(row, column, value):
    def change(rows):
        rows[row][rows[0].index(column)] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(2, "script", "latin"), r"line 3, column script"),
        (put(1, "in_mbert", "often"), r"line 2, column in_mbert"),
        (put(3, "word_order", "SVX"), r"line 4, column word_order"),
        (put(2, "code", "af"), r"line 3: af is there twice"),
        (lambda rows: rows[1].append("more"), r"line 2, column beyond the last: Extra inputs"),
        (lambda rows: rows[1].pop(), r"line 2, column in_xlmr: Input should be a valid boolean"),
        (put(0, "genus", "genera"), r"line 2, column genus: Field required; .*or the header"),
        (lambda rows: rows.__delitem__(slice(1, None)), "the table has no rows; restore it"),
    ],
)
def test_a_wrong_table_names_line_and_column(tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        Languages.read(changed(tmp_path, change))


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        Languages.read(tmp_path / "languages.csv")


def test_families_genera_and_word_orders_are_those_of_wals(table):
    mirror = os.environ.get("MBERT_ATLAS_MIRROR")
    if not mirror:
        pytest.skip("MBERT_ATLAS_MIRROR is not set, so there is no copy of WALS")

    def rows(name):
        with lzma.open(Path(mirror) / f"wals/cldf/{name}.csv.xz", "rt", encoding="utf-8") as stream:
            yield from csv.DictReader(stream)

    wals = {row["ID"]: row for row in rows("languages")}
    orders = {r["Language_ID"]: r["Code_ID"] for r in rows("values") if r["Parameter_ID"] == "81A"}
    values = ("SOV", "SVO", "VSO", "VOS", "OVS", "OSV", "none")
    names = {f"81A-{number}": value for number, value in enumerate(values, start=1)}
    genera = {(row["Family"], row["Genus"]) for row in wals.values()}
    for language in table:
        if language.wals_code:
            row = wals[language.wals_code]
            if row["Genus"]:
                assert (language.family, language.genus) == (row["Family"], row["Genus"])
            else:  # the revision has none for three languages that are isolates
                assert language.code in {"eu", "ja", "ko"}
                assert language.family == language.genus
            assert language.word_order == names.get(orders.get(language.wals_code), "")
        else:
            assert language.word_order == ""
            assert (language.family, language.genus) in genera | {("Artificial", "Artificial")}
    # a language whose ISO code WALS has must not have been left out
    codes = {
        iso for row in wals.values() for iso in (row["ISO639P3code"], *row["ISO_codes"].split())
    }
    assert not [lang.code for lang in table if not lang.wals_code and lang.iso639_3 in codes]


def test_ntrex_and_tatoeba_codes_exist_upstream(table):
    mirror = os.environ.get("MBERT_ATLAS_MIRROR")
    if not mirror:
        pytest.skip("MBERT_ATLAS_MIRROR is not set, so there is no list of NTREX-128's languages")
    lines = (Path(mirror) / "ntrex-128/LANGUAGES.tsv").read_text(encoding="utf-8").splitlines()
    ntrex = {line.split()[0] for line in lines if line.strip()} | {"eng"}
    assert {language.ntrex for language in table} - {""} <= ntrex
    held = {p.suffix[1:] for p in (Path(mirror) / "tatoeba-laser").glob("tatoeba.*")}
    assert held <= {language.tatoeba for language in table}
