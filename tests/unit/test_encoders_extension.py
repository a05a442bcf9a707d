"""Vocabulary extension, and further pretraining of encoder folders."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import VOCABULARY, make_config, make_encoder, make_tokenizer
from toy_representations import toy_encoder
from transformers import BertForPreTraining, BertModel

from mbert_atlas.config.training import Extension, MaskedTraining, Optimisation
from mbert_atlas.encoders.extension import count_wordpieces, extend_vocabulary, spell
from mbert_atlas.encoders.loading import (
    load_encoder,
    load_masked_model,
    load_tokenizer,
    save_encoder,
)
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.tokenizer import tokenizer_digest
from mbert_atlas.training.pretraining import pretrain

OLD = VOCABULARY
HINDI = ["घर में बिल्ली है", "बिल्ली घर में है", "घर है", "cat घर"] * 10
EXTENSION = Extension(vocabulary_size=100)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Write a checkpoint as published: encoder, pooler and head."""
    torch.manual_seed(0)
    model = BertForPreTraining(make_config())
    torch.nn.init.normal_(model.cls.predictions.bias)
    save_encoder(model, make_tokenizer(tmp_path), tmp_path / "encoder")
    return tmp_path / "encoder"


def test_old_subwords_and_weights_stay(encoder: Path, tmp_path: Path) -> None:
    counts = extend_vocabulary(EXTENSION, encoder, HINDI, tmp_path / "out", seed=1)
    before, after = (
        load_file(folder / "model.safetensors") for folder in (encoder, tmp_path / "out")
    )
    assert before.keys() == after.keys()
    grown = {name for name in before if before[name].shape != after[name].shape}
    assert {"bert.embeddings.word_embeddings.weight", "cls.predictions.bias"} <= grown
    for name, weights in before.items():
        assert torch.equal(after[name][: len(weights)] if weights.ndim else after[name], weights)
        if name in grown:
            assert len(after[name]) == OLD + counts["added"]
    assert after["cls.predictions.bias"][OLD:].eq(0).all()
    old, new = load_tokenizer(encoder), load_tokenizer(tmp_path / "out")
    assert old.get_vocab().items() <= new.get_vocab().items()
    assert sorted(new.get_vocab().values()) == list(range(OLD + counts["added"]))
    for text in ("the cat sees dogs , unable - a b 你好", "The? xx", "cat-dog"):
        assert new(text)["input_ids"] == old(text)["input_ids"]
    assert old.tokenize("बिल्ली") == ["[UNK]"]
    assert new.tokenize("घर बिल्ली cats") == ["घर", "बिल्ली", "cat", "##s"]
    assert counts["learnt"] == counts["known"] + counts["added"]
    # Each old word was [UNK] (cat apart); now the learnt ones are whole.
    assert counts["words"] == sum(len(text.split()) for text in HINDI) == counts["pieces_before"]
    assert counts["pieces_after"] == counts["words"]


def test_the_result_opens_as_any_encoder(encoder: Path, tmp_path: Path) -> None:
    counts = extend_vocabulary(EXTENSION, encoder, HINDI, tmp_path / "out", seed=1)
    large = load_encoder(tmp_path / "out")
    assert large.config.vocab_size == OLD + counts["added"]
    # Saved and opened again, nothing changes, the tokenizer's digest included.
    save_encoder(large, tmp_path / "out", tmp_path / "again")
    again = load_encoder(tmp_path / "again")
    for name, weights in large.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name])
    assert tokenizer_digest(tmp_path / "again") == tokenizer_digest(tmp_path / "out")
    subwords = (tmp_path / "out/vocab.txt").read_text("utf-8").splitlines()
    assert load_tokenizer(tmp_path / "out").convert_tokens_to_ids(subwords) == list(
        range(len(subwords))
    )


def test_the_most_frequent_subwords_come_first(encoder: Path, tmp_path: Path) -> None:
    few = EXTENSION.model_copy(update={"pieces": 3})
    counts = extend_vocabulary(few, encoder, HINDI, tmp_path / "few", seed=1)
    assert counts["added"] == 3
    extend_vocabulary(EXTENSION, encoder, HINDI, tmp_path / "all", seed=1)
    names = [(tmp_path / n / "vocab.txt").read_text("utf-8").split() for n in ("few", "all")]
    assert names[0] == names[1][: OLD + 3]
    # By count: घर 40, है 30, then बिल्ली and में 20 each, in the order of their characters.
    assert names[1][OLD : OLD + 4] == ["घर", "है", "बिल्ली", "में"]


def test_rows_are_random_or_means_of_old_wordpieces(encoder: Path, tmp_path: Path) -> None:
    texts = ["unables dogs"] * 9

    def rows(name: str, seed: int, **changes: Any) -> tuple[Any, dict[str, int]]:
        spec = EXTENSION.model_copy(update=changes)
        extend_vocabulary(spec, encoder, texts, tmp_path / name, seed=seed)
        weights = load_file(tmp_path / name / "model.safetensors")
        vocabulary = load_tokenizer(tmp_path / name).get_vocab()
        return weights["bert.embeddings.word_embeddings.weight"], vocabulary

    first, vocabulary = rows("a", 1)
    assert torch.equal(first, rows("b", 1)[0])
    assert not torch.equal(first, rows("c", 2)[0])
    assert 0.01 < first[OLD:].std() < 0.03  # initializer_range is 0.02
    spelt, same = rows("d", 1, rows="pieces")
    assert same == vocabulary
    old = load_tokenizer(encoder)
    for word in ("unables", "dogs"):
        ids = old(word, add_special_tokens=False)["input_ids"]
        assert len(ids) > 1
        torch.testing.assert_close(spelt[vocabulary[word]], first[ids].mean(0))
    # What old subwords cannot spell is drawn, as under the other choice.
    assert torch.equal(spelt[vocabulary["##g"]], first[vocabulary["##g"]])


