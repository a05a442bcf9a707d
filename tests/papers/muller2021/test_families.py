"""An encoder of every family, with random weights, through a table of the demo."""

import shutil

import pandas as pd
import pytest
import test_encoder_families as tiny
import torch
from transformers import AutoModel

from clone import ROOT, copy_repository, snakemake, succeeded
from mbert_atlas.encoders.families import FAMILIES

pytestmark = [pytest.mark.workflow, pytest.mark.demo_all]
SHIPPED = ROOT / "resources/encoders/many"
TARGET = "results/mine/measurements/muller2021/table1.csv"
MINE = """
run: mine
seeds: [1]
encoders: {{mbert: {{folder: {}}}}}
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    return copy_repository(tmp_path_factory.mktemp("families"))


@pytest.mark.parametrize("family", [*FAMILIES, "vocab.txt alone"])
def test_a_table_of_the_demo(clone, tmp_path, monkeypatch, family):
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
    shutil.rmtree(clone / "results/mine", ignore_errors=True)
    presets = ["--configfile", "config/demo.yaml", str(mine)]
    start = ["--profile", "local", "--cores", "2", *presets, "--", TARGET]
    succeeded(snakemake(clone, *start, timeout=2400))
    assert pd.read_csv(clone / TARGET).value.notna().all()
