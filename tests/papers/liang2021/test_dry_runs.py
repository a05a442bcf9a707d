"""What the paper's targets need, at paper scale and in the presets."""

import pytest

from clone import DEMO, jobs, snakemake, trained

pytestmark = pytest.mark.workflow


def test_runs_at_paper_scale(repository):
    planned = jobs(snakemake(repository, "liang2021", "-n", "--forceall"))
    transfer = 2 * 2 * (1 + 2 + 3 * 2)  # tasks, sources; baseline, L-DAR by protocol, on thirds
    transfer += 3 * 2  # its control
    removal = 2 * 2 * 4  # tasks, methods, numbers of directions
    assert planned["finetune_unsaved"] == 5 * (transfer + removal)
    assert "finetune" not in planned  # predictions are all that is read
    assert planned["collect_vectors"] == 13 + 12  # 104 and 94 languages, eight in a job
    sets = 3 + 5  # of Figure 5, one of them for each seed
    assert planned["find_directions"] == 2 + sets
    assert planned["probe_languages"] == 2 * 3 + sets


def test_every_artifact_is_a_target(repository):
    targets = [f"liang2021_figure{n}" for n in range(1, 6)]
    targets += [f"liang2021_table{n}" for n in range(1, 7)]
    planned = jobs(snakemake(repository, *targets, "-n", "--forceall", *DEMO))
    assert planned["render_table"] == 6
    assert planned["render_figure"] == 5 * 2


def test_one_table_needs_nothing_of_the_figures(repository):
    planned = jobs(snakemake(repository, "liang2021_table4", "-n", "--forceall"))
    assert trained(planned) == 5 * 3
    assert planned["find_directions"] == 1
    assert "probe_languages" not in planned
    assert "extract_features" not in planned


def test_a_task_and_two_figures_can_be_left_out(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        "papers: [liang2021]\n"
        "liang2021:\n"
        "  transfer: {runs: {ner: null}}\n"
        "  removal: {datasets: {pos: null, ner: null}, tuned: {pos: null, ner: null}}\n"
        "  pairs:\n"
        "    sets: {austronesian: null, germanic: null, italic: null}\n"
        "    sampled: null\n"
    )
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", "--configfile", config))
    assert planned["render_figure"] == 3 * 2  # Figures 1 to 3
    assert planned["render_table"] == 4  # Tables 1 to 3 and 6
    assert planned["measure"] == 3 + 4
    assert "classify_in_subspaces" not in planned


def test_a_set_of_languages_may_have_any_name(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text("liang2021: {pairs: {sets: {south-slavic: [ru, hi], Set.2: [en, ru]}}}\n")
    command = ("liang2021_figure5", "-n", "--forceall", "--configfile", "config/demo.yaml")
    before = jobs(snakemake(repository, *command))
    planned = jobs(snakemake(repository, *command, config))
    for rule in ("find_directions", "probe_languages"):
        assert planned[rule] == before[rule] + 2
