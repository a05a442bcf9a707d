"""Encoders other than BERT: loaded, tokenised, hooked, fine-tuned and pretrained all the same."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import NLI_LABELS, TAGS, finetuned, nli_table, sentence_table, weights
from transformers import AutoConfig, AutoModel

from mbert_atlas.config.training import MaskedTraining, Optimisation, Pretraining
from mbert_atlas.encoders.loading import load_encoder, load_masked_model, save_encoder
from mbert_atlas.encoders.parts import parts_of, reinitialise
from mbert_atlas.encoders.unigram import train_unigram
from mbert_atlas.encoding import encode
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.encoding.tags import continuation_ids
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.tokenizer import open_tokenizer
from mbert_atlas.training.pretraining import pretrain

SIZES = {"num_attention_heads": 2, "max_position_embeddings": 64, "pad_token_id": 1}
USUAL = {**SIZES, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 32}
OTHER = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "pad_token_id": 1}
KINDS = {**dict.fromkeys(["bert", "roberta", "xlm-roberta"], USUAL), "distilbert": OTHER}
WORDS = ["the", "cat", "dog", "sees", "a", "house", "дом", "кошка", "видит"]
TAG_OF = dict.fromkeys(WORDS, "NOUN") | {"the": "DET", "a": "DET", "sees": "VERB"}


def sentences(count: int) -> list[list[str]]:
    random = np.random.default_rng(0)
    return [list(random.choice(WORDS, random.integers(3, 8))) for _ in range(count)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unigram") / "tokenizer"
    train_unigram([" ".join(words) for words in sentences(200)], folder, 60)
    return folder


@pytest.fixture(params=KINDS)
def encoder(request: pytest.FixtureRequest, tokenizer: Path, tmp_path: Path) -> Path:
    torch.manual_seed(0)
    size = open_tokenizer(tokenizer).get_vocab_size()
    config = AutoConfig.for_model(request.param, vocab_size=size, **KINDS[request.param])
    save_encoder(AutoModel.from_config(config), tokenizer, tmp_path / request.param)
    return tmp_path / request.param


def test_words_are_tagged(encoder: Path, tmp_path: Path) -> None:
    words = sentences(40)
    table = sentence_table(words, [[TAG_OF[word] for word in own] for own in words])
    encode("tagging", table, encoder, tmp_path / "store", labels=TAGS)
    log = finetuned(job(encoder, tmp_path, "tagging"))
    assert log.epoch_losses[-1] < log.epoch_losses[0] / 2


def test_pairs_of_texts_are_classified_by_encoders_with_a_pooler(
    encoder: Path, tmp_path: Path
) -> None:
    options = {"labels": NLI_LABELS, "allow_unknown": True}
    encode("nli", nli_table(20), encoder, tmp_path / "store", **options)
    run = job(encoder, tmp_path, "nli")
    if encoder.name == "distilbert":
        with pytest.raises(AtlasError, match="DistilBertModel has no pooler"):
            finetuned(run)
    else:
        finetuned(run)


def test_layers_are_found(encoder: Path) -> None:
    def states(model: Any) -> list[bytes]:
        return [weights(part) for part in parts_of(model, ["1-1", "2-2", "embeddings"], "key")]

    model = load_encoder(encoder)
    before = states(model)
    reinitialise(model, ["1-1"], seed=1)
    same = [old == new for old, new in zip(before, states(model), strict=True)]
    assert same == [False, True, True]


def test_subwords_that_continue_a_word(tokenizer: Path) -> None:
    opened = open_tokenizer(tokenizer)
    continuation = continuation_ids(opened, tokenizer)
    for subword, number in opened.get_vocab().items():
        assert continuation[number] == (not subword.startswith("\u2581"))


def test_xlm_r_is_pretrained_and_trained_further(tokenizer: Path, tmp_path: Path) -> None:
    texts = [" ".join(words) for words in sentences(60)]
    encode_texts({"en": texts}, tokenizer, tmp_path / "store", max_length=16)
    quick = Optimisation(learning_rate=3e-3, batch_size=16, epochs=12)
    sizes = {"hidden_size": 16, "layers": 1, "heads": 2, "intermediate_size": 32}
    options = {"positions": 16, "max_length": 16, "output_bias": "log_frequency"}
    spec = Pretraining(architecture="xlm-roberta", **sizes, **options, optimisation=quick)
    log = pretrain(spec, tokenizer, tmp_path / "store", tmp_path / "model", seed=1)
    assert log.epoch_losses[-1] < log.epoch_losses[0]
    assert load_encoder(tmp_path / "model").config.model_type == "xlm-roberta"
    more = MaskedTraining(max_length=16, optimisation=quick)
    again = pretrain(more, tmp_path / "model", tmp_path / "store", tmp_path / "further", seed=1)
    assert again.epoch_losses[0] < log.epoch_losses[0]


def test_what_has_no_language_model_head_here_is_rejected(encoder: Path) -> None:
    if encoder.name in ("bert", "xlm-roberta"):
        load_masked_model(encoder, seed=1)
    else:
        with pytest.raises(DataError, match="cannot be pretrained further here"):
            load_masked_model(encoder, seed=1)


def job(encoder: Path, folder: Path, task: str) -> dict[str, Any]:
    return {
        "task": task,
        "encoder": encoder,
        "train": folder / "store",
        "evaluate": {"same": folder / "store"},
        "optimisation": Optimisation(learning_rate=5e-3, batch_size=8, epochs=6),
        "seed": 1,
        "output_model": folder / "tuned",
        "output_predictions": folder / "predictions.parquet",
        "state_dir": folder / "state",
    }
