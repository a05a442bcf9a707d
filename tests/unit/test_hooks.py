"""Changes of hidden states, in every layout of encoders that papers take."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModel, BertConfig

from mbert_atlas.encoders.hooks import Change, Hook, hooked, last_states, project_out, remember
from mbert_atlas.errors import AtlasError

IDS = torch.tensor([[2, 7, 9, 3], [2, 8, 3, 0]])
MASK = IDS.ne(0)
LAYERS, DIMS = 3, 16


@pytest.fixture(scope="module", params=["bert", "xlm-roberta", "distilbert"])
def model(request: pytest.FixtureRequest) -> nn.Module:
    sizes = {"num_hidden_layers": LAYERS, "hidden_size": DIMS, "num_attention_heads": 2}
    sizes |= {"vocab_size": 20, "max_position_embeddings": 20}
    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(request.param, **sizes)).eval()


def _states(model: Any, *hooks: Hook) -> list[torch.Tensor]:
    with torch.no_grad(), hooked(model, hooks):
        output = model(input_ids=IDS, attention_mask=MASK, output_hidden_states=True)
    assert torch.equal(output.hidden_states[-1], output.last_hidden_state)
    return list(output.hidden_states)


def _vector(seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=DIMS).astype(np.float32)


def _shift(vector: npt.NDArray[np.float32], weight: float = 1) -> Change:
    return lambda hidden: hidden + weight * torch.from_numpy(vector)


@pytest.mark.parametrize("layer", range(LAYERS + 1))
def test_states_change_from_the_layer_on(model: nn.Module, layer: int) -> None:
    plain, vector = _states(model), _vector()
    changed = _states(model, Hook(layer, _shift(vector, 0.5)))
    for number, (before, after) in enumerate(zip(plain, changed, strict=True)):
        if number < layer:
            assert torch.equal(before, after)
        elif number == layer:  # every position, padding included
            torch.testing.assert_close(after, before + 0.5 * torch.from_numpy(vector))
        else:
            assert (before - after).abs().max() > 1e-3
    for before, after in zip(plain, _states(model), strict=True):  # the hook is gone
        assert torch.equal(before, after)


def test_hooks_of_a_layer_in_their_order(model: nn.Module) -> None:
    vector, directions = _vector(), np.eye(DIMS, dtype=np.float32)[[3, 5]]
    hooks = [Hook(2, _shift(vector)), Hook(2, project_out(directions))]
    found = _states(model, *hooks)[2]
    expected = _states(model)[2] + torch.from_numpy(vector)
    expected[..., [3, 5]] = 0
    torch.testing.assert_close(found, expected)
    other_way = _states(model, *reversed(hooks))[2]
    assert other_way[0, 0, 3] == pytest.approx(vector[3])


@pytest.mark.parametrize("layer", range(LAYERS + 1))
@torch.no_grad()
def test_layers_above_changes_equal_full_passes(model: nn.Module, layer: int) -> None:
    inputs, vector, weights = {"input_ids": IDS, "attention_mask": MASK}, _vector(), [0.0, 0.5, -2]
    below = remember(model, inputs, [layer])
    steps = torch.tensor(weights)[:, None, None, None] * torch.from_numpy(vector)
    found = last_states(model, below, layer, below.states[layer] + steps)
    for weight, state in zip(weights, found, strict=True):
        expected = _states(model, Hook(layer, _shift(vector, weight)))[-1]  # no hook is left
        torch.testing.assert_close(state[MASK], expected[MASK], atol=1e-5, rtol=1e-5)


def test_projection_by_hand_in_float32() -> None:
    hidden = torch.tensor([[1.0, 2, 3], [4, 0, 0], [0, 5, 6]])
    change = project_out(np.eye(3, dtype=np.float32)[1:])
    assert change(hidden).tolist() == [[1, 0, 0], [4, 0, 0], [0, 0, 0]]
    hidden, change = torch.randn(3, DIMS), project_out(np.linalg.qr(_vector()[:, None])[0].T)
    expected = change(hidden)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(change(hidden), expected)
    assert change(hidden.bfloat16()).dtype == torch.bfloat16


def test_gradients_flow(model: nn.Module) -> None:
    change = project_out(np.linalg.qr(_vector(1)[:, None])[0].T)
    hidden = torch.randn(2, DIMS, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(change, (hidden,))
    with hooked(model, [Hook(1, change)]):
        model(input_ids=IDS, attention_mask=MASK).last_hidden_state.square().sum().backward()
    parameters = dict(model.named_parameters())
    embedding = next(p for name, p in parameters.items() if "word_embeddings" in name)
    assert embedding.grad is not None
    assert embedding.grad[7].abs().max() > 0


def test_errors(model: nn.Module) -> None:
    with pytest.raises(AtlasError, match="hidden states 0 to 3"), hooked(model, [Hook(4, abs)]):
        pass
    with pytest.raises(AtlasError, match="hidden state 4: the encoder has hidden states 0 to 3"):
        remember(model, {}, [1, 4])
    with pytest.raises(AtlasError, match="not orthonormal"):
        project_out(2 * np.eye(DIMS, dtype=np.float32)[:2])
    bare = nn.Module()
    bare.config = BertConfig()
    with pytest.raises(AtlasError, match="no list of its layers"), hooked(bare, [Hook(1, abs)]):
        pass
