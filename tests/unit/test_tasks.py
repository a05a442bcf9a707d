"""Encoding examples, heads, decoding predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import (
    NLI_LABELS,
    TAGS,
    make_encoder,
    make_tokenizer,
    nli_table,
    sentence_table,
    text_table,
)
from transformers import BertForSequenceClassification, BertForTokenClassification

from mbert_atlas import tasks
from mbert_atlas.arrays import Ragged, load_arrays
from mbert_atlas.config.training import HeadOptions
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer
from mbert_atlas.encoders.wordpiece import write_tokenizer
from mbert_atlas.encoding import encode
from mbert_atlas.errors import DataError
from mbert_atlas.schemas import CLASS_PREDICTIONS, NLI_PAIRS, TAG_PREDICTIONS
from mbert_atlas.tasks.base import CrossEntropy, EncoderWithHead, save_model


@pytest.fixture(scope="module")
def tokenizer_dir(tmp_path_factory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory, tokenizer_dir) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder"), tokenizer_dir)


def all_rows(examples) -> np.ndarray:
    return np.arange(len(examples.lengths))


def test_tasks_by_name():
    assert tasks.get("tagging").unit == "token"


@pytest.mark.parametrize("segment_ids", [True, False])
def test_pairs_equal_the_tokenizers_own(tmp_path, tokenizer_dir, segment_ids):
    table, task = nli_table(30), tasks.get("nli")
    encode(
        "nli",
        table,
        tokenizer_dir,
        tmp_path / "s",
        labels=NLI_LABELS,
        max_length=12,
        segment_ids=segment_ids,
    )
    examples = task.examples(load_arrays(tmp_path / "s"))
    batch = examples.collate(all_rows(examples))
    expected = load_tokenizer(tokenizer_dir)(
        table["premise"].to_pylist(),
        table["hypothesis"].to_pylist(),
        truncation="longest_first",
        max_length=12,
        padding=True,
        return_token_type_ids=True,
        return_tensors="pt",
    )
    assert torch.equal(batch["input_ids"], expected["input_ids"])
    assert torch.equal(batch["attention_mask"].long(), expected["attention_mask"])
    if segment_ids:
        assert torch.equal(batch["token_type_ids"], expected["token_type_ids"])
    else:
        assert "token_type_ids" not in batch  # BERT takes zeros
    assert [NLI_LABELS[n] for n in batch["labels"]] == table["label"].to_pylist()
    assert examples.lengths.tolist() == expected["attention_mask"].sum(1).tolist()


def test_inference_equals_transformers(tmp_path, tokenizer_dir, encoder):
    table, task = nli_table(17), tasks.get("nli")
    encode("nli", table, tokenizer_dir, tmp_path / "s", labels=NLI_LABELS)
    examples = task.examples(load_arrays(tmp_path / "s"))
    model = EncoderWithHead(load_encoder(encoder), 3, task, HeadOptions()).eval()
    other = BertForSequenceClassification(model.encoder.config)
    other.num_labels, other.classifier = 3, torch.nn.Linear(16, 3)
    other.bert.load_state_dict(model.encoder.state_dict())
    other.classifier.load_state_dict(model.head.state_dict())
    other.eval()
    assert model.dropout.p == other.dropout.p
    batch = examples.collate(all_rows(examples))
    expected = other(**batch)
    torch.testing.assert_close(model(batch), expected.logits, rtol=1e-6, atol=1e-6)
    objective = CrossEntropy()
    loss = objective.loss(model, batch, objective.weight(batch))
    torch.testing.assert_close(loss, expected.loss, rtol=1e-6, atol=1e-6)


def test_tagging_equals_transformers(tmp_path, tokenizer_dir, encoder):
    table = sentence_table(
        [["the", "cats", "sees"], ["dog", ",", "unable", "b"]],
        [["DET", "NOUN", "VERB"], ["NOUN", "PUNCT", "DET", "NOUN"]],
    )
    task = tasks.get("tagging")
    encode("tagging", table, tokenizer_dir, tmp_path / "s", labels=TAGS)
    examples = task.examples(load_arrays(tmp_path / "s"))
    model = EncoderWithHead(load_encoder(encoder), 4, task, HeadOptions()).eval()
    other = BertForTokenClassification(model.encoder.config)
    other.num_labels, other.classifier = 4, torch.nn.Linear(16, 4)
    other.bert.load_state_dict(model.encoder.state_dict(), strict=False)
    other.classifier.load_state_dict(model.head.state_dict())
    other.eval()
    batch = examples.collate(np.array([1, 0]))
    labels = examples.labels.padded(np.array([1, 0]), -100)
    expected = other(
        batch["input_ids"], attention_mask=batch["attention_mask"], labels=torch.from_numpy(labels)
    )
    logits = expected.logits[torch.from_numpy(labels) != -100]
    torch.testing.assert_close(model(batch), logits, rtol=1e-6, atol=1e-6)
    objective = CrossEntropy()
    loss = objective.loss(model, batch, objective.weight(batch))
    torch.testing.assert_close(loss, expected.loss, rtol=1e-6, atol=1e-6)


def test_head_initialisation(encoder):
    torch.manual_seed(0)
    task = tasks.get("nli")
    wide = EncoderWithHead(
        load_encoder(encoder), 500, task, HeadOptions(dropout=0.3, initial_stddev=0.5)
    )
    usual = EncoderWithHead(load_encoder(encoder), 500, task, HeadOptions())
    assert wide.dropout.p == 0.3
    assert abs(wide.head.weight.std().item() - 0.5) < 0.02
    assert abs(usual.head.weight.std().item() - 0.02) < 0.001
    assert not usual.head.bias.any()


def test_language_identification_labels_texts_by_language(tmp_path, tokenizer_dir):
    name, own = "language_identification", {"labels": ["en", "zh"], "drop_unknown": True}
    table = text_table(["the cat", "你好", "the ???"], ["en", "zh", "en"])
    encode(name, table, tokenizer_dir, tmp_path / "s", **own)
    store = load_arrays(tmp_path / "s")
    assert store.dense("example_id").tolist() == ["0", "1"]
    assert store.meta["dropped"] == {"unknown_piece": 1}
    batch = tasks.get(name).examples(store).collate(np.array([0, 1]))
    assert batch["labels"].tolist() == [0, 1]
    assert "token_type_ids" not in batch


def test_classes_are_decoded(tmp_path, tokenizer_dir):
    task = tasks.get("nli")
    table = nli_table(5)
    encode("nli", table, tokenizer_dir, tmp_path / "s", labels=NLI_LABELS)
    examples = task.examples(load_arrays(tmp_path / "s"), np.array([4, 1]))
    probabilities = np.array([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]], dtype=np.float32)
    result = task.decode(examples, Ragged(probabilities, np.arange(3)), "xnli")
    assert result.schema.equals(CLASS_PREDICTIONS)
    rows = result.to_pylist()
    assert [row["example_id"] for row in rows] == ["pair4", "pair1"]
    assert [row["language"] for row in rows] == ["de", "en"]
    assert [row["gold"] for row in rows] == [table["label"][4].as_py(), table["label"][1].as_py()]
    assert [row["prediction"] for row in rows] == ["entailment", "contradiction"]
    assert rows[0]["probabilities"] == pytest.approx([0.1, 0.7, 0.2])


FORMS = st.sampled_from(
    ["the", "cats", "un-able", "你好", "unables,s", "zzz", "\u200b", "a b", "dog", "x"]
)
SENTENCES = st.lists(
    st.lists(st.tuples(FORMS, st.sampled_from(TAGS)), min_size=1, max_size=9),
    min_size=1,
    max_size=5,
)


def labelled_by_hand(tokenizer, words, tags, how, limit):
    """Word by word: subwords, their words and their labels, cut at ``limit`` subwords."""
    subwords, owners, labels = [], [], []
    for number, (word, tag) in enumerate(zip(words, tags, strict=True)):
        for place, subword in enumerate(tokenizer.tokenize(word)):
            subwords.append(subword)
            owners.append(number)
            wanted = {"first": place == 0, "non_continuation": not subword.startswith("##")}[how]
            labels.append(TAGS.index(tag) if wanted else -100)
    return subwords[:limit], owners[:limit], labels[:limit]


@settings(max_examples=40, deadline=None)
@given(sentences=SENTENCES, how=st.sampled_from(["first", "non_continuation"]))
def test_tagging_aligns_as_by_hand(tmp_path_factory, tokenizer_dir, sentences, how):
    folder = tmp_path_factory.mktemp("tagging")
    words = [[word for word, _ in sentence] for sentence in sentences]
    tags = [[tag for _, tag in sentence] for sentence in sentences]
    tokenizer, task = load_tokenizer(tokenizer_dir), tasks.get("tagging")
    by_hand = [
        labelled_by_hand(tokenizer, *sentence, how, 8) for sentence in zip(words, tags, strict=True)
    ]
    kept = [row for row, (subwords, _, _) in enumerate(by_hand) if subwords]
    table = sentence_table(words, tags)
    if not kept:
        with pytest.raises(DataError, match="is left to encode"):
            encode("tagging", table, tokenizer_dir, folder / "s", labels=TAGS, labelled_pieces=how)
        return
    encode(
        "tagging",
        table,
        tokenizer_dir,
        folder / "s",
        labels=TAGS,
        labelled_pieces=how,
        max_length=10,
    )
    store = load_arrays(folder / "s")
    assert store.dense("example_id").tolist() == [f"s{row}" for row in kept]
    ids, labels, owners = (store.ragged(name) for name in ("input_ids", "labels", "words"))
    for row, original in enumerate(kept):
        subwords, hand_owners, hand_labels = by_hand[original]
        assert tokenizer.convert_ids_to_tokens(ids[row].tolist()) == ["[CLS]", *subwords, "[SEP]"]
        assert owners[row].tolist() == [-1, *hand_owners, -1]
        assert labels[row].tolist() == [-100, *hand_labels, -100]

    seen = [sorted(set(by_hand[row][1])) for row in range(len(words))]
    lost = sum(map(len, words)) - sum(map(len, seen))
    dropped = store.meta["dropped"]
    assert lost == dropped.get("words_behind_cut", 0) + dropped.get("words_without_pieces", 0)
    assert len(words) - len(kept) == dropped.get("sentence_without_words", 0)

    # If every labelled subword is predicted as its place among them, decoding must keep the places.
    examples = task.examples(store)
    assert examples.label_counts.tolist() == [sum(n != -100 for n in row) for row in labels]
    offsets = np.concatenate([[0], np.cumsum(examples.label_counts)])
    outputs = Ragged(np.concatenate([np.arange(n) % 4 for n in examples.label_counts]), offsets)
    decoded = task.decode(examples, outputs, "ud")
    assert decoded.schema.equals(TAG_PREDICTIONS)
    decoded = decoded.to_pylist()
    for row, original in zip(decoded, kept, strict=True):
        _, hand_owners, hand_labels = by_hand[original]
        carriers = [owner for owner, n in zip(hand_owners, hand_labels, strict=True) if n != -100]
        assert row["prediction"] == [TAGS[place % 4] for place in range(len(carriers))]
        assert row["gold"] == [tags[original][word] for word in carriers]
        assert row["words"] == carriers


def test_tagging_drops_sentences_with_unknown_subwords(tmp_path, tokenizer_dir):
    table = sentence_table([["the"], ["???"]], [["DET"], ["PUNCT"]])
    encode("tagging", table, tokenizer_dir, tmp_path / "s", labels=TAGS, drop_unknown=True)
    store = load_arrays(tmp_path / "s")
    assert store.dense("example_id").tolist() == ["s0"]
    assert store.meta["dropped"] == {"sentence_with_unknown_piece": 1}


def test_non_continuation_needs_wordpieces(tmp_path):
    write_tokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the"], tmp_path / "t")
    table = sentence_table([["the"]], [["DET"]])
    with pytest.raises(DataError, match="not all words have ##"):
        encode(
            "tagging",
            table,
            tmp_path / "t",
            tmp_path / "s",
            labels=TAGS,
            labelled_pieces="non_continuation",
        )


def test_model_survives_the_trip_to_disk(tmp_path, tokenizer_dir, encoder):
    model = EncoderWithHead(
        load_encoder(encoder), 3, tasks.get("nli"), HeadOptions(dropout=0.2)
    ).eval()
    save_model(model, NLI_LABELS, "nli", encoder, tmp_path / "m")
    again, labels = tasks.load_model(tmp_path / "m")
    again.eval()
    assert labels == NLI_LABELS
    assert again.dropout.p == 0.2
    ids = torch.tensor([[2, 5, 6, 3]])
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids, dtype=torch.bool)}
    assert torch.equal(model(batch), again(batch))
    assert load_encoder(tmp_path / "m").config.id2label == dict(enumerate(NLI_LABELS))
    (tmp_path / "m" / "head.safetensors").unlink()
    with pytest.raises(DataError, match=r"head\.safetensors"):
        tasks.load_model(tmp_path / "m")


def test_bad_input_is_named(tmp_path, tokenizer_dir):
    out = tmp_path / "s"
    table = nli_table(3)
    assert "contradiction" in table["label"].to_pylist()
    with pytest.raises(DataError, match=r"mnli.*id pair\d.*unknown label.*entailment, neutral"):
        encode("nli", table, tokenizer_dir, out, labels=["entailment", "neutral"], origin="mnli")
    with pytest.raises(DataError, match="column premise: missing"):
        encode("nli", table.drop_columns("premise"), tokenizer_dir, out, labels=NLI_LABELS)
    nulls = table.set_column(3, "premise", pa.array(["a", None, "b"]))
    with pytest.raises(DataError, match="column premise, row 2"):
        encode("nli", nulls, tokenizer_dir, out, labels=NLI_LABELS)
    with pytest.raises(DataError, match="none of 0 examples"):
        encode("nli", table.slice(0, 0), tokenizer_dir, out, labels=NLI_LABELS)
    unknown = sentence_table([["the"], ["cat", "dog"]], [["DET"], ["NOUN", "NUON"]])
    with pytest.raises(DataError, match=r"row 2 \(id s1\): unknown label 'NUON'.*DET, NOUN"):
        encode("tagging", unknown, tokenizer_dir, out, labels=TAGS)
    uneven = sentence_table([["the"], ["cat", "dog"]], [["DET"], ["NOUN"]])
    with pytest.raises(DataError, match="2 words but 1 tags"):
        encode("tagging", uneven, tokenizer_dir, out, labels=TAGS)
    assert not out.exists()


def test_case_and_accents_can_be_stripped(tmp_path, tokenizer_dir):
    row = nli_table(1).to_pylist()[0] | {"premise": "ThÉ CÁT", "hypothesis": "ä dog"}
    table, found = pa.Table.from_pylist([row], NLI_PAIRS), {}
    for strip in (True, False):
        folder = tmp_path / str(strip)
        encode("nli", table, tokenizer_dir, folder, labels=NLI_LABELS, strip_case_and_accents=strip)
        found[strip] = load_arrays(folder).ragged("input_ids")[0].tolist()
    tokenizer = load_tokenizer(tokenizer_dir)
    assert found[True] == tokenizer("the cat", "a dog")["input_ids"]
    assert found[False] == tokenizer("ThÉ CÁT", "ä dog")["input_ids"]
