"""What the paper's targets need, at paper scale and in the presets."""

import pytest

from clone import DEMO, jobs, snakemake, trained

pytestmark = pytest.mark.workflow


def test_runs_at_paper_scale(repository):
    planned = jobs(snakemake(repository, "efimov2022", "-n", "--forceall"))
    # 2 protocols, 5 seeds; 4 languages, and 12 variants in one each.
    # The shuffled pairs are a control. Pairs of Eflomal: one protocol, two languages.
    eflomal = 5 * 2
    assert planned["adjust"] == 2 * 5 * (4 + 4 + 3 + 3 + 2 + 1) + eflomal
    # Three tasks: the original and the extended encoder; adjusted and continual, 4 languages
    # each; the 12 variants. Translated SQuAD in 3 languages, original and adjusted.
    per_task = 5 + 5 + 2 * 5 * (4 + 4 + 12)
    assert trained(planned) == 3 * per_task + 3 * (5 + 2 * 5) + 2 * 2 * 5 + 2 * eflomal
    assert planned["pretrain"] == 1  # the extended encoder


def test_tables_of_the_paper_need_their_own_runs_and_share_them(repository):
    def planned(*targets):
        return trained(jobs(snakemake(repository, *targets, "-n", "--forceall")))

    ner = 5 + 2 * 5 * (4 + 4)
    assert planned("efimov2022_table3") == ner
    # Three tasks in Hindi: original, adjusted, and three other ways to make vectors of words.
    assert planned("efimov2022_table6") == 3 * (5 + 2 * 5 * (1 + 3))
    # Of these, the original and the adjusted tagger are Table 3's.
    shared = 5 + 2 * 5
    both = planned("efimov2022_table3", "efimov2022_table6")
    assert both == ner + 3 * (5 + 2 * 5 * (1 + 3)) - shared


@pytest.mark.parametrize("preset", ["paper", "demo"])
def test_an_extended_encoder_plans_with_the_one_below(repository, preset):
    config = ["--configfile", f"config/{preset}.yaml"] if preset != "paper" else []
    target = f"results/{preset}/encoders/embert-hi/model"
    planned = jobs(snakemake(repository, target, "-n", "--forceall", *config))
    assert planned["extend_encoder"] == 1
    assert planned["pretrain"] == planned["encode_pretraining_texts"] == 1
    assert "train_tokenizer" not in planned
    if preset != "demo":  # there multilingual BERT is shipped
        assert planned["fetch_encoder"] == 1
    if preset == "paper":
        assert planned["read_corpus_by_language_large"] == 1


def test_one_table_needs_nothing_of_the_others(repository):
    planned = jobs(snakemake(repository, "efimov2022_table2", "-n", "--forceall", *DEMO))
    assert "word_pair_distances" not in planned  # Figure 1
    assert "identify_languages" not in planned  # another paper


def test_what_the_highlights_show_can_be_left_out(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    config.write_text(
        "papers: [efimov2022]\n"
        "efimov2022: {figures: {figure1: null, figure2: null}, tables: {table2: null}}\n"
    )
    run = ("-n", "--forceall", "--configfile", config)
    assert "word_pair_distances" not in jobs(snakemake(repository, "all", *run))
    assert trained(jobs(snakemake(repository, "highlights", *run))) == 0
