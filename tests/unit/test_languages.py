import csv
import lzma
import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from mbert_atlas.errors import DataError
from mbert_atlas.languages import Language, Languages
from mbert_atlas.sources import Register

RESOURCES = Path(__file__).parents[2] / "resources"
LISTS = {
    "tanti2021": "af ar bg de el en es et eu fa fi fr he hi hu id it ja kk ko mr nl pt ru ta te th "
    "tl tr ur vi yo zh",
    "xnli": "ar bg de el en es fr hi ru sw th tr ur vi zh",
    "muller2021": "en ru ar zh cs fi fr id it ja de hi pl pt sl es tr",
    "miniature": "en es de fr ru bg hi vi ar zh tr id fi",
    "parallel treebanks": "ar zh cs en fi fr de hi is id it ja ko pl pt ru es sv th tr",
    "added to mBERT later": "th mn",
}
CODES = {name: codes.split() for name, codes in LISTS.items()}
TEXT_WITHHELD = {"NYUAD", "ESL", "GUMReddit", "FTB", "BCCWJ"}


@pytest.fixture(scope="module")
def table():
    return Languages.read(RESOURCES / "languages.csv")


def test_every_language_of_the_encoders_and_papers_is_there(table):
    assert len(table.subset(in_mbert=True)) == 104
    assert len(table.subset(in_xlmr=True)) == 100
    for code in {code for codes in CODES.values() for code in codes}:
        assert table[code].in_mbert
    assert "bn_rom" in table
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
    assert [(t.name, t.parts) for t in spanish.ud27] == [
        ("AnCora", ("train", "dev", "test")),
        ("GSD", ("train", "dev", "test")),
        ("PUD", ("test",)),
    ]
    assert table["hi"].word_order == "SOV"
    assert table["tr"].genus == "Turkic"
    assert table["zh_classical"].wiki == "zh-classical"
    assert {table[c].script for c in CODES["miniature"]} >= {"Latn", "Cyrl", "Deva", "Arab", "Hans"}


def test_tanti2021s_languages_have_86_treebanks_of_which_five_come_without_words(table):
    treebanks = [treebank for code in CODES["tanti2021"] for treebank in table[code].ud27]
    assert len(treebanks) == 86
    assert {t.name for t in treebanks if not t.has_text} == TEXT_WITHHELD
    assert [t.has_text for t in table["fi"].ud27 if t.name == "FTB"] == [True]  # the Finnish one


def test_parallel_treebanks_are_those_of_the_release(table):
    with_pud = {lang.ud_code for lang in table if any(t.name == "PUD" for t in lang.ud27)}
    assert with_pud == set(CODES["parallel treebanks"])


def test_treebank_files_are_paths_of_the_register_with_published_checksums(table):
    register = Register.read(RESOURCES / "sources.yaml")
    count = 0
    for language in table:
        for split in ("train", "dev", "test"):
            for path in language.treebank_files(split, with_text=False):
                source = register.locate(path)
                assert source.dataset == "ud-2.7-treebank"
                assert source.sha256 is not None, path
                count += 1
    assert count > 250


def test_treebank_files_choose_split_parts_and_text(table):
    czech = table["cs"].treebank_files("train")
    assert "universal-dependencies/UD_Czech-PDT/cs_pdt-ud-train-l.conllu" in czech
    assert len([path for path in czech if "UD_Czech-PDT" in path]) == 4
    assert table["th"].treebank_files("train") == []
    assert not any("NYUAD" in path for path in table["ar"].treebank_files("test"))
    assert any("NYUAD" in p for p in table["ar"].treebank_files("test", with_text=False))
    assert table["nn"].treebank_files("test") == [
        "universal-dependencies/UD_Norwegian-Nynorsk/no_nynorsk-ud-test.conllu",
        "universal-dependencies/UD_Norwegian-NynorskLIA/no_nynorsklia-ud-test.conllu",
    ]


def test_wikipedia_dumps_are_paths_of_the_register(table):
    register = Register.read(RESOURCES / "sources.yaml")
    path = table["zh_classical"].wikipedia_dump("20210420")
    assert path == "wikipedia/zh_classicalwiki-20210420-pages-articles.xml.bz2"
    for language in table.subset(in_mbert=True):
        assert register.locate(language.wikipedia_dump("latest")).dataset == "wikipedia-dump-latest"
    with pytest.raises(DataError, match="ta_rom: it has no Wikipedia"):
        table["ta_rom"].wikipedia_dump("latest")


def test_subset_keeps_order_and_combines_filters(table):
    chosen = table.subset(codes=["zh", "am", "en"], in_mbert=True)
    assert [language.code for language in chosen] == ["zh", "en"]
    assert len(table.subset(in_mbert=True, in_xlmr=False)) + len(
        table.subset(in_mbert=True, in_xlmr=True)
    ) == len(table.subset(in_mbert=True))


@pytest.mark.parametrize(
    ("code", "near"), [("spa", "es"), ("Spanish", "es"), ("zh-classical", "zh_classical")]
)
def test_unknown_code_names_near_ones(table, code, near):
    with pytest.raises(DataError, match=rf"code {code}: no such language; near it: .*\b{near}\b"):
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
        (put(1, "ud27", "GSD=train"), r"line 2, column ud27: .*Name:train\+dev\+test"),
        (put(1, "ud27", "GSD:training"), r"line 2, column ud27"),
        (put(2, "code", "af"), r"line 3: af is there twice"),
        (lambda rows: rows[1].append("more"), r"line 2: its cells are not 16 in number"),
        (lambda rows: rows[1].pop(), r"line 2: its cells are not 16 in number"),
        (put(0, "genus", "genera"), r"line 1: wrong columns: genus is missing, genera is unknown"),
    ],
)
def test_a_wrong_table_names_line_and_column(tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        Languages.read(changed(tmp_path, change))


def test_a_missing_table_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        Languages.read(tmp_path / "languages.csv")


def test_languages_are_immutable_and_described(table):
    with pytest.raises(ValidationError):
        table["en"].name = "British"
    assert all(field.description for field in Language.model_fields.values())


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
            else:  # the revision has none for three languages that are families of their own
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
