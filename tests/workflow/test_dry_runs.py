"""Every preset and every target plans; bad configs end in one sentence before anything starts."""

import re

import pytest

from clone import snakemake

pytestmark = pytest.mark.workflow
TARGETS = [
    "all",
    "fetch",
    "efimov2022",
    "efimov2022_figure1",
    "efimov2022_table2",
    "tanti2021",
    "tanti2021_table1",
    "tanti2021_figure4",
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
        # 4 languages, 2 protocols, 5 seeds; NLI: those, with and without replay, and 5 of the
        # original; UDPOS: 5.
        assert planned["adjust"] == 40
        assert planned["finetune"] == 90
        assert planned["extract_wikipedia"] == 33
        assert "pretrain" not in planned


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


def test_profiles_are_found_as_typed(repository):
    for profile in ("local", "slurm"):
        done = snakemake(
            repository, "all", "-nF", "--profile", profile, "--configfile", "config/demo.yaml"
        )
        assert jobs(done)["finetune"] == 20


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
    assert "probe_language_identification" not in table2  # the other paper
    figure4 = jobs(snakemake(repository, "tanti2021_figure4", "-n", "--forceall", *config))
    assert "finetune" not in figure4


def test_lint(repository):
    done = snakemake(repository, "--lint", "--configfile", "config/demo.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
