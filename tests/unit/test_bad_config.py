"""Mistakes of a config: all are named at once, each with file, line, key and fix."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from configs import CODES, FILES, ROOT, config_errors, values
from safetensors.numpy import save, save_file

from mbert_atlas import papers, strict_yaml
from mbert_atlas.config.merging import merge
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.encoders.folders import check_folder
from mbert_atlas.errors import DataError
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.sources.register import Register

TEXTS = {
    # key twice, values that YAML 1.1 reads differently
    "key twice": (b"run: a\nrun: b\n", "line 2: the key 'run' is there twice, first in line 1"),
    "yes in a list": (b"seeds: [yes]\n", "line 1: yes is read as true; write true, or 'yes'"),
    "no as a language": (b"languages: [en, no]\n", "line 1: no is read as false"),
    "octal": (b"limit: 010\n", "line 1: 010 is read as 8; write the number in plain digits"),
    "hexadecimal": (b"limit: 0x10\n", "line 1: 0x10 is read as 16"),
    "grouped digits": (b"limit: 1_000\n", "line 1: 1_000 is read as 1000"),
    "a time": (b"runtime: 12:00:00\n", "line 1: 12:00:00 is read as 43200"),
    "a date": (b"run: 2020-04-20\n", "line 1: 2020-04-20 is read as a date; write '2020-04-20'"),
    "no value": (b"datasets:\n  xnli:\nrun: x\n", "line 2: a key or an item has no value"),
    "a list as key": (b"? [a]\n: 1\n", "line 1: a key is not a plain word"),
    "itself": (b"a: &x [*x]\n", "line 1: an anchor is used within itself"),
    # no YAML
    "tab": (b"a:\n\tb: 1\n", "line 2: not YAML: found character that cannot start any token"),
    "indentation": (b"a:\n  - 1\n b: 2\n", "line 3: not YAML: did not find expected key"),
    "bracket": (b"a: [1\nb: 2\n", "line 2: not YAML: did not find expected ',' or ']'"),
    "no anchor": (b"a: *y\n", "line 1: not YAML: found undefined alias"),
    "code": (b"a: !!python/object:x.y {}\n", "line 1: not YAML: could not determine a constructor"),
    "two documents": (b"---\na: 1\n---\nb: 2\n", "line 3: not YAML: but found another document"),
    "control character": (b"run: x\na: \x00\n", "line 2: not YAML: the invisible character #x0"),
    "Latin-1": (b"run: x\nworld: caf\xe9\n", "line 2: not UTF-8; save it in this encoding."),
    "UTF-16": ("run: x\n".encode("utf-16"), "line 1: not UTF-8"),
    "empty": (b"", "not a mapping of keys; start from config/demo.yaml."),
}


@pytest.mark.parametrize("case", TEXTS)
def test_texts_that_are_no_config(tmp_path, case):
    text, sentence = TEXTS[case]
    path = tmp_path / "mine.yaml"
    path.write_bytes(text)
    with pytest.raises(DataError) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert sentence in message
    assert message.endswith(("list.", "text.", ".", "it."))
    assert "\n" not in message


BAD_CONFIGS = (Path(__file__).parent / "bad_configs.yaml").read_text().split("---\n")


@pytest.mark.parametrize("text", BAD_CONFIGS)
def test_all_mistakes_are_named_with_their_lines(tmp_path, text):
    message = config_errors(tmp_path, text)
    errors = [line for line in message.splitlines() if line.startswith("line ")]
    assert all(line.endswith((".", "?")) for line in errors)
    expected = [
        (number, sentence)
        for number, line in enumerate(text.splitlines(), 1)
        for _, mark, sentence in [line.partition("  # ")]
        if mark
    ]
    for number, sentence in expected:
        assert any(e.startswith(f"line {number},") and sentence in e for e in errors), sentence
    assert {int(re.match(r"line (\d+)", line)[1]) for line in errors} == {n for n, _ in expected}
    assert errors == sorted(errors, key=lambda line: int(re.match(r"line (\d+)", line)[1]))


BERT = f"hub: {{repository: org/bert, revision: {'a' * 40}}}"


@pytest.mark.parametrize(
    ("below", "above", "source"),
    [
        ("{scratch: {texts: [wikipedia], pretraining: {}}}", "{folder: DIR}", "folder"),
        ("{hub: null, scratch: {texts: [wikipedia], pretraining: {}}}", "{folder: DIR}", "folder"),
        ("{hub: null, scratch: {texts: [wikipedia], pretraining: {}}}", f"{{{BERT}}}", "hub"),
        ("{hub: null, folder: OTHER}", f"{{{BERT}}}", "hub"),
        ("{folder: OTHER}", "{scratch: {texts: [wikipedia], pretraining: {}}}", "scratch"),
        ("{folder: OTHER}", "{sentencepiece: true}", "folder"),
    ],
)
def test_the_source_of_an_encoder_replaces_those_below(tmp_path, below, above, source):
    paths = [tmp_path / "below.yaml", tmp_path / "above.yaml"]
    for path, text in zip(paths, (below, above), strict=True):
        path.write_text(f"comparable: false\nencoders: {{mbert: {text}}}\n")
    config = papers.load(paths, ROOT, CODES)
    assert getattr(config.encoders["mbert"], source) is not None
    typed = values(encoders={"mbert": {"folder": "TYPED"}}, comparable=False)
    assert papers.read_config(typed, FILES, CODES).encoders["mbert"].folder == "TYPED"


def test_the_revision_of_one_repository_is_not_that_of_another(tmp_path):
    assert "line 3, key encoders.mbert.hub.revision: the key is missing" in config_errors(
        tmp_path, "comparable: false\nencoders:\n  mbert: {hub: {repository: org/other}}\n"
    )


@pytest.mark.parametrize("name", ["demo.yml", "config/demo.yml", "demo.yaml", "config/dmo.yaml"])
def test_a_preset_by_another_name_is_suggested(monkeypatch, name):
    monkeypatch.chdir(ROOT)
    with pytest.raises(DataError, match=rf"{name}: no such file; did you mean config/demo.yaml\?"):
        read_yaml(Path(name))


MORE = [
    (
        "comparable: true\nminiature: {languages: [es]}\n",
        "line 1, key comparable: numbers from synthetic data are not comparable with the papers'",
    ),
    (
        f"encoders: {{mbert: {{hub: {{repository: a/b, revision: {'a' * 40}}}}}}}\n",
        "line 1, key encoders.mbert: with another encoder than google-bert/bert-base-multilingual-",
    ),
    (
        "datasets: {xnli: {files: null, files_by_language: {de: [{path: x/de.tsv}]}}}\n",
        "datasets.xnli.languages: 'ar' has no file (nor 'bg', 'el'",
    ),
    (
        "runs: {nli: {evaluate: {multinli: [en]}}}\n",
        "multinli is predicted, and has the same data; train on others",
    ),
    (
        "datasets: {again: {corpus: nli, languages: [en], split: train, format: multinli, "
        "files: multinli/multinli_1.0.zip}}\nruns: {nli: {evaluate: {again: [en]}}}\n",
        "again is predicted, and has the same data",
    ),
    (
        "encoders: {mbert: {hub: null, scratch: {texts: [wikipedia], pretraining: {}}}}\n"
        "encodings: {inference: {max_length: 900}}\n",
        "key encodings.inference.max_length: 900 subwords, and the encoder 'mbert' takes 512",
    ),
    (
        "runs: {udpos-reversal: {published: {language_subspace: {}}}}\n",
        "language_data: `confusion` reads it under an encoding for language_identification and "
        "`language_subspace` reads it under an encoding for text; they cannot be combined; drop "
        "one of them",
    ),
    (
        "runs: {nli: {published: {confusion: {}}}}\n",
        "runs.nli: `confusion` needs texts by language; name them in `language_data`",
    ),
    (
        "runs: {udpos-reversal: {published: {trained_layers: none}}}\n",
        ".confusion: this trains the encoder, but `trained_layers: none` freezes it",
    ),
    (
        "runs: {nli: {published: {language_subspace: {}}}}\n",
        "language_subspace: languages are preserved at labelled subwords, which this task does not",
    ),
    (
        "runs: {nli: {published: {selection: {metric: span_micro_f1}}}}\n",
        "selection.metric: span_micro_f1 cannot select an epoch of this task; choose accuracy or",
    ),
    (
        "runs: {qa: {published: {selection: {}}}}\n",
        "selection.metric: macro_f1 cannot select an epoch of this task; leave out the selection",
    ),
    (
        "runs: {nli: {published: {replay: {}}}}\n",
        "runs.nli.encoder: 'mbert' is not defined as adjustment to replay",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), MORE)
def test_mistakes_with_consequences(tmp_path, text, sentence):
    assert sentence in config_errors(tmp_path, text)


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ("datasets: [xnli]", "datasets: {xnli: {seed: 1}}", "line 1, key datasets: a mapping is"),
        ("runs:\n  nli: x", "runs: {nli: {encoder: mbert}}", "line 2, key runs.nli: a mapping is"),
        (
            "alignment: {held_out: 1}",
            "alignment: 3",
            "key alignment: a mapping of keys is expected, found 3; write some of",
        ),
    ],
)
def test_a_list_is_an_error_though_a_later_file_has_a_mapping(tmp_path, first, second, sentence):
    files = [tmp_path / "first.yaml", tmp_path / "second.yaml"]
    for file, text in zip(files, (first, second), strict=True):
        file.write_text(text + "\n")
    with pytest.raises(DataError, match=re.escape(sentence)):
        papers.load(files, ROOT, CODES)


def test_numbers_that_yaml_takes_for_texts_are_numbers(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("runs: {nli: {published: {optimisation: {learning_rate: 3e-5}}}}\n")
    found = papers.read_config(values(**read_yaml(path)))
    assert found.runs["nli"].published.optimisation.learning_rate == 3e-5


@pytest.mark.parametrize(
    ("typed", "expected"), [("false", False), ("true", True), ("False", False)]
)
def test_what_is_typed_after_config_is_yaml(typed, expected):
    found = papers.read_config({**values(), "offline": typed}, typed=["offline"])
    assert found.offline is expected
    with pytest.raises(DataError, match="--config, key offline: no is read as false; write false"):
        papers.read_config({**values(), "offline": "no"}, typed=["offline"])


FAMILY = {
    **{"kind": "finetuning", "paper": papers.names()[0], "encoder": "mbert"},
    **{"encoding": "inference", "train": "multinli", "evaluate": {"xnli": ["en"], "other": ["en"]}},
}
STAR = {**FAMILY, "variants": {"a": {}, "b": {}}}
BOTH = {**FAMILY, "encoders": ["mbert", "xlmr"]}
XLMR = {"mine": {**FAMILY, "encoder": "xlmr"}, "like": {"like": "mine"}, "next": FAMILY}
OTHER = {"mine": FAMILY, "next": {**FAMILY, "evaluate": {"other": ["en"]}}}


@pytest.mark.parametrize(
    ("runs", "section", "removed", "left"),
    [
        ({"mine-*": STAR}, "datasets", "mlqa", {"mine-a": 2, "mine-b": 2}),
        ({"mine-*": STAR}, "runs", "mine-b", {"mine-a": 2}),
        ({"mine-*": STAR}, "datasets", "multinli", {}),
        ({"mine-*": BOTH}, "encoders", "xlmr", {"mine-mbert": 2}),
        (XLMR, "encoders", "xlmr", {"next": 2}),
        (OTHER, "datasets", "other", {"mine": 1}),
    ],
)
def test_null_takes_out_an_entry_and_what_depends_on_it(runs, section, removed, left):
    base = values(papers=[])
    base = merge(base, {"datasets": {"other": base["datasets"]["xnli"]}})
    found = papers.read_config(merge({**base, "runs": runs}, {section: {removed: None}}))
    assert {name: len(family.evaluate) for name, family in found.runs.items()} == left
    assert removed not in getattr(found, section)


def test_languages_instead_stand_wherever_the_others_did(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("languages_instead: {sw: ko}\n")
    found = papers.read_config(values(**read_yaml(path)), languages=CODES)
    texts = found.model_dump_json(exclude={"languages_instead"})
    assert '"sw"' not in texts
    assert "ko" in found.datasets["xnli"].languages
    assert found.datasets["xnli"].languages.count("ko") == 1
    RunTable(found)


SPARSE = """languages_instead: {sw: ko}
datasets:
  sparse:
    corpus: plain_text
    format: lines
    languages: [en, sw]
    files_by_language: {en: [{path: a/en.txt}], sw: [{path: a/sw.txt}]}
