"""Vocabulary extension of unigram tokenizers, as XLM-R's."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaForMaskedLM

from mbert_atlas.config.training import Extension, MaskedTraining, Optimisation
from mbert_atlas.encoders.extension import extend_vocabulary
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer, save_encoder
from mbert_atlas.encoders.unigram import learn_unigram, train_unigram
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import AtlasError, DataError
from mbert_atlas.files import read_json
from mbert_atlas.miniature.concepts import Sampler
from mbert_atlas.miniature.language import MINIATURE_LANGUAGES
from mbert_atlas.miniature.meanings import draw_meaning
from mbert_atlas.training.pretraining import pretrain

SAMPLER = Sampler(5)
MEANINGS = [draw_meaning(SAMPLER) for _ in range(240)]
TEXTS = {
    code: [MINIATURE_LANGUAGES[code].sentence(meaning).text for meaning in MEANINGS]
    for code in ("en", "ru", "hi")
}
# A few Hindi texts are among the old ones, as the letters are.
OLD = TEXTS["en"] + TEXTS["ru"] + TEXTS["hi"][:20]
# English words among the new texts are quotations.
HINDI = [f"{text} hounded" if number % 20 == 0 else text for number, text in enumerate(TEXTS["hi"])]
OTHERS = [*TEXTS["en"][:40], *TEXTS["ru"][:40], "a hounded dog", "12 ! hounded"]
EXTENSION = Extension(vocabulary_size=300)
UNUSED = 5
"""Rows of the embeddings behind those of the subwords, as in multilingual-e5."""


@pytest.fixture(params=["xlm-roberta", "bert"])
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Write an XLM-R with a language-model head, or a BERT with the same tokenizer."""
    train_unigram(OLD, tmp_path / "tokenizer", 200)
    size = len(load_tokenizer(tmp_path / "tokenizer"))
    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    shape |= {"intermediate_size": 16, "max_position_embeddings": 40, "pad_token_id": 1}
    torch.manual_seed(0)
    model: Any
    if request.param == "bert":
        model = BertModel(BertConfig(vocab_size=size + UNUSED, **shape))
    else:
        model = XLMRobertaForMaskedLM(XLMRobertaConfig(vocab_size=size, type_vocab_size=1, **shape))
        torch.nn.init.normal_(model.lm_head.bias)
    save_encoder(model, tmp_path / "tokenizer", tmp_path / "encoder")
    return tmp_path / "encoder"


def subwords(folder: Path, texts: list[str]) -> list[list[str]]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return [tokenizer.encode(text, add_special_tokens=False).tokens for text in texts]


def test_old_texts_keep_their_subwords_and_new_ones_become_shorter(
    encoder: Path, tmp_path: Path
) -> None:
    out, size = tmp_path / "out", len(load_tokenizer(encoder))
    counts = extend_vocabulary(EXTENSION, encoder, HINDI, out, seed=1)
    old, new = load_tokenizer(encoder), load_tokenizer(out)
    assert old.get_vocab().items() <= new.get_vocab().items()
    assert sorted(new.get_vocab().values()) == list(range(size + counts["added"]))
    assert new.mask_token_id == old.mask_token_id == size - 1
    for text in OTHERS:
        assert new(text)["input_ids"] == old(text)["input_ids"]
    # Quotations stay as they were.
    assert not [name for name in new.get_vocab().keys() - old.get_vocab() if "hou" in name]
    both = [sum(map(len, subwords(folder, HINDI))) for folder in (encoder, out)]
    assert both == [counts["pieces_before"], counts["pieces_after"]]
    assert counts["words"] == sum(len(text.split()) for text in HINDI)
    assert both[1] < 0.8 * both[0]

    before, after = (load_file(folder / "model.safetensors") for folder in (encoder, out))
    assert before.keys() == after.keys()
    for name, weights in before.items():
        grown = name.endswith(("word_embeddings.weight", "lm_head.bias", "decoder.weight"))
        assert torch.equal(after[name][:size] if grown else after[name], weights[:size])
        if grown:
            assert len(after[name]) == size + counts["added"]
        if name == "lm_head.bias":
            assert after[name][size:].eq(0).all()
    assert load_encoder(out).config.vocab_size == size + counts["added"]


