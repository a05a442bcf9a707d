import contextlib
import csv
import os
import re
import zipfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from reading import read_table

from mbert_atlas.corpora import ner
from mbert_atlas.errors import DataError
from mbert_atlas.files import sha256_of
from mbert_atlas.sources.fetch import Sources, fetch, origin_of
from mbert_atlas.sources.register import HubEntry, Register

RESOURCES = Path(__file__).parents[2] / "resources"


@pytest.fixture(scope="module")
def register():
    return Register.read(RESOURCES / "sources.yaml")


def entry(**changes):
    base = {
        "kind": "file",
        "id": "thing",
        "title": "A thing",
        "folder": "things",
        "pattern": r"(?P<name>\w+)\.txt",
        "url": "https://example.org/{name}/{path}",
        "examples": ["a.txt"],
        "licence": "CC0",
        "citation": "Nobody",
    }
    return {key: value for key, value in {**base, **changes}.items() if value is not None}


def write(tmp_path, *entries, **top):
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump({**top, "sources": list(entries)}), encoding="utf-8")
    return path


def test_every_example_is_located_at_its_own_entry_with_a_filled_url(register):
    for item in register.files():
        for name in item.examples:
            source = register.locate(f"{item.folder}/{name}")
            assert source.entry.id == item.id
            assert (source.url is None) == (item.access != "open")
            assert source.url is None or not re.search(r"[{}]", source.url)


def test_no_path_fits_two_entries_of_one_folder(register):
    for item in register.files():
        for name in item.examples:
            fits = [
                other.id
                for other in register.files()
                if other.folder == item.folder and re.fullmatch(other.pattern, name)
            ]
            assert fits == [item.id]


UPSTREAM = """
universal-dependencies/ud-treebanks-v2.5.tgz
universal-dependencies/UD_German-HDT/de_hdt-ud-train-a-1.conllu
universal-dependencies/r2.4/UD_Russian-GSD/ru_gsd-ud-train.conllu
multinli/multinli_1.0.zip xnli/XNLI-1.0.zip wikiann/panx_dataset.zip muse/dictionaries/en-es.txt
wikimatrix/WikiMatrix.en-vi.tsv.gz opus-wikimatrix/en-hi.txt.zip squad/train-v1.1.json
xquad/xquad.ru.json mlqa/MLQA_V1.zip mlqa/mlqa-translate-train.tar.gz
tydiqa/tydiqa-goldp-v1.1-dev.json wals/v2014/cldf/values.csv
language-genera/bert_languages_complete.tsv wikipedia/ruwiki-20210420-pages-articles.xml.bz2
wikimedia-wikipedia/20231101.sw/train-00000-of-00001.parquet cc100/ur_rom.txt.xz
embert/EMBERT_hin_step_500k.tgz tatoeba-laser/tatoeba.yor-eng.yor
"""
MANUAL = """
yandex/1mcorpus.zip lexnorm/lexnorm-test.conllu squad-sov/train-v1.1.json conll2003/conll2003.zip
"""


def test_every_upstream_of_the_papers_is_there(register):
    assert all(register.locate(path).url for path in UPSTREAM.split())
    for path in MANUAL.split():
        assert register.locate(path).url is None
        assert register.locate(path).entry.steps


def test_urls_are_filled_from_the_pattern(register):
    path = "universal-dependencies/UD_Russian-GSD/ru_gsd-ud-dev.conllu"
    github = "https://raw.githubusercontent.com/UniversalDependencies/UD_Russian-GSD"
    assert register.locate(path).url == f"{github}/r2.7/ru_gsd-ud-dev.conllu"
    path = "universal-dependencies/r2.4/UD_Russian-GSD/ru_gsd-ud-dev.conllu"
    assert register.locate(path).url == f"{github}/r2.4/ru_gsd-ud-dev.conllu"
    path = "wikipedia/zh_classicalwiki-20210420-pages-articles.xml.bz2"
    name = "zh_classicalwiki-20210420"
    assert register.locate(path).url == (
        f"https://archive.org/download/{name}/{name}-pages-articles.xml.bz2"
    )


def test_lindat_is_requested_through_its_rest_address_and_checked(register):
    for version in ("2.2", "2.4", "2.5", "2.7"):
        source = register.locate(f"universal-dependencies/ud-treebanks-v{version}.tgz")
        assert "/server/api/core/bitstreams/handle/11234/" in source.url
        assert "xmlui" not in source.url
        assert source.sha256


