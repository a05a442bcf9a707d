"""Every preset and every target plans; bad configs end in one sentence before anything starts."""

import re

import pytest

from clone import snakemake

pytestmark = pytest.mark.workflow
TARGETS = ["all", "fetch", "efimov2022", "tanti2021"]
ARTIFACTS = [
    "efimov2022_figure1",
    "efimov2022_figure2",
    *(f"efimov2022_table{number}" for number in range(1, 10)),
    *(f"tanti2021_table{number}" for number in (1, 2, 3, 5)),
    *(f"tanti2021_figure{number}" for number in range(3, 7)),
    "tanti2021_appendices",
]


def jobs(done):
    """Number of jobs by rule in a dry run."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"Job stats:\n.*?\n-[- ]+\n(.*?)\n\n", done.stdout + done.stderr, re.S)
    if found is None:
        return {}
    rows = [line.split() for line in found.group(1).splitlines()]
    return {name: int(count) for name, count in rows}


@pytest.mark.parametrize("preset", [None, "demo", "small"])
def test_all_plans(repository, preset):
    config = ["--configfile", f"config/{preset}.yaml"] if preset else []
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", *config))
    assert planned["scorecard"] == planned["cost"] == 1
    assert planned["finetune"] >= 3
    if preset is None:
        # 2 protocols, 5 seeds; 4 languages, and 12 variants in one each.
        assert planned["adjust"] == 2 * 5 * (4 + 4 + 3 + 3 + 2)
        # Three tasks: the original and the extended encoder; adjusted and continual, 4 languages
        # each; the 12 variants. Translated SQuAD in 3 languages, original and adjusted.
        per_task = 5 + 5 + 2 * 5 * (4 + 4 + 12)
        # tanti2021: 8 searches of 20 draws, 8 experiments; in 5 of them the protocols differ.
        specificity = 8 * 20 + 5 * (8 + 5)
        assert planned["finetune"] == 3 * per_task + 3 * (5 + 2 * 5) + specificity
        # The frozen encoder is the same for every seed.
        assert planned["extract_features"] == 2 + 5 * (3 + 3 + 3 + 1)
        assert planned["identify_languages"] == planned["cluster_points"] == 5 * (8 + 5)
        assert planned["extract_wikipedia"] == 33
        assert planned["pretrain"] == 1  # the extended encoder


def test_tables_of_the_paper_need_their_own_runs_and_share_them(repository):
    def planned(*targets):
        return jobs(snakemake(repository, *targets, "-n", "--forceall"))["finetune"]

    ner = 5 + 2 * 5 * (4 + 4)
    assert planned("efimov2022_table3") == ner
    # Three tasks in Hindi: original, adjusted, and three other ways to make vectors of words.
    assert planned("efimov2022_table6") == 3 * (5 + 2 * 5 * (1 + 3))
    # Of these, the original and the adjusted tagger are Table 3's.
    shared = 5 + 2 * 5
    both = planned("efimov2022_table3", "efimov2022_table6")
    assert both == ner + 3 * (5 + 2 * 5 * (1 + 3)) - shared


@pytest.mark.parametrize("preset", ["paper", "demo", "small"])
def test_an_extended_encoder_plans_with_the_one_below(repository, preset):
    config = ["--configfile", f"config/{preset}.yaml"] if preset != "paper" else []
    target = f"results/{preset}/encoders/embert-hi/model"
    planned = jobs(snakemake(repository, target, "-n", "--forceall", *config))
    assert planned["extend_encoder"] == 1
    pretrained = 1 if preset == "paper" else 2  # multilingual BERT is fetched, or made as well
    assert planned["pretrain"] == planned["encode_pretraining_texts"] == pretrained
    assert planned.get("train_tokenizer", 0) == pretrained - 1
    if preset == "paper":
        assert planned["fetch_encoder"] == planned["extract_wikipedia"] == 1


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_plans_in_the_demo(repository, target):
    planned = jobs(
        snakemake(repository, target, "-n", "--forceall", "--configfile", "config/demo.yaml")
    )
    assert planned.get("fetch_file", 0) == 0


def test_every_artifact_is_a_target(repository):
    config = ["--configfile", "config/demo.yaml"]
    planned = jobs(snakemake(repository, *ARTIFACTS, "-n", "--forceall", *config))
    assert planned["lay_out_table"] == 17


def test_profiles_are_found_as_typed(repository):
    for profile in ("local", "slurm"):
        done = snakemake(
            repository, "all", "-nF", "--profile", profile, "--configfile", "config/demo.yaml"
        )
        assert jobs(done)["finetune"] == 96


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["seeds=[]"], "--config, key seeds: "),
        (["mirrors=there"], "did you mean 'mirror'?"),
        (["papers=[liang2021]"], "'liang2021' is not defined"),
    ],
)
def test_bad_settings_end_in_one_sentence(repository, settings, sentence):
    done = snakemake(
        repository, "all", "-n", "--configfile", "config/demo.yaml", "--config", *settings
    )
    assert done.returncode != 0
    assert sentence in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_a_mistake_is_found_in_the_preset_and_not_in_the_file_below(repository, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("run: mine\nseeds: [1, 1]\n")
    done = snakemake(repository, "all", "-n", "--configfile", "config/demo.yaml", str(mine))
    assert done.returncode != 0
    assert f"{mine}, line 2, key seeds: the same seed twice" in done.stderr + done.stdout


def test_one_artifact_needs_nothing_of_the_others(repository):
    config = ["--configfile", "config/demo.yaml"]
    table2 = jobs(snakemake(repository, "efimov2022_table2", "-n", "--forceall", *config))
    assert "word_pair_distances" not in table2  # Figure 1
    assert "identify_languages" not in table2  # the other paper
    paper = jobs(snakemake(repository, "tanti2021_table1", "-n", "--forceall"))
    assert paper["finetune"] == 5 * (2 * 2 + 2)  # no search, no unlearning; UDPOS twice
    assert "adjust" not in paper


def test_lint(repository):
    done = snakemake(repository, "--lint", "--configfile", "config/demo.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_search_can_be_left_out(repository, tmp_path):
    config = tmp_path / "mine.yaml"
    none = "{search: {draws: 0}}"
    config.write_text(f"runs: {{udpos-initial: {none}, xnli-initial: {none}}}\n")
    planned = jobs(snakemake(repository, "tanti2021", "-n", "--forceall", "--configfile", config))
    assert planned["finetune"] == 5 * (8 + 5)
    assert "choose_hyperparameters" not in planned
    assert "list_choices" not in planned
