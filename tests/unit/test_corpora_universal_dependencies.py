"""CoNLL-U: the same reading as the conllu library, and strict where that library is not."""

from pathlib import Path
from typing import Any

import conllu
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import mirrored, needs_mirror, read_table, tar_gzip

from mbert_atlas.corpora import universal_dependencies
from mbert_atlas.corpora.jobs import CorpusFile
from mbert_atlas.corpora.universal_dependencies import (
    RELATIONS,
    UPOS,
    Sentence,
    parse_conllu,
)
from mbert_atlas.errors import DataError
from mbert_atlas.files import open_text
from mbert_atlas.schemas import SENTENCES

SAMPLE = """\
# newdoc
# sent_id = a1
# text = Vámonos al mar.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\tSpaceAfter=No
5.1\tcopia\tcopia\tNOUN\t_\t_\t_\t_\t1:obl\t_
6\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

1\t10 000\t_\tNUM\t_\t_\t0\troot\t_\t_

"""


def parse(text: str) -> list[Sentence]:
    return list(parse_conllu(enumerate(text.removesuffix("\n").split("\n"), 1), "x.conllu"))


def test_words_without_ranges_and_empty_nodes() -> None:
    first, second = parse(SAMPLE)
    assert first.comments["sent_id"] == "a1"
    assert first.text == "Vámonos al mar."
    assert first.forms == ["Vamos", "nos", "a", "el", "mar", "."]
    assert first.upos == ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT"]
    assert first.heads == [0, 1, 5, 5, 1, 1]
    assert first.deprels == ["root", "obj", "case", "det", "obl", "punct"]
    assert (second.text, second.forms, second.line) == ("10 000", ["10 000"], 14)


words = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=6
).filter(lambda word: word.strip() == word)


relations = st.builds(
    "{}{}".format, st.sampled_from(RELATIONS), words.map(":{}".format) | st.just("")
)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, int, str]]:
    """Words with tag, head and relation; heads make a tree, in any word order."""
    size = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0}
    for place in range(1, size):
        heads[order[place]] = order[draw(st.integers(0, place - 1))]
    return [
        (draw(words), draw(st.sampled_from(sorted(UPOS))), heads[word], draw(relations))
        for word in range(1, size + 1)
    ]


def written(tree: list[tuple[str, str, int, str]]) -> str:
    rows = [
        f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_"
        for number, (form, tag, head, relation) in enumerate(tree, 1)
    ]
    return "\n".join(["# sent_id = s", *rows, "", ""])


@settings(max_examples=60, deadline=None)
@given(st.lists(trees(), min_size=1, max_size=3))
def test_round_trip(sentences: list[list[tuple[str, str, int, str]]]) -> None:
    found = parse("".join(map(written, sentences)))
    read = [list(zip(s.forms, s.upos, s.heads, s.deprels, strict=True)) for s in found]
    assert read == sentences


GOOD = "1\ta\t_\tNOUN\t_\t_\t0\troot\t_\t_\n2\tb\t_\tVERB\t_\t_\t1\tdep\t_\t_\n\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2\tb\t_\tVERB", "2\tb\tVERB", r"line 2: 9 tab-separated columns where 10 were"),
        ("2\tb", "3\tb", r"line 2: id '3' where word 2 was due"),
        ("2\tb", "1\tb", r"line 2: id '1' where word 2 was due"),
        ("2\tb", "02\tb", r"line 2: id '02' where word 2 was due"),
        ("2\tb", "2-1\tb", r"line 2: id '2-1' where word 2 was due"),
        ("2\tb", "1-2\tb", r"line 2: id '1-2' where word 2 was due"),
        ("2\tb", "3.1\tb", r"line 2: id '3.1' where word 2 was due"),
        ("2\tb", "2-3\tb", r"line 3: a multiword token reaches to word 3"),
        ("2\tb", "2\t", r"line 2: an empty form or relation"),
        ("dep", "", r"line 2: an empty form or relation"),
        ("1\tdep", "x\tdep", r"line 2: head 'x' is not a number"),
        ("1\tdep", "-1\tdep", r"line 2: head '-1' is not a number"),
        ("1\tdep", "²\tdep", r"line 2: head '²' is not a number"),
        ("1\tdep", "3\tdep", r"line 1: a head is word 3 of 2 words"),
        ("1\tdep", "2\tdep", r"line 1: the heads run in a circle"),
        ("1\tdep", "0\tdep", r"line 1: the sentence has 2 roots, not 1"),
        ("0\troot", "2\troot", r"line 1: the sentence has 0 roots, not 1"),
        ("2\tb", "# text = late\n2\tb", r"line 2: a comment inside a sentence"),
        ("_\n\n", "_\n", r"line 2: the file ends inside a sentence"),
    ],
)
def test_each_flaw_names_its_line(old: str, new: str, message: str) -> None:
    assert len(parse(GOOD)) == 1
    assert old in GOOD
    with pytest.raises(DataError, match=r"x\.conllu, " + message):
        parse(GOOD.replace(old, new, 1))


