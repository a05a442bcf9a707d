"""Dropout from fewer random numbers: shares, scale, gradients, attention as torch computes it."""

import pytest
import torch
from tiny_models import make_config
from torch import nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile
from transformers import BertModel

from mbert_atlas.training.dropout import fewer_draws

CPU = torch.device("cpu")
COUNT = 1_000_003  # not a multiple of the values that one number decides


def dropped(values: torch.Tensor, p: float, seed: int = 1) -> torch.Tensor:
    torch.manual_seed(seed)
    with fewer_draws(CPU):
        return functional.dropout(values, p)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9, 1 / 65536])
def test_values_are_dropped_independently_with_the_stated_probability(p):
    zeros = dropped(torch.ones(COUNT), p) == 0
    deviation = (COUNT * p * (1 - p)) ** 0.5
    assert abs(int(zeros.sum()) - COUNT * p) < 4 * deviation + COUNT / 2**17
    for lag in range(1, 9):  # also of values from the same number
        pairs = int((zeros[lag:] & zeros[:-lag]).sum())
        assert abs(pairs - COUNT * p**2) < 5 * max(1, COUNT * p**2) ** 0.5 + COUNT * p / 2**15


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_what_stays_is_scaled_and_keeps_its_type(p, dtype):
    result = dropped(torch.ones(100, dtype=dtype), p)
    assert result.dtype == dtype
    expected = torch.tensor(65536 / (65536 - round(65536 * p)), dtype=dtype)
    assert set(result.unique().tolist()) == {0.0, expected.item()}
    assert expected.item() == pytest.approx(1 / (1 - p), rel=3e-3)


def test_the_generator_decides():
    values = torch.ones(1000)
    assert torch.equal(dropped(values, 0.3), dropped(values, 0.3))
    assert not torch.equal(dropped(values, 0.3), dropped(values, 0.3, seed=2))


def test_gradients_pass_where_values_stayed():
    values = torch.randn(50, 3, requires_grad=True)
    result = dropped(values, 0.4)
    result.sum().backward()
    torch.testing.assert_close(values.grad, (result / values).detach())
    assert (values.grad == 0).any()


@pytest.mark.parametrize("p", [0.0, 1.0, 1e-9])
def test_nothing_and_everything_are_left_to_torch(p):
    assert dropped(torch.ones(1000), p).unique().tolist() == [float(p < 1)]


def test_evaluation_and_replacement_in_place_stay():
    layer, values = nn.Dropout(0.5).eval(), torch.ones(1000)
    with fewer_draws(CPU):
        assert layer(values) is values
        assert functional.dropout(values, 0.5, inplace=True) is values
    assert values.unique().tolist() == [0.0, 2.0]


MASKS = {
    "none": None,
    "kept": torch.tensor([True, True, True, False, False]).expand(2, 1, 5, 5),
    "added": torch.tensor([0.0, 0.0, -1.5, 0.0, -torch.inf]).expand(2, 1, 5, 5),
}


@pytest.mark.parametrize("scale", [None, 0.7])
@pytest.mark.parametrize("name", MASKS)
def test_attention_is_that_of_torch_where_nothing_is_dropped(name, scale):
    torch.manual_seed(3)
    inputs = [torch.randn(2, 4, 5, 8, requires_grad=True) for _ in range(3)]
    least = 1 / 65536  # of 200 weights, here none
    results = []
    for p in (0.0, least):
        with fewer_draws(CPU):
            result = functional.scaled_dot_product_attention(
                *inputs, attn_mask=MASKS[name], dropout_p=p, scale=scale
            )
        results.append([result, *torch.autograd.grad(result.square().sum(), inputs)])
    for stock, ours in zip(*results, strict=True):
        torch.testing.assert_close(ours, stock, rtol=1e-4, atol=1e-5)


def test_attention_drops_weights_and_scales_the_others():
    torch.manual_seed(4)
    query, value = torch.zeros(1, 1, 2000, 4), torch.eye(4)[None, None]
    with fewer_draws(CPU):
        result = functional.scaled_dot_product_attention(
            query, torch.randn(1, 1, 4, 4), value, dropout_p=0.25
        )
    values = result.unique()
    torch.testing.assert_close(values, torch.tensor([0, 1 / 3]))  # a quarter, or nothing
    assert (result == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize("options", [{"is_causal": True}, {"enable_gqa": True}])
def test_attention_of_other_kinds_is_left_to_torch(options):
    inputs = [torch.randn(1, 4, 5, 8) for _ in range(3)]
    results = []
    for mode in (fewer_draws(CPU), fewer_draws(torch.device("meta"))):
        torch.manual_seed(5)
        with mode:
            results.append(
                functional.scaled_dot_product_attention(*inputs, dropout_p=0.5, **options)
            )
    assert torch.equal(*results)


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_an_encoder_draws_no_number_for_each_value(kind):
    config = make_config()
    config._attn_implementation = kind
    encoder = BertModel(config).train()
    with profile(activities=[ProfilerActivity.CPU]) as run, fewer_draws(CPU):
        encoder(torch.ones(2, 3, dtype=torch.int64)).pooler_output.sum().backward()
    calls = {event.key: event.count for event in run.key_averages()}
    assert (
        calls["aten::random_"] == 7
    )  # embeddings; attention, its output, the layer's, of two layers
    assert "aten::bernoulli_" not in calls
    assert "aten::native_dropout" not in calls


def test_calls_inside_a_function_of_torch_stay():
    layer = nn.MultiheadAttention(8, 2, dropout=0.5)
    values, results = torch.randn(3, 2, 8), []
    for device in (CPU, torch.device("meta")):  # the latter: torch's dropout
        torch.manual_seed(6)
        with fewer_draws(device):
            results.append(layer(values, values, values)[0])
    assert torch.equal(*results)
