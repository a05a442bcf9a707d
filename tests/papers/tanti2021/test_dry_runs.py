"""What the paper's targets need, at paper scale and in the presets."""

import pytest

from clone import jobs, snakemake, trained

pytestmark = pytest.mark.workflow


def test_runs_at_paper_scale(repository):
    planned = jobs(snakemake(repository, "tanti2021", "-n", "--forceall"))
    # 8 searches of 20 draws, 8 experiments; in 5 of them the protocols differ.
    assert planned["finetune_unsaved"] == 8 * 20
    assert planned["finetune"] == 5 * (8 + 5)
    # The frozen encoder is the same for every seed.
    assert planned["extract_features"] == 2 + 5 * (3 + 3 + 3 + 1)
    assert planned["draw_points"] == planned["extract_features"]
    assert planned["identify_languages"] == planned["cluster_points"] == 5 * (8 + 5)
    assert planned["read_corpus_by_language_large"] == 33  # Wikipedia


def test_one_table_needs_nothing_of_the_others(repository):
    planned = jobs(snakemake(repository, "tanti2021_table1", "-n", "--forceall"))
    assert trained(planned) == 5 * (2 * 2 + 2)  # no search, no unlearning; UDPOS twice
    assert "adjust" not in planned