def test_scores_are_those_of_the_language_on_the_scale_of_all(
    encoder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    counts = extend_vocabulary(EXTENSION, encoder, HINDI, out, seed=1)
    old, new = (
        [tuple(item) for item in read_json(folder / "tokenizer.json")["model"]["vocab"]]
        for folder in (encoder, out)
    )
    learnt = dict(learn_unigram(HINDI, EXTENSION.vocabulary_size))
    known = [(score, learnt[name]) for name, score in old if name in learnt]
    assert len(known) == counts["known"]
    assert len(learnt) == counts["learnt"]
    shift = median(score - of_hindi for score, of_hindi in known)
    assert shift < 0  # few of the old texts are Hindi
    assert new[: len(old)] == old
    for name, score in new[len(old) :]:
        assert score == pytest.approx(learnt[name] + shift, abs=1e-4)
    scores = [score for _, score in new[len(old) :]]
    assert scores == sorted(scores, reverse=True)
    few = EXTENSION.model_copy(update={"pieces": 2})
    assert extend_vocabulary(few, encoder, HINDI, tmp_path / "few", seed=1)["added"] == 2
    assert (
        list(subwords_of(tmp_path / "few"))[len(old) :]
        == [name for name, _ in new][len(old) : len(old) + 2]
    )


def subwords_of(folder: Path) -> dict[str, float]:
    return dict(read_json(folder / "tokenizer.json")["model"]["vocab"])


def test_embeddings_are_random_or_means_of_old_subwords(encoder: Path, tmp_path: Path) -> None:
    def rows(name: str, seed: int, **changes: Any) -> torch.Tensor:
        spec = EXTENSION.model_copy(update=changes)
        extend_vocabulary(spec, encoder, HINDI, tmp_path / name, seed=seed)
        stored = load_file(tmp_path / name / "model.safetensors")
        return next(item for key, item in stored.items() if "word_embeddings" in key)

    size = len(load_tokenizer(encoder))
    first, same, other = rows("a", 1), rows("b", 1), rows("c", 2)
    assert torch.equal(first, same)
    assert not torch.equal(first[size:], other[size:])
    assert 0.01 < first[size:].std() < 0.03
    spelt = rows("d", 1, rows="pieces")
    old, numbers = load_tokenizer(encoder), load_tokenizer(tmp_path / "d").get_vocab()
    words = [name for name in numbers if name not in old.get_vocab() and name[0] == "▁"]
    ids = {name: old(name[1:], add_special_tokens=False)["input_ids"] for name in words}
    spelt_by_old = [name for name in words if old.unk_token_id not in ids[name]]
    assert len(spelt_by_old) > 9
    for name in words:
        row = spelt[numbers[name]]
        mean = first[ids[name]].mean(0) if name in spelt_by_old else first[numbers[name]]
        torch.testing.assert_close(row, mean)


def test_it_is_pretrained_further(encoder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    extend_vocabulary(EXTENSION, encoder, HINDI, out, seed=1)
    encode_texts({"hi": HINDI}, out, tmp_path / "store", max_length=16)
    spec = MaskedTraining(
        max_length=16, optimisation=Optimisation(learning_rate=5e-3, batch_size=16, epochs=8)
    )
    log = pretrain(spec, origin=out, store=tmp_path / "store", output_dir=tmp_path / "m", seed=3)
    assert log.epoch_losses[-1] < 0.9 * log.epoch_losses[0]
    assert load_tokenizer(tmp_path / "m").get_vocab() == load_tokenizer(out).get_vocab()


def test_what_cannot_be_extended(encoder: Path, tmp_path: Path) -> None:
    with pytest.raises(AtlasError):
        extend_vocabulary(EXTENSION, encoder, [], tmp_path / "out", seed=1)
    with pytest.raises(DataError, match="no new subword"):
        extend_vocabulary(EXTENSION, encoder, [". . ."] * 30, tmp_path / "out", seed=1)
    path = encoder / "tokenizer.json"
    whole = read_json(path)
    whole["model"]["vocab"] += [[f"x{n}", -9.0] for n in range(UNUSED + 1)]
    path.write_text(json.dumps(whole), "utf-8")
    with pytest.raises(DataError, match="take an encoder with a subword for each row"):
        extend_vocabulary(EXTENSION, encoder, HINDI, tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()