def test_checksums_come_from_the_entry_or_the_list(register):
    squad = register.locate("squad/train-v1.1.json")
    assert squad.sha256.startswith("35276639")
    treebank = register.locate(
        "universal-dependencies/UD_Afrikaans-AfriBooms/af_afribooms-ud-test.conllu"
    )
    assert treebank.sha256.startswith("957ad05d")
    assert register.locate("cc100/en.txt.xz").sha256 is None


def test_every_listed_checksum_belongs_to_a_registered_path(register):
    assert len(register.checksums) > 700
    for path in register.checksums:
        source = register.locate(path)
        assert source.url.startswith("https://raw.githubusercontent.com/")
        # A checksum only makes sense where the bytes cannot change: at a commit, or at the tag of a
        # finished release, which its maintainers do not move.
        assert re.search(r"/([0-9a-f]{40}|r2\.[47]|v2014)/", source.url), path


def test_a_zip_of_conll_2003_that_is_made_by_the_steps_is_accepted(register, tmp_path):
    """Zips of the same text differ in their bytes, so that no checksum can be registered."""
    source = register.locate("conll2003/conll2003.zip")
    assert all(name in source.entry.steps for name in ("train.txt", "valid.txt", "test.txt"))
    file = tmp_path / "conll2003/conll2003.zip"
    file.parent.mkdir()
    lines = "-DOCSTART- -X- -X- O\n\nParis NNP I-NP I-LOC\nsleeps VBZ I-VP O\n\n"
    with zipfile.ZipFile(file, "w") as archive:
        for name in ("train.txt", "valid.txt", "test.txt"):
            archive.writestr(name, lines)
    sources = Sources(register, downloads=tmp_path)
    fetch("conll2003/conll2003.zip", file, sources)
    assert origin_of("conll2003/conll2003.zip", file, sources)["dataset"] == "conll2003"
    table, _ = read_table(ner.read, file, format="conll2003", split="dev")
    assert table["ner_tags"].to_pylist() == [["B-LOC", "O"]]


def test_an_unknown_path_names_the_nearest(register):
    with pytest.raises(
        DataError, match=r"path xnli/XNLI-1\.1\.zip.*near it: .*xnli/XNLI-1\.0\.zip"
    ):
        register.locate("xnli/XNLI-1.1.zip")
    with pytest.raises(DataError, match=r"no source is registered.*near it: .*wikimatrix"):
        register.locate("wikimatric/x")
    with pytest.raises(DataError, match=r"correct the path, put the file into a mirror"):
        register.locate("0000/0")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../xnli/XNLI-1.0.zip", "xnli//a", "a\\b", "."]
)
def test_paths_that_lead_outside_are_errors(register, path):
    with pytest.raises(DataError, match="not a relative path"):
        register.locate(path)


@given(path=st.text(max_size=30) | st.from_regex(r"(xnli|wals|muse/dictionaries)/.{1,20}"))
def test_locating_any_text_gives_a_source_or_a_data_error(register, path):
    with contextlib.suppress(DataError):
        assert register.locate(path).path == path


def test_the_longest_folder_wins_and_else_the_first(tmp_path):
    path = write(
        tmp_path,
        entry(id="wide", pattern=".+", url="https://example.org/{path}"),
        entry(id="deep", pattern=".+", url="https://example.org/{path}", folder="things/deep"),
        entry(id="late", pattern=".+", url="https://example.org/{path}"),
    )
    register = Register.read(path)
    assert register.locate("things/deep/a").entry.id == "deep"
    assert register.locate("things/a").entry.id == "wide"
    assert register.locate("things/deeper/a").entry.id == "wide"


