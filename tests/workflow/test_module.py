"""The workflow as a module of another one, from another folder, with a separate config."""

import re

import pytest

from clone import DEMO, ROOT, jobs, snakemake, succeeded
from mbert_atlas.files import read_json, read_parquet
from mbert_atlas.sources.mirror import write_manifest
from mbert_atlas.sources.register import Register

pytestmark = pytest.mark.workflow


def test_the_example_of_the_page_runs(repository, tmp_path):
    """One target, to its end: the register, the languages, scripts and a custom file."""
    page = (ROOT / "config/README.md").read_text("utf-8")
    snakefile, config = (
        re.search(rf"```{kind}\n(.*?)```", page, re.S)[1] for kind in ("python", "yaml")
    )
    (tmp_path / "mbert-atlas").symlink_to(repository)
    (tmp_path / "Snakefile").write_text(snakefile, "utf-8")
    (tmp_path / "atlas.yaml").write_text(config, "utf-8")
    mirror = tmp_path / "my-mirror"
    (mirror / "mine").mkdir(parents=True)
    (mirror / "mine/x.en").write_text("One house .\nTwo cats .\n", "utf-8")
    (mirror / "mine/x.de").write_text("Ein Haus .\nZwei Katzen .\n", "utf-8")
    assert write_manifest(mirror, Register.read(ROOT / "resources/sources.yaml")) == 2
    succeeded(snakemake(tmp_path, "--cores", "1", timeout=600))
    table = read_parquet(tmp_path / "results/outer/data/parallel/de.parquet")
    assert table["target_tokens"].to_pylist() == [["Ein", "Haus", "."], ["Zwei", "Katzen", "."]]
    card = read_json(tmp_path / "results/outer/data/parallel/de.card.json")
    assert "own" in str(card)
    assert (tmp_path / "size.txt").read_text().endswith("de.parquet\n")
    # A mistake in a module's config is one sentence, too.
    (tmp_path / "atlas.yaml").write_text(config.replace("mirror:", "mirrors:"), "utf-8")
    failed = snakemake(tmp_path, "-n")
    assert failed.returncode != 0
    assert "did you mean 'mirror'?" in failed.stderr + failed.stdout


def test_a_preset_as_a_module_plans_the_same_and_takes_what_is_shipped(repository, tmp_path):
    (tmp_path / "Snakefile").write_text(
        f'configfile: "{repository}/config/demo.yaml"\n'
        f'module atlas:\n    snakefile: "{repository}/Snakefile"\n    config: config\n'
        "use rule * from atlas\n"
    )
    planned = jobs(snakemake(tmp_path, "all", "-n", timeout=600))
    expected = snakemake(repository, "all", "-n", "--forceall", *DEMO, timeout=600)
    assert planned == jobs(expected)
    path = "results/demo/encoders/mbert/shipped"
    succeeded(snakemake(tmp_path, "--cores", "1", path, timeout=600))
    assert (tmp_path / path / "model.safetensors").is_file()
