"""Encoders that the repository ships: taken if they are what the config requests, and whole."""

import json

import numpy as np
import pytest
import torch
from configs import ROOT, config
from safetensors.torch import load_file
from tiny_models import make_encoder, make_tokenizer

from mbert_atlas import papers
from mbert_atlas.encoders import shipping
from mbert_atlas.encoders.loading import load_encoder, load_tokenizer
from mbert_atlas.errors import DataError

SCRATCH = {"texts": ["wikipedia"], "pretraining": {"layers": 2}, "seed": 3}


def specification(**changes):
    scratch = {**SCRATCH, **changes}
    encoders = {"tiny": {"scratch": {**scratch, "shipped": "resources/encoders/tiny"}}}
    return shipping.specification(config(encoders=encoders), "tiny")


@pytest.fixture
def shipped(tmp_path):
    """A random encoder, and the folder in which it is shipped."""
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))
    (encoder / ".snakemake_timestamp").touch()
    folder = tmp_path / "resources/encoders/tiny"
    shipping.ship(encoder, folder, specification(), {"pretrain": "0123"})
    return encoder, folder


def test_an_encoder_comes_back_in_single_precision(shipped, tmp_path):
    encoder, folder = shipped
    shipping.take_shipped(folder, tmp_path / "taken")
    assert {path.name for path in (tmp_path / "taken").iterdir()} == {
        path.name for path in encoder.glob("[!.]*")
    }
    halves, taken, before = (
        load_file(path / "model.safetensors") for path in (folder, tmp_path / "taken", encoder)
    )
    assert {tensor.dtype for tensor in halves.values()} == {torch.float16}
    for name, tensor in before.items():
        assert torch.equal(taken[name], tensor.half().float())
    assert load_encoder(tmp_path / "taken").dtype == torch.float32
    assert len(load_tokenizer(tmp_path / "taken")) == len(load_tokenizer(encoder))
    ids = torch.arange(5, 17)[None]
    with torch.no_grad():
        one, other = (load_encoder(path)(ids)[0] for path in (encoder, tmp_path / "taken"))
    np.testing.assert_allclose(one, other, atol=5e-3)


def test_only_an_equal_specification_will_do(shipped):
    folder = shipped[1]
    made = json.loads((folder / "made.json").read_text())
    assert made["code"] == {"pretrain": "0123"}
    assert made["specification"]["datasets"].keys() == {"wikipedia"}
    assert shipping.why_train(folder, specification()) == ""
    assert shipping.why_train(folder.parent / "other", specification()).endswith("other has none")
    where = f"in {folder / 'made.json'}"
    for changes, reason in (
        ({"seed": 4}, f"scratch.seed is 4, and 3 {where}"),
        ({"pretraining": {"layers": 3}}, f"scratch.pretraining.layers is 3, and 2 {where}"),
        ({"aligned_start": {"bitexts": ["wikimatrix"]}}, f"scratch.aligned_start is not {where}"),
    ):
        assert shipping.why_train(folder, specification(**changes)) == reason
    # A key that one side lacks: a newer version has it, or an older one had it.
    wanted = specification()
    for where_new, reason in ((wanted, "is not in"), (made["specification"], "is only in")):
        where_new["scratch"]["new"] = 1
        (folder / "made.json").write_text(json.dumps(made))
        assert f"scratch.new {reason}" in shipping.why_train(folder, wanted)
        del where_new["scratch"]["new"]


def test_the_encoder_with_the_tokenizer_is_part_of_it():
    assert "tokenizer" not in specification()
    hub = specification(tokenizer_of="mbert")["tokenizer"]["hub"]
    assert hub["repository"] == "google-bert/bert-base-multilingual-cased"
    encoders = {
        "one": {"scratch": SCRATCH},
        "two": {"scratch": {**SCRATCH, "tokenizer_of": "one", "seed": 4}},
    }
    made = shipping.specification(config(encoders=encoders), "two")
    assert (made["scratch"]["seed"], made["tokenizer"]["scratch"]["seed"]) == (4, 3)


def test_the_miniature_and_the_bitexts_are_part_of_it(tmp_path):
    mine = tmp_path / "mine.yaml"
    scratch = {"aligned_start": {"bitexts": ["wikimatrix"]}}
    mine.write_text(json.dumps({"encoders": {"mbert": {"scratch": scratch}}}))
    demo = papers.load([ROOT / "config/demo.yaml", mine], ROOT)
    made = shipping.specification(demo, "mbert")
    assert made["miniature"]["seed"] == 1
    assert made["datasets"].keys() == {"stories", "wikimatrix"}
    assert json.loads(json.dumps(made)) == made
    assert specification()["miniature"] is None


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_damage_is_one_sentence(shipped, tmp_path, name):
    path = shipped[1] / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(DataError, match=rf"{name}: has another sha256 .*git checkout -- .*make"):
        shipping.take_shipped(shipped[1], tmp_path / "t")
    path.unlink()
    with pytest.raises(DataError, match=rf"{name}: is missing"):
        shipping.require_whole(shipped[1])
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("text", ["[]", '{"files": {}}', '{"specification": 1, "files": {}}'])
def test_a_record_that_says_nothing_is_rejected(shipped, text):
    (shipped[1] / "made.json").write_text(text)
    with pytest.raises(DataError, match=r"made\.json, key specification: is no mapping; retrain"):
        shipping.why_train(shipped[1], specification())
