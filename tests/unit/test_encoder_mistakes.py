"""Encoder folders that can't be used: one sentence at the start, with line, file and fix.

Small random encoders with the vocabulary of a shipped one, each with one thing wrong.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from configs import CODES, LANGUAGES, ROOT
from safetensors.torch import load_file, save_file
from sentencepiece import SentencePieceTrainer
from transformers import AutoConfig, AutoModel, PreTrainedModel

from mbert_atlas import papers
from mbert_atlas.config.reading import with_lines
from mbert_atlas.encoders.opening import require_opening
from mbert_atlas.errors import DataError
from workflow.files import check_files
from workflow.needs import check_needs
from workflow.opening import OPENED, check_opening
from workflow.plan import WorkflowPlan

SHIPPED = ROOT / "resources/encoders/many"
WORDS = 12_000
SIZES = {"vocab_size": WORDS, "max_position_embeddings": 130, "pad_token_id": 0}
USUAL = {"hidden_size": 8, "num_hidden_layers": 4, "intermediate_size": 16}
USUAL |= {"num_attention_heads": 2} | SIZES
OTHER = {"dim": 8, "n_layers": 4, "n_heads": 2, "hidden_dim": 16} | SIZES
KINDS = {"bert": USUAL, "xlm-roberta": USUAL, "distilbert": OTHER}
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt")
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 123\n"
PAGE = "<!DOCTYPE html>\n<html><body>Not found</body></html>\n"
WEIGHTS, CONFIG = "model.safetensors", "config.json"
Change = Callable[[Path], Any]


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole folder of each kind."""
    folder = tmp_path_factory.mktemp("encoders")
    for kind, sizes in KINDS.items():
        torch.manual_seed(0)
        model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes))
        model.save_pretrained(folder / kind)
        for name in TOKENIZER:
            shutil.copy2(SHIPPED / name, folder / kind)
    return folder


Start = tuple[WorkflowPlan, list[Path]]


def planned(folder: Path, more: str = "") -> Start:
    """A plan of the demo with an encoder from a folder, and the config's files."""
    mine = folder / "mine.yaml"
    mine.write_text(f"run: mine\nencoders:\n  mbert:\n    folder: {folder}/encoder\n{more}")
    files = papers.files([ROOT / "config/demo.yaml", mine], ROOT)
    return WorkflowPlan(papers.read_config({}, files, CODES), LANGUAGES, {}, ROOT), files


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """Without papers, whose files take longer to read than an encoder."""
    return planned(tmp_path_factory.mktemp("start"), "papers: []\n")


def sentence(start: Start, *targets: str) -> str:
    """What a start says of a plan, with lines; empty if it says nothing."""
    plan, files = start
    try:
        check_files(plan)
        check_needs(plan, targets or ["no artifact"])
    except DataError as error:
        return str(with_lines(error, files)).replace(f"{files[-1].parent}/", "")
    return ""


def configured(**changes: Any) -> Change:
    """Other values in config.json; none removes a key."""

    def change(folder: Path) -> None:
        values = json.loads((folder / CONFIG).read_text()) | changes
        values = {key: value for key, value in values.items() if value is not None}
        (folder / CONFIG).write_text(json.dumps(values))

    return change


def weighted(change: Callable[[dict[str, torch.Tensor]], Any], **changes: Any) -> Change:
    """Other weights, and values in config.json."""

    def apply(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)
        configured(**changes)(folder)

    return apply


def tokenized(change: Callable[[dict[str, Any]], Any]) -> Change:
    """Another tokenizer.json."""

    def apply(folder: Path) -> None:
        path = folder / "tokenizer.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return apply


def written(name: str, content: str | bytes) -> Change:
    """Another content of a file."""
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def cut(name: str) -> Change:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def renamed(old: str, new: str) -> Change:
    return lambda folder: (folder / old).rename(folder / new)


def without(*names: str) -> Change:
    return lambda folder: [(folder / name).unlink() for name in names]


def with_vocabulary(change: Callable[[list[str]], list[str]]) -> Change:
    """Only vocab.txt, with other lines."""

    def apply(folder: Path) -> None:
        (folder / "tokenizer.json").unlink()
        lines = (folder / "vocab.txt").read_text().splitlines()
        (folder / "vocab.txt").write_text("".join(f"{line}\n" for line in change(lines)))

    return apply


def with_unigram(folder: Path) -> None:
    """Only the SentencePiece model of a small vocabulary."""
    without(*TOKENIZER)(folder)
    SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sees a dog , dogs see cats"] * 20),
        model_prefix=str(folder / "sentencepiece.bpe"),
        vocab_size=30,
        hard_vocab_limit=False,
        minloglevel=2,
    )


