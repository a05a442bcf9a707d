"""An encoder that the repository ships: made, taken, rejected, and trained where it doesn't fit."""

import os

import pandas as pd
import pytest
import torch
from multilinguality import measure_multilinguality
from safetensors.torch import load_file

from clone import DEMO, TINY, copy_repository, jobs, said, snakemake, succeeded
from mbert_atlas import papers
from mbert_atlas.corpora.gold_alignment import read_gold

pytestmark = pytest.mark.workflow
PRESET = f"""
run: tiny
{TINY}encoders:
  mbert:
    scratch:
      shipped: resources/encoders/tiny
      pretraining:
        {{vocabulary_size: 600, alphabet_size: 300, hidden_size: 16, layers: 1, heads: 2}}
"""
TRAINED = "results/tiny/encoders/mbert/model"
TAKEN = "results/tiny/encoders/mbert/shipped"
SHIPPED = "resources/encoders/tiny"


@pytest.fixture(scope="module")
def shipping(tmp_path_factory):
    """A copy of the repository that ships a tiny encoder, and how to run Snakemake there."""
    folder = copy_repository(tmp_path_factory.mktemp("shipping"))
    (folder / "tiny.yaml").write_text(PRESET)

    def run(target, *options, presets=(), use_shipped="true"):
        configs = [*DEMO, "tiny.yaml", *presets, "--config", f"use_shipped={use_shipped}"]
        return snakemake(folder, target, "--cores", "1", *options, *configs, timeout=600)

    succeeded(run("ship_encoders", use_shipped="false"))
    return folder, run


def test_it_is_taken_and_nothing_is_trained(shipping):
    folder, run = shipping
    assert "is trained" not in succeeded(run(TAKEN))
    taken, trained = (load_file(folder / path / "model.safetensors") for path in (TAKEN, TRAINED))
    assert all(torch.equal(taken[name], trained[name].half().float()) for name in trained)
    tokens = "results/tiny/tokens/mbert/examples/inference/xnli"
    planned = jobs(run(tokens, "-n", "--forceall"))
    assert planned["take_shipped_encoder"] == planned["encode_examples"] == 1
    assert not {"train_tokenizer", "encode_pretraining_texts", "pretrain"} & planned.keys()
    for path in (folder / SHIPPED).iterdir():
        os.utime(path)  # as in a fresh clone
    assert "Nothing to be done" in said(run(TAKEN, "-n"))


def test_another_specification_or_none_is_trained_and_one_line_says_why(shipping):
    folder, run = shipping
    (folder / "other.yaml").write_text("encoders: {mbert: {scratch: {pretraining: {layers: 2}}}}\n")
    done = run(TRAINED, "-n", presets=["other.yaml"])
    assert jobs(done)["pretrain"] == 1
    reason = f"scratch.pretraining.layers is 2, and 1 in {SHIPPED}/made.json."
    assert f"encoders.mbert is trained: {reason}" in said(done).splitlines()
    (folder / SHIPPED).rename(folder / "away")
    try:
        done = run(TRAINED, "-n", "--forceall")
        assert jobs(done)["pretrain"] == jobs(done)["train_tokenizer"] == 1
        assert f"encoders.mbert is trained: {SHIPPED} has none." in said(done).splitlines()
    finally:
        (folder / "away").rename(folder / SHIPPED)


def test_a_damaged_one_is_rejected(shipping):
    folder, run = shipping
    weights = folder / SHIPPED / "model.safetensors"
    before = weights.read_bytes()
    weights.write_bytes(before[:-1])
    try:
        done = run(TAKEN, "-n")
        assert done.returncode != 0
        assert "Traceback" not in said(done)
        assert f"{SHIPPED}/model.safetensors: has another sha256 in made.json; " in said(done)
    finally:
        weights.write_bytes(before)


@pytest.mark.skipif("MBERT_ATLAS_REMAKE" not in os.environ, reason="MBERT_ATLAS_REMAKE is not set")
def test_the_shipped_encoders_can_be_made_again(tmp_path):
    """Trains for minutes; another machine rounds otherwise, so that scores are compared."""
    folder = copy_repository(tmp_path)
    demo = papers.load([folder / "config/demo.yaml"], folder)
    names = [name for name, item in demo.encoders.items() if item.scratch and item.scratch.shipped]
    if not names:
        pytest.skip("the demo's encoders are retrained")
    for target, setting in (("shipped", "true"), ("model", "false")):
        targets = [f"results/demo/encoders/{name}/{target}" for name in names]
        done = snakemake(
            folder,
            *targets,
            *["--cores", str(os.cpu_count()), *DEMO, "--config", f"use_shipped={setting}"],
            timeout=7200,
        )
        succeeded(done)
    gold = {
        path.parent.name: read_gold(path, "xlwa")
        for path in sorted(
            (folder / "results/demo/miniature").glob("gold-alignments/*/data/*/test.tsv")
        )
    }
    for name in names:
        means = []
        for made in ("shipped", "model"):
            scores = measure_multilinguality(folder / f"results/demo/encoders/{name}/{made}", gold)
            frame = pd.DataFrame(scores).groupby(["measure", "layer"]).value.mean()
            means.append(frame.groupby("measure").max())
        assert (means[0] - means[1]).abs().max() < 0.03, means