def test_comments_alone_are_no_sentence() -> None:
    with pytest.raises(DataError, match="line 2: a sentence without words"):
        parse("# sent_id = 1\n\n")


def test_longer_circle_is_found() -> None:
    rows = [(1, 0), (2, 3), (3, 4), (4, 2), (5, 1)]
    text = "".join(f"{word}\tw\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for word, head in rows)
    with pytest.raises(DataError, match="circle"):
        parse(text + "\n")


def read(code: str, *paths: Path, **more: Any) -> Any:
    """Table and card of treebank files."""
    files = [CorpusFile(path) for path in paths]
    return read_table(universal_dependencies.read, files, code, **more)


def treebank(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_table_and_card(tmp_path: Path) -> None:
    withheld = "# sent_id = w\n1\t_\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    first = treebank(tmp_path, "es_one-ud-test.conllu", SAMPLE + withheld)
    second = treebank(tmp_path, "es_two-ud-test.conllu", SAMPLE)
    table, card = read("es", first, second)
    assert table.schema.equals(SENTENCES)
    assert table["treebank"].to_pylist() == ["es_one"] * 2 + ["es_two"] * 2
    assert table["id"].to_pylist()[::2] == ["es_one-a1", "es_two-a1"]
    assert len(set(table["id"].to_pylist())) == 4
    assert set(table["split"].to_pylist()) == {"test"}
    assert card["counts"]["sentences read"] == 5
    assert card["counts"]["sentences"] == 4
    assert card["counts"]["es_two: sentences"] == 2
    assert card["dropped"] == {"text withheld from the release": 1}


def test_all_withheld_is_an_error(tmp_path: Path) -> None:
    text = "1\t_\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"
    path = treebank(tmp_path, "es_one-ud-test.conllu", text)
    with pytest.raises(DataError, match="no sentence left of 1"):
        read("es", path)


NAMES = [
    "UD_French-GSD/fr_gsd-ud-test.conllu",
    "UD_French-PUD/fr_pud-ud-test.conllu",
    "UD_French-GSD/fr_gsd-ud-dev.conllu",
    "UD_Old_French-SRCMF/fro_srcmf-ud-test.conllu",
    "UD_French-GSD/fr_gsd-ud-test.txt",
]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    path = tmp_path / "ud-treebanks-v2.7.tgz"
    path.write_bytes(tar_gzip({f"ud-treebanks-v2.7/{name}": SAMPLE for name in NAMES}))
    return path


def test_all_treebanks_of_a_code_from_a_release(release: Path) -> None:
    table, card = read("fr", release)
    assert table["treebank"].to_pylist() == ["fr_gsd"] * 2 + ["fr_pud"] * 2
    assert [file["path"] for file in card["source_files"]] == [str(release)]
    with pytest.raises(DataError, match=r"member de_\.\*-ud-test\..*: found no such member"):
        read("de", release)


@pytest.mark.parametrize("missing", [4, 40, 200])
def test_release_cut_short(release: Path, missing: int) -> None:
    release.write_bytes(release.read_bytes()[:-missing])
    with pytest.raises(DataError, match="cut short or damaged"):
        read("fr", release)


@needs_mirror
@pytest.mark.parametrize(
    ("name", "sentences"),
    [
        ("UD_English-EWT/en_ewt-ud-dev", 2001),
        ("UD_French-GSD/fr_gsd-ud-test", 416),
        ("UD_Turkish-PUD/tr_pud-ud-test", 1000),
    ],
)
def test_same_words_as_the_conllu_library(tmp_path: Path, name: str, sentences: int) -> None:
    path = mirrored(f"universal-dependencies/{name}.conllu*")
    ours = read("xx", path, folder=tmp_path)[0].to_pylist()
    assert len(ours) == sentences
    with open_text(path) as stream:
        theirs = list(conllu.parse_incr(stream))
    assert len(theirs) == sentences
    for own, other in zip(ours, theirs, strict=True):
        tokens = [token for token in other if isinstance(token["id"], int)]
        assert own["text"] == other.metadata["text"]
        assert own["id"].endswith(f"-{other.metadata['sent_id']}")
        assert own["forms"] == [token["form"] for token in tokens]
        assert own["upos"] == [token["upos"] for token in tokens]
        assert own["heads"] == [token["head"] for token in tokens]
        assert own["deprels"] == [token["deprel"] for token in tokens]


@needs_mirror
def test_treebank_of_version_one_is_named_as_such(tmp_path: Path) -> None:
    path = mirrored("universal-dependencies/UD_Arabic-PADT/ar-ud-dev.conllu*")
    with pytest.raises(DataError, match="line 10: 'dobj' is a relation of UD v1"):
        read("ar", path, split="dev", folder=tmp_path)
