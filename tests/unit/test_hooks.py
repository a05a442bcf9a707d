"""A hook on a hidden layer, in every layout of encoders that papers take."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

from mbert_atlas.encoders.hooks import Hook, hooked, project_out, shift
from mbert_atlas.errors import AtlasError

IDS = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
MASK = IDS.ne(0)
LAYERS, DIMS = 3, 16


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm-roberta", "distilbert"])
def model(request: pytest.FixtureRequest) -> nn.Module:
    kind, settings = {
        "bert": (BertModel, BertConfig),
        "roberta": (RobertaModel, RobertaConfig),
        "xlm-roberta": (XLMRobertaModel, XLMRobertaConfig),
        "distilbert": (DistilBertModel, DistilBertConfig),
    }[request.param]
    sizes = {"num_hidden_layers": LAYERS, "hidden_size": DIMS, "num_attention_heads": 2}
    torch.manual_seed(0)
    return kind(settings(vocab_size=20, max_position_embeddings=20, **sizes)).eval()


def _states(model: Any, *hooks: Hook) -> list[torch.Tensor]:
    with torch.no_grad(), hooked(model, hooks):
        output = model(input_ids=IDS, attention_mask=MASK, output_hidden_states=True)
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    return list(output.hidden_states)


def _vector(seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=DIMS).astype(np.float32)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_states_change_from_the_layer_on(model: nn.Module, layer: int) -> None:
    plain, vector = _states(model), _vector()
    changed = _states(model, Hook(layer, shift(vector, 0.5)))
    for number, (before, after) in enumerate(zip(plain, changed, strict=True)):
        if number < layer:
            assert torch.equal(before, after)
        elif number == layer:  # every position, padding included
            torch.testing.assert_close(after, before + 0.5 * torch.from_numpy(vector))
        else:
            assert (before - after).abs().max() > 1e-3
    for before, after in zip(plain, _states(model), strict=True):  # the hook is gone
        assert torch.equal(before, after)
    zero = _states(model, Hook(layer, shift(np.zeros(DIMS, np.float32))))
    assert all(torch.equal(*pair) for pair in zip(plain, zero, strict=True))


def test_hooks_of_a_layer_in_their_order(model: nn.Module) -> None:
    vector, directions = _vector(), np.eye(DIMS, dtype=np.float32)[[3, 5]]
    hooks = [Hook(2, shift(vector)), Hook(2, project_out(directions))]
    found = _states(model, *hooks)[2]
    expected = _states(model)[2] + torch.from_numpy(vector)
    expected[..., [3, 5]] = 0
    torch.testing.assert_close(found, expected)
    other_way = _states(model, *reversed(hooks))[2]
    assert other_way[0, 0, 3] == pytest.approx(vector[3])


def test_projecting_away_twice_is_once() -> None:
    directions = np.linalg.qr(np.stack([_vector(1), _vector(2)]).T)[0].T
    once = project_out(directions)(torch.randn(2, 5, DIMS))
    assert (once @ torch.from_numpy(directions).T).abs().max() < 1e-5
    torch.testing.assert_close(project_out(directions)(once), once)
    hidden = torch.tensor([[1.0, 2, 3], [4, 0, 0], [0, 5, 6]])
    basis = np.eye(3, dtype=np.float32)[1:]
    assert project_out(basis)(hidden).tolist() == [[1, 0, 0], [4, 0, 0], [0, 0, 0]]
    added = shift(np.float32([2, 0, 4]), 0.5)(hidden)
    assert added.tolist() == [[2, 2, 5], [5, 0, 2], [1, 5, 8]]


def test_changes_keep_the_type_and_are_made_in_float32() -> None:
    hidden = torch.randn(3, DIMS)
    directions = np.linalg.qr(_vector()[:, None])[0].T
    expected = project_out(directions)(hidden)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(project_out(directions)(hidden), expected)
    assert project_out(directions)(hidden.bfloat16()).dtype == torch.bfloat16


def test_gradients_flow(model: nn.Module) -> None:
    vector, directions = _vector(), np.linalg.qr(_vector(1)[:, None])[0].T
    hidden = torch.randn(2, DIMS, dtype=torch.float64, requires_grad=True)
    for change in (shift(vector, 0.3), project_out(directions)):
        assert torch.autograd.gradcheck(change, (hidden,))
    with hooked(model, [Hook(1, project_out(directions))]):
        model(input_ids=IDS, attention_mask=MASK).last_hidden_state.square().sum().backward()
    parameters = dict(model.named_parameters())
    embedding = next(p for name, p in parameters.items() if "word_embeddings" in name)
    assert embedding.grad is not None
    assert embedding.grad[7].abs().max() > 0


def test_errors(model: nn.Module) -> None:
    with pytest.raises(AtlasError, match="hidden states 0 to 3"), hooked(model, [Hook(4, abs)]):
        pass
    with pytest.raises(AtlasError, match="not orthonormal"):
        project_out(2 * np.eye(DIMS, dtype=np.float32)[:2])
    bare = nn.Module()
    bare.config = BertConfig()
    with pytest.raises(AtlasError, match="no list of its layers"), hooked(bare, [Hook(1, abs)]):
        pass
