"""A job by hand: Snakemake's own object, and its script in the process that requests it."""

import json

import pyarrow.parquet as pq
import pytest

from clone import TINY, python

pytestmark = pytest.mark.workflow
NOTEBOOK = """
import json
from workflow.debug import job, run

snakemake = job("results/debug/miniature/MANIFEST.tsv", "config/demo.yaml", "{preset}", cores=1)
print(json.dumps([
    snakemake.rule, dict(snakemake.wildcards), snakemake.threads, snakemake.script.name,
    snakemake.params.specification, list(snakemake.log),
    [snakemake.config[key] for key in ("run", "keep_models")],
]))
run(snakemake)
"""


def test_object_and_script_of_a_job(repository, tmp_path):
    preset = tmp_path / "debug.yaml"
    preset.write_text(f"run: debug\n{TINY}")
    done = python(repository, "-c", NOTEBOOK.format(preset=preset))
    assert done.returncode == 0, done.stderr
    rule, wildcards, threads, script, specification, logs, settings = json.loads(done.stdout)
    assert (rule, wildcards, threads, script) == ("miniature", {}, 1, "miniature.py")
    assert specification["languages"] == ["en", "ru"]
    assert settings == ["debug", True]  # of the second preset and of the first
    assert logs == []  # it prints
    assert not (repository / "results/debug/logs/miniature").exists()
    assert (repository / "results/debug/miniature/MANIFEST.tsv").exists()

    target, presets = "results/debug/data/xnli.parquet", ["config/demo.yaml", str(preset)]
    options = [option for path in presets for option in ("--configfile", path)]
    command = ["-m", "workflow.debug", target, *options, "--pdb"]
    done = python(repository, *command, typed="p snakemake.rule\ncontinue\n")
    assert done.returncode == 0, done.stderr
    assert "(Pdb) 'read_corpus'" in done.stdout
    languages = pq.read_table(repository / target, columns=["language"])["language"]
    assert set(languages.to_pylist()) == {"en", "ru"}
