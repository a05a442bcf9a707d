"""Measurements of the demo with an encoder of any family, small and with random weights."""

import shutil
from pathlib import Path

import pandas as pd
import pytest
import test_encoder_families as tiny
import torch
from transformers import AutoModel

from clone import ROOT, copy_repository, snakemake, succeeded
from mbert_atlas.encoders.families import FAMILIES

SHIPPED = ROOT / "resources/encoders/many"
KINDS = [*FAMILIES, "vocab.txt alone"]
SIZES = {"num_hidden_layers": 4, "vocab_size": 12000, "max_position_embeddings": 514}
SIZES |= {"pad_token_id": 0, "initializer_range": 0.02}


@pytest.fixture(scope="session")
def clone(tmp_path_factory):
    """A copy of the repository whose data serve all families and papers."""
    return copy_repository(tmp_path_factory.mktemp("families"))


def write_encoder(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write an encoder of four layers with the tokenizer of a shipped one."""
    family = kind if kind in FAMILIES else "distilbert"
    for key, value in SIZES.items():
        monkeypatch.setitem(tiny.USUAL, key, value)
    monkeypatch.setitem(tiny.OTHER["distilbert"], "n_layers", SIZES["num_hidden_layers"])
    torch.manual_seed(0)
    AutoModel.from_config(tiny.config_of(family)).save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if name == "vocab.txt" or kind == family:
            shutil.copy(SHIPPED / name, folder / name)
    return folder


def measure(clone: Path, config: str, name: str) -> pd.DataFrame:
    """Return a measurement, ``paper/name``, of the demo with a config over it.

    What earlier calls have made, and does not depend on the encoder, is kept.
    """
    (clone / "config/mine.yaml").write_text(f"run: mine\nseeds: [1]\n{config}")
    target = f"results/mine/measurements/{name}.csv"
    presets = ["--configfile", "config/demo.yaml", "config/mine.yaml"]
    start = ["--profile", "local", "--cores", "2", *presets, "--", target]
    succeeded(snakemake(clone, *start, timeout=2400))
    return pd.read_csv(clone / target)
