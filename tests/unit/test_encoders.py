"""WordPiece vocabularies, encoder folders, masked-language-model pretraining."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_models import make_encoder, make_tokenizer
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertModel,
)

from mbert_atlas.arrays import Ragged, TokenStore
from mbert_atlas.config.training import Optimisation, Pretraining
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer, save_encoder
from mbert_atlas.encoders.wordpiece import train_wordpiece
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.training import pretraining
from mbert_atlas.training.pretraining import (
    MaskedExamples,
    MaskedLanguageModel,
    pretrain,
)

SMALL = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 16}
SMALL |= {"positions": 16, "max_length": 16}
TEXTS = ["low lower lowest", "new newer newest", "wide wider widest", "é 你好 low", "hat hats"] * 4


def test_wordpiece_gives_the_same_bytes_in_another_process(tmp_path):
    # The trainer's hash tables are seeded per process, so one process would prove nothing.
    program = (
        "import sys; from mbert_atlas.encoders.wordpiece import train_wordpiece;"
        f"train_wordpiece({TEXTS!r}, sys.argv[1], 60, limit_alphabet=18)"
    )
    path = os.pathsep.join(sys.path)
    for name in ("a", "b"):
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / name],
            check=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    for file in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert len((tmp_path / "a" / "vocab.txt").read_text("utf-8").splitlines()) <= 60


def test_wordpiece_splits_as_bert(tmp_path):
    train_wordpiece(TEXTS, tmp_path / "t", 80)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "t", local_files_only=True)
    assert tokenizer.model_max_length == 512
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokenizer.convert_tokens_to_ids(specials) == list(range(5))
    assert tokenizer.tokenize("你好") == ["你", "好"]
    assert tokenizer.tokenize("É é") == ["[UNK]", "é"]  # cased, accents kept
    assert "".join(tokenizer.tokenize("lowest")).replace("##", "") == "lowest"
    assert tokenizer.tokenize("low") == ["low"]  # frequent words become subwords


def test_the_alphabet_of_wordpiece_is_limited(tmp_path):
    with pytest.raises(AtlasError, match="no text"):
        train_wordpiece([], tmp_path / "t", 50)
    with pytest.raises(AtlasError, match="raise vocabulary_size"):
        train_wordpiece(["abcdefgh ijkl"], tmp_path / "t", 10)
    assert not (tmp_path / "t").exists()
    train_wordpiece(["aaa bbb ccc", "aaa bbb", "aaa"], tmp_path / "t", 20, limit_alphabet=2)
    subwords = set((tmp_path / "t" / "vocab.txt").read_text("utf-8").split())
    assert subwords >= {"a", "b", "##a"}
    assert not subwords & {"c", "##c"}


def test_encoder_survives_the_trip_to_disk(tmp_path):
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    before = load_encoder(encoder)
    save_encoder(before, encoder, tmp_path / "again")
    after = load_encoder(tmp_path / "again")
    assert before.config._attn_implementation == "sdpa"
    for name, weights in before.state_dict().items():
        torch.testing.assert_close(weights, after.state_dict()[name], rtol=0, atol=0)
    assert (tmp_path / "again" / "tokenizer.json").exists()
    assert not list(tmp_path.glob(".*partial"))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_incomplete_encoder_folder(tmp_path, name):
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    (encoder / name).unlink()
    with pytest.raises(DataError, match=name):
        load_tokenizer(encoder) if name == "tokenizer.json" else load_encoder(encoder)


def test_pickled_weights_are_rejected(tmp_path):
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    (encoder / "model.safetensors").rename(encoder / "pytorch_model.bin")
    with pytest.raises(DataError, match="pickled"):
        load_encoder(encoder)


def tiny(vocabulary: int) -> BertConfig:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    return BertConfig(vocab_size=vocabulary, intermediate_size=8, **sizes)


def test_missing_weights(tmp_path):
    tokenizer, config = make_tokenizer(tmp_path), tiny(19)
    save_encoder(BertForMaskedLM(config), tokenizer, tmp_path / "no_pooler")
    first, second = load_encoder(tmp_path / "no_pooler"), load_encoder(tmp_path / "no_pooler")
    assert torch.equal(first.pooler.dense.weight, second.pooler.dense.weight)
    model = BertModel(config)
    model.config.num_hidden_layers = 2
    save_encoder(model, tokenizer, tmp_path / "no_layer")
    with pytest.raises(DataError, match=r"weight encoder\.layer\.1.*15 more of them"):
        load_encoder(tmp_path / "no_layer")


def masked_batch(rows: int, length: int):
    ids = np.arange(rows * length).reshape(rows, length) % 1000 + 10
    store = TokenStore({"input_ids": Ragged.from_rows(list(ids), np.int32)}, {})
    examples = MaskedExamples(store, 0.15, 0)
    return examples.collate(np.arange(rows))


def test_masking_proportions():
    batch = masked_batch(400, 102)
    objective = MaskedLanguageModel(4, 5000)
    torch.manual_seed(1)
    positions, inputs = objective.mask(batch)
    originals = batch["input_ids"].flatten()
    changed = inputs.flatten()[positions]
    assert objective.weight(batch) == 400 * 15 == len(positions)  # 15% of 100, rounded
    assert len(set(positions.tolist())) == len(positions)  # none twice
    place = positions % 102
    assert place.min() > 0  # never [CLS]
    assert place.max() < 101  # never [SEP]
    assert abs((changed == 4).double().mean() - 0.8) < 0.02
    assert abs((changed == originals[positions]).double().mean() - 0.1) < 0.02
    untouched = torch.ones(originals.shape, dtype=torch.bool)
    untouched[positions] = False
    assert torch.equal(inputs.flatten()[untouched], originals[untouched])
    # every place is as likely as another
    counts = torch.bincount(place, minlength=102)[1:101]
    assert abs(counts.double().mean() - 60) < 1e-9
    assert counts.double().std() < 15


def test_masking_spares_padding():
    store = TokenStore({"input_ids": Ragged.from_rows([[2, 9, 3], [2, 7, 8, 9, 6, 3]], int)}, {})
    batch = MaskedExamples(store, 0.4, 0).collate(np.array([0, 1]))
    objective = MaskedLanguageModel(4, 10)
    torch.manual_seed(0)
    for _ in range(20):
        positions, _ = objective.mask(batch)
        assert positions[0] == 1  # the only subword of row 0
        assert set((positions[1:] - 6).tolist()) <= {1, 2, 3, 4}
        assert len(positions) == 1 + 2


def test_masked_loss_equals_transformers():
    batch, config = masked_batch(6, 12), tiny(1200)
    model = BertForPreTraining(config).eval()
    objective = MaskedLanguageModel(4, 1200)
    torch.manual_seed(3)
    loss = objective.loss(model, batch, objective.weight(batch))
    torch.manual_seed(3)
    positions, inputs = objective.mask(batch)
    labels = torch.full_like(inputs, -100)
    labels.view(-1)[positions] = batch["input_ids"].view(-1)[positions]
    other = BertForMaskedLM(config).eval()
    other.load_state_dict(model.state_dict(), strict=False)
    expected = other(inputs, attention_mask=batch["attention_mask"], labels=labels).loss
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=1e-6)


def test_pretraining_learns_and_writes_an_encoder(tmp_path):
    tokenizer_dir = make_tokenizer(tmp_path)
    texts = {"en": ["the cat sees a dog , a b"] * 60, "zh": ["你 好 - 你 好 - 你"] * 60}
    encode_texts(texts, tokenizer_dir, tmp_path / "store", max_length=16)
    quick = Optimisation(learning_rate=5e-3, batch_size=16, epochs=10)
    spec = Pretraining(**SMALL, optimisation=quick)
    logs = [
        pretrain(spec, tokenizer_dir, tmp_path / "store", tmp_path / name, seed=3)
        for name in ("a", "b")
    ]
    assert logs[0].epoch_losses[-1] < 0.7 * logs[0].epoch_losses[0]
    assert logs[0].epoch_losses == logs[1].epoch_losses
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("a", "b"))
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert "cls.predictions.bias" in first  # the head is there for later use
    encoder = load_encoder(tmp_path / "a")
    assert torch.equal(
        encoder.embeddings.word_embeddings.weight, first["bert.embeddings.word_embeddings.weight"]
    )
    assert load_tokenizer(tmp_path / "a").tokenize("cats") == ["cat", "##s"]


def test_initial_deviation_and_a_bias_of_log_frequencies(tmp_path, monkeypatch):
    tokenizer_dir = make_tokenizer(tmp_path)
    encode_texts(
        {"en": ["the cat the", "the dog [SEP] 🜁"]}, tokenizer_dir, tmp_path / "s", max_length=16
    )
    started = []
    monkeypatch.setattr(pretraining, "train", lambda model, *_, **__: started.append(model))
    for changes in ({}, {"initial_deviation": 0.2, "output_bias": "log_frequency"}):
        spec = Pretraining(hidden_size=16, layers=1, heads=2, **changes)
        pretrain(spec, tokenizer_dir, tmp_path / "s", tmp_path / "m", seed=3)
    (plain, changed) = (model.cls.predictions for model in started)
    torch.testing.assert_close(changed.decoder.weight[1:], 10 * plain.decoder.weight[1:])
    assert not plain.bias.any()
    tokenizer = load_tokenizer(tokenizer_dir)
    counts = torch.ones(len(tokenizer))
    for subword, count in {"the": 3, "cat": 1, "dog": 1, "[SEP]": 1, "[UNK]": 1}.items():
        counts[tokenizer.convert_tokens_to_ids(subword)] += count
    torch.testing.assert_close(changed.bias.detach(), (counts / counts.sum()).log())
    assert load_file(tmp_path / "m" / "model.safetensors")["cls.predictions.bias"].any()


def test_pretraining_resumes_after_a_stop(tmp_path, monkeypatch):
    tokenizer_dir = make_tokenizer(tmp_path)
    encode_texts({"en": ["the cat sees a dog"] * 40}, tokenizer_dir, tmp_path / "s", max_length=16)
    quick = Optimisation(batch_size=8, epochs=3, learning_rate=1e-3)
    spec = Pretraining(**SMALL, optimisation=quick)

    def run(name: str, state: Path | None = None) -> bytes:
        pretrain(spec, tokenizer_dir, tmp_path / "s", tmp_path / name, seed=3, state_dir=state)
        return (tmp_path / name / "model.safetensors").read_bytes()

    def stopping_loss(self, model, batch, step_weight, loss=MaskedLanguageModel.loss):
        self.losses = getattr(self, "losses", 0) + 1
        if self.losses == 7:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss(self, model, batch, step_weight)

    whole = run("whole")
    with monkeypatch.context() as patch:
        patch.setattr(MaskedLanguageModel, "loss", stopping_loss)
        with pytest.raises(AtlasError, match="stopped by SIGTERM after step 7 of 15"):
            run("stopped", tmp_path / "state")
    # The output embeddings share their weights with the input's, and so must a restored model's.
    assert run("stopped", tmp_path / "state") == whole


def test_pretraining_rejects_a_foreign_store(tmp_path):
    tokenizer_dir = make_tokenizer(tmp_path)
    encode_texts({"en": ["the cat"]}, tokenizer_dir, tmp_path / "store", max_length=16)
    train_wordpiece(TEXTS, tmp_path / "other", 80)
    with pytest.raises(DataError, match="not made with"):
        pretrain(Pretraining(), tmp_path / "other", tmp_path / "store", tmp_path / "m", seed=1)
    short = Pretraining(positions=8, max_length=8)
    with pytest.raises(DataError, match="exceed the 8 positions"):
        pretrain(short, tokenizer_dir, tmp_path / "store", tmp_path / "m", seed=1)
