"""Every family of encoders, as small random models: what is read from them is what they compute."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import AutoConfig, AutoModel

from mbert_atlas.arrays import Ragged
from mbert_atlas.encoders.families import FAMILIES, why_not
from mbert_atlas.encoders.folders import check_folder, facts_of
from mbert_atlas.encoders.hidden_states import iterate_hidden_states, number_of_layers
from mbert_atlas.encoders.hooks import Hook, hooked, last_states, layers_of, project_out, remember
from mbert_atlas.encoders.loading import load_encoder, save_encoder
from mbert_atlas.encoders.masks import attention_mask
from mbert_atlas.encoders.parts import reinitialise
from mbert_atlas.encoders.trimming import trim
from mbert_atlas.errors import DataError

LAYERS, DIMS, SIZE = 3, 16, 60
USUAL = {
    "vocab_size": SIZE,
    "hidden_size": DIMS,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
    "initializer_range": 0.5,  # far from zero, so that what is left out is seen
}
OTHER: dict[str, dict[str, Any]] = {
    "distilbert": {"dim": DIMS, "n_layers": LAYERS, "n_heads": 2, "hidden_dim": 32},
    "deberta-v2": {
        "position_buckets": 8,
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "position_biased_input": False,
        "type_vocab_size": 0,
    },
    "rembert": {"input_embedding_size": 16, "bos_token_id": 2, "eos_token_id": 3},
    "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2},
    "eurobert": {"num_key_value_heads": 1},
}


def config_of(family: str) -> Any:
    sizes = {**USUAL, **OTHER.get(family, {})}
    if family == "distilbert":
        sizes = {key: USUAL[key] for key in ("vocab_size", "pad_token_id")} | OTHER[family]
        sizes |= {key: USUAL[key] for key in ("initializer_range", "max_position_embeddings")}
    if family in ("modernbert", "eurobert", "ultrabert"):
        sizes |= {"bos_token_id": 2, "eos_token_id": 3, "mask_token_id": 4}
    if family == "modernbert":
        sizes |= {"cls_token_id": 2, "sep_token_id": 3}
    return AutoConfig.for_model(family, **sizes)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "house", "a", "x"]
    words += [f"##{number}" for number in range(SIZE - len(words))]
    one = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    one.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    one.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]", [("[CLS]", 2), ("[SEP]", 3)]
    )
    one.save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module", params=FAMILIES)
def folder(
    request: pytest.FixtureRequest, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    torch.manual_seed(0)
    model = AutoModel.from_config(config_of(request.param))
    path = tmp_path_factory.mktemp("encoder") / str(request.param)
    save_encoder(model, tokenizer, path)
    return path


@pytest.fixture
def model(folder: Path) -> Any:
    return load_encoder(folder).eval()


def texts() -> Ragged:
    """Rows of several lengths, longer than ModernBERT's window."""
    random = np.random.default_rng(0)
    rows = [[2, *random.integers(5, SIZE, length), 3] for length in (4, 30, 11, 21)]
    return Ragged.from_rows([np.array(row, np.int32) for row in rows], np.int32)


def inputs() -> dict[str, torch.Tensor]:
    ids = texts().padded(np.arange(4), 1)
    inside = torch.arange(ids.shape[1]) < torch.from_numpy(texts().lengths)[:, None]
    return {"input_ids": torch.from_numpy(ids).long(), "attention_mask": inside}


def states(model: nn.Module, *hooks: Hook, mask: Any = None) -> list[torch.Tensor]:
    given = inputs()
    given["attention_mask"] = given["attention_mask"].long() if mask is None else mask
    with torch.no_grad(), hooked(model, hooks):
        output = model(**given, output_hidden_states=True)
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    return list(output.hidden_states)


def inside(state: torch.Tensor) -> torch.Tensor:
    return state[inputs()["attention_mask"]]


def test_the_folder_is_accepted(folder: Path) -> None:
    assert check_folder(folder) == LAYERS
    facts = facts_of(folder)
    assert facts.family == folder.name
    assert facts.pooler == FAMILIES[folder.name].pooler
    loaded = load_encoder(folder)
    assert (getattr(loaded, "pooler", None) is not None) == FAMILIES[folder.name].pooler
    assert len(layers_of(loaded)) == LAYERS
    assert len(states(loaded)) == number_of_layers(loaded) == LAYERS + 1


def test_a_text_alone_equals_itself_among_others(model: Any) -> None:
    every = range(LAYERS + 1)
    for one in iterate_hidden_states(model, texts(), layers=every):
        for place, row in enumerate(one.rows):
            (alone,) = iterate_hidden_states(
                model, texts(), layers=every, rows=np.array([row]), description=""
            )
            for both, single in zip(one.layers, alone.layers, strict=True):
                padded = both[place, : int(one.lengths[place])]
                torch.testing.assert_close(padded, single[0], atol=2e-5, rtol=1e-4)


