"""Unusable files: one sentence with file, place and correction, and nothing half-written."""

from __future__ import annotations

import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from math import inf, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
import yaml
from reading import OPTIONS, language
from safetensors.torch import load_file, save_file
from tiny_models import make_encoder, make_tokenizer

from mbert_atlas.corpora import plain_text, typology
from mbert_atlas.corpora.cards import MOST_BAD, corpora_read
from mbert_atlas.corpora.gold_alignment import read_gold
from mbert_atlas.corpora.jobs import CorpusFile, ReadingJob, Upstream
from mbert_atlas.corpora.scripts import require_script
from mbert_atlas.encoders.loading import load_encoder, load_masked_model
from mbert_atlas.encoding import encode
from mbert_atlas.errors import DataError
from mbert_atlas.files import read_json, sha256_of
from mbert_atlas.languages import Languages
from mbert_atlas.registry import resolve
from mbert_atlas.scorecard.claims import read_claims
from mbert_atlas.sources.fetch import Sources, fetch, origin_of
from mbert_atlas.sources.mirror import Mirror
from mbert_atlas.sources.register import Register

ROOT = Path(__file__).parents[2]
LANGUAGES = ROOT / "resources/languages.csv"
ENGLISH = " ".join(["the quick brown fox jumps over the lazy dog"] * 9)
RUSSIAN = "съешь ещё этих мягких французских булок"
CYRILLIC = " ".join([RUSSIAN] * 9)
Run = Callable[[Path], Any]


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def card_of(folder: Path) -> Any:
    """The card of what was read, of its one language where it has several."""
    content = read_json(outputs(folder)[1])
    return content.get("en", content)


def outputs(folder: Path) -> tuple[Path, Path]:
    return folder / "out" / "table.parquet", folder / "out" / "table.card.json"


def corpus(module: str, name: str, format: str = "", code: str = "en") -> Callable[..., Run]:
    """A function that takes content, a format and options and returns what reads the file."""
    read = resolve(f"corpora.{module}:read")

    def made(
        content: str | bytes,
        format: str = format,
        *,
        name: str = name,
        script: str = "",
        partner: tuple[str, str | bytes] | None = None,
        times: int = 1,
        **options: Any,
    ) -> Run:
        def run(folder: Path) -> None:
            partners = [put(folder, *partner)] if partner else []
            files = [CorpusFile(put(folder, name, content), format, partners)] * times
            upstream = Upstream(language(code, script), files)
            read(ReadingJob([upstream], OPTIONS | options, *outputs(folder)))

        return run

    return made


ner = corpus("ner", "x.tsv", "panx")
nli = corpus("nli", "x.tsv")
qa = corpus("qa", "x.json", "squad")
treebank = corpus("universal_dependencies", "en_x-ud-test.conllu")
dictionary = corpus("dictionaries", "en-ru.txt", code="ru")
texts = corpus("plain_text", "x.txt", "lines")
bitext = corpus("bitext", "WikiMatrix.en-ru.tsv", "wikimatrix", "ru")


def questions(content: Any, **options: Any) -> Run:
    return qa(content if isinstance(content, str) else json.dumps(content), **options)


def gold(*contents: str, format: Any) -> Run:
    def run(folder: Path) -> None:
        read_gold([put(folder, f"{n}.txt", text) for n, text in enumerate(contents, 1)], format)

    return run


def wals(**changes: str) -> Run:
    def run(folder: Path) -> None:
        tables = {
            "languages": "ID,Name,ISO639P3code,Genus\neng,English,eng,Germanic\n",
            "values": "ID,Language_ID,Parameter_ID,Code_ID\n1,eng,81A,81A-2\n",
            "codes": "ID,Name,Number\n81A-2,SVO,2\n",
        } | changes
        path, *partners = (put(folder, f"{name}.csv", text) for name, text in tables.items())
        upstream = Upstream(Languages.read(LANGUAGES)["en"], [CorpusFile(path, "", partners)])
        typology.read(ReadingJob([upstream], {}, *outputs(folder)))

    return run


def zipped(**members: str) -> bytes:
    import io

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return stream.getvalue()


