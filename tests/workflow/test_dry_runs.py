"""Every preset and every target plans; bad configs end in one sentence before anything starts."""

import re

import pytest

from clone import DEMO, ROOT, jobs, snakemake
from mbert_atlas.papers import names

pytestmark = pytest.mark.workflow


@pytest.mark.parametrize("preset", [None, "demo", "small"])
def test_all_plans(repository, preset):
    config = ["--configfile", f"config/{preset}.yaml"] if preset else []
    planned = jobs(snakemake(repository, "all", "-n", "--forceall", *config))
    assert planned["scorecard"] == planned["cost"] == 1
    assert planned["finetune"] >= 3


@pytest.mark.parametrize("target", ["all", "highlights", "fetch", *names()])
def test_every_target_plans_in_the_demo(repository, target):
    planned = jobs(snakemake(repository, target, "-n", "--forceall", *DEMO))
    assert planned.get("fetch_file", 0) == 0


def test_profiles_are_found_as_typed(repository):
    for profile in ("local", "slurm"):
        done = snakemake(repository, "all", "-nF", "--profile", profile, *DEMO)
        assert jobs(done)["scorecard"] == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (["seeds=[]"], "--config, key seeds: "),
        (["mirrors=there"], "did you mean 'mirror'?"),
        (["papers=[nobody2020]"], "'nobody2020' is not defined"),
    ],
)
def test_bad_settings_end_in_one_sentence(repository, settings, sentence):
    done = snakemake(repository, "all", "-n", *DEMO, "--config", *settings)
    assert done.returncode != 0
    assert sentence in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_highlights_are_a_part_of_all(repository):
    part, everything = (
        jobs(snakemake(repository, target, "-n", "--forceall", *DEMO))
        for target in ("highlights", "all")
    )
    assert part["finetune"] <= everything["finetune"] / 2
    assert "scorecard" not in part
    both = jobs(snakemake(repository, "highlights", "all", "-n", "--forceall", *DEMO))
    assert both["finetune"] == everything["finetune"]
    assert both["judge_claims"] == both["write_index"] == 2


def test_a_bad_claim_ends_in_one_sentence(repository):
    name = f"mbert_atlas/papers/{names()[0]}/claims.yaml"
    path = repository / name
    before = path.read_text()
    try:
        path.write_text(re.sub(r"(?m)^    artifact: .*$", "    artifact: table99", before, count=1))
        done = snakemake(repository, "all", "-n", *DEMO)
    finally:
        path.write_text(before)
    assert done.returncode != 0
    output = done.stderr + done.stdout
    assert re.search(rf"{name}, line \d+, key claims\.\S+\.artifact: 'table99' is not", output)
    assert "Traceback" not in output


def test_a_mistake_is_found_in_the_preset_and_not_in_the_file_below(repository, tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("run: mine\nseeds: [1, 1]\n")
    done = snakemake(repository, "all", "-n", *DEMO, str(mine))
    assert done.returncode != 0
    assert f"{mine}, line 2, key seeds: the same twice: 1" in done.stderr + done.stdout


def test_lint(repository):
    done = snakemake(repository, "--lint", *DEMO)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("paper", names())
def test_a_paper_plans_without_the_others(repository, paper):
    """Its runs, and none of the others; the shared rules register nothing of theirs."""
    planned = snakemake(
        repository, "all", "-n", "--forceall", *DEMO, "--config", f"papers=[{paper}]"
    )
    assert jobs(planned)["scorecard"] == 1
    assert not [other for other in names() if other != paper and other in planned.stdout]


def test_rule_files_do_not_share_names():
    """They are included into one namespace, where the last definition would win."""
    defined = [
        name
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for name in set(re.findall(r"^(?:def )?(\w+)(?:\(.*\):| = )", path.read_text(), re.M))
    ]
    assert sorted(defined) == sorted(set(defined))
