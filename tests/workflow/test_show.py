"""`python -m mbert_atlas show`: what Snakemake lists about the jobs of a run."""

import re

import pytest

from clone import DEMO, python, succeeded

pytestmark = pytest.mark.workflow


def show(folder, run):
    done = python(folder, "-m", "mbert_atlas", "show", run, *DEMO)
    succeeded(done)
    return done.stdout


def test_a_run_without_results_is_to_run(repository):
    text = re.sub(" +", " ", show(repository, "nli-continual-hi.published"))
    predictions = "results/demo/runs/nli-continual-hi.published/seed1/predictions.parquet"
    for row in (
        f"seed 1: finetune, Missing output files: {predictions}",
        "input replay_pairs results/demo/tokens/mbert/pairs/wikimatrix/hi/train",
        f"output {predictions}",
        "mbert_atlas.training.methods.replay:",
    ):
        assert row in text, text


def test_a_run_with_results_is_up_to_date(demo):
    assert "seed 1: finetune, up to date" in show(demo, "nli")
