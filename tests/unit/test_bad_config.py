"""Bad input that a config shows by itself: every mistake, with file, line or key, and mend."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from configs import CODES, ROOT, refused, values

from mbert_atlas import papers, strict_yaml
from mbert_atlas.config.reading import read_yaml
from mbert_atlas.encoders.folders import check_folder
from mbert_atlas.errors import DataError
from mbert_atlas.plan.runs import RunTable
from mbert_atlas.sources import Register

DE = "[{path: x/de.tsv}]"
TEXTS = {
    # key twice, values that YAML 1.1 reads differently
    "key twice": (b"run: a\nrun: b\n", "line 2: the key 'run' is there twice, first in line 1"),
    "key twice below": (b"a:\n  x: {b: 1, b: 2}\n", "line 2: the key 'b' is there twice"),
    "yes in a list": (b"seeds: [yes]\n", "line 1: yes is read as true; write true, or 'yes'"),
    "no as a language": (b"languages: [en, no]\n", "line 1: no is read as false"),
    "no as a key": (b"a:\n  no: 3\n", "line 2: no is read as false"),
    "off": (b"offline: off\n", "line 1: off is read as false"),
    "octal": (b"limit: 010\n", "line 1: 010 is read as 8; write the number in plain digits"),
    "hexadecimal": (b"limit: 0x10\n", "line 1: 0x10 is read as 16"),
    "binary": (b"limit: 0b11\n", "line 1: 0b11 is read as 3"),
    "grouped digits": (b"limit: 1_000\n", "line 1: 1_000 is read as 1000"),
    "a time": (b"runtime: 12:00:00\n", "line 1: 12:00:00 is read as 43200"),
    "a short time": (b"runtime: 1:30\n", "line 1: 1:30 is read as 90"),
    "a date": (b"run: 2020-04-20\n", "line 1: 2020-04-20 is read as a date; write '2020-04-20'"),
    "no value": (b"datasets:\n  xnli:\nrun: x\n", "line 2: a key or an item has no value"),
    "no item": (b"seeds:\n  - 1\n  -\n", "line 3: a key or an item has no value; write one"),
    "a list as key": (b"? [a]\n: 1\n", "line 1: a key is not a plain word"),
    "itself": (b"a: &x [*x]\n", "line 1: an anchor is used within itself"),
    # no YAML
    "tab": (b"a:\n\tb: 1\n", "line 2: not YAML: found character that cannot start any token"),
    "indentation": (b"a:\n  - 1\n b: 2\n", "line 3: not YAML: did not find expected key"),
    "bracket": (b"a: [1\nb: 2\n", "line 2: not YAML: did not find expected ',' or ']'"),
    "quote": (b"a: 'x\n", "not YAML: found unexpected end of stream"),
    "two colons": (b"a: b: c\n", "line 1: not YAML: mapping values are not allowed"),
    "no anchor": (b"a: *y\n", "line 1: not YAML: found undefined alias"),
    "code": (b"a: !!python/object:x.y {}\n", "line 1: not YAML: could not determine a constructor"),
    "two documents": (b"---\na: 1\n---\nb: 2\n", "line 3: not YAML: but found another document"),
    "control character": (b"run: x\na: \x00\n", "line 2: not YAML: the invisible character #x0"),
    "Latin-1": (b"run: x\nworld: caf\xe9\n", "line 2: not UTF-8; save it in this encoding."),
    "UTF-16": ("run: x\n".encode("utf-16"), "line 1: not UTF-8"),
    "empty": (b"", "not a mapping of keys; start from config/demo.yaml."),
    "a list": (b"- run\n", "not a mapping of keys"),
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


CASES = {
    # numbers and truths that are none
    "float": ("seeds: [1.0]\n", "line 1, key seeds.0: Input should be a valid integer, found 1.0"),
    "truth as integer": ("seeds: [true]\n", "line 1, key seeds.0: Input should be a valid integer"),
    "text as integer": ("seeds: ['1']\n", "line 1, key seeds.0: Input should be a valid integer"),
    "negative seed": (
        "seeds: [-1]\n",
        "line 1, key seeds.0: Input should be greater than or equal",
    ),
    "thousands": (
        "runs:\n  adjusted:\n    published: {sentences: 1.000}\n",
        "line 3, key runs.adjusted.published.sentences: Input should be a valid integer",
    ),
    "text as truth": ("offline: 'no'\n", "line 1, key offline: Input should be a valid boolean"),
    "number as truth": ("offline: 0\n", "line 1, key offline: Input should be a valid boolean"),
    "truth as number": (
        "runs: {nli: {published: {head: {dropout: true}}}}\n",
        "published.head.dropout: Input should be a valid number, found true",
    ),
    "not a number": (
        "runs: {nli: {published: {optimisation: {weight_decay: .nan}}}}\n",
        "optimisation.weight_decay: Input should be a finite number",
    ),
    "infinite": (
        "runs: {nli: {published: {optimisation: {learning_rate: .inf}}}}\n",
        "optimisation.learning_rate: Input should be a finite number",
    ),
    # lists
    "no seeds": ("seeds: []\n", "line 1, key seeds: the list is empty; name something"),
    "seed twice": ("seeds: [1, 1]\n", "line 1, key seeds: the same twice: 1"),
    "no test languages": (
        "runs: {nli: {evaluate: {xnli: []}}}\n",
        "evaluate.xnli: the list is empty; name something",
    ),
    "no languages": ("datasets: {xnli: {languages: []}}\n", "languages: the list is empty"),
    "language twice": (
        "datasets: {xnli: {languages: [en, en]}}\n",
        "languages: the same twice: en",
    ),
    "test language twice": (
        "runs: {nli: {evaluate: {xnli: [en, ru, en]}}}\n",
        "evaluate.xnli: the same twice: en",
    ),
    "no encoders": ("runs: {nli-*: {encoders: []}}\n", "encoders: the list is empty"),
    "file twice": (
        "datasets: {xnli: {files_by_language: {en: [{path: a}, {path: a}]}}}\n",
        "files_by_language.en: the same twice",
    ),
    # paths and names
    "home": ("downloads: ~/d\n", "line 1, key downloads: ~ and $ are not expanded"),
    "variable": ("mirror: $SCRATCH/d\n", "line 1, key mirror: ~ and $ are not expanded"),
    "empty path": ("downloads: ''\n", "line 1, key downloads: String should have at least 1"),
    "blank path": ("downloads: ' d'\n", "line 1, key downloads: ~ and $ are not expanded"),
    "encoder at home": (
        "encoders: {mbert: {hub: null, folder: ~/e}}\n",
        "encoders.mbert.folder: ~ and $ are not expanded",
    ),
    "mutable revision": (
        "encoders: {mbert: {hub: {revision: main}}}\n",
        "encoders.mbert.hub.revision: String should match pattern '^[0-9a-f]{40}$', found 'main'",
    ),
    "short revision": (
        "encoders: {mbert: {hub: {revision: 3f076fd}}}\n",
        "encoders.mbert.hub.revision: String should match pattern",
    ),
    "name with a slash": (
        "encodings: {a/b: {task: nli}}\n",
        "encodings.a/b: 'a/b' becomes a file name; use letters, digits",
    ),
    "name with a blank": (
        "encodings: {a b: {task: nli}}\n",
        "encodings.a b: 'a b' becomes a file name",
    ),
    # what says nothing
    "miniature is comparable": (
        "miniature: {languages: [es]}\n",
        "generated data are not comparable with the papers'; write `comparable: false`",
    ),
    "stride of inference": (
        "encodings: {inference: {doc_stride: 9}}\n",
        "line 1, key encodings.inference.doc_stride: there is no such key; qa has it.",
    ),
    "unit of inference": (
        "encodings: {inference: {unit: token}}\n",
        "encodings.inference.unit: there is no such key; language_identification has it.",
    ),
    "limit of a derived set": (
        "datasets: {xnli-mixed: {limit: 9}}\n",
        "datasets.xnli-mixed.limit: this has no effect with `made_from: xnli`",
    ),
    "format of a derived set": (
        "datasets: {xnli-mixed: {format: xnli}}\n",
        "datasets.xnli-mixed.format: this has no effect with `made_from: xnli`",
    ),
    "seed without a sample": (
        "datasets: {xquad: {sample_seed: 3}}\n",
        "datasets.xquad.sample_seed: this has no effect with `limit: null`",
    ),
    "seed of a grid": (
        "runs: {parsing: {search: {seed: 3}}}\n",
        "search.seed: this has no effect with `kind: grid`",
    ),
    "world": ("world: here\n", "line 1, key world: this has no effect with `comparable: True`"),
    "language data alone": (
        "runs:\n  nli: {language_data: "
        "{dataset: wikipedia-languages, encoding: wikipedia-texts}}\n",
        "line 2, key runs.nli.language_data: no method reads it; leave it out, or write null",
    ),
    "file of no language": (
        "datasets: {xnli: {files_by_language: {xz: [{path: a}]}}}\n",
        "datasets.xnli.files_by_language: 'xz' is not defined as a language",
    ),
    "nothing to take out": (
        "datasets: {xnlj: null}\n",
        "line 1, key datasets.xnlj: there is no 'xnlj' that null could remove; did you mean "
        "'xnli'?",
    ),
    "nothing to replace": (
        "languages_instead: {xz: de}\n",
        "line 1, key languages_instead.xz: no list of the config has the language 'xz'",
    ),
    "replaced by nothing": (
        "languages_instead: {sw: xz}\n",
        "key languages_instead.sw: 'xz' is not defined as a language",
    ),
    # methods
    "two methods that read language data in two ways": (
        "runs:\n  udpos-reversal: {published: {language_subspace: {}}}\n",
        "language_data: `confusion` reads it under an encoding for language_identification and "
        "`language_subspace` reads it under an encoding for text; they cannot be combined; drop "
        "one of them",
    ),
    "a method without its language data": (
        "runs:\n  nli: {published: {confusion: {}}}\n",
        "line 2, key runs.nli: `confusion` needs texts by language; name them in `language_data`",
    ),
    "a method that trains a frozen encoder": (
        "runs: {udpos-reversal: {published: {trained_layers: none}}}\n",
        "published.confusion: this trains the encoder, but `trained_layers: none` freezes it",
    ),
    "labelled subwords of texts": (
        "runs: {nli: {published: {language_subspace: {}}}}\n",
        "language_subspace: languages are preserved at labelled subwords, which this task does not",
    ),
    "metric of a selection": (
        "runs: {nli: {published: {selection: {metric: span_micro_f1}}}}\n",
        "selection.metric: span_micro_f1 cannot select an epoch of this task; choose",
    ),
    "selection without a metric": (
        "runs: {qa: {published: {selection: {}}}}\n",
        "selection.metric: macro_f1 cannot select an epoch of this task; leave out the selection",
    ),
    "replay without an adjustment": (
        "runs: {nli: {published: {replay: {}}}}\n",
        "runs.nli.encoder: 'mbert' is not defined as adjustment to replay",
    ),
    # test sets
    "trained on a test set": (
        "runs: {nli: {train: xnli}}\n",
        "runs.nli.train: 'xnli' is a test set, which must not be trained on",
    ),
    "trained on what comes from it": (
        "runs: {nli: {train: xnli-mixed}}\n",
        "runs.nli.train: 'xnli-mixed' is a test set",
    ),
    "predicts its training data": (
        "runs: {nli: {evaluate: {multinli: [en]}}}\n",
        "multinli is predicted, and has the same data; train on others",
    ),
    "test set under another name": (
        "datasets: {again: {corpus: nli, languages: [en], split: train, format: multinli, "
        "files: multinli/multinli_1.0.zip}}\nruns: {nli: {evaluate: {again: [en]}}}\n",
        "again is predicted, and has the same data",
    ),
    "chosen by a test set": (
        "runs: {udpos: {search: {evaluate: {udpos-test: [en]}}}}\n",
        "search.evaluate.udpos-test: 'udpos-test' is a test set, which must not be used for "
        "selection",
    ),
    # formats and files
    "unknown format": (
        "datasets: {xnli: {format: xnly}}\n",
        "datasets.xnli.format: Input should be 'multinli', 'xnli', 'xtreme' or 'taxinli'",
    ),
    "unknown format of a file": (
        "datasets: {xnli: {files_by_language: {en: [{path: a, format: moses}]}}}\n",
        "no format of nli is 'moses' (en): use multinli, xnli, xtreme, taxinli",
    ),
    "no file": (
        f"datasets: {{xnli: {{files: null, files_by_language: {{de: {DE}}}}}}}\n",
        "datasets.xnli.languages: 'ar' has no file (nor 'bg', 'el'",
    ),
    "dataset of itself": (
        "datasets: {xnli: {split: null, files: null, format: null, made_from: xnli-mixed}}\n",
        "xnli -> xnli-mixed -> xnli is a circle",
    ),
    # sizes that exclude each other
    "heads": (
        "encoders: {mbert: {hub: null, scratch: {texts: [wikipedia], pretraining: {heads: 3}}}}\n",
        "encoders.mbert.scratch.pretraining: `hidden_size` (256) is no multiple of `heads` (3)",
    ),
    "positions": (
        "encoders: {mbert: {hub: null, scratch: {texts: [wikipedia], "
        "pretraining: {positions: 64}}}}\n",
        "`max_length` (128) is above `positions` (64)",
    ),
    "alphabet": (
        "encoders:\n  mbert: {hub: null, scratch: {texts: [wikipedia], pretraining: "
        "{vocabulary_size: 500}}}\n",
        "line 2, key encoders.mbert.scratch.pretraining: `alphabet_size` (1000) leaves no room",
    ),
    "few paragraphs": (
        "datasets: {wikipedia-languages: {limit: 5}}\n",
        "datasets.wikipedia-languages.limit: 5 is less than minimum_per_language, 10; raise it",
    ),
    "layers exchanged": (
        "runs: {xtreme-pos-l-dar: {published: {language_subspace: "
        "{first_layer: 9, last_layer: 8}}}}\n",
        "`first_layer` is above `last_layer`; exchange them",
    ),
    "encoding longer than the encoder": (
        "encoders: {mbert: {hub: null, scratch: {texts: [wikipedia], pretraining: {}}}}\n"
        "encodings: {inference: {max_length: 900}}\n",
        "key encodings.inference.max_length: 900 subwords, and the encoder 'mbert' takes 512",
    ),
    "families in a circle": (
        "runs: {adjusted: {encoder: nli-adjusted}}\n",
        "is a circle; start from another",
    ),
    "languages of the miniature": (
        "comparable: false\nminiature: {languages: [es, xz]}\n",
        "line 2, key miniature.languages: 'xz' is not defined in the miniature",
    ),
    "lending of the miniature": (
        "comparable: false\nminiature: {languages: [es], lending: [ru]}\n",
        "line 2, key miniature.lending: 'ru' is not defined in miniature.languages",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_mistakes_of_a_config(tmp_path, case):
    text, sentence = CASES[case]
    message = refused(tmp_path, text)
    assert sentence in message
    assert all(line.endswith((".", "?", ":")) for line in message.splitlines())


def test_all_mistakes_are_named_at_once_and_by_file(tmp_path):
    text = """runs:
  nli: {train: multinly, encoder: mbertt}
  ner: {evaluate: {wikiann-test: [en, xz]}}
