"""Layers above a changed hidden state: the same as full passes with hooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from mbert_atlas.encoders.hooks import Hook, hooked, shift
from mbert_atlas.encoders.upper_layers import last_states, remember
from mbert_atlas.errors import AtlasError

DIMS = 16


def encoder(kind: str) -> Any:
    torch.manual_seed(0)
    if kind == "distilbert":
        sizes = {"dim": DIMS, "n_layers": 3, "n_heads": 2, "hidden_dim": 32}
        return DistilBertModel(DistilBertConfig(vocab_size=30, **sizes)).eval()
    config, model = {
        "bert": (BertConfig, BertModel),
        "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel),
    }[kind]
    sizes = {"hidden_size": DIMS, "num_hidden_layers": 3, "intermediate_size": 32}
    return model(config(vocab_size=30, num_attention_heads=2, **sizes)).eval()


def texts() -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 30, (2, 6), generator=torch.Generator().manual_seed(1))
    mask = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta", "distilbert"])
@pytest.mark.parametrize("layer", [0, 1, 2, 3])
@torch.no_grad()
def test_shifts_of_a_layer_equal_full_passes(kind: str, layer: int) -> None:
    model, inputs = encoder(kind), texts()
    vector = np.random.default_rng(0).normal(size=DIMS).astype(np.float32)
    below = remember(model, inputs, [layer])
    weights = [0.0, 0.5, -2.0]
    steps = torch.tensor(weights)[:, None, None, None] * torch.from_numpy(vector)
    found = last_states(model, below, layer, below.states[layer] + steps)
    for weight, state in zip(weights, found, strict=True):
        with hooked(model, [Hook(layer, shift(vector, weight))]):
            expected = model(**inputs).last_hidden_state
        inside = inputs["attention_mask"].bool()
        torch.testing.assert_close(state[inside], expected[inside], atol=1e-5, rtol=1e-5)


@torch.no_grad()
def test_nothing_stays_on_the_model() -> None:
    model, inputs = encoder("bert"), texts()
    before = model(**inputs).last_hidden_state
    remember(model, inputs, [0, 3])
    torch.testing.assert_close(model(**inputs).last_hidden_state, before)
    assert not any(layer._forward_pre_hooks for layer in model.encoder.layer)


def test_a_state_that_is_not_there() -> None:
    with pytest.raises(AtlasError, match="hidden state 4: the encoder has 0 to 3"):
        remember(encoder("bert"), texts(), [1, 4])
