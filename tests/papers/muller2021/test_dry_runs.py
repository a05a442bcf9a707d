"""Jobs of the paper's targets, at paper scale and in the demo."""

import pytest

from clone import DEMO, jobs, snakemake, trained

pytestmark = pytest.mark.workflow


def test_runs_at_paper_scale(repository):
    planned = jobs(snakemake(repository, "muller2021", "-n", "--forceall"))
    by_target = 3 * 3 * (1 + 6 + 1)  # tasks, sources, the reference, six pairs of layers, all
    sets = 3 * 10  # Table 5 has thirteen sets, two of them pairs, and all layers
    domains = 2 * (1 + 6 + 1)
    assert trained(planned) == 5 * (by_target + sets + domains) + 3 * 6  # the grids
    assert planned["finetune"] == 5 * 3 * 7  # those whose features are extracted
    # English: three tasks, the reference and six pairs; and the encoder that all start from.
    assert planned["extract_features"] == planned["measure_similarity"] == 5 * 3 * 7 + 1
    assert planned["encode_examples"] < 25  # tokenised once


def test_every_artifact_is_a_target(repository):
    targets = [f"muller2021_{kind}{n}" for kind in ("table", "figure") for n in range(1, 9)]
    planned = jobs(snakemake(repository, *targets, "-n", "--forceall", *DEMO))
    assert planned["render_table"] == 8
    assert planned["render_figure"] == 8 * 2
    assert planned["measure_large"] == 5  # Tables 2 and 5 to 8


def test_tables_can_be_left_out(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("papers: [muller2021]\nmuller2021: {tables: {table2: null, table6: null}}\n")
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", "--configfile", config))
    assert planned["measure_large"] == 3  # Tables 5, 7 and 8
    # Tables 1 and 3, the means of 7 and 8; Table 4 and the figures, without parsing
    assert planned["measure"] == 2 + 2 + 9