world: here
datasets: {multinli: {languages: [xy]}}
"""
    lines = refused(tmp_path, text).splitlines()
    for part in ("'multinly'", "'mbertt'", "'xz'", "key world", "'xy'"):
        assert sum(part in line for line in lines) == 1, part
    assert [line.split(",")[0] for line in lines] == sorted(line.split(",")[0] for line in lines)


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


def test_null_takes_out_a_dataset_and_one_of_several_families():
    family = {
        **{"kind": "finetuning", "paper": "mine", "encoder": "mbert", "encoding": "inference"},
        **{"train": "multinli", "evaluate": {"xnli": ["en"]}, "variants": {"a": {}, "b": {}}},
    }
    base = values(papers=[])
    before = papers.read_config({**base, "runs": {"mine-*": family}})
    assert set(before.runs) == {"mine-a", "mine-b"}
    after = papers.read_config({**base, "runs": {"mine-*": family, "mine-b": None}})
    assert set(after.runs) == {"mine-a"}
    none = {**base, "datasets": {**base["datasets"], "multinli": None}}
    found = papers.read_config({**none, "runs": {"mine-*": family}})
    assert set(before.datasets) - set(found.datasets) == {"multinli"}
    assert found.runs == {}


def test_null_takes_a_dataset_from_what_families_predict():
    base = values(papers=[])
    family = {
        **{"kind": "finetuning", "paper": "mine", "encoder": "mbert", "encoding": "inference"},
        **{"train": "multinli", "evaluate": {"xnli": ["en"], "other": ["en"]}},
    }
    other = {**base["datasets"]["xnli"]}
    runs = {"mine": family, "next": {**family, "evaluate": {"other": ["en"]}}}
    whole = {**base, "runs": runs, "datasets": {**base["datasets"], "other": other}}
    assert set(papers.read_config(whole).runs["mine"].evaluate) == {"xnli", "other"}
    found = papers.read_config({**whole, "datasets": {**base["datasets"], "other": None}})
    assert set(found.runs) == {"mine"}
    assert set(found.runs["mine"].evaluate) == {"xnli"}


def test_null_takes_out_an_encoder_with_its_families():
    base = values(papers=[])
    family = {
        **{"kind": "finetuning", "paper": "mine", "encoder": "mine", "encoding": "inference"},
        **{"train": "multinli", "evaluate": {"xnli": ["en"]}},
    }
    runs = {"mine": family, "next": {**family, "encoder": "mine"}, "like": {"like": "mine"}}
    kept = {"other": {**family, "encoder": "mbert"}}
    whole = {**base, "runs": {**runs, **kept}, "encoders": {**base["encoders"], "mine": None}}
    assert set(papers.read_config(whole).runs) == {"other"}


def test_languages_instead_stand_wherever_the_others_did(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("languages_instead: {sw: ko}\n")
    found = papers.read_config(values(**read_yaml(path)), languages=CODES)
    texts = found.model_dump_json(exclude={"languages_instead"})
    assert '"sw"' not in texts
    assert "ko" in found.datasets["xnli"].languages
    assert found.datasets["xnli"].languages.count("ko") == 1
    RunTable(found)


def test_encoder_folders(tmp_path):
    folder = tmp_path / "encoder"
    with pytest.raises(DataError, match="there is no such folder; correct the path"):
        check_folder(folder)
    folder.mkdir()
    with pytest.raises(DataError, match=r"config.json: the encoder folder lacks this file"):
        check_folder(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(DataError, match=r"config.json: not readable as JSON"):
        check_folder(folder)
    sizes = {"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 3}
    stated = {"model_type": "bert", **sizes}

    def state(**changes):
        (folder / "config.json").write_text(json.dumps(stated | changes))

    state(model_type="gpt2")
    with pytest.raises(DataError, match=r"model_type: 'gpt2' is not bert or xlm-roberta"):
        check_folder(folder)
    state(num_hidden_layers="two")
    with pytest.raises(DataError, match=r"num_hidden_layers: 'two' is no positive number"):
        check_folder(folder)
    state(num_attention_heads=3)
    with pytest.raises(DataError, match="no multiple of num_attention_heads"):
        check_folder(folder)
    state()
    with pytest.raises(DataError, match=r"there is no vocab.txt or tokenizer.json"):
        check_folder(folder)
    (folder / "vocab.txt").write_text("a\n")
    (folder / "pytorch_model.bin").touch()
    with pytest.raises(DataError, match="pickled"):
        check_folder(folder)
    tensors = {"bert.embeddings.word_embeddings.weight": [3, 8]}
    tensors |= {f"bert.encoder.layer.{layer}.output.dense.bias": [8] for layer in range(2)}
    weights(folder, tensors)
    assert check_folder(folder) == 2
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:-1])
    with pytest.raises(DataError, match="truncated"):
        check_folder(folder)
    (folder / "model.safetensors").write_bytes(b"<html>")
    with pytest.raises(DataError, match="not a safetensors file"):
        check_folder(folder)
    weights(folder, tensors)
    state(num_hidden_layers=1)
    with pytest.raises(DataError, match=r"2 layers, but config.json states 1"):
        check_folder(folder)
    state(vocab_size=4)
    with pytest.raises(DataError, match=r"3 x 8, but config.json states 4 x 8"):
        check_folder(folder)
    (folder / "tokenizer.json").write_text("{}")
    state(model_type="xlm-roberta")
    with pytest.raises(DataError, match=r"the weights are of bert, but config.json states xlm-"):
        check_folder(folder)


def weights(folder: Path, tensors: dict[str, list[int]]) -> None:
    """Write a safetensors file of zeros."""
    header, end = {}, 0
    for name, shape in tensors.items():
        size = 4
        for side in shape:
            size *= side
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    head = json.dumps(header).encode()
    content = len(head).to_bytes(8, "little") + head + bytes(end)
    (folder / "model.safetensors").write_bytes(content)


def test_a_register_with_a_key_twice_is_refused(tmp_path):
    text = (ROOT / "resources/sources.yaml").read_text()
    path = tmp_path / "sources.yaml"
    path.write_text(text + text[text.index("sources:") :])
    with pytest.raises(DataError, match="the key 'sources' is there twice"):
        Register.read(path)


def test_files_can_be_checked_before_snakemake_reads_them(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("a:\n  - 1\n b: 2\n")
    command = [sys.executable, "-m", "mbert_atlas.papers", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{path}, line 3: not YAML")
    assert "Traceback" not in done.stderr


def test_yaml_that_means_one_thing_is_read(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "\ufeffa: &x {b: 1, c: 'no', d: 1.0e-3, e: 1e-3, f: ~, g: Null}\nh: {<<: *x, b: 2}\n"
    )
    found = strict_yaml.read(path)
    assert found["a"] == {"b": 1, "c": "no", "d": 1e-3, "e": "1e-3", "f": None, "g": None}
    assert found["h"]["b"] == 2
