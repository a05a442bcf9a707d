"""Windows, targets, the loss, n-best decoding and training of question answering."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import finetuned, finetuning_job, make_encoder, make_tokenizer
from transformers import BertForQuestionAnswering

from mbert_atlas import encoding, tasks
from mbert_atlas.analysis.answers import score_answers
from mbert_atlas.arrays import Ragged, TokenStore, load_arrays
from mbert_atlas.config.training import HeadOptions, Optimisation
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer
from mbert_atlas.encoders.wordpiece import SPECIAL_TOKENS, write_tokenizer
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_parquet
from mbert_atlas.schemas import QA_EXAMPLES, SPAN_PREDICTIONS
from mbert_atlas.tasks import load_model
from mbert_atlas.tasks.base import EncoderWithHead
from mbert_atlas.tasks.qa import SpanCrossEntropy, best_spans
from mbert_atlas.training.prediction import predict

TASK = tasks.get("qa")
LETTERS = "abcéижщкाि्हनद"  # Latin, Cyrillic, Devanagari with its signs
MIRROR = os.environ.get("MBERT_ATLAS_MIRROR")


def qa_table(rows: list[tuple], language: str = "en") -> pa.Table:
    """Rows are context, question, answers and their offsets; without offsets the first place."""
    count = len(rows)
    starts = [
        row[3] if len(row) > 3 else [row[0].index(answer) for answer in row[2]] for row in rows
    ]
    return pa.table(
        {
            "id": [f"q{number}" for number in range(count)],
            "language": [language] * count,
            "question_language": ["en" if number % 2 else "hi" for number in range(count)],
            "split": ["train"] * count,
            "context": [row[0] for row in rows],
            "question": [row[1] for row in rows],
            "answer_text": [row[2] for row in rows],
            "answer_start": starts,
        },
        schema=QA_EXAMPLES,
    )


@pytest.fixture(scope="module")
def tokenizer_dir(tmp_path_factory) -> Path:
    """Every letter of LETTERS is a subword, alone and inside a word, and some pairs are."""
    folder = tmp_path_factory.mktemp("letters")
    subwords = [
        *LETTERS,
        *(f"##{letter}" for letter in LETTERS),
        "ab",
        "##жщ",
        "हि",
        "你",
        ",",
        "-",
    ]
    write_tokenizer([*SPECIAL_TOKENS, *subwords], folder / "tokenizer")
    return folder / "tokenizer"


def encode(table: pa.Table, tokenizer: Path, output: Path, **options) -> TokenStore:
    encoding.encode("qa", table, tokenizer, output, **{"max_length": 384, **options})
    return load_arrays(output)


def flat(rows: list[np.ndarray]) -> Ragged:
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Ragged(np.concatenate(rows).astype(np.float32), offsets)


def logits_at_gold(store: TokenStore) -> Ragged:
    """Logits of a model that knows the targets, and is sure of nothing where [CLS] is one."""
    rows = []
    random = np.random.default_rng(0)
    for length, target in zip(
        store.ragged("input_ids").lengths, store.dense("labels"), strict=True
    ):
        logits = random.uniform(-2, -1, (length, 2))
        if target[0]:
            logits[target, [0, 1]] = 5
        logits[0] = 9  # [CLS] never is an answer
        rows.append(logits)
    return flat(rows)


def decode(store: TokenStore, outputs: Ragged, rows: np.ndarray | None = None) -> list[dict]:
    table = TASK.decode(TASK.examples(store, rows), outputs, "xquad")
    assert table.schema.equals(SPAN_PREDICTIONS)
    return table.to_pylist()


# Windows and targets

WORDS = st.text(LETTERS + "ß你,", min_size=1, max_size=5)  # ß makes a word unknown
CASES = st.lists(
    st.tuples(st.lists(WORDS, min_size=1, max_size=25), st.data(), st.sampled_from(["  ", " "])),
    min_size=1,
    max_size=3,
)


def make_case(words: list[str], data, gap: str) -> tuple:
    """A context, a question and an answer of some neighbouring words."""
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, min(first + 3, len(words) - 1)))
    begin = len(gap.join([*words[:first], ""]))
    answer = gap.join(words[first : last + 1])
    question = " ".join(data.draw(st.lists(WORDS, max_size=2)))
    return gap.join(words), question, [answer, "another"], [begin, 0]


@settings(max_examples=80, deadline=None)
@given(CASES, st.integers(4, 12))
def test_what_points_at_the_answer_is_decoded_as_the_answer(
    tmp_path_factory, tokenizer_dir, cases, doc_stride
):
    rows = [make_case(*case) for case in cases]
    tokenizer = load_tokenizer(tokenizer_dir)
    store = encode(
        qa_table(rows),
        tokenizer_dir,
        tmp_path_factory.mktemp("qa") / "s",
        max_length=32,
        doc_stride=doc_stride,
    )
    example, first = store.dense("example"), store.dense("first_piece")
    ids, begins = store.ragged("input_ids"), store.dense("segment_start")
    labels = store.dense("labels")
    found = decode(store, logits_at_gold(store))
    lost = 0
    for number, (context, _, answers, starts) in enumerate(rows):
        encoded = tokenizer(context, add_special_tokens=False, return_offsets_mapping=True)
        touched = [
            place
            for place, (a, b) in enumerate(encoded["offset_mapping"])
            if a < starts[0] + len(answers[0]) and b > starts[0]
        ]
        windows = np.flatnonzero(example == number)
        seen = []
        for window in windows:
            subwords = ids[window][begins[window] : -1]
            here = range(first[window], first[window] + len(subwords))
            assert subwords.tolist() == encoded["input_ids"][here.start : here.stop]
            assert len(ids[window]) <= 32
            seen += here
            whole = {touched[0], touched[-1]} <= set(here)
            expected = [place - here.start + begins[window] for place in touched]
            assert labels[window].tolist() == ([expected[0], expected[-1]] if whole else [0, 0])
        assert set(seen) == set(range(len(encoded["input_ids"])))  # each subword is in a window
        steps = np.diff(first[windows])
        room = 32 - 1 - begins[windows[0]]
        assert (steps == room - doc_stride).all()
        if labels[windows].any():
            assert found[number]["prediction"] == answers[0]
        else:
            lost += 1
        assert found[number]["gold"] == answers
        assert found[number]["example_id"] == f"q{number}"
        assert found[number]["question_language"] == ("en" if number % 2 else "hi")
    assert store.meta["dropped"].get("answer_in_no_window", 0) == lost


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_windows_equal_the_tokenizers_own(tmp_path_factory, tokenizer_dir, cases):
    rows = [make_case(*case) for case in cases]
    folder = tmp_path_factory.mktemp("qa") / "s"
    store = encode(qa_table(rows), tokenizer_dir, folder, max_length=32, doc_stride=6)
    expected = load_tokenizer(tokenizer_dir)(
        [row[1] for row in rows],
        [row[0] for row in rows],
        truncation="only_second",
        max_length=32,
        stride=6,
        return_overflowing_tokens=True,
        return_token_type_ids=True,
        padding=True,
        return_tensors="pt",
    )
    examples = TASK.examples(store)
    batch = examples.collate(np.arange(len(examples.lengths)))
    for name in ("input_ids", "token_type_ids"):
        assert torch.equal(batch[name], expected[name])
    assert torch.equal(batch["attention_mask"].long(), expected["attention_mask"])
    assert store.dense("example").tolist() == expected["overflow_to_sample_mapping"].tolist()
    inside = expected["attention_mask"].flatten().nonzero().squeeze(1)
    assert torch.equal(batch["positions"], inside)
    assert examples.label_counts.tolist() == examples.lengths.tolist()


def test_an_answer_that_a_window_cuts_is_no_target_there(tmp_path, tokenizer_dir):
    context = "a b c é a b c é a b"  # ten subwords
    rows = [(context, "a", ["c é a b"], [4])]  # subwords 2 to 5
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=10, doc_stride=3)
    assert store.dense("first_piece").tolist() == [0, 3, 6]  # six subwords each, three shared
    assert store.dense("labels").tolist() == [[5, 8], [0, 0], [0, 0]]
    (row,) = decode(store, logits_at_gold(store))
    assert row["prediction"] == "c é a b"
    short = encode(qa_table(rows), tokenizer_dir, tmp_path / "short", max_length=7, doc_stride=2)
    assert not short.dense("labels").any()
    assert short.meta["dropped"] == {"answer_in_no_window": 1}


def test_answers_inside_words_widen_to_subwords(tmp_path, tokenizer_dir):
    rows = [
        ("c abк", "a", ["к"], [4]),
        ("c abк", "a", ["bк"], [3]),  # begins within the subword 'ab'
        ("c abк", "a", [" ab"], [1]),  # begins at a space
        ("c ßк", "a", ["к"], [3]),  # within an unknown word
    ]
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=16, doc_stride=4)
    assert store.dense("labels").tolist() == [[5, 5], [4, 5], [4, 4], [4, 4]]
    found = [row["prediction"] for row in decode(store, logits_at_gold(store))]
    assert found == ["к", "abк", "ab", "ßк"]


def test_contexts_without_an_answer(tmp_path, tokenizer_dir):
    rows = [
        ("a b c", "a", [], []),
        ("a b \u200b", "a", ["\u200b"]),  # no subword
        ("\u200b", "a", ["\u200b"]),  # no context
        ("a ß", "a", ["a"]),
    ]
    table = qa_table(rows)
    store = encode(table, tokenizer_dir, tmp_path / "s", max_length=16, doc_stride=4)
    assert store.dense("labels")[:2].tolist() == [[0, 0]] * 2
    assert store.meta["dropped"] == {"answer_without_pieces": 1, "context_without_pieces": 1}
    found = decode(store, logits_at_gold(store))
    assert [row["example_id"] for row in found] == ["q0", "q1", "q3"]
    assert [row["gold"] for row in found] == [[], ["\u200b"], ["a"]]
    assert all(row["prediction"] for row in found)
    known = encode(
        table, tokenizer_dir, tmp_path / "k", max_length=16, doc_stride=4, drop_unknown=True
    )
    assert known.meta["dropped"]["question_with_unknown_piece"] == 1
    first = encode(table.slice(0, 1), tokenizer_dir, tmp_path / "u", max_length=16, doc_stride=4)
    assert decode(first, logits_at_gold(first))[0]["gold"] == []


def test_long_questions_are_cut_for_the_context(tmp_path, tokenizer_dir):
    rows = [("a b c", "a " * 50, ["b"])]
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=16, doc_stride=4)
    assert store.dense("segment_start").tolist() == [16 - 4 - 4 + 2]
    assert store.meta["dropped"] == {"question_cut": 1}
    assert decode(store, logits_at_gold(store))[0]["prediction"] == "b"


def test_bad_input_is_named(tmp_path, tokenizer_dir):
    good, where = qa_table([("a b", "a", ["b"])]), (tokenizer_dir, tmp_path / "s")
    with pytest.raises(DataError, match="column context: missing"):
        encode(good.drop_columns("context"), *where)
    with pytest.raises(DataError, match="none of 1 examples is left"):
        encode(qa_table([("ß", "a", ["ß"])]), *where, drop_unknown=True)
    with pytest.raises(AtlasError, match="no space for the question"):
        encode(good, *where, max_length=132)
    assert not (tmp_path / "s").exists()


# Decoding


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2, 5), st.integers(0, 12)), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_the_best_span_equals_brute_force(windows, n_best, longest, seed, ties):
    random = np.random.default_rng(seed)
    rows = [random.normal(size=(before + context + 1, 2)) for before, context in windows]
    rows = [np.round(row) if ties else row for row in rows]
    outputs = flat(rows)
    begin = np.array([before for before, _ in windows])
    scores, spans = best_spans(outputs, begin, n_best=n_best, max_answer_length=longest)
    for number, (before, context) in enumerate(windows):
        logits = outputs[number]
        ranked = [
            sorted(range(before + context + 1), key=lambda i, k=side: (-logits[i, k], i))
            for side in (0, 1)
        ]
        candidates = [
            (logits[s, 0] + logits[e, 1], s, e)
            for s in ranked[0][:n_best]
            for e in ranked[1][:n_best]
            if before <= s <= e < min(s + longest, before + context)
        ]
        if not candidates:
            assert (scores[number], *spans[number]) == (-np.inf, before, before)
        else:
            best = max(candidates, key=lambda candidate: candidate[0])  # the first of equals
            assert (scores[number], *spans[number]) == best


def test_the_best_window_of_a_question_wins(tmp_path, tokenizer_dir):
    context = " ".join("abcabcabcabcabcab")
    rows = [(context, "a", ["b"]), ("b c", "a", ["b"]), (context, "b", ["b"])]
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=10, doc_stride=2)
    example = store.dense("example")
    windows = np.flatnonzero(example == 0)
    assert len(windows) == 4
    assert (example == 2).sum() == 4
    logits = [np.zeros((length, 2)) for length in store.ragged("input_ids").lengths]
    place = {0: 4, 1: 5, 2: 6, 3: 5}
    for number, window in enumerate(windows):
        logits[window][place[number], 0] = logits[window][place[number] + 1, 1] = 1 + number % 3
    found = decode(store, flat(logits))
    start = (4 * 2 + 6 - 3) * 2  # third window
    assert found[0]["prediction"] == context[start : start + 3]
    assert found[2]["prediction"] == "a"  # all zero: the first subword of the first window

    # Some windows only, in any order: questions come in the order of the table.
    kept = np.array([len(example) - 1, windows[3], windows[1]])
    part = decode(store, flat([logits[window] for window in kept]), kept)
    assert [row["example_id"] for row in part] == ["q0", "q2"]
    start = (4 + 5 - 3) * 2
    assert part[0]["prediction"] == context[start : start + 3]

    # No start comes before an end within the 20 best of each: there is no answer.
    single = decode(store, flat([np.full_like(row, -np.inf) for row in logits]))
    assert [row["prediction"] for row in single] == ["", "", ""]


# The loss


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, tokenizer_dir) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    return make_encoder(folder, tokenizer_dir, vocabulary=len(load_tokenizer(tokenizer_dir)))


def test_loss_and_logits_equal_transformers(tmp_path, tokenizer_dir, encoder):
    context = " ".join("abcabcabcabcab")
    rows = [(context, "a", ["c a"]), (context, "b a", ["b"]), ("a b c", "c", ["c"])]
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=12, doc_stride=4)
    examples = TASK.examples(store)
    model = EncoderWithHead(load_encoder(encoder), 2, TASK, HeadOptions()).eval()
    other = BertForQuestionAnswering(model.encoder.config).eval()
    other.bert.load_state_dict(model.encoder.state_dict(), strict=False)
    other.qa_outputs.load_state_dict(model.head.state_dict())
    objective = TASK.objective()

    def theirs(indices):
        batch = examples.collate(indices)
        starts, ends = batch.pop("labels").T
        positions = batch.pop("positions")
        return other(**batch, start_positions=starts, end_positions=ends), positions

    full = np.flatnonzero(examples.lengths == 12)  # no padding, which transformers chooses from
    assert len(full) >= 4
    assert store.dense("labels")[full].any(axis=1).sum() >= 2
    batch = examples.collate(full)
    expected, _ = theirs(full)
    loss = objective.loss(model, batch, objective.weight(batch))
    assert objective.weight(batch) == len(full)
    torch.testing.assert_close(loss, expected.loss, rtol=1e-6, atol=1e-6)

    every = np.arange(len(examples.lengths))
    batch = examples.collate(every)
    assert not batch["attention_mask"].all()
    expected, positions = theirs(every)
    logits = torch.stack([expected.start_logits, expected.end_logits], -1).flatten(0, 1)
    torch.testing.assert_close(TASK.forward(model, batch), logits[positions], rtol=1e-5, atol=1e-6)
    loss = objective.loss(model, batch, objective.weight(batch))
    one_by_one = torch.stack([theirs(every[[n]])[0].loss for n in every]).mean()
    torch.testing.assert_close(loss, one_by_one, rtol=1e-5, atol=1e-6)
    loss.backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_the_loss_is_in_fp32_under_bf16(tmp_path, tokenizer_dir, encoder):
    rows = [(" ".join("abcabc"), "a", ["c"])]
    store = encode(qa_table(rows), tokenizer_dir, tmp_path / "s", max_length=16, doc_stride=4)
    model = EncoderWithHead(load_encoder(encoder), 2, TASK, HeadOptions())
    batch = TASK.examples(store).collate(np.arange(1))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(batch).dtype == torch.bfloat16
        assert TASK.forward(model, batch).dtype == torch.float32
        loss = SpanCrossEntropy().loss(model, batch, 1.0)
    assert loss.dtype == torch.float32
    loss.backward()
    assert model.head.weight.grad.isfinite().all()


# Training


def toy_rows(count: int) -> list[tuple]:
    """Contexts with one animal and a Chinese greeting; the question is which of them."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(count):
        words = list(random.choice(["the", "a", "b", ",", "sees", "-"], random.integers(4, 22)))
        cat, greeting = sorted(random.choice(len(words) - 1, 2, replace=False))
        words[cat] = str(random.choice(["cat", "dog"]))
        words[greeting] = "你好"
        question, answer = [("sees", words[cat]), ("好", "你好")][number % 2]
        rows.append((" ".join(words), question, [answer]))
    return rows


