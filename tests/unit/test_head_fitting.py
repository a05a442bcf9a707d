"""A language-model head fitted over a frozen encoder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tiny_models import make_encoder, make_tokenizer
from transformers import BertConfig, BertModel, XLMRobertaConfig, XLMRobertaModel

from mbert_atlas.arrays import load_arrays
from mbert_atlas.config.encoders import HeadTraining
from mbert_atlas.encoders.loading import load_masked_model, load_tokenizer, save_encoder
from mbert_atlas.encoding.pretraining import encode_texts
from mbert_atlas.errors import DataError
from mbert_atlas.training.head_fitting import add_head, fit_head
from mbert_atlas.training.head_predictions import _OnlyMasks, predict_masked

RATES = {"learning_rate": 3e-2, "batch_size": 16, "epochs": 4}
SPEC = HeadTraining.model_validate({"optimisation": RATES, "max_length": 12})
TEXTS = {"en": ["the cat " * 5] * 300, "zh": ["你 好 " * 4] * 60}
"""Every word follows from the other ones: which two there are, and its place."""


def encoder_of(folder: Path, kind: str) -> Path:
    tokenizer = make_tokenizer(folder)
    sizes = {"vocab_size": 19, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 32, "initializer_range": 0.3}
    torch.manual_seed(0)
    model: Any = BertModel(BertConfig(**sizes))
    if kind == "xlm-roberta":
        model = XLMRobertaModel(XLMRobertaConfig(**sizes, pad_token_id=0, type_vocab_size=1))
    save_encoder(model, tokenizer, folder / "encoder")
    encode_texts(TEXTS, folder / "encoder", folder / "store", max_length=12)
    return folder / "encoder"


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_a_fitted_head_predicts_what_follows_from_the_context(tmp_path: Path, kind: str) -> None:
    encoder = encoder_of(tmp_path, kind)
    card = fit_head(SPEC, encoder, tmp_path / "store", tmp_path / "head", seed=1)
    # 18 held-out rows, 15 of them English: of ten words two are masked, of eight one.
    assert card["n"] == 15 * 2 + 3 * 1
    assert card["training_rows"] == 342
    assert card["steps"] == 4 * 22
    assert 30 < card["most_frequent"] < 70  # the, cat: 15 each of 33
    assert card["masked_accuracy"] > 90
    assert card["by_language"].keys() == {"en", "zh"}
    weighted = (30 * card["by_language"]["en"] + 3 * card["by_language"]["zh"]) / 33
    assert card["masked_accuracy"] == pytest.approx(weighted)
    # The head alone is written; with it the encoder, whose weights have not moved, does as well.
    model: Any = add_head(load_masked_model(encoder, 5), tmp_path / "head").eval()
    stored = load_file(encoder / "model.safetensors")
    for name, weight in model.base_model.state_dict().items():
        assert name.startswith("pooler.") or torch.equal(weight, stored[name])
    assert all(
        len(item) != 19 or item.ndim == 1
        for item in load_file(tmp_path / "head/head.safetensors").values()
    )  # no copy of the word embeddings
    tokenizer = load_tokenizer(encoder)
    right = []
    for text in ("the cat the cat the cat the cat the cat", "你 好 你 好 你 好 你 好"):
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        for place in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, place] = tokenizer.mask_token_id
            with torch.no_grad():
                output = model(masked)
            logits = output.get("prediction_logits", output.get("logits"))
            right.append(int(logits[0, place].argmax()) == int(ids[0, place]))
    assert np.mean(right) > 0.75


def test_predictions_are_at_masks_of_held_out_rows(tmp_path: Path) -> None:
    encoder = encoder_of(tmp_path, "bert")
    fit_head(SPEC, encoder, tmp_path / "store", tmp_path / "head", seed=1)
    paths = (encoder, tmp_path / "store")
    table = predict_masked(SPEC, *paths, seed=1, head=tmp_path / "head").to_pandas()
    # 18 held-out rows, 15 of them English: of ten words two are masked, of eight one.
    assert table.groupby("language").size().to_dict() == {"en": 15 * 2, "zh": 3}
    assert sorted({*table["row"]}) == [*range(0, 360, 20)]
    ids = load_arrays(tmp_path / "store").ragged("input_ids")
    assert all(row.gold in ids[row.row][1:-1] for row in table.itertuples())
    assert (table["gold"] == table["prediction"]).mean() > 0.75
    again = predict_masked(SPEC, *paths, seed=1, head=tmp_path / "head").to_pandas()
    assert again.equals(table)


def test_nothing_is_left_to_be_copied() -> None:
    objective = _OnlyMasks(mask_id=4, vocabulary_size=19)
    ids = torch.arange(5, 17)[None].expand(50, -1)
    rows = torch.arange(50)
    slots = {"slot_row": torch.cat([rows, rows]), "slot_rank": torch.arange(100) // 50}
    batch = {"input_ids": ids, "lengths": torch.full((50,), 12), **slots}
    positions, inputs = objective.mask(batch)
    assert len({*positions.tolist()}) == 100
    changed = inputs != ids
    assert changed.flatten().nonzero()[:, 0].tolist() == sorted(positions.tolist())
    assert {*inputs[changed].tolist()} == {4}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    encoder = encoder_of(tmp_path, "bert")
    few = SPEC.model_copy(
        update={"optimisation": SPEC.optimisation.model_copy(update={"epochs": 1})}
    )
    cards = [
        fit_head(few, encoder, tmp_path / "store", tmp_path / name, seed=seed)
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    heads = [(tmp_path / name / "head.safetensors").read_bytes() for name in "abc"]
    assert heads[0] == heads[1] != heads[2]
    assert json.dumps(cards[0]) == json.dumps(cards[1])


def test_texts_of_another_tokenizer_are_rejected(tmp_path: Path) -> None:
    encoder = encoder_of(tmp_path, "bert")
    other = make_encoder(tmp_path / "other", make_tokenizer(tmp_path / "other"))
    (other / "tokenizer.json").write_text((other / "tokenizer.json").read_text() + " ")
    with pytest.raises(DataError, match="not made with the tokenizer"):
        fit_head(SPEC, other, tmp_path / "store", tmp_path / "head", seed=1)
    assert encoder.is_dir()