def test_spelling_is_wordpieces(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(make_tokenizer(tmp_path))
    vocabulary = tokenizer.get_vocab()
    for word in ("unable", "cats", "unables", "cat", "xcat", "zzz"):
        found = spell(word, vocabulary)
        expected = tokenizer(word, add_special_tokens=False)["input_ids"]
        assert found == ([] if expected == [tokenizer.unk_token_id] else expected)
    assert spell("##ables", vocabulary) == [vocabulary["##able"], vocabulary["##s"]]
    assert spell("##cat", vocabulary) == []
    words = Counter({"cats": 3, "dog": 2, "zebra": 5})
    assert count_wordpieces(words, vocabulary) == Counter(
        {"cat": 3, "##s": 3, "dog": 2, "[UNK]": 5}
    )


@pytest.mark.parametrize("kind", ["encoder alone", "published"])
def test_any_checkpoint_is_pretrained_further(tmp_path: Path, kind: str) -> None:
    torch.manual_seed(0)
    model = BertModel if kind == "encoder alone" else BertForPreTraining
    save_encoder(model(make_config()), make_tokenizer(tmp_path), tmp_path / "encoder")
    extend_vocabulary(EXTENSION, tmp_path / "encoder", HINDI, tmp_path / "extended", seed=1)
    start = load_masked_model(tmp_path / "extended", 7)
    assert start.cls.predictions.decoder.weight is start.bert.embeddings.word_embeddings.weight
    stored = load_file(tmp_path / "extended/model.safetensors")
    if kind != "encoder alone":
        for name in ("cls.predictions.bias", "cls.predictions.transform.dense.weight"):
            assert torch.equal(start.state_dict()[name], stored[name])
    encode_texts({"hi": HINDI * 4}, tmp_path / "extended", tmp_path / "store", max_length=16)
    spec = MaskedTraining(
        max_length=16, optimisation=Optimisation(learning_rate=5e-3, batch_size=16, epochs=8)
    )
    arguments: dict[str, Any] = {"origin": tmp_path / "extended", "store": tmp_path / "store"}
    logs = [pretrain(spec, output_dir=tmp_path / name, seed=3, **arguments) for name in ("a", "b")]
    assert logs[0].epoch_losses[-1] < 0.7 * logs[0].epoch_losses[0]
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "b")]
    assert files[0] == files[1]
    assert "cls.predictions.bias" in load_file(tmp_path / "a/model.safetensors")
    trained = load_encoder(tmp_path / "a")
    assert trained.config.vocab_size == len(load_tokenizer(tmp_path / "a"))
    moved = trained.embeddings.word_embeddings.weight - start.bert.embeddings.word_embeddings.weight
    assert moved.abs().max() > 0.01


def test_encoders_that_cannot_be_extended(encoder: Path, tmp_path: Path) -> None:
    def extend(folder: Path, texts: list[str] = HINDI, **changes: Any) -> None:
        spec = EXTENSION.model_copy(update=changes)
        extend_vocabulary(spec, folder, texts, tmp_path / "out", seed=1)

    with pytest.raises(AtlasError, match="no text"):
        extend(encoder, [])
    with pytest.raises(DataError, match="no new wordpiece"):
        extend(encoder, ["a b a b"])
    with pytest.raises(AtlasError, match="raise vocabulary_size"):
        extend(encoder, vocabulary_size=6)
    torch.manual_seed(0)
    save_encoder(BertModel(make_config(OLD + 8)), encoder, tmp_path / "padded")
    with pytest.raises(DataError, match=f"ids up to {OLD - 1} for {OLD + 8} rows"):
        extend(tmp_path / "padded")
    tokenizer = encoder / "tokenizer.json"
    whole = tokenizer.read_text("utf-8")
    tokenizer.write_text(whole.replace('"WordPiece"', '"BPE"'), "utf-8")
    with pytest.raises(DataError, match="BPE is not WordPiece"):
        extend(encoder)
    tokenizer.unlink()
    with pytest.raises(DataError, match=r"tokenizer\.json"):
        extend(encoder)
    assert not (tmp_path / "out").exists()


def test_tokenizers_with_other_parts_keep_them(tmp_path: Path) -> None:
    encoder = toy_encoder(tmp_path / "encoder")  # splits at white space, has no normaliser
    extend_vocabulary(EXTENSION, encoder, ["foo en1s foo"] * 9, tmp_path / "out", seed=1)
    old, new = load_tokenizer(encoder), load_tokenizer(tmp_path / "out")
    assert new("en1 en2s xx3")["input_ids"] == old("en1 en2s xx3")["input_ids"]
    assert new.tokenize("foo en1s") == ["foo", "en1s"]


def test_an_encoder_without_a_head(tmp_path: Path) -> None:
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    models = [load_masked_model(encoder, seed) for seed in (1, 1, 2)]
    heads = [model.cls.predictions.transform.dense.weight for model in models]
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
    for name, weights in load_encoder(encoder).state_dict().items():
        assert torch.equal(weights, models[0].bert.state_dict()[name])
