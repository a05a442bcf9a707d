"""Encodings without transformers give what its tokenizers give; their jobs stay light."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tiny_models import NLI_LABELS, TAGS, make_tokenizer, nli_table, sentence_table, text_table
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

from mbert_atlas import tasks
from mbert_atlas.arrays import TokenStore, load_arrays
from mbert_atlas.encoders.loading import load_tokenizer
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.encoding import ENCODINGS, encode
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import QA_EXAMPLES
from mbert_atlas.tokenizer import open_tokenizer, special_id, tokenizer_digest

ROOT = Path(__file__).parents[2]
ODD = [
    "",
    "  ",
    "\u200b",  # no subword
    "??? the",
    "[SEP] cat [MASK]",
    "E\u0301é İ",
    "un-able,,dogs",
    "你好the",
    "x" * 150,  # a word beyond WordPiece's limit
    "\x00a\ufffd\u00adb",
    "हिन्दी",
    "the cat sees a dog , " * 30,
]


@pytest.fixture(scope="module", params=["tiny", "trained"])
def tokenizer_dir(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    if request.param == "tiny":
        return make_tokenizer(folder)
    train_wordpiece(ODD[3:] * 2, folder / "t", 300)
    return folder / "t"


def rows(store: TokenStore, name: str = "input_ids") -> list[list[int]]:
    ragged = store.ragged(name)
    return [ragged[row].tolist() for row in range(len(ragged))]


def test_every_task_has_an_encoding():
    assert set(ENCODINGS) == {*tasks.TASKS, "text"}  # which is for vectors alone


def test_special_subwords_equal_transformers(tmp_path, tokenizer_dir):
    expected, found = load_tokenizer(tokenizer_dir), open_tokenizer(tokenizer_dir)
    assert found.get_vocab_size() == len(expected)
    for special in ("unk", "pad", "cls", "sep"):
        number = special_id(found, f"[{special.upper()}]", tokenizer_dir)
        assert number == getattr(expected, f"{special}_token_id")
    names = ["<unk>", "<pad>", "<s>", "</s>"]
    other = Tokenizer(WordPiece({name: n for n, name in enumerate(names)}, unk_token="<unk>"))
    assert [special_id(other, p, "x") for p in ("[UNK]", "[PAD]", "[CLS]", "[SEP]")] == [0, 1, 2, 3]
    Tokenizer(WordPiece({"a": 0}, unk_token="a")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(DataError, match=r"tokenizer\.json.*neither \[PAD\] nor <pad>"):
        special_id(open_tokenizer(tmp_path), "[PAD]", tmp_path)


def test_unusable_tokenizers_are_named(tmp_path):
    for function in (open_tokenizer, tokenizer_digest):
        with pytest.raises(DataError, match=r"tokenizer\.json: no such file"):
            function(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="not a tokenizer"):
        open_tokenizer(tmp_path)


@pytest.mark.parametrize("max_length", [8, 128])
def test_odd_pairs_equal_transformers(tmp_path, tokenizer_dir, max_length):
    pairs = [(premise, hypothesis) for premise in ODD for hypothesis in ODD]
    table = nli_table(len(pairs))
    for number, name in ((3, "premise"), (4, "hypothesis")):
        table = table.set_column(number, name, pa.array([pair[number - 3] for pair in pairs]))
    options = {"labels": NLI_LABELS, "max_length": max_length}
    encode("nli", table, tokenizer_dir, tmp_path / "s", **options)
    store = load_arrays(tmp_path / "s")
    expected = load_tokenizer(tokenizer_dir)(
        *map(list, zip(*pairs, strict=True)),
        truncation="longest_first",
        max_length=max_length,
        return_token_type_ids=True,
    )
    assert rows(store) == expected["input_ids"]
    starts = [types.index(1) for types in expected["token_type_ids"]]
    assert store.dense("segment_start").tolist() == starts


def test_odd_texts_equal_transformers(tmp_path, tokenizer_dir):
    table = text_table(ODD, ["en"] * len(ODD))
    encode("language_identification", table, tokenizer_dir, tmp_path / "s", labels=["en"])
    expected = load_tokenizer(tokenizer_dir)(ODD, truncation="longest_first", max_length=128)
    assert rows(load_arrays(tmp_path / "s")) == expected["input_ids"]


def test_language_of_every_subword_that_begins_a_word(tmp_path, tokenizer_dir):
    table = text_table(["unable cats", "你好", "the 🜁", "a " * 40], ["en", "zh", "en", "en"])
    options = {"labels": ["en", "zh"], "max_length": 16, "drop_unknown": True}
    task = "language_identification"
    for unit in ("text", "token"):
        encode(task, table, tokenizer_dir, tmp_path / unit, unit=unit, **options)
    texts, tokens = (load_arrays(tmp_path / unit) for unit in ("text", "token"))
    assert rows(texts) == rows(tokens)
    assert texts.dense("labels").tolist() == [0, 1, 0]
    assert tokens.dense("split").tolist() == ["train"] * 3
    assert tokens.meta["options"]["unit"] == "token"
    subwords = load_tokenizer(tokenizer_dir).convert_ids_to_tokens
    labels = tokens.ragged("labels")
    for number, (ids, language) in enumerate(zip(rows(tokens), (0, 1, 0), strict=True)):
        unlabelled = [
            subword.startswith("##") or subword in ("[CLS]", "[SEP]") for subword in subwords(ids)
        ]
        assert labels[number].tolist() == [-100 if skip else language for skip in unlabelled]
    assert len(rows(tokens)[2]) == 16


@pytest.mark.parametrize("max_length", [8, 128])
def test_odd_words_equal_transformers(tmp_path, tokenizer_dir, max_length):
    sentences = [["the", word, "a", word] for word in ODD] + [ODD]
    tags = [[TAGS[place % 4] for place in range(len(words))] for words in sentences]
    table, options = sentence_table(sentences, tags), {"labels": TAGS, "max_length": max_length}
    encode("tagging", table, tokenizer_dir, tmp_path / "s", **options)
    store = load_arrays(tmp_path / "s")
    expected = load_tokenizer(tokenizer_dir)(
        sentences, is_split_into_words=True, truncation=True, max_length=max_length
    )
    assert rows(store) == expected["input_ids"]
    words = [expected.word_ids(row) for row in range(len(sentences))]
    assert rows(store, "words") == [[-1 if n is None else n for n in row] for row in words]


def test_odd_questions_equal_transformers(tmp_path, tokenizer_dir):
    contexts = [f"{text} the" for text in ODD]
    table = pa.table(
        {
            "id": [str(number) for number in range(len(ODD))],
            "language": ["en"] * len(ODD),
            "question_language": ["en"] * len(ODD),
            "split": ["train"] * len(ODD),
            "context": contexts,
            "question": [text[:40] for text in ODD],
            "answer_text": [["the"]] * len(ODD),
            "answer_start": [[len(text) - 3] for text in contexts],
        },
        schema=QA_EXAMPLES,
    )
    options = {"max_length": 64, "doc_stride": 8}
    encode("qa", table, tokenizer_dir, tmp_path / "s", **options)
    store = load_arrays(tmp_path / "s")
    tokenizer = load_tokenizer(tokenizer_dir)
    expected = tokenizer(
        table["question"].to_pylist(),
        contexts,
        truncation="only_second",
        max_length=64,
        stride=8,
        return_overflowing_tokens=True,
    )
    assert rows(store) == expected["input_ids"]
    subwords = tokenizer(contexts, add_special_tokens=False, return_offsets_mapping=True)
    order = list(dict.fromkeys(contexts))
    for text, offsets in zip(contexts, subwords["offset_mapping"], strict=True):
        for side, name in enumerate(("piece_begin", "piece_end")):
            found = store.ragged(name)[order.index(text)]
            assert found.tolist() == [pair[side] for pair in offsets]


def test_odd_pretraining_texts_equal_transformers(tmp_path, tokenizer_dir):
    encode_texts({"en": ODD}, tokenizer_dir, tmp_path / "s", max_length=2000)
    tokenizer = load_tokenizer(tokenizer_dir)
    assert rows(load_arrays(tmp_path / "s")) == [
        ids for ids in tokenizer(ODD)["input_ids"] if len(ids) > 2
    ]


# Jobs that run by the dozen and compute little must not spend seconds on importing torch; those
# that need it are listed, so that a new script is light or says that it is not.
NEED_TORCH = {
    "adjust",
    "classify_in_subspaces",
    "classify_shifted",
    "classify_with_static_vectors",
    "collect_vectors",
    "convert_encoder",
    "extend_encoder",
    "extract_features",
    "fetch_encoder",
    "finetune",
    "fit_head",
    "identify_languages",
    "language_means",
    "predict_masked",
    "pretrain",
    "probe_languages",
    "train_static_vectors",
    "translate_tokens",
    "word_pair_distances",
    "word_vectors",
}
# To write a tokenizer's files:
NEED_TRANSFORMERS = {"train_tokenizer"}
JOBS = {
    path.stem: ast.parse(path.read_text(encoding="utf-8"))
    for path in (ROOT / "workflow/scripts").rglob("*.py")
}


def imports(job: str) -> str:
    """Return all import statements of a rule's script."""
    nodes = (item for item in ast.walk(JOBS[job]) if isinstance(item, ast.Import | ast.ImportFrom))
    return "\n".join(map(ast.unparse, nodes))


def heavy_imports(jobs: set[str]) -> set[str]:
    """Return which heavy modules a process has that imports what all of these jobs do."""
    code = "\n".join([*map(imports, sorted(jobs)), "import sys", "print(*sys.modules)"])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {"torch", "transformers"} & set(done.stdout.split())


def test_light_jobs_import_no_torch():
    assert JOBS.keys() > NEED_TORCH | NEED_TRANSFORMERS
    light = JOBS.keys() - NEED_TORCH - NEED_TRANSFORMERS
    if heavy_imports(light):  # one process for all is quick; now find who it was
        assert {job for job in light if heavy_imports({job})} == set()
    assert heavy_imports(NEED_TRANSFORMERS) == {"transformers"}