def sharded(change: Change = lambda folder: None) -> Change:
    """Weights in several files and their index."""

    def apply(folder: Path) -> None:
        model: PreTrainedModel = AutoModel.from_pretrained(folder)
        (folder / WEIGHTS).unlink()
        model.save_pretrained(folder, max_shard_size="300KB")
        change(folder)

    return apply


def moved_into(name: str) -> Change:
    """All files in a folder within the folder."""

    def apply(folder: Path) -> None:
        inner = folder / name
        inner.mkdir(parents=True)
        for path in [path for path in folder.iterdir() if path.is_file()]:
            path.rename(inner / path.name)

    return apply


def in_a_link_to_nothing(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / WEIGHTS).symlink_to("../../blobs/abc")


def as_a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("x")


def no_unknown(content: dict[str, Any]) -> None:
    content["model"]["unk_token"] = "[NONE]"


def five_subwords(content: dict[str, Any]) -> None:
    few = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    content["model"]["vocab"] = {word: number for number, word in enumerate(few)}


BAD: dict[str, tuple[str, Change, str]] = {
    # what is wrong: the encoder's kind, its change, and what the sentence says
    "a file": ("bert", as_a_file, "encoder: this is a file; correct the path"),
    "nothing in it": ("bert", without(CONFIG, WEIGHTS, *TOKENIZER), f"{CONFIG}: .* lacks this"),
    "of sentence-transformers": (
        "bert",
        moved_into("0_Transformer"),
        "lacks this file; did you mean encoder/0_Transformer",
    ),
    "of a hub's cache": ("bert", moved_into("snapshots/abc"), "did you mean encoder/snapshots/abc"),
    # config.json
    "config: cut": ("bert", cut(CONFIG), f"{CONFIG}: not readable as JSON"),
    "config: a list": ("bert", written(CONFIG, "[]"), f"{CONFIG}: not a mapping of keys"),
    "config: Latin-1": ("bert", written(CONFIG, b'{"a": "\xe9"}'), f"{CONFIG}: not readable"),
    "config: a pointer": ("bert", written(CONFIG, POINTER), f"{CONFIG}: it is a Git LFS pointer"),
    "config: no kind": ("bert", configured(model_type=None), "model_type: the key is missing; tak"),
    "config: a mapping as kind": ("bert", configured(model_type={"a": 1}), "{'a': 1} is no family"),
    "config: no layers": ("distilbert", configured(n_layers=None), "layers: None is no positive"),
    "config: a text": ("bert", configured(hidden_size="8"), "hidden_size: '8' is no positive numb"),
    "config: a layer fewer": ("distilbert", configured(n_layers=3), "n_layers: 4 layers, .*tes 3"),
    "config: a layer more": ("bert", configured(num_hidden_layers=5), "4 layers, but .*states 5"),
    "config: another width": ("bert", configured(hidden_size=16), "12000 x 8, .*es 12000 x 16"),
    "config: inner width": (
        "bert",
        configured(intermediate_size=32),
        "weight encoder.layer.0.intermediate.dense.*: 16.*, but by config.json 32",
    ),
    "config: more positions": (
        "bert",
        configured(max_position_embeddings=514),
        "weight embeddings.position_embeddings.weight: 130 x 8, but by config.json 514 x 8",
    ),
    "config: positions as a text": (
        "bert",
        configured(max_position_embeddings="130"),
        "it cannot be opened .*max_position_embeddings",
    ),
    "config: a function": ("distilbert", configured(activation="geluu"), "cannot be .*geluu"),
    # kinds of models
    "GPT-2": (
        "bert",
        configured(model_type="gpt2", architectures=["GPT2LMHeadModel"]),
        "'gpt2' is not supported: it is a decoder.*take an encoder of bert, ",
    ),
    "Qwen": (
        "bert",
        configured(model_type="qwen3", architectures=["Qwen3ForCausalLM"]),
        "'qwen3' is not supported: it is a decoder",
    ),
    "a BERT that is a decoder": ("bert", configured(is_decoder=True), "'bert' .*: it is a decoder"),
    "mT5": (
        "bert",
        configured(model_type="mt5", is_encoder_decoder=True),
        "'mt5' is not supported: it is an encoder with a decoder",
    ),
    "ALBERT": ("bert", configured(model_type="albert"), "'albert' .*layers are one set of weights"),
    "CANINE": ("bert", configured(model_type="canine"), "'canine' .*it reads characters"),
    "XLM": ("bert", configured(model_type="xlm"), "'xlm' .*are separate lists"),
    "code": ("bert", configured(model_type="new"), "'new' .*made of code in its repository; take"),
    "ELECTRA": ("bert", configured(model_type="electra"), "'electra' .*has not been compared"),
    # weights
    "weights: pickled": ("bert", renamed(WEIGHTS, "pytorch_model.bin"), "are pickled.*convert the"),
    "weights: TensorFlow's": ("bert", renamed(WEIGHTS, "tf_model.h5"), "of another library; save"),
    "weights: an adapter": (
        "bert",
        renamed(WEIGHTS, "adapter_model.safetensors"),
        "this is an adapter without its encoder; merge it into the encoder",
    ),
    "weights: another name": ("bert", renamed(WEIGHTS, "bert.safetensors"), "rename this file"),
    "weights: cut": ("distilbert", cut(WEIGHTS), f"{WEIGHTS}: not a whole safetensors file"),
    "weights: empty": ("bert", written(WEIGHTS, b""), f"{WEIGHTS}: the file is empty; fetch"),
    "weights: a pointer": (
        "bert",
        written(WEIGHTS, POINTER),
        f"{WEIGHTS}: it is a Git LFS pointer",
    ),
    "weights: a link": ("bert", in_a_link_to_nothing, "a link to ../../blobs/abc, which is not th"),
    "weights: one is missing": (
        "bert",
        weighted(lambda tensors: tensors.pop("encoder.layer.2.output.dense.weight")),
        "weight encoder.layer.2.output.dense.weight: config.json needs it, and it is missing; fet",
    ),
    "weights: no words": (
        "distilbert",
        weighted(lambda tensors: tensors.pop("embeddings.word_embeddings.weight")),
        "weight embeddings.word_embeddings.weight: config.json needs it, and it is missing; fetch",
    ),
    "weights: other names": (
        "bert",
        weighted(lambda it: [it.update({f"module.{key}": it.pop(key)}) for key in list(it)]),
        "it is missing, and so are 68 more",
    ),
    "weights: not finite": (
        "bert",
        weighted(lambda it: it["encoder.layer.0.output.dense.bias"].fill_(float("nan"))),
        "weight encoder.layer.0.output.dense.bias: not all of its numbers are finite",
    ),
    "weights: quantised": (
        "bert",
        weighted(
            lambda it: it.update({key: it[key].to(torch.int8) for key in it if ".dense." in key})
        ),
        r"dense.*: quantised weights \(I8\) are not read; save them as floating-point numbers",
    ),
    "weights: of DistilBERT": (
        "distilbert",
        configured(**USUAL, model_type="bert"),
        "missing, and",
    ),
    "weights: fewer words": (
        "bert",
        weighted(
            lambda it: it.update({key: it[key][:9000].clone() for key in it if ".word_" in key}),
            vocab_size=9000,
        ),
        "tokenizer.json, vocabulary: it has 12000 subwords, but the encoder 9000; restore the",
    ),
    "shards: one is missing": (
        "bert",
        sharded(lambda folder: sorted(folder.glob("model-*"))[1].unlink()),
        r"model-00002-of-0000\d.safetensors: the encoder folder lacks this file; fetch",
    ),
    "shards: one is cut": (
        "bert",
        sharded(
            lambda folder: cut(sorted(path.name for path in folder.glob("model-*"))[0])(folder)
        ),
        r"model-00001-of-0000\d.safetensors: not a whole safetensors file",
    ),
    "shards: no index": (
        "bert",
        sharded(without(f"{WEIGHTS}.index.json")),
        f"no {WEIGHTS}.index.json lists the parts; get it, too",
    ),
    "shards: an empty index": (
        "bert",
        sharded(written(f"{WEIGHTS}.index.json", '{"weight_map": {}}')),
        f"{WEIGHTS}.index.json, key weight_map: not a mapping from weights to files",
    ),
    # tokenizers
    "tokenizer: none": ("bert", without(*TOKENIZER), "there is no tokenizer.json or vocab.txt or "),
    "tokenizer: cut": ("bert", cut("tokenizer.json"), "tokenizer.json: not readable as JSON"),
    "tokenizer: no model": ("bert", written("tokenizer.json", "{}"), "not a tokenizer .*fetch or "),
    "tokenizer: a page": (
        "bert",
        written("tokenizer.json", PAGE),
        "n: it is an HTML page, not the",
    ),
    "tokenizer: settings": (
        "bert",
        written("tokenizer_config.json", "{'a'}"),
        "config.json: not r",
    ),
    "tokenizer: five subwords": (
        "bert",
        tokenized(five_subwords),
        "it has only 5 subwords of the encoder's 12000; restore the encoder's tokenizer, or save",
    ),
    "tokenizer: a subword more": (
        "distilbert",
        tokenized(lambda it: it["model"]["vocab"].update(more=WORDS)),
        "it has 12001 subwords, but the encoder 12000; restore",
    ),
    "tokenizer: a high number": (
        "bert",
        tokenized(lambda it: it["model"]["vocab"].update({list(it["model"]["vocab"])[-1]: 99_999})),
        "the last of its 12000 subwords has the number 99999; number them below 12000",
    ),
    "tokenizer: no [UNK]": ("bert", tokenized(no_unknown), "it can't split unknown characters"),
    "tokenizer: no frame": (
        "bert",
        tokenized(lambda it: it.update(post_processor=None)),
        "it adds 0 tokens to a text, not one at each end as .*take a revision",
    ),
    "vocabulary: cut": (
        "distilbert",
        with_vocabulary(lambda lines: lines[:5000]),
        "encoder/vocab.txt, vocabulary: it has only 5000 subwords of the encoder's 12000",
    ),
    "vocabulary: longer": (
        "distilbert",
        with_vocabulary(lambda lines: [*lines, "x1", "x2"]),
        "encoder/vocab.txt, vocabulary: it has 12002 subwords, but the encoder 12000",
    ),
    "vocabulary: a page": (
        "bert",
        lambda folder: [without("tokenizer.json")(folder), written("vocab.txt", PAGE)(folder)],
        "encoder, vocab.txt: it is an HTML page, not the data",
    ),
    "SentencePiece: small": (
        "xlm-roberta",
        with_unigram,
        "sentencepiece.bpe.model, vocabulary: it has only .* subwords of the encoder's 12000; res",
    ),
    "SentencePiece: no model": (
        "xlm-roberta",
        lambda folder: [without(*TOKENIZER)(folder), written("x.model", b"x" * 99)(folder)],
        "encoder/x.model: not a SentencePiece model; get the encoder's tokenizer again",
    ),
    "merges alone": (
        "xlm-roberta",
        lambda folder: [without(*TOKENIZER)(folder), written("merges.txt", "a b\n")(folder)],
        "merges.txt, vocabulary: it has only|its tokenizer can't be opened",
    ),
}
GOOD: dict[str, tuple[str, Change]] = {
    # what docs/own-data.md promises
    "BERT": ("bert", lambda folder: None),
    "DistilBERT": ("distilbert", lambda folder: None),
    "vocab.txt alone": ("distilbert", without("tokenizer.json")),
    "shards": ("xlm-roberta", sharded()),
    "padded embeddings": (
        "bert",
        weighted(
            lambda it: it.update(
                {key: torch.zeros(WORDS + 32, 8) for key in it if ".word_" in key}
            ),
            vocab_size=WORDS + 32,
        ),
    ),
    "half precision": ("bert", weighted(lambda it: it.update({k: it[k].half() for k in it}))),
}