def test_finetuning_learns_to_answer(tmp_path):
    tokenizer = make_tokenizer(tmp_path)
    encode(qa_table(toy_rows(60)), tokenizer, tmp_path / "train", max_length=20, doc_stride=6)
    make_encoder(tmp_path, tokenizer, dropout=0.0)
    settings = Optimisation(learning_rate=5e-3, batch_size=8, epochs=30, token_budget=96)
    log = finetuned(finetuning_job(tmp_path, "qa", "train", optimisation=settings))
    store = load_arrays(tmp_path / "train")
    assert log.examples == 30 * len(store.dense("example")) > 30 * 60  # windows
    table = read_parquet(tmp_path / "predictions.parquet", SPAN_PREDICTIONS)
    assert table["example_id"].to_pylist() == [f"q{number}" for number in range(60)]
    exact, languages = score_answers(table)["exact_match"], np.array(table["question_language"])
    assert set(languages) == {"en", "hi"}
    assert all(exact[languages == language].mean() > 0.9 for language in ("en", "hi"))

    model, labels = load_model(tmp_path / "model")
    assert labels == ["start", "end"]
    examples = TASK.examples(store)
    outputs = predict(model, examples, TASK.forward, description="p", token_budget=96)
    assert outputs.values.shape == (examples.lengths.sum(), 2)
    assert TASK.decode(examples, outputs, "test").equals(table)


@pytest.mark.skipif(not MIRROR, reason="MBERT_ATLAS_MIRROR is not set")
@pytest.mark.parametrize("language", ["en", "es", "ru", "vi", "hi"])
def test_the_answers_of_xquad_are_spans_of_subwords(tmp_path, language):
    vocabulary = Path(MIRROR) / "mbert-vocab" / "vocab.txt"
    write_tokenizer(vocabulary.read_text("utf-8").rstrip("\n").split("\n"), tmp_path / "tokenizer")
    text = (Path(MIRROR) / "xquad" / f"xquad.{language}.json").read_text("utf-8")
    rows = [
        (
            paragraph["context"],
            question["question"],
            [answer["text"] for answer in question["answers"]],
            [answer["answer_start"] for answer in question["answers"]],
        )
        for article in json.loads(text)["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    assert len(rows) == 1190
    store = encode(qa_table(rows, language), tmp_path / "tokenizer", tmp_path / "s")
    found = TASK.decode(TASK.examples(store), logits_at_gold(store), "xquad")
    scores = score_answers(found)
    assert found.num_rows == 1190
    assert not store.meta["dropped"]
    assert scores["exact_match"].mean() > 0.97  # what words cut by an answer cost at most
    assert scores["f1"].mean() > 0.98
