"""Parts of an encoder, re-initialised from a run's seed."""

import pytest
import torch
from tiny_models import finetuned, make_encoder, make_tokenizer, tagging_job

from mbert_atlas.config.training import Optimisation
from mbert_atlas.encoders.loading import load_encoder
from mbert_atlas.encoders.parts import reinitialise
from mbert_atlas.errors import AtlasError


@pytest.fixture
def encoder(tmp_path):
    """One whose weights, biases and normalisations are far from any initial value."""
    model = load_encoder(make_encoder(tmp_path, make_tokenizer(tmp_path)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(0.7)
    return model


def changed_by(encoder, names, seed=1):
    """Names of the parameters that were changed, after changing them."""
    reinitialise(encoder, names, seed)
    return {name for name, value in encoder.named_parameters() if not (value == 0.7).all()}


@pytest.mark.parametrize(
    ("names", "prefixes"),
    [
        ([], ()),
        (["1-1"], ("encoder.layer.0.",)),
        (["2-2"], ("encoder.layer.1.",)),
        (["1-2"], ("encoder.layer.",)),
        (["embeddings", "2-2"], ("embeddings.", "encoder.layer.1.")),
    ],
)
def test_a_part_is_reinitialised_and_the_rest_keeps_its_bits(encoder, names, prefixes):
    expected = {name for name, _ in encoder.named_parameters() if name.startswith(prefixes)}
    assert changed_by(encoder, names) == (expected if prefixes else set())


def test_weights_biases_and_normalisations_are_those_of_an_untrained_layer(encoder):
    reinitialise(encoder, ["1-1"], seed=3)
    layer = dict(encoder.encoder.layer[0].named_parameters())
    assert len(layer) == 16
    for name, value in layer.items():
        if "LayerNorm" in name:
            assert (value == (1 if name.endswith("weight") else 0)).all()
        elif name.endswith("bias"):
            assert (value == 0).all()
        else:
            assert abs(value.std() / encoder.config.initializer_range - 1) < 0.1
            assert abs(value.mean()) < 0.1 * encoder.config.initializer_range


def test_the_seed_decides_and_other_parts_do_not(tmp_path):
    folder = make_encoder(tmp_path, make_tokenizer(tmp_path))

    def second(names, seed):
        model = load_encoder(folder)
        state = torch.get_rng_state()
        reinitialise(model, names, seed)
        assert torch.equal(torch.get_rng_state(), state)
        return model.encoder.layer[1].attention.self.query.weight

    assert torch.equal(second(["2-2"], 1), second(["embeddings", "1-2"], 1))
    assert not torch.equal(second(["2-2"], 1), second(["2-2"], 2))


@pytest.mark.parametrize("name", ["0-1", "2-3", "2-1"])
def test_layers_that_the_encoder_lacks_are_rejected(encoder, name):
    with pytest.raises(AtlasError, match=f"reinitialised_layers: {name} is no range .* within 1-2"):
        reinitialise(encoder, [name], 1)


def test_a_run_begins_with_the_layers_of_its_seed(tmp_path):
    job = tagging_job(tmp_path)
    still = Optimisation(learning_rate=1e-30, epochs=1)  # too small a step for float32

    def query(seed, layers):
        finetuned(job, optimisation=still, seed=seed, reinitialised_layers=layers)
        return load_encoder(job["output_model"]).encoder.layer[0].attention.self.query.weight

    original = load_encoder(job["encoder"]).encoder.layer[0].attention.self.query.weight
    assert torch.equal(query(1, ["2-2"]), original)
    one, other = query(1, ["1-1"]), query(2, ["1-2"])
    assert not torch.equal(one, original)
    assert not torch.equal(one, other)