"""
SCRATCH = "{%s: {hub: null, scratch: {texts: [sparse], pretraining: {}}}}"
ENGLISH = SCRATCH.replace("[sparse]", "[sparse], languages: [en]")


@pytest.mark.parametrize(
    ("more", "is_needed"),
    [
        ("", False),
        (f"encoders: {SCRATCH % 'unused'}\n", False),
        (f"encoders: {SCRATCH % 'mbert'}\n", True),
        (f"encoders: {ENGLISH % 'mbert'}\n", False),
        ("runs: {nli: {train: sparse}}\n", True),
    ],
)
def test_replaced_languages_need_files_only_where_something_reads_them(tmp_path, more, is_needed):
    path = tmp_path / "mine.yaml"
    more += "comparable: false\n"
    path.write_text(SPARSE + more)
    if is_needed:
        assert "line 6, key datasets.sparse.languages: 'ko' has no file" in config_errors(
            tmp_path, SPARSE + more
        )
    else:
        found = papers.read_config(values(**read_yaml(path)), [*FILES, path], CODES)
        assert found.datasets["sparse"].languages == ["en"]


def test_small_takes_a_language_whose_texts_only_another_encoder_would_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("languages_instead: {id: ko}\n")
    found = papers.load([ROOT / "config/small.yaml", path], ROOT, CODES)
    assert "ko" not in found.datasets["bible"].languages
    scratch = [ROOT / "config/small.yaml", ROOT / "config/small-scratch.yaml", path]
    with pytest.raises(DataError, match=r"datasets\.bible\.languages: 'ko' has no file"):
        papers.load(scratch, ROOT, CODES)


CONFIG = {"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 3}
CONFIG |= {"num_attention_heads": 2}
TENSORS = {f"bert.encoder.layer.{layer}.output.dense.bias": np.zeros(8) for layer in range(2)}
TENSORS["bert.embeddings.word_embeddings.weight"] = np.zeros((3, 8))


@pytest.mark.parametrize(
    ("files", "changes", "sentence"),
    [
        ({"config.json": None}, {}, r"config.json: the encoder folder lacks this file"),
        ({"config.json": b"{"}, {}, r"config.json: not readable as JSON"),
        ({}, {"model_type": "gpt2"}, r"model_type: 'gpt2' is not supported"),
        ({}, {"num_hidden_layers": "two"}, r"num_hidden_layers: 'two' is no positive number"),
        ({}, {"num_attention_heads": 3}, "no multiple of num_attention_heads"),
        ({"vocab.txt": None}, {}, r"there is no tokenizer.json or vocab.txt"),
        ({"model.safetensors": save(TENSORS)[:-1]}, {}, "not a whole safetensors file"),
        ({"model.safetensors": b"<html>"}, {}, "not a whole safetensors file"),
        ({}, {"num_hidden_layers": 1}, r"2 layers, but config.json states 1"),
        ({}, {"vocab_size": 4}, r"3 x 8, but config.json states 4 x 8"),
        (
            {"tokenizer.json": b"{}"},
            {"model_type": "xlm-roberta"},
            r"the weights are of bert, but config.json states xlm-",
        ),
    ],
)
def test_encoder_folders(tmp_path, files, changes, sentence):
    with pytest.raises(DataError, match="there is no such folder; correct the path"):
        check_folder(tmp_path / "absent")
    save_file(TENSORS, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "vocab.txt").write_text("a\n")
    assert check_folder(tmp_path) == 2
    (tmp_path / "config.json").write_text(json.dumps(CONFIG | changes))
    for name, content in files.items():
        path = tmp_path / name
        path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        check_folder(tmp_path)


def test_a_register_with_a_key_twice_is_rejected(tmp_path):
    text = (ROOT / "resources/sources.yaml").read_text()
    path = tmp_path / "sources.yaml"
    path.write_text(text + text[text.index("sources:") :])
    with pytest.raises(DataError, match="the key 'sources' is there twice"):
        Register.read(path)


def test_yaml_that_means_one_thing_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "\ufeffa: &x {b: 1, c: 'no', d: 1.0e-3, e: 1e-3, f: ~, g: Null}\nh: {<<: *x, b: 2}\n"
    )
    found = strict_yaml.read(path)
    assert found["a"] == {"b": 1, "c": "no", "d": 1e-3, "e": "1e-3", "f": None, "g": None}
    assert found["h"]["b"] == 2