def register(folder: Path, sha256: str = "0" * 64) -> Register:
    entry = {
        "kind": "file",
        "id": "data",
        "title": "Data",
        "licence": "CC0",
        "citation": "nobody",
        "folder": "data",
        "pattern": r"\w+\.txt",
        "url": "https://example.org/{path}",
        "examples": ["a.txt"],
        "sha256": {"a.txt": sha256},
    }
    return Register.read(put(folder, "sources.yaml", yaml.safe_dump({"sources": [entry]})))


def mirror(manifest: str | bytes | None, **files: str) -> Run:
    def run(folder: Path) -> None:
        for name, text in files.items():
            put(folder, f"mirror/data/{name}.txt", text)
        if manifest is not None:
            put(folder, "mirror/MANIFEST.tsv", manifest)
        out = folder / "out" / "a.txt"
        fetch("data/a.txt", out, Sources(register(folder), folder / "mirror", offline=True))

    return run


def by_hand(folder: Path) -> None:
    file = put(folder, "downloads/data/a.txt", "not what it should be")
    origin_of("data/a.txt", file, Sources(register(folder)))


def encoder(change: Callable[[Path], Any], load: Callable[..., Any] = load_encoder) -> Run:
    def run(folder: Path) -> None:
        made = make_encoder(folder, make_tokenizer(folder))
        change(made)
        load(made, *([0] if load is load_masked_model else []))

    return run