def put(kind: str, change: Change, encoders: Path, files: list[Path]) -> Path:
    """Put an encoder with a change where the config names it."""
    folder = files[-1].parent / "encoder"
    folder.unlink() if folder.is_file() else shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(encoders / kind, folder)
    change(folder)
    return folder


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened here: another process would import torch again."""
    monkeypatch.setattr("workflow.files.check_opening", require_opening)


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_one_sentence(
    case: str, encoders: Path, start: Start, in_process: None
) -> None:
    kind, change, essence = BAD[case]
    put(kind, change, encoders, start[1])
    said = sentence(start)
    assert said.startswith("mine.yaml, line 4, key encoders.mbert.folder: encoder"), said
    assert re.search(essence, said), said
    assert "\n" not in said
    assert said.endswith((".", "?"))


@pytest.mark.parametrize("case", GOOD)
def test_what_the_page_promises(case: str, encoders: Path, start: Start, in_process: None) -> None:
    kind, change = GOOD[case]
    put(kind, change, encoders, start[1])
    assert sentence(start) == ""


def test_texts_that_are_longer_than_the_encoder_takes(
    encoders: Path, tmp_path: Path, in_process: None
) -> None:
    """Those of tasks and those whose states are read, also behind measurements of measurements."""

    def shorten(tensors: dict[str, torch.Tensor]) -> None:
        key = "embeddings.position_embeddings.weight"
        tensors[key] = tensors[key][:32].clone()

    start = planned(tmp_path)
    put("bert", weighted(shorten, max_position_embeddings=32), encoders, start[1])
    said = sentence(start, "all")
    for encoding in ("words-with-tags", "words-with-entities", "parallel-texts", "questions"):
        assert re.search(rf"encodings.{encoding}.max_length: .* 'mbert' takes 32; write 32", said)


def test_a_folder_is_opened_once_in_another_process(
    encoders: Path, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = put("bert", without("tokenizer.json"), encoders, start[1])
    check_opening(folder)
    assert str(folder) in OPENED.read_text()
    monkeypatch.setattr("subprocess.run", None)
    check_opening(folder)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    put("bert", with_vocabulary(lambda lines: lines[:99]), encoders, start[1])
    with pytest.raises(DataError, match=r"encoder/vocab.txt, vocabulary: it has only 99 subwords"):
        check_opening(folder)
