"""Jobs behind the paper's targets, at paper scale and in the presets."""

import pytest
from tiny_models import make_encoder, make_tokenizer

from clone import DEMO, jobs, snakemake, trained

pytestmark = pytest.mark.workflow


def test_runs_at_paper_scale(repository):
    planned = jobs(snakemake(repository, "liu2020", "-n", "--forceall"))
    assert planned["pretrain"] == 2 * 2  # sizes, windows
    assert planned["train_static_vectors"] == 2 * 2 * 3  # methods, sizes, seeds
    assert trained(planned) == 5 * (5 + 3)  # encoders; the other rows of Table 4
    assert planned["translate_tokens"] == 12
    assert planned["find_word_contexts"] == 13  # once for all encoders, which share a tokenizer
    assert planned["word_vectors"] == 5 * 13
    assert planned["retrieve_words"] == (5 + 12) * 12


def test_every_artifact_is_a_target(repository):
    names = [*(f"figure{n}" for n in (1, 2, 3, 4, 5, "6a", "6b", 7, 8)), "table1", "table2"]
    targets = [f"liu2020_{name}" for name in [*names, "table3", "table4"]]
    planned = jobs(snakemake(repository, *targets, "-n", "--forceall", *DEMO))
    assert planned["render_table"] == 4
    assert planned["render_figure"] == 7 + 2 * 2  # Figures 7 and 8 by protocol


def test_one_figure_needs_nothing_of_the_others(repository):
    planned = jobs(snakemake(repository, "liu2020_figure7", "-n", "--forceall"))
    assert planned["translate_tokens"] == 1
    assert not planned.keys() & {"pretrain", "retrieve_words"}
    assert trained(planned) == 0
    planned = jobs(snakemake(repository, "liu2020_figure1", "-n", "--forceall"))
    assert planned["pretrain"] == 1
    planned = jobs(snakemake(repository, "liu2020_figure5", "-n", "--forceall"))
    assert planned["pretrain"] == 4
    assert "train_static_vectors" not in planned


def test_a_size_and_a_method_can_be_left_out(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        "papers: [liu2020]\n"
        "liu2020: {embeddings: {pretrained: {1000k: null}, static: {200k: {glove: null}}}}\n"
    )
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", "--configfile", config))
    assert planned["train_static_vectors"] == 3
    assert planned["pretrain"] == 2
    assert planned["render_figure"] == 5 + 2 * 2  # without Figures 3 and 4, of the other size


def test_predicted_tokens_need_a_head(repository, tmp_path):
    """An encoder without one raises an error before any job, unless a head is fitted."""
    encoder = make_encoder(tmp_path, make_tokenizer(tmp_path))  # two layers
    config = tmp_path / "mine.yaml"
    settings = f"encoders:\n  mbert: {{hub: null, scratch: null, folder: {encoder}%s}}\n"
    settings += "liu2020: {layers: 2, translation: {rate_layer: 2, score_layer: 2}}\n"
    own = jobs(snakemake(repository, "liu2020_table2", "-n", "--forceall", *DEMO))
    command = ("-n", "--forceall", "--configfile", "config/demo.yaml", config)
    config.write_text(settings % "")
    without = snakemake(repository, "liu2020_table2", *command)
    assert without.returncode
    assert "'mbert' has no language-model head" in without.stdout + without.stderr
    assert "fit_head" not in jobs(snakemake(repository, "liu2020_table3", *command))
    config.write_text(settings % ", language_model_head: fitted")
    planned = jobs(snakemake(repository, "liu2020_table2", *command))
    assert planned["fit_head"] == planned["predict_masked"] == 2  # seeds
    assert planned["translate_tokens"] == 2 * own["translate_tokens"]
    assert (planned["encode_pretraining_texts"], planned["measure"]) == (1, 2)
    config.write_text(settings % ", language_model_head: fitted" + "fitted_head: {seeds: [7]}\n")
    planned = jobs(snakemake(repository, "liu2020_table2", *command))
    assert (planned["fit_head"], planned["translate_tokens"]) == (1, own["translate_tokens"])