def config(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def weights(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        path = folder / "model.safetensors"
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path, metadata={"format": "pt"})

    return changed


def broken(name: str) -> Callable[[Path], Any]:
    return lambda folder: put(folder, name, "{")


def filled(value: float) -> Callable[[Path], None]:
    name = "encoder.layer.1.output.dense.weight"
    return weights(lambda tensors: tensors[name].view(-1)[5:6].fill_(value))


def larger_tokenizer(folder: Path) -> None:
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"]["vocab"]["more"] = len(content["model"]["vocab"])
    path.write_text(json.dumps(content))


def reported(old: str, new: str) -> Run:
    def run(folder: Path) -> None:
        paper = sorted((ROOT / "resources/reported").glob("*.csv"))[0]
        text = paper.read_text()
        assert old in text
        path = put(folder, paper.name, text.replace(old, new, 1))
        claims = ROOT / f"mbert_atlas/papers/{paper.stem}/claims.yaml"
        read_claims(claims, paper.stem, path, [one.code for one in Languages.read(LANGUAGES)])

    return run


def vanishing(folder: Path) -> None:
    rows = [
        {
            "id": str(n),
            "language": code,
            "split": "test",
            "premise": "a cat",
            "hypothesis": "zzz" if code == "is" else "a dog",
            "label": "neutral",
            "genre": None,
        }
        for code in ("en", "is")
        for n in range(100)
    ]
    table, tokenizer = pa.Table.from_pylist(rows), make_tokenizer(folder)
    out = folder / "out" / "store"
    encode("nli", table, tokenizer, out, labels=["neutral"], drop_unknown=True)


def squad(*rows: dict[str, Any], context: str = "Anna lives.") -> dict[str, Any]:
    return {"data": [{"title": "A", "paragraphs": [{"context": context, "qas": list(rows)}]}]}


def question(number: int = 1, start: int = 0, text: str = "Anna", **more: Any) -> dict[str, Any]:
    answers = [{"text": text, "answer_start": start}]
    return {"id": f"q{number}", "question": "Who?", "answers": answers} | more


def tree(
    number: int = 1,
    form: str = "cat",
    tag: str = "NOUN",
    head: str = "0",
    relation: str = "root",
) -> str:
    return f"# sent_id = {number}\n1\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n\n"


def cyrillic_tree(number: int) -> str:
    return tree(number, form=RUSSIAN.replace(" ", ""))


def record(number: int, label: str = "neutral", **more: Any) -> str:
    value = {"pairID": f"p{number}", "sentence1": "a", "sentence2": "b"}
    return json.dumps(value | {"gold_label": label, "genre": "x"} | more) + "\n"


XNLI = "language\tgold_label\tsentence1\tsentence2\tpairID\tgenre\n"
HEADER = "path\tbytes\tsha256\tdataset\tsource\tcommit\tlicence\tnote\n"
ZERO = "0" * 64
LISTED = f"path\tsha256\ndata/a.txt\t{ZERO}\n"
ONE, TWO = "a\tb\tneutral\n", "a\tb\tneutral\n" * 2
MUCH = "more than 1%"
SCRIPT = r"% of the letters.*\(Latn\), 100% are cyrillic; correct the source's path"
SIDES = "% are (cyrillic|latin); are the sides exchanged"
NOT_FINITE = "not all of its numbers are finite.*fetch the model again"
NO_WEIGHTS = "config.json needs it, and it is missing.*; fetch or train"

CASES: dict[str, tuple[Run, str, str]] = {
    # name: what is done; file and place; the rest of the sentence up to its correction
    "ner: columns": (ner("a\tO\tx\n"), "x.tsv, line 1", "3 tab-separated.*correct the line"),
    "ner: empty word": (ner("a\tO\n\n \tO\n"), "x.tsv, line 3", "an empty word.*remove the line"),
    "ner: tag": (ner("a\tO\nb\tX\n"), "x.tsv, line 2", "'X' is not one of.*correct the tag"),
    "ner: bytes": (ner(b"a\tO\n\xe7\tO\n"), "x.tsv, line 2", "not UTF-8 .*0xe7.*convert it"),
    "ner: language": (ner("ru:a\tO\n", "rahimi"), "x.tsv, line 1", "not begin with en:.*correct"),
    "ner: conll": (ner("a O\n", "conll2003"), "x.tsv, line 1", "2 columns where.*get the file"),
    "ner: blank": (ner("\n\n"), "x.tsv", "there is no sentence.*fetches it again"),
    "ner: empty": (ner(""), "x.tsv", "the file is empty; .*fetches it again"),
    "ner: cut": (ner(lzma.compress(b"a\tO\n" * 99)[:-20], name="x.xz"), "x.xz", "cut .*fetches"),
    "ner: script": (ner(f"{CYRILLIC}\tO\n", script="Latn"), "language en", SCRIPT),
    "nli: label": (nli(record(1, "maybe"), "multinli"), "x.tsv, line 1", "'maybe'.*correct the"),
    "nli: json": (nli("{\n", "multinli"), "x.tsv, line 1", "not JSON.*fetch the file"),
    "nli: key": (
        nli("{}\n", "multinli"),
        "x.tsv, line 1",
        "pairID: Field required.*fetch",
    ),
    "nli: twice": (nli(record(1) * 2, "multinli"), "x.tsv, line 2", "'p1' was already.*remove one"),
    "nli: header": (nli("a\tb\n", "xnli"), "x.tsv, line 1", "the header lacks pairID.*check"),
    "nli: short": (nli(XNLI + "en\tneutral\ta\n", "xnli"), "x.tsv, line 2", f"3 tab.*{MUCH}.*corr"),
    "nli: absent": (nli(XNLI, "xnli"), "x.tsv, language en", "no pair left of 0; correct the lang"),
    "nli: unlabelled": (nli("a\tb\n", "xtreme"), "x.tsv, line 1", "missing.*name a parallel file"),
    "nli: labels": (nli(TWO, "xtreme", partner=("y", ONE)), "y", "it ends before line 2.*use a pa"),
    "nli: more labels": (nli(ONE, "xtreme", partner=("y", TWO)), "y, line 2", "has no counter.*us"),
    "nli: script": (
        nli(f"{CYRILLIC}\tx\tneutral\n", "xtreme", script="Latn"),
        "language en",
        SCRIPT,
    ),
    "qa: place": (questions(squad(question(start=1))), "x.json, question q1", "not at its.*fetch"),
    "qa: twice": (questions(squad(question(), question())), "question q1", "repeated id.*remove"),
    "qa: answers": (questions(squad(question(answers=[]))), "question q1", "no answer.*with answ"),
    "qa: layout": (questions({"data": 1}), "x.json, key data", "not in the layout.*fetch the file"),
    "qa: type": (questions(squad(question(id=7))), "paragraphs.0.qas.0.id", "layout of SQuAD.*cor"),
    "qa: json": (questions("{"), "x.json, line 1", "not JSON.*fetch the file again"),
    "qa: depth": (questions('{"data": ' + "[" * 5000), "x.json", "nested too deeply.*correct it"),
    "qa: none": (questions(squad()), "x.json, language en", "no question left.*correct the lang"),
    "qa: script": (
        questions(squad(question(text="с"), context=CYRILLIC), script="Latn"),
        "language en",
        SCRIPT,
    ),
    "qa: question's script": (
        questions(squad(question(question=CYRILLIC)), script="Latn"),
        "language en",
        SCRIPT,
    ),
    "ud: columns": (treebank("1\ta\n\n"), "conllu, line 1", "2 tab-separated.*correct the line"),
    "ud: stray tab": (treebank(tree(form="a\tb")), "conllu, line 2", "11 tab-sep.*correct the"),
    "ud: tag": (treebank(tree(tag="NUON")), "conllu, line 2", "'NUON' is not one of.*correct"),
    "ud: no tag": (treebank(tree(tag="_")), "conllu, line 2", "the word has no UPOS tag.*correct"),
    "ud: dobj": (
        treebank(tree(relation="dobj")),
        "line 2",
        "'dobj' is a.*of UD v1.*2.0 on",
    ),
    "ud: v1 relation": (
        treebank(tree(relation="auxpass:x")),
        "line 2",
        "'auxpass' is a rel",
    ),
    "ud: relation": (treebank(tree(relation="nsbj:pass")), "line 2", "'nsbj' is.*mean 'nsubj'"),
    "ud: case": (treebank(tree(relation="ROOT")), "line 2", "'ROOT' is.*mean 'root'"),
    "ud: no relation": (
        treebank(tree(relation="_")),
        "line 2",
        "'_' is not one of the 37.*cor",
    ),
    "ud: v1": (treebank(tree(tag="CONJ")), "conllu, line 2", "a tag of UD v1.*from 2.0 on"),
    "ud: head": (treebank(tree(head="x")), "conllu, line 2", "head 'x' is not a number.*correct"),
    "ud: tree": (treebank(tree(head="1")), "conllu, line 1", "0 roots, not 1.*correct it"),
    "ud: bytes": (treebank(tree().encode().replace(b"cat", b"\xe7")), "line 2", "not UTF-8.*conv"),
    "ud: cut": (treebank(tree()[:-1]), "conllu, line 2", "ends inside a sentence.*fetch the file"),
    "ud: twice": (treebank(tree(), times=2), "conllu, line 1", "already read.*give each treebank"),
    "ud: script": (
        treebank("".join(map(cyrillic_tree, range(5))), script="Latn"),
        "language en",
        SCRIPT,
    ),
    "dictionary: words": (dictionary("the\n"), "en-ru.txt, line 1", "1 words, not two.*check that"),
    "dictionary: bytes": (dictionary(b"the \xe7\n"), "en-ru.txt, line 1", "not UTF-8.*convert"),
    "dictionary: exchanged": (
        dictionary("".join(f"{w} {w}x\n" for w in CYRILLIC.split())),
        "en-ru.txt, language en",
        "are cyrillic; are the columns exch",
    ),
    "texts: bytes": (texts(b"a\n\xe7\n"), "x.txt, line 2", f"not UTF-8.*{MUCH}.*convert"),
    "texts: none": (texts("\n"), "x.txt", "there is no text in it; drop it"),
    "texts: script": (texts(RUSSIAN * 9, script="Latn"), "x.txt, language en", "cyrillic; correct"),
    "bitext: margin": (bitext("x\ta\tb\n"), "en-ru.tsv, line 1", "margin 'x' is not a.*check"),
    "bitext: nan": (bitext("nan\ta\tb\n"), "en-ru.tsv, line 1", "margin 'nan' is not a.*check"),
    "bitext: columns": (bitext("1\ta\n"), "en-ru.tsv, line 1", "2 tab-separated.*correct the line"),
    "bitext: shorter": (bitext(TWO, "lines", partner=("y", ONE)), "line 2", "no counterpart.*fetc"),
    "bitext: bytes": (bitext(ONE, "lines", partner=("y", b"\xe7\n")), "y, line 1", "not UTF-8.*co"),
    "bitext: same": (bitext("1\ta\ta\n"), "en-ru.tsv", "no pair left of 1.*correct the language"),
    "bitext: name": (bitext(ONE, name="WikiMatrix.en-es.tsv"), "file name", "holds en-es, not en"),
    "bitext: member": (bitext(zipped(a__en="x"), "moses", name="a.zip"), "member", "found 0.*fetc"),
    "bitext: exchanged": (
        bitext(f"1\t{CYRILLIC}\t{ENGLISH}\n", script="Cyrl"),
        "language en",
        SIDES,
    ),
    "bitext: language": (
        bitext(f"1\t{ENGLISH}\tno {ENGLISH}\n", script="Cyrl"),
        "language ru",
        SIDES,
    ),
    "gold: outside": (gold("a\tb\t1-0\n", format="xlwa"), "1.txt, line 1", "outside.*belong tog"),
    "gold: link": (gold("a\tb\t0:0\n", format="xlwa"), "1.txt, line 1", "'0:0' is not.*write lin"),
    "gold: files": (gold("a\n", format="naacl"), "format naacl", "1 files do not make.*give"),
    "wals: code": (wals(codes="ID,Name,Number\n"), "values.csv, line 2", "'81A-2' is in no.*fetch"),
    "wals: column": (wals(values="ID\n"), "values.csv, line 1", "no column Language_ID; take WALS"),
    "mirror: none": (mirror(None), "mirror", "no such mirror folder; correct `mirror`"),
    "mirror: no manifest": (mirror(None, a="x"), "MANIFEST.tsv", "has no manifest; list its files"),
    "mirror: empty": (mirror(""), "MANIFEST.tsv, line 1", "no columns path and sha256; add the"),
    "mirror: header": (mirror("a\tb\n"), "MANIFEST.tsv, line 1", "no columns path and.*add the"),
    "mirror: sum": (mirror(f"{HEADER}a\t1\tabc\n"), "MANIFEST.tsv, line 2", "'abc' is not a.*corr"),
    "mirror: cells": (mirror(f"{HEADER}\nb{chr(9) * 9}\n"), "tsv, line 3", "10 tab-sep.*has 8; co"),
    "mirror: bytes": (mirror(HEADER.encode() + b"\xe7\n"), "MANIFEST.tsv, line 2", "not UTF-8; sa"),
    "mirror: twice": (mirror(LISTED + LISTED[12:]), "MANIFEST.tsv, line 3", "a.txt is listed twic"),
    "mirror: unlisted": (mirror(HEADER, a="x"), "MANIFEST.tsv, data/a.txt", "not in the.*add a l"),
    "mirror: changed": (mirror(LISTED, a="x"), "mirror/data/a.txt", "sha256 is .* it is 000.*copy"),
    "download by hand": (by_hand, "downloads/data/a.txt", "it is 000.* for data/a.txt; delete .*s"),
    "encoder: nan": (
        encoder(filled(nan)),
        "weight encoder.layer.1.output.dense.weight",
        NOT_FINITE,
    ),
    "encoder: infinity": (encoder(filled(inf)), "weight encoder.layer.1", NOT_FINITE),
    "encoder: nan, to pretrain": (
        encoder(filled(nan), load_masked_model),
        "weight bert.enc",
        NOT_FINITE,
    ),
    "encoder: fewer layers": (
        encoder(config(num_hidden_layers=1)),
        "key num_hidden_layers",
        "more layers.*restore the",
    ),
    "encoder: more layers": (
        encoder(config(num_hidden_layers=3)),
        "weight encoder.layer.2",
        NO_WEIGHTS,
    ),
    "encoder: width": (encoder(config(hidden_size=32)), "encoder", "by config.json 32.*get it ag"),
    "encoder: words": (
        encoder(config(vocab_size=30)),
        "encoder",
        "but by config.json 30 x.*get it",
    ),
    "encoder: architecture": (encoder(config(model_type="distilbert")), "weight", NO_WEIGHTS),
    "encoder: unknown": (encoder(config(model_type="x")), "model_type", "'x' is not supp.*take an"),
    "encoder: config": (encoder(broken("config.json")), "encoder", "not readable as JSON.*fetch"),
    "encoder: weights": (encoder(broken("model.safetensors")), "encoder", "cannot be opened.*get"),
    "encoder: tokenizer": (encoder(larger_tokenizer), "vocabulary", "20 subwords.*encoder 19; res"),
    "encoder: no tokenizer": (encoder(broken("tokenizer.json")), "tokenizer.json", "not a tok.*fe"),
    "reported: language": (reported(",en,es,,", ",en,ess,,"), "csv, line 2", "'ess' is not .* as"),
    "reported: source": (reported(",en,es,,", ",enn,es,,"), "csv, line 2", "'enn' is .* as source"),
    "reported: condition": (reported(",original,", ",orignal,"), "csv, line 2", "did you mean ori"),
    "reported: task": (reported(",xnli,", ",xnil,"), "csv, line 2", "did you mean xnli.*correct i"),
    "reported: value": (reported(",74.2", ",74;2"), "csv, line 2", "not a finite number.*correct"),
    "language without examples": (vanishing, "store, language is", "none of 100 .*drop the langua"),
}


@pytest.mark.parametrize("name", CASES)
def test_one_sentence_names_place_and_correction(tmp_path: Path, name: str) -> None:
    run, place, problem = CASES[name]
    with pytest.raises(DataError, match=f"(?s){problem}") as caught:
        run(tmp_path)
    message = str(caught.value)
    assert place in message
    assert message.count("\n") == 0
    assert caught.value.fix
    assert [path.name for path in tmp_path.glob("out/*")] == []
    assert not list(tmp_path.rglob("*.partial"))


GOOD = 200
FEW_BAD: dict[str, tuple[Run, str, str]] = {
    # name: a file of 200 good rows and a bad one; reason; where it is
    "ner": (ner("a\tO\n\n" * GOOD + "b\tX\nc\tO\n"), "… is not one of O", "x.tsv, line 401"),
    "nli": (
        nli("".join(map(record, range(GOOD))) + record(1), "multinli"),
        "pair … was already read",
        "x.tsv, line 201",
    ),
    "nli by columns": (
        nli("a\tb\tneutral\n" * GOOD + "a\tneutral\n", "xtreme"),
        "… tab-separated columns",
        "x.tsv, line 201",
    ),
    "nli in many languages": (
        nli(XNLI + "".join(f"en\tneutral\ta\tb\t{n}\tx\n" for n in range(GOOD)) + "en\n", "xnli"),
        "… tab-separated columns",
        "x.tsv, line 202",
    ),
    "qa": (
        questions(squad(*map(question, range(GOOD)), question(GOOD, start=1))),
        "answer not at its place",
        "x.json, question q200",
    ),
    "qa of another layout": (
        questions(squad(*map(question, range(GOOD)), {"id": "x"})),
        "not in the layout",
        "x.json, key data.0.paragraphs.0.qas.200.question",
    ),
    "ud": (
        treebank("".join(map(tree, range(GOOD))) + tree(GOOD, form="")),
        "an empty form or relation",
        "en_x-ud-test.conllu, line 602",
    ),
    "ud without a tag": (
        treebank("".join(map(tree, range(GOOD))) + tree(GOOD, tag="_")),
        "the word has no UPOS tag",
        "en_x-ud-test.conllu, line 602",
    ),
    "ud of version 1": (
        treebank("".join(map(tree, range(GOOD))) + tree(GOOD, relation="dobj")),
        "… is a relation of UD v1",
        "en_x-ud-test.conllu, line 602",
    ),
    "dictionary": (dictionary("a b\n" * GOOD + "a\n"), "… words, not two", "en-ru.txt, line 201"),
    "texts": (texts(b"a\n" * GOOD + b"\xe7\n"), "not UTF-8", "x.txt, line 201"),
    "bitext": (
        bitext("".join(f"1\ta{n}\tb\n" for n in range(GOOD)) + "x\ta\tb\n"),
        "margin … is not a number",
        "WikiMatrix.en-ru.tsv, line 201",
    ),
    "bitext of two files": (
        bitext(
            "".join(f"a{n}\n" for n in range(GOOD + 1)),
            "lines",
            partner=("x.ru", b"b\n" * GOOD + b"\xff\n"),
        ),
        "not UTF-8",
        "x.ru, line 201",
    ),
    "wals": (
        wals(values="Language_ID,Parameter_ID,Code_ID\n" + "eng,81A,81A-2\n" * GOOD + "eng,1A,x\n"),
        "the value … is in no table",
        "values.csv, line 202",
    ),
}


BAD_JSON = {  # a value in JSON -> the reason why its row is bad
    "7": "valid string",
    "3.5": "valid string",
    "true": "valid string",
    "[]": "valid string",
    "{}": "valid string",
    "NaN": "valid string",
    '"a\\ud800b"': "half a surrogate pair",
    "[" * 400 + "]" * 400: "valid string",
    "9" * 5000: "valid string",
}
FIELDS = {"multinli": ["pairID", "sentence1", "sentence2", "gold_label", "genre"]}
FIELDS |= {"squad": ["id", "question"]}
PLACEHOLDER = "of this field"


def with_value(format: str, field: str, value: str) -> tuple[Run, str]:
    """A reader of good rows and one with a value in a field, and where it is."""
    if format == "multinli":
        bad = record(GOOD, **{field: PLACEHOLDER}).replace(json.dumps(PLACEHOLDER), value)
        return nli("".join(map(record, range(GOOD))) + bad, format), f"x.tsv, line {GOOD + 1}"
    rows = [*map(question, range(GOOD)), question(GOOD) | {field: PLACEHOLDER}]
    content = json.dumps(squad(*rows)).replace(json.dumps(PLACEHOLDER), value)
    return questions(content), f"x.json, key data.0.paragraphs.0.qas.{GOOD}.{field}"


@pytest.mark.parametrize("value", BAD_JSON)
@pytest.mark.parametrize(("format", "field"), [(one, key) for one in FIELDS for key in FIELDS[one]])
def test_json_of_another_type_is_a_bad_row(
    tmp_path: Path, format: str, field: str, value: str
) -> None:
    run, place = with_value(format, field, value)
    run(tmp_path)
    assert len(pa.parquet.read_table(outputs(tmp_path)[0])) == GOOD
    (listed,) = card_of(tmp_path)["first_bad_rows"]
    assert place in listed
    assert BAD_JSON[value] in listed


@pytest.mark.parametrize(
    "line", ["[" * 100_000, "9" * 5000, "null", "[1]", '"text"', "{'a': 1}", "{}", '{"a": 1} {}']
)
def test_json_lines_that_are_no_record(tmp_path: Path, line: str) -> None:
    nli("".join(map(record, range(GOOD))) + line + "\n", "multinli")(tmp_path)
    (listed,) = card_of(tmp_path)["first_bad_rows"]
    assert f"x.tsv, line {GOOD + 1}" in listed


@pytest.mark.parametrize("start", ["9" * 5000, "9" * 30, "1.5", "true", "null", '"0"', "-1", "1e9"])
def test_places_of_answers_that_are_no_place(tmp_path: Path, start: str) -> None:
    bad = json.dumps(question(GOOD)).replace('"answer_start": 0', f'"answer_start": {start}')
    content = json.dumps(squad(*map(question, range(GOOD)), {}))
    questions(content.replace("{}", bad))(tmp_path)
    assert len(card_of(tmp_path)["first_bad_rows"]) == 1


def test_a_bad_context_costs_its_questions(tmp_path: Path) -> None:
    content: Any = squad(*map(question, range(GOOD)))
    bad = {"context": 7, "qas": [question(GOOD), question(GOOD + 1)]}
    content["data"][0]["paragraphs"].append(bad)
    questions(content)(tmp_path)
    assert sum(card_of(tmp_path)["dropped"].values()) == 2


def test_bytes_that_are_no_utf8_cost_their_question(tmp_path: Path) -> None:
    content = json.dumps(squad(*map(question, range(GOOD)), question(GOOD, question="Wxo?")))
    run = qa(content.encode().replace(b"Wxo", b"W\xe7o"))
    run(tmp_path)
    assert f"qas.{GOOD}.question" in card_of(tmp_path)["first_bad_rows"][0]


@pytest.mark.parametrize("name", FEW_BAD)
def test_one_bad_row_in_many_is_left_out_and_listed(tmp_path: Path, name: str) -> None:
    run, reason, place = FEW_BAD[name]
    run(tmp_path)
    assert len(pa.parquet.read_table(outputs(tmp_path)[0])) == GOOD
    card = card_of(tmp_path)
    assert [number for why, number in card["dropped"].items() if why.startswith(reason)] == [1]
    (listed,) = card["first_bad_rows"]
    assert place in listed


def test_the_share_is_that_of_the_rows(tmp_path: Path) -> None:
    """As many bad rows as the share allows pass; one more fails, naming the first of them."""
    most = int(MOST_BAD * 1000)
    ner("a\tO\n\n" * (1000 - most) + "b\tX\n\n" * most)(tmp_path)
    assert len(card_of(tmp_path)["first_bad_rows"]) == 5
    with pytest.raises(DataError, match=rf"line 1979: .*{most + 1} of 1000 sentences cannot"):
        ner("a\tO\n\n" * (999 - most) + "b\tX\n\n" * (most + 1))(tmp_path)


def test_a_script_is_no_matter_of_a_few_names_or_letters() -> None:
    mostly = [RUSSIAN] * 3 + [ENGLISH]
    require_script(mostly, "Cyrl", "x", "ru")
    require_script([ENGLISH] * 9, "Cyrl Latn", "x", "sr")
    require_script(["New York"], "Cyrl", "x", "ru")
    require_script(["東京タワー" * 40], "Jpan", "x", "ja")
    require_script([ENGLISH] * 9, "", "x", "ru")
    require_script([ENGLISH] * 9, "Tibt", "x", "bo")


@pytest.mark.parametrize(
    ("own", "other", "is_evidence"),
    [(0, 20, False), (0, 21, True), (5, 40, False), (4, 40, True), (20, 81, False), (15, 85, True)],
)
def test_how_many_letters_are_evidence(own: int, other: int, is_evidence: bool) -> None:
    """Less than a fifth of the letters and of five more, for the benefit of the doubt."""
    texts = ["я" * own, "x" * other]
    error = pytest.raises(DataError, match=f"{own / (own + other):.1%} of the letters.*latin")
    with error if is_evidence else nullcontext():
        require_script(texts, "Cyrl", "x", "ru")


def test_every_script_of_the_table_is_known() -> None:
    for item in Languages.read(LANGUAGES):
        with pytest.raises(DataError):
            require_script(["\u0710" * 100], item.script, "x", item.code)


def test_a_card_says_what_was_really_read(tmp_path: Path) -> None:
    """A mirror's commit and note win over the register, for the copy that came from there."""
    content = b"a text"
    held = put(tmp_path, "mirror/data/a.txt.xz", lzma.compress(content))
    line = f"data/a.txt.xz\t9\t{sha256_of(held)}\td\tgithub.com/x : a\tabc1\tCC0\ttruncated\n"
    put(tmp_path, "mirror/MANIFEST.tsv", HEADER + line)
    file, sources = tmp_path / "a.txt", Sources(register(tmp_path), tmp_path / "mirror")
    fetch("data/a.txt", file, sources)
    found = origin_of("data/a.txt", file, sources)
    said = "data/a.txt: github.com/x : a, commit abc1, truncated"
    assert found["read_from"] == said
    upstream, origin = Upstream(language("en"), [CorpusFile(file, "lines")]), {file: found}
    job = ReadingJob([upstream], OPTIONS, *outputs(tmp_path), origin=origin.__getitem__)
    plain_text.read(job)
    assert card_of(tmp_path)["read_from"] == [said]
    assert corpora_read(tmp_path / "out") == {"table": f"data (CC0); {said}"}
    own = put(tmp_path, "own.txt", "another")
    sources = Sources(register(tmp_path, sha256_of(own)), tmp_path / "mirror")
    found = origin_of("data/a.txt", own, sources)
    assert found["read_from"] == "data/a.txt: https://example.org/a.txt"


def test_counts_of_each_language_stand_in_the_store(tmp_path: Path, caplog: Any) -> None:
    rows = [
        {"id": str(n), "language": code, "premise": "a cat", "hypothesis": text, "label": "neutral"}
        for code, texts_ in {"en": ["a dog"] * 120, "is": ["a dog"] + ["zzz"] * 99}.items()
        for n, text in enumerate(texts_)
    ]
    out = tmp_path / "store"
    tokenizer = make_tokenizer(tmp_path)
    encode("nli", pa.Table.from_pylist(rows), tokenizer, out, labels=["neutral"], drop_unknown=True)
    counts = read_json(out / "meta.json")["examples"]
    assert counts == {"en": {"read": 120, "left": 120}, "is": {"read": 100, "left": 1}}
    assert "fewer than 100 examples: {'is': 1}" in caplog.text


def test_the_card_notes_fewer_items_than_requested(tmp_path: Path, caplog: Any) -> None:
    dictionary("a b\nc d\n", limit=3)(tmp_path)
    note = "2 pairs although 3 were requested: there are no more"
    assert card_of(tmp_path)["notes"] == [note]
    assert note in caplog.text
    dictionary("a b\nc d\n", limit=2)(tmp_path)
    assert card_of(tmp_path)["notes"] == []


def test_compressed_manifests_are_no_manifests(tmp_path: Path) -> None:
    put(tmp_path, "MANIFEST.tsv", gzip.compress(HEADER.encode()))
    with pytest.raises(DataError, match="line 1: not UTF-8"):
        Mirror.read(tmp_path)