def test_hub_models_have_a_mirror_path(register):
    paths = {entry.id: entry.path for entry in register.entries if isinstance(entry, HubEntry)}
    assert set(paths) == {"mbert", "xlm-roberta-base"}
    assert paths["mbert"] == (
        "hf/google-bert--bert-base-multilingual-cased@3f076fdb1ab68d5b2880cb87a0886f315b8146f8"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"url": None}, "access is open, so it needs a url"),
        ({"access": "manual"}, "access is manual, so it needs steps and no url"),
        ({"access": "manual", "url": None}, "access is manual, so it needs steps and no url"),
        ({"url": "https://example.org/{nam}"}, r"url uses \['nam'\]"),
        ({"url": "ftp://example.org"}, r"sources\.0\.url"),
        ({"pattern": "("}, "not a regular expression"),
        ({"examples": ["a.csv"]}, "'a.csv' does not match the pattern"),
        ({"examples": []}, r"sources\.0\.examples"),
        ({"sha256": {"a.txt": "abc"}}, r"sources\.0\.sha256"),
        ({"sha256": {"b.csv": "0" * 64}}, "'b.csv' does not match"),
        ({"folder": "../up"}, r"sources\.0\.folder"),
        ({"licence": ""}, r"sources\.0\.licence"),
        ({"colour": "red"}, r"sources\.0\.colour: there is no such key"),
        ({"kind": "tape"}, r"sources\.0\.kind: 'tape' is not one of"),
    ],
)
def test_a_wrong_entry_is_named_with_its_key(tmp_path, changes, message):
    with pytest.raises(DataError, match=message) as caught:
        Register.read(write(tmp_path, entry(**changes)))
    assert "line " in str(caught.value)


def test_other_faults_of_a_register(tmp_path):
    with pytest.raises(DataError, match="id thing: it is repeated"):
        Register.read(write(tmp_path, entry(), entry()))
    hub = {"kind": "hub", "repository": "org/name", "revision": "main"}
    hub |= dict.fromkeys(["folder", "pattern", "url", "examples"])
    with pytest.raises(DataError, match=r"revision"):
        Register.read(write(tmp_path, entry(**hub)))
    with pytest.raises(DataError, match="no such file"):
        Register.read(tmp_path / "other.yaml")
    with pytest.raises(DataError, match=r"sources\.sha256: no such file"):
        Register.read(write(tmp_path, entry(), checksums="sources.sha256"))
    (tmp_path / "sums").write_text(f"{'0' * 64}  things/a.txt\nabc  things/b.txt\n")
    with pytest.raises(DataError, match="sums, line 2: not `<sha256>  <path>`"):
        Register.read(write(tmp_path, entry(), checksums="sums"))
    (tmp_path / "sums").write_text(f"{'0' * 64}  things/a.txt\n" * 2)
    with pytest.raises(DataError, match=r"line 2: things/a\.txt is repeated"):
        Register.read(write(tmp_path, entry(), checksums="sums"))
    (tmp_path / "bad.yaml").write_text("sources: [a\nb: c")
    with pytest.raises(DataError, match=r"bad\.yaml, line 2: not YAML"):
        Register.read(tmp_path / "bad.yaml")
    (tmp_path / "bad.yaml").write_text("- a")
    with pytest.raises(DataError, match=r"bad\.yaml: not a mapping"):
        Register.read(tmp_path / "bad.yaml")


# The files of the real mirror that are not upstream's bytes, by what their note says.
DIFFERS = re.compile("truncated|inverse of the column swap|assembled")


def manifest_rows():
    mirror = os.environ.get("MBERT_ATLAS_MIRROR")
    if not mirror:
        pytest.skip("MBERT_ATLAS_MIRROR is not set")
    with open(Path(mirror) / "MANIFEST.tsv", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


def test_every_file_of_the_real_mirror_is_registered_with_the_address_it_came_from(register):
    elsewhere = set()
    for row in manifest_rows():
        source = register.locate(row["path"].removesuffix(".xz"))
        repository, path = row["source"].removeprefix("github.com/").split(" : ")
        url = f"https://raw.githubusercontent.com/{repository}/{row['commit']}/{path}"
        if source.url != url:
            elsewhere.add(source.entry.id)
        else:
            assert not DIFFERS.search(row["note"]), row["path"]
    # These paths stand for upstream's own release, while a mirror may hold another revision.
    renamed = {"gensim-dumps", "opus-moses-sample"}  # the repositories, since the mirror was made
    assert elsewhere == {"ud-2.7-treebank", "muse", "xquad"} | renamed


def test_files_of_the_real_mirror_have_the_registered_checksums(register, tmp_path):
    sources = Sources(register, os.environ.get("MBERT_ATLAS_MIRROR"), offline=True)
    checked = {"ud-2.7-treebank"}  # newer than 2.7, see the test above
    for row in manifest_rows():
        path = row["path"].removesuffix(".xz")
        source = register.locate(path)
        if source.sha256 and source.entry.id not in checked:
            checked.add(source.entry.id)
            assert sha256_of(fetch(path, tmp_path / path, sources)) == source.sha256
    assert {"xquad", "xl-wa", "ntrex-128", "wals", "wikiann-panx"} <= checked