def test_the_mask_of_training_is_that_of_extraction(model: Any) -> None:
    mask = attention_mask(model.config, inputs()["attention_mask"])
    for trained, extracted in zip(states(model, mask=mask), states(model), strict=True):
        torch.testing.assert_close(inside(trained), inside(extracted), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_directions_are_removed_from_what_is_returned_and_used(model: Any, layer: int) -> None:
    directions = np.linalg.qr(np.random.default_rng(1).normal(size=(DIMS, 3)))[0].T
    basis = torch.from_numpy(directions.astype(np.float32))
    plain = states(model)
    change = project_out(basis.numpy())
    hooks = [Hook(layer, change)]
    changed = states(model, *hooks)
    for number in range(layer):
        assert torch.equal(plain[number], changed[number])
    torch.testing.assert_close(changed[layer], change(plain[layer]), atol=1e-5, rtol=1e-5)
    assert (changed[layer] @ basis.T).abs().max() < 1e-5
    if layer < LAYERS:  # what is returned is what the next layers got
        below = remember(model, inputs(), [layer])
        again = last_states(model, below, layer, changed[layer][None])[0]
        torch.testing.assert_close(inside(again), inside(changed[-1]), atol=2e-5, rtol=1e-4)
        assert (inside(changed[-1]) - inside(plain[-1])).abs().max() > 1e-3


def test_what_layers_got_is_what_is_returned(model: Any) -> None:
    """A hook at state 0 with what another text has there gives all the other text's states."""
    other = inputs()
    other["input_ids"] = other["input_ids"].flip(0).clone()
    with torch.no_grad():
        expected = model(**other, output_hidden_states=True).hidden_states
    found = states(model, Hook(0, lambda _: expected[0]))
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(inside(one), inside(two), atol=2e-5, rtol=1e-4)


def test_last_states_are_the_models(model: Any) -> None:
    given = inputs()
    with torch.no_grad():
        below = remember(model, given, list(range(LAYERS + 1)))
        expected = states(model)
        for number, state in below.states.items():
            torch.testing.assert_close(state, expected[number], atol=1e-6, rtol=1e-6)
            twice = torch.stack([state, state + 0.5])
            last = last_states(model, below, number, twice)
            hook = Hook(number, lambda state: state + 0.5)
            for found, full in zip(last, (expected, states(model, hook)), strict=True):
                torch.testing.assert_close(inside(found), inside(full[-1]), atol=2e-5, rtol=1e-4)


def test_reinitialising_changes_the_named_layers_alone(model: Any) -> None:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    reinitialise(model, ["2-2"], seed=1)
    changed = {key for key, old in before.items() if not torch.equal(old, model.state_dict()[key])}
    stack = next(name for name, part in model.named_modules() if part is layers_of(model))
    assert changed
    assert all(key.startswith(f"{stack}.1.") for key in changed)
    reinitialise(model, ["embeddings"], seed=1)
    words = model.get_input_embeddings().weight
    assert not any(torch.equal(words, old) for old in before.values() if old.shape == words.shape)


def test_trimming_keeps_the_bytes(model: Any) -> None:
    before = states(model)
    trim(model, [texts().values])
    for old, new in zip(before, states(model), strict=True):
        assert torch.equal(old, new)


@pytest.mark.parametrize("change", [-1, 1])
def test_another_number_of_layers_is_rejected(folder: Path, tmp_path: Path, change: int) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in folder.iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    config = json.loads((broken / "config.json").read_text())
    key = "n_layers" if "n_layers" in config else "num_hidden_layers"
    config[key] += change
    config.pop("layer_types", None)
    (broken / "config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="layers"):
        check_folder(broken)
    with pytest.raises(DataError, match=r"layers|missing|cannot be opened"):
        load_encoder(broken)


def test_shards_are_read_by_their_index(folder: Path, tmp_path: Path) -> None:
    sharded = tmp_path / "sharded"
    sharded.mkdir()
    for path in folder.iterdir():
        (sharded / path.name).write_bytes(path.read_bytes())
    weights = load_file(sharded / "model.safetensors")
    (sharded / "model.safetensors").unlink()
    places = {name: f"model-0000{1 + n % 2}-of-00002.safetensors" for n, name in enumerate(weights)}
    for name in set(places.values()):
        part = {key: value for key, value in weights.items() if places[key] == name}
        save_file(part, sharded / name, metadata={"format": "pt"})
    index = {"metadata": {}, "weight_map": places}
    (sharded / "model.safetensors.index.json").write_text(json.dumps(index))
    assert facts_of(sharded) == facts_of(folder)
    one, other = load_encoder(folder).state_dict(), load_encoder(sharded).state_dict()
    assert all(torch.equal(one[key], other[key]) for key in one)
    (sharded / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(DataError, match=r"model-00002-of-00002\.safetensors: .*lacks this file"):
        check_folder(sharded)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"model_type": "canine"}, "depend on the padding"),
        ({"model_type": "xlm"}, "separate lists"),
        ({"model_type": "albert"}, "one set of weights"),
        ({"model_type": "new"}, "code in its repository"),
        ({"model_type": "mt5", "is_encoder_decoder": True}, "with a decoder"),
        ({"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}, "is a decoder"),
        ({"model_type": "bert", "is_decoder": True}, "is a decoder"),
        ({"model_type": "mpnet"}, "not been compared"),
        ({}, "the key is missing"),
    ],
)
def test_others_are_rejected_with_the_reason(config: dict[str, Any], reason: str) -> None:
    assert reason in why_not(config)
