"""An encoder that the workflow pretrains and extends, at the smallest scale."""

import os

import pytest
from safetensors.torch import load_file

from clone import snakemake
from mbert_atlas.encoders.loading import load_tokenizer

pytestmark = pytest.mark.workflow


def test_an_extended_encoder_is_made(repository):
    config = ["--configfile", "config/demo.yaml", "tests/slurm/tiny.yaml"]
    target = "results/tiny/encoders/embert-hi/model"
    cores = str(os.cpu_count() or 1)
    done = snakemake(
        repository, target, "--profile", "local", "--cores", cores, *config, timeout=600
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    encoders = repository / "results/tiny/encoders"
    folders = [encoders / name for name in ("mbert/model", "embert-hi/extended", "embert-hi/model")]
    old, extended, new = (load_tokenizer(folder).get_vocab() for folder in folders)
    assert old.items() < extended.items() == new.items()
    before, start, after = (
        load_file(folder / "model.safetensors")["bert.embeddings.word_embeddings.weight"]
        for folder in folders
    )
    assert start[: len(before)].equal(before)
    assert len(start) == len(after) == len(new)
    moved = (after - start).abs().amax(1)
    assert moved[len(before) :].min() > 0
    assert not any((repository / "results/tiny/state").rglob("*.safetensors"))
    done = snakemake(repository, target, "-n", "--profile", "local", *config)
    assert "Nothing to be done" in done.stdout + done.stderr
