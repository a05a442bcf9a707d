"""An encoder of every family, with random weights, through two figures of the demo."""

import shutil
import sys

import pandas as pd
import pytest
import torch
from transformers import AutoModel

from clone import ROOT, copy_repository, snakemake, succeeded
from mbert_atlas.encoders.families import FAMILIES

sys.path.append(str(ROOT / "tests/unit"))
import test_encoder_families as tiny

pytestmark = [pytest.mark.workflow, pytest.mark.demo_all]
SHIPPED = ROOT / "resources/encoders/many"
ARTIFACTS = ("muller2021/table1", "liang2021/figure1")
MINE = """
run: mine
seeds: [1]
encoders: {{mbert: {{folder: {}}}}}
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("families"))


@pytest.mark.parametrize("family", [*FAMILIES, "vocab.txt alone"])
def test_figures_of_the_demo(clone, tmp_path, monkeypatch, family):
    kind = "distilbert" if family == "vocab.txt alone" else family
    sizes = {"num_hidden_layers": 4, "vocab_size": 12000, "max_position_embeddings": 514}
    for key, value in (sizes | {"pad_token_id": 0, "initializer_range": 0.02}).items():
        monkeypatch.setitem(tiny.USUAL, key, value)
    monkeypatch.setitem(tiny.OTHER["distilbert"], "n_layers", 4)
    torch.manual_seed(0)
    AutoModel.from_config(tiny.config_of(kind)).save_pretrained(tmp_path / "encoder")
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if not (name == "tokenizer.json" and kind != family):
            shutil.copy(SHIPPED / name, tmp_path / "encoder" / name)
    mine = tmp_path / "mine.yaml"
    mine.write_text(MINE.format(tmp_path / "encoder"))
    targets = [f"results/mine/measurements/{name}.csv" for name in ARTIFACTS]
    shutil.rmtree(clone / "results/mine", ignore_errors=True)
    presets = ["--configfile", "config/demo.yaml", str(mine)]
    start = ["--profile", "local", "--cores", "2", *presets, "--", *targets]
    succeeded(snakemake(clone, *start, timeout=2400))
    for target in targets:
        assert pd.read_csv(clone / target).value.notna().all()
